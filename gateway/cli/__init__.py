"""The command `handrail`: what people touch. `main.app` is the typer application; `processes` starts the services."""

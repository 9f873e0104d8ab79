"""The console entry `handrail`: the real command line needs the `[server]` extra, a plain install says so."""

from __future__ import annotations

import importlib
import importlib.util
import sys

# One import name from each part of the extra that the command line needs at once.
_NEEDED = ("typer", "rich", "structlog", "sqlalchemy", "pydantic_settings", "grpc_health")


def main() -> None:
    """Run the command line; without the extra, print how to install it and exit 2."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        sys.stderr.write(
            "handrail: this is the light install (client stubs only); "
            "the command needs the services: pip install 'handrail[server]'\n"
        )
        sys.exit(2)
    importlib.import_module("gateway.cli.main").app()

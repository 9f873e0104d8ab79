"""`python -m gateway.cli`: the same as the console script `handrail`, for where the script is not on the path."""

from gateway.cli.main import app

app(prog_name="handrail")

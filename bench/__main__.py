"""`python -m bench`: measures Handrail's speed on this machine, beside what bare gRPC and bare commits reach on it."""

from __future__ import annotations

import asyncio
import os
import platform
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench.driver import LoadFailed
from bench.observe import file_system
from bench.report import as_json, show
from bench.results import Results
from bench.scenarios import Plan, Scenarios
from gateway.cli.processes import ProcessFailed

MOST_CLIENTS = 256
_FILE_WIDTH = 132
_FULL_TURNS, _FULL_WAITING = 1000, 5000
_QUICK = Plan((1, 8), 24, 1, 24, 40, 8, 1, 20.0)


def main(
    clients: Annotated[str, typer.Option(help="Clients at once, comma separated.")] = "1,16,64",
    rounds: Annotated[int, typer.Option(min=0, max=100_000, help="Rounds of R1; 0: ten a client, at least 150.")] = 0,
    repeat: Annotated[int, typer.Option(min=1, max=50, help="Repetitions; the median is shown.")] = 3,
    turns: Annotated[int, typer.Option(min=8, max=10_000, help="Turns of R3.")] = _FULL_TURNS,
    waiting: Annotated[
        int, typer.Option(min=2, max=50_000, help="Interactions that wait in R4 and R5.")
    ] = _FULL_WAITING,
    load_processes: Annotated[int, typer.Option(min=1, max=8, help="Processes that make the load.")] = 1,
    most_seconds: Annotated[float, typer.Option(min=1, max=600, help="Limit of one measurement.")] = 120.0,
    quick: Annotated[bool, typer.Option(help="A small run that shows that all works; its numbers say little.")] = False,
    json: Annotated[Path | None, typer.Option(help="Write the results to this file, too.")] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Where the databases are made; by default a temporary one.")
    ] = None,
) -> None:
    """Measure R1 to R5: rounds, turns, growth, waiting and restart."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=_FILE_WIDTH)
    progress = Console(stderr=True)
    plan = _QUICK
    if not quick:
        plan = Plan(_numbers(clients), rounds, repeat, turns, waiting, 50, load_processes, most_seconds)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="handrail-bench-", dir=folder) as name:
        results = Results(machine(Path(name)))
        with progress.status("starting") as status:
            # A log gets a line for each part, a terminal one line that changes.
            tell = status.update if progress.is_terminal else progress.print
            scenarios = Scenarios(plan, Path(name), results, tell)
            try:
                asyncio.run(scenarios.run())
            except (LoadFailed, ProcessFailed) as failed:
                progress.print(str(failed), style="red", markup=False)
                raise typer.Exit(1) from None
    show(results, console)
    console.print(f"Took {time.monotonic() - began:.0f} s.", style="dim")
    if json is not None:
        json.write_text(as_json(results) + "\n", "utf-8")


def machine(folder: Path) -> dict[str, str | int]:
    """What the numbers depend on."""
    return {
        "cores": os.cpu_count() or 0,
        "python": platform.python_version(),
        **{name: version(name) for name in ("grpcio", "protobuf", "sqlalchemy")},
        "file system": file_system(folder),
    }


def _numbers(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdecimal() and 1 <= int(part) <= MOST_CLIENTS for part in parts):
        raise typer.BadParameter(f"must be numbers from 1 to {MOST_CLIENTS}, comma separated, for example 1,16,64")
    return tuple(int(part) for part in parts)


if __name__ == "__main__":
    typer.run(main)

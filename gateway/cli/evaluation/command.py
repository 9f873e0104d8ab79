"""`handrail eval`: chooses the cases, plays them, and reports. Added to the application by gateway.cli.main."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.text import Text

from gateway.cli.evaluation.cases import Case, CasesInvalid, load_cases
from gateway.cli.evaluation.report import Earlier, NotComparable, as_json, compare, print_results, read_earlier
from gateway.cli.evaluation.run import NotRun, own_processes, play_cases
from gateway.cli.evaluation.scoring import Scored
from gateway.cli.events import one_line
from gateway.cli.processes import ProcessFailed
from gateway.cli.refusals import EXIT_OK, EXIT_REFUSED
from gateway.cli.terminal import open_console, uninterrupted
from handrail_rpc.settings import parse_target


def evaluate(
    target: Annotated[
        str, typer.Argument(metavar="[HOST:PORT]", help="A running gateway; without it, processes of its own.")
    ] = "",
    domain: Annotated[str, typer.Option("--domain", help="Only the cases of this domain.")] = "",
    locale: Annotated[str, typer.Option("--locale", help="Only the cases in en or ru.")] = "",
    held_out: Annotated[bool, typer.Option("--held-out", help="Only those written without sight of any rule.")] = False,
    tuned: Annotated[bool, typer.Option("--tuned", help="Only the others.")] = False,
    ids: Annotated[list[str] | None, typer.Option("--case", help="Only this case; may be repeated.")] = None,
    file: Annotated[
        Path | None, typer.Option("--json", help="Write the whole report here, too.", dir_okay=False)
    ] = None,
    earlier: Annotated[
        Path | None, typer.Option("--compare", help="A report that --json wrote; tells what got better or worse.")
    ] = None,
) -> None:
    """Measure how a domain fares with the labelled requests: right tools, values, questions and endings.

    It is a measurement: exit code 0 when it ran, whatever came of it, 2 when it could not run. Each case has a new
    conversation. docs/evaluation.md has the form of the cases.
    """
    if held_out and tuned:
        raise typer.BadParameter("give --held-out or --tuned, not both", param_hint="--held-out")
    if locale not in ("", "en", "ru"):
        raise typer.BadParameter("must be en or ru", param_hint="--locale")
    if target:
        try:
            target = parse_target(target)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="HOST:PORT") from None
    try:
        cases = load_cases()
        before = read_earlier(earlier) if earlier else None
    except CasesInvalid as error:
        _refuse(str(error))
    except NotComparable as error:
        raise typer.BadParameter(str(error), param_hint="--compare") from None
    if file is not None and not file.parent.is_dir():
        raise typer.BadParameter(f"there is no folder {file.parent}", param_hint="--json")
    chosen = choose(cases, domain, locale, held_out if held_out or tuned else None, ids or [])
    raise typer.Exit(uninterrupted(lambda: asyncio.run(_evaluate(open_console(), target, chosen, file, before))))


def choose(cases: Sequence[Case], domain: str, locale: str, held_out: bool | None, ids: Sequence[str]) -> list[Case]:
    """The cases of these options. Raises BadParameter for an unknown domain or id, and where none is left."""
    domains = sorted({case.domain for case in cases})
    if domain and domain not in domains:
        raise typer.BadParameter(
            f"no cases of {domain!r}; there are those of {', '.join(domains)}", param_hint="--domain"
        )
    unknown = [name for name in ids if name not in {case.id for case in cases}]
    if unknown:
        raise typer.BadParameter(f"{', '.join(unknown)}: no such case", param_hint="--case")
    chosen = [
        case
        for case in cases
        if domain in ("", case.domain)
        and locale in ("", case.locale)
        and held_out in (None, case.held_out)
        and (not ids or case.id in ids)
    ]
    if not chosen:
        raise typer.BadParameter("no case is left by these options together", param_hint="--case")
    return chosen


async def _evaluate(
    console: Console, target: str, cases: Sequence[Case], file: Path | None, before: Earlier | None
) -> int:
    began = time.monotonic()
    try:
        if target:
            results = await play_cases(target, cases)
        else:
            console.print("Starting the Loop, the Adapter and the gateway on a fresh data directory …", style="dim")
            async with own_processes() as own:
                results = await play_cases(own, cases)
    except (NotRun, ProcessFailed) as error:
        _refuse(str(error))
    seconds = time.monotonic() - began
    print_results(console, results, compare(before, results) if before else None)
    console.print(f"{len(results)} cases in {seconds:.0f} s", style="dim")
    return EXIT_OK if file is None or _write(file, results, target, seconds) else EXIT_REFUSED


def _write(file: Path, results: Sequence[Scored], target: str, seconds: float) -> bool:
    try:
        file.write_text(as_json(results, target, seconds), "utf-8")
    except OSError as error:
        _tell(f"{file} was not written: {error.strerror}")
        return False
    return True


def _refuse(why: str) -> NoReturn:
    _tell(why)
    raise typer.Exit(EXIT_REFUSED)


def _tell(why: str) -> None:
    console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    for line in why.splitlines():
        console.print(Text.assemble(("not evaluated ", "bold red"), one_line(line)))

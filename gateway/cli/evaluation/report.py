"""What an evaluation tells: the table, each case that was not useful, JSON, and what changed since an earlier run.

Called by gateway.cli.evaluation.command.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gateway.cli.evaluation.playing import Seen
from gateway.cli.evaluation.scoring import Figures, Scored, figures
from gateway.cli.events import one_line

FORMAT: Final = "handrail-evaluation-1"
_PARTS = {True: "held-out", False: "tuned"}


class _EarlierCase(BaseModel):
    model_config = ConfigDict(extra="ignore")
    id: str
    useful: bool
    wrong: list[str]


class Earlier(BaseModel):
    """As much of a report as a comparison needs."""

    model_config = ConfigDict(extra="ignore")
    format: str
    cases: list[_EarlierCase]


class NotComparable(Exception):
    """A file that is no report of this command; the text says why."""


@dataclass(frozen=True, slots=True)
class Change:
    """A case that is in both runs and came out differently."""

    case_id: str
    better: bool
    before: str
    now: str


def read_earlier(path: Path) -> Earlier:
    """The report in a file that --json wrote. Raises NotComparable."""
    try:
        found = Earlier.model_validate_json(path.read_bytes())
    except OSError as error:
        raise NotComparable(f"{path} cannot be read: {error.strerror}") from None
    except ValidationError:
        raise NotComparable(f"{path} is no report that --json wrote") from None
    if found.format != FORMAT:
        raise NotComparable(f"{path} has the format {found.format!r}, this command reads {FORMAT!r}")
    return found


def compare(earlier: Earlier, results: Sequence[Scored]) -> list[Change]:
    """The cases that became useful or stopped being so, in the order of the results."""
    before = {case.id: case for case in earlier.cases}
    changes = []
    for result in results:
        case = before.get(result.case.id)
        if case is None or case.useful == result.useful:
            continue
        changes.append(
            Change(
                result.case.id, result.useful, "; ".join(case.wrong) or "useful", "; ".join(result.wrong) or "useful"
            )
        )
    return changes


def groups(results: Sequence[Scored]) -> list[tuple[str, str, str, Figures]]:
    """(held-out or tuned, domain, locale, figures): a total for each part first ("all"), then domain by locale."""

    def place(result: Scored) -> tuple[bool, str, str]:
        return not result.case.held_out, result.case.domain, result.case.locale

    told = []
    for tuned, part in groupby(sorted(results, key=place), key=lambda result: not result.case.held_out):
        inside = list(part)
        name = _PARTS[not tuned]
        told.append((name, "all", "all", figures(inside)))
        for (_, domain, locale), some in groupby(inside, key=place):
            told.append((name, domain, locale, figures(list(some))))
    return told


def print_results(console: Console, results: Sequence[Scored], changes: Sequence[Change] | None) -> None:
    """The table, then the cases that were not useful, then the comparison if there was one."""
    table = Table("", "domain", "locale", title_justify="left")
    for name in (
        "cases",
        "useful",
        "clarification\nprecision",
        "clarification\nrecall",
        "generations",
        "prompt tokens",
    ):
        table.add_column(name, justify="right")
    for name in ("p50 ms", "p95 ms"):
        table.add_column(name, justify="right")
    for part, domain, locale, found in groups(results):
        style = "bold" if domain == "all" else ""
        table.add_row(part, domain, locale, *_row(found), style=style)
    console.print(table)
    for part, domain, _, found in groups(results):
        if domain == "all" and found.codes:
            console.print(f"codes of the {part} cases: {', '.join(f'{code} {n}' for code, n in found.codes.items())}")
    for result in results:
        if not result.useful:
            _print_case(console, result)
    if changes is not None:
        _print_changes(console, changes)


def _row(found: Figures) -> list[str]:
    return [
        str(found.cases),
        _of(found.useful, found.cases),
        _of(found.asked_rightly, found.asked),
        _of(found.asked_rightly, found.expected),
        str(found.generations),
        str(found.prompt_tokens),
        f"{found.p50_seconds * 1000:.0f}",
        f"{found.p95_seconds * 1000:.0f}",
    ]


def _of(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.0%})" if whole else "–"


def _print_case(console: Console, result: Scored) -> None:
    codes = f" [{', '.join(result.codes)}]" if result.codes else ""
    held_out = " held-out" if result.case.held_out else ""
    console.print(Text.assemble(("not useful ", "yellow"), (result.case.id, "bold"), f"{held_out}{codes}"))
    for line in result.wrong:
        console.print(f"    {one_line(line)}")


def _print_changes(console: Console, changes: Sequence[Change]) -> None:
    better = sum(change.better for change in changes)
    console.print(Text(f"compared: {better} better, {len(changes) - better} worse", "bold"))
    for change in changes:
        word, style = ("better ", "green") if change.better else ("worse ", "red")
        console.print(Text.assemble((word, style), (change.case_id, "bold")))
        console.print(f"    before: {one_line(change.before)}")
        console.print(f"    now:    {one_line(change.now)}")


def as_json(results: Sequence[Scored], target: str, seconds: float) -> str:
    """The whole report as JSON text; `target` is "" for processes of its own, `seconds` how long it all took."""
    report = {
        "format": FORMAT,
        "target": target,
        "seconds": round(seconds, 3),
        "groups": [
            {"part": part, "domain": domain, "locale": locale, **_figures(found)}
            for part, domain, locale, found in groups(results)
        ],
        "cases": [_case(result) for result in results],
    }
    return json.dumps(report, ensure_ascii=False, indent=1) + "\n"


def _figures(found: Figures) -> Mapping[str, Any]:
    return {
        "cases": found.cases,
        "useful": found.useful,
        "useful_share": found.useful_share,
        "questions_asked": found.asked,
        "questions_right": found.asked_rightly,
        "questions_expected": found.expected,
        "clarification_precision": found.clarification_precision,
        "clarification_recall": found.clarification_recall,
        "turns": found.turns,
        "generations": found.generations,
        "prompt_tokens": found.prompt_tokens,
        "p50_seconds": round(found.p50_seconds, 4),
        "p95_seconds": round(found.p95_seconds, 4),
        "codes": dict(found.codes),
    }


def _case(result: Scored) -> Mapping[str, Any]:
    case = result.case
    return {
        "id": case.id,
        "domain": case.domain,
        "locale": case.locale,
        "held_out": case.held_out,
        "intent": case.intent,
        "useful": result.useful,
        "wrong": list(result.wrong),
        "codes": list(result.codes),
        "turns": [_turn(each) for each in result.seen],
    }


def _turn(seen: Seen) -> Mapping[str, Any]:
    return {
        "ending": seen.ending.value if seen.ending else "",
        "tools": list(seen.tools),
        "unapproved": list(seen.unapproved),
        "asked": seen.asked,
        "said": list(seen.said),
        "codes": list(seen.codes),
        "generations": seen.generations,
        "prompt_tokens": seen.prompt_tokens,
        "output_tokens": seen.output_tokens,
        "context_bytes": seen.context_bytes,
        "seconds": round(seen.seconds, 4),
        "stage_seconds": seen.stage_seconds,
        "trouble": seen.trouble,
    }

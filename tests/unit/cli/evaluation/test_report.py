"""The table tells held-out apart, JSON is complete, and a later run is compared case by case."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from gateway.cli.evaluation.cases import Case, Ending, Turn
from gateway.cli.evaluation.playing import Seen
from gateway.cli.evaluation.report import NotComparable, as_json, compare, groups, print_results, read_earlier
from gateway.cli.evaluation.scoring import Scored, score


def _result(case_id: str, useful: bool, *, domain: str = "aviation", held_out: bool = False) -> Scored:
    case = Case(case_id, domain, "en", held_out, "weather", (Turn(say="q"),))
    return score(case, [Seen(Ending.COMPLETED if useful else Ending.FAILED, codes=() if useful else ("tool_failed",))])


RESULTS = [
    _result("a", useful=True),
    _result("b", useful=False),
    _result("c", useful=False, held_out=True),
    _result("d", useful=True, domain="workbench", held_out=True),
]


def _printed(results: list[Scored], earlier: Path | None = None) -> str:
    output = io.StringIO()
    console = Console(file=output, highlight=False, markup=False, width=200)
    print_results(console, results, compare(read_earlier(earlier), results) if earlier else None)
    return output.getvalue()


def test_held_out_cases_are_told_apart_in_total_and_by_domain() -> None:
    assert [(part, domain, locale, found.useful, found.cases) for part, domain, locale, found in groups(RESULTS)] == [
        ("held-out", "all", "all", 1, 2),
        ("held-out", "aviation", "en", 0, 1),
        ("held-out", "workbench", "en", 1, 1),
        ("tuned", "all", "all", 1, 2),
        ("tuned", "aviation", "en", 1, 2),
    ]


def test_the_table_and_each_case_that_was_not_useful_with_its_codes() -> None:
    text = _printed(RESULTS)
    assert "1 of 2 (50%)" in text
    assert "codes of the held-out cases: tool_failed 1\ncodes of the tuned cases: tool_failed 1\n" in text
    assert "not useful b [tool_failed]\n    ended with failed (tool_failed), expected completed" in text
    assert "not useful c held-out [tool_failed]" in text
    assert "not useful a" not in text


def test_a_later_run_tells_what_got_better_and_worse(tmp_path: Path) -> None:
    file = tmp_path / "earlier.json"
    file.write_text(as_json(RESULTS, "", 1.0), "utf-8")
    now = [_result("a", useful=False), _result("b", useful=True), _result("new", useful=True), RESULTS[2]]
    text = _printed(now, file)
    assert "compared: 1 better, 1 worse" in text
    assert "worse a\n    before: useful\n    now:    ended with failed (tool_failed), expected completed" in text
    assert "better b\n    before: ended with failed" in text
    assert "compared: 0 better, 0 worse" in _printed(RESULTS, file)


def test_the_json_has_groups_and_every_turn() -> None:
    report = json.loads(as_json(RESULTS, "127.0.0.1:50050", 1.5))
    assert [case["id"] for case in report["cases"]] == ["a", "b", "c", "d"]
    assert report["cases"][1]["codes"] == ["tool_failed"]
    assert report["cases"][1]["turns"][0]["ending"] == "failed"
    assert report["groups"][0] == report["groups"][0] | {
        "part": "held-out",
        "cases": 2,
        "useful": 1,
        "useful_share": 0.5,
    }
    assert report["groups"][0]["clarification_precision"] is None


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "cannot be read"),
        ("text", "is no report that --json wrote"),
        ("{}", "is no report that --json wrote"),
        ('{"format": "handrail-evaluation-0", "cases": []}', "has the format 'handrail-evaluation-0'"),
    ],
)
def test_a_file_that_is_no_report_is_refused(tmp_path: Path, content: str | None, told: str) -> None:
    file = tmp_path / "earlier.json"
    if content is not None:
        file.write_text(content, "utf-8")
    with pytest.raises(NotComparable, match=told):
        read_earlier(file)

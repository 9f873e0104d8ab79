"""`handrail eval` against real processes: what a right and a wrong case look like, and why it may not run at all."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.cli.client import connect
from gateway.cli.evaluation import run
from gateway.cli.evaluation.cases import Case, Ending, Turn
from gateway.cli.evaluation.run import NotRun, play_cases
from gateway.cli.evaluation.scoring import Scored
from gateway.cli.processes import Stack, free_loopback_ports

FEW = ("av-en-t01", "av-ru-t16", "av-en-t19", "av-en-t25", "wb-en-t21", "wb-ru-t08", "wb-ru-t27")


def _eval(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gateway.cli", "eval", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def _chosen(*ids: str) -> list[str]:
    return [word for each in ids for word in ("--case", each)]


def _play(target: str, *cases: Case, seconds: float = 60.0) -> list[Scored]:
    return asyncio.run(play_cases(target, cases, case_seconds=seconds))


def _case(*turns: Turn, domain: str = "aviation") -> Case:
    return Case("made-here", domain, "en", False, "weather", turns)


def test_a_handful_of_cases_is_played_reported_and_compared(handrail: Stack, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    ended = _eval(handrail.gateway.target, *_chosen(*FEW), "--json", str(file))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "7 of 7 (100%)" in ended.stdout
    report = json.loads(file.read_text("utf-8"))
    cases = {case["id"]: case for case in report["cases"]}
    assert set(cases) == set(FEW)
    published = cases["wb-en-t21"]["turns"]
    assert [turn["ending"] for turn in published] == ["completed", "approval", "completed"]
    assert [turn["tools"] for turn in published] == [["draft_change"], ["validate_change"], ["publish_change"]]
    assert cases["av-ru-t16"]["turns"][0]["asked"] == "icao"
    assert cases["av-en-t25"]["turns"][0]["codes"]
    assert all(turn["seconds"] > 0 and turn["context_bytes"] > 0 for turn in published[:2])

    for case in report["cases"]:
        case["useful"] = case["id"] != "av-en-t01"
    file.write_text(json.dumps(report), "utf-8")
    later = _eval(handrail.gateway.target, *_chosen("av-en-t01", "wb-ru-t08"), "--compare", str(file))
    assert later.returncode == 0, later.stdout + later.stderr
    assert "compared: 1 better, 0 worse\nbetter av-en-t01" in later.stdout


def test_each_thing_that_is_not_as_labelled_is_told(handrail: Stack) -> None:
    (result,) = _play(
        handrail.gateway.target,
        _case(
            Turn(say="weather in Berlin", tools=("get_weather",), slots={"icao": ("EDDM",)}),
            Turn(choose="EDDB", tools=("get_forecast",), forbidden_tools=("get_weather",), forbidden_claims=("hPa",)),
            Turn(do="approve", tools=("file_flight_plan",)),
            Turn(say="never played"),
        ),
    )
    assert result.wrong == (
        "turn 1: ended with clarification of icao, expected completed",
        "turn 1: tools none, expected get_weather",
        "turn 1: icao EDDM is not shown",
        "turn 2: tools get_weather, expected get_forecast",
        "turn 2: forbidden tool get_weather was started",
        "turn 2: claims 'hPa'",
        "turn 3: no approval is open",
        "turn 4: not played",
    )


async def _changing(target: str) -> dict[str, frozenset[str]]:
    async with connect(target) as client:
        return {each.domain: run.changing_tools(each) for each in await client.domains()}


def test_a_change_without_a_click_on_an_approval_is_told(handrail: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    real = asyncio.run(_changing(handrail.gateway.target))
    assert {name: real[name] for name in ("aviation", "workbench")} == {
        "aviation": {"file_flight_plan"},
        "workbench": {"publish_change"},
    }
    case = _case(
        Turn(say="set replicas to 4 in checkout", tools=("draft_change",)),
        Turn(say="publish it", ending=(Ending.APPROVAL,)),
        Turn(do="approve", tools=("publish_change",)),
        domain="workbench",
    )
    (right,) = _play(handrail.gateway.target, case)
    assert right.wrong == ()
    # No real tool changes anything unapproved, so a draft and the approved tool are taken for changes.
    monkeypatch.setattr(run, "changing_tools", lambda _domain: frozenset({"draft_change", "publish_change"}))
    (wrong,) = _play(handrail.gateway.target, case)
    assert wrong.wrong == ("turn 1: draft_change changed something without an approval",)


def test_a_choice_that_is_not_offered_and_a_skip_without_a_question_end_the_case(handrail: Stack) -> None:
    offered, skipped = _play(
        handrail.gateway.target,
        _case(Turn(say="weather in Berlin", clarification="icao"), Turn(choose="LFPG")),
        _case(Turn(do="skip")),
    )
    assert offered.wrong == ("turn 2: the question does not offer 'LFPG'",)
    assert skipped.wrong == ("no question is open",)


def test_a_position_is_told_with_the_first_message(handrail: Stack) -> None:
    turn = Turn(say="nearest airport to me", tools=("search_airports",), slots={"center": ("LOWW",)})
    (told,) = _play(handrail.gateway.target, Case("p", "aviation", "en", False, "x", (turn,), (48.11, 16.57)))
    assert told.wrong == ()


def test_a_case_that_does_not_end_in_time_is_a_result_and_not_the_end_of_the_run(handrail: Stack) -> None:
    (late,) = _play(handrail.gateway.target, _case(Turn(say="METAR EDDM", tools=("get_weather",))), seconds=0.001)
    assert late.wrong == ("not played: no end within 0.001 s",)


def test_a_request_that_is_refused_is_a_result_with_its_reason(handrail: Stack) -> None:
    (refused,) = _play(handrail.gateway.target, _case(Turn(say="long " * 20_000)))
    assert refused.wrong == ("not played: refused: INVALID_ARGUMENT",)


def test_a_domain_that_is_not_served_is_told(handrail: Stack) -> None:
    with pytest.raises(NotRun, match="serves no domain shipping"):
        _play(handrail.gateway.target, _case(Turn(say="hi"), domain="shipping"))


def test_without_an_address_it_starts_processes_of_its_own_with_forecasts(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    ended = _eval(*_chosen("av-en-t09"), "--json", str(file))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    report = json.loads(file.read_text("utf-8"))
    assert [case["wrong"] for case in report["cases"]] == [[]]
    assert report["cases"][0]["turns"][0]["tools"] == ["get_forecast"]


def test_a_gateway_that_is_not_there_is_told() -> None:
    target = f"127.0.0.1:{free_loopback_ports(1)[0]}"
    ended = _eval(target, *_chosen("av-en-t01"))
    assert ended.returncode == 2
    assert f"not evaluated nothing answers at {target}" in ended.stderr

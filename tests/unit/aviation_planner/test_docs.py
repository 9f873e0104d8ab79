"""The sentences of docs/aviation.md lead to the tools that stand beside them, and its report example to its reports."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapter_service.domains.aviation.observed_weather import get_forecast, get_observed_weather
from adapter_service.domains.aviation.planner import AviationPlanner
from adapter_service.domains.aviation.planner.follow_ups import topic_referent
from adapter_service.domains.aviation.planner.plan_tasks import PLAN_TOPIC
from adapter_service.domains.aviation.weather_reports import ReportFolder
from adapter_service.sdk import ArtifactSummary, Memory, PlanningRequest

from .notation import NOW

DOCUMENT = (Path(__file__).parents[3] / "docs" / "aviation.md").read_text("utf-8")
ROWS = re.findall(r"^\|[^|]*\| (?P<en>[^|]+) \| (?P<ru>[^|]+) \| `(?P<tool>\w+)` \|$", DOCUMENT, re.MULTILINE)
WITH_PLAN = Memory(
    (topic_referent(PLAN_TOPIC),),
    (ArtifactSummary("flight_plan", "art_1", 1, "Flight plan", valid=True, settled=False),),
)


def test_the_document_has_its_sentences() -> None:
    assert len(ROWS) >= 15


@pytest.mark.parametrize(
    ("text", "locale", "tool"),
    [(row[column], locale, row[2]) for row in ROWS for column, locale in ((0, "en"), (1, "ru"))],
)
def test_a_sentence_leads_to_its_tool(text: str, locale: str, tool: str) -> None:
    memory = WITH_PLAN if tool == "revise_flight_plan" else Memory()
    proposal = AviationPlanner(has_forecasts=True).plan(PlanningRequest(text, locale, NOW, True, memory))
    assert tool in [task.tool for task in proposal.tasks], proposal.reply


def test_the_report_example_is_read(tmp_path: Path) -> None:
    (example,) = re.findall(r"```\n(2030/.*?)```", DOCUMENT, re.DOTALL)
    (tmp_path / "reports.txt").write_text(example)
    folder, now = ReportFolder(tmp_path), datetime(2030, 1, 2, 9, 40, tzinfo=UTC)
    weather = get_observed_weather("EDDB", folder, now)
    assert (weather["status"], weather["undecoded"]) == ("report", [])
    forecast = get_forecast("EDDB", folder, now)
    assert [group["change"] for group in forecast["groups"]] == ["BECMG", "TEMPO"]

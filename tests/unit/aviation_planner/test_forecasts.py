"""Weather from a configured folder: which texts ask for a forecast, and what the wired tools answer (I1, F4)."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapter_service.domains.aviation import answers, create_domain
from adapter_service.domains.aviation.catalogue import get_airport
from adapter_service.domains.aviation.domain import WEATHER_SETTING
from adapter_service.domains.aviation.planner import AviationPlanner, replies
from adapter_service.sdk import ArtifactSummary, DeclarationError, DomainEnvironment, Memory, PlanningRequest

from .notation import NO_MEMORY, NOW, propose, show
from .test_domain import call, check_answer

AFTER_WEATHER = Memory(referents=answers.refer_weather(get_airport("EGLL")))
AFTER_AIRPORT = Memory(referents=answers.refer_airport(get_airport("EGLL")))


def plan(text: str, memory: Memory = NO_MEMORY) -> list[str]:
    locale = "ru" if any("а" <= char <= "я" for char in text.lower()) else "en"
    return show(AviationPlanner(has_forecasts=True).plan(PlanningRequest(text, locale, NOW, True, memory)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("forecast for Berlin", ["get_forecast icao='Berlin'"]),
        ("TAF EDDB", ["get_forecast icao='EDDB'"]),
        ("what's the forecast for tomorrow at Oslo", ["get_forecast icao='Oslo' period='tomorrow'"]),
        ("weather in Rome tomorrow morning", ["get_forecast icao='Rome' period='tomorrow morning'"]),
        ("forecast for Paris at 18:00", ["get_forecast icao='Paris' period='18:00'"]),
        ("will it rain in London this evening", ["get_forecast icao='London' period='this evening'"]),
        ("weather in Nice in 3 hours", ["get_forecast icao='Nice' period='in 3 hours'"]),
        ("прогноз для Берлина на завтра", ["get_forecast icao='Берлина' period='завтра'"]),
        ("погода завтра в Омске", ["get_forecast icao='Омске' period='завтра'"]),
        ("прогноз погоды в Москве на завтра вечером", ["get_forecast icao='Москве' period='завтра вечером'"]),
        ("прогноз", ["get_forecast"]),
        ("METAR and TAF for EDDB", ["get_weather icao='EDDB'", "get_forecast icao='EDDB'"]),
        ("погода и прогноз в Шереметьево", ["get_weather icao='Шереметьево'", "get_forecast icao='Шереметьево'"]),
        (
            "weather in Berlin and forecast for Munich tonight",
            ["get_weather icao='Berlin'", "get_forecast icao='Munich' period='tonight'"],
        ),
        ("weather at JFK today", ["get_weather icao='JFK'"]),
        ("weather at JFK", ["get_weather icao='JFK'"]),
        (
            "draft a flight plan from Oslo to Rome tomorrow at 14:00",
            [
                "draft_flight_plan departure_icao='Oslo' departure_time='tomorrow at 14:00' destination_icao='Rome'",
                "validate_flight_plan flight_plan=[draft]",
            ],
        ),
    ],
)
def test_what_asks_for_a_forecast(text: str, expected: list[str]) -> None:
    assert plan(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("and tomorrow?", ["get_forecast icao=EGLL period='tomorrow'"]),
        ("а завтра?", ["get_forecast icao=EGLL period='завтра'"]),
        ("and the forecast?", ["get_forecast icao=EGLL"]),
        ("а прогноз?", ["get_forecast icao=EGLL"]),
        ("what about Munich tomorrow", ["get_forecast icao='Munich' period='tomorrow'"]),
        ("and Munich?", ["get_weather icao='Munich'"]),
        (
            "and draft a flight plan from Oslo to Rome tomorrow at 14:00",
            [
                "draft_flight_plan departure_icao='Oslo' departure_time='tomorrow at 14:00' destination_icao='Rome'",
                "validate_flight_plan flight_plan=[draft]",
            ],
        ),
    ],
)
def test_follow_ups_of_the_weather(text: str, expected: list[str]) -> None:
    assert plan(text, AFTER_WEATHER) == expected


def test_a_bare_time_follows_nothing_but_weather() -> None:
    assert plan("and tomorrow?", AFTER_AIRPORT) == ["not understood: tomorrow"]
    assert plan("and tomorrow?") == ["not understood: tomorrow"]


def test_a_time_after_the_weather_changes_no_plan() -> None:
    artifact = ArtifactSummary("flight_plan", "art_1", 1, "Flight plan", valid=True, settled=False)
    both = Memory(AFTER_WEATHER.referents, (artifact,))
    for text in ("and an hour later?", "а на час позже?"):
        assert not [line for line in plan(text, both) if line.startswith("revise")]
    assert plan("and tomorrow at 14:00?", both) == ["get_forecast icao=EGLL period='tomorrow at 14:00'"]
    assert plan("and depart an hour later", both)[0].startswith("revise_flight_plan")
    assert plan("and two more passengers", both)[0].startswith("revise_flight_plan")


@pytest.mark.parametrize(
    "reports",
    [
        "EDDB 011150Z 24012KT CAVOK 07/03 Q1013\nTAF EDDB 011100Z 0112/0218 24010KT 9999 SCT030 TEMPO 0118/0122 RA\n",
        "EDDB 011150Z RUBBISH KJFK\nTAF EDDB 011100Z NIL\n",
        "EDDB 010150Z 24012KT 9999 ABCD KJFK\nTAF EDDB 011100Z CNL\n",
        "",
    ],
    ids=["reports", "unreadable", "undecoded", "none"],
)
def test_the_tools_of_a_weather_folder_say_only_what_they_know(tmp_path: Path, reports: str) -> None:
    (tmp_path / "reports.txt").write_text(reports)
    domain = create_domain(DomainEnvironment(tmp_path, lambda: NOW, {WEATHER_SETTING: str(tmp_path)}))
    for icao in ("EDDB", "EDDT"):
        for tool in (domain.tool("get_weather"), domain.tool("get_forecast")):
            result = call(tool, icao=icao)
            check_answer(domain, tool, result)
            assert result["synthetic"] is False
            for locale in ("en", "ru"):
                assert bool(tool.limitations(result, locale)) == bool(result["raw"])


def test_without_a_folder_there_is_synthetic_weather_and_no_forecast(tmp_path: Path) -> None:
    domain = create_domain(DomainEnvironment(tmp_path, lambda: NOW, {}))
    assert not domain.has_tool("get_forecast")
    assert call(domain.tool("get_weather"), icao="EDDB")["synthetic"] is True


def test_a_file_in_the_place_of_the_weather_folder_is_refused_at_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DeclarationError, match=WEATHER_SETTING):
        create_domain(DomainEnvironment(tmp_path, lambda: datetime.now(UTC), {WEATHER_SETTING: str(tmp_path / "file")}))


@pytest.mark.parametrize(
    "text",
    [
        "forecast for Munich",
        "прогноз для Мюнхена",
        "TAF EDDB",
        "weather in Rome tomorrow",
        "погода в Риме на той неделе",
    ],
)
def test_without_a_folder_of_reports_there_is_no_forecast(text: str) -> None:
    assert propose(text).reply == replies.NO_FORECAST

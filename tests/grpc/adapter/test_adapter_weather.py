"""Weather reports of a folder through a real Adapter: told with station and time, changed while it runs (I1, F4)."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.aviation_adapter import AviationAdapter, running_aviation

# The harness' clock stands at 2030-01-02 03:04 UTC.
REPORTS = """2030/01/02 02:50
EDDB 020250Z 24012G25KT 9999 -SHRA BKN015CB 07/01 Q0998

2030/01/01 23:00
TAF EDDB 012300Z 0200/0306 24010KT 9999 SCT030 TEMPO 0210/0214 4000 SHRA
"""


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    folder = tmp_path / "reports"
    folder.mkdir()
    (folder / "reports.txt").write_text(REPORTS)
    return folder


@pytest.fixture
async def aviation(tmp_path: Path, reports: Path) -> AsyncIterator[AviationAdapter]:
    async with running_aviation(tmp_path, HANDRAIL_AVIATION_WEATHER_DIR=str(reports)) as running:
        yield running


async def told(aviation: AviationAdapter, text: str) -> str:
    driver = await aviation.ask(text)
    assert driver.last.WhichOneof("outcome") == "complete", driver.last
    return driver.last.complete.answer.text


async def test_report_and_forecast_are_told_with_station_and_time(aviation: AviationAdapter) -> None:
    driver = await aviation.ask("what is the weather at EDDB?")
    answer = driver.last.complete.answer
    assert answer.text.startswith("Berlin Brandenburg Airport (EDDB), METAR of 2030-01-02 02:50 UTC: wind 240° 12 kt")
    assert list(answer.limitations) == ["Source: the METAR report in the configured weather folder."]
    assert "METAR от 2030-01-02 02:50 UTC: ветер 240° 12 уз" in await told(aviation, "погода в EDDB")
    forecast = await told(aviation, "and the forecast at 11:00?")
    assert "TAF of 2030-01-01 23:00 UTC" in forecast
    assert "Temporarily 2030-01-02 10:00–14:00 UTC: visibility 4000 m, showers of rain" in forecast


async def test_the_nearest_station_is_cited_beside_the_airport(aviation: AviationAdapter) -> None:
    answer = (await aviation.ask("weather at EDAY")).last.complete.answer
    assert "the nearest one is from Berlin Brandenburg Airport (EDDB), 37 km away" in answer.text
    assert [citation.identity for citation in answer.entity_citations] == ["EDAY", "EDDB"]
    assert "The weather at the airport itself may differ." in answer.limitations
    none = (await aviation.ask("weather at KJFK")).last.complete.answer
    assert "there is no METAR of this station" in none.text
    assert not none.limitations


async def test_a_changed_folder_is_seen_and_a_broken_report_is_quoted(aviation: AviationAdapter, reports: Path) -> None:
    assert "wind 240° 12 kt" in await told(aviation, "METAR EDDB")
    (reports / "EDDB.TXT").write_text("2030/01/02 03:00\nEDDB 020300Z 30005KT CAVOK 06/01 Q1000\n")
    assert "METAR of 2030-01-02 03:00 UTC: wind 300° 5 kt, CAVOK" in await told(aviation, "METAR EDDB")
    (reports / "EDDB.TXT").write_bytes(b"2030/01/02 03:00\nEDDB 020300Z KJFK \xff\xfe RUBBISH\n")
    broken = await told(aviation, "METAR EDDB")
    assert "cannot be read" in broken
    assert "EDDB 020300Z KJFK" in broken
    shutil.rmtree(reports)
    assert "there is no METAR of this station" in await told(aviation, "METAR EDDB")

"""Two hundred turns of every kind after a route: each is answered or asks, and none reads more than the first (H3)."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from handrail.common.v1 import fact_pb2
from tests.fakes.adapter_harness import Driver, FakeClock
from tests.fakes.aviation_adapter import AviationAdapter, running_aviation

TURNS = 200
# {a} and {b} are airports that change from turn to turn. What is asked in return is answered by ANSWERS.
TEXTS = (
    "build a route from {a} to {b}",
    "what is the weather there?",
    "and in {a}?",
    "how far is it from {a} to {b}",
    "find airports within 100 km of {b}",
    "погода в {b}",
    "weather at the airport nearest to me",
    "draft a flight plan from {a} to {b} for DABC1",
    "make the level FL340 and two more passengers",
    "where is {b}",
    "построй маршрут из {b} в {a}",
    "what is the weather in San Jose",
    "file a flight plan from {a} to {b}",
    "a question that nobody understands",
)
CODES = re.findall(
    r"\w+", "EDDB EDDM EDDF EGLL LFPG LOWW LKPR EPWA EFHK ESSA ENGM UUEE LIRF LEMD LPPT EHAM EBBR LSZH LHBP LROP"
)
ANSWERS = {
    "persons_on_board": "120",
    "aircraft_id": "DABC1",
    "aircraft_type": "A320",
    "departure_time": "2030-01-02 14:00",
    "cruising_speed": "450 knots",
    "level": "FL340",
    "endurance_minutes": "9 hours",
    "icao": "the second",
}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def aviation(tmp_path: Path, clock: FakeClock) -> AsyncIterator[AviationAdapter]:
    async with running_aviation(tmp_path, clock) as running:
        yield running


def facts(turn: int, source: fact_pb2.Source.ValueType = fact_pb2.SOURCE_DEVICE) -> list[fact_pb2.Fact]:
    """A position that moves, and a map object that is never the same."""
    position = fact_pb2.Fact(name="position", source=source, scope="session")
    position.value.update({"lat": 45.0 + turn / 50, "lon": 10.0})
    drawn = fact_pb2.Fact(name=f"map_object_{turn}", source=source, scope="session")
    drawn.value.update({"label": f"object {turn:04d}"})
    return [position, drawn]


async def finish(driver: Driver) -> int:
    """Answer every question; the bytes of all decisions of the turn."""
    planned = driver.last.ByteSize()
    while driver.last.WhichOneof("outcome") == "ask":
        await driver.reply(ANSWERS[driver.last.ask.prompt.task.slot])
        await driver.run()
        planned += driver.last.ByteSize()
    return planned


async def test_two_hundred_turns_stay_as_small_as_the_first(aviation: AviationAdapter, clock: FakeClock) -> None:
    shown = [facts(turn)[1] for turn in range(-31, 0)]  # what a map shows at first: as many facts as are remembered
    first = await aviation.ask("build a route from EDDB to EDDM", facts=shown)
    assert first.last.complete.answer.artifacts
    sizes: list[int] = []
    planned: list[int] = []
    for turn in range(TURNS):
        a, b = CODES[turn % len(CODES)], CODES[(turn * 7 + 3) % len(CODES)]
        b = b if a != b else "LGAV"
        text = TEXTS[turn % len(TEXTS)].format(a=a, b=b)
        clock.advance(timedelta(seconds=20))
        driver = await aviation.ask(text, facts=facts(turn))
        planned.append(await finish(driver))
        assert driver.last.WhichOneof("outcome") in ("complete", "request_approval"), (turn, text, driver.last)
        sizes.append(driver.last.context.context_size_bytes)
    cycle = len(TEXTS)
    assert max(sizes[-20:]) <= max(sizes[:20]) * 1.25, sizes
    full = sizes[2 * cycle :]
    assert max(full[-2 * cycle :]) <= max(full[: 2 * cycle]) * 1.05, sizes
    assert sum(planned[-2 * cycle :]) <= sum(planned[: 2 * cycle]) * 1.1, planned


async def test_a_demo_position_is_named_as_one_after_many_facts(aviation: AviationAdapter, clock: FakeClock) -> None:
    for turn in range(40):
        clock.advance(timedelta(seconds=20))
        driver = await aviation.ask("where am I?", facts=facts(turn, fact_pb2.SOURCE_DEMO))
    answer = driver.last.complete.answer
    assert f"{45.0 + 39 / 50:.4f}" in answer.text
    assert "a demo position, not your real one" in answer.text
    assert any("demo" in limitation for limitation in answer.limitations)
    silent = await aviation.ask("where am I?")
    assert "a demo position, not your real one" in silent.last.complete.answer.text

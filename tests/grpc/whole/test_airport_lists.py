"""Lists of airports over both real services: scope told, pages from memory, counts, "did you mean" (I1, H1, H4, C5)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from adapter_service.domains.aviation import create_domain
from adapter_service.sdk import Domain, DomainEnvironment
from handrail.common.v1 import prompt_pb2
from handrail.loop.v1 import event_pb2
from tests.grpc.loop.driver import last, names
from tests.grpc.whole.running import Whole, running_whole

RUSSIAN = (("accept-language", "ru"),)


@asynccontextmanager
async def aviation(folder: Path) -> AsyncIterator[Whole]:
    """Both services with the aviation domain."""

    def replace(_probe: Domain) -> Domain:
        (folder / "aviation").mkdir(exist_ok=True)
        return create_domain(DomainEnvironment(folder / "aviation", clock=lambda: datetime.now(UTC), settings={}))

    async with running_whole(folder, adapt=replace, domain="aviation") as whole:
        yield whole


def cited(events: list[event_pb2.Event]) -> list[str]:
    return [each.identity for each in last(events, "completed").answer.entity_citations]


async def test_show_more_goes_on_with_the_list_after_another_turn(tmp_path: Path) -> None:
    async with aviation(tmp_path) as whole:
        conversation = await whole.create()
        first = await whole.driver.send(conversation, "the five nearest airports to ENGM in Sweden or Denmark")
        text = last(first, "completed").answer.text
        assert text.startswith("The five nearest airports:\n1. ")
        assert "Searched: airports with an IATA code in Denmark or Sweden, distances from " in text
        assert "show more" in text
        await whole.driver.send(conversation, "what's the weather at JFK?")
        more = await whole.driver.send(conversation, "show more")
        assert "airports were found, 6 to 10:\n6. " in last(more, "completed").answer.text
        assert len(set(cited(first)[:5]) | set(cited(more)[:5])) == 10
        again = await whole.driver.send(conversation, "next page")
        assert "11 to 15:" in last(again, "completed").answer.text


async def test_the_farthest_airport_names_its_scope_and_serves_the_next_turn(tmp_path: Path) -> None:
    async with aviation(tmp_path) as whole:
        conversation = await whole.create(RUSSIAN)
        found = await whole.driver.send(conversation, "самый северный аэропорт Норвегии", metadata=RUSSIAN)
        answer = last(found, "completed").answer
        assert answer.text.startswith("Самый северный аэропорт: ")
        assert "Область поиска: аэропорты с кодом ИАТА; страна: Норвегия (" in answer.text
        assert any("airportsdata" in each for each in answer.limitations)
        there = await whole.driver.send(conversation, "какая там погода?", metadata=RUSSIAN)
        assert cited(there) == cited(found)
        farthest = await whole.driver.send(conversation, "самый дальний аэропорт от JFK в России", metadata=RUSSIAN)
        text = last(farthest, "completed").answer.text
        assert text.startswith("Самый дальний аэропорт: ")
        assert "страна: Россия; расстояния от John F Kennedy International Airport (KJFK) (" in text


async def test_a_count_tells_what_it_counted(tmp_path: Path) -> None:
    async with aviation(tmp_path) as whole:
        conversation = await whole.create()
        counted = last(await whole.driver.send(conversation, "how many airports are in Iceland?"), "completed").answer
        assert "Airports found: " in counted.text
        assert "(airports with an IATA code in Iceland); with the airfields that have no IATA code, " in counted.text
        outside = await whole.driver.send(conversation, "how many airports are not in the USA")
        assert "outside United States" in last(outside, "completed").answer.text


async def test_a_resemblance_is_asked_about_and_yes_takes_it(tmp_path: Path) -> None:
    async with aviation(tmp_path) as whole:
        conversation = await whole.create()
        asked = last(await whole.driver.send(conversation, "weather in Мюнхин"), "clarification_required").prompt
        assert asked.type == prompt_pb2.PROMPT_TYPE_SELECT, asked
        assert "Did you mean" in asked.question
        offered = [option.display_name.split(",")[0] for option in asked.options]
        assert offered == ["Munich International Airport (EDDM)"]
        done = await whole.driver.send(conversation, "yes")
        assert names(done)[-1] == "completed"
        assert cited(done) == ["EDDM"]


async def test_a_way_there_and_back_is_two_routes(tmp_path: Path) -> None:
    async with aviation(tmp_path) as whole:
        conversation = await whole.create()
        text = last(await whole.driver.send(conversation, "route from EDDB to EDDM and back"), "completed").answer.text
        assert "(EDDB) – Munich International Airport (EDDM)" in text
        assert "(EDDM) – Berlin Brandenburg Airport (EDDB)" in text

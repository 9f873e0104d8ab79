"""No word that changes a request is passed over in silence: it is understood, or the text is refused (C11, F1)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from adapter_service.domains.aviation import answers
from adapter_service.domains.aviation.route import build_route
from adapter_service.sdk import ArtifactSummary, FactView, Memory, OpenQuestion, TaskSummary, ValueFill

from .notation import NOW, propose, show

PLAN = Memory(artifacts=(ArtifactSummary("flight_plan", "art_1", 1, "Flight plan", valid=None, settled=False),))
AFTER_ROUTE = Memory(referents=answers.refer_route(build_route("NFFN", "PHNL")))


def _answer(slot: str, text: str) -> str:
    """What the planner takes as the answer to a question about a field of a plan."""
    task = TaskSummary("t1", "revise_flight_plan", "open", {"flight_plan": "Flight plan"})
    question = OpenQuestion("t1", "revise_flight_plan", slot, ())
    return propose(text, PLAN, begins=False, question=question, tasks=(task,)).answer_text


@pytest.mark.parametrize(
    ("slot", "text"),
    [
        ("departure_time", "tomorrow at 10:00 local time"),
        ("departure_time", "завтра в 10:00 по московскому времени"),
        ("departure_time", "вчера в 10:00"),
        ("departure_time", "in two days at 10:00"),
        ("departure_time", "завтра в 10 вечера"),
        ("level", "FL350 or FL370"),
        ("level", "не выше FL350"),
        ("cruising_speed", "450 kt indicated"),
        ("persons_on_board", "120 passengers and 6 crew"),
        ("persons_on_board", "120 пассажиров и 6 членов экипажа"),
    ],
)
def test_words_beside_a_value_stay_with_it(slot: str, text: str) -> None:
    assert _answer(slot, text) == text


@pytest.mark.parametrize(
    ("slot", "text", "value"),
    [
        ("level", "at FL350 please", "FL350"),
        ("cruising_speed", "примерно 450 узлов", "450 узлов"),
        ("aircraft_id", "the callsign is AFL123", "AFL123"),
    ],
)
def test_words_without_a_meaning_are_taken_off(slot: str, text: str, value: str) -> None:
    assert _answer(slot, text) == value


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("самый большой аэропорт Германии", "самый большой аэропорт"),
        ("погода в крупнейшем аэропорту Германии", "крупнейшем аэропорту"),
        ("weather at the largest airport in Germany", "largest airport"),
        ("weather in Paris except Germany", "weather in Paris except Germany"),
        ("погода в Осло туда и обратно", "погода в Осло туда и обратно"),
        ("weather in Paris but not Orly", "weather in Paris but not Orly"),
        ("аэропорты Парижа кроме Орли", "аэропорты Парижа кроме Орли"),
        ("airports between Oslo and Rome", "airports between Oslo and Rome"),
        ("file a flight plan from EDDB to EDDM for 2 aircraft", "2 aircraft"),
        ("flight plan EDDB to EDDM at 10:00 Moscow time", "Moscow"),
    ],
)
def test_what_no_tool_does_is_refused(text: str, part: str) -> None:
    assert show(propose(text)) == [f"not understood: {part}"]


def test_polite_negation_leaves_nothing_out() -> None:
    assert show(propose("не подскажете погоду в Осло")) == ["get_weather icao='Осло'"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "routes from LHR to JFK and CDG to FCO",
            [
                "build_route departure_icao='LHR' destination_icao='JFK'",
                "route_2: build_route departure_icao='CDG' destination_icao='FCO'",
            ],
        ),
        (
            "маршруты из Осло в Рим и из Парижа в Вену",
            [
                "build_route departure_icao='Осло' destination_icao='Рим'",
                "route_2: build_route departure_icao='Парижа' destination_icao='Вену'",
            ],
        ),
        (
            "airports in Brazil by distance from Manaus, limit 4",
            ["search_airports center_icao='Manaus' country=BR include_center=true limit=4 sort=distance"],
        ),
        (
            "weather at the two airports nearest to Lima",
            [
                "search_airports center_icao='Lima' include_center=true limit=2 sort=distance",
                "get_weather icao=<search.airports.0.icao>",
                "weather_2: get_weather icao=<search.airports.1.icao>",
            ],
        ),
        (
            "draft a flight plan between Berlin and Munich",
            [
                "draft_flight_plan departure_icao='Berlin' destination_icao='Munich'",
                "validate_flight_plan flight_plan=[draft]",
            ],
        ),
        ("build a route between Aachen and FACT", ["build_route departure_icao='Aachen' destination_icao='FACT'"]),
        ("маршрут из Осло в Осло", ["build_route departure_icao='Осло' destination_icao='Осло'"]),
        (
            "сколько километров между Минском и Киевом",
            ["build_route departure_icao='Минском' destination_icao='Киевом'"],
        ),
    ],
)
def test_no_end_is_added_or_lost(text: str, expected: list[str]) -> None:
    assert show(propose(text)) == expected


@pytest.mark.parametrize(
    "text",
    ["draft a flight plan for it", "draft a flight plan for this route", "составь план полёта по этому маршруту"],
)
def test_a_plan_for_the_route_takes_its_ends(text: str) -> None:
    assert show(propose(text, AFTER_ROUTE)) == [
        "draft_flight_plan departure_icao=NFFN destination_icao=PHNL",
        "validate_flight_plan flight_plan=[draft]",
    ]


def test_what_was_not_understood_is_quoted_as_it_was_written() -> None:
    assert show(propose("who built Heathrow")) == ["not understood: who built Heathrow"]


def test_a_plan_for_nothing_named_before_takes_no_ends() -> None:
    assert show(propose("draft a flight plan", AFTER_ROUTE))[0] == "draft_flight_plan"


def test_the_plural_of_a_label_is_no_value() -> None:
    assert show(propose("remove the alternates", PLAN))[0] == (
        "revise_flight_plan alternate_icaos='none' flight_plan=[art_1]"
    )


def test_rules_and_the_level_vfr_are_told_apart() -> None:
    assert show(propose("change the rules to IFR and the level to VFR", PLAN))[0] == (
        "revise_flight_plan flight_plan=[art_1] flight_rules='IFR' level='VFR'"
    )


def test_a_digit_that_is_no_number_is_no_choice() -> None:
    """A superscript is a digit to Python, but no number."""
    question = OpenQuestion("t1", "build_route", "destination_icao", ("A (AAAA), A, DE", "B (BBBB), B, DE"))
    proposal = propose("²", begins=False, question=question)
    assert (proposal.verdict.value, proposal.answer_text) == ("answer", "²")


# --- the position that the user gave -------------------------------------------------------------------------------


def _given(minutes_ago: int, source: str = "user") -> dict[str, Any]:
    time = NOW - timedelta(minutes=minutes_ago)
    position = {"latitude_deg": 35.68, "longitude_deg": 139.76, "scope": "coordinates"}
    return {**position, "source": source, "observed_time": time.isoformat()}


def _position_fill(memory: Memory) -> object:
    return propose("airports near me", memory).tasks[0].fills.get("position")


def test_a_position_once_given_is_not_asked_for_again() -> None:
    memory = Memory(referents=answers.refer_position(_given(5)))
    assert _position_fill(memory) == ValueFill(_given(5), "35.68, 139.76")


def test_a_position_is_asked_for_again_when_it_is_old_or_the_client_sends_it() -> None:
    assert _position_fill(Memory(referents=answers.refer_position(_given(61)))) is None
    assert answers.refer_position(_given(5, source="device")) == ()
    fact = FactView("position", {"lat": 1.0, "lon": 2.0}, "device", "", datetime(2030, 1, 1, 11, 59, tzinfo=UTC))
    assert _position_fill(Memory(referents=answers.refer_position(_given(5)), facts=(fact,))) is None

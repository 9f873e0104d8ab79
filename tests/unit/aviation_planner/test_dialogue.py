"""Replies to questions, corrections, cancellations and texts while an approval is open (C7)."""

from __future__ import annotations

import pytest

from adapter_service.sdk import ArtifactSummary, Memory, OpenQuestion, Proposal, TaskSummary

from .notation import propose, show, show_patches

ROUTE_TASKS = (
    TaskSummary(
        "t1",
        "build_route",
        "open",
        {"departure_icao": "Berlin Brandenburg Airport (EDDB), Berlin, DE", "destination_icao": "San Jose"},
    ),
)
SAN_JOSE = (
    "Norman Y. Mineta San Jose International Airport (KSJC), San Jose, US",
    "Juan Santamaria International Airport (MROC), San Jose (Alajuela), CR",
)
PLAN = Memory(artifacts=(ArtifactSummary("flight_plan", "art_1", 1, "Flight plan", valid=None, settled=False),))
PLAN_TASKS = (
    TaskSummary("t0", "draft_flight_plan", "done", {"departure_icao": "Berlin"}),
    TaskSummary("t1", "revise_flight_plan", "open", {"flight_plan": "Flight plan"}),
    TaskSummary("t2", "file_flight_plan", "open", {}),
)
FILING = (TaskSummary("t0", "draft_flight_plan", "done", {}), TaskSummary("t1", "file_flight_plan", "open", {}))


def outcome(proposal: Proposal) -> list[str]:
    """Verdict, then what it brings."""
    answer = [proposal.answer_text] if proposal.answer_text else []
    tasks = show(proposal) if proposal.tasks else []
    return [proposal.verdict.value, *answer, *show_patches(proposal), *tasks]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Munich", ["answer", "Munich"]),
        ("it's Munich", ["answer", "Munich"]),
        ("Это Мюнхен", ["answer", "Мюнхен"]),
        ("to Munich please", ["answer", "Munich"]),
        ("в Мюнхен", ["answer", "Мюнхен"]),
        ("no, Oslo", ["answer", "Oslo"]),
        ("Frankfurt am Main", ["answer", "Frankfurt am Main"]),
        ("the one in Costa Rica", ["answer", SAN_JOSE[1]]),
        ("в Коста-Рике", ["answer", SAN_JOSE[1]]),
        ("the Mineta one", ["answer", SAN_JOSE[0]]),
        ("KSJC", ["answer", SAN_JOSE[0]]),
        ("the second one", ["answer", SAN_JOSE[1]]),
        ("последнюю", ["answer", SAN_JOSE[1]]),
        ("1", ["answer", SAN_JOSE[0]]),
        ("no, from Munich", ["correction", "t1.departure_icao='Munich'"]),
        ("нет, из Мюнхена", ["correction", "t1.departure_icao='Мюнхена'"]),
        ("actually from Oslo", ["correction", "t1.departure_icao='Oslo'"]),
        ("from Munich", ["correction", "t1.departure_icao='Munich'"]),
        ("no, to Oslo", ["correction", "t1.destination_icao='Oslo'"]),
        ("not Berlin but Munich", ["correction", "t1.departure_icao='Munich'"]),
        ("не из Берлина, а из Мюнхена", ["correction", "t1.departure_icao='Мюнхена'"]),
        ("cancel", ["cancel"]),
        ("forget it", ["cancel"]),
        ("never mind", ["cancel"]),
        ("отмена", ["cancel"]),
        ("забудь об этом", ["cancel"]),
        ("what's the weather at JFK?", ["new_request", "get_weather icao='JFK'"]),
        (
            "найди ближайший аэропорт",
            ["new_request", "get_position", "search_airports center={me} limit=1 sort=distance"],
        ),
        (
            "file a flight plan from Rome to Oslo",
            [
                "new_request",
                "draft_flight_plan departure_icao='Rome' destination_icao='Oslo'",
                "file_flight_plan flight_plan=[draft]",
            ],
        ),
    ],
)
def test_question_about_a_destination(text: str, expected: list[str]) -> None:
    question = OpenQuestion("t1", "build_route", "destination_icao", SAN_JOSE)
    assert outcome(propose(text, begins=False, question=question, tasks=ROUTE_TASKS)) == expected


def test_country_that_several_options_share_stays_within_them() -> None:
    options = (*SAN_JOSE, "Tobias Bolanos International Airport (MRPV), San Jose (Alajuela), CR")
    question = OpenQuestion("t1", "build_route", "destination_icao", options)
    answer = propose("the one in Costa Rica", begins=False, question=question, tasks=ROUTE_TASKS)
    assert outcome(answer) == ["answer", "San Jose (Alajuela), Costa Rica"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("52.52, 13.40", ["answer", "52.52, 13.40"]),
        ("I'm in Berlin", ["answer", "Berlin"]),
        ("я в Праге", ["answer", "Праге"]),
        ("my position is 52.5 N 13.4 E", ["answer", "52.5 N 13.4 E"]),
        ("weather in Oslo", ["new_request", "get_weather icao='Oslo'"]),
    ],
)
def test_question_about_the_position(text: str, expected: list[str]) -> None:
    question = OpenQuestion("t1", "get_position", "position", ())
    tasks = (TaskSummary("t1", "get_position", "open", {}), TaskSummary("t2", "search_airports", "open", {}))
    assert outcome(propose(text, begins=False, question=question, tasks=tasks)) == expected


@pytest.mark.parametrize(
    ("slot", "text", "expected"),
    [
        ("level", "FL370", ["answer", "FL370"]),
        ("level", "350", ["answer", "350"]),
        ("level", "at FL350", ["answer", "FL350"]),
        ("level", "эшелон 350", ["answer", "350"]),
        ("level", "no, from Munich", ["correction", "t1.departure_icao='Munich'"]),
        ("level", "450 knots", ["correction", "t1.cruising_speed='450 knots'"]),
        ("level", "change the destination to Hamburg", ["correction", "t1.destination_icao='Hamburg'"]),
        ("endurance_minutes", "5 hours", ["answer", "5 hours"]),
        ("endurance_minutes", "5:30", ["answer", "5:30"]),
        (
            "endurance_minutes",
            "5 часов, 120 человек на борту",
            ["correction", "t1.persons_on_board='120'", "t1.endurance_minutes='5 часов'"],
        ),
        ("endurance_minutes", "120 on board", ["correction", "t1.persons_on_board='120'"]),
        ("departure_time", "tomorrow at 14:00", ["answer", "tomorrow at 14:00"]),
        ("departure_time", "завтра в 14:00", ["answer", "завтра в 14:00"]),
        ("persons_on_board", "there are 120 passengers", ["answer", "120"]),
        ("persons_on_board", "cancel it", ["cancel"]),
        ("aircraft_id", "the callsign is AFL123", ["answer", "AFL123"]),
        ("aircraft_id", "борт DABC1", ["answer", "DABC1"]),
        ("aircraft_type", "it's a Boeing 737-800", ["answer", "Boeing 737-800"]),
        ("departure_icao", "из Берлина", ["answer", "Берлина"]),
        (
            "departure_icao",
            "Berlin to Munich",
            ["correction", "t1.destination_icao='Munich'", "t1.departure_icao='Berlin'"],
        ),
        ("other_information", "RMK/TEST FLIGHT", ["answer", "RMK/TEST FLIGHT"]),
        ("route", "DCT KOLIN DCT", ["answer", "DCT KOLIN DCT"]),
    ],
)
def test_question_about_a_flight_plan_field(slot: str, text: str, expected: list[str]) -> None:
    question = OpenQuestion("t1", "revise_flight_plan", slot, ())
    assert outcome(propose(text, PLAN, begins=False, question=question, tasks=PLAN_TASKS)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("change the level to FL370", ["correction", "revise_flight_plan flight_plan=[art_1] level='FL370'"]),
        ("измени эшелон на 370", ["correction", "revise_flight_plan flight_plan=[art_1] level='370'"]),
        ("make it 130 persons", ["correction", "revise_flight_plan flight_plan=[art_1] persons_on_board='130'"]),
        ("no, to Hamburg", ["correction", "revise_flight_plan destination_icao='Hamburg' flight_plan=[art_1]"]),
        ("нет, в Гамбург", ["correction", "revise_flight_plan destination_icao='Гамбург' flight_plan=[art_1]"]),
        ("FL390", ["correction", "revise_flight_plan flight_plan=[art_1] level='FL390'"]),
        ("the aircraft is B738", ["correction", "revise_flight_plan aircraft_type='B738' flight_plan=[art_1]"]),
        ("check it", ["correction", "validate_flight_plan flight_plan=[art_1]"]),
        ("cancel", ["cancel"]),
        ("what's the weather in Oslo?", ["new_request", "get_weather icao='Oslo'"]),
        ("route from Oslo to Rome", ["new_request", "build_route departure_icao='Oslo' destination_icao='Rome'"]),
        # A text never approves (contract.md).
        ("yes", ["unclear"]),
        ("да, подтверждаю", ["unclear"]),
        ("yes, I approve it", ["unclear"]),
        ("go ahead", ["unclear"]),
        ("согласен", ["unclear"]),
        ("approve it", ["unclear"]),
        ("file it", ["unclear"]),
        ("подай его", ["unclear"]),
        ("why?", ["unclear"]),
    ],
)
def test_open_approval(text: str, expected: list[str]) -> None:
    assert outcome(propose(text, PLAN, begins=False, approval_open=True, tasks=FILING)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no, from Munich", ["correction", "t1.departure_icao='Munich'"]),
        ("to Oslo instead", ["correction", "t1.destination_icao='Oslo'"]),
        ("and the weather in Paris", ["new_request", "get_weather icao='Paris'"]),
        ("cancel", ["cancel"]),
        ("blah", ["unclear"]),
    ],
)
def test_message_that_joins_a_busy_interaction(text: str, expected: list[str]) -> None:
    assert outcome(propose(text, begins=False, tasks=ROUTE_TASKS)) == expected

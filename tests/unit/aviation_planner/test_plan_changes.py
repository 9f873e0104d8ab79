"""One field changed by a follow-up: the same revision for a plan, for one that was filed, and beside an open approval."""

from __future__ import annotations

import pytest

from adapter_service.domains.aviation.planner.follow_ups import topic_referent
from adapter_service.domains.aviation.planner.plan_tasks import PLAN_TOPIC
from adapter_service.sdk import (
    ArtifactSummary,
    Memory,
    OpenQuestion,
    Proposal,
    ReplyVerdict,
    TaskSummary,
)

from .notation import propose, show, show_fill
from .plan_changes import CHANGES

TOPIC = (topic_referent(PLAN_TOPIC),)
PLAN = Memory(TOPIC, (ArtifactSummary("flight_plan", "art_1", 1, "Flight plan", valid=True, settled=False),))
FILED = Memory(TOPIC, (ArtifactSummary("flight_plan", "art_1", 1, "Flight plan", valid=True, settled=True),))
FILING = (TaskSummary("t1", "file_flight_plan", "open", {}),)


def revision(proposal: Proposal) -> list[str]:
    """The slots of the revision that comes first, and nothing that files."""
    assert "file_flight_plan" not in [task.tool for task in proposal.tasks]
    first = proposal.tasks[0]
    assert first.tool == "revise_flight_plan"
    assert show_fill(first.fills["flight_plan"]) == "[art_1]"
    return sorted(slot for slot in first.fills if slot != "flight_plan")


@pytest.mark.parametrize(("field", "text"), [(field, text) for field, text, _ in CHANGES])
def test_a_field_is_changed_wherever_the_plan_stands(field: str, text: str) -> None:
    for memory in (PLAN, FILED):
        proposal = propose(text, memory)
        assert (proposal.verdict, revision(proposal)) == (ReplyVerdict.NEW_REQUEST, [field])
    beside = propose(text, PLAN, begins=False, approval_open=True, tasks=FILING)
    assert (beside.verdict, revision(beside)) == (ReplyVerdict.CORRECTION, [field])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fly to Hamburg instead", ["build_route destination_icao='Hamburg'"]),
        ("route DCT RUDAX DCT", []),
        ("2000 ft lower", []),
    ],
)
def test_without_a_plan_nothing_is_revised(text: str, expected: list[str]) -> None:
    shown = show(propose(text))
    assert not any(line.startswith("revise") for line in shown)
    assert not expected or shown == expected


PLAN_TASKS = (
    TaskSummary("t1", "draft_flight_plan", "done", {"departure_icao": "EDDB"}),
    TaskSummary("t2", "validate_flight_plan", "done", {}),
    TaskSummary("t3", "revise_flight_plan", "open", {"level": "F340", "alternate_icaos": "EDDF, EDDH"}),
    TaskSummary("t4", "file_flight_plan", "open", {}),
)


@pytest.mark.parametrize(
    ("text", "before", "expected"),
    [
        ("what is the weather in Munich?", 0, ["get_weather icao='Munich'"]),
        ("какая погода в Мюнхене?", 0, ["get_weather icao='Мюнхене'"]),
        ("route from Oslo to Rome", 0, ["build_route departure_icao='Oslo' destination_icao='Rome'"]),
        (
            "what is the weather in Munich?",
            1,
            [
                "answers: revise_flight_plan alternate_icaos='EDDF, EDDH' flight_plan=[art_1] level='F340'",
                "get_weather icao='Munich'",
            ],
        ),
    ],
)
def test_a_side_question_is_part_of_the_plan_that_is_asked_for(text: str, before: int, expected: list[str]) -> None:
    tasks = (*PLAN_TASKS, *(TaskSummary(f"w{n}", "get_weather", "done", {}) for n in range(before)))
    question = OpenQuestion("t3", "revise_flight_plan", "persons_on_board", ())
    proposal = propose(text, PLAN, begins=False, question=question, tasks=tasks)
    assert (proposal.verdict, show(proposal)) == (ReplyVerdict.CORRECTION, expected)


def test_another_plan_or_too_many_side_questions_are_a_request_of_their_own() -> None:
    question = OpenQuestion("t3", "revise_flight_plan", "persons_on_board", ())
    other = propose("file a flight plan from Rome to Oslo", PLAN, begins=False, question=question, tasks=PLAN_TASKS)
    assert other.verdict is ReplyVerdict.NEW_REQUEST
    many = (*PLAN_TASKS, *(TaskSummary(f"w{n}", "get_weather", "done", {}) for n in range(3)))
    late = propose("weather in Munich", PLAN, begins=False, question=question, tasks=many)
    assert (late.verdict, show(late)) == (ReplyVerdict.NEW_REQUEST, ["get_weather icao='Munich'"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FL370 instead of FL350", "level='FL370'"),
        ("FL370, not FL350", "level='FL370'"),
        ("not FL350 but FL370", "level='FL370'"),
        ("эшелон 370, а не 350", "level='370'"),
        ("leave at 16:00 tomorrow instead of 14:00", "departure_time='16:00 tomorrow'"),
        ("вылет в 16:00 вместо 14:00", "departure_time='16:00'"),
        ("вместо 14:00 вылет в 16:00", "departure_time='16:00'"),
        ("430 knots rather than 450", "cruising_speed='430 knots'"),
        ("120 passengers instead of 100 passengers", "persons_on_board='120'"),
        ("6 часов топлива вместо 5 часов", "endurance_minutes='6 часов'"),
        ("RA-73002 instead of RA-73001", "aircraft_id='RA-73002'"),
        ("remarks: RMK/VIP NOT 2 PAX", "other_information='RMK/VIP NOT 2 PAX'"),
    ],
)
def test_the_value_that_is_replaced_is_not_taken_for_the_new_one(text: str, expected: str) -> None:
    revised = propose(text, PLAN).tasks[0]
    shown = [f"{slot}={show_fill(fill)}" for slot, fill in revised.fills.items() if slot != "flight_plan"]
    assert (revised.tool, shown) == ("revise_flight_plan", [expected])


@pytest.mark.parametrize(
    ("text", "field", "duration", "persons"),
    [
        ("endurance 2 hours and 3 persons", "endurance_minutes", "2 hours", "3"),
        ("endurance 4 hours 5 persons", "endurance_minutes", "4 hours", "5"),
        ("endurance 4 hours 30 minutes, 5 persons", "endurance_minutes", "4 hours 30 minutes", "5"),
        ("endurance 4:30 and 5 persons", "endurance_minutes", "4:30", "5"),
        ("eet 1 hour 5 passengers", "total_eet_minutes", "1 hour", "5"),
        ("запас топлива 2 часа 4 пассажира", "endurance_minutes", "2 часа", "4"),
        ("запас топлива 3 часа и 4 пассажира", "endurance_minutes", "3 часа", "4"),
        ("3 часа и 4 пассажира", "departure_time", "3 часа", "4"),
    ],
)
def test_people_behind_hours_are_no_minutes(text: str, field: str, duration: str, persons: str) -> None:
    fills = propose(text, PLAN).tasks[0].fills
    assert {slot: show_fill(fill) for slot, fill in fills.items() if slot != "flight_plan"} == {
        field: f"'{duration}'",
        "persons_on_board": f"'{persons}'",
    }


def test_a_bare_number_behind_hours_is_refused_by_name() -> None:
    assert show(propose("endurance 4 hours 30", PLAN)) == ["not understood: 30"]

"""Drafting, revising and validating a flight plan (I1, B5)."""

from __future__ import annotations

import copy
import inspect
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from adapter_service.domains.aviation.errors import EntityNotFound, InputInvalid
from adapter_service.domains.aviation.flight_plan import (
    REVISABLE_FIELDS,
    draft_flight_plan,
    flight_plan_view,
    revise_flight_plan,
)
from adapter_service.domains.aviation.flight_plan_check import (
    FINAL_RESERVE_MINUTES,
    REQUIRED_ORDER,
    is_valid,
    lasting_warnings,
    validate_flight_plan,
)

NOW = datetime(2030, 1, 1, 12, 0, tzinfo=UTC)
COMPLETE: dict[str, Any] = {
    "aircraft_id": "AFL123",
    "aircraft_type": "A320",
    "equipment": "SDFGWY/S",
    "departure_icao": "EDDB",
    "destination_icao": "EDDM",
    "departure_time": "tomorrow 14:00",
    "cruising_speed": "450 kt",
    "level": "FL340",
    "endurance_minutes": "4:00",
    "persons_on_board": "120",
}


def _plan(**changes: Any) -> dict[str, Any]:
    return draft_flight_plan(**{**COMPLETE, **changes}, now=NOW)


def _codes(plan: dict[str, Any], severity: str = "error", now: datetime = NOW) -> list[str]:
    return [f["code"] for f in validate_flight_plan(plan, now) if f["severity"] == severity]


def test_a_draft_keeps_what_is_unknown_open() -> None:
    plan = draft_flight_plan(departure_icao="EDDB", destination_icao="EDDM", now=NOW)
    json.dumps(plan)
    assert plan["aircraft_id"] is None
    assert plan["total_eet_minutes"] is None
    assert {item["field"] for item in plan["assumptions"]} == {
        "flight_rules",
        "flight_type",
        "wake_category",
        "equipment",
        "route",
    }
    assert all(item["reason_en"] and item["reason_ru"] for item in plan["assumptions"])
    empty = draft_flight_plan(now=NOW)
    assert _codes(empty) == [f"{field}_missing" for field in REQUIRED_ORDER]


def test_missing_fields_are_asked_for_one_by_one_until_the_plan_is_valid() -> None:
    plan = draft_flight_plan(departure_icao="EDDB", destination_icao="EDDM", now=NOW)
    asked = []
    while not is_valid(findings := validate_flight_plan(plan, NOW)):
        finding = findings[0]
        assert finding["path"] == f"/{finding['field']}"
        assert finding["message_en"]
        assert finding["message_ru"]
        asked.append(finding["field"])
        plan = revise_flight_plan(plan, now=NOW, **{finding["field"]: COMPLETE[finding["field"]]})
    assert asked == list(REQUIRED_ORDER[2:])


def test_the_estimated_time_follows_from_the_rest_until_it_is_stated() -> None:
    plan = _plan()
    assert plan["total_eet_minutes"] == 34  # 462.2 km = 249.6 NM at 450 kt = 33.3 min, rounded up
    slower = revise_flight_plan(plan, cruising_speed="225 kt", now=NOW)
    assert slower["total_eet_minutes"] == 67
    stated = revise_flight_plan(slower, total_eet_minutes="1:10", now=NOW)
    assert stated["total_eet_minutes"] == 70
    assert "total_eet_minutes" not in {item["field"] for item in stated["assumptions"]}
    assert revise_flight_plan(stated, cruising_speed="450 kt", now=NOW)["total_eet_minutes"] == 70


def test_mach_is_taken_at_the_temperature_of_the_level() -> None:
    # 0.78 of the speed of sound in the standard tropopause, 573.6 kt, is 447 kt.
    assert _plan(cruising_speed="M0.78", level="F370", destination_icao="KJFK")["total_eet_minutes"] == pytest.approx(
        _plan(cruising_speed="447 kt", level="F370", destination_icao="KJFK")["total_eet_minutes"], abs=1
    )


def test_revising_changes_only_what_is_given_and_not_the_old_content() -> None:
    plan = _plan(alternate_icaos="EDDF")
    before = copy.deepcopy(plan)
    revised = revise_flight_plan(plan, level="FL320", now=NOW)
    assert plan == before
    assert {key for key in plan if plan[key] != revised[key]} == {"level"}
    assert revise_flight_plan(plan, now=NOW) == plan
    assert revise_flight_plan(plan, alternate_icaos=[], now=NOW)["alternate_icaos"] == []
    assert plan["departure_time"] == "2030-01-02T14:00:00Z"


def test_every_revisable_field_is_a_parameter_of_both_functions() -> None:
    for function in (draft_flight_plan, revise_flight_plan):
        assert set(inspect.signature(function).parameters) - {"flight_plan", "now"} == set(REVISABLE_FIELDS)


def test_a_complete_plan_is_valid() -> None:
    assert validate_flight_plan(_plan(), NOW) == []


def test_view_is_short() -> None:
    view = flight_plan_view(_plan())
    assert view["departure_icao"] == "EDDB"
    assert "alternate_icaos" not in view
    assert "total_eet_minutes" in view["assumed"]
    assert len(json.dumps(view)) < 700


@pytest.mark.parametrize(
    ("changes", "code", "field"),
    [
        ({"destination_icao": "EDDB"}, "aerodromes_equal", "destination_icao"),
        ({"departure_icao": "XXXX"}, "aerodrome_unknown", "departure_icao"),
        ({"alternate_icaos": ["XXXX"]}, "aerodrome_unknown", "alternate_icaos"),
        ({"alternate_icaos": ["EDDM"]}, "alternate_is_destination", "alternate_icaos"),
        ({"aircraft_id": "TOOLONG8"}, "aircraft_id_malformed", "aircraft_id"),
        ({"aircraft_type": "737-800"}, "aircraft_type_malformed", "aircraft_type"),
        ({"level": "F35"}, "level_malformed", "level"),
        ({"level": "F999"}, "level_malformed", "level"),
        ({"cruising_speed": "450"}, "cruising_speed_malformed", "cruising_speed"),
        ({"cruising_speed": "N9999"}, "cruising_speed_malformed", "cruising_speed"),
        ({"equipment": "none"}, "equipment_malformed", "equipment"),
        ({"departure_time": "2030-01-01T12:00:00Z"}, "departure_time_past", "departure_time"),
        ({"persons_on_board": 0}, "persons_on_board_out_of_range", "persons_on_board"),
        ({"persons_on_board": 1000}, "persons_on_board_out_of_range", "persons_on_board"),
        ({"endurance_minutes": 0}, "endurance_minutes_out_of_range", "endurance_minutes"),
        ({"wake_category": None}, "wake_category_missing", "wake_category"),
    ],
)
def test_wrong_values_are_errors_that_name_their_field(changes: dict[str, Any], code: str, field: str) -> None:
    findings = validate_flight_plan({**_plan(), **changes}, NOW)
    found = [finding for finding in findings if finding["code"] == code]
    assert [finding["field"] for finding in found] == [field]
    assert found[0]["severity"] == "error"
    assert not is_valid(findings)


def test_endurance_must_cover_time_and_reserve_to_the_minute() -> None:
    plan = _plan(total_eet_minutes="1:00", endurance_minutes=60 + FINAL_RESERVE_MINUTES - 1)
    assert _codes(plan) == ["endurance_insufficient"]
    assert "0145" in validate_flight_plan(plan, NOW)[0]["message_ru"]
    assert _codes(revise_flight_plan(plan, endurance_minutes=60 + FINAL_RESERVE_MINUTES, now=NOW)) == []


@pytest.mark.parametrize(
    ("ahead", "errors", "warnings"),
    [
        (timedelta(0), ["departure_time_past"], []),
        (timedelta(minutes=59), [], ["departure_time_short_notice"]),
        (timedelta(hours=1), [], []),
        (timedelta(hours=120), [], []),
        (timedelta(hours=120, minutes=1), [], ["departure_time_early"]),
    ],
)
def test_departure_must_be_ahead(ahead: timedelta, errors: list[str], warnings: list[str]) -> None:
    plan = {**_plan(), "departure_time": (NOW + ahead).isoformat()}
    assert _codes(plan) == errors
    assert _codes(plan, "warning") == warnings


@pytest.mark.parametrize(
    ("changes", "fits"),
    [
        ({"level": "F340"}, True),  # Berlin to Munich is a westerly course (196°)
        ({"level": "F350"}, False),
        ({"level": "F430"}, True),
        ({"level": "F450"}, False),
        ({"level": "F345"}, False),
        ({"level": "F350", "departure_icao": "EDDM", "destination_icao": "EDDB"}, True),
        ({"level": "F340", "departure_icao": "EDDM", "destination_icao": "EDDB"}, False),
        ({"level": "F085", "flight_rules": "V"}, True),
        ({"level": "F095", "flight_rules": "V"}, False),
        ({"level": "A045"}, True),
        ({"level": "VFR", "flight_rules": "V"}, True),
    ],
)
def test_semicircular_rule_warns_only(changes: dict[str, Any], fits: bool) -> None:
    findings = validate_flight_plan(_plan(**changes), NOW)
    assert [f["code"] for f in findings] == ([] if fits else ["level_against_semicircular_rule"])
    assert is_valid(findings)


def test_a_time_much_shorter_than_possible_warns() -> None:
    assert _codes(_plan(total_eet_minutes=20), "warning") == ["total_eet_too_short"]


def test_errors_come_before_warnings() -> None:
    severities = [f["severity"] for f in validate_flight_plan(_plan(level="F350", endurance_minutes=30), NOW)]
    assert severities == ["error", "warning"]


def test_bad_input() -> None:
    with pytest.raises(EntityNotFound) as unknown:
        draft_flight_plan(departure_icao="xyzzyqq", now=NOW)
    assert unknown.value.field == "departure_icao"
    with pytest.raises(InputInvalid) as extra:
        validate_flight_plan({**_plan(), "speed": 1}, NOW)
    assert extra.value.field == "flight_plan.speed"
    with pytest.raises(InputInvalid) as naive:
        validate_flight_plan({**_plan(), "departure_time": "2030-01-02T09:00:00"}, NOW)
    assert naive.value.field == "flight_plan.departure_time"


@pytest.mark.parametrize(
    ("aircraft_type", "category"), [("B772", "H"), ("A388", "J"), ("C172", "L"), ("A320", "M"), ("QQ77", "M")]
)
def test_the_wake_category_follows_from_a_known_type(aircraft_type: str, category: str) -> None:
    plan = _plan(aircraft_type=aircraft_type)
    assert plan["wake_category"] == category
    reason = next(item["reason_en"] for item in plan["assumptions"] if item["field"] == "wake_category")
    assert (aircraft_type in reason) == (aircraft_type != "QQ77")
    assert revise_flight_plan(plan, aircraft_type="B744", now=NOW)["wake_category"] == "H"


def test_groups_that_contradict_each_other() -> None:
    assert _codes(_plan(aircraft_type="B772", wake_category="M"), "warning") == ["wake_category_against_type"]
    assert _codes(_plan(level="VFR", flight_rules="I")) == ["level_against_rules"]
    unlisted = _plan(aircraft_type="ZZZZ")
    assert _codes(unlisted) == ["type_of_aircraft_missing"]
    assert _codes(revise_flight_plan(unlisted, other_information="TYP/HOMEBUILT", now=NOW)) == []


def test_warnings_for_the_approver_do_not_depend_on_the_clock() -> None:
    plan = {**_plan(level="F350"), "departure_time": "2001-01-01T00:00:00Z"}
    assert [found["code"] for found in lasting_warnings(plan)] == ["level_against_semicircular_rule"]
    assert lasting_warnings(_plan()) == []


def test_yesterday_is_past_and_not_the_next_such_hour() -> None:
    assert _codes(_plan(departure_time="yesterday at 14:00")) == ["departure_time_past"]
    assert _plan(departure_time="позавчера в 14:00")["departure_time"] == "2029-12-30T14:00:00Z"

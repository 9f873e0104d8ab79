"""Amounts that change a field of a plan: read in both languages, applied to what the plan has, or refused (I1)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from adapter_service.domains.aviation.errors import InputInvalid
from adapter_service.domains.aviation.flight_plan import draft_flight_plan, revise_flight_plan
from adapter_service.domains.aviation.flight_plan_changes import apply_change, parse_change

NOW = datetime(2030, 1, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("field", "text", "change"),
    [
        ("departure_time", "an hour later", "+60 min"),
        ("departure_time", "30 minutes earlier", "-30 min"),
        ("departure_time", "postpone the departure by two hours", "+120 min"),
        ("departure_time", "delay it by 45 minutes", "+45 min"),
        ("departure_time", "half an hour later", "+30 min"),
        ("departure_time", "на час позже", "+60 min"),
        ("departure_time", "на полчаса раньше", "-30 min"),
        ("departure_time", "на 1 час 20 минут позже", "+80 min"),
        ("departure_time", "1:30 later", "+90 min"),
        ("departure_time", "+90 min", "+90 min"),
        ("departure_time", "a day later", "+1440 min"),
        ("departure_time", "на 2 дня раньше", "-2880 min"),
        ("persons_on_board", "2 пассажира добавились", "+2"),
        ("endurance_minutes", "an hour more", "+60 min"),
        ("endurance_minutes", "на 20 минут меньше", "-20 min"),
        ("total_eet_minutes", "10 minutes longer", "+10 min"),
        ("persons_on_board", "two more passengers", "+2"),
        ("persons_on_board", "one passenger less", "-1"),
        ("persons_on_board", "add 3 passengers", "+3"),
        ("persons_on_board", "add two fewer people", "-2"),
        ("persons_on_board", "ещё двое пассажиров", "+2"),
        ("persons_on_board", "на трёх человек меньше", "-3"),
        ("level", "2000 feet higher", "+2000 ft"),
        ("level", "4,000 ft lower", "-4000 ft"),
        ("level", "на 600 метров ниже", "-600 m"),
        ("cruising_speed", "20 knots faster", "+20 kt"),
        ("cruising_speed", "на 50 км/ч медленнее", "-50 km/h"),
        ("level", "FL370", None),
        ("level", "2000 feet", None),
        ("departure_time", "tomorrow at 14:00", None),
        ("persons_on_board", "130", None),
        ("persons_on_board", "a few more", None),
        ("aircraft_type", "two more", None),
        ("level", "+60 min", None),
    ],
)
def test_amounts_are_read(field: str, text: str, change: str | None) -> None:
    assert parse_change(field, text) == change


@pytest.mark.parametrize(
    ("field", "current", "change", "expected"),
    [
        ("departure_time", "2030-01-02T23:30:00Z", "+60 min", "2030-01-03T00:30:00Z"),
        ("persons_on_board", 120, "+2", 122),
        ("endurance_minutes", 240, "-60 min", 180),
        ("total_eet_minutes", 55, "+10 min", 65),
        ("level", "F350", "+2000 ft", "F370"),
        ("level", "A045", "-1000 ft", "A035"),
        ("level", "S1060", "-600 m", "S1000"),
        ("cruising_speed", "N0450", "-20 kt", "N0430"),
        ("cruising_speed", "K0830", "+50 km/h", "K0880"),
    ],
)
def test_an_amount_changes_what_the_plan_has(field: str, current: Any, change: str, expected: Any) -> None:
    assert apply_change(field, current, change) == expected


@pytest.mark.parametrize(
    ("field", "current", "change"),
    [
        ("persons_on_board", None, "+2"),
        ("persons_on_board", 1, "-1"),
        ("persons_on_board", 999, "+1"),
        ("level", "VFR", "+2000 ft"),
        ("level", "S1060", "+2000 ft"),
        ("level", "F350", "+250 ft"),
        ("level", "F600", "+2000 ft"),
        ("cruising_speed", "M082", "+20 kt"),
        ("cruising_speed", "N0450", "+50 km/h"),
        ("endurance_minutes", 30, "-60 min"),
    ],
)
def test_what_an_amount_cannot_change_is_refused_by_name(field: str, current: Any, change: str) -> None:
    with pytest.raises(InputInvalid) as refused:
        apply_change(field, current, change)
    assert refused.value.field == field


def test_a_revision_takes_amounts_and_values_together() -> None:
    plan = draft_flight_plan(
        departure_icao="EDDB",
        destination_icao="EDDM",
        departure_time="2030-01-02 14:00",
        cruising_speed="N0450",
        level="F350",
        persons_on_board=120,
        now=NOW,
    )
    revised = revise_flight_plan(
        plan, departure_time="+60 min", persons_on_board="+2", level="-2000 ft", aircraft_type="B738", now=NOW
    )
    assert revised["departure_time"] == "2030-01-02T15:00:00Z"
    assert (revised["persons_on_board"], revised["level"], revised["aircraft_type"]) == (122, "F330", "B738")
    assert plan["persons_on_board"] == 120
    with pytest.raises(InputInvalid):
        draft_flight_plan(persons_on_board="+2", now=NOW)

"""The flight plan's content: what is known so far, what was assumed, drafting and revising (I1).

`draft_flight_plan` and `revise_flight_plan` are tools by themselves; their results are stored as versions of one
artifact. The terms are those of the ICAO flight plan (Doc 4444 PANS-ATM, Appendix 2). Every field may be absent in
a draft: what nobody said and nothing implies stays None for the validation to name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from .catalogue import find_airport
from .errors import InputInvalid
from .flight_plan_changes import apply_change, is_change
from .flight_plan_fields import PARSERS, parse_field
from .flight_plan_groups import FlightRules, FlightType, WakeCategory, level_problem, speed_kt, speed_problem
from .flight_plan_times import rfc3339
from .geodesy import inverse
from .wake_categories import wake_category_of

METRES_IN_NAUTICAL_MILE: Final = 1852.0
REVISABLE_FIELDS: Final[tuple[str, ...]] = tuple(PARSERS)


class Assumption(BaseModel):
    """A value that nobody stated: the field, the value taken and why, for the reader of the plan."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    field: str
    value: str
    reason_en: str
    reason_ru: str


class FlightPlan(BaseModel):
    """The content of one version. Codes are canonical (see the field parsers), durations whole minutes, times UTC."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    aircraft_id: str | None = None
    flight_rules: FlightRules | None = None
    flight_type: FlightType | None = None
    aircraft_type: str | None = None
    wake_category: WakeCategory | None = None
    equipment: str | None = None
    departure_icao: str | None = None
    departure_time: datetime | None = None
    cruising_speed: str | None = None
    level: str | None = None
    route: str | None = None
    destination_icao: str | None = None
    total_eet_minutes: int | None = None
    alternate_icaos: list[str] = Field(default_factory=list)
    endurance_minutes: int | None = None
    persons_on_board: int | None = None
    other_information: str | None = None
    assumptions: list[Assumption] = Field(default_factory=list)

    def content(self) -> dict[str, Any]:
        """The JSON-able form, times as RFC 3339 with Z, every key present."""
        content = self.model_dump(mode="json")
        if self.departure_time is not None:
            content["departure_time"] = rfc3339(self.departure_time)
        return content


def load_flight_plan(flight_plan: Mapping[str, Any]) -> FlightPlan:
    """The model of stored content. Raises InputInvalid naming the field that does not fit."""
    try:
        plan = FlightPlan.model_validate(dict(flight_plan))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        path = ".".join(str(part) for part in first["loc"]) or "flight_plan"
        raise InputInvalid(f"flight_plan.{path}", "content as draft_flight_plan makes it") from error
    if plan.departure_time is not None and plan.departure_time.tzinfo is None:
        raise InputInvalid("flight_plan.departure_time", "a time with its zone, RFC 3339")
    return plan


def draft_flight_plan(
    aircraft_id: str | None = None,
    flight_rules: str | None = None,
    flight_type: str | None = None,
    aircraft_type: str | None = None,
    wake_category: str | None = None,
    equipment: str | None = None,
    departure_icao: str | None = None,
    departure_time: str | None = None,
    cruising_speed: str | None = None,
    level: str | None = None,
    route: str | None = None,
    destination_icao: str | None = None,
    total_eet_minutes: str | int | None = None,
    alternate_icaos: str | list[str] | None = None,
    endurance_minutes: str | int | None = None,
    persons_on_board: str | int | None = None,
    other_information: str | None = None,
    now: datetime | None = None,
) -> dict[str, Any]:
    """A new plan's content from what is known; None = not known yet.

    Every value may be canonical or in a person's words (see the field parsers). What follows from the rest or has a
    usual value is filled in and listed under `assumptions`. `now` (default: the clock) serves departure times
    relative to it. Raises InputInvalid naming the field and the accepted form, EntityNotFound for an airport.
    """
    stated = _given(locals())
    return _completed(_parsed(stated, now))


def revise_flight_plan(
    flight_plan: dict[str, Any],
    aircraft_id: str | None = None,
    flight_rules: str | None = None,
    flight_type: str | None = None,
    aircraft_type: str | None = None,
    wake_category: str | None = None,
    equipment: str | None = None,
    departure_icao: str | None = None,
    departure_time: str | None = None,
    cruising_speed: str | None = None,
    level: str | None = None,
    route: str | None = None,
    destination_icao: str | None = None,
    total_eet_minutes: str | int | None = None,
    alternate_icaos: str | list[str] | None = None,
    endurance_minutes: str | int | None = None,
    persons_on_board: str | int | None = None,
    other_information: str | None = None,
    now: datetime | None = None,
) -> dict[str, Any]:
    """The content with the given fields changed, None = unchanged; the old content is left as it is.

    A quantity may be given as a change of what the plan has (flight_plan_changes): "+2", "+60 min", "-2000 ft".

    Assumptions are worked out again from the new content, so a new speed gives a new estimated time unless that was
    stated. An empty list of alternates removes them. Raises as draft_flight_plan does.
    """
    given = _given(locals())
    plan = load_flight_plan(flight_plan)
    present = plan.content()
    by_amount = {field: value for field, value in given.items() if is_change(field, value)}
    changes = _parsed({field: value for field, value in given.items() if field not in by_amount}, now)
    changes |= {field: apply_change(field, present[field], value) for field, value in by_amount.items()}
    assumed = {assumption.field for assumption in plan.assumptions}
    stated = {
        field: value
        for field, value in present.items()
        if field in PARSERS and value is not None and field not in assumed
    }
    return _completed({**stated, **changes})


def flight_plan_view(flight_plan: Mapping[str, Any]) -> dict[str, Any]:
    """What later context keeps of a plan (H1): the fields that have a value, without the reasons of the assumptions."""
    plan = load_flight_plan(flight_plan)
    content = plan.content()
    view = {key: content[key] for key in REVISABLE_FIELDS if content[key] not in (None, [])}
    return {**view, "assumed": [assumption.field for assumption in plan.assumptions]}


def great_circle_minutes(plan: FlightPlan) -> int | None:
    """Minutes along the great circle at the cruising speed, no wind, rounded up; None without both ends and speed."""
    ends = [find_airport(icao) for icao in (plan.departure_icao or "", plan.destination_icao or "")]
    if plan.cruising_speed is None or speed_problem(plan.cruising_speed) is not None:
        return None
    level = plan.level if plan.level is not None and level_problem(plan.level) is None else None
    if ends[0] is None or ends[1] is None or ends[0] == ends[1]:
        return None
    distance_m, _ = inverse(ends[0].latitude_deg, ends[0].longitude_deg, ends[1].latitude_deg, ends[1].longitude_deg)
    return math.ceil(distance_m / METRES_IN_NAUTICAL_MILE / speed_kt(plan.cruising_speed, level) * 60.0)


def _given(arguments: dict[str, Any]) -> dict[str, Any]:
    """The plan's fields among a call's arguments that were given."""
    return {key: value for key, value in arguments.items() if key in PARSERS and value is not None}


def _parsed(stated: dict[str, Any], now: datetime | None) -> dict[str, Any]:
    moment = datetime.now(UTC) if now is None else now
    return {field: parse_field(field, value, moment) for field, value in stated.items()}


def _completed(stated: dict[str, Any]) -> dict[str, Any]:
    """The stated fields, and every assumption that they leave room for."""
    assumptions = [item for item in _usual_values(stated) if item.field not in stated]
    known = {**stated, **{item.field: item.value for item in assumptions}}
    eet = great_circle_minutes(FlightPlan.model_validate(known))
    if "total_eet_minutes" not in stated and eet is not None:
        known["total_eet_minutes"] = eet
        assumptions.append(
            Assumption(
                field="total_eet_minutes",
                value=str(eet),
                reason_en="Great-circle distance at the cruising speed, no wind.",
                reason_ru="Расстояние по ортодромии на крейсерской скорости, без учёта ветра.",
            )
        )
    return FlightPlan.model_validate({**known, "assumptions": assumptions}).content()


def _wake_category(aircraft_type: str | None) -> Assumption:
    known = wake_category_of(aircraft_type)
    return Assumption(
        field="wake_category",
        value=known or "M",
        reason_en=f"The category of the type {aircraft_type}."
        if known
        else "Medium, the most usual category; the type's own category is not known here.",
        reason_ru=f"Категория типа {aircraft_type}."
        if known
        else "Средняя, самая частая категория; категория самого типа здесь неизвестна.",
    )


def _usual_values(stated: dict[str, Any]) -> list[Assumption]:
    rules = "V" if stated.get("level") == "VFR" else "I"
    callsign = str(stated.get("aircraft_id", ""))
    # An operator's three-letter designator and a flight number is how airlines call scheduled flights.
    airline = len(callsign) > 3 and callsign[:3].isalpha() and callsign[3].isdigit()
    return [
        Assumption(
            field="flight_rules",
            value=rules,
            reason_en="Visual flight rules, as the level is VFR."
            if rules == "V"
            else "Instrument flight rules, the usual case.",
            reason_ru="Правила визуальных полётов, так как уровень VFR."
            if rules == "V"
            else "Правила полётов по приборам, обычный случай.",
        ),
        Assumption(
            field="flight_type",
            value="S" if airline else "G",
            reason_en="Scheduled: the callsign looks like an airline's."
            if airline
            else "General aviation: nothing says otherwise.",
            reason_ru="Регулярный рейс: позывной похож на позывной авиакомпании."
            if airline
            else "Авиация общего назначения: иного не указано.",
        ),
        _wake_category(stated.get("aircraft_type")),
        Assumption(
            field="equipment",
            value="S/S",
            reason_en="Standard radio and navigation equipment and a Mode S transponder.",
            reason_ru="Стандартное связное и навигационное оборудование и ответчик режима S.",
        ),
        Assumption(
            field="route",
            value="DCT",
            reason_en="Direct, as no route was given.",
            reason_ru="Напрямую, так как маршрут не указан.",
        ),
    ]

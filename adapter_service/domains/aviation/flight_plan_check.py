"""The validation of a flight plan: what a dispatcher would check before filing it (I1, B5).

`validate_flight_plan` is a tool by itself. A finding names the field to revise; missing fields come in the order in
which a dispatcher would ask.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from .catalogue import find_airport
from .flight_plan import FlightPlan, great_circle_minutes, load_flight_plan
from .flight_plan_agreement import agreement_findings
from .flight_plan_fields import ACCEPTED, MOST_PERSONS
from .flight_plan_finding import finding
from .flight_plan_groups import equipment_codes, hhmm, level_problem, speed_problem

REQUIRED_ORDER: Final = (
    "departure_icao",
    "destination_icao",
    "aircraft_id",
    "aircraft_type",
    "departure_time",
    "cruising_speed",
    "level",
    "endurance_minutes",
    "persons_on_board",
)
# Final reserve fuel, ICAO Annex 6 Part I, 4.3.6.3 e): 45 minutes for reciprocating engines, 30 minutes for
# turbines. Which engine a type has is not known here, so the greater one is asked of every plan.
FINAL_RESERVE_MINUTES: Final = 45
# Doc 4444, 4.4.2.1.1: a plan is not submitted more than 120 hours before the estimated off-block time; Annex 2,
# 3.3.1.4: at least 60 minutes.
EARLIEST_FILING: Final = timedelta(hours=120)
LATEST_FILING: Final = timedelta(minutes=60)
# A stated time this much shorter than the great circle at cruising speed needs a strong tail wind all the way.
_FASTEST_SHARE: Final = 0.8

# field: (name in English, name in Russian with the form of "missing" that agrees with it)
_NAMES: Final = {
    "departure_icao": ("Departure aerodrome", "Не указан аэродром вылета"),
    "destination_icao": ("Destination aerodrome", "Не указан аэродром назначения"),
    "aircraft_id": ("Callsign", "Не указан позывной"),
    "aircraft_type": ("Aircraft type", "Не указан тип воздушного судна"),
    "departure_time": ("Departure time with its date", "Не указаны дата и время вылета"),
    "cruising_speed": ("Cruising speed", "Не указана крейсерская скорость"),
    "level": ("Cruising level", "Не указан эшелон"),
    "endurance_minutes": ("Endurance", "Не указан запас топлива по времени"),
    "persons_on_board": ("Number of persons on board", "Не указано число людей на борту"),
    "flight_rules": ("Flight rules", "Не указаны правила полёта"),
    "flight_type": ("Type of flight", "Не указан вид полёта"),
    "wake_category": ("Wake turbulence category", "Не указана категория турбулентности следа"),
    "equipment": ("Equipment", "Не указано оборудование"),
    "route": ("Route", "Не указан маршрут"),
    "total_eet_minutes": ("Total estimated elapsed time", "Не указано расчётное время в пути"),
}


def validate_flight_plan(flight_plan: dict[str, Any], now: datetime | None = None) -> list[dict[str, Any]]:
    """Findings {severity, path, field, code, message_en, message_ru}; a plan without an error among them may be filed.

    Errors come first: missing fields in REQUIRED_ORDER, then wrong values; warnings follow. `now` (default: the
    clock) is an aware time. Raises InputInvalid where `flight_plan` is not content of a plan at all.
    """
    plan = load_flight_plan(flight_plan)
    moment = datetime.now(UTC) if now is None else now
    findings = [
        *_missing(plan),
        *_aerodromes(plan),
        *_shapes(plan),
        *_departure(plan, moment),
        *_lasting(plan),
    ]
    return sorted(findings, key=lambda found: found["severity"] != "error")


def lasting_warnings(flight_plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The warnings that depend on the content alone, not on the clock: what an approver must see beside the plan."""
    return [found for found in _lasting(load_flight_plan(flight_plan)) if found["severity"] == "warning"]


def _lasting(plan: FlightPlan) -> list[dict[str, Any]]:
    return [*_times(plan), *_persons(plan), *agreement_findings(plan)]


def is_valid(findings: Sequence[Mapping[str, Any]]) -> bool:
    """May a plan with these findings be filed? Warnings do not forbid it."""
    return all(found["severity"] != "error" for found in findings)


def _missing(plan: FlightPlan) -> list[dict[str, Any]]:
    rest = [field for field in _NAMES if field not in REQUIRED_ORDER]
    # The estimated time follows from ends and speed: while one of those is missing, it is they that must be asked for.
    derivable = any(getattr(plan, field) is None for field in ("departure_icao", "destination_icao", "cruising_speed"))
    return [
        finding("error", field, f"{field}_missing", f"{_NAMES[field][0]} is missing.", f"{_NAMES[field][1]}.")
        for field in (*REQUIRED_ORDER, *rest)
        if getattr(plan, field) is None and not (field == "total_eet_minutes" and derivable)
    ]


def _aerodromes(plan: FlightPlan) -> list[dict[str, Any]]:
    findings = []
    fields = [("departure_icao", plan.departure_icao), ("destination_icao", plan.destination_icao)]
    fields += [("alternate_icaos", icao) for icao in plan.alternate_icaos]
    for field, icao in fields:
        if icao is not None and find_airport(icao) is None:
            findings.append(
                finding(
                    "error",
                    field,
                    "aerodrome_unknown",
                    f"Aerodrome {icao} is not in the catalogue.",
                    f"Аэродрома {icao} нет в каталоге.",
                )
            )
    if plan.departure_icao is not None and plan.departure_icao == plan.destination_icao:
        findings.append(
            finding(
                "error",
                "destination_icao",
                "aerodromes_equal",
                "Departure and destination are the same aerodrome.",
                "Аэродромы вылета и назначения совпадают.",
            )
        )
    if plan.destination_icao in plan.alternate_icaos:
        findings.append(
            finding(
                "error",
                "alternate_icaos",
                "alternate_is_destination",
                "The destination cannot be its own alternate.",
                "Аэродром назначения не может быть запасным для самого себя.",
            )
        )
    return findings


def _shapes(plan: FlightPlan) -> list[dict[str, Any]]:
    """Stored content may come from elsewhere than the parsers, so the coded groups are checked again."""
    wrong = [
        ("aircraft_id", plan.aircraft_id, r"(?=.*[A-Z])[A-Z0-9]{2,7}", "Callsign", "Позывной"),
        ("aircraft_type", plan.aircraft_type, r"[A-Z][A-Z0-9]{1,3}", "Type designator", "Обозначение типа"),
    ]
    findings = [
        _shape_finding(field, value, name_en, name_ru)
        for field, value, pattern, name_en, name_ru in wrong
        if value is not None and not re.fullmatch(pattern, value, re.ASCII)
    ]
    if plan.equipment is not None and equipment_codes(plan.equipment) is None:
        findings.append(_shape_finding("equipment", plan.equipment, "Equipment", "Оборудование"))
    if plan.cruising_speed is not None and speed_problem(plan.cruising_speed) is not None:
        findings.append(_shape_finding("cruising_speed", plan.cruising_speed, "Speed group", "Группа скорости"))
    if plan.level is not None and level_problem(plan.level) is not None:
        findings.append(_shape_finding("level", plan.level, "Level group", "Группа эшелона"))
    return findings


def _shape_finding(field: str, value: str, name_en: str, name_ru: str) -> dict[str, Any]:
    return finding(
        "error",
        field,
        f"{field}_malformed",
        f"{name_en} {value!r} is not well formed: {ACCEPTED[field]}.",
        f"{name_ru}: значение «{value}» записано неверно.",
    )


def _departure(plan: FlightPlan, now: datetime) -> list[dict[str, Any]]:
    if plan.departure_time is None:
        return []
    ahead = plan.departure_time - now
    shown = f"{plan.departure_time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    if ahead <= timedelta(0):
        return [
            finding(
                "error",
                "departure_time",
                "departure_time_past",
                f"The departure time {shown} is in the past.",
                f"Время вылета {shown} уже прошло.",
            )
        ]
    if ahead > EARLIEST_FILING:
        return [
            finding(
                "warning",
                "departure_time",
                "departure_time_early",
                f"The departure {shown} is more than 120 hours ahead; air traffic services accept plans later.",
                f"До вылета {shown} больше 120 часов; органы ОВД принимают планы позже.",
            )
        ]
    if ahead < LATEST_FILING:
        return [
            finding(
                "warning",
                "departure_time",
                "departure_time_short_notice",
                f"The departure {shown} is less than 60 minutes ahead.",
                f"До вылета {shown} меньше 60 минут.",
            )
        ]
    return []


def _times(plan: FlightPlan) -> list[dict[str, Any]]:
    findings = []
    eet, endurance = plan.total_eet_minutes, plan.endurance_minutes
    for field, minutes in (("total_eet_minutes", eet), ("endurance_minutes", endurance)):
        if minutes is not None and not 1 <= minutes <= 5999:
            findings.append(
                finding(
                    "error",
                    field,
                    f"{field}_out_of_range",
                    "The time must be from 1 minute to 99 h 59 min.",
                    "Время должно быть от 1 минуты до 99 ч 59 мин.",
                )
            )
    if eet is not None and endurance is not None and endurance < eet + FINAL_RESERVE_MINUTES:
        needed = hhmm(eet + FINAL_RESERVE_MINUTES)
        findings.append(
            finding(
                "error",
                "endurance_minutes",
                "endurance_insufficient",
                f"Endurance {hhmm(endurance)} is less than the estimated time {hhmm(eet)} plus the final reserve "
                f"of {FINAL_RESERVE_MINUTES} minutes; at least {needed} is needed.",
                f"Запас топлива {hhmm(endurance)} меньше расчётного времени {hhmm(eet)} плюс финальный резерв "
                f"{FINAL_RESERVE_MINUTES} минут; нужно не меньше {needed}.",
            )
        )
    shortest = great_circle_minutes(plan)
    if eet is not None and shortest is not None and eet < shortest * _FASTEST_SHARE:
        findings.append(
            finding(
                "warning",
                "total_eet_minutes",
                "total_eet_too_short",
                f"The estimated time {hhmm(eet)} is much shorter than the great circle at cruising speed "
                f"({hhmm(shortest)}).",
                f"Расчётное время {hhmm(eet)} намного меньше времени по ортодромии на крейсерской скорости "
                f"({hhmm(shortest)}).",
            )
        )
    return findings


def _persons(plan: FlightPlan) -> list[dict[str, Any]]:
    if plan.persons_on_board is None or 1 <= plan.persons_on_board <= MOST_PERSONS:
        return []
    return [
        finding(
            "error",
            "persons_on_board",
            "persons_on_board_out_of_range",
            f"The number of persons on board must be from 1 to {MOST_PERSONS}.",
            f"Число людей на борту должно быть от 1 до {MOST_PERSONS}.",
        )
    ]

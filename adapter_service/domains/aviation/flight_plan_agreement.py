"""Fields of a flight plan that contradict each other: rules, level, course, type, wake category and equipment.

Called by the validation for what depends on the content alone. Sources are ICAO Doc 4444, Appendix 2, and Annex 2.
"""

from __future__ import annotations

from typing import Any

from .catalogue import Airport, find_airport
from .flight_plan import FlightPlan
from .flight_plan_finding import finding
from .flight_plan_groups import equipment_codes, in_rvsm_airspace, level_problem
from .geodesy import inverse
from .wake_categories import wake_category_of


def agreement_findings(plan: FlightPlan) -> list[dict[str, Any]]:
    """Errors and warnings about fields that do not go together."""
    return [*_agreement(plan), *_semicircular(plan), *_equipment(plan)]


def _agreement(plan: FlightPlan) -> list[dict[str, Any]]:
    """Groups that contradict each other (Doc 4444, Appendix 2, items 8, 9, 15 and 18)."""
    findings = []
    if plan.level == "VFR" and plan.flight_rules == "I":
        findings.append(
            finding(
                "error",
                "level",
                "level_against_rules",
                "Level VFR does not go with instrument flight rules.",
                "Уровень VFR несовместим с правилами полётов по приборам.",
            )
        )
    if plan.aircraft_type == "ZZZZ" and "TYP/" not in (plan.other_information or ""):
        findings.append(
            finding(
                "error",
                "other_information",
                "type_of_aircraft_missing",
                "Type ZZZZ needs the type in item 18, as TYP/.",
                "Тип ZZZZ требует указать тип в поле 18, после TYP/.",
            )
        )
    known = wake_category_of(plan.aircraft_type)
    if known is not None and plan.wake_category not in (None, known):
        findings.append(
            finding(
                "warning",
                "wake_category",
                "wake_category_against_type",
                f"The wake turbulence category of {plan.aircraft_type} is {known}, not {plan.wake_category}.",
                f"Категория турбулентности следа типа {plan.aircraft_type} — {known}, а не {plan.wake_category}.",
            )
        )
    return findings


def _equipment(plan: FlightPlan) -> list[dict[str, Any]]:
    """What item 10 says against items 15 and 18 (Doc 4444, Appendix 2, notes to item 10).

    Warnings: the plan does not know what the aircraft is approved for, its pilot does.
    """
    codes = None if plan.equipment is None else equipment_codes(plan.equipment)
    if codes is None:
        return []
    findings = []
    other = plan.other_information or ""
    level = plan.level if plan.level is not None and level_problem(plan.level) is None else "VFR"
    if in_rvsm_airspace(level) and "W" not in codes[0] and "STS/NONRVSM" not in other:
        findings.append(
            finding(
                "warning",
                "equipment",
                "rvsm_approval_missing",
                f"At level {level}, between FL290 and FL410, an aircraft needs RVSM approval: W in the equipment, "
                f"which is {plan.equipment}, or STS/NONRVSM in item 18.",
                f"На эшелоне {level}, между FL290 и FL410, нужен допуск RVSM: W в оборудовании, а указано "
                f"{plan.equipment}, либо STS/NONRVSM в поле 18.",
            )
        )
    wanted = [("R", ("PBN/",)), ("Z", ("COM/", "NAV/", "DAT/"))]
    for code, indicators in wanted:
        if code in codes[0] and not any(indicator in other for indicator in indicators):
            told = ", ".join(indicators)
            findings.append(
                finding(
                    "warning",
                    "other_information",
                    f"equipment_{code.lower()}_unexplained",
                    f"{code} in the equipment has to be explained in item 18, after {told}.",
                    f"{code} в оборудовании нужно пояснить в поле 18, после {told}.",
                )
            )
    return findings


def _semicircular(plan: FlightPlan) -> list[dict[str, Any]]:
    """The semicircular rule, ICAO Annex 2, Appendix 3 a).

    By the true course, as the magnetic variation is not known here; hence a warning only.
    """
    ends = (find_airport(plan.departure_icao or ""), find_airport(plan.destination_icao or ""))
    if ends[0] is None or ends[1] is None or ends[0] == ends[1] or plan.level is None:
        return []
    if plan.level[0] != "F" or level_problem(plan.level) is not None or plan.flight_rules not in ("I", "V"):
        return []
    course = _course(ends[0], ends[1])
    eastbound = course < 180.0
    if _fits_semicircle(int(plan.level[1:]), eastbound, visual=plan.flight_rules == "V"):
        return []
    half_en, half_ru = ("000°–179°", "000°–179°") if eastbound else ("180°–359°", "180°–359°")
    return [
        finding(
            "warning",
            "level",
            "level_against_semicircular_rule",
            f"Level {plan.level} is not one of the levels for courses {half_en} (true course {course:.0f}°).",
            f"Эшелон {plan.level} не относится к эшелонам для курсов {half_ru} (истинный курс {course:.0f}°).",
        )
    ]


def _course(departure: Airport, destination: Airport) -> float:
    return inverse(
        departure.latitude_deg, departure.longitude_deg, destination.latitude_deg, destination.longitude_deg
    )[1]


def _fits_semicircle(level: int, eastbound: bool, visual: bool) -> bool:
    """Odd thousands of feet to the east, even ones to the west; visual flights 500 ft above them.

    Above FL410 the levels of one direction are 4 000 ft apart: FL450, FL490 to the east, FL430, FL470 to the west.
    """
    if visual:
        return level % 10 == 5 and level < 290 and (level // 10 % 2 == 1) == eastbound
    thousands, rest = divmod(level, 10)
    if rest:
        return False
    if thousands <= 41:
        return (thousands % 2 == 1) == eastbound
    return thousands % 4 == (1 if eastbound else 3)

"""Parsers of the flight plan's fields: from what a person writes to the one canonical form, or a named refusal.

Called by the drafting and revising of plans and, through `parse_field`, by the planner when it fills a slot. Forms
follow the ICAO flight plan (Doc 4444 PANS-ATM, Appendix 2, items 7 to 19). Times and durations have their own
module.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Final, get_args

from .catalogue import find_airport
from .errors import EntityNotFound, InputInvalid
from .flight_plan_groups import (
    FlightRules,
    FlightType,
    WakeCategory,
    arrange_other_information,
    equipment_codes,
    level_problem,
    speed_problem,
)
from .flight_plan_times import parse_departure_time, parse_duration, rfc3339
from .folding import fold
from .matching import resolve_airport

LONGEST_ROUTE: Final = 1000
MOST_ALTERNATES: Final = 2
MOST_PERSONS: Final = 999

ACCEPTED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "aircraft_id": "a callsign or registration of 2 to 7 Latin letters and digits, like AFL123 or D-ABCD",
        "flight_rules": "I (IFR), V (VFR), Y (IFR first, then VFR) or Z (VFR first, then IFR)",
        "flight_type": "S (scheduled), N (non-scheduled), G (general aviation), M (military) or X (other)",
        "aircraft_type": "an ICAO type designator of 2 to 4 Latin letters and digits, like A320, B738 or C172",
        "wake_category": "L (light), M (medium), H (heavy) or J (super)",
        "equipment": "radio and surveillance equipment as in item 10, like SDFGRWY/S",
        "departure_icao": "one airport of the catalogue, best by its ICAO code, like EDDB",
        "destination_icao": "one airport of the catalogue, best by its ICAO code, like EDDM",
        "cruising_speed": "knots, km/h or Mach, like 450 kt, 830 km/h, M0.82, N0450",
        "level": "a flight level, altitude or VFR, like FL350, 4500 ft, 10600 m, F350, A045, S1060, VFR",
        "route": f"DCT or route points in Latin letters, at most {LONGEST_ROUTE} characters, like DCT KOLIN DCT",
        "alternate_icaos": f"at most {MOST_ALTERNATES} airports by their ICAO codes, like EDDF EDDH",
        "persons_on_board": f"a whole number from 1 to {MOST_PERSONS}",
        "other_information": "item 18 groups in Latin letters, like REG/DABCD OPR/ACME, or a plain remark",
    }
)

# Cyrillic capitals that look like Latin ones: on a Russian keyboard A320 and AFL are often typed with them.
_LOOK_ALIKES: Final = str.maketrans("АВЕКМНОРСТХУ", "ABEKMHOPCTXY")
_NUMBER: Final = r"\d+(?:[.,]\d+)?"


def _refuse(field: str, value: object) -> InputInvalid:
    return InputInvalid(field, ACCEPTED[field], value)


def _latin(text: object) -> str:
    """Upper case, single spaces, look-alike Cyrillic letters replaced."""
    return " ".join(str(text).upper().split()).translate(_LOOK_ALIKES)


def parse_callsign(text: str) -> str:
    """Item 7: 2 to 7 letters and digits, at least one letter; spaces and hyphens are dropped ("D-ABCD" → "DABCD")."""
    named = re.sub(r"(?i)^\s*(call\s?sign|позывной|борт)\b[:\s]*", "", str(text))
    code = re.sub(r"[\s\-–—.]", "", _latin(named))
    if not re.fullmatch(r"(?=.*[A-Z])[A-Z0-9]{2,7}", code, re.ASCII):
        raise _refuse("aircraft_id", text)
    return code


def parse_aircraft_type(text: str) -> str:
    """Item 9: a designator as in ICAO Doc 8643; a maker's name before it is dropped ("Airbus A320" → "A320")."""
    parts = _latin(text).replace("-", "").split()
    designators = [part for part in parts if re.fullmatch(r"[A-Z][A-Z0-9]{1,3}", part, re.ASCII)]
    if len(parts) > 1:
        designators = [part for part in designators if re.search(r"\d", part)]
        others = [part for part in parts if part not in designators]
        if len(designators) != 1 or any(re.search(r"\d", other) for other in others):
            raise _refuse("aircraft_type", text)
    if len(designators) != 1:
        raise _refuse("aircraft_type", text)
    return designators[0]


_RULES_WORDS: Final = (
    (r"(ifr|instrument|ппп|прибор).*(vfr|visual|пвп|визуал)", "Y"),
    (r"(vfr|visual|пвп|визуал).*(ifr|instrument|ппп|прибор)", "Z"),
    (r"ifr|instrument|ппп|прибор", "I"),
    (r"vfr|visual|пвп|визуал", "V"),
)
_TYPE_WORDS: Final = (
    (r"non.?scheduled|charter|нерегулярн|чартер", "N"),
    (r"scheduled|регулярн", "S"),
    (r"general|private|общего назначения|частн", "G"),
    (r"militar|военн", "M"),
    (r"other|проч|другой", "X"),
)
_WAKE_WORDS: Final = (
    (r"super|супер", "J"),
    (r"heavy|тяж[её]л", "H"),
    (r"medium|средн", "M"),
    (r"light|л[её]гк", "L"),
)


def _letter(field: str, text: str, letters: tuple[str, ...], words: Sequence[tuple[str, str]]) -> str:
    code = _latin(text)
    if code in letters:
        return code
    for pattern, letter in words:
        if re.search(pattern, str(text).lower()):
            return letter
    raise _refuse(field, text)


def parse_flight_rules(text: str) -> str:
    """Item 8: I, V, Y or Z, from the letter or from words."""
    return _letter("flight_rules", text, get_args(FlightRules), _RULES_WORDS)


def parse_flight_type(text: str) -> str:
    """Item 8: S, N, G, M or X, from the letter or from words."""
    return _letter("flight_type", text, get_args(FlightType), _TYPE_WORDS)


def parse_wake_category(text: str) -> str:
    """Item 9: L, M, H or J, from the letter or from words."""
    return _letter("wake_category", text, get_args(WakeCategory), _WAKE_WORDS)


def parse_equipment(text: str) -> str:
    """Item 10: equipment, a solidus, surveillance equipment; each descriptor of Doc 4444 once."""
    code = _latin(text).replace(" ", "")
    if equipment_codes(code) is None:
        raise _refuse("equipment", text)
    return code


# (pattern of the whole text, letter of the group, digits, factor from the number to the group's unit).
_SPEEDS: Final = (
    (r"N\s?(\d{3,4})", "N", 4, 1.0),
    (r"K\s?(\d{3,4})", "K", 4, 1.0),
    (r"M(\d{3})", "M", 3, 1.0),
    (r"(?:M|MACH|МАХ|MAX)\s?=?\s?(\d?[.,]\d+|\d)", "M", 3, 100.0),
    (r"(\d?[.,]\d+)\s?(?:M|MACH|МАХ|MAX)", "M", 3, 100.0),
    (rf"({_NUMBER})\s?(?:KT|KTS|KNOT|KNOTS|KN|УЗ|УЗЛОВ|УЗЕЛ|УЗЛА)?\.?", "N", 4, 1.0),
    (rf"({_NUMBER})\s?(?:KM/H|KMH|KPH|KM H|КМ/Ч|КМ В ЧАС|КМЧ|КМ/ЧАС)\.?", "K", 4, 1.0),
)


def parse_speed(text: str) -> str:
    """Item 15(a): N and four digits of knots, K and four digits of km/h, M and three digits of hundredths of Mach.

    A plain number is taken as knots.
    """
    given = re.sub(r"(?i)^\s*(speed|cruising speed|скорость|крейсерская скорость)\b[:\s]*", "", str(text))
    upper = " ".join(given.upper().split())
    for spelling in (upper, upper.translate(_LOOK_ALIKES)):
        for pattern, letter, digits, factor in _SPEEDS:
            hit = re.fullmatch(pattern, spelling)
            if hit:
                number = round(float(hit.group(1).replace(",", ".")) * factor)
                group = f"{letter}{number:0{digits}d}"
                if speed_problem(group) is None:
                    return group
                raise _refuse("cruising_speed", text)
    raise _refuse("cruising_speed", text)


# An altitude named without "FL" is a flight level from here on, below it an altitude; the transition altitude
# differs by country, so these are conventions (18 000 ft is the North American one) that only matter for texts
# which leave it open.
_FLIGHT_LEVEL_FROM_FT: Final = 18_000
_METRIC_LEVEL_FROM_M: Final = 6_000


def parse_level(text: str) -> str:
    """Item 15(b): F and three digits (flight level), A and three (altitude in hundreds of feet), S and four (metric
    level in tens of metres), M and four (altitude in tens of metres), or VFR. Three digits alone are a flight
    level.
    """
    given = re.sub(r"(?i)^\s*(at|на|level|cruising level|altitude|высота|высоте)\b[:\s]*", "", str(text))
    upper = " ".join(given.upper().split())
    group = _level_group(upper) or _level_group(upper.translate(_LOOK_ALIKES))
    if group is None or level_problem(group) is not None:
        raise _refuse("level", text)
    return group


def _level_group(upper: str) -> str | None:
    if upper in ("VFR", "ПВП"):
        return "VFR"
    if re.fullmatch(r"[FA]\d{3}|[SM]\d{4}", upper, re.ASCII):
        return upper
    hit = re.fullmatch(r"(?:(?:FL|FLIGHT LEVEL|ЭШЕЛОН|ЭШЕЛОНЕ|ЭШ\.?)\s?(\d{2,3})|F?\s?(\d{3}))", upper, re.ASCII)
    if hit:
        return f"F{hit.group(1) or hit.group(2):0>3}"
    hit = re.fullmatch(
        r"(\d{1,2}[ ,.]?\d{3}|\d{3})\s?(FT|FEET|FOOT|ФУТОВ|ФУТ|ФУТА|M|М|METRES|METERS|МЕТРОВ|МЕТР|МЕТРА)\.?", upper
    )
    if not hit:
        return None
    number = int(re.sub(r"\D", "", hit.group(1)))
    if hit.group(2).startswith(("F", "Ф")):
        if number % 100:
            return None
        return f"F{number // 100:03d}" if number >= _FLIGHT_LEVEL_FROM_FT else f"A{number // 100:03d}"
    if number % 10:
        return None
    return f"S{number // 10:04d}" if number >= _METRIC_LEVEL_FROM_M else f"M{number // 10:04d}"


def parse_persons(text: str | int) -> int:
    """Item 19 P/: 1 to 999; a word for people after the number is dropped."""
    hit = re.fullmatch(
        r"(\d{1,4})\s*(pax|pob|persons?|people|passengers?|souls?|человека?|чел\.?|люд[а-я]+|пассажир[а-я]*)?"
        r"(\s+(on board|на борту))?",
        " ".join(str(text).lower().split()),
    )
    if isinstance(text, bool) or hit is None or not 1 <= int(hit.group(1)) <= MOST_PERSONS:
        raise _refuse("persons_on_board", text)
    return int(hit.group(1))


_DIRECT: Final = frozenset(
    ("dct", "direct", "directly", "direct route", "прямо", "напрямую", "по прямой", "прямой", "прямой маршрут")
)


def parse_route_text(text: str) -> str:
    """Item 15(c): DCT, points, airways and changes, in capitals."""
    if fold(str(text)) in _DIRECT:
        return "DCT"
    route = _latin(text)
    if len(route) > LONGEST_ROUTE or not re.fullmatch(
        # A point or airway; behind a solidus the speed and level from there on; C/ begins a cruise climb.
        r"(C/)?[A-Z0-9]{1,11}(/[A-Z0-9]{1,13})?( (C/)?[A-Z0-9]{1,11}(/[A-Z0-9]{1,13})?)*",
        route,
    ):
        raise _refuse("route", text)
    return route


def parse_aerodrome(text: str, field: str = "departure_icao") -> str:
    """The ICAO code of one airport. Raises EntityNotFound, or InputInvalid that names the candidates."""
    exact = find_airport(_latin(text))
    if exact is not None:
        return exact.icao
    resolution = resolve_airport(str(text))
    if resolution.airport is not None:
        return resolution.airport.icao
    if resolution.status == "ambiguous":
        codes = ", ".join(match.airport.icao for match in resolution.candidates)
        raise InputInvalid(field, f"one airport by its ICAO code; that may be {codes}", text)
    raise EntityNotFound(field, str(text))


def parse_alternates(value: str | Sequence[str]) -> list[str]:
    """Item 16: at most two airports; an empty list or "none" takes the alternates away."""
    if isinstance(value, str):
        if fold(value) in ("none", "no", "нет", "без запасных", ""):
            return []
        parts = [part for part in re.split(r"[,;/]|\s+(?:and|и)\s+", value) if part.strip()]
        if len(parts) == 1 and all(find_airport(word) for word in value.split()):
            parts = value.split()
    else:
        parts = list(value)
    codes = [parse_aerodrome(part.strip(), "alternate_icaos") for part in parts]
    if len(codes) > MOST_ALTERNATES or len(set(codes)) != len(codes):
        raise _refuse("alternate_icaos", value)
    return codes


def parse_other_information(text: str) -> str:
    """Item 18: indicator groups in the order of Doc 4444; a text without an indicator becomes a remark."""
    arranged = arrange_other_information(_latin(text))
    if arranged is None:
        raise _refuse("other_information", text)
    return arranged


Value = str | int | list[str]

# The revisable fields, each with its parser. `now` matters to the departure time only.
PARSERS: Final[Mapping[str, Callable[[object, datetime], Value]]] = MappingProxyType(
    {
        "aircraft_id": lambda value, now: parse_callsign(str(value)),
        "flight_rules": lambda value, now: parse_flight_rules(str(value)),
        "flight_type": lambda value, now: parse_flight_type(str(value)),
        "aircraft_type": lambda value, now: parse_aircraft_type(str(value)),
        "wake_category": lambda value, now: parse_wake_category(str(value)),
        "equipment": lambda value, now: parse_equipment(str(value)),
        "departure_icao": lambda value, now: parse_aerodrome(str(value), "departure_icao"),
        "departure_time": lambda value, now: rfc3339(parse_departure_time(_text_or_time(value), now)),
        "cruising_speed": lambda value, now: parse_speed(str(value)),
        "level": lambda value, now: parse_level(str(value)),
        "route": lambda value, now: parse_route_text(str(value)),
        "destination_icao": lambda value, now: parse_aerodrome(str(value), "destination_icao"),
        "total_eet_minutes": lambda value, now: parse_duration(_text_or_number(value), "total_eet_minutes"),
        "alternate_icaos": lambda value, now: parse_alternates(_text_or_list(value)),
        "endurance_minutes": lambda value, now: parse_duration(_text_or_number(value), "endurance_minutes"),
        "persons_on_board": lambda value, now: parse_persons(_text_or_number(value)),
        "other_information": lambda value, now: parse_other_information(str(value)),
    }
)


def parse_field(field: str, value: object, now: datetime) -> Value:
    """The canonical, JSON-able value of a field from any accepted form. Raises InputInvalid or EntityNotFound."""
    parser = PARSERS.get(field)
    if parser is None:
        raise InputInvalid("field", f"one of {', '.join(PARSERS)}", field)
    return parser(value, now)


def _text_or_number(value: object) -> str | int:
    return value if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _text_or_time(value: object) -> str | datetime:
    return value if isinstance(value, datetime) else str(value)


def _text_or_list(value: object) -> str | list[str]:
    return [str(item) for item in value] if isinstance(value, list | tuple) else str(value)

"""Where a sentence changes a field by an amount ("two more passengers", «на час позже») or takes one away.

Called by plan_fields.py before it looks for plain values, so that "2000 ft lower" is no level. Patterns are data; the
named group `v` are the words whose meaning flight_plan_changes.parse_change knows.
"""

from __future__ import annotations

import re
from typing import Final

from adapter_service.domains.aviation.flight_plan_changes import (
    AMOUNT,
    DAYS,
    DURATION,
    LENGTH_UNIT,
    SPEED_UNIT,
    SPELT_DURATION,
)

# A field that is named, but whose new value is left open: "move the departure by two hours" tells no direction.
OPEN: Final = "open"

_PEOPLE: Final = (
    r"(?:persons?|people|passengers?|pax|souls?|travell?ers?|человек\w*|чел\.?|пассажир\w*|люд\w+)"
    r"(?:\s+(?:on\s*-?board|aboard))?"
)
_BY: Final = r"(?:by\s+|на\s+)?"
_LENGTH: Final = rf"(?:\d{{1,2}}[ ,]?\d{{3}}|{AMOUNT})\s*{LENGTH_UNIT}"
_SPEED: Final = rf"{AMOUNT}\s*{SPEED_UNIT}"
_FUEL: Final = r"(?:of\s+)?(?:fuel|endurance|топлива|запаса(?:\s+топлива)?)"
_EN_ROUTE: Final = r"(?:en[\s-]?route|of\s+flight(?:\s+time)?|flight\s+time|в\s+пути|в\s+полете)"
_UP: Final = r"(?:increase|raise|extend|lift|увелич\w+|подними\w*|повысь\w*|продли\w*)"
_DOWN: Final = r"(?:decrease|reduce|shorten|lower|cut|уменьш\w+|снизь\w*|понизь\w*|сократи\w*)"
_DEPARTURE: Final = (
    r"(?:(?:depart(?:ure|ing|s)?|leav(?:e|ing|es)|take-?\s?off|the\s+departure(?:\s+time)?|вылет\w*|"
    r"врем\w+\s+вылета|рейс)\s+)?"
)
_THING: Final = (
    r"(?:(?:the\s+)?(?:departure(?:\s+time)?|flight|take-?off|plan|it)|(?:врем\w+\s+)?вылет\w*|рейс|его|отправлени\w*)"
)


def _by(field: str, label: str, amount: str) -> tuple[tuple[str, str], ...]:
    """ "increase the speed by 20 knots", «снизь скорость на 20 узлов»."""
    return tuple(
        (field, rf"(?P<v>{verb}\s+(?:the\s+|our\s+)?(?:{label})\s+(?:by|на)\s+{amount})") for verb in (_UP, _DOWN)
    )


# (field, pattern). A pattern sees only what those above it left.
_PATTERNS: Final = tuple(
    (field, re.compile(rf"(?<!\w){pattern}(?!\w)", re.IGNORECASE))
    for field, pattern in (
        (
            "alternate_icaos",
            r"(?P<v>no|without(?:\s+an?|\s+any)?|(?:drop|remove|delete|clear)(?:\s+the|\s+all)?|без|убери\w*|удали\w*|сними\w*)\s+(?:alternates?|запасн\w+)(?:\s+(?:airports?|аэродром\w*|аэропорт\w*))?",
        ),
        *_by("level", r"(?:cruising\s+|flight\s+)?(?:level|altitude)|эшелон\w*|высоту", _LENGTH),
        *_by("cruising_speed", r"(?:cruising\s+)?speed|скорость", _SPEED),
        *_by("endurance_minutes", r"(?:fuel\s+)?endurance|fuel|запас(?:\s+топлива)?|топливо", DURATION),
        *_by("total_eet_minutes", r"(?:flight|elapsed|en-?route)\s+time|время\s+(?:в\s+пути|полета)", DURATION),
        *_by(
            "persons_on_board",
            rf"(?:number\s+of\s+)?{_PEOPLE}|(?:число|количество)\s+(?:людей|пассажиров|человек)",
            rf"{AMOUNT}(?:\s+{_PEOPLE})?",
        ),
        ("endurance_minutes", rf"{_BY}(?P<v>{DURATION}\s+(?:more|less|extra|больше|меньше))\s+{_FUEL}"),
        (
            "endurance_minutes",
            rf"(?:fuel|endurance|запас\w*(?:\s+топлива)?|топлив\w*)\s+{_BY}(?P<v>{DURATION}\s+(?:longer|shorter|more|less|больше|меньше))",
        ),
        (
            "total_eet_minutes",
            rf"{_BY}(?P<v>{DURATION}\s+(?:longer|shorter|more|less|дольше|больше|короче|меньше))\s+{_EN_ROUTE}",
        ),
        (
            "total_eet_minutes",
            rf"(?:{_EN_ROUTE}|врем\w+\s+(?:в\s+пути|полета))\s+{_BY}(?P<v>{DURATION}\s+(?:longer|shorter|more|less|дольше|больше|короче|меньше))",
        ),
        ("departure_time", rf"{_DEPARTURE}{_BY}(?P<v>(?:{DURATION}|{DAYS})\s+(?:later|earlier|позже|позднее|раньше))"),
        ("departure_time", rf"{_DEPARTURE}(?:на\s+)?(?P<v>(?:позже|позднее|раньше)\s+на\s+{DURATION})"),
        (
            "departure_time",
            rf"(?P<v>(?:postpone|delay|push(?:\s+back)?|advance|отложи\w*|задержи\w*)\s+{_THING}\s+(?:back\s+)?(?:by\s+|на\s+|for\s+)?{DURATION})",
        ),
        (
            f"{OPEN}:departure_time",
            rf"(?:move|shift|change|reschedule|перенеси\w*|сдвинь\w*|передвинь\w*|смести\w*|поменяй\w*|измени\w*)\s+{_THING}\s+(?:by|на)\s+(?P<v>{SPELT_DURATION})",
        ),
        (
            "level",
            rf"(?:climb|descend|go|fly|cruise|поднимись|лети\w*|летим)?\s*{_BY}(?P<v>{_LENGTH}\s+(?:higher|lower|up|down|выше|ниже))",
        ),
        ("level", rf"(?P<v>(?:climb|descend)\s+(?:by\s+)?{_LENGTH})"),
        (
            "cruising_speed",
            rf"(?:fly\s+|go\s+|лети\w*\s+|летим\s+)?{_BY}(?P<v>{_SPEED}\s+(?:faster|slower|more|less|быстрее|медленнее|больше|меньше))",
        ),
        (
            "persons_on_board",
            rf"(?:(?:there\s+(?:are|will\s+be)|with|add)\s+)?(?P<v>{AMOUNT}\s+(?:more|fewer|less|extra|additional)\s+{_PEOPLE})",
        ),
        (
            "persons_on_board",
            rf"{_BY}(?P<v>{AMOUNT}\s+{_PEOPLE}\s+"
            r"(?:more|fewer|less|extra|joined|больше|меньше|добавил\w+|прибавил\w+))",
        ),
        (
            "persons_on_board",
            rf"(?P<v>(?:another|add|remove|plus|minus|добавь\w*|убери\w*|еще|плюс|минус|дополнительно)\s+(?:еще\s+)?{AMOUNT}\s+{_PEOPLE})",
        ),
    )
)


def find_changes(text: str) -> list[tuple[str, str, re.Match[str]]]:
    """(field, words, where) of every relative change, in the order of the patterns; none overlaps another.

    The words are "none" where alternates are taken away, "" where the new value is left open. `text` has no ё.
    """
    found: list[tuple[str, str, re.Match[str]]] = []
    for field, pattern in _PATTERNS:
        for hit in pattern.finditer(text):
            if any(hit.start() < other.end() and other.start() < hit.end() for _, _, other in found):
                continue
            if field.startswith(OPEN):
                found.append((field.partition(":")[2], "", hit))
            else:
                found.append((field, "none" if field == "alternate_icaos" else hit["v"], hit))
    return found

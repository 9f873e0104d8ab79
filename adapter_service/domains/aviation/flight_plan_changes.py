"""Relative changes of a flight plan: "two more passengers", "an hour later", «на 2000 футов выше», 20 knots slower.

Called by the resolvers, which make the canonical form ("+2", "+60 min", "-2000 ft", "+20 kt"), and by
revise_flight_plan, which applies it to the version it revises. Only quantities can be changed so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from .errors import InputInvalid, NothingStated
from .flight_plan_fields import parse_level, parse_persons, parse_speed
from .flight_plan_times import parse_duration, rfc3339

DURATION_FIELDS: Final = ("departure_time", "endurance_minutes", "total_eet_minutes")
CHANGEABLE_FIELDS: Final = (*DURATION_FIELDS, "level", "cruising_speed", "persons_on_board")
MORE: Final = (
    r"later|more|higher|up|faster|longer|extra|additional(?:ly)?|another|add|plus|increase|raise|climb|extend|postpone|delay|"
    r"push(?:\s+back)?|позже|позднее|больше|выше|вверх|быстрее|дольше|еще|дополнительно|добавь\w*|добавил\w+|прибавил\w+|joined|плюс|увелич\w+|подними\w*|"
    r"повысь\w*|продли\w*|отложи\w*|задержи\w*"
)
LESS: Final = (
    r"earlier|less|fewer|lower|down|slower|shorter|remove|minus|without|decrease|reduce|descend|shorten|advance|"
    r"bring\s+forward|раньше|меньше|ниже|вниз|медленнее|короче|убери\w*|минус|уменьш\w+|снизь\w*|сократи\w*|понизь\w*"
)
_NUMBERS: Final = {
    **dict.fromkeys(("a", "an", "one", "один", "одного", "одну", "одна"), 1),
    **dict.fromkeys(("two", "два", "две", "двух", "двое", "двоих", "couple"), 2),
    **dict.fromkeys(("three", "три", "трех", "трое", "троих"), 3),
    **dict.fromkeys(("four", "четыре", "четырех", "четверо"), 4),
    **dict.fromkeys(("five", "пять", "пяти", "пятеро"), 5),
    **dict.fromkeys(("six", "шесть", "шести"), 6),
    **dict.fromkeys(("seven", "семь", "семи"), 7),
    **dict.fromkeys(("eight", "восемь", "восьми"), 8),
    **dict.fromkeys(("nine", "девять", "девяти"), 9),
    **dict.fromkeys(("ten", "десять", "десяти"), 10),
    **dict.fromkeys(("twelve", "двенадцать"), 12),
    **dict.fromkeys(("twenty", "двадцать", "двадцати"), 20),
}
NUMBER_WORD: Final = "|".join(sorted(_NUMBERS, key=len, reverse=True))
HOUR: Final = r"(?:hours?|hrs?|h|час(?:а|ов)?|ч)(?!\w)"
MINUTE: Final = r"(?:minutes?|mins?|m|минут[уы]?|мин)(?!\w)"
AMOUNT: Final = rf"(?:\d+(?:[.,]\d+)?|{NUMBER_WORD})"
# In words; a clock time ("17:45") is a duration only where a direction is told.
SPELT_DURATION: Final = (
    rf"(?:half\s+an\s+hour|полчаса|(?:an\s+hour|(?:1|one)\s+hours?)\s+and\s+a\s+half|полтора\s+часа|"
    rf"{AMOUNT}\s*-?{HOUR}(?:\s*(?:and\s+|и\s+)?{AMOUNT}\s*{MINUTE})?|{AMOUNT}\s*-?{MINUTE}|час)"
)
DAYS: Final = rf"(?:{AMOUNT}\s+(?:days?|день|дня|дней|сутки|суток)|день|сутки)(?!\w)"
DURATION: Final = rf"(?:{SPELT_DURATION}|\d{{1,2}}:\d{{2}})"
LENGTH_UNIT: Final = r"(?:ft|feet|foot|футов|фута|фут|m|met(?:er|re)s?|метр(?:ов|а)?|м)(?!\w)"
SPEED_UNIT: Final = r"(?:knots?|kts?|kn|узл(?:ов|а)|узел|уз|km/?h|kph|kmh|км/ч)(?!\w)"
_CANONICAL: Final = re.compile(r"([+-])(\d+)(?: (min|ft|m|kt|km/h))?")
_UNITS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(DURATION_FIELDS, ("min",)),
    "level": ("ft", "m"),
    "cruising_speed": ("kt", "km/h"),
    "persons_on_board": ("",),
}
# Fields whose current value nothing can be added to: a Mach number, the level VFR, nothing at all.
_OWN_VALUE: Final = "a value of its own, because the present one cannot be changed by an amount"
_NOBODY_YET: Final = "Nobody is on board in this plan yet, so the number itself is needed"
_NOBODY_YET_RU: Final = "В плане пока никого нет на борту, поэтому нужно само число"
_OWN_VALUE_RU: Final = "само значение, потому что к нынешнему ничего нельзя прибавить"


def parse_change(field: str, text: str) -> str | None:
    """The canonical form of a relative change, or None where the text is none of this field."""
    if field not in CHANGEABLE_FIELDS:
        return None
    plain = " ".join(text.lower().replace("ё", "е").split())
    if is_change(field, plain):
        return plain
    more, less = (re.search(rf"(?<!\w)(?:{words})(?!\w)", plain) is not None for words in (MORE, LESS))
    # "Earlier", "less" settle it: "add", "push" only say that something is to be done.
    sign = "-" if less else "+" if more else ""
    amount = _amount(field, plain)
    return f"{sign}{amount}" if sign and amount is not None else None


def _amount(field: str, plain: str) -> str | None:
    if field in DURATION_FIELDS:
        hit = re.search(rf"(?<!\w)(?:{DURATION}|{DAYS})(?!\w)", plain)
        return None if hit is None else _minutes(hit.group())
    if field == "persons_on_board":
        hit = re.search(rf"(?<![\w-])(?!an?\s+(?:few|couple|lot|bit|dozen))(?P<n>{AMOUNT})(?!\w)", plain)
        number = None if hit is None else _number(hit["n"])
        return None if number is None or number != int(number) else f"{int(number)}"
    unit = LENGTH_UNIT if field == "level" else SPEED_UNIT
    hit = re.search(rf"(?<!\w)(?P<n>\d{{1,2}}[ ,]?\d{{3}}|{AMOUNT})\s*(?P<u>{unit})", plain)
    number = None if hit is None else _number(re.sub(r"(?<=\d)[ ,](?=\d{3})", "", hit["n"]))
    if hit is None or number is None or number != int(number):
        return None
    if field == "level":
        return f"{int(number)} {'ft' if hit['u'].startswith(('f', 'ф')) else 'm'}"
    return f"{int(number)} {'kt' if hit['u'].startswith(('kn', 'kt', 'уз')) else 'km/h'}"


def _minutes(text: str) -> str | None:
    if re.fullmatch(DAYS, text):
        number = _number(text.split()[0]) if " " in text else 1
        return None if number is None else f"{round(number * 24 * 60)} min"
    words = " ".join(f"{_NUMBERS[word]}" if word in _NUMBERS else word for word in text.split())
    for spelling in (text, words):
        try:
            return f"{parse_duration(spelling)} min"
        except InputInvalid:
            continue
    return None


def _number(text: str) -> float | None:
    return float(_NUMBERS[text]) if text in _NUMBERS else float(text.replace(",", "."))


def is_change(field: str, value: object) -> bool:
    """Is a value the canonical form of a relative change of this field?"""
    hit = _CANONICAL.fullmatch(value) if isinstance(value, str) else None
    return hit is not None and field in _UNITS and (hit[3] or "") in _UNITS[field]


def apply_change(field: str, current: Any, change: str) -> Any:
    """The field's new value in its canonical form (a time as RFC 3339).

    `current` is the value of FlightPlan.content(). Raises InputInvalid(field) where it cannot be changed by an amount,
    or where the result is out of the field's range.
    """
    hit = _CANONICAL.fullmatch(change)
    if current is None and field == "persons_on_board":
        raise NothingStated(field, _NOBODY_YET, _NOBODY_YET_RU)
    if hit is None or not is_change(field, change) or current is None:
        raise InputInvalid(field, _OWN_VALUE, accepted_ru=_OWN_VALUE_RU)
    delta, unit = int(hit[1] + hit[2]), hit[3] or ""
    if field == "departure_time":
        return rfc3339(datetime.fromisoformat(str(current)) + timedelta(minutes=delta))
    if field == "persons_on_board":
        return parse_persons(max(0, int(current) + delta))
    if field in DURATION_FIELDS:
        return parse_duration(int(current) + delta, field)
    letters, step = {"ft": ("FA", 100), "m": ("SM", 10), "kt": ("N", 1), "km/h": ("K", 1)}[unit]
    letter, digits = str(current)[:1], str(current)[1:]
    if letter not in letters or not digits.isdecimal() or (field == "cruising_speed" and letter == "M") or delta % step:
        raise InputInvalid(field, _OWN_VALUE, accepted_ru=_OWN_VALUE_RU)
    changed = f"{letter}{max(0, int(digits) + delta // step):0{len(digits)}d}"
    return parse_level(changed) if field == "level" else parse_speed(changed)

"""Times and durations as people write them, in English and Russian: departure times (UTC) and lengths of time in
minutes.

Called by the field parsers. Everything is UTC, as in a flight plan; a text that names another zone must do so by
its offset.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Final

from babel import Locale

from .errors import InputInvalid
from .folding import fold

MOST_MINUTES: Final = 99 * 60 + 59
_DURATION_FORM: Final = "hours and minutes, like 5:30, 0530, 5 h 30 min or 330 min, at most 99:59"
_TIME_FORM: Final = "a date and a time in UTC, like 2030-01-02 09:00, tomorrow at 14:00, in 3 hours"

_WORD_NUMBERS: Final = {
    **dict.fromkeys(("a", "an", "one", "один", "одну"), 1.0),
    **dict.fromkeys(("two", "два", "две"), 2.0),
    **dict.fromkeys(("three", "три"), 3.0),
    **dict.fromkeys(("four", "четыре"), 4.0),
    **dict.fromkeys(("five", "пять"), 5.0),
    **dict.fromkeys(("six", "шесть"), 6.0),
    **dict.fromkeys(("seven", "семь"), 7.0),
    **dict.fromkeys(("eight", "восемь"), 8.0),
    **dict.fromkeys(("nine", "девять"), 9.0),
    **dict.fromkeys(("ten", "десять"), 10.0),
    **dict.fromkeys(("twelve", "двенадцать"), 12.0),
    "полтора": 1.5,
}
_HOUR: Final = r"(?:hours?|hrs?|h|часов|часа|час|ч)"
_MINUTE: Final = r"(?:minutes?|mins?|m|минуты|минуту|минут|мин|м)"
_NUMBER: Final = r"(\d+(?:[.,]\d+)?)"
# Reads names out of CLDR: (locale, form, width) → (number, name) pairs.
_Reader = Callable[[str, str, str], Iterable[tuple[int, str]]]


class _NoSuchDay(Exception):
    """A text names a day that no calendar has; it must not be read as if it named none."""


def rfc3339(time: datetime) -> str:
    """UTC to the second, with Z."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_duration(text: str | int, field: str = "endurance_minutes") -> int:
    """Whole minutes, 1 to 5999, from a number of minutes or a text; raises InputInvalid(field).

    Four digits are HHMM as in items 16 and 19. One or two digits alone are refused: hours or minutes would be a guess.
    """
    minutes = text if isinstance(text, int) and not isinstance(text, bool) else _duration_minutes(str(text))
    if minutes is None or not 1 <= minutes <= MOST_MINUTES:
        raise InputInvalid(field, _DURATION_FORM, text)
    return round(minutes)


def _duration_minutes(text: str) -> float | None:
    plain = _plain(text)
    if re.fullmatch(r"\d{4}", plain):
        hours, minutes = int(plain[:2]), int(plain[2:])
        return hours * 60 + minutes if minutes < 60 else None
    if re.fullmatch(r"\d{3}", plain):
        return int(plain)
    hit = re.fullmatch(r"(\d{1,2}):(\d{2})(?: ?(?:hours?|h|часов|часа|час|ч))?", plain)
    if hit:
        return int(hit.group(1)) * 60 + int(hit.group(2)) if int(hit.group(2)) < 60 else None
    hit = re.fullmatch(r"pt(?:(\d+)h)?(?:(\d+)m)?", plain)
    if hit and (hit.group(1) or hit.group(2)):
        return int(hit.group(1) or 0) * 60 + int(hit.group(2) or 0)
    if plain in ("half an hour", "полчаса"):
        return 30
    if plain in ("an hour and a half", "one and a half hours"):
        return 90
    return _hours_and_minutes(_digits(plain))


def _hours_and_minutes(plain: str) -> float | None:
    half = re.fullmatch(
        rf"{_NUMBER} (?:(?:and (?:a|1) half|с половиной) ?{_HOUR}|{_HOUR} (?:and (?:a|1) half|с половиной))", plain
    )
    if half:
        return _float(half.group(1)) * 60 + 30
    hit = re.fullmatch(rf"(?:{_NUMBER} ?{_HOUR}\.?)?(?: ?(?:and|и)? ?{_NUMBER} ?{_MINUTE}?\.?)?", plain)
    if not hit or not (hit.group(1) or hit.group(2)):
        hour_only = re.fullmatch(_HOUR, plain)
        return 60 if hour_only and len(plain) > 1 else None
    if hit.group(1) is None and not re.search(rf"{_MINUTE}\.?$", plain):
        return None  # a bare number
    return _float(hit.group(1) or "0") * 60 + _float(hit.group(2) or "0")


def _float(number: str) -> float:
    return float(number.replace(",", "."))


def _plain(text: str) -> str:
    """Lower case, ё as е, single spaces, no closing punctuation."""
    return " ".join(text.lower().replace("ё", "е").replace("−", "-").split()).strip(" .!?")


def _digits(plain: str) -> str:
    """Small numbers written as words become digits."""
    return " ".join(f"{_WORD_NUMBERS[word]:g}" if word in _WORD_NUMBERS else word for word in plain.split())


@lru_cache(maxsize=1)
def _month_names() -> Mapping[str, int]:
    return _names(lambda locale, form, width: Locale(locale).months[form][width].items())


@lru_cache(maxsize=1)
def _weekday_names() -> Mapping[str, int]:
    names = dict(_names(lambda locale, form, width: Locale(locale).days[form][width].items()))
    # The Russian accusative, which stands after "в", differs from the nominative in -а.
    return {**names, **{name[:-1] + "у": day for name, day in names.items() if name.endswith("а")}}


def _names(read: _Reader) -> dict[str, int]:
    names: dict[str, int] = {}
    for locale in ("en", "ru"):
        for form in ("format", "stand-alone"):
            for width in ("wide", "abbreviated"):
                for number, name in read(locale, form, width):
                    folded = fold(str(name))
                    if len(folded) > 2:
                        names.setdefault(folded, int(number))
    return names


_DAY_WORDS: Final = (
    (r"day after tomorrow|послезавтра", 2),
    (r"tomorrow|завтра", 1),
    (r"today|tonight|сегодня", 0),
    # Named, so that the validation can say that it is past.
    (r"day before yesterday|позавчера", -2),
    (r"yesterday|вчера", -1),
)
_FILLERS: Final = frozenset(
    [
        "at",
        "on",
        "the",
        "of",
        "in",
        "в",
        "во",
        "на",
        "utc",
        "z",
        "gmt",
        "время",
        "времени",
        "time",
        "hours",
        "hour",
        "часов",
        "час",
        "часа",
        "o'clock",
        "и",
        "and",
        "next",
        "this",
    ]
) | {"departure", "вылет", "вылета", "г", "года", "by", "по", "следующую", "следующий", "эту", "этот"}


def parse_departure_time(text: str | datetime, now: datetime) -> datetime:
    """The moment a text names, as UTC to the minute; raises InputInvalid("departure_time").

    Understood: ISO 8601 (without an offset UTC), day and month by number or name, today, tomorrow, a weekday, "in 3
    hours", a time of the day alone (its next occurrence). Both a day and a time are needed unless the time comes
    next by itself. `now` must be aware.
    """
    if isinstance(text, datetime):
        return _to_minute(text if text.tzinfo is not None else text.replace(tzinfo=UTC))
    now = now.astimezone(UTC)
    plain = _plain(text)
    try:
        moment = _iso(plain) or _from_now(plain, now) or _day_and_time(plain, now)
    except _NoSuchDay:
        moment = None
    if moment is None:
        raise InputInvalid("departure_time", _TIME_FORM, text)
    return _to_minute(moment)


def _to_minute(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(second=0, microsecond=0)


def _iso(plain: str) -> datetime | None:
    text = re.sub(r"\s*(utc|gmt|z)$", "+00:00", plain)
    if not re.match(r"\d{4}-\d{2}-\d{2}[t ]\d", text):
        return None
    text = re.sub(r"(?<=\d)\s+(?=[+-]\d{2})", "", text)
    try:
        moment = datetime.fromisoformat(text.upper().replace(" ", "T", 1))
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _from_now(plain: str, now: datetime) -> datetime | None:
    hit = re.fullmatch(r"(?:in|через) (.+)", plain) or re.fullmatch(r"(.+) from now", plain)
    if hit is None:
        return None
    days = re.fullmatch(r"(\d{1,3}) (?:days?|дней|дня|день)", _digits(hit.group(1)))
    if days:
        return now + timedelta(days=int(days.group(1)))
    minutes = _duration_minutes(hit.group(1))
    return None if minutes is None else now + timedelta(minutes=minutes)


def _day_and_time(plain: str, now: datetime) -> datetime | None:
    """Take out the day, then the time; nothing but fillers may be left."""
    offset, rest = _take_offset(plain)
    day, rest = _take_day(rest, now.date())
    clock, rest = _take_clock(rest)
    if clock is None or any(word not in _FILLERS for word in rest.replace(",", " ").split()):
        return None
    minutes = clock[0] * 60 + clock[1]
    zone_shift = timedelta(minutes=offset)
    if day is not None:
        return datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(minutes=minutes) - zone_shift
    midnight = (now + zone_shift).replace(hour=0, minute=0, second=0, microsecond=0)
    moment = midnight + timedelta(minutes=minutes) - zone_shift
    return moment if moment > now else moment + timedelta(days=1)


def _take_offset(plain: str) -> tuple[int, str]:
    hit = re.search(r"(?:utc|gmt)?\s?([+-])(\d{1,2})(?::?(\d{2}))?$", plain)
    if (
        hit is None
        or not re.search(r"\d\s*(?:utc|gmt)?\s?[+-]\d{1,2}(?::?\d{2})?$", plain)
        or re.search(r"\d{4}-\d{2}-\d{2}$", plain)
    ):
        return 0, plain
    minutes = int(hit.group(2)) * 60 + int(hit.group(3) or 0)
    return (minutes if hit.group(1) == "+" else -minutes), plain[: hit.start()].strip()


def _take_day(plain: str, today: date) -> tuple[date | None, str]:
    for pattern, days in _DAY_WORDS:
        hit = re.search(rf"\b(?:{pattern})\b", plain)
        if hit:
            return today + timedelta(days=days), _without(plain, hit)
    hit = re.search(r"\b(\d{4})-(\d{2})-(\d{2})\b", plain)
    if hit:
        return _date(*map(int, hit.groups())), _without(plain, hit)
    hit = re.search(r"\b(\d{1,2})[./](\d{1,2})[./](\d{4})\b", plain)
    if hit:
        return _date(int(hit.group(3)), int(hit.group(2)), int(hit.group(1))), _without(plain, hit)
    return _take_named_day(plain, today)


def _take_named_day(plain: str, today: date) -> tuple[date | None, str]:
    months, weekdays = _month_names(), _weekday_names()
    month = "|".join(sorted(map(re.escape, months), key=len, reverse=True))
    hit = re.search(rf"\b(\d{{1,2}})(?:st|nd|rd|th|-?го|-?е)? (?:of )?({month})\.?(?:,? (\d{{4}}))?\b", plain)
    if hit:
        return _next_date(hit.group(3), months[hit.group(2)], int(hit.group(1)), today), _without(plain, hit)
    hit = re.search(rf"\b({month})\.? (\d{{1,2}})(?:st|nd|rd|th)?(?:,? (\d{{4}}))?\b(?!:)", plain)
    if hit:
        return _next_date(hit.group(3), months[hit.group(1)], int(hit.group(2)), today), _without(plain, hit)
    weekday = "|".join(sorted(map(re.escape, weekdays), key=len, reverse=True))
    hit = re.search(rf"\b({weekday})\b", plain)
    if hit:
        ahead = (weekdays[hit.group(1)] - today.weekday()) % 7 or 7
        return today + timedelta(days=ahead), _without(plain, hit)
    return None, plain


def _next_date(year: str | None, month: int, day: int, today: date) -> date:
    if year is not None:
        return _date(int(year), month, day)
    this_year = _date(today.year, month, day)
    return this_year if this_year >= today else _date(today.year + 1, month, day)


def _date(year: int, month: int, day: int) -> date:
    try:
        return date(year, month, day)
    except ValueError as error:
        raise _NoSuchDay from error


_CLOCK_WORDS: Final = (
    (r"\b(?:noon|полдень|в полдень)\b", (12, 0)),
    (r"\b(?:midnight|полночь)\b", (0, 0)),
)
_PART_OF_DAY: Final = {"am": 0, "утра": 0, "ночи": 0, "pm": 12, "дня": 12, "вечера": 12}


def _take_clock(plain: str) -> tuple[tuple[int, int] | None, str]:
    for pattern, clock in _CLOCK_WORDS:
        hit = re.search(pattern, plain)
        if hit:
            return clock, _without(plain, hit)
    for pattern in (
        r"\b(\d{1,2})[:.](\d{2})(?::\d{2})?z?\s?(a\.?m|p\.?m|утра|ночи|дня|вечера)?\b",
        r"\b(\d{1,2})\s?(?:час(?:ов|а)?|ч)\s?(?:(\d{2})\s?(?:минут\w*|мин)?)?\s?(утра|ночи|дня|вечера)?(?=\s|$)",
        r"\b(\d{1,2})()\s?(a\.?m|p\.?m|утра|ночи|дня|вечера)\b",
        r"\b(\d{2})(\d{2})()(?=\s?(?:z|utc|gmt|hours)?(?:\s|$))",
        r"(?:\b(?:at|в)\s|^)(\d{1,2})()()(?=\s?(?:z|utc|gmt|o'clock)?$)",
    ):
        hit = re.search(pattern, plain)
        if hit:
            return _clock(int(hit.group(1)), int(hit.group(2) or 0), hit.group(3)), _without(plain, hit)
    return None, plain


def _clock(hour: int, minute: int, part: str | None) -> tuple[int, int] | None:
    if part:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + _PART_OF_DAY[part.replace(".", "")]
    return (hour, minute) if hour < 24 and minute < 60 else None


def _without(plain: str, hit: re.Match[str]) -> str:
    return f"{plain[: hit.start()]} {plain[hit.end() :]}".strip()

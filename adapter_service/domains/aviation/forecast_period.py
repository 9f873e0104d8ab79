"""Which time a forecast is asked for: "tomorrow at 14:00", "tonight", «завтра утром», «через 3 часа». All in UTC.

Called by the resolver of get_forecast's period and by the tool itself.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from .errors import InputInvalid
from .flight_plan_times import parse_departure_time, rfc3339

FORM: Final = "a time or a part of a day in UTC, like tomorrow at 14:00, tonight, tomorrow morning, in 3 hours"
_SEPARATOR: Final = "/"
# A moment is answered by the hour that begins with it.
_MOMENT: Final = timedelta(hours=1)
_PARTS: Final = (
    (r"morning|утр\w*", 6, 12),
    (r"afternoon|дн[её]м|day", 12, 18),
    (r"evening|вечер\w*", 18, 24),
    (r"tonight|night|ноч\w*", 18, 30),
)
_DAYS: Final = (
    (r"(?:the )?day after tomorrow|послезавтра", 2),
    (r"tomorrow|завтра\w*", 1),
    (r"today|сегодня\w*|tonight|this", 0),
)
_NOISE: Final = re.compile(r"\b(?:for|on|in|the|at|during|early|late|рано|поздно|на|в|во|к|период|period|time|utc)\b")


def parse_period(text: str, now: datetime) -> str:
    """The period as "RFC 3339/RFC 3339". Raises InputInvalid("period")."""
    plain = " ".join(text.lower().replace("ё", "е").split()).strip(" .,!?")
    if _SEPARATOR in plain:
        begins, ends = read_period(text)
        return write_period(begins, ends)
    day = _part_of_day(plain, now.astimezone(UTC))
    if day is not None:
        return write_period(*day)
    try:
        moment = parse_departure_time(plain, now)
    except InputInvalid as error:
        raise InputInvalid("period", FORM, text) from error
    return write_period(moment, moment + _MOMENT)


def _part_of_day(plain: str, now: datetime) -> tuple[datetime, datetime] | None:
    """A day, a part of one, or both; None where anything else is said."""
    rest, days = plain, None
    for pattern, ahead in _DAYS:
        hit = re.search(rf"\b(?:{pattern})\b", rest)
        if hit:
            days = ahead
            rest = rest if hit.group() == "tonight" else f"{rest[: hit.start()]} {rest[hit.end() :]}"
            break
    hours = (0, 24)
    for pattern, first, last in _PARTS:
        hit = re.search(rf"\b(?:{pattern})\b", rest)
        if hit:
            hours, days = (first, last), days or 0
            rest = f"{rest[: hit.start()]} {rest[hit.end() :]}"
            break
    if days is None or _NOISE.sub(" ", rest).strip(" ,"):
        return None
    this_minute = now.replace(second=0, microsecond=0)
    midnight = this_minute.replace(hour=0, minute=0) + timedelta(days=days)
    begins, ends = midnight + timedelta(hours=hours[0]), midnight + timedelta(hours=hours[1])
    # Of a part of the day that has begun, what is left of it is meant.
    return (max(begins, this_minute), ends) if ends > this_minute else (begins, ends)


def write_period(begins: datetime, ends: datetime) -> str:
    """The canonical text of a period."""
    return f"{rfc3339(begins)}{_SEPARATOR}{rfc3339(ends)}"


def read_period(text: str) -> tuple[datetime, datetime]:
    """Both ends of a canonical period, UTC. Raises InputInvalid("period")."""
    try:
        begins, ends = (datetime.fromisoformat(part.strip().upper()) for part in text.split(_SEPARATOR))
        if begins >= ends:
            raise ValueError
        return begins.astimezone(UTC), ends.astimezone(UTC)
    except ValueError as error:
        raise InputInvalid("period", FORM, text) from error

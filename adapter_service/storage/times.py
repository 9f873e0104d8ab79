"""Times as integer microseconds since 1970 UTC, the form of every time column. Called by the stores."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_START = datetime(1970, 1, 1, tzinfo=UTC)


def to_microseconds(time: datetime) -> int:
    """Microseconds since 1970 of an aware time."""
    return (time - _START) // timedelta(microseconds=1)


def from_microseconds(value: int) -> datetime:
    """The aware UTC time of a column."""
    return _START + timedelta(microseconds=value)

"""Times as the database holds them: microseconds since 1970 in UTC, so that they compare and sort as numbers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_micros(time: datetime) -> int:
    """Microseconds since the epoch; `time` is aware."""
    return (time - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """The aware time in UTC."""
    return _EPOCH + timedelta(microseconds=micros)

"""What a task waits for after its call: a time, or an external signal. Declared by Tool.waits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from adapter_service.sdk.errors import DeclarationError

MOST_WAIT = timedelta(days=366)
MOST_SIGNAL_CHARACTERS = 128


@dataclass(frozen=True, slots=True)
class Wait:
    """`Wait(until=…)`, or `Wait(signal=…, limit=…)`: every wait for a signal has a limit.

    Args:
        until: how long, from the moment the result is decided on.
        signal: name under which another system signals the interaction (SignalInteraction), 1 to 128 characters.
        limit: when the wait for the signal ends without it, counted likewise.

    Raises DeclarationError for anything else.
    """

    until: timedelta | None = None
    signal: str = ""
    limit: timedelta | None = None

    def __post_init__(self) -> None:
        length = self.limit if self.signal else self.until
        other = self.until if self.signal else self.limit
        if other is not None or length is None:
            raise DeclarationError("a wait is Wait(until=…) or Wait(signal=…, limit=…)")
        if not isinstance(length, timedelta):
            raise DeclarationError(f"a wait's length is a timedelta, and {length!r} is none")
        if not timedelta(0) < length <= MOST_WAIT:
            raise DeclarationError(f"a wait is longer than nothing and at most {MOST_WAIT.days} days")
        if len(self.signal) > MOST_SIGNAL_CHARACTERS:
            raise DeclarationError(f"a signal's name has at most {MOST_SIGNAL_CHARACTERS} characters")

    @property
    def length(self) -> timedelta:
        """How long it lasts at most."""
        length = self.limit if self.signal else self.until
        assert length is not None  # checked when it was made
        return length

"""Refusals of the Loop with their reasons; raised by domain and application, mapped by handrail_rpc.status."""

from __future__ import annotations

from dataclasses import dataclass

from handrail_rpc.errors import Aborted, AlreadyExists, FailedPrecondition, OutOfRange, PreconditionViolation


class IllegalTransition(FailedPrecondition):
    """The transition table (C2) has no such step; nothing changes."""

    def __init__(self, subject: str, transition: str, state: str) -> None:
        text = f"interaction {subject} is {state}, which does not allow {transition}"
        super().__init__(
            text,
            [PreconditionViolation("INTERACTION_STATE", subject, text)],
            reason="ILLEGAL_TRANSITION",
            metadata={"state": state},
        )


class WrongState(FailedPrecondition):
    """What the request addresses is no longer open; the current state is named."""

    def __init__(self, kind: str, subject: str, description: str, *, state: str) -> None:
        super().__init__(
            description,
            [PreconditionViolation(kind, subject, description)],
            reason=kind,
            metadata={"state": state},
        )


class RequestIdReused(AlreadyExists):
    """The request_id was used before with another body (scope: principal and method)."""

    def __init__(self, method: str) -> None:
        super().__init__(
            f"request_id: was already used for {method} with another body; send a new one",
            reason="REQUEST_ID_REUSED",
        )


class LeaseLost(Aborted):
    """Another claim or a stop took the lease; the loser writes nothing more."""

    def __init__(self, interaction_id: str) -> None:
        super().__init__(f"the lease on interaction {interaction_id} was lost", reason="LEASE_LOST")


@dataclass(frozen=True, slots=True)
class KeptRange:
    """Which events of a conversation are there: `first` to `last` (none where first is last + 1), of which history."""

    first: int
    last: int
    history_id: str


class CursorOutOfRange(OutOfRange):
    """A cursor outside what is kept; the valid range is named. A cursor of first - 1 gives every event that is kept."""

    def __init__(self, what: str, kept: KeptRange, *, reason: str = "CURSOR_OUT_OF_RANGE") -> None:
        super().__init__(
            f"{what}; the valid range is {kept.first - 1} to {kept.last}",
            reason=reason,
            metadata={
                "first_valid": str(kept.first - 1),
                "last_valid": str(kept.last),
                "first_sequence": str(kept.first),
                "last_sequence": str(kept.last),
                "history_id": kept.history_id,
            },
        )


def check_cursor(cursor: int, history_id: str, kept: KeptRange) -> None:
    """Raises CursorOutOfRange for a cursor of another history, beyond the newest event, or older than what is kept.

    An empty `history_id` is not checked.
    """
    if history_id and history_id != kept.history_id:
        raise CursorOutOfRange(
            "history_id: the cursor is of another history, this database was restored; read the conversation again",
            kept,
            reason="HISTORY_RENEWED",
        )
    if cursor > kept.last:
        raise CursorOutOfRange(f"after_sequence: {cursor} is beyond the newest event", kept)
    if cursor < kept.first - 1:
        raise CursorOutOfRange(f"after_sequence: the events after {cursor} are no longer all kept", kept)

"""Refusals of the Loop with their reasons; raised by domain and application, mapped by handrail_rpc.status."""

from __future__ import annotations

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


class CursorOutOfRange(OutOfRange):
    """after_sequence lies beyond the newest event."""

    def __init__(self, cursor: int, head: int) -> None:
        super().__init__(
            f"after_sequence: {cursor} is beyond the newest event; the valid range is 0 to {head}",
            reason="CURSOR_OUT_OF_RANGE",
            metadata={"first_valid": "0", "last_valid": str(head)},
        )

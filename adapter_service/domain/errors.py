"""Refusals of the Adapter, with the reasons that the Loop reacts to. Raised by application and storage code."""

from __future__ import annotations

from datetime import datetime

from handrail_rpc.errors import (
    Aborted,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    PreconditionViolation,
    ResourceExhausted,
    Unavailable,
)


class StalePlanVersion(Aborted):
    """The observation refers to a plan that has moved on (requirement C8)."""

    def __init__(self, given: int, current: int) -> None:
        super().__init__(
            f"base_plan_version {given} is stale; the current plan version is {current}",
            reason="STALE_PLAN_VERSION",
            metadata={"current_plan_version": str(current)},
        )


class LeaseLost(Aborted):
    """The caller's lease epoch is lower than one seen before (soundness rule fence_interaction)."""

    def __init__(self, given: int, fence: int) -> None:
        super().__init__(
            f"lease_epoch {given} is lower than the fence {fence} of the interaction",
            reason="LEASE_LOST",
            metadata={"fence": str(fence)},
        )


class DecisionContradiction(Aborted):
    """Another observation is stored under this number, or it contradicts the recorded outcomes (requirement B2)."""

    def __init__(self, decision_number: int, why: str) -> None:
        super().__init__(
            f"decision_number {decision_number}: {why}",
            reason="DECISION_CONTRADICTION",
            metadata={"decision_number": str(decision_number)},
        )


class DecisionGap(Aborted):
    """A decision before this one is missing here: one of the two databases is older than the other."""

    def __init__(self, given: int, stored: int) -> None:
        super().__init__(
            f"decision_number {given} leaves a gap: {stored} decisions of the interaction are stored",
            reason="DECISION_GAP",
            metadata={"stored_decisions": str(stored)},
        )


class InteractionClosed(FailedPrecondition):
    """The interaction was canceled or superseded: nothing of it begins any more (soundness rule tombstone)."""

    def __init__(self, interaction_id: str) -> None:
        text = f"interaction {interaction_id} is closed: nothing of it begins any more"
        super().__init__(
            text, [PreconditionViolation("INTERACTION_STATE", interaction_id, text)], reason="INTERACTION_CLOSED"
        )


class HistoryDiverged(FailedPrecondition):
    """The caller learnt another history, or one of the two knows less of the session than it did: one of the databases
    was restored (soundness rule history)."""

    def __init__(
        self,
        current: str,
        text: str = "history_id is not the one of this database: it was restored since the session was opened",
    ) -> None:
        super().__init__(
            text,
            [PreconditionViolation("HISTORY", current, text)],
            reason="HISTORY_DIVERGED",
            metadata={"history_id": current},
        )


class UnexpectedObservation(FailedPrecondition):
    """The observation does not fit what the interaction waits for; the text names the current state."""

    def __init__(self, interaction_id: str, state: str) -> None:
        super().__init__(
            state, [PreconditionViolation("INTERACTION_STATE", interaction_id, state)], reason="UNEXPECTED_OBSERVATION"
        )


class InvalidObservation(InvalidArgument):
    """A member of the observation is not acceptable: an unknown candidate, a skip of a required slot."""


class AttemptElsewhere(Unavailable):
    """Another process holds the lease of the attempt, or its function still runs here; ask again (live_attempt)."""

    def __init__(self, tool_call_id: str) -> None:
        super().__init__(f"tool call {tool_call_id} is still running elsewhere", reason="ATTEMPT_RUNNING")


class NoThreadFree(ResourceExhausted):
    """Every thread for blocking work is busy, so nothing has begun. A type of its own: a domain's code may raise any
    ResourceExhausted after it has acted."""

    def __init__(self, most: int) -> None:
        super().__init__(f"all {most} threads for blocking work are busy", reason="TOOL_THREADS_EXHAUSTED")


class ToolCallUnknown(NotFound):
    """The call was never issued by a stored decision of this interaction."""

    def __init__(self, tool_call_id: str) -> None:
        super().__init__(f"tool call {tool_call_id!r} was not issued", reason="TOOL_CALL_NOT_FOUND")


class AttemptLive(FailedPrecondition):
    """A live attempt can still change what a person wants to settle (soundness rule settle_dead)."""

    def __init__(self, tool_call_id: str) -> None:
        text = f"tool call {tool_call_id} is still running; settle it once it has ended or the service was restarted"
        super().__init__(text, [PreconditionViolation("EXECUTION_STATE", tool_call_id, text)], reason="ATTEMPT_LIVE")


class ExecutionUnsettled(FailedPrecondition):
    """The outcome of a change is unknown: a person settles it before its content may be erased."""

    def __init__(self, tool_call_id: str) -> None:
        text = f"the outcome of tool call {tool_call_id} is unknown; settle it by SettleExecution first"
        super().__init__(
            text,
            [PreconditionViolation("EXECUTION_STATE", tool_call_id, text)],
            reason="EXECUTION_UNSETTLED",
            metadata={"tool_call_id": tool_call_id},
        )


class OutcomeRecorded(FailedPrecondition):
    """The outcome of the call is known and another one than the person's verdict."""

    def __init__(self, tool_call_id: str, outcome: str) -> None:
        text = f"tool call {tool_call_id} is not unknown: its recorded outcome is {outcome}"
        super().__init__(
            text,
            [PreconditionViolation("EXECUTION_STATE", tool_call_id, text)],
            reason="OUTCOME_RECORDED",
            metadata={"outcome": outcome},
        )


class AlreadySettled(FailedPrecondition):
    """A person settled the call in another way before; who and when are named."""

    def __init__(self, tool_call_id: str, outcome: str, settled_by: str, settle_time: datetime | None) -> None:
        when = "" if settle_time is None else settle_time.isoformat(timespec="seconds")
        text = f"tool call {tool_call_id} was already settled as {outcome} by {settled_by} at {when}"
        super().__init__(
            text,
            [PreconditionViolation("EXECUTION_STATE", tool_call_id, text)],
            reason="EXECUTION_SETTLED",
            metadata={"outcome": outcome, "settled_by": settled_by, "settle_time": when},
        )

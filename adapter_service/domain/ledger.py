"""The execution ledger: issued calls, attempts and their one outcome. States and transitions as data (E4).

`claimed` is active; every other state is terminal: a repeated call gets the recorded outcome. Only a person's verdict
still changes an unknown one, once (SETTLEMENTS).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from adapter_service.domain.artifact import ArtifactReference
from adapter_service.domain.failure import Failure, PolicyBlock
from adapter_service.sdk import Effect, Text


class ExecutionState(StrEnum):
    """Names of handrail.common.v1.Outcome in lower case, and `claimed`."""

    CLAIMED = "claimed"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    BLOCKED = "blocked"
    UNKNOWN = "unknown"


# From -> to. "" is a call without a row: a block, a refusal or an unknown outcome may be recorded without a claim. A
# claimed call becomes blocked where its tool found another base than the approved one (compare_at_write), or where it
# was taken over, may no longer be called, and surely had no effect.
TRANSITIONS: dict[str, frozenset[ExecutionState]] = {
    "": frozenset({ExecutionState.CLAIMED, ExecutionState.BLOCKED, ExecutionState.UNKNOWN, ExecutionState.FAILED}),
    ExecutionState.CLAIMED: frozenset(
        {
            ExecutionState.CLAIMED,  # an orphan is taken over by a new attempt
            ExecutionState.SUCCEEDED,
            ExecutionState.FAILED,
            ExecutionState.BLOCKED,
            ExecutionState.UNKNOWN,
        }
    ),
    ExecutionState.SUCCEEDED: frozenset(),
    ExecutionState.FAILED: frozenset(),
    ExecutionState.BLOCKED: frozenset(),
    ExecutionState.UNKNOWN: frozenset(),
}

# What a person's verdict makes of a call that no live attempt can still change (soundness rule settle_dead): one whose
# outcome is unknown, an orphan, or one that nothing is recorded of. The target is locked until then (target_lock).
SETTLEMENTS: dict[str, frozenset[ExecutionState]] = {
    state: frozenset({ExecutionState.SUCCEEDED, ExecutionState.FAILED})
    for state in ("", ExecutionState.CLAIMED, ExecutionState.UNKNOWN)
}


def may_become(before: ExecutionState | None, after: ExecutionState) -> bool:
    """Whether the table has the transition; `before` None is a call without a row."""
    return after in TRANSITIONS[before or ""]


def may_be_settled(before: ExecutionState | None, after: ExecutionState) -> bool:
    """Whether a person's verdict may bring `after`; `before` None is a call without a row."""
    return after in SETTLEMENTS.get(before or "", frozenset())


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call issued by a stored decision. `input_bytes` is the RFC 8785 JSON that `input_sha256` covers."""

    tool_call_id: str
    interaction_id: str
    decision_number: int
    task_id: str
    tool: str
    tool_version: int
    effect: Effect
    idempotent: bool
    idempotency_key: str
    input_bytes: bytes
    input_sha256: str
    target: str
    timeout: timedelta
    summary: str
    approval_id: str = ""
    approval_digest: str = ""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a call has no result, in both locales, so that a later decision can explain it or ask again (G4).

    `slot` is the parameter that another input can mend, where `correctable`.
    """

    code: str
    explanation: Text
    helpful_action: Text | None = None
    source_code: str = ""
    correctable: bool = False
    retryable: bool = False
    slot: str = ""


@dataclass(frozen=True, slots=True)
class Execution:
    """The ledger row of a call. `attempt` counts attempts; `lease_until` is the end of the current one's lease.

    `settled_by` is the principal whose verdict the outcome is, "" where the Adapter itself knows it.
    `workspace_sha256` is the workspace that a successful call saw, "" where it saw none.
    """

    tool_call_id: str
    execution_id: str
    interaction_id: str
    idempotency_key: str
    tool: str
    effect: Effect
    target: str
    state: ExecutionState
    attempt: int
    owner: str
    lease_until: datetime
    outcome_bytes: bytes = b""
    result_sha256: str = ""
    trouble: Trouble | None = None
    settled_by: str = ""
    settle_time: datetime | None = None
    settle_comment: str = ""
    workspace_sha256: str = ""

    def is_orphan(self, now: datetime) -> bool:
        """Claimed, and its attempt's lease has run out (soundness rule live_attempt)."""
        return self.state is ExecutionState.CLAIMED and self.lease_until <= now


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof of one execution."""

    execution_id: str
    key: str
    finish_time: datetime
    result_sha256: str
    summary: str


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """How a call ended; encoded once and the same for every repetition."""

    tool_call_id: str
    tool: str
    state: ExecutionState
    receipt: Receipt | None = None
    failure: Failure | None = None
    block: PolicyBlock | None = None
    artifacts: tuple[ArtifactReference, ...] = ()


@dataclass(frozen=True, slots=True)
class IssuedCall:
    """A call with what became of it: its ledger row, and its result where that is stored and small."""

    call: ToolCall
    execution: Execution | None
    result: bytes | None

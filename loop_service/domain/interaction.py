"""An interaction: one logical request with its state, counters and lease (requirements C1 to C3).

Made and changed by the application's units of work; only `transitions.move` sets its state.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from loop_service.domain.errors import LeaseLost


class InteractionState(StrEnum):
    """States of requirement C2. NEW is the origin of the first change only and is never stored."""

    NEW = "unspecified"
    PREPARING = "preparing"
    AWAITING_CLARIFICATION = "awaiting_clarification"
    AWAITING_APPROVAL = "awaiting_approval"
    EXECUTING = "executing"
    GENERATING = "generating"
    WAITING = "waiting"
    COMPLETED = "completed"
    FAILED = "failed"
    BLOCKED = "blocked"
    CANCELED = "canceled"
    SUPERSEDED = "superseded"


ACTIVE = frozenset({InteractionState.PREPARING, InteractionState.EXECUTING, InteractionState.GENERATING})
WAITING = frozenset(
    {InteractionState.AWAITING_CLARIFICATION, InteractionState.AWAITING_APPROVAL, InteractionState.WAITING}
)
TERMINAL = frozenset(
    {
        InteractionState.COMPLETED,
        InteractionState.FAILED,
        InteractionState.BLOCKED,
        InteractionState.CANCELED,
        InteractionState.SUPERSEDED,
    }
)


@dataclass(frozen=True, slots=True)
class Requester:
    """On whose behalf the interaction runs: from the credential of its newest message, never from a body."""

    principal: str
    tenant: str
    roles: tuple[str, ...]
    locale: str


class StopKind(StrEnum):
    """Why an interaction is being ended before its own end."""

    CANCEL = "cancel"
    REJECT = "reject"
    LIMIT = "limit"
    DIVERGED = "diverged"
    """A history was lost; `reason` says whose. Ends as failed, session_diverged."""


@dataclass(frozen=True, slots=True)
class Stop:
    """A recorded wish to end; carried out by a run, told only after the Adapter answered (confirm_stop)."""

    kind: StopKind
    code: str
    reason: str
    requested_by: str


@dataclass(slots=True)
class Interaction:
    """One row of `interactions`. `active_time` is spent working, never waiting for a person (B4)."""

    interaction_id: str
    conversation_id: str
    domain: str
    requester: Requester
    root_message_id: str
    create_time: datetime
    update_time: datetime
    state: InteractionState = InteractionState.NEW
    end_time: datetime | None = None
    plan_version: int = 0
    decision_number: int = 0
    observation_number: int = 0
    context: bytes = b""
    failure: bytes = b""
    supersedes: str = ""
    superseded_by: str = ""
    domain_session_id: str = ""
    history_id: str = ""
    owner: str = ""
    epoch: int = 0
    lease_until: datetime | None = None
    active_run_id: str = ""
    last_run_id: str = ""
    stop: Stop | None = None
    tool_actions: int = 0
    clarification_rounds: int = 0
    active_time: timedelta = field(default_factory=timedelta)
    generations: int = 0
    standing_decision: int = 0
    clarification_id: str = ""
    approval_id: str = ""
    approved_id: str = ""
    """The approval that was approved and of which nothing has come yet."""
    wait_until: datetime | None = None
    wait_signal: str = ""
    settle_attempts: int = 0
    kept_signals: int = 0
    """How many signals its mailbox holds."""
    unclear_number: int = 0
    """Decision that found a reply unclear and waits for the model's verdict on it; 0: none does."""

    @property
    def is_terminal(self) -> bool:
        return self.state in TERMINAL

    @property
    def is_busy(self) -> bool:
        """True while a run of it is queued or running: further inputs join that run."""
        return bool(self.active_run_id)

    def take_lease(self, owner: str, until: datetime) -> None:
        """Claim: the epoch only ever rises and belongs to the interaction (fence_interaction)."""
        self.owner = owner
        self.epoch += 1
        self.lease_until = until

    def revoke_lease(self) -> None:
        """Take the lease away from whoever holds it: every later write under the old epoch is refused."""
        self.owner = ""
        self.epoch += 1
        self.lease_until = None

    def drop_lease(self) -> None:
        self.owner = ""
        self.lease_until = None

    def check_lease(self, owner: str, epoch: int) -> None:
        """Raises LeaseLost unless `owner` still holds the lease under `epoch`."""
        if self.owner != owner or self.epoch != epoch:
            raise LeaseLost(self.interaction_id)

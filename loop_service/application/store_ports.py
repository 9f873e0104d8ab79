"""What the use cases need of the storage, as protocols: the stores of one unit of work. Implemented by storage/.

A unit of work is a synchronous function of a `Transaction`, so nothing can be awaited inside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeVar

from handrail_rpc.audit_chain import ChainRow, Head
from handrail_rpc.context import Caller
from loop_service.domain.approval import Approval
from loop_service.domain.audit import AuditEntry, AuditRow
from loop_service.domain.clarification import Clarification
from loop_service.domain.conversation import AcceptedRequest, Conversation, Message, RequestScope
from loop_service.domain.decision import CallRecord, Decision
from loop_service.domain.events import NewEvent, StoredEvent
from loop_service.domain.interaction import Interaction
from loop_service.domain.observation import StoredObservation
from loop_service.domain.run import Run
from loop_service.domain.settlement import Settlement
from loop_service.domain.signal import KeptSignal

T = TypeVar("T")


class ConversationStore(Protocol):
    def insert(self, conversation: Conversation) -> None: ...
    def find(self, conversation_id: str) -> Conversation | None:
        """The row, locked for this unit of work where the database needs it."""

    def save(self, conversation: Conversation) -> None: ...
    def with_events_before(self, time: datetime, limit: int) -> list[str]:
        """Ids of conversations whose oldest kept event is older than `time`, oldest first."""

    def page(
        self, tenant: str, principal: str, before: tuple[datetime, str] | None, limit: int
    ) -> list[Conversation]: ...


class MessageStore(Protocol):
    def insert(self, message: Message) -> None: ...
    def find(self, message_id: str) -> Message | None: ...
    def assign(self, message_id: str, interaction_id: str, run_id: str) -> None:
        """Note the interaction and the run that consume a message."""

    def page(self, conversation_id: str, after: int, limit: int) -> list[Message]: ...
    def recent(self, conversation_id: str, limit: int) -> list[Message]:
        """The newest messages, oldest first."""


class RequestStore(Protocol):
    def find(self, scope: RequestScope) -> AcceptedRequest | None: ...
    def insert(self, request: AcceptedRequest, now: datetime) -> None: ...


class InteractionStore(Protocol):
    def find(self, interaction_id: str) -> Interaction | None: ...
    def put(self, interaction: Interaction) -> None: ...
    def renew(self, owner: str, interaction_ids: Sequence[str], until: datetime) -> list[str]:
        """Extend leases that `owner` still holds; returns the ids of those. Never resurrects a lost one."""

    def adopt_fence(self, interaction_id: str, owner: str, epoch: int, higher: int) -> bool:
        """Compare-and-set of the own lease's epoch (adopt_fence); False: the lease is not ours any more."""

    def void_leases(self) -> int:
        """Take away every lease: only where this process alone has the database. Running runs queue again."""


class RunStore(Protocol):
    def find(self, run_id: str) -> Run | None: ...
    def put(self, run: Run) -> None: ...
    def queued(self, most: int) -> int:
        """How many runs stand in the queue, counted up to `most`."""

    def claimable(self, now: datetime, limit: int) -> list[Run]:
        """Queued runs that are due, and running ones whose lease lapsed, oldest first."""


class StepStore(Protocol):
    """Observations, decisions, tool calls and the inbox of an interaction."""

    def put_observation(self, observation: StoredObservation, run_id: str) -> None: ...
    def find_observation(self, interaction_id: str, number: int) -> StoredObservation | None: ...
    def put_decision(self, interaction_id: str, decision: Decision, run_id: str, now: datetime) -> None: ...
    def find_decision(self, interaction_id: str, number: int) -> bytes | None: ...
    def put_call(self, call: CallRecord) -> None: ...
    def calls_of(self, interaction_id: str) -> list[CallRecord]:
        """Every call of the interaction in the order of its decisions."""

    def push_inbox(self, interaction_id: str, message_id: str, position: int) -> None: ...
    def inbox(self, interaction_id: str) -> list[str]:
        """Ids of the messages that wait to be consumed, oldest first."""

    def remove_from_inbox(self, interaction_id: str, message_id: str) -> None: ...


class ClarificationStore(Protocol):
    def find(self, clarification_id: str) -> Clarification | None: ...
    def put(self, clarification: Clarification) -> None: ...


@dataclass(frozen=True, slots=True)
class Resolution:
    """A verdict that was recorded with the run it led to."""

    approval_id: str
    verdict: str
    digest: str
    run_id: str
    resolved_by: str


class ApprovalStore(Protocol):
    def find(self, approval_id: str) -> Approval | None: ...
    def put(self, approval: Approval) -> None: ...
    def newest_of(self, interaction_id: str) -> Approval | None: ...
    def earlier_digests(self, approval_id: str) -> tuple[str, ...]:
        """Digests of the approvals whose chain of `superseded_by` leads to this one."""

    def find_resolution(self, approval_id: str, verdict: str, digest: str) -> Resolution | None: ...
    def insert_resolution(self, resolution: Resolution, now: datetime) -> None: ...


class SettlementStore(Protocol):
    """Changes whose outcome is unknown, and how a person settled them."""

    def find(self, interaction_id: str, tool_call_id: str) -> Settlement | None: ...
    def put(self, settlement: Settlement) -> None: ...


@dataclass(frozen=True, slots=True)
class PendingFilter:
    """What of the pending items is asked for; empty values ask for everything. `kinds` is never empty."""

    kinds: frozenset[str]
    conversation_id: str = ""
    interaction_id: str = ""
    domain: str = ""
    tool: str = ""
    requested_by_me: bool = False
    created_before: datetime | None = None


@dataclass(frozen=True, slots=True)
class PendingRow:
    """One open question, open approval or unsettled call; exactly one of the three is set."""

    conversation_id: str
    interaction_id: str
    create_time: datetime
    item_id: str
    domain: str
    requester: str
    clarification: Clarification | None = None
    approval: Approval | None = None
    settlement: Settlement | None = None


class PendingStore(Protocol):
    def page(
        self, wanted: PendingFilter, caller: Caller, after: tuple[datetime, str] | None, limit: int
    ) -> list[PendingRow]:
        """What the caller may answer, approve or settle (domain.permission), oldest first."""


class JournalStore(Protocol):
    """Events and audit rows, numbered under the conversation's row."""

    def append(
        self,
        conversation: Conversation,
        events: Sequence[NewEvent],
        audit: Sequence[AuditEntry],
        now: datetime,
    ) -> None: ...
    def events(self, conversation_id: str, after: int, limit: int) -> list[StoredEvent]: ...
    def remove_events(self, conversation_id: str, before: int) -> None:
        """Remove the events with sequences below `before`."""

    def audit_page(self, conversation_id: str, interaction_id: str, after: int, limit: int) -> list[AuditRow]:
        """Of an interaction where one is given, else of the conversation; oldest first."""

    def audit_chain_page(self, conversation_id: str, below: int | None, limit: int) -> list[ChainRow]:
        """Rows as they are stored, whatever was done to them, newest first; those below a number where one is given."""

    def audit_head(self, conversation_id: str) -> Head | None:
        """What the conversation's row says of its newest audit row; None without a conversation."""


@dataclass(frozen=True, slots=True)
class Timer:
    """A due time of an interaction; one for each kind: approval_expiry, wait, wait_limit, settle."""

    interaction_id: str
    kind: str
    due_time: datetime
    subject: str = ""


class TimerStore(Protocol):
    def put(self, timer: Timer) -> None: ...
    def due(self, now: datetime, limit: int) -> list[Timer]: ...
    def next_due(self) -> datetime | None: ...
    def remove(self, interaction_id: str, kind: str) -> None: ...
    def clear(self, interaction_id: str) -> None: ...


class SignalStore(Protocol):
    """The mailbox: signals that came before their interaction waited for them (soundness: mailbox)."""

    def keep(self, signal: KeptSignal) -> None: ...
    def take(self, interaction_id: str, name: str) -> KeptSignal | None:
        """The oldest kept one of that name, which is kept no longer; None where there is none."""

    def clear(self, interaction_id: str) -> None: ...


class DivergenceStore(Protocol):
    """What was lost with a restored database; never on the path of a message, as it looks at every conversation."""

    def is_swept(self, history_id: str) -> bool:
        """Whether the interactions that other histories left open were put to their end under this one."""

    def mark_swept(self, history_id: str) -> None: ...
    def open_in_other_history(self, history_id: str, after: str, limit: int) -> list[Conversation]:
        """Conversations with an active interaction that do not belong to this history, by id."""

    def page(
        self,
        tenant: str,
        loop_history_id: str,
        adapter_history_ids: Mapping[str, str],
        after: tuple[datetime, str] | None,
        limit: int,
    ) -> list[Conversation]:
        """Conversations of a tenant that diverged and were not recovered, oldest first. `adapter_history_ids` is the
        current history of each domain's Adapter."""

    def unsettled_calls(self, tenant: str, conversation_id: str) -> list[Settlement]:
        """Calls whose outcome is unknown and that nobody has settled, oldest first."""


class ErasureStore(Protocol):
    """Deleting the content of conversations; the audit trail, the request ids and the runs' counts stay."""

    def unsettled_calls(self, conversation_id: str) -> tuple[str, ...]:
        """Calls whose outcome is unknown and that nobody has settled; the first few."""

    def erase_some(self, conversation_id: str) -> bool:
        """Erase a bounded part of the content; False once nothing is left."""

    def due(self, now: datetime, limit: int) -> list[str]:
        """Conversations whose deletion is to go on."""

    def next_due(self) -> datetime | None: ...


class Transaction(Protocol):
    """The stores of one unit of work: all or nothing."""

    @property
    def conversations(self) -> ConversationStore: ...
    @property
    def messages(self) -> MessageStore: ...
    @property
    def requests(self) -> RequestStore: ...
    @property
    def interactions(self) -> InteractionStore: ...
    @property
    def runs(self) -> RunStore: ...
    @property
    def steps(self) -> StepStore: ...
    @property
    def clarifications(self) -> ClarificationStore: ...
    @property
    def approvals(self) -> ApprovalStore: ...
    @property
    def settlements(self) -> SettlementStore: ...
    @property
    def pending(self) -> PendingStore: ...
    @property
    def journal(self) -> JournalStore: ...
    @property
    def timers(self) -> TimerStore: ...
    @property
    def erasure(self) -> ErasureStore: ...
    @property
    def signals(self) -> SignalStore: ...
    @property
    def divergence(self) -> DivergenceStore: ...


class UnitOfWork(Protocol):
    async def write(self, unit: Callable[[Transaction], T], *, name: str) -> T:
        """Run `unit` all or nothing; durable when it returns, and carried through if the caller is canceled.

        `name` is one of handrail_rpc.crash_points.LOOP_UNITS.
        """

    async def read(self, query: Callable[[Transaction], T]) -> T:
        """Run `query` on a consistent snapshot."""

    async def truncate_log(self) -> bool:
        """Cut off what the database's log still has of erased content; False where a reader held it up."""

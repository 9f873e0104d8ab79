"""What the use cases need from outside, as protocols; bootstrap hands in storage, clients and the clock.

A unit of work is a synchronous function of a `Transaction`, so nothing can be awaited inside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeVar

from loop_service.domain.approval import Approval
from loop_service.domain.audit import AuditEntry, AuditRow
from loop_service.domain.clarification import Clarification
from loop_service.domain.conversation import AcceptedRequest, Conversation, Message, RequestScope
from loop_service.domain.decision import CallRecord, Decision, ToolOutcome
from loop_service.domain.events import NewEvent, StoredEvent
from loop_service.domain.failures import Failure
from loop_service.domain.interaction import Interaction, Requester
from loop_service.domain.observation import Observation, StoredObservation
from loop_service.domain.run import Run

T = TypeVar("T")


class Clock(Protocol):
    def now(self) -> datetime:
        """The time, aware and in UTC."""

    def monotonic(self) -> float:
        """Seconds for measuring durations."""

    async def sleep(self, seconds: float) -> None: ...


class Ids(Protocol):
    def new(self, prefix: str) -> str:
        """A fresh opaque id, `<prefix>_…`."""


class ConversationStore(Protocol):
    def insert(self, conversation: Conversation) -> None: ...
    def find(self, conversation_id: str) -> Conversation | None:
        """The row, locked for this unit of work where the database needs it."""

    def save(self, conversation: Conversation) -> None: ...
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


@dataclass(frozen=True, slots=True)
class PendingRow:
    """One open question or approval; exactly one of the two is set."""

    conversation_id: str
    interaction_id: str
    create_time: datetime
    item_id: str
    clarification: Clarification | None
    approval: Approval | None


class PendingStore(Protocol):
    def page(
        self,
        *,
        kinds: frozenset[str],
        tenant: str,
        principal: str,
        roles: frozenset[str],
        conversation_id: str,
        after: tuple[datetime, str] | None,
        limit: int,
    ) -> list[PendingRow]:
        """What the caller may answer, oldest first: the own, and approvals of the tenant that a role admits."""


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
    def audit_page(self, conversation_id: str, interaction_id: str, after: int, limit: int) -> list[AuditRow]: ...


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
    def pending(self) -> PendingStore: ...
    @property
    def journal(self) -> JournalStore: ...
    @property
    def timers(self) -> TimerStore: ...


class UnitOfWork(Protocol):
    async def write(self, unit: Callable[[Transaction], T]) -> T:
        """Run `unit` all or nothing; durable when it returns, and carried through if the caller is canceled."""

    async def read(self, query: Callable[[Transaction], T]) -> T:
        """Run `query` on a consistent snapshot."""


class Codec(Protocol):
    """Domain values to opaque bytes and back; implemented by convert.codec."""

    def encode_observation(self, observation: Observation) -> bytes: ...
    def with_answer_verdict(self, observation: bytes) -> bytes: ...
    def decode_decision(self, data: bytes) -> Decision: ...
    def decode_outcome(self, data: bytes) -> ToolOutcome: ...
    def confirmed_step(self, call: CallRecord, outcome: ToolOutcome) -> bytes: ...
    def encode_failure(self, failure: Failure) -> bytes: ...
    def complete_failure(self, data: bytes, request_id: str, confirmed_steps: tuple[bytes, ...]) -> bytes:
        """The Adapter's failure as it came, with request id and confirmed steps added where it left them out."""


@dataclass(frozen=True, slots=True)
class RunContext:
    """Under which run, lease and session something is sent to the Adapter; `seconds_left` of active time."""

    conversation_id: str
    interaction_id: str
    run_id: str
    request_id: str
    owner: str
    epoch: int
    domain: str
    domain_session_id: str
    history_id: str
    requester: Requester
    traceparent: str
    link_traceparent: str
    seconds_left: float
    tool_actions_left: int
    generations_left: int
    attempt: int
    """How often the run was claimed: an earlier claim of this very process is fenced by it too."""
    span_traceparent: str = ""
    """Of the run's own span; stored with the run, so that the one which resumes it can be linked."""


@dataclass(frozen=True, slots=True)
class Session:
    domain_session_id: str
    history_id: str


@dataclass(frozen=True, slots=True)
class DecideInput:
    """Everything of a DecideRequest that the context does not hold; `facts` are bytes of Fact."""

    observation: StoredObservation
    recent_messages: tuple[Message, ...]
    facts: tuple[bytes, ...]
    workspace_snapshot_id: str
    supersedes_interaction_id: str


@dataclass(frozen=True, slots=True)
class Decided:
    decision: bytes
    generations: int
    prompt_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class BegunCall:
    """A call that the Adapter names when it closes an interaction; `outcome` are bytes of ToolOutcome, if it ended."""

    tool_call_id: str
    tool: str
    running: bool
    outcome: bytes


@dataclass(frozen=True, slots=True)
class DomainDescription:
    """`data` are the bytes of DescribeDomainResponse; empty where the Adapter is away."""

    domain: str
    data: bytes


class Adapter(Protocol):
    """The Domain Adapter. Every method raises handrail_rpc.errors categories; Unavailable where it is away."""

    async def describe(self, domain: str, locale: str, timeout_seconds: float) -> bytes: ...
    async def open_session(self, domain: str, conversation_id: str, request_id: str) -> Session: ...
    async def decide(self, context: RunContext, epoch: int, asked: DecideInput) -> Decided: ...
    async def execute(
        self, context: RunContext, epoch: int, call: CallRecord, on_progress: Callable[[int, str], None]
    ) -> bytes:
        """Bytes of the ToolOutcome."""

    async def cancel(self, context: RunContext, epoch: int) -> tuple[BegunCall, ...]: ...


class Subscription(Protocol):
    """What one reader gets of a conversation's new events; bounded."""

    def take(self) -> list[StoredEvent] | None:
        """Events that came since the last call; None where some may be missing, so that the table must be read."""

    async def wait(self, seconds: float) -> bool:
        """Until something came (True), at most `seconds` (False). Raises Unavailable when the process drains."""

    @property
    def overflowed(self) -> bool: ...
    def start_live(self) -> None:
        """From now on lag counts: a reader that falls too far behind is closed."""

    def close(self) -> None: ...


class Feed(Protocol):
    """In-process wake-ups; only a hint, the table is the truth."""

    def subscribe(self, conversation_id: str) -> Subscription: ...

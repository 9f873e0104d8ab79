"""What the use cases need from outside besides their storage (store_ports), as protocols; bootstrap hands it in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from loop_service.domain.conversation import Message
from loop_service.domain.decision import Action, CallRecord, Decision, ReplyVerdict, ToolOutcome
from loop_service.domain.events import StoredEvent
from loop_service.domain.failures import Failure
from loop_service.domain.interaction import Requester
from loop_service.domain.observation import Observation, StoredObservation


class Clock(Protocol):
    def now(self) -> datetime:
        """The time, aware and in UTC."""

    def monotonic(self) -> float:
        """Seconds for measuring durations."""

    async def sleep(self, seconds: float) -> None: ...


class Ids(Protocol):
    def new(self, prefix: str) -> str:
        """A fresh opaque id, `<prefix>_…`."""


class Codec(Protocol):
    """Domain values to opaque bytes and back; implemented by convert.codec."""

    def encode_observation(self, observation: Observation) -> bytes: ...
    def with_answer_verdict(self, observation: bytes) -> bytes: ...
    def decode_decision(self, data: bytes) -> Decision: ...
    def decode_outcome(self, data: bytes) -> ToolOutcome: ...
    def confirmed_step(self, call: CallRecord, outcome: ToolOutcome) -> bytes: ...
    def encode_failure(self, failure: Failure) -> bytes: ...
    def decode_failure(self, data: bytes) -> Failure: ...
    def event_time(self, event: bytes) -> datetime:
        """When a stored event happened; `event` are the bytes of its message."""

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
    known_session_revision: int = 0
    span_traceparent: str = ""
    """Of the run's own span; stored with the run, so that the one which resumes it can be linked."""


@dataclass(frozen=True, slots=True)
class Session:
    domain_session_id: str
    history_id: str
    session_revision: int = 0


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
    session_revision: int = 0


@dataclass(frozen=True, slots=True)
class Executed:
    """`outcome` are bytes of ToolOutcome."""

    outcome: bytes
    session_revision: int = 0


@dataclass(frozen=True, slots=True)
class BegunCall:
    """A call that the Adapter names when it closes an interaction; `outcome` are bytes of ToolOutcome, if it ended."""

    tool_call_id: str
    tool: str
    running: bool
    outcome: bytes


@dataclass(frozen=True, slots=True)
class Closed:
    """The Adapter's word on an interaction that it fenced: every call in its ledger."""

    calls: tuple[BegunCall, ...]
    session_revision: int = 0


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
    ) -> Executed: ...
    async def cancel(self, context: RunContext, epoch: int) -> Closed: ...


@dataclass(frozen=True, slots=True)
class SettleCall:
    """A person's verdict on a call, as it is told to the Adapter."""

    request_id: str
    domain: str
    domain_session_id: str
    interaction_id: str
    tool_call_id: str
    history_id: str
    happened: bool
    settled_by: str
    comment: str
    locale: str


class Settler(Protocol):
    """The Domain Adapter, as settle_execution sees it."""

    async def settle(self, call: SettleCall) -> bytes:
        """Bytes of the ToolOutcome as it is from now on. Raises handrail_rpc.errors categories."""


class SessionEraser(Protocol):
    """The Domain Adapter, as delete_conversation sees it."""

    async def delete_session(self, domain: str, conversation_id: str, request_id: str) -> bool:
        """False: there was nothing to erase. Raises handrail_rpc.errors categories; Unavailable where it is away."""


class Histories(Protocol):
    """Where the current history of a domain's Adapter is learnt."""

    async def history_id(self, domain: str, timeout_seconds: float) -> str:
        """ "" where the Adapter tells none. Raises handrail_rpc.errors categories; Unavailable where it is away."""


@dataclass(frozen=True, slots=True)
class UnclearReply:
    """A text that no rule could classify, with what it may reply to: `asked` is the question, "" where none is open."""

    text: str
    asked: str
    options: tuple[str, ...]
    locale: str


@dataclass(frozen=True, slots=True)
class JudgedReply:
    """A model's verdict, and how many tokens it read and wrote."""

    verdict: ReplyVerdict
    prompt_tokens: int = 0
    output_tokens: int = 0


class ModelFailed(Exception):
    """A model gave no answer that can be taken; `code` is one of the failure catalogue."""

    def __init__(self, code: str, prompt_tokens: int = 0, output_tokens: int = 0) -> None:
        super().__init__(code)
        self.code = code
        self.prompt_tokens = prompt_tokens
        self.output_tokens = output_tokens


class ReplyModel(Protocol):
    """The workflow model as far as replies go (C7, A4): it reads one text and picks one of five words."""

    async def judge(self, reply: UnclearReply, seconds: float) -> JudgedReply:
        """What the text is, within `seconds`. Raises ModelFailed; whatever else it raises counts as unclear too."""


@dataclass(frozen=True, slots=True)
class ActionOffer:
    """What the workflow model sees of a choice (A4): the offered actions and what the user wrote, oldest first.

    No tool input, no artifact and no answer of the assistant, which may quote one.
    """

    actions: tuple[Action, ...]
    user_texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The action that a model named, which need not be an offered one, and a short intent in its words."""

    action_id: str
    intent: str = ""
    prompt_tokens: int = 0
    output_tokens: int = 0


class ActionModel(Protocol):
    """The workflow model as far as actions go (A4): it picks one of those that policy returned."""

    async def choose(self, offer: ActionOffer, seconds: float) -> ModelChoice:
        """One action, within `seconds`. Raises ModelFailed; whatever else it raises counts as no answer too."""


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

"""Payloads of the event stream as plain values, named as in contract.md 'Event'.

Opaque parts that only pass through (prompt, snapshot, answer, failure, receipt) are serialized bytes. Encoded by
convert.events; stored before they are sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class RunStarted:
    message_id: str = ""
    approval_id: str = ""
    resumed_run_id: str = ""
    history_id: str = ""


@dataclass(frozen=True, slots=True)
class MessageAccepted:
    message_id: str


@dataclass(frozen=True, slots=True)
class StatusChanged:
    from_state: str
    to_state: str


@dataclass(frozen=True, slots=True)
class DecisionMade:
    decision_number: int
    decision_id: str
    kind: str
    action_id: str = ""
    chosen_by: str = ""
    summary: str = ""
    model_code: str = ""


@dataclass(frozen=True, slots=True)
class ToolStarted:
    tool_call_id: str
    tool: str


@dataclass(frozen=True, slots=True)
class ToolProgress:
    tool_call_id: str
    tool: str
    percent: int
    message: str


@dataclass(frozen=True, slots=True)
class ToolFinished:
    tool_call_id: str
    tool: str
    outcome: str
    receipt: bytes = b""
    failure: bytes = b""


@dataclass(frozen=True, slots=True)
class ArtifactPublished:
    artifact_id: str
    version: int
    sha256: str
    media_type: str
    title: str
    tool_call_id: str


@dataclass(frozen=True, slots=True)
class ClarificationRequired:
    clarification_id: str
    plan_version: int
    prompt: bytes


@dataclass(frozen=True, slots=True)
class ApprovalRequired:
    approval_id: str
    snapshot: bytes
    snapshot_digest: str
    title: str
    input_preview: str
    change_ref: str
    required_role: str


@dataclass(frozen=True, slots=True)
class ApprovalResolved:
    approval_id: str
    outcome: str
    resolved_by: str = ""


@dataclass(frozen=True, slots=True)
class PolicyBlocked:
    code: str
    rule: str
    approval_id: str = ""
    lifted_by: str = ""
    tool: str = ""
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class ContentDelta:
    text: str


@dataclass(frozen=True, slots=True)
class Completed:
    message_id: str
    answer: bytes


@dataclass(frozen=True, slots=True)
class Failed:
    failure: bytes


@dataclass(frozen=True, slots=True)
class Blocked:
    failure: bytes


@dataclass(frozen=True, slots=True)
class Canceled:
    reason: str
    code: str = ""
    confirmed_steps: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Superseded:
    reason: str
    by_interaction_id: str
    confirmed_steps: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Waiting:
    """Until a time, or for a signal; `limit_time` is when a wait for a signal ends without it."""

    until: datetime | None = None
    signal: str = ""
    limit_time: datetime | None = None


@dataclass(frozen=True, slots=True)
class ExecutionSettled:
    """A person settled a call whose outcome was unknown; outside any run. `outcome`: succeeded or failed."""

    tool_call_id: str
    tool: str
    outcome: str
    settled_by: str
    successor_interaction_id: str = ""


@dataclass(frozen=True, slots=True)
class SignalReceived:
    """`delivered`: it ended a wait; else it is kept until the interaction waits for it."""

    signal: str
    delivered: bool


@dataclass(frozen=True, slots=True)
class ChannelFailed:
    """A fault of the client's own channel, outside any run. `failure` are bytes of Failure."""

    channel: str
    failure: bytes


@dataclass(frozen=True, slots=True)
class Live:
    """Not stored: replay is over."""

    history_id: str = ""


Payload: TypeAlias = (
    RunStarted
    | MessageAccepted
    | StatusChanged
    | DecisionMade
    | ToolStarted
    | ToolProgress
    | ToolFinished
    | ArtifactPublished
    | ClarificationRequired
    | ApprovalRequired
    | ApprovalResolved
    | PolicyBlocked
    | ContentDelta
    | Completed
    | Failed
    | Blocked
    | Canceled
    | Superseded
    | Waiting
    | ExecutionSettled
    | SignalReceived
    | ChannelFailed
    | Live
)

ENDINGS: tuple[type[Payload], ...] = (
    ClarificationRequired,
    ApprovalRequired,
    Waiting,
    Completed,
    Failed,
    Blocked,
    Canceled,
    Superseded,
)
"""Every run ends with exactly one of these; the stream of the run then closes OK."""

NAMES: dict[type[Payload], str] = {
    RunStarted: "run_started",
    MessageAccepted: "message_accepted",
    StatusChanged: "status_changed",
    DecisionMade: "decision_made",
    ToolStarted: "tool_started",
    ToolProgress: "tool_progress",
    ToolFinished: "tool_finished",
    ArtifactPublished: "artifact_published",
    ClarificationRequired: "clarification_required",
    ApprovalRequired: "approval_required",
    ApprovalResolved: "approval_resolved",
    PolicyBlocked: "policy_blocked",
    ContentDelta: "content_delta",
    Completed: "completed",
    Failed: "failed",
    Blocked: "blocked",
    Canceled: "canceled",
    Superseded: "superseded",
    Waiting: "waiting",
    ExecutionSettled: "execution_settled",
    SignalReceived: "signal_received",
    ChannelFailed: "channel_failed",
    Live: "live",
}
"""Payload type to the name of its field in the proto's oneof."""

ENDING_NAMES: frozenset[str] = frozenset(NAMES[ending] for ending in ENDINGS)


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event before it has its number. An empty run_id: outside any run."""

    interaction_id: str
    run_id: str
    request_id: str
    payload: Payload


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event as it lies in the table: `data` are the bytes of handrail.loop.v1.Event."""

    conversation_id: str
    sequence: int
    run_id: str
    name: str
    data: bytes

    @property
    def ends_run(self) -> bool:
        return bool(self.run_id) and self.name in ENDING_NAMES

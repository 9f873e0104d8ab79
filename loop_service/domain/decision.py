"""A decision of the Adapter as the Loop reads it, and the outcome of a tool call. Decoded by convert.decisions.

Only what the cycle needs is read; everything else stays in `raw` and is forwarded, never rebuilt.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TypeAlias

from loop_service.domain.events import ArtifactPublished


class ReplyVerdict(StrEnum):
    """What a free-text reply turned out to be (C7)."""

    NONE = "unspecified"
    ANSWER = "answer"
    CORRECTION = "correction"
    NEW_REQUEST = "new_request"
    CANCEL = "cancel"
    UNCLEAR = "unclear"


class Effect(StrEnum):
    READ = "read"
    DRAFT = "draft"
    CHANGE = "change"
    EXTERNAL = "external"


CHANGING = frozenset({Effect.CHANGE, Effect.EXTERNAL})
"""Effects whose outcome must be known before an interaction may end."""


class Outcome(StrEnum):
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    BLOCKED = "blocked"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class PolicyBlock:
    code: str
    rule: str
    explanation: str
    approval_id: str
    lifted_by: str
    tool: str
    tool_call_id: str


@dataclass(frozen=True, slots=True)
class Action:
    action_id: str
    title: str
    effect: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Choose:
    actions: tuple[Action, ...]
    default_action_id: str


@dataclass(frozen=True, slots=True)
class PreparedCall:
    tool_call_id: str
    tool: str
    effect: Effect
    idempotent: bool
    input_sha256: str
    summary: str
    approval_id: str


@dataclass(frozen=True, slots=True)
class CallTool:
    calls: tuple[PreparedCall, ...]


@dataclass(frozen=True, slots=True)
class PromptOption:
    candidate_id: str
    display_name: str


@dataclass(frozen=True, slots=True)
class Ask:
    """`prompt` are the bytes of the Prompt; the rest is read from it. `type` is lower-case, for example select."""

    prompt: bytes
    type: str
    question: str
    options: tuple[PromptOption, ...]
    required: bool
    task_id: str
    slot: str


@dataclass(frozen=True, slots=True)
class RequestApproval:
    """`digest` is computed over the snapshot by handrail_rpc.digest; `expire_micros` 0: it does not expire."""

    snapshot: bytes
    digest: str
    title: str
    input_preview: str
    change_ref: str
    required_role: str
    requester_may_approve: bool
    expire_micros: int
    tool: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Durations from the receipt of the decision."""

    until: timedelta | None
    signal: str
    limit: timedelta | None


@dataclass(frozen=True, slots=True)
class Complete:
    answer: bytes
    text: str


@dataclass(frozen=True, slots=True)
class Fail:
    failure: bytes
    code: str


@dataclass(frozen=True, slots=True)
class BlockedByPolicy:
    block: PolicyBlock


DecisionOutcome: TypeAlias = Choose | CallTool | Ask | RequestApproval | Wait | Complete | Fail | BlockedByPolicy
KINDS: dict[type[DecisionOutcome], str] = {
    Choose: "choose",
    CallTool: "call_tool",
    Ask: "ask",
    RequestApproval: "request_approval",
    Wait: "wait",
    Complete: "complete",
    Fail: "fail",
    BlockedByPolicy: "blocked",
}


@dataclass(frozen=True, slots=True)
class Decision:
    """Decision `number` of an interaction; `raw` are its bytes as the Adapter sent them (B2)."""

    decision_id: str
    number: int
    plan_version: int
    context: bytes
    reply_verdict: ReplyVerdict
    blocks: tuple[PolicyBlock, ...]
    summary: str
    outcome: DecisionOutcome | None
    raw: bytes

    @property
    def kind(self) -> str:
        return KINDS[type(self.outcome)] if self.outcome is not None else "reply_classified"


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The recorded end of a call. `receipt`, `failure` are bytes; `artifact_refs` are bytes of ArtifactRef."""

    tool_call_id: str
    tool: str
    outcome: Outcome
    receipt: bytes
    receipt_summary: str
    result_sha256: str
    failure: bytes
    failure_code: str
    block: PolicyBlock | None
    artifacts: tuple[ArtifactPublished, ...]
    artifact_refs: tuple[bytes, ...]
    raw: bytes


@dataclass(slots=True)
class CallRecord:
    """One row of `tool_calls`: `dispatch_number` counts how often it was sent, committed before each sending."""

    tool_call_id: str
    interaction_id: str
    decision_number: int
    position: int
    tool: str
    effect: Effect
    idempotent: bool
    approval_id: str
    summary: str
    dispatch_number: int = 0
    outcome: Outcome | None = None
    raw_outcome: bytes = b""
    step: bytes = b""
    """Bytes of the ConfirmedStep, where it succeeded (G3)."""

    @property
    def holds_back_an_ending(self) -> bool:
        return self.outcome is None and self.dispatch_number > 0 and self.effect in CHANGING

"""Decisions and tool outcomes as data (requirement B1). Built by the engine, encoded once by convert.codec."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from adapter_service.domain.approval import Snapshot
from adapter_service.domain.artifact import ArtifactReference
from adapter_service.domain.failure import Failure, PolicyBlock
from adapter_service.domain.ledger import ToolCall
from adapter_service.domain.workspace import WorkspaceState
from adapter_service.sdk import DocumentationCitation, EntityCitation, ReplyVerdict


class PromptType(StrEnum):
    """The controls that this engine asks for; names of handrail.common.v1.PromptType without prefix."""

    INPUT = "INPUT"
    SELECT = "SELECT"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A member of a closed candidate list (requirement C5). `value` stays in the Adapter."""

    candidate_id: str
    identity: str
    display_name: str
    description: str
    value: object


@dataclass(frozen=True, slots=True)
class Ask:
    """A question about one slot of one task, or about what to change in an artifact version."""

    type: PromptType
    question: str
    required: bool
    task_id: str = ""
    slot: str = ""
    artifact: ArtifactReference | None = None
    options: tuple[Candidate, ...] = ()


@dataclass(frozen=True, slots=True)
class CallTools:
    """Calls to execute now; more than one only if all are READ."""

    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True)
class Action:
    """An action that policy allows."""

    action_id: str
    title: str
    description: str
    effect: str


@dataclass(frozen=True, slots=True)
class Choose:
    """Ways on; the first is the default."""

    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class RequestApproval:
    """A person has to approve the snapshot; `input_preview` is derived from the hashed bytes."""

    snapshot: Snapshot
    title: str
    input_preview: str
    change_ref: str
    requester_may_approve: bool


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do until a time (`until`), or for `signal` until `limit`; durations from the decision's receipt."""

    until: timedelta | None = None
    signal: str = ""
    limit: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A verified answer (requirement F3)."""

    text: str
    citations: tuple[EntityCitation, ...] = ()
    documentation: tuple[DocumentationCitation, ...] = ()
    limitations: tuple[str, ...] = ()
    artifacts: tuple[ArtifactReference, ...] = ()
    tool_call_ids: tuple[str, ...] = ()
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Complete:
    """The request is answered. Terminal."""

    answer: Answer


@dataclass(frozen=True, slots=True)
class Fail:
    """The request cannot be fulfilled. Terminal."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class Blocked:
    """Policy stops the request. Terminal."""

    block: PolicyBlock


DecisionOutcome = Choose | CallTools | Ask | RequestApproval | Wait | Complete | Fail | Blocked


@dataclass(frozen=True, slots=True)
class Decision:
    """One numbered decision. `outcome` is None exactly where `reply_verdict` is new_request, cancel or unclear.

    `workspace` is the one it was made in, None where the domain uses none.
    """

    decision_id: str
    decision_number: int
    plan_version: int
    outcome: DecisionOutcome | None
    context_size_bytes: int
    summary: str
    blocks: tuple[PolicyBlock, ...] = ()
    reply_verdict: ReplyVerdict | None = None
    workspace: WorkspaceState | None = None


@dataclass(frozen=True, slots=True)
class ProgressReport:
    """How far a call is: percent 0 to 100 and a message of the tool."""

    percent: int
    message: str

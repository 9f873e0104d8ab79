"""What happened since the previous decision: the one input of the next. Encoded by convert.codec.

The bytes are committed under the decision's number before Decide is first sent (observation_first).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from loop_service.domain.approval import Verdict
from loop_service.domain.decision import Outcome


@dataclass(frozen=True, slots=True)
class UserMessage:
    message_id: str
    text: str
    approval_id: str = ""
    begins_interaction: bool = False


@dataclass(frozen=True, slots=True)
class ReplyResponse:
    """The structural part of a reply; all None: free text."""

    selected_candidate_id: str | None = None
    skip: bool = False
    confirmed: bool | None = None
    review_verdict: Verdict | None = None

    @property
    def is_set(self) -> bool:
        return (
            self.selected_candidate_id is not None
            or self.skip
            or self.confirmed is not None
            or self.review_verdict is not None
        )


@dataclass(frozen=True, slots=True)
class ClarificationReply:
    clarification_id: str
    message_id: str
    text: str
    task_id: str
    slot: str
    response: ReplyResponse


@dataclass(frozen=True, slots=True)
class ActionChoice:
    action_id: str
    intent: str = ""


@dataclass(frozen=True, slots=True)
class ToolsFinished:
    calls: tuple[tuple[str, Outcome], ...]


@dataclass(frozen=True, slots=True)
class ApprovalResolution:
    approval_id: str
    snapshot_digest: str
    verdict: Verdict | None
    comment: str = ""
    resolved_by: str = ""
    expired: bool = False


@dataclass(frozen=True, slots=True)
class WakeUp:
    """A wait ended: the time came, the signal came (`payload` are the bytes of its Struct), or its limit passed."""

    signal: str = ""
    limit_passed: bool = False
    payload: bytes = b""


@dataclass(frozen=True, slots=True)
class Retry:
    """Takes up the plan of an ended interaction, where a person settled the named call as not executed."""

    interaction_id: str
    tool_call_id: str


Observation: TypeAlias = (
    UserMessage | ClarificationReply | ActionChoice | ToolsFinished | ApprovalResolution | WakeUp | Retry
)


@dataclass(frozen=True, slots=True)
class StoredObservation:
    """One row of `observations`: `kind` names the type, `message_id` the message it came from, if any."""

    interaction_id: str
    number: int
    base_plan_version: int
    kind: str
    message_id: str
    data: bytes

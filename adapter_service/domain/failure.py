"""Failures and policy blocks as data (contract.md 'Failures'). Made by the engine, turned into messages by convert."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from adapter_service.domain.artifact import ArtifactReference
from handrail_rpc.failure_entry import Stage

__all__ = ["ConfirmedStep", "Failure", "PolicyBlock", "Progress", "Stage"]


class Progress(StrEnum):
    """How far the work had come; names of handrail.common.v1.Progress without prefix (requirement G3)."""

    NOT_EXECUTED = "NOT_EXECUTED"
    PARTIAL = "PARTIAL"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True)
class ConfirmedStep:
    """A step whose result is stored. `summary` is in the caller's locale."""

    tool_call_id: str
    tool: str
    summary: str
    artifacts: tuple[ArtifactReference, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a request or a call ended without its result (requirement G1). Texts are in the caller's locale."""

    stage: Stage
    code: str
    explanation: str
    source_code: str = ""
    helpful_action: str = ""
    retryable: bool = False
    progress: Progress = Progress.NOT_EXECUTED
    confirmed_steps: tuple[ConfirmedStep, ...] = ()
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class PolicyBlock:
    """A rule that does not allow an action now; never an execution error (requirement E3)."""

    code: str
    rule: str
    explanation: str
    lifted_by: str
    tool: str
    approval_id: str = ""
    tool_call_id: str = ""

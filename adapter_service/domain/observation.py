"""Observations: the one input of a decision (contract.md 'One decision'). Made by convert.observation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """A person's verdict on an approval."""

    APPROVE = "approve"
    REJECT = "reject"
    REQUEST_CHANGES = "request_changes"


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A message that answers nothing by structure."""

    text: str
    begins_interaction: bool
    approval_id: str = ""


@dataclass(frozen=True, slots=True)
class ClarificationReply:
    """An answer to an open question. `judged_answer`: a verdict says that the text is an answer."""

    task_id: str
    slot: str
    text: str = ""
    candidate_id: str = ""
    skip: bool = False
    judged_answer: bool = False


@dataclass(frozen=True, slots=True)
class ActionChoice:
    """One of the offered actions."""

    action_id: str


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """Outcomes of all calls of the previous decision: call id -> ledger state in lower case."""

    outcomes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ApprovalResolved:
    """A verdict on the approval with this digest; `verdict` None where it expired."""

    approval_id: str
    digest: str
    verdict: Verdict | None
    comment: str
    resolved_by: str


@dataclass(frozen=True, slots=True)
class WakeUp:
    """A wait ended."""

    signal: str
    payload: Mapping[str, Any]
    limit_passed: bool


@dataclass(frozen=True, slots=True)
class Retry:
    """The first observation of an interaction that takes up the plan of an ended one, with the named call's task open
    again: a person settled that call as not executed and wants it tried again.
    """

    interaction_id: str
    tool_call_id: str


Observation = UserMessage | ClarificationReply | ActionChoice | ToolFinished | ApprovalResolved | WakeUp | Retry

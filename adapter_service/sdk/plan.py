"""What a planner reads and proposes. Plans are data: tasks with slots, filled by texts, values or earlier results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

from adapter_service.sdk.memory import Memory
from adapter_service.sdk.text import Text


@dataclass(frozen=True, slots=True)
class TextFill:
    """The words of the user; the slot's resolver gives them a meaning."""

    text: str


@dataclass(frozen=True, slots=True)
class ValueFill:
    """A value that needs no resolving: a JSON value of the parameter's type. `display` is its readable form."""

    value: Any
    display: str = ""


@dataclass(frozen=True, slots=True)
class ResultFill:
    """A part of another task's result: `path` is dotted, for example "airports.0.icao". Implies a dependency."""

    task: str
    path: str


@dataclass(frozen=True, slots=True)
class ArtifactFill:
    """The current version of an artifact: made by another task (`task`) or known from memory (`artifact_id`)."""

    task: str = ""
    artifact_id: str = ""


Fill = TextFill | ValueFill | ResultFill | ArtifactFill


@dataclass(frozen=True, slots=True)
class TaskDraft:
    """One call of a tool, as proposed; `name` is unique in it: ResultFill, ArtifactFill and `after` use it."""

    name: str
    tool: str
    fills: Mapping[str, Fill] = field(default_factory=dict)
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SlotPatch:
    """A correction of one slot of an existing task; dependent tasks are invalidated by the engine (requirement C8)."""

    task_id: str
    slot: str
    fill: Fill


class ReplyVerdict(StrEnum):
    """What a text turned out to be (requirement C7)."""

    ANSWER = "answer"
    CORRECTION = "correction"
    NEW_REQUEST = "new_request"
    CANCEL = "cancel"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """The question that the text may answer."""

    task_id: str
    tool: str
    slot: str
    options: tuple[str, ...]  # display names


@dataclass(frozen=True, slots=True)
class TaskSummary:
    """A task of the current plan. `fills` are readable forms of what its slots hold."""

    task_id: str
    tool: str
    state: str  # open, called, done, failed, skipped
    fills: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PlanningRequest:
    """One text to understand. Where `begins_interaction` is true there is nothing to reply to: propose NEW_REQUEST.

    `workspace` is the domain's view of the workspace (WorkspaceUse.prepare), None where it uses none.
    `permitted_tools` are those that the caller's roles permit, None where that is not known.
    """

    text: str
    locale: str
    now: datetime
    begins_interaction: bool
    memory: Memory
    open_question: OpenQuestion | None = None
    approval_open: bool = False
    tasks: tuple[TaskSummary, ...] = ()
    workspace: Any = None
    permitted_tools: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a planner understood.

    NEW_REQUEST: `tasks` in order, or `reply` where no tool is needed (a greeting, "I can do this and that").
    ANSWER: `answer_text` is the part of the text that answers the open question.
    CORRECTION: `patches` of existing tasks and new `tasks`, which run before the open ones.
    CANCEL, UNCLEAR: nothing else.
    """

    verdict: ReplyVerdict
    tasks: tuple[TaskDraft, ...] = ()
    patches: tuple[SlotPatch, ...] = ()
    reply: Text | None = None
    answer_text: str = ""


@dataclass(frozen=True, slots=True)
class RefusedInput:
    """An argument that a tool refused: it raised a ToolError with `correctable` and this slot (requirement G4).

    `arguments` are those of the refused call, as JSON values; `workspace` is as in PlanningRequest.
    """

    tool: str
    slot: str
    code: str
    explanation: Text
    arguments: Mapping[str, Any]
    locale: str
    memory: Memory
    workspace: Any = None


class Planner(Protocol):
    """Understands texts of one domain. Called outside any transaction, possibly in a thread; must not keep state."""

    def plan(self, request: PlanningRequest) -> Proposal:
        """Propose what to do about one text. Never raises for a text it does not understand."""
        ...

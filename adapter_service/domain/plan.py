"""The plan of one interaction: tasks with slots as immutable data, and pure operations on it.

The engine (application.decide) moves from plan to plan; storage keeps every version. Terminal task states: done,
failed, skipped. A change of one slot invalidates dependent tasks only (requirement C8).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from adapter_service.domain.artifact import ArtifactReference
from adapter_service.sdk import ArtifactFill, Fill, ResultFill, Text

MOST_DISPLAY_CHARACTERS = 200


class TaskState(StrEnum):
    """Open and called are active, the others terminal."""

    OPEN = "open"
    CALLED = "called"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"


class SlotState(StrEnum):
    """Open: not yet resolved. Resolved: `value` holds. Absent: skipped or optional and empty, the default applies."""

    OPEN = "open"
    RESOLVED = "resolved"
    ABSENT = "absent"


class Origin(StrEnum):
    """Why a task is in the plan."""

    REQUEST = "request"
    CORRECTION = "correction"
    VALIDATION = "validation"
    REVISION = "revision"


@dataclass(frozen=True, slots=True)
class TaskSlot:
    """One parameter of a task.

    `ask` demands a value although the signature does not (a finding names it). `attempts` counts texts without a
    meaning; `note` says why the question is asked (again). `source` says where the value comes from. `vanished`: what
    it meant is gone, so whatever its fill means now is asked for and never taken for granted (requirement C10).
    """

    name: str
    fill: Fill | None = None
    state: SlotState = SlotState.OPEN
    value: Any = None
    display: str = ""
    source: str = ""
    ask: bool = False
    attempts: int = 0
    note: Text | None = None
    vanished: bool = False

    def resolved(self, value: Any, display: str, source: str) -> TaskSlot:
        """The slot with its value."""
        shown = display[:MOST_DISPLAY_CHARACTERS]
        return replace(
            self, state=SlotState.RESOLVED, value=value, display=shown, source=source, note=None, vanished=False
        )

    def reopened(self) -> TaskSlot:
        """The slot as if its fill had just been given."""
        return replace(self, state=SlotState.OPEN, value=None, display="", source="")


@dataclass(frozen=True, slots=True)
class PendingWait:
    """What a task still waits for although its call has ended: until `due` by the Adapter's clock, or for a signal."""

    due: datetime
    signal: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """One call of a tool. `artifact` is the version that it made; `blocked` counts refused calls.

    `wait` is what a called task still waits for, `wake_up` what ended that: {signal, payload, limit_passed}.
    """

    task_id: str
    tool: str
    slots: Mapping[str, TaskSlot] = field(default_factory=dict)
    after: tuple[str, ...] = ()
    state: TaskState = TaskState.OPEN
    origin: Origin = Origin.REQUEST
    tool_call_id: str = ""
    artifact: ArtifactReference | None = None
    blocked: int = 0
    wait: PendingWait | None = None
    wake_up: Mapping[str, Any] | None = None

    @property
    def dependencies(self) -> frozenset[str]:
        """Tasks that must be done first: `after`, and those whose results or artifacts fill slots."""
        found = set(self.after)
        for slot in self.slots.values():
            if isinstance(slot.fill, ResultFill | ArtifactFill) and slot.fill.task:
                found.add(slot.fill.task)
        return frozenset(found)

    def serves(self, artifact_ids: Set[str]) -> bool:
        """Whether the engine inserted it to validate or revise one of these artifacts."""
        return self.origin in (Origin.VALIDATION, Origin.REVISION) and any(
            isinstance(slot.fill, ArtifactFill) and slot.fill.artifact_id in artifact_ids
            for slot in self.slots.values()
        )

    def with_slot(self, slot: TaskSlot) -> Task:
        """The task with one slot replaced or added."""
        return replace(self, slots={**self.slots, slot.name: slot})

    def reopened(self, *, slots: bool) -> Task:
        """Open again; with `slots`, those filled from other tasks are resolved anew."""
        fresh = {
            name: slot.reopened() if slots and isinstance(slot.fill, ResultFill | ArtifactFill) else slot
            for name, slot in self.slots.items()
        }
        return replace(self, state=TaskState.OPEN, tool_call_id="", artifact=None, slots=fresh, wait=None, wake_up=None)


@dataclass(frozen=True, slots=True)
class Question:
    """The open question. `candidates_of` is the decision whose closed list it offers, 0 if it offers none.

    `about_changes` is the question what to change in the artifact version of a task whose approval was refused.
    """

    task_id: str
    slot: str
    candidates_of: int = 0
    about_changes: bool = False
    rounds: int = 0


@dataclass(frozen=True, slots=True)
class RevisionOffer:
    """The one action offered after a failed validation (requirement B5)."""

    action_id: str
    task_id: str
    artifact_id: str
    version: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything the engine knows of an interaction. `calls` are issued and not yet observed.

    `approval_digest` is the digest of the open approval, "" if none. `principal` is who made the request.
    `awaited` is the task whose wait the last decision told, "" if none. `told` are the tasks whose results were told
    with a question already.
    """

    version: int = 0
    tasks: tuple[Task, ...] = ()
    question: Question | None = None
    approval_digest: str = ""
    approval_task: str = ""
    offer: RevisionOffer | None = None
    calls: tuple[str, ...] = ()
    reply: Text | None = None
    ended: bool = False
    revisions: int = 0
    principal: str = ""
    awaited: str = ""
    told: tuple[str, ...] = ()

    def task(self, task_id: str) -> Task:
        """A task by id. Raises KeyError."""
        for task in self.tasks:
            if task.task_id == task_id:
                return task
        raise KeyError(task_id)

    def find_task(self, task_id: str) -> Task | None:
        """A task by id, or None."""
        return next((task for task in self.tasks if task.task_id == task_id), None)

    def with_task(self, changed: Task) -> Plan:
        """The plan with one task replaced."""
        return replace(self, tasks=tuple(changed if t.task_id == changed.task_id else t for t in self.tasks))

    def with_new_tasks(self, new: Iterable[Task], *, before: str = "") -> Plan:
        """The plan with tasks inserted before a task, by default before the first open one."""
        index = next(
            (
                i
                for i, task in enumerate(self.tasks)
                if (task.task_id == before if before else task.state is TaskState.OPEN)
            ),
            len(self.tasks),
        )
        return replace(self, tasks=(*self.tasks[:index], *new, *self.tasks[index:]))

    def is_done(self, task_id: str) -> bool:
        """Whether a dependency is satisfied."""
        task = self.find_task(task_id)
        return task is not None and task.state is TaskState.DONE

    def is_ready(self, task: Task) -> bool:
        """Open, and everything it depends on is done."""
        return task.state is TaskState.OPEN and all(self.is_done(other) for other in task.dependencies)

    def first_ready(self) -> Task | None:
        """The first open task whose dependencies are done."""
        return next((task for task in self.tasks if self.is_ready(task)), None)

    def first_waiting(self) -> Task | None:
        """Of the tasks that wait for a time or a signal, the first in plan order."""
        return next((task for task in self.tasks if task.wait is not None), None)

    def dependents(self, task_id: str) -> frozenset[str]:
        """Every task that depends on this one, directly or through others."""
        found: set[str] = set()
        grown = True
        while grown:
            grown = False
            for task in self.tasks:
                if task.task_id not in found and task.dependencies & (found | {task_id}):
                    found.add(task.task_id)
                    grown = True
        return frozenset(found)

    def patched(self, task_id: str, slot: str, fill: Fill | None, *, attempts: int = 0) -> Plan:
        """One slot gets another fill; the task and its dependents are open again, nothing else changes (C8).

        What the engine had inserted for an artifact that will now be made anew is left out. Raises KeyError for an
        unknown task.
        """
        target = self.task(task_id)
        before = target.slots.get(slot, TaskSlot(slot))
        plan = self.with_task(
            target.with_slot(TaskSlot(slot, fill, ask=before.ask, attempts=attempts)).reopened(slots=False)
        )
        reopened = {task_id}
        for dependent in self.dependents(task_id):
            task = plan.task(dependent)
            if task.state is not TaskState.SKIPPED:
                plan = plan.with_task(task.reopened(slots=True))
                reopened.add(dependent)
        made = [self.task(name).artifact for name in reopened]
        abandoned = {artifact.artifact_id for artifact in made if artifact is not None and artifact.version == 1}
        return replace(
            plan,
            tasks=tuple(
                task
                for task in plan.tasks
                if task.task_id in reopened or not task.serves(abandoned) or self.dependents(task.task_id)
            ),
        )

    def taken_up(self, tool_call_id: str) -> Plan:
        """The plan of an ended interaction for one that goes on with it: the task of the call, and what else was called
        without an end, is open again; nothing waits. Raises KeyError where no task made the call.
        """
        if not any(task.tool_call_id == tool_call_id for task in self.tasks):
            raise KeyError(tool_call_id)
        tasks = tuple(
            replace(task.reopened(slots=False), blocked=0)
            if task.tool_call_id == tool_call_id or task.state is TaskState.CALLED
            else task
            for task in self.tasks
        )
        return replace(self.waiting_for_nothing(), version=0, tasks=tasks, calls=(), ended=False, revisions=0)

    def waiting_for_nothing(self) -> Plan:
        """The plan without an open question, approval or offer."""
        return replace(self, question=None, approval_digest="", approval_task="", offer=None)

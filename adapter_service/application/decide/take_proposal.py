"""Asks the domain's planner about a text and turns its proposal into tasks of the plan (requirement A7).

Called by `apply_observation`. A proposal is checked against the domain before anything of it enters the plan.
"""

from __future__ import annotations

from adapter_service.application.decide.turn import Turn
from adapter_service.domain import policy
from adapter_service.domain.plan import Origin, Plan, Task, TaskSlot, TaskState
from adapter_service.sdk import (
    ArtifactFill,
    Fill,
    OpenQuestion,
    PlanningRequest,
    Proposal,
    ResultFill,
    SlotPatch,
    TaskDraft,
    TaskSummary,
)

MOST_TASKS = 32


class ProposalInvalid(Exception):
    """The proposal names something the domain or the plan does not have. The text is for the log."""


def ask_planner(turn: Turn, text: str, *, begins: bool = False, approval_open: bool = False) -> Proposal:
    """What the planner understands of a text, given the open question and the plan."""
    question = None
    if turn.plan.question is not None and not turn.plan.question.about_changes:
        task = turn.plan.task(turn.plan.question.task_id)
        options = tuple(candidate.display_name for candidate in turn.situation.candidates)
        question = OpenQuestion(task.task_id, task.tool, turn.plan.question.slot, options)
    request = PlanningRequest(
        text=text,
        locale=turn.locale,
        now=turn.now,
        begins_interaction=begins,
        memory=turn.memory,
        open_question=question,
        approval_open=approval_open,
        tasks=tuple(_summary(task) for task in turn.plan.tasks),
        workspace=turn.workspace,
        permitted_tools=frozenset(
            tool.name for tool in turn.domain.tools if policy.role_permits(turn.command.principal.roles, tool)
        ),
    )
    return turn.domain.planner.plan(request)


def _summary(task: Task) -> TaskSummary:
    fills = {slot.name: slot.display for slot in task.slots.values() if slot.display}
    return TaskSummary(task.task_id, task.tool, task.state.value, fills)


def tasks_of(turn: Turn, drafts: tuple[TaskDraft, ...], origin: Origin) -> tuple[Task, ...]:
    """Tasks with ids of their own. Raises ProposalInvalid for unknown tools, parameters or tasks, and for cycles."""
    made = _tasks(turn, drafts, origin, _Names(turn, drafts))
    _refuse_cycles(Plan(tasks=(*turn.plan.tasks, *made)))
    return made


def corrected(turn: Turn, patches: tuple[SlotPatch, ...], drafts: tuple[TaskDraft, ...]) -> Plan:
    """The plan with corrected slots, and with new tasks before the open ones; a patch may use a new task's result.

    Raises ProposalInvalid for unknown tools, parameters or tasks, and for cycles.
    """
    names = _Names(turn, drafts)
    made = _tasks(turn, drafts, Origin.CORRECTION, names)
    plan = turn.plan
    for patch in patches:
        task = plan.find_task(patch.task_id)
        if task is None or patch.slot not in turn.tool_of(task).parameters:
            raise ProposalInvalid("a correction names a task or parameter that does not exist")
        plan = plan.patched(patch.task_id, patch.slot, _renamed(patch.fill, names))
    plan = plan.with_new_tasks(made)
    _refuse_cycles(plan)
    return plan


class _Names:
    """From the names that a proposal uses to task ids: new tasks by their names, those of the plan by their ids."""

    def __init__(self, turn: Turn, drafts: tuple[TaskDraft, ...]) -> None:
        self._new = {draft.name: turn.ids("tsk") for draft in drafts}
        self._known = {task.task_id for task in turn.plan.tasks}
        if len(self._new) != len(drafts):
            raise ProposalInvalid("two tasks have the same name")

    def __call__(self, name: str) -> str:
        if name in self._new:
            return self._new[name]
        if name in self._known:
            return name
        raise ProposalInvalid("a fill or order names a task that does not exist")


def _tasks(turn: Turn, drafts: tuple[TaskDraft, ...], origin: Origin, names: _Names) -> tuple[Task, ...]:
    if len(turn.plan.tasks) + len(drafts) > MOST_TASKS:
        raise ProposalInvalid(f"a plan has at most {MOST_TASKS} tasks")
    made = []
    for draft in drafts:
        if not turn.domain.has_tool(draft.tool):
            raise ProposalInvalid("a task names a tool that does not exist")
        tool = turn.domain.tool(draft.tool)
        slots: dict[str, TaskSlot] = {}
        for name, fill in draft.fills.items():
            if name not in tool.parameters:
                raise ProposalInvalid(f"tool {tool.name} has no parameter {name}")
            slots[name] = TaskSlot(name, _renamed(fill, names))
        after = tuple(names(other) for other in draft.after)
        made.append(Task(names(draft.name), draft.tool, slots, after, origin=origin))
    return tuple(made)


def _renamed(fill: Fill, task_id: _Names) -> Fill:
    match fill:
        case ResultFill(task, path):
            return ResultFill(task_id(task), path)
        case ArtifactFill(task, artifact_id) if task:
            return ArtifactFill(task_id(task), artifact_id)
        case _:
            return fill


def _refuse_cycles(plan: Plan) -> None:
    for task in plan.tasks:
        if task.state is TaskState.OPEN and task.task_id in plan.dependents(task.task_id):
            raise ProposalInvalid("tasks depend on each other in a circle")

"""What a changed workspace does to a plan that goes on (requirement C10). Called by `decide` after the observation.

Resolved identities are checked again: what vanished is asked for, never replaced silently. What was read of it is read
again before the plan goes on; drafts stay, as their base is compared before anything is changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from adapter_service.application.decide.turn import Turn
from adapter_service.domain import failure_texts as texts
from adapter_service.domain import policy
from adapter_service.domain.approval import ApprovalState
from adapter_service.domain.decision import Candidate
from adapter_service.domain.plan import SlotState, Task, TaskSlot, TaskState
from adapter_service.sdk import Effect, ResultFill, TextFill, Tool


def check_workspace(turn: Turn) -> None:
    """Reopen tasks and slots of `turn.plan` where the workspace is not the one that the plan was made in, or not the
    one that the calls saw which have just ended.
    """
    state = turn.workspace_state
    turn.workspace_checked = True
    if state is None:
        return
    outdated = _seen_otherwise(turn, state.sha256)
    moved = turn.situation.planned_in not in ("", state.sha256)
    if moved:
        outdated |= _read_before(turn)
    if not outdated and not moved:
        return
    if not any(task.state is TaskState.OPEN for task in turn.plan.tasks):
        return  # nothing goes on
    touched = _read_again(turn, outdated) | _reopen_vanished(turn)
    waiting = turn.plan.approval_task
    if waiting and (waiting in touched or any(waiting in turn.plan.dependents(task_id) for task_id in touched)):
        _end_approval(turn, waiting)


def still_there(turn: Turn, tool: Tool, slot: str, candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Those of a closed list that still name what they named."""
    return tuple(candidate for candidate in candidates if _holds(turn, tool, slot, candidate.value))


def _read_before(turn: Turn) -> set[str]:
    """Tasks whose reading of the workspace earlier decisions have used already."""
    done = {task.task_id for task in turn.situation.plan.tasks if task.state is TaskState.DONE}
    return {task.task_id for task in turn.plan.tasks if task.task_id in done and _reads_workspace(turn, task)}


def _seen_otherwise(turn: Turn, sha256: str) -> set[str]:
    """Tasks whose calls have just ended and saw another workspace: it changed between the call and this decision."""
    done = {task.task_id for task in turn.situation.plan.tasks if task.state is TaskState.DONE}
    return {
        task.task_id
        for task in turn.plan.tasks
        if task.task_id not in done
        and _reads_workspace(turn, task)
        and turn.situation.executions[task.tool_call_id].workspace_sha256 not in ("", sha256)
    }


def _read_again(turn: Turn, outdated: set[str]) -> set[str]:
    """Reopen these tasks, and what was to follow from them; the tasks' ids."""
    reopened = set(outdated)
    grown = bool(reopened)
    while grown:
        following = {
            task.task_id
            for task in turn.plan.tasks
            if task.task_id not in reopened and task.dependencies & reopened and _may_be_repeated(turn, task)
        }
        reopened |= following
        grown = bool(following)
    for task_id in reopened:
        turn.plan = turn.plan.with_task(turn.plan.task(task_id).reopened(slots=True))
    return reopened


def _reads_workspace(turn: Turn, task: Task) -> bool:
    return _may_be_repeated(turn, task) and task.state is TaskState.DONE and turn.tool_of(task).uses_workspace


def _may_be_repeated(turn: Turn, task: Task) -> bool:
    """Open tasks, and done ones without an effect: a draft stays and a change never happens again."""
    if task.state is TaskState.OPEN:
        return True
    return task.state is TaskState.DONE and task.wake_up is None and turn.tool_of(task).effect is Effect.READ


def _reopen_vanished(turn: Turn) -> set[str]:
    """Reopen slots of open tasks whose values name nothing any more; the tasks' ids."""
    touched: set[str] = set()
    for task in turn.plan.tasks:
        if task.state is not TaskState.OPEN:
            continue
        tool = turn.tool_of(task)
        for slot in task.slots.values():
            if slot.state is not SlotState.RESOLVED or isinstance(slot.fill, ResultFill):
                continue  # what comes of a result is read again with it
            if _holds(turn, tool, slot.name, slot.value):
                continue
            turn.plan = turn.plan.with_task(turn.plan.task(task.task_id).with_slot(_vanished(slot)))
            touched.add(task.task_id)
    return touched


def _vanished(slot: TaskSlot) -> TaskSlot:
    shown = slot.display or str(slot.value)
    words = slot.fill if isinstance(slot.fill, TextFill) else TextFill(shown)
    note = texts.filled(texts.VANISHED, text=texts.quote(shown))
    return replace(slot.reopened(), fill=words, ask=True, note=note, vanished=True)


def _holds(turn: Turn, tool: Tool, slot: str, value: object) -> bool:
    use, declared = turn.domain.workspace, tool.slots.get(slot)
    if use is None or declared is None or declared.resolver not in use.resolvers:
        return True
    return use.holds(declared.resolver, value, turn.workspace)


def _end_approval(turn: Turn, task_id: str) -> None:
    """What was to be approved is not what would be done now; where it was approved, that is a policy block (E3)."""
    approval = turn.approval
    if approval is not None and approval.state is ApprovalState.APPROVED:
        tool = turn.tool_of(turn.plan.task(task_id))
        turn.blocks.append(
            policy.block_of(policy.APPROVAL_STALE, tool.name, turn.locale, approval_id=approval.approval_id)
        )
    turn.end_approval(ApprovalState.STALE)

"""Takes the recorded outcomes of the previous decision's calls into the plan (requirements E3, E4, G4, F5).

Called by `apply_observation`. The ledger is the truth: an observation that says otherwise is a contradiction.
"""

from __future__ import annotations

from dataclasses import replace

from adapter_service.application.decide.resolve_slots import ask_again
from adapter_service.application.decide.turn import Turn
from adapter_service.domain import failure_texts as texts
from adapter_service.domain.decision import DecisionOutcome
from adapter_service.domain.errors import DecisionContradiction
from adapter_service.domain.failure import Stage
from adapter_service.domain.ledger import Execution, ExecutionState, Trouble
from adapter_service.domain.observation import ToolFinished
from adapter_service.domain.plan import PendingWait, SlotState, Task, TaskSlot, TaskState
from adapter_service.sdk import RefusedInput

MOST_CORRECTIONS = 1


def observe_calls(turn: Turn, observation: ToolFinished) -> DecisionOutcome | None:
    """Settle the called tasks. A call that cannot be mended ends the request. Otherwise the domain may propose another
    input where one was refused; for the first slot that is still open a person is asked, and every other task without a
    result is open again.
    """
    ended = [_ended(turn, call_id, observation) for call_id in turn.plan.calls]
    if len(observation.outcomes) != len(ended):
        raise DecisionContradiction(turn.command.decision_number, "the observation names other calls than were issued")
    turn.plan = replace(turn.plan, calls=())
    mendable: list[tuple[Task, Trouble]] = []
    final: list[tuple[Task, Execution]] = []
    for execution in ended:
        task = next(task for task in turn.plan.tasks if task.tool_call_id == execution.tool_call_id)
        trouble = execution.trouble
        if execution.state is ExecutionState.SUCCEEDED:
            made = turn.situation.made.get(execution.tool_call_id)
            task = replace(task, state=TaskState.DONE, artifact=made.reference if made is not None else None)
            task = _waiting(turn, task)
        elif execution.state is ExecutionState.BLOCKED:
            task = replace(task.reopened(slots=False), blocked=task.blocked + 1)
        elif _is_mendable(turn, task, execution) and trouble is not None:
            task = task.reopened(slots=False)
            mendable.append((task, trouble))
        else:
            task = replace(task, state=TaskState.FAILED)
            final.append((task, execution))
        turn.plan = turn.plan.with_task(task)
    if final:
        return _fail(turn, *final[0])
    left = [(task, trouble) for task, trouble in mendable if not _is_corrected(turn, task, trouble)]
    return _ask_for_other_input(turn, *left[0]) if left else None


def _waiting(turn: Turn, task: Task) -> Task:
    """The task, not yet done where its result says what it waits for."""
    tool = turn.tool_of(task)
    wanted = tool.waits(turn.result(task)) if tool.may_wait else None
    if wanted is None:
        return task
    return replace(task, state=TaskState.CALLED, wait=PendingWait(turn.now + wanted.length, wanted.signal))


def _ended(turn: Turn, call_id: str, observation: ToolFinished) -> Execution:
    execution = turn.situation.executions.get(call_id)
    if execution is None or execution.state is ExecutionState.CLAIMED:
        raise DecisionContradiction(turn.command.decision_number, f"call {call_id} has no recorded outcome")
    if observation.outcomes.get(call_id) != execution.state.value:
        raise DecisionContradiction(
            turn.command.decision_number, f"the recorded outcome of call {call_id} is {execution.state.value}"
        )
    return execution


def _is_mendable(turn: Turn, task: Task, execution: Execution) -> bool:
    trouble = execution.trouble
    return (
        execution.state is ExecutionState.FAILED
        and trouble is not None
        and trouble.correctable
        and trouble.slot in turn.tool_of(task).parameters
    )


def _is_corrected(turn: Turn, task: Task, trouble: Trouble) -> bool:
    """Whether the domain proposed another value for the refused slot; once, then a person is asked (requirement G4)."""
    slot = task.slots.get(trouble.slot, TaskSlot(trouble.slot))
    if turn.domain.correct is None or slot.attempts >= MOST_CORRECTIONS:
        return False
    refused = RefusedInput(
        tool=task.tool,
        slot=trouble.slot,
        code=trouble.code,
        explanation=trouble.explanation,
        arguments={name: each.value for name, each in task.slots.items() if each.state is SlotState.RESOLVED},
        locale=turn.locale,
        memory=turn.memory,
        workspace=turn.workspace,
    )
    fill = turn.domain.correct(refused)
    if fill is None:
        return False
    turn.plan = turn.plan.patched(task.task_id, trouble.slot, fill, attempts=slot.attempts + 1)
    return True


def _fail(turn: Turn, task: Task, execution: Execution) -> DecisionOutcome:
    explanation = texts.filled(texts.TOOL_FAILED, title=turn.tool_of(task).title)
    trouble = execution.trouble or Trouble("tool_failed", explanation)
    return turn.fail(
        Stage.TOOL,
        trouble.code,
        trouble.explanation,
        helpful_action=trouble.helpful_action,
        source_code=trouble.source_code or trouble.code,
        retryable=trouble.retryable,
        unknown=execution.state is ExecutionState.UNKNOWN,
    )


def _ask_for_other_input(turn: Turn, task: Task, trouble: Trouble) -> DecisionOutcome:
    """A tool refused one parameter: that slot alone is asked for again (requirement G4)."""
    slot = task.slots.get(trouble.slot, TaskSlot(trouble.slot))
    return ask_again(turn, task, turn.tool_of(task), slot, trouble.explanation, trouble.code)

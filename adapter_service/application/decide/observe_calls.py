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
from adapter_service.domain.plan import Task, TaskSlot, TaskState


def observe_calls(turn: Turn, observation: ToolFinished) -> DecisionOutcome | None:
    """Settle the called tasks; the first call without a result decides what happens next."""
    ended = [_ended(turn, call_id, observation) for call_id in turn.plan.calls]
    if len(observation.outcomes) != len(ended):
        raise DecisionContradiction(turn.command.decision_number, "the observation names other calls than were issued")
    turn.plan = replace(turn.plan, calls=())
    outcome: DecisionOutcome | None = None
    for execution in sorted(ended, key=lambda e: e.state is not ExecutionState.SUCCEEDED):
        task = next(task for task in turn.plan.tasks if task.tool_call_id == execution.tool_call_id)
        if execution.state is ExecutionState.SUCCEEDED:
            made = turn.situation.made.get(execution.tool_call_id)
            done = replace(task, state=TaskState.DONE, artifact=made.reference if made is not None else None)
            turn.plan = turn.plan.with_task(done)
        elif outcome is None:
            outcome = _without_result(turn, task, execution)
    return outcome


def _ended(turn: Turn, call_id: str, observation: ToolFinished) -> Execution:
    execution = turn.situation.executions.get(call_id)
    if execution is None or execution.state is ExecutionState.CLAIMED:
        raise DecisionContradiction(turn.command.decision_number, f"call {call_id} has no recorded outcome")
    if observation.outcomes.get(call_id) != execution.state.value:
        raise DecisionContradiction(
            turn.command.decision_number, f"the recorded outcome of call {call_id} is {execution.state.value}"
        )
    return execution


def _without_result(turn: Turn, task: Task, execution: Execution) -> DecisionOutcome | None:
    tool = turn.tool_of(task)
    if execution.state is ExecutionState.BLOCKED:
        turn.plan = turn.plan.with_task(replace(task.reopened(slots=False), blocked=task.blocked + 1))
        return None
    trouble = execution.trouble or Trouble("tool_failed", texts.filled(texts.TOOL_FAILED, title=tool.title))
    if execution.state is ExecutionState.FAILED and trouble.correctable and trouble.slot in tool.parameters:
        return _ask_for_other_input(turn, task, trouble)
    turn.plan = turn.plan.with_task(replace(task, state=TaskState.FAILED))
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
    task = task.reopened(slots=False)
    slot = task.slots.get(trouble.slot, TaskSlot(trouble.slot))
    turn.plan = turn.plan.with_task(task)
    return ask_again(turn, task, turn.tool_of(task), slot, trouble.explanation, trouble.code)

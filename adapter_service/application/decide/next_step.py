"""From a plan to the next step: ask, call, request an approval, or answer (requirement B1). No scenarios.

Called by `decide` after the observation was applied. The first open task whose dependencies are done goes first; READ
tasks that are ready before the first other task go together.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from adapter_service.application.decide.compose_answer import compose, tell_side_answers
from adapter_service.application.decide.prepare_input import PreparedInput, new_call, prepare_input
from adapter_service.application.decide.request_change import change_step
from adapter_service.application.decide.resolve_slots import resolve_task
from adapter_service.application.decide.turn import Turn
from adapter_service.domain import failure_texts as texts
from adapter_service.domain import policy
from adapter_service.domain.decision import Ask, Blocked, CallTools, DecisionOutcome, Fail, Wait
from adapter_service.domain.failure import Stage
from adapter_service.domain.ledger import ToolCall
from adapter_service.domain.plan import Task, TaskState
from adapter_service.sdk import Effect

MOST_INSERTIONS = 8
SHORTEST_WAIT = timedelta(milliseconds=1)


def next_step(turn: Turn) -> DecisionOutcome:
    """The outcome of the decision; changes `turn.plan` on the way."""
    turn.plan = replace(turn.plan, awaited="")
    for _ in range(MOST_INSERTIONS):
        task = turn.plan.first_ready()
        if task is None:
            break
        outcome = _step(turn, task)
        if outcome is not None:
            return tell_side_answers(turn, outcome) if isinstance(outcome, Ask) else outcome
    if turn.plan.first_ready() is None and (waiting := turn.plan.first_waiting()) is not None:
        return _wait(turn, waiting)
    if any(task.state is TaskState.OPEN for task in turn.plan.tasks):
        return turn.fail(
            Stage.PLANNING,
            "plan_invalid",
            texts.PLAN_INVALID,
            helpful_action=texts.PLAN_INVALID_HELP,
            source_code="no_task_is_ready",
        )
    return compose(turn)


def _wait(turn: Turn, task: Task) -> DecisionOutcome:
    """What is left of the task's wait by this clock; where that is nothing, the Loop still looks into its mailbox."""
    assert task.wait is not None  # the caller found it so
    turn.plan = replace(turn.plan, awaited=task.task_id)
    left = max(task.wait.due - turn.now, SHORTEST_WAIT)
    return Wait(signal=task.wait.signal, limit=left) if task.wait.signal else Wait(until=left)


def _step(turn: Turn, task: Task) -> DecisionOutcome | None:
    tool = turn.tool_of(task)
    if not policy.role_permits(turn.command.principal.roles, tool):
        return Blocked(policy.block_of(policy.ROLE_PERMITS, tool.name, turn.locale))
    stopped = resolve_task(turn, task.task_id)
    if stopped is not None:
        return stopped
    task = turn.plan.task(task.task_id)
    if tool.effect.needs_approval:
        return change_step(turn, task)
    first = _issue(turn, task)
    if isinstance(first, Fail):
        return first
    calls = [first]
    if tool.effect is Effect.READ:
        calls += _other_reads(turn)
    turn.plan = replace(turn.plan, calls=tuple(call.tool_call_id for call in calls))
    return CallTools(tuple(calls))


def _issue(turn: Turn, task: Task) -> ToolCall | Fail:
    prepared = prepare_input(turn, task)
    if not isinstance(prepared, PreparedInput):
        return prepared
    call = new_call(turn, task, prepared)
    turn.calls.append(call)
    turn.plan = turn.plan.with_task(replace(task, state=TaskState.CALLED, tool_call_id=call.tool_call_id))
    return call


def _other_reads(turn: Turn) -> list[ToolCall]:
    """Calls of further READ tasks that are ready without a question, up to the first open task of another effect and to
    the limit of what runs in parallel; the others wait for the next step.
    """
    calls: list[ToolCall] = []
    for candidate in turn.plan.tasks:
        if candidate.state is not TaskState.OPEN:
            continue
        tool = turn.tool_of(candidate)
        if tool.effect is not Effect.READ or len(calls) + 1 >= turn.parallel_reads:
            break
        if not turn.plan.is_ready(candidate) or not policy.role_permits(turn.command.principal.roles, tool):
            continue
        before = turn.plan, turn.candidates
        stopped = resolve_task(turn, candidate.task_id)
        issued = _issue(turn, turn.plan.task(candidate.task_id)) if stopped is None else stopped
        if isinstance(issued, ToolCall):
            calls.append(issued)
        else:  # its question or failure comes when it is its turn
            turn.plan, turn.candidates = before
    return calls

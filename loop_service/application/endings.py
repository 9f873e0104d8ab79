"""What every step shares: loading its rows under the fence, going on to the next step, and ending a run that cannot
go on. Called by the steps of advance.
"""

from __future__ import annotations

from datetime import timedelta

from loop_service.application.act_on import fail, stop_at_limit
from loop_service.application.environment import Environment
from loop_service.application.lifecycle import wait_to_settle
from loop_service.application.outcomes import record_lost
from loop_service.application.ports import RunContext
from loop_service.application.steps import Step, claim, next_step
from loop_service.application.store_ports import Transaction
from loop_service.application.work import Work
from loop_service.domain.budget import LimitReached, check_progress
from loop_service.domain.decision import Outcome
from loop_service.domain.errors import LeaseLost
from loop_service.domain.failures import Stage
from loop_service.domain.run import RunState


def load(tx: Transaction, env: Environment, context: RunContext) -> Work:
    """The rows of a step, compared with the lease it was made under. Raises LeaseLost: then write nothing (fence).

    The epoch may have risen by adopt_fence, which only the owner does.
    """
    conversation = tx.conversations.find(context.conversation_id)
    interaction = tx.interactions.find(context.interaction_id)
    run = tx.runs.find(context.run_id)
    if conversation is None or interaction is None or run is None:
        raise LeaseLost(context.interaction_id)
    if (
        interaction.owner != context.owner
        or interaction.epoch < context.epoch
        or interaction.active_run_id != context.run_id
        or run.state is not RunState.RUNNING
        or run.attempts != context.attempt
    ):
        raise LeaseLost(context.interaction_id)
    if context.span_traceparent:
        run.traceparent = context.span_traceparent
    return Work(tx, env, conversation, interaction, run, env.clock.now())


def continue_with(work: Work, owner: str) -> Step | None:
    """Store the work and say what is next: a step of this run, of a successor's run, or nothing."""
    step: Step | None = None
    if work.run.state is RunState.RUNNING:
        check_limits(work)
        step = next_step(work)
    elif work.run.state is RunState.QUEUED:
        step = claim(work, owner, work.now + work.env.timings.lease)
    work.save()
    return step


def check_limits(work: Work) -> None:
    """Before a further decision is asked for: each limit ends with its own code, the limit named (B4)."""
    interaction = work.interaction
    if interaction.stop is None and interaction.observation_number > interaction.decision_number:
        limit = check_progress(work.env.budget, interaction)
        if limit is not None:
            stop_at_limit(work, limit)


def spend(work: Work, stage: Stage, seconds: float) -> None:
    """Count working time on the interaction and the run."""
    work.interaction.active_time += timedelta(seconds=seconds)
    work.run.usage.spend(stage.value, seconds)


def end_out_of_time(
    tx: Transaction, env: Environment, context: RunContext, seconds: float, away: bool, source_code: str
) -> Step | None:
    """The active time is used up: adapter_unavailable where the Adapter is away, storage_unavailable where it can store
    nothing, else deadline_exceeded.

    Never an ending while a dispatched change lacks its outcome: then the stop is recorded and carried out first.
    """
    work = load(tx, env, context)
    spend(work, Stage.ADAPTER if away else Stage.DEADLINE, seconds)
    calls = tx.steps.calls_of(context.interaction_id)
    unavailable = "storage_unavailable" if source_code == "STORAGE_UNAVAILABLE" else "adapter_unavailable"
    if away and not any(call.holds_back_an_ending for call in calls):
        for call in calls:
            record_lost(work, call, Outcome.UNKNOWN)
        fail(work, unavailable, source_code=source_code)
    else:
        code = unavailable if away else "deadline_exceeded"
        stop_at_limit(work, LimitReached(code, f"{env.budget.active_time.total_seconds():g}"))
    return continue_with(work, context.owner)


def end_diverged(tx: Transaction, env: Environment, context: RunContext, source_code: str) -> Step | None:
    """diverged_ends: a contradiction ends the interaction, every dispatched call is unknown, for a person to settle."""
    work = load(tx, env, context)
    open_calls = [c for c in tx.steps.calls_of(context.interaction_id) if c.outcome is None]
    for call in open_calls:
        record_lost(work, call, Outcome.UNKNOWN if call.dispatch_number else Outcome.BLOCKED)
    unknown = any(call.outcome is Outcome.UNKNOWN for call in open_calls)
    work.conversation.note_divergence()
    fail(work, "session_diverged", unknown=unknown, source_code=source_code)
    return continue_with(work, context.owner)


def end_failed(tx: Transaction, env: Environment, context: RunContext, code: str, source_code: str) -> Step | None:
    """The Adapter or this process failed for good; calls that may have begun hold the ending back."""
    work = load(tx, env, context)
    calls = tx.steps.calls_of(context.interaction_id)
    if any(call.holds_back_an_ending for call in calls):
        if work.interaction.stop is None:
            stop_at_limit(work, LimitReached(code, ""))
        else:
            # The stop itself was refused: asking at once again would go round in a circle, so a timer asks.
            wait_to_settle(work)
    else:
        for call in calls:
            record_lost(work, call, Outcome.UNKNOWN)
        fail(work, code, source_code=source_code)
    return continue_with(work, context.owner)

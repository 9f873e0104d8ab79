"""The steps of the cycle as values, and which one is next: computed from stored rows alone, so that a crash at any
point is healed by computing it again. Called in the same transaction that stores what came before.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from loop_service.application.environment import Environment
from loop_service.application.ports import DecideInput, RunContext, Transaction
from loop_service.application.work import Work
from loop_service.domain.conversation import Message
from loop_service.domain.decision import CallRecord
from loop_service.domain.interaction import Interaction, Stop
from loop_service.domain.observation import StoredObservation
from loop_service.domain.run import Run, RunState

RECENT_MESSAGES = 8
RECENT_CHARACTERS = 4000
_WITH_MESSAGES = frozenset({"user_message", "clarification_reply", "clarification_answer"})


@dataclass(frozen=True, slots=True)
class OpenSession:
    context: RunContext


@dataclass(frozen=True, slots=True)
class Decide:
    context: RunContext
    asked: DecideInput


@dataclass(frozen=True, slots=True)
class Execute:
    """Calls whose dispatch number is committed and whose outcome is not yet known."""

    context: RunContext
    calls: tuple[CallRecord, ...]


@dataclass(frozen=True, slots=True)
class StopInteraction:
    context: RunContext
    stop: Stop
    calls: tuple[CallRecord, ...]


@dataclass(frozen=True, slots=True)
class Diverge:
    """The rows leave nothing to do: a contradiction, which ends the interaction as session_diverged."""

    context: RunContext


Step: TypeAlias = OpenSession | Decide | Execute | StopInteraction | Diverge


def claim(work: Work, owner: str, until: datetime) -> Step:
    """Take the lease of the interaction for the work's run and say what is to be done."""
    run = work.run
    work.interaction.take_lease(owner, until)
    run.state = RunState.RUNNING
    run.attempts += 1
    run.start_time = run.start_time or work.now
    return next_step(work)


def next_step(work: Work) -> Step:
    """The next step of the work's run. Dispatch numbers of calls to send are raised here, before the commit."""
    tx, interaction = work.tx, work.interaction
    context = context_of(work.env, interaction, work.run)
    if interaction.stop is not None:
        calls = tx.steps.calls_of(interaction.interaction_id) if interaction.tool_actions else []
        return StopInteraction(context, interaction.stop, tuple(calls))
    if not interaction.domain_session_id:
        return OpenSession(context)
    if interaction.observation_number > interaction.decision_number:
        observation = tx.steps.find_observation(interaction.interaction_id, interaction.observation_number)
        return Diverge(context) if observation is None else Decide(context, _decide_input(tx, interaction, observation))
    waiting = [c for c in tx.steps.calls_of(interaction.interaction_id) if c.outcome is None]
    if not waiting:
        return Diverge(context)
    for call in waiting:
        call.dispatch_number += 1
        tx.steps.put_call(call)
    return Execute(context, tuple(waiting))


def context_of(env: Environment, interaction: Interaction, run: Run) -> RunContext:
    return RunContext(
        conversation_id=interaction.conversation_id,
        interaction_id=interaction.interaction_id,
        run_id=run.run_id,
        request_id=run.request_id,
        owner=interaction.owner,
        epoch=interaction.epoch,
        domain=interaction.domain,
        domain_session_id=interaction.domain_session_id,
        history_id=interaction.history_id,
        requester=interaction.requester,
        traceparent=run.traceparent,
        link_traceparent=run.link_traceparent,
        seconds_left=env.budget.time_left(interaction).total_seconds(),
        tool_actions_left=max(env.budget.tool_actions - interaction.tool_actions, 0),
        generations_left=max(env.budget.generations - interaction.generations, 0),
        attempt=run.attempts,
        span_traceparent="",
    )


def _decide_input(tx: Transaction, interaction: Interaction, observation: StoredObservation) -> DecideInput:
    message = tx.messages.find(observation.message_id) if observation.message_id else None
    recent: tuple[Message, ...] = ()
    if observation.kind in _WITH_MESSAGES:
        recent = _window(tx.messages.recent(interaction.conversation_id, RECENT_MESSAGES))
    return DecideInput(
        observation,
        recent,
        message.facts if message is not None else (),
        message.workspace_snapshot_id if message is not None else "",
        interaction.supersedes if observation.number == 1 else "",
    )


def _window(messages: list[Message]) -> tuple[Message, ...]:
    """The newest messages that fit into RECENT_CHARACTERS, oldest first; at least the newest (H2)."""
    kept: list[Message] = []
    left = RECENT_CHARACTERS
    for message in reversed(messages):
        left -= len(message.text)
        if kept and left < 0:
            break
        kept.append(message)
    return tuple(reversed(kept))

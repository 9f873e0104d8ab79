"""The steps of the cycle as values, and which one is next: computed from stored rows alone, so that a crash at any
point is healed by computing it again. Called in the same transaction that stores what came before.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from loop_service.application.ports import ActionOffer, DecideInput, RunContext, UnclearReply
from loop_service.application.store_ports import Transaction
from loop_service.application.work import Work
from loop_service.domain.conversation import Divergence, Message, Role
from loop_service.domain.decision import Ask, CallRecord, Choose, Decision
from loop_service.domain.interaction import Interaction, InteractionState, Stop
from loop_service.domain.observation import StoredObservation
from loop_service.domain.run import RunState

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


JudgedState: TypeAlias = tuple[InteractionState, int, int, str]


@dataclass(frozen=True, slots=True)
class JudgeReply:
    """A reply that no rule could classify, and the state that a verdict on it is made for (verdict_cas)."""

    context: RunContext
    reply: UnclearReply
    message_id: str
    judged_state: JudgedState
    asks_model: bool

    @staticmethod
    def state_of(interaction: Interaction) -> JudgedState:
        """What a verdict is compared by: state, the decision that found the reply unclear, number, open approval."""
        return interaction.state, interaction.unclear_number, interaction.decision_number, interaction.approval_id


@dataclass(frozen=True, slots=True)
class PickAction:
    """A stored decision that offers several actions, of which none is chosen yet."""

    context: RunContext
    offer: ActionOffer
    decision_number: int
    asks_model: bool


@dataclass(frozen=True, slots=True)
class Diverge:
    """A contradiction without asking, which ends the interaction as session_diverged: the rows leave nothing to do, or
    an operator ended the conversation."""

    context: RunContext
    source_code: str = "NOTHING_TO_DO"


Step: TypeAlias = OpenSession | Decide | Execute | StopInteraction | JudgeReply | PickAction | Diverge


def claim(work: Work, owner: str, until: datetime) -> Step:
    """Take the lease of the interaction for the work's run and say what is to be done."""
    run = work.run
    work.interaction.take_lease(owner, until)
    run.state = RunState.RUNNING
    run.attempts += 1
    run.start_time = run.start_time or work.now
    return next_step(work)


def next_step(work: Work) -> Step:
    """The next step of the work's run. Dispatch numbers of calls to send and generations are counted here, before the
    commit: what is sent and then lost in a crash is counted too."""
    tx, interaction = work.tx, work.interaction
    context = context_of(work)
    if interaction.stop is not None:
        calls = tx.steps.calls_of(interaction.interaction_id) if interaction.tool_actions else []
        return StopInteraction(context, interaction.stop, tuple(calls))
    if work.conversation.divergence is Divergence.ENDED:
        return Diverge(context, "CONVERSATION_ENDED")
    if not interaction.domain_session_id or work.conversation.loop_history_id != work.env.history_id:
        # This database was put back since the conversation was last known to be whole: the session tells whether it is.
        return OpenSession(context)
    if interaction.unclear_number:
        return _judge_reply(work, context)
    if interaction.observation_number > interaction.decision_number:
        observation = tx.steps.find_observation(interaction.interaction_id, interaction.observation_number)
        return Diverge(context) if observation is None else Decide(context, _decide_input(tx, interaction, observation))
    waiting = [c for c in tx.steps.calls_of(interaction.interaction_id) if c.outcome is None]
    if not waiting:
        return _pick_action(work, context)
    for call in waiting:
        call.dispatch_number += 1
        tx.steps.put_call(call)
    return Execute(context, tuple(waiting))


def _judge_reply(work: Work, context: RunContext) -> Step:
    """The reply that the newest decision found unclear, with the question of the decision before it."""
    tx, interaction = work.tx, work.interaction
    observation = tx.steps.find_observation(interaction.interaction_id, interaction.unclear_number)
    message = tx.messages.find(observation.message_id) if observation is not None else None
    if message is None:
        return Diverge(context)
    before = tx.steps.find_decision(interaction.interaction_id, interaction.unclear_number - 1)
    outcome = work.env.codec.decode_decision(before).outcome if before is not None else None
    asked, options = (outcome.question, outcome.options) if isinstance(outcome, Ask) else ("", ())
    names = tuple(option.display_name for option in options)
    reply = UnclearReply(message.text, asked, names, message.locale)
    asks_model = _count_generation(work, context, work.env.judges_replies)
    return JudgeReply(context, reply, message.message_id, JudgeReply.state_of(interaction), asks_model)


def _pick_action(work: Work, context: RunContext) -> Step:
    """The choice that the newest decision left open; its offer is built from that decision and the user's own words."""
    found = offered_choice(work)
    if found is None:
        return Diverge(context)
    decision, choose = found
    recent = _window(work.tx.messages.recent(context.conversation_id, RECENT_MESSAGES))
    texts = tuple(message.text for message in recent if message.role is Role.USER)
    asks_model = _count_generation(work, context, work.env.picks_actions)
    return PickAction(context, ActionOffer(choose.actions, texts), decision.number, asks_model)


def offered_choice(work: Work) -> tuple[Decision, Choose] | None:
    """The newest decision with its choice, where that is what the interaction stands at."""
    interaction = work.interaction
    if interaction.observation_number != interaction.decision_number:
        return None
    data = work.tx.steps.find_decision(interaction.interaction_id, interaction.decision_number)
    decision = work.env.codec.decode_decision(data) if data is not None else None
    if decision is None or not isinstance(decision.outcome, Choose):
        return None
    return decision, decision.outcome


def _count_generation(work: Work, context: RunContext, configured: bool) -> bool:
    """Whether the model is to be asked: one is there, and the budget has a generation left, which is taken now."""
    if not configured or context.generations_left <= 0:
        return False
    work.interaction.generations += 1
    work.run.usage.generations += 1
    return True


def context_of(work: Work) -> RunContext:
    env, interaction, run = work.env, work.interaction, work.run
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
        known_session_revision=work.conversation.session_revision,
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

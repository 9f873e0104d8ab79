"""How interactions and runs begin and end, inside a unit of work; called by the use cases and by advance."""

from __future__ import annotations

from datetime import datetime, timedelta

from loop_service.application.environment import Environment
from loop_service.application.store_ports import Timer, Transaction
from loop_service.application.work import Work
from loop_service.domain.approval import ApprovalStatus
from loop_service.domain.audit import SYSTEM, AuditKind
from loop_service.domain.clarification import ClarificationStatus
from loop_service.domain.conversation import Conversation, Divergence, Message
from loop_service.domain.deletion import Deletion
from loop_service.domain.events import (
    NAMES,
    ApprovalResolved,
    Payload,
    RunStarted,
    Superseded,
    Waiting,
)
from loop_service.domain.failures import TEXTS
from loop_service.domain.interaction import Interaction, InteractionState, Requester, Stop, StopKind
from loop_service.domain.observation import Retry, UserMessage
from loop_service.domain.run import Run, RunState
from loop_service.domain.transitions import BEGIN, RESUME, SUPERSEDE, WAIT, Transition

_MOST_DOUBLINGS = 16


def new_interaction(
    env: Environment, conversation: Conversation, message: Message, requester: Requester, now: datetime
) -> Interaction:
    """An interaction rooted in `message`; the session of the conversation, if known, is already on it."""
    interaction = Interaction(
        interaction_id=env.ids.new("int"),
        conversation_id=conversation.conversation_id,
        domain=conversation.domain,
        requester=requester,
        root_message_id=message.message_id,
        create_time=now,
        update_time=now,
        domain_session_id=conversation.domain_session_id,
        history_id=conversation.history_id,
        supersedes=conversation.unclosed_interaction_id,
    )
    conversation.active_interaction_id = interaction.interaction_id
    conversation.unclosed_interaction_id = ""
    return interaction


def begin_with_message(
    tx: Transaction,
    env: Environment,
    conversation: Conversation,
    message: Message,
    requester: Requester,
    now: datetime,
    *,
    request_id: str,
    traceparent: str,
) -> Work:
    """Open an interaction with a run of its own; `message` is its root and its first observation."""
    interaction = new_interaction(env, conversation, message, requester, now)
    work = Work(tx, env, conversation, interaction, None, now)
    start_run(work, request_id=request_id, traceparent=traceparent, message_id=message.message_id)
    work.move(BEGIN)
    consume_root(work, message)
    return work


def begin_retry(work: Work, successor: Interaction, tool_call_id: str, *, request_id: str, traceparent: str) -> None:
    """Open `successor`, made by `new_interaction`, with a run that takes up the plan of the ended interaction."""
    ended = work.interaction
    work.use_interaction(successor)
    start_run(work, request_id=request_id, traceparent=traceparent, message_id=successor.root_message_id)
    work.move(BEGIN)
    work.observe(Retry(ended.interaction_id, tool_call_id), kind="retry")


def consume_root(work: Work, message: Message) -> None:
    message.interaction_id = work.interaction.interaction_id
    message.run_id = work.run.run_id
    work.observe(
        UserMessage(message.message_id, message.text, begins_interaction=True),
        kind="user_message",
        message_id=message.message_id,
    )


def start_run(
    work: Work, *, request_id: str, traceparent: str = "", message_id: str = "", approval_id: str = ""
) -> None:
    """Queue a run of the interaction; it is linked to the run that waited, if one did."""
    interaction = work.interaction
    run = Run(
        run_id=work.env.ids.new("run"),
        conversation_id=work.conversation.conversation_id,
        interaction_id=interaction.interaction_id,
        request_id=request_id,
        create_time=work.now,
        message_id=message_id,
        approval_id=approval_id,
        resumed_run_id=interaction.last_run_id,
        traceparent=traceparent,
    )
    if interaction.last_run_id:
        waited = work.tx.runs.find(interaction.last_run_id)
        run.link_traceparent = waited.traceparent if waited is not None else ""
    interaction.active_run_id = run.run_id
    work.use_run(run)
    work.emit(RunStarted(message_id, approval_id, run.resumed_run_id, work.env.history_id))


def is_checking_expiry(work: Work) -> bool:
    """Whether the Adapter was asked if the open approval has expired, and has not answered (adapter_clock)."""
    interaction = work.interaction
    if not interaction.approval_id or interaction.observation_number <= interaction.decision_number:
        return False
    asked = work.tx.steps.find_observation(interaction.interaction_id, interaction.observation_number)
    return asked is not None and asked.kind == "approval_expired"


def resume(work: Work) -> None:
    """Back to work after a wait."""
    if work.interaction.state is not InteractionState.PREPARING:
        work.move(RESUME)


def end_run(work: Work, ending: Payload) -> None:
    """The one ending event of the run; the lease is given back and nothing of the run stays in memory."""
    run, interaction = work.run, work.interaction
    work.emit(ending)
    run.ending = NAMES[type(ending)]
    run.state = RunState.ENDED
    run.end_time = work.now
    interaction.last_run_id = run.run_id
    interaction.active_run_id = ""
    interaction.drop_lease()


def finish(work: Work, transition: Transition, ending: Payload, *, code: str = "", told: bool = True) -> None:
    """End the interaction and its run; what is queued opens the successor with a run of its own (drain_first).

    `told` is False where the Adapter was not told: the next first decision closes this interaction there.
    """
    interaction = work.interaction
    close_open_parts(work)
    _withdraw_approved(work)
    work.move(transition)
    run = work.run
    run.note_code(code)
    by = interaction.stop.requested_by if interaction.stop is not None else SYSTEM
    work.audit(AuditKind.INTERACTION_ENDED, actor=by, code=code, state=interaction.state.value)
    end_run(work, ending)
    work.conversation.active_interaction_id = ""
    if interaction.decision_number == 0 and interaction.supersedes:
        # Its first decision was to close another one and never came: the successor's does.
        work.conversation.unclosed_interaction_id = interaction.supersedes
    elif not told:
        work.conversation.unclosed_interaction_id = interaction.interaction_id
    if work.conversation.divergence is Divergence.REOPENING:
        work.conversation.reopen(work.env.history_id)
    _open_successor(work)


def _open_successor(work: Work) -> None:
    old = work.interaction
    queued = work.tx.steps.inbox(old.interaction_id)
    if not queued:
        return
    first = take_from_inbox(work, queued[0])
    interaction = new_interaction(work.env, work.conversation, first, requester_of(old, first), work.now)
    work.use_interaction(interaction)
    start_run(work, request_id=first.request_id, message_id=first.message_id)
    work.move(BEGIN)
    consume_root(work, first)
    work.tx.messages.assign(first.message_id, interaction.interaction_id, work.run.run_id)
    if work.conversation.deletion is not Deletion.NONE:
        # Nothing new begins in what is being deleted: the message was accepted before, and is answered by the stop.
        reason = TEXTS["reason_deleted"].of(first.locale)
        interaction.stop = Stop(StopKind.CANCEL, "", reason, work.conversation.deleted_by)
    _move_inbox(work, old, queued[1:])


def requester_of(interaction: Interaction, message: Message) -> Requester:
    """Who stands behind `message`: only the conversation's principal writes in it, with the roles of that very call."""
    return Requester(interaction.requester.principal, interaction.requester.tenant, message.roles, message.locale)


def _move_inbox(work: Work, old: Interaction, message_ids: list[str]) -> None:
    for message_id in message_ids:
        message = take_from_inbox(work, message_id, of=old)
        work.tx.steps.push_inbox(work.interaction.interaction_id, message_id, message.position)
        work.tx.messages.assign(message_id, work.interaction.interaction_id, "")


def take_from_inbox(work: Work, message_id: str, *, of: Interaction | None = None) -> Message:
    work.tx.steps.remove_from_inbox((of or work.interaction).interaction_id, message_id)
    message = work.tx.messages.find(message_id)
    if message is None:
        raise RuntimeError("a queued message has no row")
    return message


def close_open_parts(work: Work) -> None:
    """Withdraw what was still open, and the timers: the input that moves the interaction closes its question."""
    interaction = work.interaction
    if interaction.clarification_id:
        clarification = work.tx.clarifications.find(interaction.clarification_id)
        if clarification is not None and clarification.status is ClarificationStatus.OPEN:
            clarification.close(ClarificationStatus.WITHDRAWN, work.now)
            work.tx.clarifications.put(clarification)
        interaction.clarification_id = ""
    if interaction.approval_id or interaction.wait_until is not None or interaction.settle_attempts:
        work.tx.timers.clear(interaction.interaction_id)
    close_approval(work, ApprovalStatus.WITHDRAWN)
    if interaction.kept_signals:
        work.tx.signals.clear(interaction.interaction_id)
        interaction.kept_signals = 0
    interaction.wait_until = None
    interaction.wait_signal = ""


def close_approval(work: Work, status: ApprovalStatus, *, by: str = "", digest: str = "") -> None:
    """Close the open approval, if there is one, with its event and audit row."""
    interaction = work.interaction
    if not interaction.approval_id:
        return
    approval = work.tx.approvals.find(interaction.approval_id)
    interaction.approval_id = ""
    work.tx.timers.remove(interaction.interaction_id, "approval_expiry")
    if approval is None or approval.status is not ApprovalStatus.OPEN:
        return
    approval.close(status, by, work.now)
    if work.has_run and by:
        approval.run_id = work.run.run_id
    work.tx.approvals.put(approval)
    work.emit(ApprovalResolved(approval.approval_id, status.value, by))
    work.audit(
        AuditKind.APPROVAL_RESOLVED,
        actor=by or SYSTEM,
        digest=digest or approval.digest,
        code=status.value,
        approval_id=approval.approval_id,
    )


def _withdraw_approved(work: Work) -> None:
    """No execution comes of an approved approval any more, unless a call under it is unknown: a person settles that."""
    approval = work.tx.approvals.find(work.interaction.approved_id) if work.interaction.approved_id else None
    work.interaction.approved_id = ""
    if approval is not None and approval.status is ApprovalStatus.APPROVED and not approval.tool_call_id:
        approval.conclude(ApprovalStatus.WITHDRAWN)
        work.tx.approvals.put(approval)


def supersede(work: Work, message: Message) -> None:
    """The message is an independent request: end the interaction and move the same run on to its successor.

    The successor's first decision closes the old one at the Adapter (supersede_in_decide).
    """
    old = work.interaction
    steps = work.confirmed_steps()
    close_open_parts(work)
    _withdraw_approved(work)
    queued = work.tx.steps.inbox(old.interaction_id)
    interaction = new_interaction(work.env, work.conversation, message, requester_of(old, message), work.now)
    interaction.supersedes = old.interaction_id
    old.superseded_by = interaction.interaction_id
    work.move(SUPERSEDE)
    reason = TEXTS["reason_superseded"].of(message.locale)
    work.emit(Superseded(reason, interaction.interaction_id, steps), outside_run=True)
    work.audit(
        AuditKind.INTERACTION_ENDED,
        actor=old.requester.principal,
        code="superseded",
        by_interaction_id=interaction.interaction_id,
    )
    interaction.owner, interaction.lease_until = old.owner, old.lease_until
    interaction.epoch = 1
    old.active_run_id = ""
    old.drop_lease()
    work.use_interaction(interaction)
    interaction.active_run_id = work.run.run_id
    work.run.interaction_id = interaction.interaction_id
    work.move(BEGIN)
    consume_root(work, message)
    work.tx.messages.assign(message.message_id, interaction.interaction_id, work.run.run_id)
    _move_inbox(work, old, queued)


def wait_to_settle(work: Work) -> None:
    """No ending while a dispatched change lacks its outcome: the run ends `waiting`, a timer asks again.

    The stop is decided, so nothing of the interaction stays open to be answered meanwhile.
    """
    interaction, timings = work.interaction, work.env.timings
    close_open_parts(work)
    doubled = timings.settle_first_seconds * 2 ** min(interaction.settle_attempts, _MOST_DOUBLINGS)
    delay = min(doubled, timings.settle_most_seconds)
    interaction.settle_attempts += 1
    due = work.now + timedelta(seconds=delay)
    work.tx.timers.put(Timer(interaction.interaction_id, "settle", due))
    if interaction.state is not InteractionState.WAITING:
        work.move(WAIT)
    interaction.wait_until = due
    end_run(work, Waiting(until=due))

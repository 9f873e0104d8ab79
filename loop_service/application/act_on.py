"""Acting on a stored decision: what each of the eight outcomes does, inside the transaction that stores it (B1).

Called by take_decision. Nothing is sent from here; calls to execute are picked up as the next step.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from handrail_rpc.digest import sha256_hex
from loop_service.application.choose_action import Chosen, choose_action
from loop_service.application.lifecycle import (
    close_approval,
    end_run,
    finish,
    requester_of,
    take_from_inbox,
)
from loop_service.application.store_ports import Timer
from loop_service.application.work import Work
from loop_service.domain.approval import Approval, ApprovalStatus
from loop_service.domain.audit import SYSTEM, AuditKind
from loop_service.domain.budget import LimitReached, check_clarifications, check_tool_actions
from loop_service.domain.clarification import Clarification
from loop_service.domain.decision import (
    Ask,
    BlockedByPolicy,
    CallRecord,
    CallTool,
    Choose,
    Complete,
    Decision,
    Effect,
    Fail,
    PolicyBlock,
    RequestApproval,
    Wait,
)
from loop_service.domain.events import (
    Blocked,
    ClarificationRequired,
    Completed,
    ContentDelta,
    DecisionMade,
    Failed,
    ToolStarted,
    Waiting,
)
from loop_service.domain.failures import CATALOGUE, Failure, Progress, Stage
from loop_service.domain.interaction import Stop, StopKind
from loop_service.domain.observation import ActionChoice, UserMessage, WakeUp
from loop_service.domain.signal import MOST_SIGNAL_CHARACTERS
from loop_service.domain.times import from_micros
from loop_service.domain.transitions import (
    ASK,
    BLOCK,
    CALL_TOOL,
    COMPLETE,
    FAIL,
    GENERATE,
    REQUEST_APPROVAL,
    WAIT,
)

DELTA_CHARACTERS = 400
MOST_WAIT = timedelta(days=366)


def announce(work: Work, decision: Decision, chosen: Chosen | None = None) -> None:
    """The decision_made event and those of its blocks; a choice is `chosen`, or made here, by rule or default."""
    if chosen is None and isinstance(decision.outcome, Choose):
        chosen = choose_action(decision.outcome)
    chosen = chosen or Chosen("", "")
    work.emit(
        DecisionMade(
            decision.number,
            decision.decision_id,
            decision.kind,
            chosen.action_id,
            chosen.chosen_by,
            decision.summary,
            chosen.model_code,
        )
    )
    for block in decision.blocks:
        work.block(block)


def act_on(work: Work, decision: Decision, chosen: Chosen | None = None, *, model_code: str = "") -> None:
    """Carry out the outcome of an announced decision. A decision that cannot be carried out fails as plan_invalid.

    `chosen` is what the model picked; `model_code` says why nothing could be taken of what it said.
    """
    outcome = decision.outcome
    work.interaction.standing_decision = 0
    match outcome:
        case Choose():
            _choose(work, outcome, chosen, model_code)
        case CallTool():
            _call_tools(work, decision, outcome)
        case Ask():
            if not drain(work, decision.number):
                _ask(work, decision, outcome)
        case RequestApproval():
            if not drain(work, decision.number):
                _request_approval(work, decision, outcome)
        case Wait():
            if not drain(work, decision.number):
                _wait(work, outcome)
        case Complete():
            _complete(work, outcome)
        case Fail():
            failure = work.env.codec.complete_failure(outcome.failure, work.run.request_id, work.confirmed_steps())
            work.interaction.failure = failure
            finish(work, FAIL, Failed(failure), code=outcome.code)
        case BlockedByPolicy():
            _end_blocked(work, outcome)
        case None:
            fail(work, "plan_invalid")


def fail(
    work: Work, code: str, *, told: bool = False, unknown: bool = False, source_code: str = "", **values: str
) -> None:
    """End as failed with a failure of the catalogue; the limit reached is among `values`."""
    failure = work.failure(code, unknown=unknown, source_code=source_code, **values)
    work.interaction.failure = failure
    finish(work, FAIL, Failed(failure), code=code, told=told)


def stop_at_limit(work: Work, limit: LimitReached) -> None:
    """A budget is used up: the Adapter is told first, so that nothing begins any more; then the run fails with it."""
    work.interaction.stop = Stop(StopKind.LIMIT, limit.code, limit.limit, SYSTEM)


def _choose(work: Work, outcome: Choose, chosen: Chosen | None, model_code: str) -> None:
    chosen = chosen or choose_action(outcome)
    if chosen is not None:
        work.observe(ActionChoice(chosen.action_id, chosen.intent), kind="action_choice")
    elif model_code:
        # Without a default the model's own fault is what stops the cycle.
        fail(work, model_code, part="choose.actions", limit=str(work.env.budget.generations))
    else:
        fail(work, "plan_invalid")


def _call_tools(work: Work, decision: Decision, outcome: CallTool) -> None:
    calls, interaction = outcome.calls, work.interaction
    if not calls or (len(calls) > 1 and any(call.effect is not Effect.READ for call in calls)):
        fail(work, "plan_invalid")
        return
    known = {call.tool_call_id for call in work.tx.steps.calls_of(interaction.interaction_id)}
    if len(known | {call.tool_call_id for call in calls}) != len(known) + len(calls):
        # A repeated id would replace a recorded outcome.
        fail(work, "plan_invalid")
        return
    limit = check_tool_actions(work.env.budget, interaction, len(calls))
    if limit is not None:
        stop_at_limit(work, limit)
        return
    interaction.tool_actions += len(calls)
    work.run.usage.tool_actions += len(calls)
    work.move(CALL_TOOL)
    for position, call in enumerate(calls):
        work.tx.steps.put_call(
            CallRecord(
                call.tool_call_id,
                interaction.interaction_id,
                decision.number,
                position,
                call.tool,
                call.effect,
                call.idempotent,
                call.approval_id,
                call.summary,
            )
        )
        work.emit(ToolStarted(call.tool_call_id, call.tool))
        work.audit(
            AuditKind.TOOL_CALLED,
            digest=call.input_sha256,
            tool=call.tool,
            tool_call_id=call.tool_call_id,
            approval_id=call.approval_id,
        )


def drain(work: Work, standing_decision: int) -> bool:
    """Something is queued: it is the next observation, and the question or wait is not shown (drain_first).

    `standing_decision` is the number of the decision that is held back; it is acted on if the input proves unclear.
    """
    queued = work.tx.steps.inbox(work.interaction.interaction_id)
    if not queued:
        return False
    work.interaction.standing_decision = standing_decision
    message = take_from_inbox(work, queued[0])
    work.interaction.requester = requester_of(work.interaction, message)
    work.tx.messages.assign(message.message_id, work.interaction.interaction_id, work.run.run_id)
    work.observe(
        UserMessage(message.message_id, message.text, work.interaction.approval_id),
        kind="user_message",
        message_id=message.message_id,
    )
    return True


def _ask(work: Work, decision: Decision, outcome: Ask) -> None:
    interaction = work.interaction
    limit = check_clarifications(work.env.budget, interaction)
    if limit is not None:
        stop_at_limit(work, limit)
        return
    interaction.clarification_rounds += 1
    clarification = Clarification(
        clarification_id=work.env.ids.new("clr"),
        interaction_id=interaction.interaction_id,
        conversation_id=interaction.conversation_id,
        task_id=outcome.task_id,
        slot=outcome.slot,
        type=outcome.type,
        prompt=outcome.prompt,
        options=outcome.options,
        required=outcome.required,
        plan_version=decision.plan_version,
        decision_number=decision.number,
        question_message_id=work.say(outcome.question),
        create_time=work.now,
        tenant=work.conversation.tenant,
        principal=work.conversation.principal,
        domain=interaction.domain,
    )
    work.tx.clarifications.put(clarification)
    interaction.clarification_id = clarification.clarification_id
    work.move(ASK)
    work.audit(
        AuditKind.QUESTION_ASKED,
        digest=sha256_hex(clarification.prompt),
        clarification_id=clarification.clarification_id,
    )
    end_run(
        work,
        ClarificationRequired(clarification.clarification_id, decision.plan_version, outcome.prompt),
    )


def _request_approval(work: Work, decision: Decision, outcome: RequestApproval) -> None:
    """Open the approval, or announce the open one again where its digest is the same: one is open at a time."""
    interaction = work.interaction
    if interaction.approval_id:
        current = work.tx.approvals.find(interaction.approval_id)
        if current is not None and current.digest == outcome.digest:
            announce_again(work, current)
            return
    # What is approved must also be executable: an approval is requested only while an action is left for its call.
    limit = check_tool_actions(work.env.budget, interaction, 1)
    if limit is not None:
        stop_at_limit(work, limit)
        return
    previous = work.tx.approvals.newest_of(interaction.interaction_id)
    approval = Approval(
        approval_id=work.env.ids.new("apr"),
        interaction_id=interaction.interaction_id,
        conversation_id=interaction.conversation_id,
        tenant=work.conversation.tenant,
        requester=interaction.requester.principal,
        snapshot=outcome.snapshot,
        digest=outcome.digest,
        title=outcome.title,
        input_preview=outcome.input_preview,
        change_ref=outcome.change_ref,
        required_role=outcome.required_role,
        requester_may_approve=outcome.requester_may_approve,
        tool=outcome.tool,
        decision_number=decision.number,
        create_time=work.now,
        expire_time=from_micros(outcome.expire_micros) if outcome.expire_micros else None,
        domain=interaction.domain,
    )
    if previous is not None:
        if previous.status is ApprovalStatus.APPROVED:
            # The Adapter asks anew instead of calling: what was approved no longer holds, or came too late.
            expired = any(block.code == "approval_expired" for block in decision.blocks)
            previous.conclude(ApprovalStatus.EXPIRED if expired else ApprovalStatus.STALE)
        if previous.is_replaced_by_the_next:
            previous.superseded_by = approval.approval_id
        work.tx.approvals.put(previous)
    interaction.approved_id = ""
    work.tx.approvals.put(approval)
    interaction.approval_id = approval.approval_id
    work.move(REQUEST_APPROVAL)
    work.audit(AuditKind.APPROVAL_REQUESTED, digest=approval.digest, approval_id=approval.approval_id)
    if approval.expire_time is not None:
        work.tx.timers.put(
            Timer(interaction.interaction_id, "approval_expiry", approval.expire_time, approval.approval_id)
        )
    end_run(work, approval.required_event())


def announce_again(work: Work, approval: Approval, due: datetime | None = None) -> None:
    """End the run with the approval that is still open; its timer is set anew where it had fired, to `due` if given."""
    work.move(REQUEST_APPROVAL)
    if approval.expire_time is not None:
        due = due or max(approval.expire_time, work.now + work.env.timings.expiry_recheck)
        work.tx.timers.put(Timer(work.interaction.interaction_id, "approval_expiry", due, approval.approval_id))
    end_run(work, approval.required_event())


def _wait(work: Work, outcome: Wait) -> None:
    interaction = work.interaction
    kind, length = ("wait", outcome.until) if outcome.until is not None else ("wait_limit", outcome.limit)
    if length is None or not timedelta(0) < length <= MOST_WAIT or len(outcome.signal) > MOST_SIGNAL_CHARACTERS:
        # Every wait for a signal has a limit; one without any, or beyond every calendar, could never end.
        fail(work, "plan_invalid")
        return
    interaction.wait_signal = outcome.signal
    interaction.wait_until = work.now + length
    work.tx.timers.put(Timer(interaction.interaction_id, kind, interaction.wait_until))
    wait_again(work)


def wait_again(work: Work) -> None:
    """Go to sleep, unless the signal is in the mailbox already: looking and sleeping are one transaction (mailbox)."""
    interaction = work.interaction
    signal = interaction.wait_signal
    kept = work.tx.signals.take(interaction.interaction_id, signal) if signal and interaction.kept_signals else None
    if kept is not None:
        interaction.kept_signals -= 1
        clear_wait(work)
        work.observe(WakeUp(kept.name, payload=kept.payload), kind="wake_up")
        return
    work.move(WAIT)
    if signal:
        end_run(work, Waiting(signal=signal, limit_time=interaction.wait_until))
    else:
        end_run(work, Waiting(until=interaction.wait_until))


def _complete(work: Work, outcome: Complete) -> None:
    work.move(GENERATE)
    for part in split_text(outcome.text, DELTA_CHARACTERS):
        work.emit(ContentDelta(part))
    message_id = work.say(outcome.text)
    finish(work, COMPLETE, Completed(message_id, outcome.answer))


def _end_blocked(work: Work, outcome: BlockedByPolicy) -> None:
    block = outcome.block
    work.block(block)
    steps = work.confirmed_steps()
    failure = work.env.codec.encode_failure(
        Failure(
            Stage.POLICY,
            block.code,
            block.explanation,
            _help_against(block, work.locale),
            False,
            work.run.request_id,
            Progress.PARTIAL if steps else Progress.NOT_EXECUTED,
            steps,
        )
    )
    work.interaction.failure = failure
    finish(work, BLOCK, Blocked(failure), code=block.code)


def _help_against(block: PolicyBlock, locale: str) -> str:
    """What to do about a block: the catalogue's advice, or what would lift it by the words of the Adapter."""
    known = CATALOGUE.get(block.code)
    return (known.helpful_action.localized(locale) if known is not None else "") or block.lifted_by


def clear_wait(work: Work) -> None:
    """The wait is over: its timers and times go."""
    interaction = work.interaction
    if interaction.wait_until is None and not interaction.wait_signal:
        return
    interaction.wait_until = None
    interaction.wait_signal = ""
    for kind in ("wait", "wait_limit"):
        work.tx.timers.remove(interaction.interaction_id, kind)


def close_stale_approval(work: Work, decision: Decision, status: ApprovalStatus) -> None:
    """A decision that goes on in another way closes the open approval, unless it asks for exactly the same one."""
    if not work.interaction.approval_id:
        return
    outcome = decision.outcome
    if isinstance(outcome, RequestApproval):
        current = work.tx.approvals.find(work.interaction.approval_id)
        if current is not None and current.digest == outcome.digest:
            return
    close_approval(work, status)


def split_text(text: str, most: int) -> Iterator[str]:
    """Parts of at most `most` characters, cut after white space where there is some; joined they are `text`."""
    start = 0
    while start < len(text):
        end = min(start + most, len(text))
        if end < len(text):
            space = text.rfind(" ", start + 1, end)
            end = space + 1 if space > start else end
        yield text[start:end]
        start = end

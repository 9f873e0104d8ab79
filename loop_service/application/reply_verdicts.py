"""What follows where a reply is no answer (C7): the Loop alone supersedes, cancels or goes on.

The verdict is the Adapter's (take_decision), or the model's on what the Adapter could not tell (judge_reply). Called
within the transaction that stores it.
"""

from __future__ import annotations

from loop_service.application.act_on import act_on, announce_again, drain, fail, wait_again
from loop_service.application.lifecycle import supersede
from loop_service.application.work import Work
from loop_service.domain.conversation import Message
from loop_service.domain.decision import Decision, ReplyVerdict
from loop_service.domain.failures import TEXTS
from loop_service.domain.interaction import Stop, StopKind
from loop_service.domain.observation import StoredObservation


def apply_verdict(work: Work, observation: StoredObservation, decision: Decision) -> None:
    """Act on a decision that only classifies a reply; it must carry no action then.

    The message that began the interaction is no reply: a successor of it would be superseded in turn, for ever.
    """
    message = work.tx.messages.find(observation.message_id) if observation.message_id else None
    if decision.outcome is not None or message is None or message.message_id == work.interaction.root_message_id:
        fail(work, "plan_invalid")
    elif decision.reply_verdict is ReplyVerdict.UNCLEAR and work.env.judges_replies:
        # The next step asks the model; the decision's number says what its verdict is about (verdict_cas).
        work.interaction.unclear_number = decision.number
    else:
        apply_no_answer(work, observation, message, decision.reply_verdict)


def apply_no_answer(work: Work, observation: StoredObservation, message: Message, verdict: ReplyVerdict) -> None:
    """NEW_REQUEST supersedes, CANCEL stops; everything else is treated as an answer and resolved again."""
    match verdict:
        case ReplyVerdict.NEW_REQUEST:
            supersede(work, message)
        case ReplyVerdict.CANCEL:
            work.interaction.stop = Stop(
                StopKind.CANCEL,
                "",
                TEXTS["reason_canceled"].of(message.locale),
                work.interaction.requester.principal,
            )
        case _:
            _apply_unclear(work, observation)


def _apply_unclear(work: Work, observation: StoredObservation) -> None:
    """Treated as an answer and resolved again (C7); where nothing was asked, what stood before stands again."""
    interaction = work.interaction
    if observation.kind == "clarification_reply":
        work.observe_bytes(
            work.env.codec.with_answer_verdict(observation.data),
            kind="clarification_answer",
            message_id=observation.message_id,
        )
        return
    if drain(work, interaction.standing_decision):
        return
    if interaction.approval_id:
        approval = work.tx.approvals.find(interaction.approval_id)
        if approval is not None:
            announce_again(work, approval)
            return
    if interaction.standing_decision:
        data = work.tx.steps.find_decision(interaction.interaction_id, interaction.standing_decision)
        if data is not None:
            act_on(work, work.env.codec.decode_decision(data))
            return
    if interaction.wait_until is not None:
        wait_again(work)
        return
    fail(work, "plan_invalid")

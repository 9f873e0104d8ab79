"""Stores a message, links it to what it replies to and queues the run, all in one transaction (request_in_tx).

The stream that follows is stream_events' work. Called by the servicer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from handrail_rpc.errors import InvalidArgument, NotFound, ResourceExhausted
from loop_service.application.accept import (
    QUEUE_RETRY,
    Accepted,
    Acceptor,
    CallInfo,
    admit,
    check_open,
    claim_if,
    find_replay,
    first_sequence,
    visible_conversation,
)
from loop_service.application.classify_reply import classify_by_structure, is_stop_command
from loop_service.application.environment import Environment
from loop_service.application.lifecycle import begin_with_message, is_checking_expiry, resume, start_run
from loop_service.application.stopping import request_stop
from loop_service.application.store_ports import Timer, Transaction
from loop_service.application.work import Work
from loop_service.domain.approval import Verdict
from loop_service.domain.audit import AuditKind
from loop_service.domain.clarification import Clarification, ClarificationStatus
from loop_service.domain.conversation import MOST_QUEUED_MESSAGES, AcceptedRequest, Conversation, Message, Role
from loop_service.domain.errors import WrongState
from loop_service.domain.events import MessageAccepted
from loop_service.domain.failures import TEXTS
from loop_service.domain.interaction import Interaction, InteractionState, StopKind
from loop_service.domain.observation import ClarificationReply, ReplyResponse, UserMessage
from loop_service.domain.run import Run, RunState

METHOD = "SendMessage"


@dataclass(frozen=True, slots=True)
class Reply:
    """What a message says it replies to; empty ids: not said."""

    interaction_id: str
    clarification_id: str
    response: ReplyResponse


@dataclass(frozen=True, slots=True)
class NewMessage:
    """Checked in shape and normalised. `facts` are bytes of Fact."""

    request_id: str
    body_sha256: str
    conversation_id: str
    text: str
    reply: Reply | None
    workspace_snapshot_id: str
    facts: tuple[bytes, ...]


class SendMessage:
    def __init__(self, acceptor: Acceptor, env: Environment) -> None:
        self._acceptor = acceptor
        self._env = env

    async def execute(self, request: NewMessage, call: CallInfo) -> AcceptedRequest:
        """Returns once the message is durable.

        Raises NotFound, RequestIdReused, InvalidArgument (response the question does not admit), WrongState (what
        the reply addresses is no longer open) and ResourceExhausted (QUEUE_FULL); then nothing is stored.
        """
        return await self._acceptor.accept(
            lambda tx, now, owner: self._accept(tx, now, owner, request, call), name="send_message.accept"
        )

    def _accept(self, tx: Transaction, now: datetime, owner: str, request: NewMessage, call: CallInfo) -> Accepted:
        conversation = visible_conversation(tx, request.conversation_id, call.caller)
        scope = call.scope(METHOD, request.request_id)
        known = find_replay(tx, scope, request.body_sha256)
        if known is not None:
            return Accepted(known)
        check_open(conversation)
        interaction = _active(tx, conversation)
        clarification = _addressed(tx, conversation, interaction, request)
        conversation.message_count += 1
        message = Message(
            message_id=self._env.ids.new("msg"),
            conversation_id=conversation.conversation_id,
            position=conversation.message_count,
            role=Role.USER,
            text=request.text or _display(request, clarification, call.caller.locale),
            interaction_id=interaction.interaction_id if interaction else "",
            create_time=now,
            request_id=request.request_id,
            workspace_snapshot_id=request.workspace_snapshot_id,
            facts=request.facts,
            locale=call.caller.locale,
            roles=tuple(sorted(call.caller.roles)),
        )
        if interaction is None:
            admit(tx, self._env, owner)
            work = begin_with_message(
                tx,
                self._env,
                conversation,
                message,
                call.requester(),
                now,
                request_id=request.request_id,
                traceparent=call.traceparent,
            )
        else:
            work = self._continue(tx, now, owner, conversation, interaction, clarification, message, request, call)
        work.audit(
            AuditKind.MESSAGE_ACCEPTED,
            actor=call.caller.principal,
            digest=request.body_sha256,
            message_id=message.message_id,
        )
        tx.messages.insert(message)
        accepted = AcceptedRequest(
            scope,
            request.body_sha256,
            conversation.conversation_id,
            message.message_id,
            work.interaction.interaction_id,
            message.run_id,
        )
        tx.requests.insert(accepted, now)
        step = claim_if(work, owner) if work.has_run and _is_to_be_claimed(work.run) else None
        work.save()
        return Accepted(replace(accepted, first_sequence=first_sequence(work) if message.run_id else 0), step)

    def _continue(
        self,
        tx: Transaction,
        now: datetime,
        owner: str,
        conversation: Conversation,
        interaction: Interaction,
        clarification: Clarification | None,
        message: Message,
        request: NewMessage,
        call: CallInfo,
    ) -> Work:
        run = tx.runs.find(interaction.active_run_id) if interaction.active_run_id else None
        work = Work(tx, self._env, conversation, interaction, run, now)
        if clarification is None and is_stop_command(message.text):
            if run is not None:
                work.emit(MessageAccepted(message.message_id))
            request_stop(
                work,
                StopKind.CANCEL,
                by=call.caller.principal,
                reason=TEXTS["reason_canceled"].of(call.caller.locale),
                request_id=request.request_id,
                traceparent=call.traceparent,
                message_id=message.message_id,
            )
            message.run_id = work.run.run_id
            return work
        if run is not None:
            self._join(work, message)
            return work
        if interaction.stop is not None or interaction.settle_attempts:
            self._join(work, message)
            tx.timers.put(Timer(interaction.interaction_id, "settle", now))
            return work
        if is_checking_expiry(work):
            # The number is taken by a question that the Adapter has not answered: it is asked again at once.
            self._join(work, message)
            tx.timers.put(Timer(interaction.interaction_id, "approval_expiry", now, interaction.approval_id))
            return work
        admit(tx, self._env, owner)
        interaction.requester = call.requester()
        open_question = clarification or _open_question(tx, interaction)
        start_run(work, request_id=request.request_id, traceparent=call.traceparent, message_id=message.message_id)
        message.run_id = work.run.run_id
        if interaction.state is InteractionState.AWAITING_CLARIFICATION and open_question is not None:
            self._answer(work, open_question, message, request)
        else:
            resume(work)
            work.observe(
                UserMessage(message.message_id, message.text, interaction.approval_id),
                kind="user_message",
                message_id=message.message_id,
            )
        return work

    def _join(self, work: Work, message: Message) -> None:
        """The interaction is busy: the message is queued and consumed one a number (inbox).

        Raises ResourceExhausted where too many wait already; nothing is stored then.
        """
        if len(work.tx.steps.inbox(work.interaction.interaction_id)) >= MOST_QUEUED_MESSAGES:
            raise ResourceExhausted(
                f"{MOST_QUEUED_MESSAGES} messages wait in this conversation already, which is the limit; send it later",
                reason="QUEUE_FULL",
                retry_after=QUEUE_RETRY,
            )
        work.tx.steps.push_inbox(work.interaction.interaction_id, message.message_id, message.position)
        work.emit(MessageAccepted(message.message_id))

    def _answer(self, work: Work, clarification: Clarification, message: Message, request: NewMessage) -> None:
        response = request.reply.response if request.reply is not None else ReplyResponse()
        if not response.is_set:
            response = classify_by_structure(message.text, clarification)
        status = ClarificationStatus.SKIPPED if response.skip else ClarificationStatus.ANSWERED
        clarification.close(status, work.now, message.message_id)
        work.tx.clarifications.put(clarification)
        work.interaction.clarification_id = ""
        resume(work)
        work.audit(
            AuditKind.QUESTION_ANSWERED,
            actor=work.interaction.requester.principal,
            digest=request.body_sha256,
            code=status.value,
            clarification_id=clarification.clarification_id,
            message_id=message.message_id,
        )
        work.observe(
            ClarificationReply(
                clarification.clarification_id,
                message.message_id,
                message.text,
                clarification.task_id,
                clarification.slot,
                response,
            ),
            kind="clarification_reply",
            message_id=message.message_id,
        )


def _is_to_be_claimed(run: Run) -> bool:
    """A queued run, unless it was put back for a while."""
    return run.state is RunState.QUEUED and run.not_before is None


def _active(tx: Transaction, conversation: Conversation) -> Interaction | None:
    if not conversation.active_interaction_id:
        return None
    return tx.interactions.find(conversation.active_interaction_id)


def _open_question(tx: Transaction, interaction: Interaction) -> Clarification | None:
    return tx.clarifications.find(interaction.clarification_id) if interaction.clarification_id else None


def _addressed(
    tx: Transaction, conversation: Conversation, interaction: Interaction | None, request: NewMessage
) -> Clarification | None:
    """The open question that the reply names, checked against the stored candidate list (C5, C8)."""
    reply = request.reply
    if reply is None:
        return None
    if reply.interaction_id:
        named = tx.interactions.find(reply.interaction_id)
        if named is None or named.conversation_id != conversation.conversation_id:
            raise NotFound.of("interaction", reply.interaction_id)
        if interaction is None or named.interaction_id != interaction.interaction_id:
            raise WrongState(
                "INTERACTION_STATE",
                named.interaction_id,
                f"reply.interaction_id: interaction {named.interaction_id} is {named.state.value}",
                state=named.state.value,
            )
    if not reply.clarification_id:
        if reply.response.is_set:
            raise InvalidArgument.field("reply.clarification_id", "must be set where the reply has a response")
        return None
    question = tx.clarifications.find(reply.clarification_id)
    if question is None or question.conversation_id != conversation.conversation_id:
        raise NotFound.of("clarification", reply.clarification_id)
    if reply.interaction_id and question.interaction_id != reply.interaction_id:
        raise InvalidArgument.field("reply.clarification_id", f"does not belong to interaction {reply.interaction_id}")
    if question.status is not ClarificationStatus.OPEN or interaction is None:
        raise WrongState(
            "CLARIFICATION_CLOSED",
            question.clarification_id,
            f"reply.clarification_id: clarification {question.clarification_id} is {question.status.value}",
            state=question.status.value,
        )
    question.check_response(reply.response)
    return question


def _display(request: NewMessage, clarification: Clarification | None, locale: str) -> str:
    """The text of a click: the option's display name, or the button's (contract.md 'reply')."""
    if request.reply is None or clarification is None:
        raise InvalidArgument.field("text", "must not be empty unless the reply has a response")
    response = request.reply.response
    if response.selected_candidate_id is not None:
        option = clarification.option(response.selected_candidate_id)
        return option.display_name if option is not None else ""
    if response.skip:
        return TEXTS["reply_skip"].of(locale)
    if response.confirmed is not None:
        return TEXTS["reply_yes" if response.confirmed else "reply_no"].of(locale)
    verdicts = {
        Verdict.APPROVE: "reply_approve",
        Verdict.REJECT: "reply_reject",
        Verdict.REQUEST_CHANGES: "reply_request_changes",
    }
    if response.review_verdict is None:
        raise InvalidArgument.field("text", "must not be empty unless the reply has a response")
    return TEXTS[verdicts[response.review_verdict]].of(locale)

"""Messages of ListDivergedConversations and RecoverConversation. Called by the servicer."""

from __future__ import annotations

from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from loop_service.application.list_diverged import DivergedConversation
from loop_service.application.recover_conversation import Recovery
from loop_service.convert.names import STATE
from loop_service.convert.requests import Checks, body_sha256

_REOPEN = {pb.RECOVERY_END: False, pb.RECOVERY_REOPEN: True}


def recovery(request: pb.RecoverConversationRequest) -> Recovery:
    """What is to become of the conversation; unset never means either."""
    checks = Checks()
    request_id = checks.request_id(request.request_id)
    checks.identifier("conversation_id", request.conversation_id)
    if request.recovery not in _REOPEN:
        checks.wrong("recovery", "must be RECOVERY_END or RECOVERY_REOPEN")
    checks.finish()
    return Recovery(request_id, body_sha256(request), request.conversation_id, _REOPEN[request.recovery])


def described(row: DivergedConversation) -> pb.DivergedConversation:
    conversation, interaction = row.conversation, row.interaction
    shown = pb.DivergedConversation(
        conversation_id=conversation.conversation_id,
        domain=conversation.domain,
        principal=conversation.principal,
        history_id=conversation.history_id,
        executions=[
            pb.UnsettledExecution(
                tool_call_id=call.tool_call_id, tool=call.tool, summary=call.summary, approval_id=call.approval_id
            )
            for call in row.unsettled
        ],
    )
    shown.create_time.FromDatetime(conversation.create_time)
    if interaction is not None:
        shown.open_interaction_id = interaction.interaction_id
        shown.open_state = STATE.number(interaction.state.value)
    return shown

"""SettleExecution's messages to the use case's input and back. Called by the servicer."""

from __future__ import annotations

from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from loop_service.application.settle_execution import NewSettlement, Settled
from loop_service.convert import views
from loop_service.convert.names import SETTLEMENT, STATE
from loop_service.convert.requests import Checks, body_sha256
from loop_service.domain import conversation as limits
from loop_service.domain.settlement import Verdict


def new_settlement(request: pb.SettleExecutionRequest) -> NewSettlement:
    """Raises InvalidArgument naming every wrong field; a verdict that is not set is none."""
    checks = Checks()
    request_id = checks.request_id(request.request_id)
    checks.identifier("interaction_id", request.interaction_id)
    checks.identifier("tool_call_id", request.tool_call_id)
    name = SETTLEMENT.name(request.settlement)
    if name == "unspecified":
        checks.wrong("settlement", "must be SETTLEMENT_HAPPENED, SETTLEMENT_DID_NOT_HAPPEN or SETTLEMENT_TRY_AGAIN")
    comment = checks.text("comment", request.comment, limits.MOST_COMMENT_CHARACTERS)
    checks.finish()
    return NewSettlement(
        request_id,
        body_sha256(request),
        request.interaction_id,
        request.tool_call_id,
        Verdict(name),
        comment,
    )


def settled(result: Settled) -> pb.SettleExecutionResponse:
    """Somebody else than the conversation's principal learns the interaction's state, not what it is about."""
    response = pb.SettleExecutionResponse(
        successor_interaction_id=result.settlement.successor_interaction_id,
        run_id=result.settlement.run_id,
    )
    found = result.view.interaction
    if result.owned:
        response.interaction.CopyFrom(views.interaction(result.view))
    else:
        response.interaction.CopyFrom(
            pb.Interaction(interaction_id=found.interaction_id, state=STATE.number(found.state.value))
        )
    return response

"""What waits for a person: the filter of ListPending from its request, items and approvals to their messages.

Called by the servicer.
"""

from __future__ import annotations

from datetime import UTC

from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail_rpc.digest import sha256_hex
from loop_service.application.store_ports import PendingFilter, PendingRow
from loop_service.convert.events import approval_required, clarification_required, set_time
from loop_service.convert.names import APPROVAL_STATE, PENDING_KIND
from loop_service.convert.requests import Checks
from loop_service.convert.views import question
from loop_service.domain import conversation as limits
from loop_service.domain.approval import Approval, ApprovalStatus
from loop_service.domain.settlement import Settlement

KINDS = frozenset({"clarification", "approval", "execution"})


def pending_filter(request: pb.ListPendingRequest) -> PendingFilter:
    """Raises InvalidArgument naming every wrong field."""
    checks = Checks()
    for name in ("conversation_id", "interaction_id"):
        checks.identifier(name, getattr(request, name), required=False)
    for name in ("domain", "tool"):
        checks.text(name, getattr(request, name), limits.MOST_ID_CHARACTERS)
    if request.kind not in pb.PendingKind.values():
        checks.wrong(
            "kind",
            "must be PENDING_KIND_CLARIFICATION, PENDING_KIND_APPROVAL or PENDING_KIND_EXECUTION; unset: every kind",
        )
    before = None
    if request.HasField("created_before_time"):
        try:
            before = request.created_before_time.ToDatetime(UTC)
        except ValueError:
            checks.wrong("created_before_time", "must be within the years 1 to 9999")
    checks.finish()
    return PendingFilter(
        kinds=KINDS if request.kind == pb.PENDING_KIND_UNSPECIFIED else frozenset({PENDING_KIND.name(request.kind)}),
        conversation_id=request.conversation_id,
        interaction_id=request.interaction_id,
        domain=request.domain,
        tool=request.tool,
        requested_by_me=request.requested_by_me,
        created_before=before,
    )


def pending_scope(request: pb.ListPendingRequest) -> str:
    """What a page token of this list is bound to: every filter, and nothing of the page."""
    filters = pb.ListPendingRequest()
    filters.CopyFrom(request)
    filters.ClearField("page_size")
    filters.ClearField("page_token")
    return f"ListPending/{sha256_hex(filters.SerializeToString(deterministic=True))}"


def pending_item(row: PendingRow) -> pb.PendingItem:
    item = pb.PendingItem(
        conversation_id=row.conversation_id,
        interaction_id=row.interaction_id,
        domain=row.domain,
        requester=row.requester,
    )
    if row.clarification is not None:
        item.clarification.CopyFrom(clarification_required(question(row.clarification)))
    elif row.approval is not None:
        item.approval.CopyFrom(approval_required(row.approval.required_event()))
    elif row.settlement is not None:
        item.execution.CopyFrom(unsettled_execution(row.settlement))
    set_time(item.create_time, row.create_time)
    return item


def unsettled_execution(settlement: Settlement) -> pb.UnsettledExecution:
    return pb.UnsettledExecution(
        tool_call_id=settlement.tool_call_id,
        tool=settlement.tool,
        summary=settlement.summary,
        approval_id=settlement.approval_id,
    )


def approval(a: Approval) -> pb.Approval:
    """What is stored as open is pending to clients."""
    state = "pending" if a.status is ApprovalStatus.OPEN else a.status.value
    shown = pb.Approval(
        request=approval_required(a.required_event()),
        conversation_id=a.conversation_id,
        interaction_id=a.interaction_id,
        state=APPROVAL_STATE.number(state),
        requester=a.requester,
        resolved_by=a.resolved_by,
        superseded_by_approval_id=a.superseded_by,
        tool_call_id=a.tool_call_id,
    )
    set_time(shown.resolve_time, a.resolve_time)
    set_time(shown.create_time, a.create_time)
    return shown

"""Recording how a tool call ended: event, artifacts, audit row and confirmed step, once (G3, E6).

Called by execute_calls, stop_interaction and settle_execution inside their transactions.
"""

from __future__ import annotations

from dataclasses import replace

from loop_service.application.work import Work
from loop_service.domain.approval import Approval, ApprovalStatus
from loop_service.domain.audit import AuditKind
from loop_service.domain.decision import CHANGING, CallRecord, Outcome, ToolOutcome
from loop_service.domain.events import ToolFinished
from loop_service.domain.failures import make_failure
from loop_service.domain.permission import Gate
from loop_service.domain.settlement import Settlement

_TOLD_ANEW = frozenset({"tool_outcome_unknown", "settled_executed", "settled_not_executed", "session_diverged"})
"""Failures whose texts are made again when a call is settled; of others only progress and steps change."""


def record_outcome(work: Work, call: CallRecord, outcome: ToolOutcome) -> None:
    """Store the outcome of a call that has none; one that is recorded already stays as it is."""
    if call.outcome is not None:
        return
    call.outcome = outcome.outcome
    call.raw_outcome = outcome.raw
    if outcome.outcome is Outcome.SUCCEEDED:
        call.step = work.env.codec.confirmed_step(call, outcome)
    work.tx.steps.put_call(call)
    _after_outcome(work, call, expired=outcome.block is not None and outcome.block.code == "approval_expired")
    work.emit(ToolFinished(call.tool_call_id, call.tool, outcome.outcome.value, outcome.receipt, outcome.failure))
    for artifact in outcome.artifacts:
        work.emit(artifact)
    work.audit(
        AuditKind.TOOL_FINISHED,
        digest=outcome.result_sha256,
        code=outcome.outcome.value,
        tool=call.tool,
        tool_call_id=call.tool_call_id,
        failure_code=outcome.failure_code,
    )
    if outcome.block is not None:
        work.block(outcome.block)
    if outcome.failure_code:
        work.run.note_code(outcome.failure_code)


def record_lost(work: Work, call: CallRecord, outcome: Outcome) -> None:
    """A call without the Adapter's word on it: BLOCKED where it never began, UNKNOWN where nobody can tell."""
    if call.outcome is not None:
        return
    call.outcome = outcome
    work.tx.steps.put_call(call)
    _after_outcome(work, call)
    work.emit(ToolFinished(call.tool_call_id, call.tool, outcome.value))
    work.audit(AuditKind.TOOL_FINISHED, code=outcome.value, tool=call.tool, tool_call_id=call.tool_call_id)


def settle_call(work: Work, call: CallRecord, outcome: ToolOutcome | None, *, happened: bool) -> None:
    """Take a person's verdict on an unknown call: its outcome, its approval, the confirmed step and what the
    interaction says about itself (G3). `outcome` is the Adapter's word from now on, None where it has lost the call.
    """
    call.outcome = outcome.outcome if outcome is not None else Outcome.SUCCEEDED if happened else Outcome.FAILED
    if outcome is not None:
        call.raw_outcome = outcome.raw
    if happened:
        nothing_more = ToolOutcome(call.tool_call_id, call.tool, call.outcome, b"", "", "", b"", "", None, (), (), b"")
        call.step = work.env.codec.confirmed_step(call, outcome or nothing_more)
    work.tx.steps.put_call(call)
    approval = _approval_of(work, call)
    if approval is not None and approval.status is ApprovalStatus.APPROVED:
        approval.conclude(ApprovalStatus.EXECUTED if happened else ApprovalStatus.WITHDRAWN, call.tool_call_id)
        work.tx.approvals.put(approval)
    _tell_settled(work, call, happened=happened)


def _tell_settled(work: Work, call: CallRecord, *, happened: bool) -> None:
    """The stored failure of the interaction as it reads now; the event that told it stays as it was."""
    interaction, codec = work.interaction, work.env.codec
    if not interaction.failure:
        return
    told = codec.decode_failure(interaction.failure)
    unknown = work.unknown_changes()
    steps = work.confirmed_steps()
    code, tool = told.code, call.tool
    if code == "tool_outcome_unknown":
        code = code if unknown else "settled_executed" if happened else "settled_not_executed"
        tool = unknown[0].tool if unknown else tool
    now = make_failure(
        code if code in _TOLD_ANEW else "settled_executed",
        work.locale,
        told.request_id,
        steps,
        unknown=bool(unknown),
        source_code=told.source_code,
        tool=tool,
    )
    if code in _TOLD_ANEW:
        now = replace(now, helpful_action=work.with_settling(now.helpful_action))
    else:
        now = replace(told, progress=now.progress, confirmed_steps=steps)
    interaction.failure = codec.encode_failure(now)


def _after_outcome(work: Work, call: CallRecord, *, expired: bool = False) -> None:
    """What came of the approval, and the case for a person where nobody can tell."""
    approval = _approval_of(work, call)
    if call.outcome is Outcome.UNKNOWN and call.effect in CHANGING:
        _open_settlement(work, call, approval)
    if approval is None or approval.status is not ApprovalStatus.APPROVED:
        return
    if call.outcome is Outcome.UNKNOWN:
        approval.tool_call_id = call.tool_call_id
    else:
        blocked = ApprovalStatus.EXPIRED if expired else ApprovalStatus.STALE
        of_outcome = {Outcome.SUCCEEDED: ApprovalStatus.EXECUTED, Outcome.BLOCKED: blocked}
        status = of_outcome.get(call.outcome or Outcome.FAILED, ApprovalStatus.WITHDRAWN)
        approval.conclude(status, call.tool_call_id)
    work.interaction.approved_id = ""
    work.tx.approvals.put(approval)


def _approval_of(work: Work, call: CallRecord) -> Approval | None:
    """The approval that the Adapter names for the call; one of another interaction is none."""
    approval = work.tx.approvals.find(call.approval_id) if call.approval_id else None
    return approval if approval is not None and approval.interaction_id == call.interaction_id else None


def _open_settlement(work: Work, call: CallRecord, approval: Approval | None) -> None:
    conversation = work.conversation
    own = Gate(conversation.tenant, conversation.principal, "", requester_may_approve=True)
    work.tx.settlements.put(
        Settlement(
            settlement_id=work.env.ids.new("stl"),
            interaction_id=call.interaction_id,
            tool_call_id=call.tool_call_id,
            conversation_id=conversation.conversation_id,
            domain=work.interaction.domain,
            gate=approval.gate if approval is not None else own,
            tool=call.tool,
            summary=call.summary,
            approval_id=call.approval_id,
            create_time=work.now,
        )
    )

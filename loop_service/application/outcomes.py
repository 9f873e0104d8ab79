"""Recording how a tool call ended: event, artifacts, audit row and confirmed step, once (G3, E6).

Called by execute_calls and stop_interaction inside their transactions.
"""

from __future__ import annotations

from loop_service.application.work import Work
from loop_service.domain.audit import AuditKind
from loop_service.domain.decision import CallRecord, Outcome, ToolOutcome
from loop_service.domain.events import ToolFinished


def record_outcome(work: Work, call: CallRecord, outcome: ToolOutcome) -> None:
    """Store the outcome of a call that has none; one that is recorded already stays as it is."""
    if call.outcome is not None:
        return
    call.outcome = outcome.outcome
    call.raw_outcome = outcome.raw
    if outcome.outcome is Outcome.SUCCEEDED:
        call.step = work.env.codec.confirmed_step(call, outcome)
    work.tx.steps.put_call(call)
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
    work.emit(ToolFinished(call.tool_call_id, call.tool, outcome.value))
    work.audit(AuditKind.TOOL_FINISHED, code=outcome.value, tool=call.tool, tool_call_id=call.tool_call_id)

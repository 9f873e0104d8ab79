"""ExecuteTool and SettleExecution, by hand: the ledger first, then the comparison, then the tool."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail.common.v1 import failure_pb2, tool_pb2
from tests.conformance.minimal_decisions import hash_of
from tests.conformance.minimal_state import Refusal, Session, Store, check_fields, invalid

_IDS = ("request_id", "domain", "domain_session_id", "interaction_id", "history_id")


def execute(store: Store, request: pb2.ExecuteToolRequest) -> tuple[Session, tool_pb2.ToolOutcome]:
    """The recorded outcome, or the one that the call has now."""
    check_fields(request, ids=(*_IDS, "run_id", "tool_call_id"), least={"dispatch_number": 1, "lease_epoch": 0})
    session, interaction = store.access(request)
    call = interaction.calls.get(request.tool_call_id)
    if call is None:
        raise Refusal("NOT_FOUND", "TOOL_CALL_NOT_FOUND", "the call was not issued here")
    if call.tool_call_id not in store.outcomes:
        if interaction.closed:
            raise Refusal("FAILED_PRECONDITION", "INTERACTION_CLOSED", "the interaction is closed")
        given = interaction.inputs[call.tool_call_id]
        store.outcomes[call.tool_call_id] = _run(store, call, given, request.dispatch_number)
        session.revision += 1
    return session, store.outcomes[call.tool_call_id]


def _run(store: Store, call: tool_pb2.ToolCall, given: dict[str, str], dispatch: int) -> tool_pb2.ToolOutcome:
    outcome = tool_pb2.ToolOutcome(tool_call_id=call.tool_call_id, tool=call.tool)
    key = given.get("key", given.get("subject", ""))
    if call.effect == tool_pb2.EFFECT_CHANGE:
        if dispatch > 1:
            outcome.outcome = tool_pb2.OUTCOME_UNKNOWN
            outcome.failure.CopyFrom(_failure("tool_outcome_unknown", failure_pb2.PROGRESS_UNKNOWN))
            store.unsettled.add(call.target)
            return outcome
        if call.target in store.unsettled:
            outcome.outcome = tool_pb2.OUTCOME_BLOCKED
            outcome.block.code, outcome.block.tool = "target_busy", call.tool
            return outcome
        if hash_of({**given, "target": call.target, "base": store.base(key)}) != call.input_sha256:
            outcome.outcome = tool_pb2.OUTCOME_BLOCKED
            outcome.block.code, outcome.block.tool = "approval_stale", call.tool
            return outcome
        store.counts[key] = store.counts.get(key, 0) + 1
    said = f"key={key} count={store.counts.get(key, 0)}"
    _succeed(store, outcome, call, said)
    return outcome


def _succeed(store: Store, outcome: tool_pb2.ToolOutcome, call: tool_pb2.ToolCall, said: str) -> None:
    outcome.outcome = tool_pb2.OUTCOME_SUCCEEDED
    outcome.receipt.execution_id, outcome.receipt.key = store.new_id("exe"), call.idempotency_key
    outcome.receipt.result_sha256 = hashlib.sha256(said.encode()).hexdigest()
    outcome.receipt.summary = said
    outcome.receipt.finish_time.FromDatetime(datetime.now(UTC))


def _failure(code: str, progress: failure_pb2.Progress.ValueType) -> failure_pb2.Failure:
    return failure_pb2.Failure(stage=failure_pb2.STAGE_TOOL, code=code, explanation=code, progress=progress)


def settle(store: Store, request: pb2.SettleExecutionRequest) -> tool_pb2.ToolOutcome:
    """The outcome as a person settled it."""
    check_fields(request, ids=(*_IDS, "tool_call_id", "settled_by"))
    if request.outcome not in (tool_pb2.OUTCOME_SUCCEEDED, tool_pb2.OUTCOME_FAILED):
        raise invalid("outcome")
    interaction = store.session(request.domain_session_id).interactions.get(request.interaction_id)
    call = interaction.calls.get(request.tool_call_id) if interaction is not None else None
    known = store.outcomes.get(request.tool_call_id)
    if call is None or known is None:
        raise Refusal("NOT_FOUND", "TOOL_CALL_NOT_FOUND", "the call was not issued here")
    if known.outcome == request.outcome:
        return known
    if known.outcome != tool_pb2.OUTCOME_UNKNOWN:
        raise Refusal("FAILED_PRECONDITION", "OUTCOME_RECORDED", "the outcome is known")
    settled = tool_pb2.ToolOutcome(tool_call_id=call.tool_call_id, tool=call.tool)
    if request.outcome == tool_pb2.OUTCOME_SUCCEEDED:
        _succeed(store, settled, call, "settled")
    else:
        settled.outcome = tool_pb2.OUTCOME_FAILED
        settled.failure.CopyFrom(_failure("settled_not_executed", failure_pb2.PROGRESS_NOT_EXECUTED))
    store.outcomes[call.tool_call_id] = settled
    store.unsettled.discard(call.target)
    return settled

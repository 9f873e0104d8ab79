"""Encodes decisions and outcomes to the bytes that are stored once and sent ever after. Implements ports.Codec."""

from __future__ import annotations

from google.protobuf.duration_pb2 import Duration

from adapter_service.convert.common import EFFECTS, block, failure, reference, timestamp
from adapter_service.domain.approval import Snapshot
from adapter_service.domain.decision import (
    Answer,
    Ask,
    Blocked,
    CallTools,
    Choose,
    Complete,
    Decision,
    Fail,
    RequestApproval,
    Wait,
)
from adapter_service.domain.ledger import ExecutionState, ToolCall, ToolOutcome
from adapter_service.sdk import Effect, ReplyVerdict
from handrail.common.v1 import answer_pb2, approval_pb2, decision_pb2, prompt_pb2, tool_pb2

_VERDICTS = {
    ReplyVerdict.ANSWER: decision_pb2.REPLY_VERDICT_ANSWER,
    ReplyVerdict.CORRECTION: decision_pb2.REPLY_VERDICT_CORRECTION,
    ReplyVerdict.NEW_REQUEST: decision_pb2.REPLY_VERDICT_NEW_REQUEST,
    ReplyVerdict.CANCEL: decision_pb2.REPLY_VERDICT_CANCEL,
    ReplyVerdict.UNCLEAR: decision_pb2.REPLY_VERDICT_UNCLEAR,
}
_OUTCOMES = {
    ExecutionState.SUCCEEDED: tool_pb2.OUTCOME_SUCCEEDED,
    ExecutionState.FAILED: tool_pb2.OUTCOME_FAILED,
    ExecutionState.BLOCKED: tool_pb2.OUTCOME_BLOCKED,
    ExecutionState.UNKNOWN: tool_pb2.OUTCOME_UNKNOWN,
}


class ProtoCodec:
    """Deterministic serializations."""

    def decision(self, decision: Decision) -> bytes:
        """A serialized handrail.common.v1.Decision."""
        return _decision(decision).SerializeToString(deterministic=True)

    def outcome(self, outcome: ToolOutcome) -> bytes:
        """A serialized handrail.common.v1.ToolOutcome."""
        return _outcome(outcome).SerializeToString(deterministic=True)


def _decision(value: Decision) -> decision_pb2.Decision:
    message = decision_pb2.Decision(
        decision_id=value.decision_id,
        decision_number=value.decision_number,
        plan_version=value.plan_version,
        context=_context(value),
        reply_verdict=(
            decision_pb2.REPLY_VERDICT_UNSPECIFIED if value.reply_verdict is None else _VERDICTS[value.reply_verdict]
        ),
        blocks=[block(item) for item in value.blocks],
        summary=value.summary,
    )
    match value.outcome:
        case None:
            pass
        case Ask():
            message.ask.prompt.CopyFrom(_prompt(value.outcome))
        case CallTools(calls):
            message.call_tool.calls.extend(_call(call) for call in calls)
        case Choose(actions):
            message.choose.default_action_id = actions[0].action_id
            message.choose.actions.extend(
                decision_pb2.Action(
                    action_id=action.action_id,
                    title=action.title,
                    description=action.description,
                    effect=EFFECTS[Effect(action.effect)],
                )
                for action in actions
            )
        case RequestApproval():
            message.request_approval.CopyFrom(_request_approval(value.outcome))
        case Wait():
            _write_wait(message.wait, value.outcome)
        case Complete(answer):
            message.complete.answer.CopyFrom(_answer(answer))
        case Fail(problem):
            message.fail.failure.CopyFrom(failure(problem))
        case Blocked(reason):
            message.blocked.block.CopyFrom(block(reason))
    return message


def _context(value: Decision) -> decision_pb2.ContextSnapshot:
    message = decision_pb2.ContextSnapshot(context_size_bytes=value.context_size_bytes)
    if value.workspace is not None:
        message.workspace_generation = value.workspace.generation
        message.workspace_snapshot_sha256 = value.workspace.sha256
        message.documentation_version = value.workspace.documentation_version
    return message


def _write_wait(message: decision_pb2.Wait, wait: Wait) -> None:
    if wait.until is not None:
        message.until.FromTimedelta(wait.until)
    else:
        message.signal = wait.signal
    if wait.limit is not None:
        message.limit.FromTimedelta(wait.limit)


def _prompt(ask: Ask) -> prompt_pb2.Prompt:
    message = prompt_pb2.Prompt(
        type=prompt_pb2.PromptType.Value(f"PROMPT_TYPE_{ask.type}"),
        question=ask.question,
        required=ask.required,
        options=[
            prompt_pb2.PromptOption(
                candidate_id=option.candidate_id,
                identity=option.identity,
                display_name=option.display_name,
                description=option.description,
            )
            for option in ask.options
        ],
    )
    if ask.artifact is not None:
        message.artifact.artifact_id = ask.artifact.artifact_id
        message.artifact.version = ask.artifact.version
    else:
        message.task.task_id = ask.task_id
        message.task.slot = ask.slot
    return message


def _call(call: ToolCall) -> tool_pb2.ToolCall:
    timeout = Duration()
    timeout.FromTimedelta(call.timeout)
    return tool_pb2.ToolCall(
        tool_call_id=call.tool_call_id,
        tool=call.tool,
        tool_version=str(call.tool_version),
        effect=EFFECTS[call.effect],
        idempotency_key=call.idempotency_key,
        input_sha256=call.input_sha256,
        target=call.target,
        timeout=timeout,
        summary=call.summary,
        approval_id=call.approval_id,
        idempotent=call.idempotent,
    )


def _request_approval(request: RequestApproval) -> decision_pb2.RequestApproval:
    return decision_pb2.RequestApproval(
        snapshot=_snapshot(request.snapshot),
        title=request.title,
        input_preview=request.input_preview,
        change_ref=request.change_ref,
        requester_may_approve=request.requester_may_approve,
    )


def _snapshot(snapshot: Snapshot) -> approval_pb2.ApprovalSnapshot:
    return approval_pb2.ApprovalSnapshot(
        digest_scheme=snapshot.digest_scheme,
        tool=snapshot.tool,
        tool_version=snapshot.tool_version,
        artifact_id=snapshot.artifact_id,
        artifact_version=snapshot.artifact_version,
        artifact_sha256=snapshot.artifact_sha256,
        validation_sha256=snapshot.validation_sha256,
        input_sha256=snapshot.input_sha256,
        policy_version=snapshot.policy_version,
        required_role=snapshot.required_role,
        idempotency_key=snapshot.idempotency_key,
        expire_time=timestamp(snapshot.expire_time),
    )


def _answer(answer: Answer) -> answer_pb2.Answer:
    return answer_pb2.Answer(
        text=answer.text,
        entity_citations=[
            answer_pb2.EntityCitation(document_type=citation.document_type, identity=citation.identity)
            for citation in answer.citations
        ],
        documentation_citations=[
            answer_pb2.DocumentationCitation(
                path=citation.path, anchor=citation.anchor, title=citation.title, sha256=citation.sha256
            )
            for citation in answer.documentation
        ],
        limitations=answer.limitations,
        artifacts=[reference(artifact) for artifact in answer.artifacts],
        tool_call_ids=answer.tool_call_ids,
        partial=answer.partial,
    )


def _outcome(outcome: ToolOutcome) -> tool_pb2.ToolOutcome:
    message = tool_pb2.ToolOutcome(
        tool_call_id=outcome.tool_call_id,
        tool=outcome.tool,
        outcome=_OUTCOMES[outcome.state],
        artifacts=[reference(artifact) for artifact in outcome.artifacts],
    )
    if outcome.receipt is not None:
        receipt = outcome.receipt
        message.receipt.CopyFrom(
            tool_pb2.Receipt(
                execution_id=receipt.execution_id,
                key=receipt.key,
                finish_time=timestamp(receipt.finish_time),
                result_sha256=receipt.result_sha256,
                summary=receipt.summary,
            )
        )
    if outcome.failure is not None:
        message.failure.CopyFrom(failure(outcome.failure))
    if outcome.block is not None:
        message.block.CopyFrom(block(outcome.block))
    return message

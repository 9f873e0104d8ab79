"""Decisions and tool outcomes of the Adapter to domain values. What only passes through stays bytes."""

from __future__ import annotations

from datetime import timedelta

from google.protobuf.duration_pb2 import Duration

from handrail.common.v1 import decision_pb2, failure_pb2, prompt_pb2, tool_pb2
from handrail_rpc.digest import snapshot_digest, snapshot_fields_from_proto
from loop_service.convert.names import EFFECT, OUTCOME, PROMPT_TYPE, REPLY_VERDICT
from loop_service.domain import decision as d
from loop_service.domain.events import ArtifactPublished


def decode_decision(data: bytes) -> d.Decision:
    """Raises DecodeError for bytes that are no Decision, NotCanonical for a snapshot that has no digest."""
    message = decision_pb2.Decision.FromString(data)
    return d.Decision(
        decision_id=message.decision_id,
        number=message.decision_number,
        plan_version=message.plan_version,
        context=message.context.SerializeToString() if message.HasField("context") else b"",
        reply_verdict=d.ReplyVerdict(REPLY_VERDICT.name(message.reply_verdict)),
        blocks=tuple(policy_block(block) for block in message.blocks),
        summary=message.summary,
        outcome=_outcome(message),
        raw=data,
    )


def policy_block(block: failure_pb2.PolicyBlock) -> d.PolicyBlock:
    return d.PolicyBlock(
        block.code,
        block.rule,
        block.explanation,
        block.approval_id,
        block.lifted_by,
        block.tool,
        block.tool_call_id,
    )


def _outcome(message: decision_pb2.Decision) -> d.DecisionOutcome | None:
    match message.WhichOneof("outcome"):
        case "choose":
            actions = tuple(
                d.Action(a.action_id, a.title, EFFECT.name(a.effect), a.description) for a in message.choose.actions
            )
            return d.Choose(actions, message.choose.default_action_id)
        case "call_tool":
            return _call_tool(message.call_tool)
        case "ask":
            return _ask(message.ask.prompt)
        case "request_approval":
            return _request_approval(message.request_approval)
        case "wait":
            return _wait(message.wait)
        case "complete":
            answer = message.complete.answer
            return d.Complete(answer.SerializeToString(), answer.text)
        case "fail":
            failure = message.fail.failure
            return d.Fail(failure.SerializeToString(), failure.code)
        case "blocked":
            return d.BlockedByPolicy(policy_block(message.blocked.block))
        case _:
            return None


def _call_tool(message: decision_pb2.CallTool) -> d.CallTool:
    """A call without a valid effect makes the whole decision one without calls: it cannot be carried out."""
    calls = []
    for call in message.calls:
        if call.effect == tool_pb2.EFFECT_UNSPECIFIED or not call.tool_call_id:
            return d.CallTool(())
        calls.append(
            d.PreparedCall(
                call.tool_call_id,
                call.tool,
                d.Effect(EFFECT.name(call.effect)),
                call.idempotent,
                call.input_sha256,
                call.summary,
                call.approval_id,
            )
        )
    return d.CallTool(tuple(calls))


def _ask(prompt: prompt_pb2.Prompt) -> d.Ask:
    return d.Ask(
        prompt=prompt.SerializeToString(),
        type=PROMPT_TYPE.name(prompt.type),
        question=prompt.question,
        options=tuple(d.PromptOption(o.candidate_id, o.display_name) for o in prompt.options),
        required=prompt.required,
        task_id=prompt.task.task_id,
        slot=prompt.task.slot,
    )


def _request_approval(message: decision_pb2.RequestApproval) -> d.RequestApproval:
    snapshot = message.snapshot
    return d.RequestApproval(
        snapshot=snapshot.SerializeToString(),
        digest=snapshot_digest(snapshot_fields_from_proto(snapshot)),
        title=message.title,
        input_preview=message.input_preview,
        change_ref=message.change_ref,
        required_role=snapshot.required_role,
        requester_may_approve=message.requester_may_approve,
        expire_micros=snapshot.expire_time.ToMicroseconds() if snapshot.HasField("expire_time") else 0,
        tool=snapshot.tool,
    )


def _wait(message: decision_pb2.Wait) -> d.Wait:
    until = _delta(message.until) if message.WhichOneof("condition") == "until" else None
    limit = _delta(message.limit) if message.HasField("limit") else None
    return d.Wait(until, message.signal, limit)


def _delta(duration: Duration) -> timedelta:
    return timedelta(microseconds=duration.ToMicroseconds())


def decode_outcome(data: bytes) -> d.ToolOutcome:
    """Raises DecodeError for bytes that are no ToolOutcome. An unset outcome is unknown, never a success."""
    message = tool_pb2.ToolOutcome.FromString(data)
    name = OUTCOME.name(message.outcome)
    return d.ToolOutcome(
        tool_call_id=message.tool_call_id,
        tool=message.tool,
        outcome=d.Outcome.UNKNOWN if name == "unspecified" else d.Outcome(name),
        receipt=message.receipt.SerializeToString() if message.HasField("receipt") else b"",
        receipt_summary=message.receipt.summary,
        result_sha256=message.receipt.result_sha256,
        failure=message.failure.SerializeToString() if message.HasField("failure") else b"",
        failure_code=message.failure.code,
        block=policy_block(message.block) if message.HasField("block") else None,
        artifacts=tuple(
            ArtifactPublished(a.artifact_id, a.version, a.sha256, a.media_type, a.title, message.tool_call_id)
            for a in message.artifacts
        ),
        artifact_refs=tuple(a.SerializeToString() for a in message.artifacts),
        raw=data,
    )

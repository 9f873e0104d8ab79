"""Observations and facts from messages. Called by convert.requests."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from google.protobuf import struct_pb2
from google.protobuf.json_format import MessageToDict

from adapter_service.convert.validation import Violations
from adapter_service.domain.observation import (
    ActionChoice,
    ApprovalResolved,
    ClarificationReply,
    Observation,
    Retry,
    ToolFinished,
    UserMessage,
    Verdict,
    WakeUp,
)
from adapter_service.domain.session import MOST_FACTS, PARALLEL_READS_LIMIT
from adapter_service.sdk import FactView
from handrail.adapter.v1 import observation_pb2
from handrail.common.v1 import approval_pb2, decision_pb2, fact_pb2, tool_pb2
from handrail_rpc.digest import NotCanonical, canonical_json, normalise_text

# As the Loop limits it: what it acknowledged must not be refused here.
MOST_STRUCTURE_BYTES = 16 * 1024

_SOURCES = {
    fact_pb2.SOURCE_DEVICE: "device",
    fact_pb2.SOURCE_USER: "user",
    fact_pb2.SOURCE_DEMO: "demo",
    fact_pb2.SOURCE_SYSTEM: "system",
}
SOURCE_NUMBERS = {name: number for number, name in _SOURCES.items()}
_OUTCOMES = {
    tool_pb2.OUTCOME_SUCCEEDED: "succeeded",
    tool_pb2.OUTCOME_FAILED: "failed",
    tool_pb2.OUTCOME_BLOCKED: "blocked",
    tool_pb2.OUTCOME_UNKNOWN: "unknown",
}
_VERDICTS = {
    approval_pb2.VERDICT_APPROVE: Verdict.APPROVE,
    approval_pb2.VERDICT_REJECT: Verdict.REJECT,
    approval_pb2.VERDICT_REQUEST_CHANGES: Verdict.REQUEST_CHANGES,
}


def read_observation(message: observation_pb2.Observation, bad: Violations) -> Observation | None:
    """The observation; None, with violations added, where it is not well-formed."""
    match message.WhichOneof("kind"):
        case "user_message":
            return _user_message(message.user_message, bad)
        case "clarification_reply":
            return _reply(message.clarification_reply, bad)
        case "action_choice":
            bad.identifier("observation.action_choice.action_id", message.action_choice.action_id)
            bad.text("observation.action_choice.intent", message.action_choice.intent)
            return ActionChoice(message.action_choice.action_id)
        case "tool_finished":
            return _tool_finished(message.tool_finished, bad)
        case "approval_resolved":
            return _approval_resolved(message.approval_resolved, bad)
        case "wake_up":
            wake_up = message.wake_up
            bad.identifier("observation.wake_up.signal", wake_up.signal, required=False)
            payload = _structure("observation.wake_up.payload", wake_up.payload, bad)
            return WakeUp(wake_up.signal, payload, wake_up.limit_passed)
        case "retry":
            bad.identifier("observation.retry.interaction_id", message.retry.interaction_id)
            bad.identifier("observation.retry.tool_call_id", message.retry.tool_call_id)
            return Retry(message.retry.interaction_id, message.retry.tool_call_id)
        case _:
            bad.add("observation", "must be set")
            return None


def _user_message(message: observation_pb2.UserMessage, bad: Violations) -> UserMessage:
    field = "observation.user_message"
    text = bad.text(f"{field}.text", message.text)
    if not message.text.strip():
        bad.add(f"{field}.text", "must not be empty")
    bad.identifier(f"{field}.message_id", message.message_id, required=False)
    bad.identifier(f"{field}.approval_id", message.approval_id, required=False)
    return UserMessage(text, message.begins_interaction, message.approval_id)


def _reply(message: observation_pb2.ClarificationReply, bad: Violations) -> ClarificationReply:
    field = "observation.clarification_reply"
    text = bad.text(f"{field}.text", message.text)
    for name in ("clarification_id", "message_id", "task_id", "slot"):
        bad.identifier(f"{field}.{name}", getattr(message, name), required=False)
    response = message.WhichOneof("response")
    if response in ("confirmed", "review_verdict"):
        bad.add(f"{field}.{response}", "no open question of this domain asks for it")
    if response == "selected_candidate_id":
        bad.identifier(f"{field}.selected_candidate_id", message.selected_candidate_id)
    verdict = message.reply_verdict
    if verdict not in (decision_pb2.REPLY_VERDICT_UNSPECIFIED, decision_pb2.REPLY_VERDICT_ANSWER):
        bad.add(f"{field}.reply_verdict", "must be REPLY_VERDICT_ANSWER or unset")
    return ClarificationReply(
        task_id=message.task_id,
        slot=message.slot,
        text=text,
        candidate_id=message.selected_candidate_id if response == "selected_candidate_id" else "",
        skip=response == "skip" and message.skip,
        judged_answer=verdict == decision_pb2.REPLY_VERDICT_ANSWER,
    )


def _tool_finished(message: observation_pb2.ToolFinished, bad: Violations) -> ToolFinished:
    outcomes: dict[str, str] = {}
    if not 0 < len(message.calls) <= PARALLEL_READS_LIMIT:
        bad.add("observation.tool_finished.calls", f"must name 1 to {PARALLEL_READS_LIMIT} calls")
    for index, call in enumerate(message.calls[:PARALLEL_READS_LIMIT]):
        field = f"observation.tool_finished.calls[{index}]"
        bad.identifier(f"{field}.tool_call_id", call.tool_call_id)
        if call.tool_call_id in outcomes:
            bad.add(f"{field}.tool_call_id", "must be named once")
        if call.outcome not in _OUTCOMES:
            bad.add(f"{field}.outcome", "must be set")
            continue
        outcomes[call.tool_call_id] = _OUTCOMES[call.outcome]
    return ToolFinished(outcomes)


def _approval_resolved(message: observation_pb2.ApprovalResolved, bad: Violations) -> ApprovalResolved:
    field = "observation.approval_resolved"
    bad.identifier(f"{field}.approval_id", message.approval_id)
    bad.identifier(f"{field}.snapshot_digest", message.snapshot_digest)
    bad.identifier(f"{field}.resolved_by", message.resolved_by, required=False)
    if not message.expired and message.verdict not in _VERDICTS:
        bad.add(f"{field}.verdict", "must be set unless the approval expired")
    if message.expired and message.verdict != approval_pb2.VERDICT_UNSPECIFIED:
        bad.add(f"{field}.verdict", "must not be set where the approval expired")
    return ApprovalResolved(
        approval_id=message.approval_id,
        digest=message.snapshot_digest,
        verdict=None if message.expired else _VERDICTS.get(message.verdict),
        comment=bad.text(f"{field}.comment", message.comment),
        resolved_by=message.resolved_by,
    )


def read_facts(messages: list[fact_pb2.Fact], bad: Violations) -> tuple[FactView, ...]:
    """Facts of a request, the last of each name."""
    if len(messages) > MOST_FACTS:
        bad.add("facts", f"must be at most {MOST_FACTS}")
        return ()
    found: dict[str, FactView] = {}
    for index, message in enumerate(messages):
        field = f"facts[{index}]"
        bad.identifier(f"{field}.name", message.name)
        if message.source not in _SOURCES:
            bad.add(f"{field}.source", "must be set")
            continue
        value = _structure(f"{field}.value", message.value, bad)
        observed = None
        if message.HasField("observed_time"):
            try:
                observed = message.observed_time.ToDatetime(UTC)
            except ValueError:
                bad.add(f"{field}.observed_time", "must be within the years 1 to 9999")
        bad.identifier(f"{field}.scope", message.scope, required=False)
        found[message.name] = FactView(message.name, value, _SOURCES[message.source], message.scope, observed)
    return tuple(found.values())


def _structure(field: str, message: struct_pb2.Struct, bad: Violations) -> dict[str, Any]:
    """A JSON object with a canonical form, its strings in NFC; empty, with a violation added, where it has none."""
    if message.ByteSize() > MOST_STRUCTURE_BYTES:
        bad.add(field, f"must have at most {MOST_STRUCTURE_BYTES} bytes")
        return {}
    try:
        value: dict[str, Any] = _normalised(MessageToDict(message))
        canonical_json(value)
    except NotCanonical as error:
        bad.add(field, str(error))
    except ValueError:
        bad.add(field, "must not contain NaN or an infinity")
    else:
        return value
    return {}


def _normalised(value: Any) -> Any:
    if isinstance(value, str):
        return normalise_text(value)
    if isinstance(value, list):
        return [_normalised(item) for item in value]
    if isinstance(value, dict):
        return {normalise_text(key): _normalised(item) for key, item in value.items()}
    return value

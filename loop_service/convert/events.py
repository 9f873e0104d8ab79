"""Event payloads to the bytes of handrail.loop.v1.Event. Called by the journal's store and by queries."""

from __future__ import annotations

from datetime import datetime
from typing import Any, assert_never

from google.protobuf.timestamp_pb2 import Timestamp

from handrail.common.v1 import answer_pb2, approval_pb2, failure_pb2, prompt_pb2, tool_pb2
from handrail.loop.v1 import event_pb2
from loop_service.convert.names import APPROVAL_OUTCOME, CHOSEN_BY, DECISION_KIND, OUTCOME, STATE
from loop_service.domain import events as e
from loop_service.domain.times import to_micros


def set_time(target: Timestamp, time: datetime | None) -> None:
    """Microseconds exactly; leaves `target` unset for None."""
    if time is not None:
        target.FromMicroseconds(to_micros(time))


def encode_event(conversation_id: str, sequence: int, event: e.NewEvent, now: datetime) -> bytes:
    """The bytes that are stored and later streamed as they are."""
    message = event_pb2.Event(
        sequence=sequence,
        conversation_id=conversation_id,
        interaction_id=event.interaction_id,
        run_id=event.run_id,
        request_id=event.request_id,
    )
    set_time(message.event_time, now)
    payload = payload_message(event.payload)
    getattr(message, e.NAMES[type(event.payload)]).CopyFrom(payload)
    return message.SerializeToString()


def encode_live(conversation_id: str, sequence: int, now: datetime, history_id: str = "") -> bytes:
    """The marker that replay is over; not stored."""
    return encode_event(conversation_id, sequence, e.NewEvent("", "", "", e.Live(history_id)), now)


def approval_required(payload: e.ApprovalRequired) -> event_pb2.ApprovalRequired:
    """The snapshot is parsed from its stored bytes, never rebuilt from parts."""
    message = event_pb2.ApprovalRequired(
        approval_id=payload.approval_id,
        snapshot=approval_pb2.ApprovalSnapshot.FromString(payload.snapshot),
        snapshot_digest=payload.snapshot_digest,
        title=payload.title,
        input_preview=payload.input_preview,
        change_ref=payload.change_ref,
        required_role=payload.required_role,
    )
    if message.snapshot.HasField("expire_time"):
        message.expire_time.CopyFrom(message.snapshot.expire_time)
    return message


def clarification_required(payload: e.ClarificationRequired) -> event_pb2.ClarificationRequired:
    return event_pb2.ClarificationRequired(
        clarification_id=payload.clarification_id,
        plan_version=payload.plan_version,
        prompt=prompt_pb2.Prompt.FromString(payload.prompt),
    )


def waiting(until: datetime | None, signal: str, limit_time: datetime | None = None) -> event_pb2.Waiting:
    message = event_pb2.Waiting()
    if signal:
        message.signal = signal
        set_time(message.limit_time, limit_time)
    else:
        set_time(message.until, until)
    return message


def _tool_finished(payload: e.ToolFinished) -> event_pb2.ToolFinished:
    message = event_pb2.ToolFinished(
        tool_call_id=payload.tool_call_id,
        tool=payload.tool,
        outcome=OUTCOME.number(payload.outcome),
    )
    if payload.receipt:
        message.receipt.CopyFrom(tool_pb2.Receipt.FromString(payload.receipt))
    if payload.failure:
        message.failure.CopyFrom(failure_pb2.Failure.FromString(payload.failure))
    return message


def _steps(steps: tuple[bytes, ...]) -> list[failure_pb2.ConfirmedStep]:
    return [failure_pb2.ConfirmedStep.FromString(step) for step in steps]


def payload_message(payload: e.Payload) -> Any:
    """The message of the payload's own type."""
    match payload:
        case e.RunStarted(message_id, approval_id, resumed_run_id, history_id):
            return event_pb2.RunStarted(
                message_id=message_id,
                approval_id=approval_id,
                resumed_run_id=resumed_run_id,
                history_id=history_id,
            )
        case e.MessageAccepted(message_id):
            return event_pb2.MessageAccepted(message_id=message_id)
        case e.StatusChanged(before, after):
            changed = event_pb2.StatusChanged(to=STATE.number(after))
            setattr(changed, "from", STATE.number(before))
            return changed
        case e.DecisionMade():
            return event_pb2.DecisionMade(
                decision_number=payload.decision_number,
                decision_id=payload.decision_id,
                kind=DECISION_KIND.number(payload.kind),
                action_id=payload.action_id,
                chosen_by=CHOSEN_BY.number(payload.chosen_by),
                summary=payload.summary,
                model_code=payload.model_code,
            )
        case e.ToolStarted(tool_call_id, tool):
            return event_pb2.ToolStarted(tool_call_id=tool_call_id, tool=tool)
        case e.ToolProgress(tool_call_id, tool, percent, text):
            return event_pb2.ToolProgress(tool_call_id=tool_call_id, tool=tool, percent=percent, message=text)
        case e.ToolFinished():
            return _tool_finished(payload)
        case e.ArtifactPublished():
            return event_pb2.ArtifactPublished(
                artifact_id=payload.artifact_id,
                version=payload.version,
                sha256=payload.sha256,
                media_type=payload.media_type,
                title=payload.title,
                tool_call_id=payload.tool_call_id,
            )
        case e.ClarificationRequired():
            return clarification_required(payload)
        case e.ApprovalRequired():
            return approval_required(payload)
        case e.ApprovalResolved(approval_id, outcome, resolved_by):
            return event_pb2.ApprovalResolved(
                approval_id=approval_id,
                outcome=APPROVAL_OUTCOME.number(outcome),
                resolved_by=resolved_by,
            )
        case e.PolicyBlocked():
            return event_pb2.PolicyBlocked(
                code=payload.code,
                rule=payload.rule,
                approval_id=payload.approval_id,
                lifted_by=payload.lifted_by,
                tool=payload.tool,
                explanation=payload.explanation,
            )
        case e.ContentDelta(text):
            return event_pb2.ContentDelta(text=text)
        case e.Completed(message_id, answer):
            return event_pb2.Completed(message_id=message_id, answer=answer_pb2.Answer.FromString(answer))
        case e.Failed(failure):
            return event_pb2.Failed(failure=failure_pb2.Failure.FromString(failure))
        case e.Blocked(failure):
            return event_pb2.Blocked(failure=failure_pb2.Failure.FromString(failure))
        case e.Canceled(reason, code, steps):
            return event_pb2.Canceled(reason=reason, code=code, confirmed_steps=_steps(steps))
        case e.Superseded(reason, by, steps):
            return event_pb2.Superseded(reason=reason, by_interaction_id=by, confirmed_steps=_steps(steps))
        case e.Waiting(until, signal, limit_time):
            return waiting(until, signal, limit_time)
        case e.ExecutionSettled():
            return event_pb2.ExecutionSettled(
                tool_call_id=payload.tool_call_id,
                tool=payload.tool,
                outcome=OUTCOME.number(payload.outcome),
                settled_by=payload.settled_by,
                successor_interaction_id=payload.successor_interaction_id,
            )
        case e.SignalReceived(signal, delivered):
            return event_pb2.SignalReceived(signal=signal, delivered=delivered)
        case e.ChannelFailed(channel, failure):
            return event_pb2.ChannelFailed(channel=channel, failure=failure_pb2.Failure.FromString(failure))
        case e.Live(history_id):
            return event_pb2.Live(history_id=history_id)
        case _:
            assert_never(payload)

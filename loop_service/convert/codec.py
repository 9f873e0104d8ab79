"""`ProtoCodec`: the application's Codec port over the proto messages. Built by bootstrap."""

from __future__ import annotations

from datetime import datetime
from typing import assert_never

from handrail.adapter.v1 import observation_pb2
from handrail.common.v1 import artifact_pb2, decision_pb2, failure_pb2
from handrail.loop.v1 import event_pb2
from loop_service.convert import decisions
from loop_service.convert.names import OUTCOME, PROGRESS, STAGE, VERDICT
from loop_service.domain import observation as o
from loop_service.domain.decision import CallRecord, Decision, ToolOutcome
from loop_service.domain.failures import Failure, Progress, Stage
from loop_service.domain.times import from_micros


class ProtoCodec:
    """Pure; one instance serves all."""

    def encode_observation(self, observation: o.Observation) -> bytes:
        """Deterministic bytes: they are the identity of the decision request."""
        return _observation(observation).SerializeToString(deterministic=True)

    def with_answer_verdict(self, observation: bytes) -> bytes:
        """The same reply, to be taken as an answer (C7)."""
        message = observation_pb2.Observation.FromString(observation)
        message.clarification_reply.reply_verdict = decision_pb2.REPLY_VERDICT_ANSWER
        return message.SerializeToString(deterministic=True)

    def decode_decision(self, data: bytes) -> Decision:
        return decisions.decode_decision(data)

    def decode_outcome(self, data: bytes) -> ToolOutcome:
        return decisions.decode_outcome(data)

    def confirmed_step(self, call: CallRecord, outcome: ToolOutcome) -> bytes:
        return failure_pb2.ConfirmedStep(
            tool_call_id=call.tool_call_id,
            tool=call.tool,
            summary=outcome.receipt_summary or call.summary,
            artifacts=[artifact_pb2.ArtifactRef.FromString(ref) for ref in outcome.artifact_refs],
        ).SerializeToString()

    def event_time(self, event: bytes) -> datetime:
        return from_micros(event_pb2.Event.FromString(event).event_time.ToMicroseconds())

    def encode_failure(self, failure: Failure) -> bytes:
        return failure_pb2.Failure(
            stage=STAGE.number(failure.stage.value),
            code=failure.code,
            source_code=failure.source_code,
            explanation=failure.explanation,
            helpful_action=failure.helpful_action,
            retryable=failure.retryable,
            request_id=failure.request_id,
            progress=PROGRESS.number(failure.progress.value),
            confirmed_steps=[failure_pb2.ConfirmedStep.FromString(step) for step in failure.confirmed_steps],
        ).SerializeToString()

    def decode_failure(self, data: bytes) -> Failure:
        """A failure that this service stored; what it does not tell itself is left out."""
        message = failure_pb2.Failure.FromString(data)
        return Failure(
            stage=Stage(STAGE.name(message.stage)),
            code=message.code,
            explanation=message.explanation,
            helpful_action=message.helpful_action,
            retryable=message.retryable,
            request_id=message.request_id,
            progress=Progress(PROGRESS.name(message.progress)),
            confirmed_steps=tuple(step.SerializeToString() for step in message.confirmed_steps),
            source_code=message.source_code,
        )

    def complete_failure(self, data: bytes, request_id: str, confirmed_steps: tuple[bytes, ...]) -> bytes:
        """Appends fields to the bytes: merging is how protobuf reads them, so what was there stays as it was."""
        given = failure_pb2.Failure.FromString(data)
        added = failure_pb2.Failure()
        if not given.request_id:
            added.request_id = request_id
        if not given.confirmed_steps:
            added.confirmed_steps.extend(failure_pb2.ConfirmedStep.FromString(step) for step in confirmed_steps)
        if given.progress == failure_pb2.PROGRESS_UNSPECIFIED or (
            given.progress == failure_pb2.PROGRESS_NOT_EXECUTED and confirmed_steps
        ):
            progress = Progress.PARTIAL if confirmed_steps else Progress.NOT_EXECUTED
            added.progress = PROGRESS.number(progress.value)
        return data + added.SerializeToString()


def _observation(observation: o.Observation) -> observation_pb2.Observation:
    message = observation_pb2.Observation()
    match observation:
        case o.UserMessage():
            message.user_message.CopyFrom(
                observation_pb2.UserMessage(
                    message_id=observation.message_id,
                    text=observation.text,
                    approval_id=observation.approval_id,
                    begins_interaction=observation.begins_interaction,
                )
            )
        case o.ClarificationReply():
            message.clarification_reply.CopyFrom(_reply(observation))
        case o.ActionChoice(action_id, intent):
            message.action_choice.CopyFrom(observation_pb2.ActionChoice(action_id=action_id, intent=intent))
        case o.ToolsFinished(calls):
            message.tool_finished.SetInParent()
            for tool_call_id, outcome in calls:
                message.tool_finished.calls.add(
                    tool_call_id=tool_call_id,
                    outcome=OUTCOME.number(outcome.value),
                )
        case o.ApprovalResolution():
            verdict = observation.verdict.value if observation.verdict else "unspecified"
            message.approval_resolved.CopyFrom(
                observation_pb2.ApprovalResolved(
                    approval_id=observation.approval_id,
                    snapshot_digest=observation.snapshot_digest,
                    verdict=VERDICT.number(verdict),
                    comment=observation.comment,
                    resolved_by=observation.resolved_by,
                    expired=observation.expired,
                )
            )
        case o.WakeUp(signal, limit_passed, payload):
            message.wake_up.CopyFrom(observation_pb2.WakeUp(signal=signal, limit_passed=limit_passed))
            if payload:
                message.wake_up.payload.MergeFromString(payload)
        case o.Retry(interaction_id, tool_call_id):
            message.retry.CopyFrom(observation_pb2.Retry(interaction_id=interaction_id, tool_call_id=tool_call_id))
        case _:
            assert_never(observation)
    return message


def _reply(reply: o.ClarificationReply) -> observation_pb2.ClarificationReply:
    message = observation_pb2.ClarificationReply(
        clarification_id=reply.clarification_id,
        message_id=reply.message_id,
        text=reply.text,
        task_id=reply.task_id,
        slot=reply.slot,
    )
    response = reply.response
    if response.selected_candidate_id is not None:
        message.selected_candidate_id = response.selected_candidate_id
    elif response.skip:
        message.skip = True
    elif response.confirmed is not None:
        message.confirmed = response.confirmed
    elif response.review_verdict is not None:
        message.review_verdict = VERDICT.number(response.review_verdict.value)
    return message

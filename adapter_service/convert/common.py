"""Small messages that several others contain: references, failures, blocks, times. Called by the other converters."""

from __future__ import annotations

from datetime import datetime

from google.protobuf.timestamp_pb2 import Timestamp

from adapter_service.domain.artifact import ArtifactReference
from adapter_service.domain.failure import Failure, PolicyBlock
from adapter_service.sdk import Effect
from handrail.common.v1 import artifact_pb2, failure_pb2, tool_pb2

EFFECTS: dict[Effect, tool_pb2.Effect.ValueType] = {
    Effect.READ: tool_pb2.EFFECT_READ,
    Effect.DRAFT: tool_pb2.EFFECT_DRAFT,
    Effect.CHANGE: tool_pb2.EFFECT_CHANGE,
    Effect.EXTERNAL: tool_pb2.EFFECT_EXTERNAL,
}


def timestamp(time: datetime) -> Timestamp:
    """Exact to the microsecond."""
    message = Timestamp()
    message.FromDatetime(time)
    return message


def reference(value: ArtifactReference) -> artifact_pb2.ArtifactRef:
    """ArtifactRef."""
    return artifact_pb2.ArtifactRef(
        artifact_id=value.artifact_id,
        version=value.version,
        sha256=value.sha256,
        media_type=value.media_type,
        title=value.title,
    )


def failure(value: Failure) -> failure_pb2.Failure:
    """Failure."""
    return failure_pb2.Failure(
        stage=failure_pb2.Stage.Value(f"STAGE_{value.stage.name}"),
        code=value.code,
        source_code=value.source_code,
        explanation=value.explanation,
        helpful_action=value.helpful_action,
        retryable=value.retryable,
        request_id=value.request_id,
        progress=failure_pb2.Progress.Value(f"PROGRESS_{value.progress}"),
        confirmed_steps=[
            failure_pb2.ConfirmedStep(
                tool_call_id=step.tool_call_id,
                tool=step.tool,
                summary=step.summary,
                artifacts=[reference(artifact) for artifact in step.artifacts],
            )
            for step in value.confirmed_steps
        ],
    )


def block(value: PolicyBlock) -> failure_pb2.PolicyBlock:
    """PolicyBlock."""
    return failure_pb2.PolicyBlock(
        code=value.code,
        rule=value.rule,
        explanation=value.explanation,
        approval_id=value.approval_id,
        lifted_by=value.lifted_by,
        tool=value.tool,
        tool_call_id=value.tool_call_id,
    )

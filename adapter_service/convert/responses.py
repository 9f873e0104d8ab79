"""Response messages from domain data, besides decisions and outcomes. Called by the servicers."""

from __future__ import annotations

import json

from google.protobuf.struct_pb2 import Struct

from adapter_service.application.diff_artifact import ArtifactDiff
from adapter_service.application.get_session import SessionReport
from adapter_service.convert.common import EFFECTS, block, reference, timestamp
from adapter_service.convert.observation import SOURCE_NUMBERS
from adapter_service.convert.workspace import workspace
from adapter_service.domain import policy
from adapter_service.domain import session as limits
from adapter_service.domain.artifact import ArtifactVersion
from adapter_service.domain.ledger import Execution, ExecutionState
from adapter_service.domain.plan import SlotState, Task, TaskState
from adapter_service.sdk import ApprovalRule, Domain, Effect, FactView, ResultFill, TextFill, Tool
from handrail.adapter.v1 import artifact_service_pb2 as artifact_pb2
from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail.adapter.v1 import session_pb2
from handrail.common.v1 import fact_pb2, tool_pb2

_STATES = {
    TaskState.OPEN: session_pb2.TASK_STATE_OPEN,
    TaskState.CALLED: session_pb2.TASK_STATE_CALLED,
    TaskState.DONE: session_pb2.TASK_STATE_DONE,
    TaskState.FAILED: session_pb2.TASK_STATE_FAILED,
    TaskState.SKIPPED: session_pb2.TASK_STATE_SKIPPED,
}


def describe_domain(domain: Domain, locale: str, history_id: str) -> pb2.DescribeDomainResponse:
    """DescribeDomainResponse."""
    return pb2.DescribeDomainResponse(
        domain=domain.name,
        title=domain.title.localized(locale),
        version=domain.version,
        policy_version=str(domain.policy_version),
        tools=[_tool(tool, locale) for tool in domain.tools],
        limits=pb2.DomainLimits(
            max_message_characters=limits.MOST_MESSAGE_CHARACTERS,
            max_facts=limits.MOST_FACTS,
            max_artifact_bytes=limits.MOST_ARTIFACT_BYTES,
            max_candidates=limits.MOST_CANDIDATES,
        ),
        history_id=history_id,
        policy_rules=[_policy_rule(rule, locale) for rule in policy.RULES],
        uses_workspace=domain.workspace is not None,
    )


def _policy_rule(rule: policy.Rule, locale: str) -> pb2.PolicyRule:
    return pb2.PolicyRule(
        name=rule.name,
        code=rule.code,
        effects=[EFFECTS[effect] for effect in Effect if effect in rule.effects],
        explanation=rule.statement.localized(locale),
        lifted_by=rule.listed_lifted_by.localized(locale),
    )


def _tool(tool: Tool, locale: str) -> pb2.Tool:
    message = pb2.Tool(
        name=tool.name,
        version=str(tool.version),
        title=tool.title.localized(locale),
        description=tool.description.localized(locale),
        effect=EFFECTS[tool.effect],
        idempotent=tool.idempotent,
        roles=tool.roles,
        input_schema=json.dumps(tool.input_schema, ensure_ascii=False),
        makes=tool.makes.kind if tool.makes is not None else "",
    )
    message.timeout.FromTimedelta(tool.timeout)
    if tool.effect.needs_approval:
        rule = tool.approval or ApprovalRule()
        message.approval.required_role = rule.role
        message.approval.requester_may_approve = rule.requester_may_approve
        message.approval.expires_after.FromTimedelta(rule.expires_after)
    return message


def cancel_interaction(rows: tuple[Execution, ...], session_revision: int) -> pb2.CancelInteractionResponse:
    """CancelInteractionResponse."""
    response = pb2.CancelInteractionResponse(session_revision=session_revision)
    for row in rows:
        call = response.calls.add(tool_call_id=row.tool_call_id, tool=row.tool)
        if row.state is ExecutionState.CLAIMED:
            call.running = True
        else:
            call.outcome.CopyFrom(tool_pb2.ToolOutcome.FromString(row.outcome_bytes))
    return response


def artifact(version: ArtifactVersion) -> artifact_pb2.Artifact:
    """Artifact."""
    return artifact_pb2.Artifact(
        artifact_id=version.artifact_id,
        conversation_id=version.conversation_id,
        kind=version.kind,
        title=version.title,
        version=version.version,
        sha256=version.sha256,
        media_type=version.media_type,
        size_bytes=version.size_bytes,
        tool_call_id=version.tool_call_id,
        tool=version.tool,
        input_sha256=version.input_sha256,
        sources=version.sources,
        create_time=timestamp(version.create_time),
        latest_version=version.latest_version,
        data_scope=version.data_scope,
        input_artifacts=[reference(each) for each in version.input_artifacts],
        workspace_snapshot_sha256=version.workspace_sha256,
    )


def artifact_diff(found: ArtifactDiff) -> artifact_pb2.DiffArtifactResponse:
    """DiffArtifactResponse."""
    response = artifact_pb2.DiffArtifactResponse(
        to=reference(found.after.reference),
        unified_diff=found.unified.text,
        json_patch=found.json_patch,
        truncated=bool(found.limits),
        limit="; ".join(found.limits),
        added_lines=found.unified.added_lines,
        removed_lines=found.unified.removed_lines,
    )
    if found.before is not None:
        getattr(response, "from").CopyFrom(reference(found.before.reference))
    return response


def session(report: SessionReport) -> session_pb2.Session:
    """Session, without inputs, contents and texts of users beyond what slots display."""
    situation = report.situation
    message = session_pb2.Session(
        domain_session_id=situation.session.domain_session_id,
        domain=situation.session.domain,
        conversation_id=situation.session.conversation_id,
        policy_version=str(report.domain.policy_version),
        history_id=report.history_id,
        create_time=timestamp(situation.session.create_time),
        facts=[_fact(fact) for fact in situation.facts],
        artifacts=[reference(version.reference) for version in situation.artifacts],
        provenance=[artifact(version) for version in situation.artifacts],
        explanation=report.explanation,
    )
    if situation.workspace is not None:
        message.workspace.CopyFrom(workspace(situation.workspace))
    if situation.interaction is not None:
        interaction = situation.interaction
        message.plan.interaction_id = interaction.interaction_id
        message.plan.plan_version = interaction.plan_version
        message.plan.decision_number = interaction.decision_number
        message.plan.closed = interaction.closed
        message.plan.tasks.extend(_task(report.domain, task) for task in situation.plan.tasks)
    for action in report.actions:
        message.actions.add(
            tool=action.tool.name,
            task_id=action.task_id,
            allowed=not action.blocks,
            blocks=[block(item) for item in action.blocks],
            title=action.tool.title.localized(report.locale),
            effect=EFFECTS[action.tool.effect],
            explanation=action.explanation,
        )
    return message


def _task(domain: Domain, task: Task) -> session_pb2.TaskView:
    tool = domain.tool(task.tool) if domain.has_tool(task.tool) else None  # an older version of the domain made it
    view = session_pb2.TaskView(
        task_id=task.task_id,
        tool=task.tool,
        state=_STATES[task.state],
        depends_on=sorted(task.dependencies),
        tool_call_id=task.tool_call_id,
    )
    for slot in task.slots.values():
        view.slots.add(
            name=slot.name,
            state=_slot_state(slot.state, slot.fill),
            display=slot.display,
            source=slot.source,
            required=slot.ask or (tool is not None and slot.name in tool.parameters and tool.is_required(slot.name)),
        )
    return view


def _slot_state(state: SlotState, fill: object) -> str:
    if state is SlotState.RESOLVED:
        return "result" if isinstance(fill, ResultFill) else "value"
    return "text" if isinstance(fill, TextFill) else "open"


def _fact(fact: FactView) -> fact_pb2.Fact:
    value = Struct()
    value.update(dict(fact.value))
    message = fact_pb2.Fact(name=fact.name, value=value, source=SOURCE_NUMBERS[fact.source], scope=fact.scope)
    if fact.observed_time is not None:
        message.observed_time.CopyFrom(timestamp(fact.observed_time))
    return message

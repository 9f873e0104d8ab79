"""The step of a CHANGE or EXTERNAL task: policy, validation, revision, approval, call (requirements B5, E1 to E3).

Called by `next_step`. Every way on leads through domain.policy; nothing here allows a call by itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from adapter_service.application.decide.prepare_input import (
    PreparedInput,
    input_base,
    input_target,
    new_call,
    prepare_input,
    readable_input,
    summary_of,
)
from adapter_service.application.decide.turn import Turn
from adapter_service.domain import failure_texts as texts
from adapter_service.domain import policy
from adapter_service.domain.approval import Approval, ApprovalState, Mismatch, Snapshot, World, compare
from adapter_service.domain.artifact import ArtifactVersion, Validation
from adapter_service.domain.decision import (
    Action,
    Blocked,
    CallTools,
    Choose,
    DecisionOutcome,
    RequestApproval,
)
from adapter_service.domain.failure import Stage
from adapter_service.domain.judged import to_be_proven
from adapter_service.domain.plan import Origin, RevisionOffer, Task, TaskSlot, TaskState
from adapter_service.sdk import ApprovalRule, ArtifactFill, ArtifactKind, Domain, Severity, Text, Tool

MOST_REVISIONS = 5
MOST_BLOCKED = 3


def change_step(turn: Turn, task: Task) -> DecisionOutcome | None:
    """What to do about a task whose slots are filled; None where a task was inserted before it."""
    prepared = prepare_input(turn, task)
    if not isinstance(prepared, PreparedInput):
        return prepared
    tool = turn.tool_of(task)
    world = world_of(turn, tool, prepared)
    if world.is_outdated:
        # Whatever was approved here could never pass the claim.
        return turn.fail(
            Stage.POLICY,
            "policy_version_outdated",
            texts.POLICY_OUTDATED,
            helpful_action=texts.POLICY_OUTDATED_HELP,
        )
    mismatch = compare(_approval_of(turn, task), world)
    situation = turn.situation
    unproven = to_be_proven(turn.domain, turn.plan, situation.artifacts, situation.validations, prepared.artifact)
    subject = _subject(turn, tool, unproven, mismatch)
    found = policy.violated(subject)
    if not found:
        return _call(turn, task, prepared)
    rule = found[0]
    approval_id = turn.approval.approval_id if turn.approval is not None else ""
    block = policy.block_of(rule, tool.name, turn.locale, approval_id=approval_id)
    if rule in (policy.INTERACTION_OPEN, policy.ROLE_PERMITS):
        return Blocked(block)
    if rule is not policy.APPROVAL_MISSING or task.blocked == 0:
        turn.blocks.append(block)
    if rule is policy.VALIDATED:
        return _validate_first(turn, task, rule.prerequisite(subject), unproven)
    if rule is policy.VALIDATION_PASSED:
        return _offer_revision(turn, task, rule.prerequisite(subject), unproven)
    if task.blocked >= MOST_BLOCKED:
        return Blocked(block)
    return _request_approval(turn, task, prepared)


def world_of(turn: Turn, tool: Tool, prepared: PreparedInput) -> World:
    """The world as this decision sees it; the claim builds its own in its transaction."""
    artifact = prepared.artifact
    validation = turn.find_validation(artifact.artifact_id) if artifact is not None else None
    return World(
        now=turn.now,
        tool=tool.name,
        tool_version=str(tool.version),
        stored_tool_version=turn.situation.tool_versions.get(tool.name, ""),
        policy_version=str(turn.domain.policy_version),
        stored_policy_version=turn.situation.policy_version,
        input_sha256=prepared.sha256,
        key_used=False,
        artifact_id=artifact.artifact_id if artifact is not None else "",
        artifact_version=artifact.version if artifact is not None else 0,
        artifact_sha256=artifact.sha256 if artifact is not None else "",
        needs_validation=artifact is not None and bool(turn.domain.kind(artifact.kind).validate_tool),
        validation_sha256=validation.sha256 if validation is not None else "",
        validation_passed=validation.passed if validation is not None else None,
    )


def _approval_of(turn: Turn, task: Task) -> Approval | None:
    return turn.approval if turn.plan.approval_task == task.task_id else None


def _subject(turn: Turn, tool: Tool, artifact: ArtifactVersion | None, mismatch: Mismatch | None) -> policy.Subject:
    return policy.Subject(
        tool=tool,
        roles=turn.command.principal.roles,
        closed=False,  # a closed interaction gets no decision at all; the storing transaction checks it
        kind=turn.domain.kind(artifact.kind) if artifact is not None else None,
        validation=turn.find_validation(artifact.artifact_id) if artifact is not None else None,
        mismatch=mismatch,
    )


def _validate_first(turn: Turn, task: Task, tool_name: str, artifact: ArtifactVersion | None) -> DecisionOutcome | None:
    assert artifact is not None  # the rule holds where there is none
    tool = turn.domain.tool(tool_name)
    slot = TaskSlot(tool.validates, ArtifactFill(artifact_id=artifact.artifact_id))
    new = Task(turn.ids("tsk"), tool_name, {slot.name: slot}, origin=Origin.VALIDATION)
    turn.plan = turn.plan.with_new_tasks([new], before=task.task_id)
    return None


def _offer_revision(turn: Turn, task: Task, tool_name: str, artifact: ArtifactVersion | None) -> DecisionOutcome:
    assert artifact is not None  # the rule holds where there is none
    findings = failing_slots(turn.domain, turn.find_validation(artifact.artifact_id), turn.domain.kind(artifact.kind))
    permitted = bool(tool_name) and policy.role_permits(turn.command.principal.roles, turn.domain.tool(tool_name))
    if not permitted or not findings or turn.plan.revisions >= MOST_REVISIONS:
        return turn.fail(
            Stage.POLICY,
            "validation_failed",
            texts.filled(texts.VALIDATION_FAILED, findings=_messages(turn, artifact.artifact_id)),
        )
    tool = turn.domain.tool(tool_name)
    turn.plan = replace(turn.plan, offer=RevisionOffer(tool_name, task.task_id, artifact.artifact_id, artifact.version))
    title, description = tool.title.localized(turn.locale), tool.description.localized(turn.locale)
    return Choose((Action(tool_name, title, description, tool.effect.value),))


def insert_revision(turn: Turn, offer: RevisionOffer) -> None:
    """Put the revise task before the task that needs it; its slots are the failing findings' (requirement B5)."""
    artifact = turn.find_artifact(offer.artifact_id)
    assert artifact is not None  # artifacts are never removed while an interaction is open
    kind = turn.domain.kind(artifact.kind)
    tool = turn.domain.tool(kind.revise_tool)
    slots = {tool.revises: TaskSlot(tool.revises, ArtifactFill(artifact_id=offer.artifact_id))}
    for name, message in failing_slots(turn.domain, turn.find_validation(offer.artifact_id), kind).items():
        slots[name] = TaskSlot(name, ask=True, note=message)
    new = Task(turn.ids("tsk"), tool.name, slots, origin=Origin.REVISION)
    before = offer.task_id if turn.plan.find_task(offer.task_id) is not None else ""
    turn.plan = replace(turn.plan.with_new_tasks([new], before=before), revisions=turn.plan.revisions + 1)


def failing_slots(domain: Domain, validation: Validation | None, kind: ArtifactKind) -> dict[str, Text]:
    """Parameters of the revise tool that the failing findings name, in their order, with the messages."""
    if validation is None or not kind.revise_tool:
        return {}
    parameters = domain.tool(kind.revise_tool).parameters
    found: dict[str, Text] = {}
    for finding in validation.findings:
        if finding.severity == Severity.ERROR.value and finding.slot in parameters:
            found.setdefault(finding.slot, Text(finding.message_en, finding.message_ru))
    return found


def _messages(turn: Turn, artifact_id: str) -> Text:
    validation = turn.find_validation(artifact_id)
    failing = [f for f in validation.findings if f.severity == Severity.ERROR.value] if validation is not None else []
    return Text(" ".join(f.message_en for f in failing), " ".join(f.message_ru for f in failing))


def _request_approval(turn: Turn, task: Task, prepared: PreparedInput) -> RequestApproval:
    tool = turn.tool_of(task)
    turn.end_approval(ApprovalState.STALE)
    rule = tool.approval or ApprovalRule()
    world = world_of(turn, tool, prepared)
    snapshot = Snapshot(
        tool=tool.name,
        tool_version=world.tool_version,
        input_sha256=prepared.sha256,
        policy_version=world.policy_version,
        required_role=rule.role,
        idempotency_key=turn.ids("key"),
        expire_time=turn.now + rule.expires_after,
        artifact_id=world.artifact_id,
        artifact_version=world.artifact_version,
        artifact_sha256=world.artifact_sha256,
        validation_sha256=world.validation_sha256,
    )
    turn.new_approval = Approval(
        digest=snapshot.digest,
        interaction_id=turn.command.interaction_id,
        decision_number=turn.command.decision_number,
        task_id=task.task_id,
        snapshot=snapshot,
        input_bytes=prepared.data,
        state=ApprovalState.OPEN,
    )
    turn.plan = replace(turn.plan, approval_digest=snapshot.digest, approval_task=task.task_id)
    return _announced(turn, turn.new_approval, prepared.readable)


def announce_again(turn: Turn, approval: Approval) -> RequestApproval:
    """The open approval as it was requested: the same snapshot, shown from the stored input bytes."""
    readable = readable_input(turn, turn.domain.tool(approval.snapshot.tool), approval.input_bytes)
    return _announced(turn, approval, readable)


def _announced(turn: Turn, approval: Approval, readable: dict[str, Any]) -> RequestApproval:
    tool = turn.domain.tool(approval.snapshot.tool)
    preview = tool.preview(readable, turn.locale) if tool.preview is not None else ""
    return RequestApproval(
        snapshot=approval.snapshot,
        title=tool.title.localized(turn.locale),
        input_preview=preview or approval.input_bytes.decode("utf-8"),
        change_ref=_change_ref(approval),
        requester_may_approve=(tool.approval or ApprovalRule()).requester_may_approve,
    )


def _change_ref(approval: Approval) -> str:
    """Target and base as they stand in the hashed input; without a declared base the artifact version is it."""
    target, replaced, artifact = input_target(approval.input_bytes), input_base(approval.input_bytes), approval.snapshot
    if replaced is not None:
        return f"{target} from sha256 {replaced}" if replaced else f"{target} from nothing"
    if not artifact.artifact_id:
        return target
    return f"{target} from {artifact.artifact_id} version {artifact.artifact_version} sha256 {artifact.artifact_sha256}"


def _call(turn: Turn, task: Task, prepared: PreparedInput) -> CallTools:
    approval = turn.approval
    assert approval is not None  # the rules do not hold without one
    call = replace(
        new_call(turn, task, prepared),
        # What was approved is what runs: the stored bytes and the approved key, never rebuilt ones.
        input_bytes=approval.input_bytes,
        input_sha256=approval.snapshot.input_sha256,
        idempotency_key=approval.snapshot.idempotency_key,
        approval_id=approval.approval_id,
        approval_digest=approval.digest,
        summary=summary_of(turn, task),
    )
    turn.calls.append(call)
    called = replace(task, state=TaskState.CALLED, tool_call_id=call.tool_call_id)
    # The approval is used up whatever becomes of the call: its key executes or is blocked, once.
    turn.plan = replace(turn.plan.with_task(called), calls=(call.tool_call_id,), approval_digest="", approval_task="")
    return CallTools((call,))

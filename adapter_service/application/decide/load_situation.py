"""Reads from one snapshot of the database what a decision is computed from. Called by `decide` and get_session."""

from __future__ import annotations

from dataclasses import replace

from adapter_service.application.decide.turn import Situation
from adapter_service.application.ports import Transaction
from adapter_service.application.read_set import holds
from adapter_service.domain.artifact import ArtifactVersion
from adapter_service.domain.errors import ToolCallUnknown
from adapter_service.domain.ledger import ExecutionState
from adapter_service.domain.observation import Retry
from adapter_service.domain.plan import Plan
from adapter_service.domain.session import MOST_ARTIFACTS, Interaction, Session
from adapter_service.sdk import ArtifactFill, Domain


def load_situation(
    tx: Transaction,
    session: Session,
    interaction: Interaction | None,
    domain: Domain,
    *,
    workspace_sha256: str | None = None,
    snapshot_id: str = "",
) -> Situation:
    """Session, memory, plan, and what the plan's calls and question refer to.

    `workspace_sha256` is the workspace that the decision is made in; without it the one that the session is at counts.
    """
    plan = tx.interactions.plan(interaction.interaction_id, interaction.plan_version) if interaction else Plan()
    call_ids = [task.tool_call_id for task in plan.tasks if task.tool_call_id]
    issued = {call_id: call for call_id in call_ids if (call := tx.calls.find_issued(call_id)) is not None}
    executions = {call_id: call.execution for call_id, call in issued.items() if call.execution is not None}
    # Tasks that are done name their artifacts.
    made = {
        call_id: version
        for call_id in plan.calls
        if call_id in executions
        and executions[call_id].state is ExecutionState.SUCCEEDED
        and (version := tx.artifacts.made_by(call_id)) is not None
    }
    artifacts = _artifacts(tx, session, plan, made)
    validations = {
        version.artifact_id: found
        for version in artifacts
        if (found := tx.artifacts.find_validation(version.artifact_id, version.version)) is not None
        and holds(tx, domain, found, workspace_sha256)
    }
    question = plan.question
    versions = tx.calls.stored_versions(domain.name)
    return Situation(
        session=session,
        interaction=interaction,
        plan=plan,
        referents=tx.sessions.referents(session.domain_session_id),
        facts=tx.sessions.facts(session.domain_session_id),
        artifacts=artifacts,
        validations=validations,
        executions=executions,
        made=made,
        inputs={call_id: call.call.input_bytes for call_id, call in issued.items()},
        results={call_id: call.result for call_id, call in issued.items() if call.result is not None},
        candidates=(
            tx.interactions.candidates(interaction.interaction_id, question.candidates_of)
            if interaction is not None and question is not None and question.candidates_of
            else ()
        ),
        approval=tx.calls.find_approval(plan.approval_digest) if plan.approval_digest else None,
        policy_version=versions.get(("policy", ""), ""),
        tool_versions={
            tool.name: versions.get(("tool", tool.name), "") for tool in domain.tools if tool.effect.needs_approval
        },
        workspace=tx.workspaces.state(session.domain_session_id) if domain.workspace is not None else None,
        planned_in=interaction.workspace_sha256 if interaction is not None else "",
        knows_snapshot=not snapshot_id or tx.workspaces.is_of(snapshot_id, session.domain_session_id),
    )


def _artifacts(
    tx: Transaction, session: Session, plan: Plan, made: dict[str, ArtifactVersion]
) -> tuple[ArtifactVersion, ...]:
    """The newest artifacts of the session, and those of the plan that are older."""
    newest = tx.artifacts.newest(session.domain_session_id, MOST_ARTIFACTS)
    known = {version.artifact_id for version in newest}
    named = {version.artifact_id for version in made.values()}
    for task in plan.tasks:
        named |= {slot.fill.artifact_id for slot in task.slots.values() if isinstance(slot.fill, ArtifactFill)}
        if task.artifact is not None:
            named.add(task.artifact.artifact_id)
    older = [tx.artifacts.find(artifact_id) for artifact_id in sorted(named - known - {""})]
    mine = [version for version in older if version and version.domain_session_id == session.domain_session_id]
    return (*newest, *mine)


def load_retried(
    tx: Transaction,
    session: Session,
    interaction: Interaction | None,
    retry: Retry,
    domain: Domain,
    *,
    workspace_sha256: str | None = None,
) -> Situation:
    """The situation of a new interaction that takes up an ended one's plan: its tasks with their calls and results.

    Raises ToolCallUnknown where the session has no such interaction.
    """
    ended = tx.interactions.find(retry.interaction_id)
    if ended is None or ended.domain_session_id != session.domain_session_id:
        raise ToolCallUnknown(retry.tool_call_id)
    found = load_situation(tx, session, ended, domain, workspace_sha256=workspace_sha256)
    return replace(found, interaction=interaction, candidates=(), approval=None)

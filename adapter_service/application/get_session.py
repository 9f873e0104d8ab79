"""`GetSession`: diagnosis of a session: plan, facts, artifacts, and every action with the rules that block it.

Called by the servicer. The same rules as in decisions explain what is allowed (domain.policy.RULES).
"""

from __future__ import annotations

from dataclasses import dataclass

from adapter_service.application.decide.load_situation import load_situation
from adapter_service.application.decide.turn import Situation
from adapter_service.application.ports import Clock, Domains, Transaction, UnitOfWork
from adapter_service.domain import policy
from adapter_service.domain.approval import ApprovalState, Mismatch
from adapter_service.domain.artifact import ArtifactVersion
from adapter_service.domain.failure import PolicyBlock
from adapter_service.domain.plan import Plan, TaskState
from adapter_service.domain.session import Principal
from adapter_service.sdk import Domain, Tool
from handrail_rpc.errors import NotFound


@dataclass(frozen=True, slots=True)
class ActionReport:
    """A tool, the task that waits for it ("" if none), and what blocks it now."""

    tool: str
    task_id: str
    blocks: tuple[PolicyBlock, ...]


@dataclass(frozen=True, slots=True)
class SessionReport:
    """Everything GetSession shows; `situation.interaction` is the most recent one."""

    situation: Situation
    history_id: str
    domain: Domain
    actions: tuple[ActionReport, ...]


class GetSession:
    """The use case; one instance a process."""

    def __init__(self, unit_of_work: UnitOfWork, domains: Domains, *, clock: Clock) -> None:
        self._unit_of_work = unit_of_work
        self._domains = domains
        self._clock = clock

    async def run(self, domain_session_id: str, principal: Principal, locale: str) -> SessionReport:
        """The report from the caller's point of view. Raises NotFound for an unknown or erased session."""
        return await self._unit_of_work.read(lambda tx: self._report(tx, domain_session_id, principal, locale))

    def _report(self, tx: Transaction, domain_session_id: str, principal: Principal, locale: str) -> SessionReport:
        session = tx.sessions.find(domain_session_id)
        if session is None or session.erased or session.domain not in self._domains:
            raise NotFound.of("session", domain_session_id)
        domain = self._domains[session.domain]
        interaction = tx.interactions.newest_of(domain_session_id)
        situation = load_situation(tx, session, interaction, domain)
        actions = tuple(_action(domain, tool, situation, principal, locale) for tool in domain.tools)
        return SessionReport(situation, tx.sessions.history_id(), domain, actions)


def _action(domain: Domain, tool: Tool, situation: Situation, principal: Principal, locale: str) -> ActionReport:
    plan = situation.plan
    task = next((t for t in plan.tasks if t.tool == tool.name and t.state is TaskState.OPEN), None)
    artifact = _artifact_for(tool, situation)
    approved = situation.approval is not None and situation.approval.state is ApprovalState.APPROVED
    subject = policy.Subject(
        tool=tool,
        roles=principal.roles,
        closed=_closed(situation, plan),
        kind=domain.kind(artifact.kind) if artifact is not None else None,
        validation=situation.validations.get(artifact.artifact_id) if artifact is not None else None,
        mismatch=None if approved else Mismatch("approval_missing", "approval"),
    )
    blocks = tuple(policy.block_of(rule, tool.name, locale) for rule in policy.violated(subject))
    return ActionReport(tool.name, task.task_id if task is not None else "", blocks)


def _closed(situation: Situation, plan: Plan) -> bool:
    return situation.interaction is not None and situation.interaction.closed and not plan.ended


def _artifact_for(tool: Tool, situation: Situation) -> ArtifactVersion | None:
    kinds = set(tool.artifacts.values())
    return next((version for version in situation.artifacts if version.kind in kinds), None)

"""`GetSession`: diagnosis of a session: plan, facts, artifacts, what its newest interaction is at, and every action
with the rules that block it.

Called by the servicer. The same rules as in decisions explain what is allowed (domain.policy.RULES).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from adapter_service.application.decide.load_situation import load_situation
from adapter_service.application.decide.prepare_input import input_target
from adapter_service.application.decide.turn import Situation
from adapter_service.application.execute.claim import world_of_call
from adapter_service.application.explain_session import explain
from adapter_service.application.ports import Clock, Domains, Transaction, UnitOfWork
from adapter_service.domain import policy
from adapter_service.domain.approval import Approval, ApprovalState, Mismatch, compare
from adapter_service.domain.artifact import ArtifactVersion
from adapter_service.domain.failure import PolicyBlock
from adapter_service.domain.judged import to_be_proven
from adapter_service.domain.ledger import ToolCall
from adapter_service.domain.plan import TaskState
from adapter_service.domain.session import Principal
from adapter_service.sdk import Domain, Tool
from handrail_rpc.errors import NotFound


@dataclass(frozen=True, slots=True)
class ActionReport:
    """A tool, the task that waits for it ("" if none), what blocks it now, and why in the caller's locale."""

    tool: Tool
    task_id: str
    blocks: tuple[PolicyBlock, ...]
    explanation: str


@dataclass(frozen=True, slots=True)
class SessionReport:
    """Everything GetSession shows; `situation.interaction` is the most recent one."""

    situation: Situation
    history_id: str
    domain: Domain
    actions: tuple[ActionReport, ...]
    explanation: str
    locale: str


@dataclass(frozen=True, slots=True)
class _Standing:
    """The open approval: what keeps it from letting its call through besides the verdict, whether this process works
    by versions that are no longer in force, and whether its target is taken by another change.
    """

    tool: str = ""
    approved: bool = False
    mismatch: Mismatch | None = None
    is_outdated: bool = False
    target_busy: bool = False


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
        standing = self._standing(tx, domain, situation.approval)
        return SessionReport(
            situation=situation,
            history_id=tx.sessions.history_id(),
            domain=domain,
            actions=tuple(_action(domain, tool, situation, standing, principal, locale) for tool in domain.tools),
            explanation=explain(domain, situation, standing.mismatch, is_outdated=standing.is_outdated).localized(
                locale
            ),
            locale=locale,
        )

    def _standing(self, tx: Transaction, domain: Domain, approval: Approval | None) -> _Standing:
        """Compared as the claim of its call would compare it, had it been approved."""
        if approval is None:
            return _Standing()
        shown = approval.snapshot
        if not domain.has_tool(shown.tool):
            return _Standing(shown.tool, mismatch=Mismatch("approval_stale", "tool"))
        tool, target = domain.tool(shown.tool), input_target(approval.input_bytes)
        call = ToolCall(
            tool_call_id="",
            interaction_id=approval.interaction_id,
            decision_number=approval.decision_number,
            task_id=approval.task_id,
            tool=tool.name,
            tool_version=tool.version,
            effect=tool.effect,
            idempotent=tool.idempotent,
            idempotency_key=shown.idempotency_key,
            input_bytes=approval.input_bytes,
            input_sha256=shown.input_sha256,
            target=target,
            timeout=tool.timeout,
            summary="",
        )
        as_approved = replace(approval, state=ApprovalState.APPROVED)
        world = world_of_call(tx, domain, tool, call, as_approved, self._clock())
        return _Standing(
            tool=tool.name,
            approved=approval.state is ApprovalState.APPROVED,
            mismatch=compare(as_approved, world),
            is_outdated=world.is_outdated,
            target_busy=bool(target) and tx.calls.target_is_busy(domain.name, target, besides=""),
        )


def _action(
    domain: Domain, tool: Tool, situation: Situation, standing: _Standing, principal: Principal, locale: str
) -> ActionReport:
    plan = situation.plan
    task = next((t for t in plan.tasks if t.tool == tool.name and t.state is TaskState.OPEN), None)
    own = _artifact_for(tool, situation)
    unproven = to_be_proven(domain, plan, situation.artifacts, situation.validations, own)
    mine = standing.tool == tool.name
    missing = Mismatch("approval_missing", "approval")
    subject = policy.Subject(
        tool=tool,
        roles=principal.roles,
        closed=situation.interaction is not None and situation.interaction.closed and not plan.ended,
        kind=domain.kind(unproven.kind) if unproven is not None else None,
        validation=situation.validations.get(unproven.artifact_id) if unproven is not None else None,
        mismatch=(standing.mismatch or (None if standing.approved else missing)) if mine else missing,
        target_busy=mine and standing.target_busy,
    )
    violated = policy.violated(subject)
    blocks = tuple(policy.block_of(rule, tool.name, locale) for rule in violated)
    explanation = policy.explained(tool, violated).localized(locale)
    return ActionReport(tool, task.task_id if task is not None else "", blocks, explanation)


def _artifact_for(tool: Tool, situation: Situation) -> ArtifactVersion | None:
    kinds = set(tool.artifacts.values())
    return next((version for version in situation.artifacts if version.kind in kinds), None)

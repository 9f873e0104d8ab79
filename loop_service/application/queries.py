"""Reading use cases: each checks that the caller may see what it returns. Called by the servicer."""

from __future__ import annotations

import asyncio
from datetime import datetime

from handrail_rpc.context import Caller
from handrail_rpc.errors import HandrailError, NotFound
from loop_service.application.accept import visible_approval, visible_conversation
from loop_service.application.environment import Environment
from loop_service.application.ports import Adapter, DomainDescription
from loop_service.application.store_ports import PendingFilter, PendingRow, Transaction, UnitOfWork
from loop_service.application.views import InteractionView
from loop_service.domain.approval import Approval, ApprovalStatus
from loop_service.domain.conversation import Conversation, Message
from loop_service.domain.interaction import Interaction
from loop_service.domain.run import Run


class Queries:
    def __init__(self, storage: UnitOfWork, env: Environment) -> None:
        self._storage = storage
        self._env = env

    async def conversation(self, conversation_id: str, caller: Caller) -> Conversation:
        return await self._storage.read(lambda tx: visible_conversation(tx, conversation_id, caller))

    async def conversations(
        self, caller: Caller, before: tuple[datetime, str] | None, limit: int
    ) -> list[Conversation]:
        return await self._storage.read(
            lambda tx: tx.conversations.page(caller.tenant, caller.principal, before, limit)
        )

    async def messages(self, conversation_id: str, caller: Caller, after: int, limit: int) -> list[Message]:
        def read(tx: Transaction) -> list[Message]:
            visible_conversation(tx, conversation_id, caller)
            return tx.messages.page(conversation_id, after, limit)

        return await self._storage.read(read)

    async def interaction(self, interaction_id: str, caller: Caller) -> InteractionView:
        def read(tx: Transaction) -> InteractionView:
            return read_interaction(tx, _visible_interaction(tx, interaction_id, caller))

        return await self._storage.read(read)

    async def run(self, run_id: str, caller: Caller) -> Run:
        def read(tx: Transaction) -> Run:
            run = tx.runs.find(run_id)
            conversation = tx.conversations.find(run.conversation_id) if run is not None else None
            if run is None or conversation is None or not conversation.is_visible_to(caller.principal, caller.tenant):
                raise NotFound.of("run", run_id)
            return run

        return await self._storage.read(read)

    async def pending(
        self, wanted: PendingFilter, caller: Caller, after: tuple[datetime, str] | None, limit: int
    ) -> list[PendingRow]:
        return await self._storage.read(lambda tx: tx.pending.page(wanted, caller, after, limit))

    async def approval(self, approval_id: str, caller: Caller) -> Approval:
        """With the call under it, also while that is under way. Raises NotFound for whoever may not see it."""

        def read(tx: Transaction) -> Approval:
            found, _ = visible_approval(tx, approval_id, caller)
            if found.status is ApprovalStatus.APPROVED and not found.tool_call_id:
                calls = tx.steps.calls_of(found.interaction_id)
                found.tool_call_id = next((c.tool_call_id for c in calls if c.approval_id == approval_id), "")
            return found

        return await self._storage.read(read)


class ListDomains:
    """Asks every configured Adapter at once, with a short timeout; one that is away is not available."""

    def __init__(self, adapter: Adapter, env: Environment) -> None:
        self._adapter = adapter
        self._env = env

    async def execute(self, locale: str) -> list[DomainDescription]:
        return list(await asyncio.gather(*(self._describe(domain, locale) for domain in sorted(self._env.domains))))

    async def _describe(self, domain: str, locale: str) -> DomainDescription:
        try:
            data = await self._adapter.describe(domain, locale, self._env.timings.describe_seconds)
        except HandrailError:
            return DomainDescription(domain, b"")
        return DomainDescription(domain, data)


def read_interaction(tx: Transaction, found: Interaction) -> InteractionView:
    """An interaction with what it waits for."""
    question = tx.clarifications.find(found.clarification_id) if found.clarification_id else None
    approval = tx.approvals.find(found.approval_id) if found.approval_id else None
    return InteractionView(found, question, approval)


def _visible_interaction(tx: Transaction, interaction_id: str, caller: Caller) -> Interaction:
    interaction = tx.interactions.find(interaction_id)
    conversation = tx.conversations.find(interaction.conversation_id) if interaction is not None else None
    if interaction is None or conversation is None or not conversation.is_visible_to(caller.principal, caller.tenant):
        raise NotFound.of("interaction", interaction_id)
    return interaction

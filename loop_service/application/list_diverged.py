"""Lists the conversations whose history was lost with a restored database, for an operator. Called by the servicer."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime

from handrail_rpc.context import Caller
from handrail_rpc.errors import HandrailError, NotFound, PermissionDenied, Unavailable
from loop_service.application.environment import Environment
from loop_service.application.ports import Histories
from loop_service.application.store_ports import Transaction, UnitOfWork
from loop_service.domain.conversation import Conversation
from loop_service.domain.interaction import Interaction
from loop_service.domain.permission import OPERATOR
from loop_service.domain.settlement import Settlement


@dataclass(frozen=True, slots=True)
class DivergedConversation:
    """`interaction` is the open one; `unsettled` are calls whose outcome is unknown and that nobody has settled."""

    conversation: Conversation
    interaction: Interaction | None
    unsettled: tuple[Settlement, ...]


def check_operator(caller: Caller) -> None:
    """Raises PermissionDenied for everybody without the role."""
    if not caller.has_role(OPERATOR):
        raise PermissionDenied(
            f"lost histories are looked after by the role {OPERATOR}",
            reason="ROLE_REQUIRED",
            metadata={"required_role": OPERATOR},
        )


class ListDiverged:
    def __init__(self, storage: UnitOfWork, adapters: Histories, env: Environment) -> None:
        self._storage = storage
        self._adapters = adapters
        self._env = env

    async def execute(
        self, caller: Caller, after: tuple[datetime, str] | None, limit: int
    ) -> list[DivergedConversation]:
        """Of the caller's tenant, oldest first. Raises PermissionDenied, and Unavailable naming the domain whose
        Adapter does not say which history it has: a list without it would look complete."""
        check_operator(caller)
        found = await asyncio.gather(*(self._history(domain) for domain in self._env.domains))
        histories = {domain: history_id for domain, history_id in found if history_id}

        def read(tx: Transaction) -> list[DivergedConversation]:
            page = tx.divergence.page(caller.tenant, self._env.history_id, histories, after, limit)
            return [self._described(tx, conversation) for conversation in page]

        return await self._storage.read(read)

    def _described(self, tx: Transaction, conversation: Conversation) -> DivergedConversation:
        active = conversation.active_interaction_id
        return DivergedConversation(
            conversation,
            tx.interactions.find(active) if active else None,
            tuple(tx.divergence.unsettled_calls(conversation.tenant, conversation.conversation_id)),
        )

    async def _history(self, domain: str) -> tuple[str, str]:
        try:
            return domain, await self._adapters.history_id(domain, self._env.timings.describe_seconds)
        except NotFound:
            # Configured, but not offered: nothing in it can have a session.
            return domain, ""
        except HandrailError as error:
            raise Unavailable(
                f"the adapter of the domain {domain} does not answer, so nobody knows which history it has; try again",
                reason="ADAPTER_UNAVAILABLE",
                metadata={"domain": domain},
            ) from error

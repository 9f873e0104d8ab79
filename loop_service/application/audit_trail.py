"""Reads and verifies the audit trail of a conversation (E6), also of a deleted one. Called by the servicer."""

from __future__ import annotations

import asyncio
from functools import partial

from handrail_rpc.audit_chain import Head, Verdict
from handrail_rpc.audit_verifier import ChainVerifier
from handrail_rpc.context import Caller
from handrail_rpc.errors import NotFound
from loop_service.application.store_ports import Transaction, UnitOfWork
from loop_service.domain.audit import AuditRow
from loop_service.domain.permission import may_see_trail

BATCH = 500
"""Rows read and hashed in one transaction: memory stays the same however long the trail is."""


class AuditTrail:
    def __init__(self, storage: UnitOfWork) -> None:
        self._storage = storage

    async def events(
        self, conversation_id: str, interaction_id: str, caller: Caller, after: int, limit: int
    ) -> list[AuditRow]:
        """Rows behind a number, oldest first: of one interaction where that is named, else of the conversation.

        Raises NotFound for what the caller may not see.
        """

        def read(tx: Transaction) -> list[AuditRow]:
            if not interaction_id:
                _check_access(tx, conversation_id, caller)
                return tx.journal.audit_page(conversation_id, "", after, limit)
            found = tx.journal.audit_page("", interaction_id, after, limit)
            # Of a deleted conversation, the interaction's rows are what is left of it.
            first = found or tx.journal.audit_page("", interaction_id, 0, 1)
            interaction = tx.interactions.find(interaction_id)
            if interaction is None and not first:
                raise NotFound.of("interaction", interaction_id)
            owner = interaction.conversation_id if interaction is not None else first[0].conversation_id
            if not _has_access(tx, owner, caller):
                raise NotFound.of("interaction", interaction_id)
            return [row for row in found if row.conversation_id == owner]

        return await self._storage.read(read)

    async def verify(self, conversation_id: str, caller: Caller) -> Verdict:
        """Compute the chain again, from the head down. Raises NotFound for what the caller may not see.

        The head is read with the newest rows; rows written later have higher numbers and are not looked at.
        """

        def begin(tx: Transaction) -> tuple[ChainVerifier, int | None]:
            _check_access(tx, conversation_id, caller)
            verifier = ChainVerifier(tx.journal.audit_head(conversation_id) or Head(0, ""))
            return verifier, _feed(tx, verifier, conversation_id, None)

        verifier, below = await self._storage.read(begin)
        top = verifier.newest.number + 1
        while below is not None:
            below = await self._storage.read(
                partial(_feed, verifier=verifier, conversation_id=conversation_id, below=below)
            )
        verifier.end()
        if verifier.wants_search:
            below = top
            while below is not None:
                below = await self._storage.read(
                    partial(_search, verifier=verifier, conversation_id=conversation_id, below=below)
                )
        # Much damage takes it seconds, for which nothing else may stand still.
        return await asyncio.to_thread(verifier.verdict)


def _feed(tx: Transaction, verifier: ChainVerifier, conversation_id: str, below: int | None) -> int | None:
    """One batch; the number below which the next one begins, None where nothing is left."""
    rows = tx.journal.audit_chain_page(conversation_id, below, BATCH)
    verifier.feed(rows)
    return rows[-1].number if len(rows) == BATCH else None


def _search(tx: Transaction, verifier: ChainVerifier, conversation_id: str, below: int) -> int | None:
    rows = tx.journal.audit_chain_page(conversation_id, below, BATCH)
    verifier.search(rows)
    return rows[-1].number if len(rows) == BATCH else None


def _has_access(tx: Transaction, conversation_id: str, caller: Caller) -> bool:
    conversation = tx.conversations.find(conversation_id)
    return conversation is not None and may_see_trail(caller, conversation.principal, conversation.tenant)


def _check_access(tx: Transaction, conversation_id: str, caller: Caller) -> None:
    if not _has_access(tx, conversation_id, caller):
        raise NotFound.of("conversation", conversation_id)

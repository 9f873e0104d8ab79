"""Ends what a lost history has left open in a conversation, and opens it again where asked to, for an operator.

Called by the servicer. The wish is stored with its audit row and carried out by the run that ends what is open, so it
survives a crash; the answer comes once that has ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from handrail_rpc.context import Caller
from handrail_rpc.errors import NotFound
from loop_service.application.accept import Accepted, Acceptor, CallInfo, claim_if, find_replay
from loop_service.application.cancel_interaction import until_terminal
from loop_service.application.environment import Environment
from loop_service.application.list_diverged import check_operator
from loop_service.application.lost_histories import RECOVERED, stop_as_diverged
from loop_service.application.ports import Feed, Histories
from loop_service.application.store_ports import Transaction, UnitOfWork
from loop_service.application.work import Work
from loop_service.domain.audit import AuditEntry, AuditKind
from loop_service.domain.conversation import AcceptedRequest, Conversation, Divergence
from loop_service.domain.errors import WrongState

METHOD = "RecoverConversation"


@dataclass(frozen=True, slots=True)
class Recovery:
    """Checked in shape. `reopen` False: for good, further messages end as session_diverged too."""

    request_id: str
    body_sha256: str
    conversation_id: str
    reopen: bool


@dataclass(frozen=True, slots=True)
class Recovered:
    conversation: Conversation
    ended_interaction_id: str


class RecoverConversation:
    def __init__(
        self, acceptor: Acceptor, storage: UnitOfWork, feed: Feed, adapters: Histories, env: Environment
    ) -> None:
        self._acceptor = acceptor
        self._storage = storage
        self._feed = feed
        self._adapters = adapters
        self._env = env

    async def execute(self, request: Recovery, call: CallInfo) -> Recovered:
        """Returns once nothing of the lost history is open any more.

        Raises PermissionDenied, NotFound (of another tenant too), RequestIdReused, WrongState (NOT_DIVERGED) for a
        conversation that has lost nothing, Unavailable where its Adapter is away.
        """
        check_operator(call.caller)
        adapter_history = await self._adapter_history(request, call)
        accepted = await self._acceptor.accept(
            lambda tx, now, owner: self._accept(tx, now, owner, request, call, adapter_history),
            name="recover_conversation.accept",
        )
        if accepted.interaction_id:
            await until_terminal(self._storage, self._feed, self._env, accepted)
        found = await self._storage.read(lambda tx: tx.conversations.find(accepted.conversation_id))
        if found is None:
            raise NotFound.of("conversation", request.conversation_id)
        return Recovered(found, accepted.interaction_id)

    async def _adapter_history(self, request: Recovery, call: CallInfo) -> str:
        """The Adapter's current history; "" where what is stored here says enough."""

        def read(tx: Transaction) -> tuple[Conversation, bool]:
            conversation = _of_tenant(tx, request.conversation_id, call.caller)
            known = find_replay(tx, call.scope(METHOD, request.request_id), request.body_sha256)
            return conversation, known is not None

        conversation, replayed = await self._storage.read(read)
        if replayed or self._is_lost(conversation, "") or conversation.domain not in self._env.domains:
            return ""
        return await self._adapters.history_id(conversation.domain, self._env.timings.describe_seconds)

    def _is_lost(self, conversation: Conversation, adapter_history: str) -> bool:
        if conversation.divergence is not Divergence.NONE or conversation.loop_history_id != self._env.history_id:
            return True
        return bool(adapter_history and conversation.history_id) and conversation.history_id != adapter_history

    def _accept(
        self, tx: Transaction, now: datetime, owner: str, request: Recovery, call: CallInfo, adapter_history: str
    ) -> Accepted:
        conversation = _of_tenant(tx, request.conversation_id, call.caller)
        scope = call.scope(METHOD, request.request_id)
        known = find_replay(tx, scope, request.body_sha256)
        if known is not None:
            return Accepted(known)
        if not self._is_lost(conversation, adapter_history):
            raise WrongState(
                "NOT_DIVERGED",
                conversation.conversation_id,
                f"conversation {conversation.conversation_id} belongs to the current histories: nothing is to recover",
                state="current",
            )
        lost_history = conversation.history_id
        active = conversation.active_interaction_id
        interaction = tx.interactions.find(active) if active else None
        entry = AuditEntry(
            active,
            "",
            AuditKind.CONVERSATION_RECOVERED,
            call.caller.principal,
            code="reopen" if request.reopen else "end",
            details={"history_id": lost_history},
        )
        conversation.divergence = Divergence.REOPENING if request.reopen else Divergence.ENDED
        tx.journal.append(conversation, [], [entry], now)
        accepted = AcceptedRequest(
            scope, request.body_sha256, conversation.conversation_id, interaction_id=active if interaction else ""
        )
        tx.requests.insert(accepted, now)
        if interaction is None:
            if request.reopen:
                conversation.reopen(self._env.history_id)
            tx.conversations.save(conversation)
            return Accepted(accepted)
        run = tx.runs.find(interaction.active_run_id) if interaction.active_run_id else None
        work = Work(tx, self._env, conversation, interaction, run, now)
        stop_as_diverged(
            work,
            by=call.caller.principal,
            source=RECOVERED,
            request_id=request.request_id,
            traceparent=call.traceparent,
        )
        step = claim_if(work, owner)
        work.save()
        return Accepted(accepted, step)


def _of_tenant(tx: Transaction, conversation_id: str, caller: Caller) -> Conversation:
    """An operator looks after the conversations of everybody in the tenant, but for deleted ones."""
    conversation = tx.conversations.find(conversation_id)
    if conversation is None or conversation.tenant != caller.tenant or conversation.deletion.hides:
        raise NotFound.of("conversation", conversation_id)
    return conversation

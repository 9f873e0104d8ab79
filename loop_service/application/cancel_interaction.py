"""Ends an interaction at the caller's wish and answers once it has ended (confirm_stop)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from handrail_rpc.errors import NotFound
from loop_service.application.accept import Accepted, Acceptor, CallInfo, claim_if, find_replay
from loop_service.application.environment import Environment
from loop_service.application.ports import Feed
from loop_service.application.stopping import request_stop
from loop_service.application.store_ports import Transaction, UnitOfWork
from loop_service.application.work import Work
from loop_service.domain.conversation import AcceptedRequest
from loop_service.domain.errors import WrongState
from loop_service.domain.failures import TEXTS
from loop_service.domain.interaction import InteractionState, StopKind

METHOD = "CancelInteraction"


@dataclass(frozen=True, slots=True)
class Cancellation:
    request_id: str
    body_sha256: str
    interaction_id: str
    reason: str


class CancelInteraction:
    def __init__(self, acceptor: Acceptor, storage: UnitOfWork, feed: Feed, env: Environment) -> None:
        self._acceptor = acceptor
        self._storage = storage
        self._feed = feed
        self._env = env

    async def execute(self, request: Cancellation, call: CallInfo) -> str:
        """Returns the interaction's id when it is terminal; the wait may be long where the Adapter is away.

        Raises NotFound, RequestIdReused, and WrongState for an interaction that ended in another way before.
        """
        accepted = await self._acceptor.accept(
            lambda tx, now, owner: self._accept(tx, now, owner, request, call), name="cancel_interaction.accept"
        )
        await until_terminal(self._storage, self._feed, self._env, accepted)
        return accepted.interaction_id

    def _accept(self, tx: Transaction, now: datetime, owner: str, request: Cancellation, call: CallInfo) -> Accepted:
        interaction = tx.interactions.find(request.interaction_id)
        conversation = tx.conversations.find(interaction.conversation_id) if interaction else None
        if (
            interaction is None
            or conversation is None
            or not conversation.is_visible_to(call.caller.principal, call.caller.tenant)
        ):
            raise NotFound.of("interaction", request.interaction_id)
        scope = call.scope(METHOD, request.request_id)
        known = find_replay(tx, scope, request.body_sha256)
        if known is not None:
            return Accepted(known)
        if interaction.is_terminal and interaction.state is not InteractionState.CANCELED:
            raise WrongState(
                "INTERACTION_STATE",
                interaction.interaction_id,
                f"interaction {interaction.interaction_id} is already {interaction.state.value}",
                state=interaction.state.value,
            )
        accepted = AcceptedRequest(
            scope,
            request.body_sha256,
            conversation.conversation_id,
            interaction_id=interaction.interaction_id,
        )
        tx.requests.insert(accepted, now)
        if interaction.is_terminal or (interaction.stop is not None and interaction.is_busy):
            return Accepted(accepted)
        run = tx.runs.find(interaction.active_run_id) if interaction.active_run_id else None
        work = Work(tx, self._env, conversation, interaction, run, now)
        request_stop(
            work,
            StopKind.CANCEL,
            by=call.caller.principal,
            reason=request.reason or TEXTS["reason_canceled"].of(call.caller.locale),
            request_id=request.request_id,
            traceparent=call.traceparent,
        )
        step = claim_if(work, owner)
        work.save()
        return Accepted(accepted, step)


async def until_terminal(storage: UnitOfWork, feed: Feed, env: Environment, accepted: AcceptedRequest) -> None:
    """Return once the interaction of an accepted request has ended; that may take long where the Adapter is away."""
    subscription = feed.subscribe(accepted.conversation_id)
    try:
        while True:
            interaction = await storage.read(lambda tx: tx.interactions.find(accepted.interaction_id))
            if interaction is None or interaction.is_terminal:
                return
            subscription.take()
            await subscription.wait(env.timings.watch_poll_seconds)
    finally:
        subscription.close()

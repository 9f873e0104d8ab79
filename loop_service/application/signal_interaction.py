"""Delivers an external signal: it ends a wait for it, or is kept until the interaction waits (soundness: mailbox).

Called by the servicer. The wait looks into the mailbox in the transaction that goes to sleep (act_on), so a signal is
never lost between the two. Each signal is consumed once, the oldest of its name first.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from handrail_rpc.context import Caller
from handrail_rpc.digest import sha256_hex
from handrail_rpc.errors import NotFound, ResourceExhausted
from loop_service.application.accept import Accepted, Acceptor, CallInfo, admit, claim_if, find_replay
from loop_service.application.act_on import clear_wait
from loop_service.application.environment import Environment
from loop_service.application.lifecycle import resume, start_run
from loop_service.application.queries import read_interaction
from loop_service.application.store_ports import Transaction, UnitOfWork
from loop_service.application.views import InteractionView
from loop_service.application.work import Work
from loop_service.domain.audit import AuditKind
from loop_service.domain.conversation import AcceptedRequest, Conversation
from loop_service.domain.errors import WrongState
from loop_service.domain.events import SignalReceived
from loop_service.domain.interaction import Interaction, InteractionState
from loop_service.domain.observation import WakeUp
from loop_service.domain.signal import MOST_KEPT_SIGNALS, SIGNALING_ROLES, KeptSignal

METHOD = "SignalInteraction"


@dataclass(frozen=True, slots=True)
class NewSignal:
    """Checked in shape and normalised. `payload` are the bytes of a Struct, `payload_sha256` of its canonical JSON."""

    request_id: str
    body_sha256: str
    interaction_id: str
    name: str
    payload: bytes
    payload_sha256: str


@dataclass(frozen=True, slots=True)
class Signaled:
    """The interaction afterwards; `owned`: it is the caller's own, who may see all of it."""

    view: InteractionView
    delivered: bool
    owned: bool


class SignalInteraction:
    def __init__(self, acceptor: Acceptor, storage: UnitOfWork, env: Environment) -> None:
        self._acceptor = acceptor
        self._storage = storage
        self._env = env

    async def execute(self, request: NewSignal, call: CallInfo) -> Signaled:
        """Returns once the signal is durable.

        Raises NotFound for whoever may not signal it, RequestIdReused, WrongState for an interaction that has ended,
        ResourceExhausted (SIGNALS_FULL, QUEUE_FULL); then nothing is stored.
        """
        accepted = await self._acceptor.accept(
            lambda tx, now, owner: self._accept(tx, now, owner, request, call), name="signal_interaction.accept"
        )

        def read(tx: Transaction) -> Signaled:
            found = tx.interactions.find(accepted.interaction_id)
            conversation = tx.conversations.find(accepted.conversation_id)
            if found is None or conversation is None:
                raise NotFound.of("interaction", accepted.interaction_id)
            owned = conversation.is_visible_to(call.caller.principal, call.caller.tenant)
            return Signaled(read_interaction(tx, found), bool(accepted.run_id), owned)

        return await self._storage.read(read)

    def _accept(self, tx: Transaction, now: datetime, owner: str, request: NewSignal, call: CallInfo) -> Accepted:
        interaction = tx.interactions.find(request.interaction_id)
        conversation = tx.conversations.find(interaction.conversation_id) if interaction else None
        if interaction is None or conversation is None or not may_signal(conversation, call.caller):
            raise NotFound.of("interaction", request.interaction_id)
        scope = call.scope(METHOD, request.request_id)
        known = find_replay(tx, scope, request.body_sha256)
        if known is not None:
            return Accepted(known)
        _check_open(interaction)
        run = tx.runs.find(interaction.active_run_id) if interaction.active_run_id else None
        work = Work(tx, self._env, conversation, interaction, run, now)
        delivered = _waits_for(interaction, request.name)
        if delivered:
            admit(tx, self._env, owner)
            start_run(work, request_id=request.request_id, traceparent=call.traceparent)
            clear_wait(work)
            resume(work)
            work.observe(WakeUp(request.name, payload=request.payload), kind="wake_up")
        else:
            _keep(work, request)
        work.emit(SignalReceived(request.name, delivered))
        work.audit(
            AuditKind.SIGNAL_RECEIVED,
            actor=call.caller.principal,
            digest=request.payload_sha256,
            code="delivered" if delivered else "kept",
            # A name is the caller's own words: the trail outlives a deletion, so it says them by digest only (E6).
            signal_sha256=sha256_hex(request.name.encode()),
        )
        accepted = AcceptedRequest(
            scope,
            request.body_sha256,
            conversation.conversation_id,
            interaction_id=interaction.interaction_id,
            run_id=work.run.run_id if delivered else "",
        )
        tx.requests.insert(accepted, now)
        step = claim_if(work, owner) if delivered else None
        work.save()
        return Accepted(accepted, step)


def may_signal(conversation: Conversation, caller: Caller) -> bool:
    """The conversation's principal, and within the tenant other systems that hold one of SIGNALING_ROLES.

    Nobody signals an interaction of a deleted conversation.
    """
    if conversation.deletion.hides:
        return False
    if conversation.is_visible_to(caller.principal, caller.tenant):
        return True
    return conversation.tenant == caller.tenant and any(caller.has_role(role) for role in SIGNALING_ROLES)


def _check_open(interaction: Interaction) -> None:
    state = interaction.state.value
    if interaction.is_terminal:
        text = f"interaction {interaction.interaction_id} is already {state}"
    elif interaction.stop is not None:
        text = f"interaction {interaction.interaction_id} is {state} and being ended"
    else:
        return
    raise WrongState("INTERACTION_STATE", interaction.interaction_id, text, state=state)


def _waits_for(interaction: Interaction, name: str) -> bool:
    return interaction.state is InteractionState.WAITING and not interaction.is_busy and interaction.wait_signal == name


def _keep(work: Work, request: NewSignal) -> None:
    interaction = work.interaction
    if interaction.kept_signals >= MOST_KEPT_SIGNALS:
        raise ResourceExhausted(
            f"interaction {interaction.interaction_id} keeps {MOST_KEPT_SIGNALS} signals already, which is the limit",
            reason="SIGNALS_FULL",
            metadata={"limit": str(MOST_KEPT_SIGNALS)},
        )
    work.tx.signals.keep(KeptSignal(interaction.interaction_id, request.name, request.payload, work.now))
    interaction.kept_signals += 1

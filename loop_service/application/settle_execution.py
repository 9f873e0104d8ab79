"""A person's verdict on a call whose outcome is unknown: it happened, it did not, try again (E4, settle_dead).

Called by the servicer. The Adapter is told first: it frees the target, and it knows whether a live attempt could still
change the call. Only then the verdict is recorded here, with everything that follows from it, in one transaction. A
crash between the two is healed by saying it again: the Adapter is idempotent by verdict.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime

from handrail_rpc.context import Caller
from handrail_rpc.errors import (
    FailedPrecondition,
    HandrailError,
    NotFound,
    RemoteFault,
    ResourceExhausted,
    Unavailable,
)
from loop_service.application.accept import Accepted, Acceptor, CallInfo, admit, check_open, claim_if, find_replay
from loop_service.application.environment import Environment
from loop_service.application.lifecycle import begin_retry, new_interaction
from loop_service.application.outcomes import settle_call
from loop_service.application.ports import SettleCall, Settler
from loop_service.application.queries import read_interaction
from loop_service.application.store_ports import Transaction, UnitOfWork
from loop_service.application.views import InteractionView
from loop_service.application.work import Work
from loop_service.domain.audit import AuditKind
from loop_service.domain.conversation import AcceptedRequest, Conversation, Divergence
from loop_service.domain.decision import Outcome
from loop_service.domain.errors import WrongState
from loop_service.domain.events import ExecutionSettled
from loop_service.domain.interaction import Interaction
from loop_service.domain.permission import MAY_SEE_EXECUTION, check_may_settle, permits
from loop_service.domain.settlement import Settlement, Verdict, already_settled

METHOD = "SettleExecution"
_NOT_THERE = frozenset({"TOOL_CALL_NOT_FOUND", "SESSION_NOT_FOUND", "INTERACTION_NOT_FOUND"})


@dataclass(frozen=True, slots=True)
class NewSettlement:
    """Checked in shape and normalised."""

    request_id: str
    body_sha256: str
    interaction_id: str
    tool_call_id: str
    verdict: Verdict
    comment: str


@dataclass(frozen=True, slots=True)
class Settled:
    """The interaction of the call; `owned`: it is the caller's own, who may see all of it."""

    view: InteractionView
    settlement: Settlement
    owned: bool


@dataclass(frozen=True, slots=True)
class _Case:
    settlement: Settlement
    interaction: Interaction
    conversation: Conversation


class SettleExecution:
    def __init__(self, acceptor: Acceptor, storage: UnitOfWork, adapter: Settler, env: Environment) -> None:
        self._acceptor = acceptor
        self._storage = storage
        self._adapter = adapter
        self._env = env

    async def execute(self, request: NewSettlement, call: CallInfo) -> Settled:
        """Returns once the verdict is durable in both services, or what the same verdict recorded before.

        Raises NotFound, PermissionDenied, RequestIdReused, WrongState (another verdict after the first, a call that is
        not unknown or still running, an active interaction in the way of trying again, a lost session),
        ResourceExhausted (QUEUE_FULL) and Unavailable where the Adapter does not answer; then nothing is recorded here.
        """
        case = await self._storage.read(lambda tx: self._to_settle(tx, request, call))
        outcome: bytes | None = None
        if case is not None:
            outcome = await self._tell_adapter(case, request, call)
        await self._acceptor.accept(
            lambda tx, now, owner: self._record(tx, now, owner, request, call, outcome), name="settle_execution.record"
        )
        return await self._storage.read(lambda tx: self._result(tx, request, call.caller))

    def _to_settle(self, tx: Transaction, request: NewSettlement, call: CallInfo) -> _Case | None:
        """What the Adapter is to be told; None where this repeats what is recorded already."""
        case = _find(tx, request, call.caller)
        if find_replay(tx, call.scope(METHOD, request.request_id), request.body_sha256) is not None:
            return None
        check_may_settle(case.settlement.gate, call.caller, request.tool_call_id)
        if case.settlement.verdict is not None:
            if case.settlement.verdict is not request.verdict:
                raise already_settled(case.settlement)
            return None
        if request.verdict is Verdict.TRY_AGAIN:
            _check_can_try_again(tx, case)
        return case

    async def _tell_adapter(self, case: _Case, request: NewSettlement, call: CallInfo) -> bytes | None:
        """The outcome as the Adapter has it from now on; None where its records of the call are lost."""
        if not case.interaction.domain_session_id:
            _check_without_session(request)
            return None
        told = SettleCall(
            request_id=call.request_id,
            domain=case.interaction.domain,
            domain_session_id=case.interaction.domain_session_id,
            interaction_id=request.interaction_id,
            tool_call_id=request.tool_call_id,
            history_id=case.interaction.history_id,
            happened=request.verdict.happened,
            settled_by=call.caller.principal,
            comment=request.comment,
            locale=case.interaction.requester.locale,
        )
        try:
            async with asyncio.timeout(self._env.timings.stop_patience_seconds):
                return await self._adapter.settle(told)
        except (TimeoutError, Unavailable, ResourceExhausted, RemoteFault) as error:
            raise Unavailable(
                "the domain service does not answer, so nothing was settled; try again", reason="ADAPTER_UNAVAILABLE"
            ) from error
        except (FailedPrecondition, NotFound) as error:
            if error.reason != "HISTORY_DIVERGED" and error.reason not in _NOT_THERE:
                raise _refused(error, request.tool_call_id) from error
        _check_without_session(request)
        return None

    def _record(
        self,
        tx: Transaction,
        now: datetime,
        owner: str,
        request: NewSettlement,
        call: CallInfo,
        outcome: bytes | None,
    ) -> Accepted:
        case = _find(tx, request, call.caller)
        settlement = case.settlement
        scope = call.scope(METHOD, request.request_id)
        known = find_replay(tx, scope, request.body_sha256)
        if known is not None:
            return Accepted(known)
        accepted = AcceptedRequest(
            scope,
            request.body_sha256,
            case.conversation.conversation_id,
            interaction_id=request.interaction_id,
        )
        tx.requests.insert(accepted, now)
        if settlement.verdict is request.verdict:
            return Accepted(accepted)
        settlement.settle(request.verdict, call.caller.principal, request.comment, now)
        work = Work(tx, self._env, case.conversation, case.interaction, None, now)
        record = next(c for c in tx.steps.calls_of(request.interaction_id) if c.tool_call_id == request.tool_call_id)
        decoded = self._env.codec.decode_outcome(outcome) if outcome is not None else None
        tx.settlements.put(settlement)
        settle_call(work, record, decoded, happened=request.verdict.happened)
        work.audit(
            AuditKind.EXECUTION_SETTLED,
            actor=call.caller.principal,
            digest=request.body_sha256,
            code=request.verdict.value,
            tool=record.tool,
            tool_call_id=record.tool_call_id,
            approval_id=record.approval_id,
        )
        return self._follow(work, settlement, accepted, request, call, owner)

    def _follow(
        self,
        work: Work,
        settlement: Settlement,
        accepted: AcceptedRequest,
        request: NewSettlement,
        call: CallInfo,
        owner: str,
    ) -> Accepted:
        """The event, and the interaction that tries again where that is wanted."""
        successor = self._successor(work, settlement, owner) if request.verdict is Verdict.TRY_AGAIN else None
        outcome = Outcome.SUCCEEDED if request.verdict.happened else Outcome.FAILED
        work.emit(
            ExecutionSettled(
                settlement.tool_call_id,
                settlement.tool,
                outcome.value,
                call.caller.principal,
                successor.interaction_id if successor is not None else "",
            ),
            outside_run=True,
            request_id=request.request_id,
        )
        step = None
        if successor is not None:
            begin_retry(
                work,
                successor,
                settlement.tool_call_id,
                request_id=request.request_id,
                traceparent=call.traceparent,
            )
            settlement.successor_interaction_id = successor.interaction_id
            settlement.run_id = work.run.run_id
            work.tx.settlements.put(settlement)
            step = claim_if(work, owner)
        work.save()
        return Accepted(accepted, step)

    def _successor(self, work: Work, settlement: Settlement, owner: str) -> Interaction:
        """The interaction that tries again, on behalf of whom the call was made; its root is the old root message."""
        ended = work.interaction
        _check_can_try_again(work.tx, _Case(settlement, ended, work.conversation))
        admit(work.tx, self._env, owner)
        root = work.tx.messages.find(ended.root_message_id)
        if root is None:
            raise NotFound.of("message", ended.root_message_id)
        return new_interaction(self._env, work.conversation, root, ended.requester, work.now)

    def _result(self, tx: Transaction, request: NewSettlement, caller: Caller) -> Settled:
        case = _find(tx, request, caller)
        owned = case.conversation.is_visible_to(caller.principal, caller.tenant)
        return Settled(read_interaction(tx, case.interaction), case.settlement, owned)


def _find(tx: Transaction, request: NewSettlement, caller: Caller) -> _Case:
    """Raises NotFound for what the caller may not see, WrongState for a call that is not unknown."""
    interaction = tx.interactions.find(request.interaction_id)
    conversation = tx.conversations.find(interaction.conversation_id) if interaction is not None else None
    settlement = tx.settlements.find(request.interaction_id, request.tool_call_id)
    if interaction is None or conversation is None or conversation.deletion.hides:
        raise NotFound.of("interaction", request.interaction_id)
    if settlement is not None and permits(MAY_SEE_EXECUTION, settlement.gate, caller):
        return _Case(settlement, interaction, conversation)
    if not conversation.is_visible_to(caller.principal, caller.tenant):
        raise NotFound.of("interaction", request.interaction_id)
    calls = tx.steps.calls_of(request.interaction_id)
    record = next((c for c in calls if c.tool_call_id == request.tool_call_id), None)
    if record is None:
        raise NotFound.of("tool_call", request.tool_call_id)
    state = record.outcome.value if record.outcome is not None else "running"
    raise WrongState(
        "EXECUTION_STATE",
        request.tool_call_id,
        f"tool call {request.tool_call_id} is {state}; only a change whose outcome is unknown can be settled",
        state=state,
    )


def _check_can_try_again(tx: Transaction, case: _Case) -> None:
    """Raises WrongState for an active interaction in the conversation and where the session is not the call's now,
    BeingDeleted for a conversation that is being deleted.
    """
    conversation, interaction = case.conversation, case.interaction
    check_open(conversation)
    active = tx.interactions.find(conversation.active_interaction_id) if conversation.active_interaction_id else None
    if active is not None:
        raise WrongState(
            "INTERACTION_STATE",
            active.interaction_id,
            f"interaction {active.interaction_id} is {active.state.value} in the conversation; the call can be tried "
            "again once that has ended",
            state=active.state.value,
        )
    session = (interaction.domain_session_id, interaction.history_id)
    current = (conversation.domain_session_id, conversation.history_id)
    if session != current or conversation.divergence is not Divergence.NONE:
        raise _session_lost(case.settlement.tool_call_id)


def _check_without_session(request: NewSettlement) -> None:
    """The verdict is recorded here alone. Raises WrongState where the lost records are needed to try again."""
    if request.verdict is Verdict.TRY_AGAIN:
        raise _session_lost(request.tool_call_id)


def _session_lost(tool_call_id: str) -> WrongState:
    return WrongState(
        "SESSION_DIVERGED",
        tool_call_id,
        f"the domain service has lost what tool call {tool_call_id} was made of, so it cannot be tried again; settle "
        "whether it happened, and send a new message",
        state="diverged",
    )


def _refused(error: HandrailError, tool_call_id: str) -> WrongState:
    """The Adapter's reason in the Loop's words: still running, known after all, settled by somebody else before."""
    match error.reason:
        case "ATTEMPT_LIVE":
            text = f"tool call {tool_call_id} is still running and may yet have an effect; settle it once it has ended"
            return WrongState("EXECUTION_RUNNING", tool_call_id, text, state="running")
        case "EXECUTION_SETTLED":
            known = error.metadata
            text = (
                f"tool call {tool_call_id} was already settled as {known.get('outcome', 'settled')} "
                f"by {known.get('settled_by', 'somebody')} at {known.get('settle_time', 'an unknown time')}"
            )
            return WrongState("EXECUTION_SETTLED", tool_call_id, text, state=known.get("outcome", "settled"))
        case "OUTCOME_RECORDED":
            outcome = error.metadata.get("outcome", "known")
            text = f"the domain service knows the outcome of tool call {tool_call_id}: {outcome}; settle it as that"
            return WrongState("EXECUTION_STATE", tool_call_id, text, state=outcome)
        case _:
            text = f"the domain service refuses to settle tool call {tool_call_id} ({error.reason})"
            return WrongState("EXECUTION_STATE", tool_call_id, text, state="refused")

"""What the use cases that queue a run share: the request's replay, who may see a conversation, and the claim at birth.

A run is claimed by this process in the transaction that accepts it, where a worker is free: one commit less.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar

from handrail_rpc.context import Caller
from handrail_rpc.errors import NotFound, ResourceExhausted
from loop_service.application.environment import Environment
from loop_service.application.steps import Step, claim
from loop_service.application.store_ports import Transaction, UnitOfWork
from loop_service.application.work import Work
from loop_service.domain.approval import Approval
from loop_service.domain.conversation import AcceptedRequest, Conversation, RequestScope
from loop_service.domain.deletion import BeingDeleted, Deletion
from loop_service.domain.errors import RequestIdReused
from loop_service.domain.interaction import Requester
from loop_service.domain.permission import MAY_SEE_APPROVAL, permits

T = TypeVar("T")
QUEUE_RETRY = timedelta(seconds=2)
"""When trying again makes sense after QUEUE_FULL."""


class Workers(Protocol):
    """The worker of this process, as the use cases see it."""

    @property
    def owner(self) -> str: ...
    def try_reserve(self) -> bool:
        """Take a free place for a run; False where all are busy: the run then waits in the queue."""

    def release(self) -> None:
        """Give a reserved place back."""

    def start(self, step: Step) -> None:
        """Drive a claimed run on the reserved place. A task of the same interaction is ended first."""

    def wake(self) -> None:
        """Something may be queued or due."""


@dataclass(frozen=True, slots=True)
class CallInfo:
    """Of the RPC being served: caller, request id for events and logs, and the trace to go on with."""

    caller: Caller
    request_id: str
    traceparent: str

    def scope(self, method: str, request_id: str) -> RequestScope:
        return RequestScope(self.caller.tenant, self.caller.principal, method, request_id)

    def requester(self) -> Requester:
        return Requester(
            self.caller.principal,
            self.caller.tenant,
            tuple(sorted(self.caller.roles)),
            self.caller.locale,
        )


@dataclass(frozen=True, slots=True)
class Accepted:
    """`step` is set where the run was claimed at birth; `request` says what the request made."""

    request: AcceptedRequest
    step: Step | None = None


def find_replay(tx: Transaction, scope: RequestScope, body_sha256: str) -> AcceptedRequest | None:
    """The same request as accepted before. Raises RequestIdReused for another body."""
    known = tx.requests.find(scope)
    if known is not None and known.body_sha256 != body_sha256:
        raise RequestIdReused(scope.method)
    return known


def visible_conversation(tx: Transaction, conversation_id: str, caller: Caller) -> Conversation:
    """Raises NotFound for what does not exist and for what belongs to another principal or tenant alike."""
    conversation = tx.conversations.find(conversation_id)
    if conversation is None or not conversation.is_visible_to(caller.principal, caller.tenant):
        raise NotFound.of("conversation", conversation_id)
    return conversation


def visible_approval(tx: Transaction, approval_id: str, caller: Caller) -> tuple[Approval, Conversation]:
    """Raises NotFound for whoever may not see it, and for everybody once its conversation was deleted."""
    approval = tx.approvals.find(approval_id)
    conversation = tx.conversations.find(approval.conversation_id) if approval is not None else None
    if (
        approval is None
        or conversation is None
        or conversation.deletion.hides
        or not permits(MAY_SEE_APPROVAL, approval.gate, caller)
    ):
        raise NotFound.of("approval", approval_id)
    return approval, conversation


def check_open(conversation: Conversation) -> None:
    """Raises BeingDeleted: nothing new begins in a conversation whose deletion was requested."""
    if conversation.deletion is not Deletion.NONE:
        raise BeingDeleted(conversation.conversation_id)


def claim_if(work: Work, owner: str) -> Step | None:
    """Claim the work's queued run for `owner`; an empty owner leaves it queued. Before `work.save`."""
    if not owner:
        return None
    return claim(work, owner, work.now + work.env.timings.lease)


def admit(tx: Transaction, env: Environment, owner: str) -> None:
    """Refuse what would put one more run into a full queue. Raises ResourceExhausted (QUEUE_FULL), nothing is stored.

    Called for new inputs only: a replay, a stop, a timer and what is running are never refused. Where a worker is
    free (`owner`) nothing is queued, and nothing is counted.
    """
    if owner or tx.runs.queued(env.queued_runs) < env.queued_runs:
        return
    raise ResourceExhausted(
        f"{env.queued_runs} runs wait for a free worker already, which is the limit; send it again later",
        reason="QUEUE_FULL",
        retry_after=QUEUE_RETRY,
        metadata={"limit": str(env.queued_runs)},
    )


def first_sequence(work: Work) -> int:
    """Number of the run_started event, once the work is saved; 0 where the work began no run."""
    return work.run.first_sequence if work.has_run else 0


class Acceptor:
    """Runs the accepting transaction of a use case and starts what it claimed, also if the client goes away."""

    def __init__(self, storage: UnitOfWork, env: Environment, workers: Workers) -> None:
        self._storage = storage
        self._env = env
        self._workers = workers
        self._tasks: set[asyncio.Task[Any]] = set()

    async def accept(self, unit: Callable[[Transaction, datetime, str], Accepted], *, name: str) -> AcceptedRequest:
        """`unit` gets the transaction, the time and the owner to claim for ("" where no worker is free).

        `name` is the unit's, as at `UnitOfWork.write`.
        """
        return await self._shielded(self._accept(unit, name))

    async def _accept(self, unit: Callable[[Transaction, datetime, str], Accepted], name: str) -> AcceptedRequest:
        reserved = self._workers.try_reserve()
        owner = self._workers.owner if reserved else ""
        now = self._env.clock.now()
        try:
            accepted = await self._storage.write(lambda tx: unit(tx, now, owner), name=name)
        except BaseException:
            if reserved:
                self._workers.release()
            raise
        if accepted.step is not None:
            self._workers.start(accepted.step)
        else:
            if reserved:
                self._workers.release()
            self._workers.wake()
        return accepted.request

    async def _shielded(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

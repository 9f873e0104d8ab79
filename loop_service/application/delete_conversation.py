"""Deletes a conversation: what is active in it is stopped, then its content is erased in both services.

Called by the servicer, and by worker.eraser for what a crash or an absent Adapter left unfinished. Every step is found
again from the row: requested (nothing new begins; the normal stop ends what is open, confirm_stop) → deleted (nobody
reads it any more) → the Adapter has erased its half → erased. The audit trail stays and says who deleted it and when.

A call whose outcome is unknown refuses the deletion until a person has settled it: what that person decides by is the
content, and its target stays locked until then.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta

from handrail_rpc.errors import HandrailError, NotFound, Unavailable
from handrail_rpc.logging import get_logger
from loop_service.application.accept import Accepted, Acceptor, CallInfo, claim_if, find_replay, visible_conversation
from loop_service.application.environment import Environment
from loop_service.application.ports import Feed, SessionEraser
from loop_service.application.steps import Step
from loop_service.application.stopping import request_stop
from loop_service.application.store_ports import Transaction, UnitOfWork
from loop_service.application.work import Work
from loop_service.domain.audit import AuditEntry, AuditKind
from loop_service.domain.conversation import AcceptedRequest, Conversation
from loop_service.domain.deletion import Deletion, Unsettled
from loop_service.domain.failures import TEXTS
from loop_service.domain.interaction import StopKind

METHOD = "DeleteConversation"
RETRY = timedelta(seconds=5)
"""When a deletion that cannot go on now is taken up again."""

logger = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class DeletionRequest:
    request_id: str
    body_sha256: str
    conversation_id: str


class DeleteConversation:
    def __init__(
        self, acceptor: Acceptor, storage: UnitOfWork, adapter: SessionEraser, feed: Feed, env: Environment
    ) -> None:
        self._acceptor = acceptor
        self._storage = storage
        self._adapter = adapter
        self._feed = feed
        self._env = env
        self._under_way: dict[str, asyncio.Task[datetime]] = {}

    async def execute(self, request: DeletionRequest, call: CallInfo) -> datetime:
        """The time of the deletion, once both services have erased the content.

        Raises NotFound, RequestIdReused, Unsettled while a person has to settle a call, and Unavailable where it cannot
        be finished now: it is then carried on without the caller.
        """
        accepted = await self._acceptor.accept(
            lambda tx, now, owner: self._accept(tx, now, owner, request, call), name="delete_conversation.accept"
        )
        return await self.carry_out(accepted.conversation_id)

    def _accept(self, tx: Transaction, now: datetime, owner: str, request: DeletionRequest, call: CallInfo) -> Accepted:
        scope = call.scope(METHOD, request.request_id)
        known = find_replay(tx, scope, request.body_sha256)
        if known is None:
            conversation = tx.conversations.find(request.conversation_id)
            if conversation is None or conversation.deletion is not Deletion.DELETED:
                conversation = visible_conversation(tx, request.conversation_id, call.caller)
            elif not conversation.is_owned_by(call.caller.principal, call.caller.tenant):
                raise NotFound.of("conversation", request.conversation_id)
        else:
            found = tx.conversations.find(known.conversation_id)
            if found is None:
                raise NotFound.of("conversation", request.conversation_id)
            conversation = found
        step: Step | None = None
        if conversation.deletion is Deletion.NONE:
            # Also for a replay of a request that was refused: what refused it may have been settled since.
            unsettled = tx.erasure.unsettled_calls(conversation.conversation_id)
            if unsettled:
                raise Unsettled(conversation.conversation_id, unsettled)
            conversation.deletion = Deletion.REQUESTED
            conversation.delete_time = now
            conversation.deleted_by = call.caller.principal
            conversation.erase_due = now + RETRY
            step = self._stop(tx, now, owner, conversation, call)
            if step is None:
                tx.conversations.save(conversation)
        if known is None:
            known = AcceptedRequest(scope, request.body_sha256, conversation.conversation_id)
            tx.requests.insert(known, now)
        return Accepted(known, step)

    def _stop(
        self, tx: Transaction, now: datetime, owner: str, conversation: Conversation, call: CallInfo | None
    ) -> Step | None:
        """Record the normal stop of what is open; its run carries it out. The row is saved with it."""
        active = conversation.active_interaction_id
        interaction = tx.interactions.find(active) if active else None
        if interaction is None or interaction.is_terminal or interaction.stop is not None:
            return None
        run = tx.runs.find(interaction.active_run_id) if interaction.active_run_id else None
        work = Work(tx, self._env, conversation, interaction, run, now)
        request_stop(
            work,
            StopKind.CANCEL,
            by=conversation.deleted_by,
            reason=TEXTS["reason_deleted"].of(interaction.requester.locale),
            request_id=self._env.ids.new("req") if call is None else call.request_id,
            traceparent="" if call is None else call.traceparent,
        )
        step = claim_if(work, owner)
        work.save()
        return step

    async def carry_out(self, conversation_id: str) -> datetime:
        """Go on to the end, once for everybody who waits for it. Raises as `execute`; then it is taken up later."""
        task = self._under_way.get(conversation_id)
        if task is None:
            task = asyncio.ensure_future(self._carry_out(conversation_id))
            self._under_way[conversation_id] = task
            task.add_done_callback(lambda _: self._under_way.pop(conversation_id, None))
        return await asyncio.shield(task)

    async def stop(self) -> None:
        """At the drain: what is under way is taken up after the next start."""
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _carry_out(self, conversation_id: str) -> datetime:
        try:
            conversation = await self._until_deleted(conversation_id)
            if conversation.deletion is not Deletion.ERASED:
                await self._erase(conversation)
                await self._cut_log(conversation_id)
            elif conversation.erase_due is not None:
                await self._cut_log(conversation_id)
        except HandrailError:
            await self._put_off(conversation_id)
            raise
        return conversation.delete_time or conversation.create_time

    async def _until_deleted(self, conversation_id: str) -> Conversation:
        """Wait until nothing is active, at most as long as a stop may take; mark it as deleted then."""
        clock, timings = self._env.clock, self._env.timings
        deadline = clock.monotonic() + timings.stop_patience_seconds + timings.settle_first_seconds
        subscription = self._feed.subscribe(conversation_id)
        try:
            while True:
                conversation = await self._storage.write(
                    lambda tx: self._mark(tx, conversation_id), name="delete_conversation.mark"
                )
                if conversation.deletion.hides:
                    return conversation
                left = deadline - clock.monotonic()
                if left <= 0:
                    raise Unavailable(
                        "what was active in the conversation has not ended yet, because the domain service has not "
                        "confirmed it; the deletion goes on by itself",
                        reason="DELETION_PENDING",
                        retry_after=RETRY,
                    )
                subscription.take()
                await subscription.wait(min(left, timings.watch_poll_seconds))
        finally:
            subscription.close()

    def _mark(self, tx: Transaction, conversation_id: str) -> Conversation:
        """Requested → deleted where nothing is active; back to nothing where a call has to be settled first."""
        conversation = tx.conversations.find(conversation_id)
        if conversation is None:
            raise NotFound.of("conversation", conversation_id)
        if conversation.deletion is not Deletion.REQUESTED:
            if conversation.deletion is Deletion.NONE:
                raise Unsettled(conversation_id, tx.erasure.unsettled_calls(conversation_id))
            return conversation
        active = conversation.active_interaction_id
        interaction = tx.interactions.find(active) if active else None
        if interaction is not None and not interaction.is_terminal:
            self._stop(tx, self._env.clock.now(), "", conversation, None)
            return conversation
        refused = bool(tx.erasure.unsettled_calls(conversation_id))
        conversation.deletion = Deletion.NONE if refused else Deletion.DELETED
        if refused:
            conversation.delete_time = conversation.erase_due = None
            conversation.deleted_by = ""
        tx.conversations.save(conversation)
        return conversation

    async def _erase(self, conversation: Conversation) -> None:
        conversation_id = conversation.conversation_id
        try:
            await self._adapter.delete_session(conversation.domain, conversation_id, f"delete-{conversation_id}")
        except HandrailError as refused:
            if refused.reason == "EXECUTION_UNSETTLED":
                logger.error("the domain service has an unsettled call that is not known here", reason=refused.reason)
            raise Unavailable(
                "the domain service has not erased its part yet; the deletion goes on by itself",
                reason="DELETION_PENDING",
                retry_after=RETRY,
            ) from refused
        while await self._storage.write(
            lambda tx: tx.erasure.erase_some(conversation_id), name="delete_conversation.erase"
        ):
            pass
        await self._storage.write(lambda tx: self._finish(tx, conversation_id), name="delete_conversation.finish")

    async def _cut_log(self, conversation_id: str) -> None:
        """The database's log still has what was erased; until it is cut off, the deletion stays due."""
        if await self._storage.truncate_log():
            await self._storage.write(lambda tx: _no_more_due(tx, conversation_id), name="delete_conversation.cut_log")
        else:
            logger.info("a reader held up the truncation of the log; it is tried again")
            await self._put_off(conversation_id)

    def _finish(self, tx: Transaction, conversation_id: str) -> None:
        conversation = tx.conversations.find(conversation_id)
        if conversation is None or conversation.deletion is not Deletion.DELETED:
            return
        conversation.deletion = Deletion.ERASED
        conversation.title, conversation.labels = "", {}
        conversation.oldest_event_time = None
        entry = AuditEntry("", "", AuditKind.CONVERSATION_DELETED, conversation.deleted_by)
        tx.journal.append(conversation, [], [entry], self._env.clock.now())
        tx.conversations.save(conversation)

    async def _put_off(self, conversation_id: str) -> None:
        def note(tx: Transaction) -> None:
            conversation = tx.conversations.find(conversation_id)
            if conversation is not None and conversation.erase_due is not None:
                conversation.erase_due = self._env.clock.now() + RETRY
                tx.conversations.save(conversation)

        await self._storage.write(note, name="delete_conversation.put_off")

    async def take_up(self, most: int = 20) -> datetime | None:
        """Carry on with what is due; returns when the next one is, None without any."""
        now = self._env.clock.now()
        due = await self._storage.read(lambda tx: tx.erasure.due(now, most))
        ended = await asyncio.gather(*(self.carry_out(each) for each in due), return_exceptions=True)
        for conversation_id, result in zip(due, ended, strict=True):
            if isinstance(result, HandrailError):
                logger.warning("a deletion cannot go on yet", conversation_id=conversation_id, reason=result.reason)
            elif isinstance(result, BaseException):
                raise result
        return await self._storage.read(lambda tx: tx.erasure.next_due())


def _no_more_due(tx: Transaction, conversation_id: str) -> None:
    conversation = tx.conversations.find(conversation_id)
    if conversation is not None and conversation.erase_due is not None:
        conversation.erase_due = None
        tx.conversations.save(conversation)

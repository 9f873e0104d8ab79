"""Following events: those of a run until it ends, those of a conversation from a cursor on.

The table is the truth; what the feed hands over in memory is used only where it joins on without a gap. Yields stored
bytes. A reader that falls too far behind is closed with its cursor; the run never waits for it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from datetime import datetime

from handrail_rpc.errors import NotFound, ResourceExhausted, Unavailable
from loop_service.application.accept import CallInfo, visible_conversation
from loop_service.application.environment import Environment
from loop_service.application.ports import Feed, Subscription
from loop_service.application.store_ports import Transaction, UnitOfWork
from loop_service.domain.conversation import AcceptedRequest, Conversation
from loop_service.domain.errors import CursorOutOfRange, KeptRange, check_cursor
from loop_service.domain.events import StoredEvent

BATCH = 256


class StreamEvents:
    def __init__(self, storage: UnitOfWork, feed: Feed, env: Environment) -> None:
        self._storage = storage
        self._feed = feed
        self._env = env

    def subscribe(self, conversation_id: str) -> Subscription:
        """Begin to collect a conversation's events, before the request that makes them is accepted."""
        return self._feed.subscribe(conversation_id)

    async def of_request(
        self, accepted: AcceptedRequest, subscription: Subscription
    ) -> AsyncGenerator[StoredEvent, None]:
        """The events of the run that the request's input is consumed by, from its start to its ending.

        A message that joined a busy interaction is consumed later: nothing comes until then.
        """
        run_id, first = await self._wait_for_run(accepted, subscription)
        after = first - 1
        async with aclosing(self._follow(accepted.conversation_id, after, subscription, run_id)) as events:
            async for event in events:
                yield event
                if event.ends_run:
                    return

    async def watch(
        self,
        conversation_id: str,
        after: int,
        history_id: str,
        call: CallInfo,
        subscription: Subscription,
        live: Callable[[str, int, datetime, str], bytes],
        follow: bool,
    ) -> AsyncGenerator[StoredEvent, None]:
        """Events after the cursor, the live marker, then what comes. Raises NotFound, CursorOutOfRange."""
        conversation = await self._storage.read(lambda tx: visible_conversation(tx, conversation_id, call.caller))
        check_cursor(after, history_id, self._kept(conversation))
        head = conversation.last_sequence
        cursor = after
        while cursor < head:
            batch = await self._read(conversation_id, cursor)
            for event in batch:
                yield event
                cursor = event.sequence
            if not batch:
                break
        marker = live(conversation_id, cursor, self._env.clock.now(), self._env.history_id)
        yield StoredEvent(conversation_id, cursor, "", "live", marker)
        if follow:
            subscription.start_live()
            async with aclosing(self._follow(conversation_id, cursor, subscription, "")) as events:
                async for event in events:
                    yield event

    async def _follow(
        self, conversation_id: str, after: int, subscription: Subscription, run_id: str
    ) -> AsyncGenerator[StoredEvent, None]:
        """Events after `after` as they come; `run_id` picks those of one run (`cursor` still counts every number)."""
        cursor, read_table = after, True
        while True:
            handed = subscription.take()
            joins_on = handed is not None and bool(handed) and handed[0].sequence <= cursor + 1
            if handed is not None and (joins_on or not (handed or read_table)):
                for event in handed:
                    if event.sequence != cursor + 1:
                        continue
                    cursor = event.sequence
                    if not run_id or event.run_id == run_id:
                        yield event
            else:
                # Read unfiltered: a replayed run is over within a few batches, its reader then leaves; picking the
                # run in the query would read on to the end of the conversation.
                while batch := await self._read(conversation_id, cursor):
                    for event in batch:
                        cursor = event.sequence
                        if not run_id or event.run_id == run_id:
                            yield event
                    if len(batch) < BATCH:
                        break
            if subscription.overflowed:
                raise lagging(cursor)
            try:
                read_table = not await subscription.wait(self._env.timings.watch_poll_seconds)
            except Unavailable as drained:
                drained.metadata["cursor"] = str(cursor)
                raise

    async def _wait_for_run(self, accepted: AcceptedRequest, subscription: Subscription) -> tuple[str, int]:
        run_id = accepted.run_id
        if accepted.first_sequence:
            return run_id, accepted.first_sequence
        while not run_id:
            message = await self._storage.read(lambda tx: tx.messages.find(accepted.message_id))
            if message is None:
                raise NotFound.of("message", accepted.message_id)
            run_id = message.run_id
            if not run_id:
                await subscription.wait(self._env.timings.watch_poll_seconds)
                subscription.take()
        wanted = run_id

        def first_of_run(tx: Transaction) -> int:
            run, conversation = tx.runs.find(wanted), tx.conversations.find(accepted.conversation_id)
            if run is None or conversation is None:
                raise NotFound.of("run", wanted)
            if run.first_sequence < conversation.first_sequence:
                raise CursorOutOfRange(
                    f"the events of run {wanted}, from {run.first_sequence} on, are no longer all kept",
                    self._kept(conversation),
                )
            return run.first_sequence

        return run_id, await self._storage.read(first_of_run)

    async def _read(self, conversation_id: str, after: int) -> list[StoredEvent]:
        """The next events after `after`. Raises CursorOutOfRange where retention was faster than this reader."""

        def read(tx: Transaction) -> list[StoredEvent]:
            found = tx.journal.events(conversation_id, after, BATCH)
            if not found or found[0].sequence != after + 1:
                conversation = tx.conversations.find(conversation_id)
                if conversation is not None:
                    if conversation.deletion.hides:
                        raise NotFound.of("conversation", conversation_id)
                    check_cursor(after, "", self._kept(conversation))
            return found

        return await self._storage.read(read)

    def _kept(self, conversation: Conversation) -> KeptRange:
        return KeptRange(conversation.first_sequence, conversation.last_sequence, self._env.history_id)


def lagging(cursor: int) -> ResourceExhausted:
    """The reader fell too far behind; it resumes from `cursor` by WatchConversation."""
    return ResourceExhausted(
        f"this reader fell too far behind; resume with after_sequence {cursor}",
        reason="READER_TOO_SLOW",
        metadata={"cursor": str(cursor)},
    )

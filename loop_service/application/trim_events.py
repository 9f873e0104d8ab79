"""Retention of events by age: the oldest events of a conversation go once they and the runs they belong to are old.

Called by worker.housekeeping. Only the front of a conversation's sequence is removed, up to the first event that has
to stay, so that what is kept has no gap and a cursor is either valid or told to be out of range (stream_events).
Messages, interactions, approvals and the audit trail stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from loop_service.application.environment import Environment
from loop_service.application.store_ports import Transaction, UnitOfWork
from loop_service.domain.run import RunState

BATCH = 200
"""Events looked at and removed in one unit of work: a run's own writes wait no longer than for that."""
_CONVERSATIONS = 50
_LOOK_AGAIN = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class _Cut:
    """What is to go: everything before `first`. `oldest` is when to look again, counted as an event's time."""

    before: int
    first: int
    oldest: datetime


class TrimEvents:
    def __init__(self, storage: UnitOfWork, env: Environment, retention: timedelta) -> None:
        self._storage = storage
        self._env = env
        self._retention = retention

    async def execute(self) -> int:
        """Remove what is older than the retention, in small batches; returns how many events went."""
        cutoff = self._env.clock.now() - self._retention
        removed = 0
        while due := await self._storage.read(lambda tx: tx.conversations.with_events_before(cutoff, _CONVERSATIONS)):
            for conversation_id in due:
                removed += await self._trim(conversation_id, cutoff)
        return removed

    async def _trim(self, conversation_id: str, cutoff: datetime) -> int:
        cut = await self._storage.read(lambda tx: self._find_cut(tx, conversation_id, cutoff))
        if cut is None:
            return 0
        found = cut
        return await self._storage.write(lambda tx: self._remove(tx, conversation_id, found), name="trim_events.trim")

    def _find_cut(self, tx: Transaction, conversation_id: str, cutoff: datetime) -> _Cut | None:
        """Decided on a snapshot, outside the writer: an old event stays old, and an ended run stays ended."""
        conversation = tx.conversations.find(conversation_id)
        if conversation is None:
            return None
        first = oldest = None
        ended: dict[str, bool] = {"": True}
        events = tx.journal.events(conversation_id, conversation.first_sequence - 1, BATCH)
        for event in events:
            time = self._env.codec.event_time(event.data)
            if event.run_id not in ended:
                run = tx.runs.find(event.run_id)
                ended[event.run_id] = run is None or (
                    run.state is RunState.ENDED and (run.end_time is None or run.end_time < cutoff)
                )
            if time >= cutoff or not ended[event.run_id]:
                first, oldest = event.sequence, max(time, cutoff + _LOOK_AGAIN) if time < cutoff else time
                break
            first, oldest = event.sequence + 1, time
        if first is None or oldest is None:
            first, oldest = conversation.last_sequence + 1, cutoff
        return _Cut(conversation.first_sequence, first, oldest)

    def _remove(self, tx: Transaction, conversation_id: str, cut: _Cut) -> int:
        conversation = tx.conversations.find(conversation_id)
        if conversation is None or conversation.first_sequence != cut.before:
            return 0
        if cut.first > cut.before:
            tx.journal.remove_events(conversation_id, cut.first)
            conversation.first_sequence = cut.first
        nothing_left = cut.first > conversation.last_sequence
        conversation.oldest_event_time = None if nothing_left else cut.oldest
        tx.conversations.save(conversation)
        return cut.first - cut.before

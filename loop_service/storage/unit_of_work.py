"""The Loop's unit of work over handrail_storage.Database: stores of one transaction, and what follows its commit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from sqlalchemy import Connection

from handrail_storage import Database
from loop_service.application.ports import Transaction
from loop_service.domain.events import StoredEvent
from loop_service.storage.conversation_stores import ConversationRows, MessageRows, RequestRows
from loop_service.storage.journal_store import JournalRows
from loop_service.storage.open_item_stores import ApprovalRows, ClarificationRows, PendingRows
from loop_service.storage.work_stores import InteractionRows, RunRows, StepRows, TimerRows

T = TypeVar("T")


class SqlTransaction:
    """All stores over one connection."""

    def __init__(self, connection: Connection) -> None:
        self.conversations = ConversationRows(connection)
        self.messages = MessageRows(connection)
        self.requests = RequestRows(connection)
        self.interactions = InteractionRows(connection)
        self.runs = RunRows(connection)
        self.steps = StepRows(connection)
        self.clarifications = ClarificationRows(connection)
        self.approvals = ApprovalRows(connection)
        self.pending = PendingRows(connection)
        self.journal = JournalRows(connection)
        self.timers = TimerRows(connection)


class SqlUnitOfWork:
    """`publish(conversation_id, events)` and `timers_changed()` are called after a commit, in the event loop."""

    def __init__(
        self,
        database: Database,
        publish: Callable[[str, Sequence[StoredEvent]], None],
        timers_changed: Callable[[], None],
    ) -> None:
        self._database = database
        self._publish = publish
        self._timers_changed = timers_changed
        self._writing: set[asyncio.Task[Any]] = set()

    async def write(self, unit: Callable[[Transaction], T]) -> T:
        """Shielded: a canceled caller stops neither the commit nor what follows it."""
        task = asyncio.ensure_future(self._write(unit))
        self._writing.add(task)
        task.add_done_callback(self._written)
        return await asyncio.shield(task)

    def _written(self, task: asyncio.Task[Any]) -> None:
        self._writing.discard(task)
        if not task.cancelled():
            # Nobody else may ask: a refusal of a unit whose caller was canceled is no news.
            task.exception()

    async def _write(self, unit: Callable[[Transaction], T]) -> T:
        def run(connection: Connection) -> tuple[T, list[StoredEvent], bool]:
            transaction = SqlTransaction(connection)
            result = unit(transaction)
            return result, transaction.journal.appended, transaction.timers.changed

        result, appended, timers_changed = await self._database.write(run)
        start = 0
        for index, event in enumerate(appended, start=1):
            last = index == len(appended)
            if last or appended[index].conversation_id != event.conversation_id:
                self._publish(event.conversation_id, appended[start:index])
                start = index
        if timers_changed:
            self._timers_changed()
        return result

    async def read(self, query: Callable[[Transaction], T]) -> T:
        return await self._database.read(lambda connection: query(SqlTransaction(connection)))

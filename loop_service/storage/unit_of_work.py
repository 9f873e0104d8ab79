"""The Loop's unit of work over handrail_storage.Database: stores of one transaction, and what follows its commit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

from sqlalchemy import Connection

from handrail_storage import Database
from loop_service.application.store_ports import Transaction
from loop_service.domain.events import StoredEvent
from loop_service.storage.conversation_stores import ConversationRows, MessageRows, RequestRows
from loop_service.storage.divergence_store import DivergenceRows
from loop_service.storage.erasure_store import ErasureRows
from loop_service.storage.journal_store import JournalRows
from loop_service.storage.open_item_stores import ApprovalRows, ClarificationRows
from loop_service.storage.pending_store import PendingRows
from loop_service.storage.settlement_store import SettlementRows
from loop_service.storage.signal_store import SignalRows
from loop_service.storage.work_stores import InteractionRows, RunRows, StepRows, TimerRows

T = TypeVar("T")
_Written: TypeAlias = tuple[T, list[StoredEvent], bool]
"""The unit's result, the events it stored, and whether it moved a timer."""


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
        self.settlements = SettlementRows(connection)
        self.pending = PendingRows(connection)
        self.journal = JournalRows(connection)
        self.timers = TimerRows(connection)
        self.signals = SignalRows(connection)
        self.divergence = DivergenceRows(connection)
        self.erasure = ErasureRows(connection)


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

    async def write(self, unit: Callable[[Transaction], T], *, name: str = "") -> T:
        """Shielded: a canceled caller stops neither the commit nor what follows it."""

        def run(connection: Connection) -> _Written[T]:
            transaction = SqlTransaction(connection)
            result = unit(transaction)
            return result, transaction.journal.appended, transaction.timers.changed

        written = self._database.submit(run, name=f"loop.{name}" if name else "")
        # Before the caller goes on, for callbacks run in the order in which they were added.
        written.add_done_callback(self._follow_up)
        result, _, _ = await asyncio.shield(written)
        return result

    def _follow_up(self, written: asyncio.Future[_Written[Any]]) -> None:
        # To ask for the exception is to hear of it: a refusal of a unit whose caller was canceled is no news.
        if written.cancelled() or written.exception() is not None:
            return
        _, appended, timers_changed = written.result()
        start = 0
        for index, event in enumerate(appended, start=1):
            last = index == len(appended)
            if last or appended[index].conversation_id != event.conversation_id:
                self._publish(event.conversation_id, appended[start:index])
                start = index
        if timers_changed:
            self._timers_changed()

    async def read(self, query: Callable[[Transaction], T]) -> T:
        return await self._database.read(lambda connection: query(SqlTransaction(connection)))

    async def truncate_log(self) -> bool:
        return await self._database.truncate_log()

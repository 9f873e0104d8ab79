"""`Database`: the port below every unit of work. Stores and composition roots of both services call it.

Units of work are synchronous functions of a SQLAlchemy Connection, so no await on a model or a peer can happen
inside a transaction. SQLite today; the same port fits `AsyncConnection.run_sync(fn)` over asyncpg.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from typing import Self, TypeVar

from sqlalchemy import Connection

from handrail_storage.driver_errors import storage_unavailable, translated
from handrail_storage.history import History, Marker, take_up
from handrail_storage.process_lock import ProcessLock
from handrail_storage.reading import ReadingConnections
from handrail_storage.sqlite_engine import database_path, reader_engine, truncate_log, writer_engine
from handrail_storage.writer import Writer, WriteStats

T = TypeVar("T")

# Threads that read by `read_now` borrow them, too.
MOST_READING = 4

__all__ = ["Database", "WriteStats"]


class Database:
    """An open database of this process alone. Raises StartRefused if another process has it, or for a wrong URL.

    `readers` is the number of threads that `read` uses (2 to 4). `new_history_id` makes the id of a new history: given,
    the database has a history (handrail_storage.history), which is taken up first and kept while it is open.
    """

    def __init__(self, url: str, *, readers: int = 2, new_history_id: Callable[[], str] | None = None) -> None:
        self.path = database_path(url)
        self._history: History | None = None
        self._marker: Marker | None = None
        self._lock = ProcessLock(self.path)
        try:
            with translated():
                self._writer_engine = writer_engine(self.path)
                self._reader_engine = reader_engine(self.path)
                if new_history_id is not None:
                    self._history = take_up(self._writer_engine, self.path, new_history_id)
                    self._marker = Marker(self.path, self._history)
                self._writer = Writer(self._writer_engine, self._marker)
        except BaseException:
            if self._marker is not None:
                self._marker.close()
            self._lock.release()
            raise
        self._readers = ThreadPoolExecutor(max_workers=readers, thread_name_prefix="handrail-reader")
        self._reading = ReadingConnections(self._reader_engine, MOST_READING)
        self._closed = False

    @property
    def history(self) -> History:
        """As it was taken up. Raises RuntimeError for a database that was opened without one."""
        if self._history is None:
            raise RuntimeError("the database was opened without a history")
        return self._history

    def on_trouble(self, tell: Callable[[str], None]) -> None:
        """`tell` gets what keeps the database from being written (a full disk, say) when that begins, and "" when
        writing works again. It is called in the running event loop."""
        loop = asyncio.get_running_loop()

        def hand_over(trouble: str) -> None:
            # A closed loop has nobody left to tell.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(tell, trouble)

        self._writer.on_trouble = hand_over

    @property
    def stats(self) -> WriteStats:
        """Live counters of units and commits (benchmarks, tests)."""
        return self._writer.stats

    async def write(self, unit: Callable[[Connection], T], *, name: str = "") -> T:
        """Run `unit` in the writer's thread, all or nothing, and return its result once it is durable.

        Canceling the awaiting task does not stop the unit. An exception of the unit rolls back this unit alone and is
        raised here; a violated key is UniqueViolation; Unavailable (STORAGE_UNAVAILABLE) for a full disk, a foreign
        lock, a failed commit. The unit must not commit, roll back, or return a live Result. `name` with its service
        ("loop.send_message.accept") names the crash points around its commit (handrail_rpc.crash_points).
        """
        result: T = await self._writer.submit(unit, name)
        return result

    def submit(self, unit: Callable[[Connection], T], *, name: str = "") -> asyncio.Future[T]:
        """`write` without waiting: the future of the result. Raises Unavailable where the database is closed."""
        return self._writer.submit(unit, name)

    async def read(self, query: Callable[[Connection], T]) -> T:
        """Run `query` on one consistent snapshot in a reader's thread; writers never block it. Writing in it fails."""
        if self._closed:
            raise storage_unavailable("the database is closed")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, copy_context().run, self._reading.read, query)

    async def truncate_log(self) -> bool:
        """Cut off the write-ahead log, which still has what was erased; False where a reader held it up: try again."""

        def truncate() -> bool:
            with translated():
                return truncate_log(self.path)

        if self._closed:
            raise storage_unavailable("the database is closed")
        return await asyncio.to_thread(truncate)

    def read_now(self, query: Callable[[Connection], T]) -> T:
        """`read` in the calling thread. For threads that may block, never for an event loop's."""
        return self._reading.read(query)

    async def close(self) -> None:
        """Finish accepted writes, end the threads, close every connection, release the lock. May be called again."""
        await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, self.close_now))

    def close_now(self) -> None:
        """`close` for synchronous callers (commands, tests). Blocks."""
        self._closed = True
        self._writer.close()
        if self._marker is not None:
            self._marker.close()
        self._readers.shutdown(wait=True)
        self._reading.close()
        self._writer_engine.dispose()
        self._reader_engine.dispose()
        self._lock.release()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

"""`Database`: the port below every unit of work. Stores and composition roots of both services call it.

Units of work are synchronous functions of a SQLAlchemy Connection, so no await on a model or a peer can happen
inside a transaction. SQLite today; the same port fits `AsyncConnection.run_sync(fn)` over asyncpg.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Self, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from handrail_storage.driver_errors import storage_unavailable, translate, translated
from handrail_storage.process_lock import ProcessLock
from handrail_storage.sqlite_engine import database_path, reader_engine, writer_engine
from handrail_storage.writer import Writer, WriteStats

T = TypeVar("T")

__all__ = ["Database", "WriteStats"]


class Database:
    """An open database of this process alone. Raises StartRefused if another process has it, or for a wrong URL.

    `readers` is the number of reading connections (2 to 4).
    """

    def __init__(self, url: str, *, readers: int = 2) -> None:
        self.path = database_path(url)
        self._lock = ProcessLock(self.path)
        try:
            with translated():
                self._writer_engine = writer_engine(self.path)
                self._reader_engine = reader_engine(self.path)
                self._writer = Writer(self._writer_engine)
        except BaseException:
            self._lock.release()
            raise
        self._readers = ThreadPoolExecutor(max_workers=readers, thread_name_prefix="handrail-reader")
        self._held = threading.local()
        self._reading: list[Connection] = []
        self._reading_gate = threading.Lock()
        self._closed = False

    @property
    def stats(self) -> WriteStats:
        """Live counters of units and commits (benchmarks, tests)."""
        return self._writer.stats

    async def write(self, unit: Callable[[Connection], T]) -> T:
        """Run `unit` in the writer's thread, all or nothing, and return its result once it is durable.

        Canceling the awaiting task does not stop the unit. An exception of the unit rolls back this unit alone and is
        raised here; a violated key is UniqueViolation; Unavailable (STORAGE_UNAVAILABLE) for a full disk, a foreign
        lock, a failed commit. The unit must not commit, roll back, or return a live Result.
        """
        result: T = await self._writer.submit(unit)
        return result

    async def read(self, query: Callable[[Connection], T]) -> T:
        """Run `query` on one consistent snapshot in a reader's thread; writers never block it. Writing in it fails."""
        if self._closed:
            raise storage_unavailable("the database is closed")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, copy_context().run, self._read, query)

    async def close(self) -> None:
        """Finish accepted writes, end the threads, close every connection, release the lock. May be called again."""
        await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, self.close_now))

    def close_now(self) -> None:
        """`close` for synchronous callers (commands, tests). Blocks."""
        self._closed = True
        self._writer.close()
        self._readers.shutdown(wait=True)
        with self._reading_gate:
            held, self._reading = self._reading, []
        for connection in held:
            connection.close()
        self._writer_engine.dispose()
        self._reader_engine.dispose()
        self._lock.release()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _read(self, query: Callable[[Connection], T]) -> T:
        with translated():
            connection = self._reading_connection()
            try:
                with connection.begin() as snapshot:
                    result = query(connection)
                    snapshot.rollback()
                    return result
            except DBAPIError as error:
                if translate(error) is not error:
                    self._drop_reading_connection()
                raise

    def _reading_connection(self) -> Connection:
        found: Connection | None = getattr(self._held, "connection", None)
        if found is None:
            found = self._reader_engine.connect()
            self._held.connection = found
            with self._reading_gate:
                self._reading.append(found)
        return found

    def _drop_reading_connection(self) -> None:
        """Forget a connection after a fault of the database, so that the next read opens a fresh one."""
        connection: Connection = self._held.connection
        self._held.connection = None
        with self._reading_gate:
            self._reading.remove(connection)
        connection.invalidate()
        connection.close()

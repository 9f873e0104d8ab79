"""The reading connections of an open database: each query on one consistent snapshot, in the calling thread.

Called by `Database` alone. Connections are lent, so that any thread that may block can read (a tool's thread in the
middle of a computation, say) without a connection of its own.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from handrail_storage.driver_errors import storage_unavailable, translate, translated
from handrail_storage.statements import driver_connection

T = TypeVar("T")


class ReadingConnections:
    """At most `most` connections, opened when they are first needed."""

    def __init__(self, engine: Engine, most: int) -> None:
        self._engine = engine
        self._most = most
        self._places = threading.Semaphore(most)
        self._free: list[Connection] = []
        self._closed = False

    def read(self, query: Callable[[Connection], T]) -> T:
        """The query's result. Blocks while all connections are lent, which reads are too short to make long.

        Raises what the query raises, a fault of the database translated; Unavailable once closed.
        """
        with translated(), self._places:
            if self._closed:
                raise storage_unavailable("the database is closed")
            try:
                connection = self._free.pop()
            except IndexError:
                connection = self._engine.connect()
            try:
                result = _on_a_snapshot(connection, query)
            except BaseException as error:
                if isinstance(error, DBAPIError | sqlite3.Error) and translate(error) is not error:
                    # After a fault of the database the next read opens a fresh one.
                    connection.invalidate()
                    connection.close()
                else:
                    self._free.append(connection)
                raise
            self._free.append(connection)
            return result

    def close(self) -> None:
        """Wait for the reads that run, and close every connection. May be called again."""
        for _ in range(self._most):
            self._places.acquire()
        self._closed = True
        while self._free:
            self._free.pop().close()
        self._places.release(self._most)


def _on_a_snapshot(connection: Connection, query: Callable[[Connection], T]) -> T:
    """Begun and ended on the driver: SQLAlchemy's own way costs more than a short read."""
    driver = driver_connection(connection)
    driver.execute("BEGIN")
    try:
        return query(connection)
    finally:
        if connection.in_transaction():
            connection.rollback()  # the query executed by SQLAlchemy, which joined the transaction
        elif driver.in_transaction:
            driver.execute("ROLLBACK")

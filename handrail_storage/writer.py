"""The one thread that writes: whole units of work, a savepoint each, one durable commit for up to 64 of them.

`Database.write` submits; nobody else. A unit's future resolves only after the commit that contains it
(soundness.md: durable means the outer commit of a group, never its savepoint).
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context, copy_context
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine import RootTransaction
from sqlalchemy.exc import SQLAlchemyError

from handrail_storage.driver_errors import storage_unavailable, translate

MOST_UNITS_PER_COMMIT = 64


@dataclass(slots=True)
class _Unit:
    run: Callable[[Connection], Any]
    context: Context
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None


@dataclass(slots=True)
class WriteStats:
    """Counted since the database was opened: units committed, commits made, units rolled back."""

    units: int = 0
    commits: int = 0
    failed_units: int = 0


class UnitMisuse(RuntimeError):
    """A unit of work ended its transaction itself; the whole group was rolled back."""


class Writer:
    """Owns the writing connection."""

    def __init__(self, engine: Engine) -> None:
        self.stats = WriteStats()
        self._engine = engine
        self._queue: queue.SimpleQueue[_Unit | None] = queue.SimpleQueue()
        self._closing = False
        self._gate = threading.Lock()
        self._committing = False
        event.listen(engine, "commit", self._refuse_foreign_commit)
        self._connection = engine.connect()
        self._thread = threading.Thread(target=self._work, name="handrail-writer", daemon=True)
        self._thread.start()

    def submit(self, run: Callable[[Connection], Any]) -> asyncio.Future[Any]:
        """Queue a unit; it runs whether or not the future is awaited or canceled. Raises Unavailable once closed."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        with self._gate:
            if self._closing:
                raise storage_unavailable("the database is closed")
            self._queue.put(_Unit(run, copy_context(), loop, future))
        return future

    def close(self) -> None:
        """Finish what was accepted, then end the thread and the connection. Blocks; may be called again."""
        with self._gate:
            if not self._closing:
                self._closing = True
                self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        ended = False
        while not ended:
            first = self._queue.get()
            if first is None:
                break
            group = [first]
            while len(group) < MOST_UNITS_PER_COMMIT:
                try:
                    following = self._queue.get_nowait()
                except queue.Empty:
                    break
                if following is None:
                    ended = True
                    break
                group.append(following)
            self._run_group(group)
            _resolve(group)
        self._connection.close()

    def _run_group(self, group: list[_Unit]) -> None:
        self._committing = False
        try:
            if self._connection.closed:
                # The last fault closed it, and there was no opening another at that moment.
                self._connection = self._engine.connect()
            root = self._connection.begin()
            try:
                for unit in group:
                    self._run_unit(unit, root)
                self._committing = True
                root.commit()
            except BaseException:
                self._abandon(root)
                raise
        except BaseException as error:  # noqa: BLE001 - every unit's caller gets the cause
            cause = translate(error)
            for unit in group:
                unit.error = unit.error or cause
        failed = sum(1 for unit in group if unit.error is not None)
        self.stats.failed_units += failed
        if failed == len(group):
            return
        self.stats.units += len(group) - failed
        self.stats.commits += 1

    def _run_unit(self, unit: _Unit, root: RootTransaction) -> None:
        driver = self._driver()
        driver.execute("SAVEPOINT unit")
        try:
            unit.result = unit.context.run(unit.run, self._connection)
        except BaseException as error:  # noqa: BLE001 - handed to the unit's caller
            unit.error = translate(error)
        if self._connection.get_transaction() is not root or not root.is_active or not driver.in_transaction:
            # Either the unit committed or rolled back by itself, or SQLite gave the whole transaction up (disk full).
            raise unit.error or UnitMisuse("a unit of work must not commit or roll back; raise to undo it")
        while (nested := self._connection.get_nested_transaction()) is not None:
            # Left open, also by a unit that failed, it would meet the next unit's statements.
            nested.rollback()
            unit.error = unit.error or UnitMisuse("a unit of work left a nested transaction open")
        if unit.error is not None:
            driver.execute("ROLLBACK TO unit")
        driver.execute("RELEASE unit")

    def _refuse_foreign_commit(self, _connection: Connection) -> None:
        if not self._committing:
            # It would make units durable whose callers may still be told of a failure.
            raise UnitMisuse("a unit of work must not commit; it is committed with its group")

    def _driver(self) -> Any:
        return self._connection.connection.driver_connection

    def _abandon(self, root: RootTransaction) -> None:
        """Bring the connection back to no transaction; a broken one is replaced."""
        try:
            root.close()
            if self._connection.get_transaction() is not None:
                self._connection.rollback()
            if self._driver().in_transaction:
                self._driver().rollback()
        except SQLAlchemyError:
            self._connection.invalidate()
            self._connection.close()
            self._connection = self._engine.connect()


def _resolve(group: list[_Unit]) -> None:
    """Wake the callers, one hop for each event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Unit]] = {}
    for unit in group:
        by_loop.setdefault(unit.loop, []).append(unit)
    for loop, units in by_loop.items():
        # A closed loop has nobody left to tell (and may close at this very moment); what was committed stays committed.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, units)


def _settle(units: list[_Unit]) -> None:
    for unit in units:
        if unit.future.done():
            continue
        if unit.error is None:
            unit.future.set_result(unit.result)
        elif isinstance(unit.error, StopIteration):
            unit.future.set_exception(RuntimeError("a unit of work raised StopIteration"))
        else:
            unit.future.set_exception(unit.error)

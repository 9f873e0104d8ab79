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

from handrail_rpc import crash_points
from handrail_rpc.errors import Unavailable
from handrail_storage.driver_errors import STORAGE_UNAVAILABLE, storage_unavailable, translate
from handrail_storage.history import ADVANCE, Marker

MOST_UNITS_PER_COMMIT = 64
_PROBE_SECONDS = 1.0
"""While writing does not work: how often it is tried although nobody asks, so that health tells the truth."""


@dataclass(slots=True)
class _Unit:
    run: Callable[[Connection], Any]
    context: Context
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    name: str = ""
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

    def __init__(self, engine: Engine, marker: Marker | None = None) -> None:
        self.stats = WriteStats()
        self.on_trouble: Callable[[str], None] = _ignore
        self._marker = marker
        self._trouble = ""
        self._engine = engine
        self._queue: queue.SimpleQueue[_Unit | None] = queue.SimpleQueue()
        self._closing = False
        self._gate = threading.Lock()
        self._committing = False
        event.listen(engine, "commit", self._refuse_foreign_commit)
        self._connection = engine.connect()
        self._thread = threading.Thread(target=self._work, name="handrail-writer", daemon=True)
        self._thread.start()

    def submit(self, run: Callable[[Connection], Any], name: str = "") -> asyncio.Future[Any]:
        """Queue a unit; it runs whether or not the future is awaited or canceled. Raises Unavailable once closed."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        with self._gate:
            if self._closing:
                raise storage_unavailable("the database is closed")
            self._queue.put(_Unit(run, copy_context(), loop, future, name))
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
            try:
                first = self._queue.get(timeout=_PROBE_SECONDS if self._trouble and self._marker else None)
            except queue.Empty:
                self._run_group([])
                continue
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
        """Run and commit a group. While writing does not work, any group moves the position, an empty one too: that
        tells whether it works again."""
        self._committing = False
        moved, trouble = False, ""
        try:
            if self._connection.closed:
                # The last fault closed it, and there was no opening another at that moment.
                self._connection = self._engine.connect()
            root = self._connection.begin()
            try:
                before = self._driver().total_changes
                for unit in group:
                    self._run_unit(unit, root)
                if self._marker is not None and (self._trouble or self._driver().total_changes != before):
                    # Rolled back units count too, which does no harm: the position only has to rise.
                    self._driver().execute(ADVANCE)
                    moved = True
                if crash_points.chosen:
                    _reach(group, "before_commit")
                self._committing = True
                root.commit()
                if moved and self._marker is not None:
                    self._marker.advanced()
                if crash_points.chosen:
                    _reach(group, "after_commit")
            except BaseException:
                self._abandon(root)
                raise
        except BaseException as error:  # noqa: BLE001 - every unit's caller gets the cause
            cause = translate(error)
            trouble = _trouble_of(cause)
            for unit in group:
                unit.error = unit.error or cause
        trouble = next((text for unit in group if (text := _trouble_of(unit.error))), trouble)
        if trouble or moved:
            self._note_trouble(trouble)
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

    def _note_trouble(self, trouble: str) -> None:
        """Tell when writing stops to work, and when it works again (""); not each time."""
        changed = bool(trouble) != bool(self._trouble)
        self._trouble = trouble
        if changed:
            self.on_trouble(trouble)

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
        except Exception:  # noqa: BLE001 - whatever a broken connection raises, SQLAlchemy's or the driver's
            self._connection.invalidate()
            self._connection.close()
            self._connection = self._engine.connect()


def _ignore(_trouble: str) -> None:
    """Nobody wants to know."""


def _trouble_of(error: BaseException | None) -> str:
    """What keeps the database from being written, if that is what the error says."""
    return error.message if isinstance(error, Unavailable) and error.reason == STORAGE_UNAVAILABLE else ""


def _reach(group: list[_Unit], moment: str) -> None:
    """The crash points of the group's units: between their savepoints and the commit, or after it and before any
    caller is told."""
    for unit in group:
        if unit.name and unit.error is None:
            crash_points.reach(f"{unit.name}.{moment}")


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

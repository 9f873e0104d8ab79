"""Reading in the calling thread: snapshots, lent connections, faults, the end."""

from __future__ import annotations

import asyncio
import threading

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from handrail_rpc.errors import Unavailable
from handrail_storage import Database, Statement
from handrail_storage.database import MOST_READING
from tests.unit.storage.writing import ITEM, ignore, insert, names

SECONDS = 10
NAMES = Statement(sa.select(ITEM.c.name).order_by(ITEM.c.name))


async def test_a_read_sees_one_snapshot_by_either_way_to_the_driver(db: Database) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def twice(connection: Connection) -> tuple[list[str], list[str], list[str]]:
        first = NAMES.scalars(connection)
        begun.set()
        go_on.wait(SECONDS)
        return first, NAMES.scalars(connection), names(connection)

    await db.write(insert("early"))
    reading = asyncio.create_task(asyncio.to_thread(db.read_now, twice))
    await asyncio.to_thread(begun.wait, SECONDS)
    await db.write(insert("late"))
    go_on.set()
    assert await reading == (["early"], ["early"], ["early"])
    assert db.read_now(names) == db.read_now(NAMES.scalars) == ["early", "late"]


async def test_more_threads_than_connections_take_turns(db: Database) -> None:
    most, now, gate = 0, 0, threading.Lock()

    def query(connection: Connection) -> list[str]:
        nonlocal most, now
        with gate:
            now += 1
            most = max(most, now)
        found = [name for _ in range(20) for name in names(connection)]
        with gate:
            now -= 1
        return found

    await db.write(insert("a"))
    found = await asyncio.gather(*(asyncio.to_thread(db.read_now, query) for _ in range(40)))
    assert found == [["a"] * 20] * 40
    assert 1 <= most <= MOST_READING


async def test_a_query_that_fails_ends_its_snapshot(db: Database) -> None:
    def fail(connection: Connection) -> None:
        names(connection)
        raise LookupError("x")

    for _ in range(2 * MOST_READING):
        with pytest.raises(LookupError):
            db.read_now(fail)
    await db.write(insert("after"))
    assert db.read_now(names) == ["after"]


async def test_reading_never_writes(db: Database) -> None:
    with pytest.raises(Unavailable):
        db.read_now(insert("x"))
    with pytest.raises((Unavailable, OperationalError)):
        db.read_now(lambda connection: Statement(sa.delete(ITEM)).execute(connection))
    assert db.read_now(names) == []


async def test_a_closed_database_is_not_read(db: Database) -> None:
    assert db.read_now(ignore) is None
    await db.close()
    with pytest.raises(Unavailable):
        db.read_now(names)

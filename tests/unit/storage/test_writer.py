"""What must not end the writer's thread or harm another unit: a savepoint left open, a loop that is gone, a fault that
stays for a moment."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import suppress

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection

from handrail_rpc.errors import NotFound
from handrail_storage import Database
from tests.unit.storage.writing import Gate, behind_gate, insert, names


async def test_a_savepoint_left_open_by_a_failing_unit_harms_no_other(db: Database) -> None:
    def unit(connection: Connection) -> None:
        for name in ("outer", "inner"):
            connection.begin_nested()
            insert(name)(connection)
        raise NotFound.of("thing", "x")

    before, failing, after = await behind_gate(db, [insert("a"), unit, insert("b")])
    results = await asyncio.gather(before, failing, after, return_exceptions=True)
    assert [type(result) for result in results] == [type(None), NotFound, type(None)]
    assert await db.read(names) == ["a", "b"]


async def test_a_caller_whose_loop_is_gone_does_not_end_the_writer(db: Database) -> None:
    gate = Gate()

    async def leave() -> None:
        await asyncio.wait({asyncio.ensure_future(db.write(gate))}, timeout=0)

    def elsewhere() -> None:
        with suppress(asyncio.CancelledError):
            asyncio.run(leave())

    held = asyncio.to_thread(elsewhere)
    await held
    gate.open.set()
    await asyncio.wait_for(db.write(insert("after")), 10)
    assert await db.read(names) == ["after"]


async def test_a_connection_that_cannot_be_replaced_at_once_is_replaced_later(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = db._writer._engine

    def unit(connection: Connection) -> None:
        driver = connection.connection.driver_connection
        assert driver is not None
        driver.close()

    def away() -> Connection:
        raise sa.exc.OperationalError("connect", {}, sqlite3.OperationalError("unable to open database file"))

    with monkeypatch.context() as patch:
        patch.setattr(engine, "connect", away)
        for each in (unit, insert("during")):
            with pytest.raises((sa.exc.SQLAlchemyError, sqlite3.Error)):
                await db.write(each)
    await db.write(insert("after"))
    assert await db.read(names) == ["after"]

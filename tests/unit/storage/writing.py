"""Two small tables, units of work on them, and a gate that holds the writer; for the tests of `Database`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import sqlalchemy as sa
from sqlalchemy import Connection

from handrail_storage import Database

METADATA = sa.MetaData()
COUNTER = sa.Table("counter", METADATA, sa.Column("id", sa.Integer, primary_key=True), sa.Column("n", sa.Integer))
ITEM = sa.Table("item", METADATA, sa.Column("name", sa.Text, primary_key=True))


def ignore(_: object) -> None:
    return None


def insert(name: str) -> Callable[[Connection], None]:
    return lambda connection: ignore(connection.execute(sa.insert(ITEM).values(name=name)))


def names(connection: Connection) -> list[str]:
    return list(connection.scalars(sa.select(ITEM.c.name).order_by(ITEM.c.name)))


class Gate:
    """A unit that keeps the writer busy until the test lets it go, so that what follows forms one group."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.open = threading.Event()

    def __call__(self, connection: Connection) -> None:
        self.entered.set()
        assert self.open.wait(20)


async def behind_gate(db: Database, units: list[Callable[[Connection], object]]) -> list[asyncio.Task[object]]:
    """Queue `units` behind a running one; they share the next commit (if there are at most 64)."""
    gate = Gate()
    held = asyncio.ensure_future(db.write(gate))
    assert await asyncio.to_thread(gate.entered.wait, 20)
    tasks = [asyncio.ensure_future(db.write(unit)) for unit in units]
    await asyncio.gather(*(asyncio.to_thread(int) for _ in range(2)))
    gate.open.set()
    await held
    return tasks

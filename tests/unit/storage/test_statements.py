"""Statements that are compiled once: the same rows as through SQLAlchemy, and only what changed is written."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection

from handrail_storage import Database, KeyedTable, Statement, UniqueViolation
from handrail_storage.statements import driver_connection
from tests.unit.storage.writing import ignore

_METADATA = sa.MetaData()
_THING = sa.Table(
    "thing",
    _METADATA,
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("size", sa.BigInteger, nullable=False, default=7),
    sa.Column("data", sa.LargeBinary, nullable=False, default=b""),
    sa.Column("shut", sa.Boolean, nullable=False, default=False),
    sa.Column("note", sa.Text),
)
_INSERT = Statement(sa.insert(_THING))
_OF_KIND = Statement(
    sa.select(_THING)
    .where(_THING.c.kind == sa.bindparam("kind"), _THING.c.shut.is_(False), _THING.c.size > 1)
    .order_by(_THING.c.name)
    .limit(sa.bindparam("most"))
)
_COUNT = Statement(sa.select(sa.func.count()).select_from(_THING))
_KEYED = KeyedTable(_THING)
_WHOLE = {"kind": "box", "name": "a", "size": 3, "data": b"\x00\xff", "shut": False, "note": None}


@pytest.fixture
async def things(db: Database) -> Database:
    await db.write(_METADATA.create_all)
    return db


def _written(connection: Connection, work: Any) -> list[str]:
    """The statements that `work` executes, with their values, as SQLite saw them."""
    seen: list[str] = []
    driver = driver_connection(connection)
    driver.set_trace_callback(seen.append)
    try:
        work()
    finally:
        driver.set_trace_callback(None)
    return seen


async def test_an_insert_takes_the_defaults_for_what_is_left_out(things: Database) -> None:
    await things.write(lambda c: _INSERT.execute(c, {"kind": "box", "name": "a"}))
    row = await things.read(lambda c: c.execute(sa.select(_THING)).mappings().one())
    assert dict(row) == {"kind": "box", "name": "a", "size": 7, "data": b"", "shut": False, "note": None}


async def test_the_rows_are_those_of_sqlalchemy(things: Database) -> None:
    rows = [{**_WHOLE, "name": name, "size": size} for name, size in (("c", 5), ("a", 3), ("b", 1))]
    await things.write(lambda c: _INSERT.execute_many(c, rows))
    wanted = {"kind": "box", "most": 2}
    found = await things.read(lambda c: _OF_KIND.all(c, wanted))
    through_core = await things.read(lambda c: c.execute(_OF_KIND.core, wanted).mappings().all())  # type: ignore[call-overload]
    assert found == [dict(each) for each in through_core]
    assert [each["name"] for each in found] == ["a", "c"]
    assert await things.read(lambda c: _OF_KIND.first(c, {**wanted, "kind": "none"})) is None
    assert await things.read(_COUNT.scalar) == 3
    assert await things.read(_COUNT.scalars) == [3]


async def test_a_missing_parameter_is_an_error_and_not_null(things: Database) -> None:
    with pytest.raises(KeyError):
        await things.read(lambda c: _OF_KIND.all(c, {"kind": "box"}))


async def test_a_text_that_depends_on_its_parameters_is_refused(things: Database) -> None:
    listed = Statement(sa.select(_THING).where(_THING.c.name.in_(sa.bindparam("names", expanding=True))))
    with pytest.raises(ValueError, match="compiled once"):
        await things.read(lambda c: listed.all(c, {"names": ["a"]}))


async def test_a_violated_key_is_told_as_such(things: Database) -> None:
    await things.write(lambda c: _INSERT.execute(c, _WHOLE))
    with pytest.raises(UniqueViolation):
        await things.write(lambda c: _INSERT.execute(c, _WHOLE))


async def test_it_is_part_of_the_unit_of_work(things: Database) -> None:
    def half(connection: Connection) -> None:
        _INSERT.execute(connection, _WHOLE)
        raise LookupError

    with pytest.raises(LookupError):
        await things.write(half)
    assert await things.read(_COUNT.scalar) == 0


async def test_only_changed_columns_are_written(things: Database) -> None:
    await things.write(lambda c: _KEYED.rows(c).put(_WHOLE))

    def change(connection: Connection) -> tuple[list[str], list[str]]:
        rows = _KEYED.rows(connection)
        row = rows.find("box", "a")
        assert row is not None
        same = _written(connection, lambda: rows.put(dict(row)))
        return same, _written(connection, lambda: rows.put({**row, "size": 4, "shut": True}))

    same, changed = await things.write(change)
    assert same == []
    assert changed == ["UPDATE thing SET size=4, shut=1 WHERE thing.kind = 'box' AND thing.name = 'a'"]
    found = await things.read(lambda c: _KEYED.rows(c).find("box", "a"))
    assert found == {**_WHOLE, "size": 4, "shut": True}


async def test_a_row_that_was_not_read_is_written_whole(things: Database) -> None:
    await things.write(lambda c: _KEYED.rows(c).put({**_WHOLE, "note": "old"}))
    await things.write(lambda c: _KEYED.rows(c).put(_WHOLE))
    assert await things.read(lambda c: _KEYED.rows(c).find("box", "a")) == _WHOLE


async def test_what_another_statement_changed_is_written_again(things: Database) -> None:
    def unit(connection: Connection) -> None:
        rows = _KEYED.rows(connection)
        rows.put(_WHOLE)
        rows.forget()
        ignore(connection.execute(sa.update(_THING).values(size=99)))
        rows.put(_WHOLE)

    await things.write(unit)
    assert await things.read(lambda c: _KEYED.rows(c).find("box", "a")) == _WHOLE


async def test_a_row_that_is_gone_is_inserted_again(things: Database) -> None:
    def unit(connection: Connection) -> None:
        rows = _KEYED.rows(connection)
        rows.put(_WHOLE)
        ignore(connection.execute(sa.delete(_THING)))
        rows.put({**_WHOLE, "size": 8})

    await things.write(unit)
    assert await things.read(lambda c: _KEYED.rows(c).find("box", "a")) == {**_WHOLE, "size": 8}


async def test_a_row_that_was_refused_is_not_taken_for_stored(things: Database) -> None:
    def unit(connection: Connection) -> None:
        rows = _KEYED.rows(connection)
        rows.put(_WHOLE)
        for _ in range(2):
            with pytest.raises(sqlite3.IntegrityError):
                rows.put({**_WHOLE, "data": None})

    await things.write(unit)
    assert await things.read(lambda c: _KEYED.rows(c).find("box", "a")) == _WHOLE

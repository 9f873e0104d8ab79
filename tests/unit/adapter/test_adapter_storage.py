"""The Adapter's database: migrated equals declared, fences only rise, memory is bounded, settled rows stay."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from adapter_service.application.ports import Transaction
from adapter_service.bootstrap import MIGRATIONS
from adapter_service.domain.ledger import Execution, ExecutionState, ToolCall, Trouble
from adapter_service.domain.session import Interaction, Session
from adapter_service.sdk import Effect, FactView, Referent, Text
from adapter_service.storage.tables import METADATA
from adapter_service.storage.unit_of_work import SqlUnitOfWork
from handrail_storage import Database, UniqueViolation, migrate

NOW = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture
async def unit_of_work(tmp_path: Path) -> AsyncIterator[SqlUnitOfWork]:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    migrate(url, MIGRATIONS)
    async with Database(url) as database:
        yield SqlUnitOfWork(database)


def shape(path: Path) -> dict[str, object]:
    """Columns, keys and indexes of every table."""
    found: dict[str, object] = {}
    with closing(sqlite3.connect(path)) as connection:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in names:
            if name in ("alembic_version", "sqlite_sequence"):
                continue
            indexes = connection.execute(f"PRAGMA index_list({name})").fetchall()
            found[name] = (
                connection.execute(f"PRAGMA table_info({name})").fetchall(),
                connection.execute(f"PRAGMA foreign_key_list({name})").fetchall(),
                sorted(
                    (unique, partial, tuple(column[2] for column in connection.execute(f"PRAGMA index_info({index})")))
                    for _, index, unique, _, partial in indexes
                ),
            )
    return found


def test_the_migrated_schema_is_the_declared_one(tmp_path: Path) -> None:
    migrate(f"sqlite:///{tmp_path / 'migrated.db'}", MIGRATIONS)
    engine = create_engine(f"sqlite:///{tmp_path / 'declared.db'}")
    METADATA.create_all(engine)
    engine.dispose()
    assert shape(tmp_path / "migrated.db") == shape(tmp_path / "declared.db")


def test_the_newest_plan_of_an_older_database_moves_into_its_interaction(tmp_path: Path) -> None:
    older = tmp_path / "older"
    older.mkdir()
    for name in ("0001_initial.py", "0002_executions_by_any_key.py"):
        shutil.copy(MIGRATIONS / name, older / name)
    url = f"sqlite:///{tmp_path / 'a.db'}"
    migrate(url, older)
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection, connection:
        connection.execute("INSERT INTO sessions VALUES ('ses', 'probe', 'conv', 0, 0, '[]')")
        for name, version in (("int_new", 2), ("int_empty", 0)):
            connection.execute("INSERT INTO interactions VALUES (?, 'ses', 1, 0, ?, ?, 0)", (name, version, version))
        for version, body in ((1, '{"tasks":[]}'), (2, '{"tasks":[],"ended":true}')):
            connection.execute("INSERT INTO plans VALUES ('int_new', ?, ?)", (version, body))
    migrate(url, MIGRATIONS)
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        rows = connection.execute("SELECT interaction_id, plan FROM interactions ORDER BY interaction_id").fetchall()
    assert rows == [("int_empty", ""), ("int_new", '{"tasks":[],"ended":true}')]


async def test_each_database_has_a_history_of_its_own(tmp_path: Path) -> None:
    ids = set()
    for name in ("a", "b"):
        url = f"sqlite:///{tmp_path / name}.db"
        migrate(url, MIGRATIONS)
        async with Database(url) as database:
            ids.add(await SqlUnitOfWork(database).read(lambda tx: tx.sessions.history_id()))
    assert len(ids) == 2


def add_session(tx: Transaction) -> None:
    tx.sessions.add(Session("ses", "probe", "conv", NOW, 0))
    tx.interactions.add(Interaction("int", "ses", 3, False, 0, 0), NOW)


async def test_fence_versions_and_tombstone_only_rise(unit_of_work: SqlUnitOfWork) -> None:
    def change(tx: Transaction) -> None:
        add_session(tx)
        tx.interactions.raise_epoch("int", 2)
        tx.interactions.close("int")
        tx.calls.raise_version("probe", "policy", "", 3)
        tx.calls.raise_version("probe", "policy", "", 2)

    await unit_of_work.write(change)
    interaction = await unit_of_work.read(lambda tx: tx.interactions.find("int"))
    assert interaction == Interaction("int", "ses", 3, True, 0, 0)
    assert await unit_of_work.read(lambda tx: tx.calls.stored_version("probe", "policy", "")) == "3"
    assert await unit_of_work.read(lambda tx: tx.calls.stored_version("probe", "tool", "x")) == ""


async def test_memory_and_facts_are_bounded_and_newest_first(unit_of_work: SqlUnitOfWork) -> None:
    await unit_of_work.write(add_session)
    for number in range(40):
        later = NOW + timedelta(seconds=number)

        def remember(tx: Transaction, number: int = number, later: datetime = later) -> None:
            tx.sessions.remember("ses", [Referent("place", f"P{number % 30}", "x")])
            tx.sessions.store_facts("ses", [FactView(f"f{number}", {"n": number}, "user", "", None)], later)

        await unit_of_work.write(remember)
    referents = await unit_of_work.read(lambda tx: tx.sessions.referents("ses"))
    facts = await unit_of_work.read(lambda tx: tx.sessions.facts("ses"))
    assert [referent.identity for referent in referents[:2]] == ["P9", "P8"]
    assert (len(referents), len({referent.identity for referent in referents})) == (20, 20)
    assert [fact.name for fact in facts] == [f"f{number}" for number in range(39, 7, -1)]


def execution(call: str, key: str, state: ExecutionState) -> Execution:
    return Execution(call, f"exe_{call}", "int", key, "ring", Effect.CHANGE, "bell", state, 1, "me", NOW)


async def test_a_key_is_claimed_once_and_a_settled_row_never_changes(unit_of_work: SqlUnitOfWork) -> None:
    def prepare(tx: Transaction) -> None:
        add_session(tx)
        _add_call(tx, "one")
        _add_call(tx, "two")
        tx.calls.add_execution(execution("one", "key", ExecutionState.CLAIMED), "probe", NOW)

    await unit_of_work.write(prepare)
    again = execution("two", "key", ExecutionState.CLAIMED)
    with pytest.raises(UniqueViolation):
        await unit_of_work.write(lambda tx: tx.calls.add_execution(again, "probe", NOW))
    blocked = execution("two", "key", ExecutionState.BLOCKED)
    await unit_of_work.write(lambda tx: tx.calls.add_execution(blocked, "probe", NOW))
    trouble = Trouble("tool_failed", Text("a", "б"), Text("c", "д"), "src", True, False, "slot")
    for state in (ExecutionState.FAILED, ExecutionState.SUCCEEDED):
        row = Execution(
            "one", "e", "int", "key", "ring", Effect.CHANGE, "bell", state, 1, "me", NOW, state.encode(), "", trouble
        )
        await unit_of_work.write(partial(_settle, row))
    found = await unit_of_work.read(lambda tx: tx.calls.find_execution("one"))
    assert found is not None
    assert (found.state, found.outcome_bytes, found.trouble) == (ExecutionState.FAILED, b"failed", trouble)


async def test_a_unit_that_fails_leaves_nothing(unit_of_work: SqlUnitOfWork) -> None:
    def fail(tx: Transaction) -> None:
        add_session(tx)
        raise KeyError

    with pytest.raises(KeyError):
        await unit_of_work.write(fail)
    assert await unit_of_work.read(lambda tx: tx.sessions.find("ses")) is None
    await asyncio.gather(unit_of_work.write(add_session), return_exceptions=False)
    assert await unit_of_work.read(lambda tx: tx.sessions.find("ses")) is not None


def _settle(row: Execution, tx: Transaction) -> None:
    tx.calls.settle(row, NOW)


def _add_call(tx: Transaction, call_id: str) -> None:
    minute = timedelta(minutes=1)
    tx.calls.add_call(
        ToolCall(call_id, "int", 1, "t", "ring", 1, Effect.CHANGE, False, "key", b"{}", "sha", "bell", minute, "s")
    )

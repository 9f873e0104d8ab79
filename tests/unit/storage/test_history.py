"""The history of a database and its marker: what counts as put back, and what does not (soundness.md)."""

from __future__ import annotations

import asyncio
import itertools
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from handrail_rpc.errors import StartRefused, Unavailable
from handrail_storage import Database, marker_path, renew_history
from tests.fakes.processes import poll
from tests.unit.storage.writing import METADATA, behind_gate, ignore, insert, names

_ids = itertools.count(1)


def new_id() -> str:
    return f"his_{next(_ids)}"


def make(path: Path) -> Path:
    """A migrated database that was never served."""
    engine = sa.create_engine(f"sqlite:///{path}")
    METADATA.create_all(engine)
    engine.dispose()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE history (history_id TEXT PRIMARY KEY, position INTEGER NOT NULL DEFAULT 0)")
        connection.execute("INSERT INTO history VALUES ('his_first', 0)")
    return path


def open_database(path: Path) -> Database:
    return Database(f"sqlite:///{path}", new_history_id=new_id)


def marker(path: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads(marker_path(path).read_bytes())
    return found


async def served(path: Path, *items: str) -> None:
    async with open_database(path) as db:
        for item in items:
            await db.write(insert(item))


async def test_a_database_that_was_never_served_is_not_taken_for_a_restored_one(tmp_path: Path) -> None:
    path = make(tmp_path / "x.db")
    async with open_database(path) as db:
        assert (db.history.history_id, db.history.position, db.history.put_back) == ("his_first", 0, "")
        assert marker(path) == {"history_id": "his_first", "position": 0}


async def test_each_group_that_changes_something_moves_the_position_and_no_other_does(tmp_path: Path) -> None:
    path = make(tmp_path / "x.db")
    async with open_database(path) as db:
        await db.write(insert("a"))
        await db.write(ignore)
        gate_and_two = await behind_gate(db, [insert("b"), insert("c")])
        await asyncio.gather(*gate_and_two)
        with pytest.raises(ZeroDivisionError):
            await db.write(lambda _c: 1 // 0)
    assert marker(path)["position"] == 2
    async with open_database(path) as db:
        assert (db.history.position, db.history.put_back) == (2, "")


async def test_the_marker_follows_while_the_database_is_open(tmp_path: Path) -> None:
    path = make(tmp_path / "x.db")
    async with open_database(path) as db:
        for item in "abc":
            await db.write(insert(item))
        await poll(lambda: marker(path)["position"] == 3, "the marker", 10)


async def test_an_older_copy_is_known_by_its_position_and_gets_a_new_history(tmp_path: Path) -> None:
    path = make(tmp_path / "x.db")
    await served(path, "a")
    shutil.copy(path, tmp_path / "copy")
    await served(path, "b")
    shutil.copy(tmp_path / "copy", path)
    async with open_database(path) as db:
        assert db.history.history_id != "his_first"
        assert "position 1" in db.history.put_back
        assert await db.read(names) == ["a"]
        renewed = db.history.history_id
    async with open_database(path) as db:
        assert (db.history.history_id, db.history.put_back) == (renewed, "")


async def test_another_history_and_a_missing_or_unreadable_marker_count_as_restored(tmp_path: Path) -> None:
    path = make(tmp_path / "x.db")
    await served(path, "a")
    for spoil in (
        lambda: marker_path(path).write_text('{"history_id": "his_other", "position": 0}'),
        lambda: marker_path(path).unlink(),
        lambda: marker_path(path).write_text("{"),
    ):
        spoil()
        async with open_database(path) as db:
            assert db.history.put_back
            assert marker(path)["history_id"] == db.history.history_id


async def test_a_crash_between_renewing_and_the_marker_only_renews_once_more(tmp_path: Path) -> None:
    path = make(tmp_path / "x.db")
    await served(path, "a")
    kept = marker_path(path).read_bytes()
    marker_path(path).unlink()
    await served(path)
    marker_path(path).write_bytes(kept)
    async with open_database(path) as db:
        assert db.history.put_back


async def test_the_command_renews_a_closed_database_and_its_marker(tmp_path: Path) -> None:
    path = make(tmp_path / "x.db")
    url = f"sqlite:///{path}"
    with pytest.raises(Unavailable, match="no database"):
        renew_history(f"sqlite:///{tmp_path}/nowhere.db", new_id)
    async with open_database(path) as db:
        await db.write(insert("a"))
        with pytest.raises(StartRefused, match="in use"):
            renew_history(url, new_id)
    before, after = renew_history(url, new_id)
    assert (before, marker(path)["history_id"]) == ("his_first", after)
    async with open_database(path) as db:
        assert (db.history.history_id, db.history.put_back) == (after, "")


async def test_trouble_is_told_when_it_begins_and_when_it_ends_though_nobody_writes(tmp_path: Path) -> None:
    path = make(tmp_path / "x.db")

    def limit(pages: int) -> sa.TextClause:
        return sa.text(f"PRAGMA max_page_count={pages}")

    def big(connection: sa.Connection) -> None:
        connection.execute(sa.text("INSERT INTO item (name) VALUES (:name)"), {"name": "x" * 400_000})

    async with open_database(path) as db:
        told: list[str] = []
        db.on_trouble(told.append)
        await db.write(lambda c: c.execute(limit(20)).scalar())
        for _ in range(2):
            with pytest.raises(Unavailable):
                await db.write(big)
        await poll(lambda: told and told[-1] == "", "the end of the trouble", 10)
        assert [bool(text) for text in told] == [True, False]
        assert "disk is full" in told[0]

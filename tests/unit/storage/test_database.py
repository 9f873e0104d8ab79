"""The writer's promises: nothing lost, nothing half done, nothing acknowledged before it is durable."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection

from handrail_rpc.errors import NotFound, StartRefused, Unavailable
from handrail_storage import Database, UniqueViolation, translated
from handrail_storage.writer import MOST_UNITS_PER_COMMIT, UnitMisuse
from tests.unit.storage.writing import COUNTER, ITEM, METADATA, Gate, behind_gate, ignore, insert, names


def _read_modify_write(connection: Connection) -> int:
    """Deliberately two statements: a deferred BEGIN would lose updates here."""
    value = connection.scalar(sa.select(COUNTER.c.n).where(COUNTER.c.id == 1)) or 0
    connection.execute(sa.update(COUNTER).where(COUNTER.c.id == 1).values(n=value + 1))
    return value + 1


async def test_64_concurrent_writers_lose_no_update(db: Database) -> None:
    async def writer() -> list[int]:
        return [await db.write(_read_modify_write) for _ in range(10)]

    returned = await asyncio.gather(*(writer() for _ in range(64)))
    assert sorted(n for each in returned for n in each) == list(range(1, 641))
    assert await db.read(lambda c: c.scalar(sa.select(COUNTER.c.n))) == 640
    # What made it fast: far fewer commits than units.
    assert db.stats.units == 642
    assert db.stats.commits < 200


async def test_a_group_is_one_commit_of_at_most_64_units(db: Database) -> None:
    before = db.stats.commits
    tasks = await behind_gate(db, [_read_modify_write] * (MOST_UNITS_PER_COMMIT + 1))
    await asyncio.gather(*tasks)
    assert db.stats.commits - before == 3


async def test_a_failing_unit_rolls_back_itself_alone(db: Database) -> None:
    def fail(connection: Connection) -> None:
        insert("half")(connection)
        raise NotFound.of("thing", "x")

    good, bad, twin, late = await behind_gate(db, [insert("a"), fail, insert("a"), insert("b")])
    results = await asyncio.gather(good, bad, twin, late, return_exceptions=True)
    assert [type(result) for result in results] == [type(None), NotFound, UniqueViolation, type(None)]
    assert await db.read(names) == ["a", "b"]
    assert db.stats.failed_units == 2


async def test_a_unit_is_durable_before_its_caller_goes_on(db: Database) -> None:
    tasks = await behind_gate(db, [insert(f"n{i:02}") for i in range(20)])
    for index, task in enumerate(tasks):
        await task
        with sqlite3.connect(db.path) as other:
            stored = {row[0] for row in other.execute("SELECT name FROM item")}
        other.close()
        assert f"n{index:02}" in stored


async def test_canceling_the_caller_still_lands_the_write(db: Database) -> None:
    tasks = await behind_gate(db, [insert("canceled"), insert("kept")])
    tasks[0].cancel()
    with pytest.raises(asyncio.CancelledError):
        await tasks[0]
    await tasks[1]
    assert await db.read(names) == ["canceled", "kept"]


async def test_random_cancellations_lose_nothing_and_leave_the_database_usable(db: Database) -> None:
    tasks = [asyncio.ensure_future(db.write(insert(f"n{i}"))) for i in range(200)]
    await asyncio.to_thread(int)
    for task in tasks[::2]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    # A task that was canceled before it began never submitted; those that began all landed.
    landed = len(await db.read(names))
    assert landed == 200
    await db.write(insert("after"))


async def test_a_reader_never_waits_for_the_writer_and_sees_one_snapshot(db: Database) -> None:
    gate = Gate()

    def slow(connection: Connection) -> None:
        insert("uncommitted")(connection)
        gate(connection)

    writing = asyncio.ensure_future(db.write(slow))
    assert await asyncio.to_thread(gate.entered.wait, 20)
    assert await asyncio.wait_for(db.read(names), 10) == []
    gate.open.set()
    await writing

    entered, go_on = threading.Event(), threading.Event()

    def twice(connection: Connection) -> tuple[list[str], list[str]]:
        first = names(connection)
        entered.set()
        assert go_on.wait(20)
        return first, names(connection)

    reading = asyncio.ensure_future(db.read(twice))
    assert await asyncio.to_thread(entered.wait, 20)
    await asyncio.wait_for(db.write(insert("later")), 10)
    go_on.set()
    assert await reading == (["uncommitted"], ["uncommitted"])
    assert await db.read(names) == ["later", "uncommitted"]


async def test_a_read_cannot_write(db: Database) -> None:
    with pytest.raises(Unavailable, match="read-only"):
        await db.read(insert("x"))
    assert await db.read(names) == []


async def test_foreign_keys_are_enforced(db: Database) -> None:
    def schema(connection: Connection) -> None:
        connection.exec_driver_sql("CREATE TABLE child (name TEXT REFERENCES item(name))")

    await db.write(schema)
    with pytest.raises(sa.exc.IntegrityError):
        await db.write(lambda c: ignore(c.exec_driver_sql("INSERT INTO child VALUES ('nobody')")))


async def test_a_store_can_react_to_a_taken_key_inside_its_unit(db: Database) -> None:
    def insert_or_keep(connection: Connection) -> str:
        try:
            with translated(), connection.begin_nested():
                insert("a")(connection)
        except UniqueViolation:
            return "kept"
        return "inserted"

    assert [await db.write(insert_or_keep) for _ in range(2)] == ["inserted", "kept"]


@pytest.mark.parametrize("misuse", ["commit", "rollback", "open savepoint"])
async def test_a_unit_that_ends_the_transaction_itself_fails_and_changes_nothing(db: Database, misuse: str) -> None:
    def unit(connection: Connection) -> None:
        insert("half")(connection)
        if misuse == "open savepoint":
            connection.begin_nested()
        else:
            getattr(connection, misuse)()

    (task,) = await behind_gate(db, [unit])
    with pytest.raises(UnitMisuse):
        await task
    assert await db.read(names) == []
    await db.write(insert("after"))


async def test_stop_iteration_from_a_unit_does_not_hang_its_caller(db: Database) -> None:
    with pytest.raises(RuntimeError, match="StopIteration"):
        await asyncio.wait_for(db.write(lambda c: next(iter(()))), 10)


async def test_units_from_two_event_loops_share_the_writer(db: Database) -> None:
    def elsewhere() -> int:
        return asyncio.run(_write())

    async def _write() -> int:
        return await db.write(_read_modify_write)

    assert sorted(await asyncio.gather(asyncio.to_thread(elsewhere), db.write(_read_modify_write))) == [1, 2]


async def test_a_second_process_is_refused_by_the_lock_file(db: Database) -> None:
    with pytest.raises(StartRefused) as refused:
        Database(f"sqlite:///{db.path}")
    text = str(refused.value)
    assert f"{db.path}.lock" in text
    assert str(os.getpid()) in text


async def test_closing_finishes_accepted_writes_refuses_new_ones_and_frees_the_lock(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/x.db"
    db = Database(url)
    await db.write(METADATA.create_all)
    tasks = [asyncio.ensure_future(db.write(insert(f"n{i}"))) for i in range(50)]
    await asyncio.gather(*(asyncio.to_thread(int) for _ in range(2)))
    await db.close()
    await db.close()
    await asyncio.gather(*tasks)
    with pytest.raises(Unavailable, match="closed"):
        await db.write(insert("late"))
    with pytest.raises(Unavailable, match="closed"):
        await db.read(names)
    async with Database(url) as again:
        assert len(await again.read(names)) == 50


@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite:///:memory:", "postgresql://u:s3cret@h/d", "nonsense", "sqlite:////x?mode=ro"]
)
def test_a_url_of_another_form_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(StartRefused, match="sqlite:////absolute") as refused:
        Database(url)
    assert "s3cret" not in str(refused.value)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StartRefused, match="nowhere"):
        Database(f"sqlite:///{tmp_path}/nowhere/x.db")


async def test_a_file_that_is_no_database_is_unavailable_and_the_lock_is_freed(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(b"not a database at all" * 100)
    for _ in range(2):
        with pytest.raises(Unavailable, match="storage is unavailable"):
            Database(f"sqlite:///{path}")


async def test_a_full_disk_is_unavailable_and_passes(db: Database) -> None:
    def limit(pages: int) -> Callable[[Connection], object]:
        return lambda c: c.exec_driver_sql(f"PRAGMA max_page_count={pages}").scalar()

    def big(connection: Connection) -> None:
        for number in range(40):
            connection.execute(sa.insert(ITEM).values(name=f"{number}" + "x" * 4000))

    await db.write(limit(20))
    tasks = await behind_gate(db, [insert("first"), big, insert("last")])
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(results[1], Unavailable)
    assert results[1].reason == "STORAGE_UNAVAILABLE"
    assert "disk is full" in results[1].message
    # Whoever was told of success is there; nobody else is.
    told = {name for name, result in zip(("first", "last"), (results[0], results[2]), strict=True) if result is None}
    assert set(await db.read(names)) == told
    await db.write(limit(100_000))
    await db.write(insert("after"))


async def test_a_foreign_lock_fails_the_whole_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handrail_storage.sqlite_engine._BUSY_MILLISECONDS", 50)
    async with Database(f"sqlite:///{tmp_path}/x.db") as db:
        await db.write(METADATA.create_all)
        foreign = sqlite3.connect(db.path, isolation_level=None)
        foreign.execute("BEGIN IMMEDIATE")
        results = await asyncio.gather(*(db.write(insert(n)) for n in "ab"), return_exceptions=True)
        assert all(isinstance(r, Unavailable) and "another program" in r.message for r in results), results
        foreign.execute("ROLLBACK")
        foreign.close()
        await db.write(insert("c"))
        assert await db.read(names) == ["c"]


def test_sigkill_between_savepoint_and_commit_loses_only_what_was_not_acknowledged(tmp_path: Path) -> None:
    """The process is killed inside the second group: the first group's callers were told, the second's were not."""
    program = """
        import asyncio, os, signal, sys, threading
        import sqlalchemy as sa
        from handrail_storage import Database

        async def main():
            db = Database(sys.argv[1])
            await db.write(lambda c: c.exec_driver_sql("CREATE TABLE item (name TEXT)") and None)
            def insert(name):
                return lambda c: c.exec_driver_sql("INSERT INTO item VALUES (?)", (name,)) and None
            async def acknowledged(name):
                await db.write(insert(name))
                os.write(1, (name + "\\n").encode())
            await asyncio.gather(*(acknowledged(f"a{n}") for n in range(20)))
            entered, go = threading.Event(), threading.Event()
            def gate(c):
                entered.set()
                go.wait()
            held = asyncio.ensure_future(db.write(gate))
            await asyncio.to_thread(entered.wait)
            def die(c):
                # The savepoints of b0…b9 are released, the commit that would make them durable has not happened.
                os.kill(os.getpid(), signal.SIGKILL)
            later = [asyncio.ensure_future(acknowledged(f"b{n}")) for n in range(10)]
            later.append(asyncio.ensure_future(db.write(die)))
            await asyncio.to_thread(int)
            go.set()
            await asyncio.gather(held, *later)

        asyncio.run(main())
    """
    url = f"sqlite:///{tmp_path}/x.db"
    killed = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), url], capture_output=True, text=True, timeout=60
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    acknowledged = set(killed.stdout.split())
    assert acknowledged == {f"a{n}" for n in range(20)}

    async def after() -> set[str]:
        # The lock of a killed process is gone with it.
        async with Database(url) as db:
            return set(await db.read(lambda c: [row[0] for row in c.exec_driver_sql("SELECT name FROM item")]))

    assert asyncio.run(after()) == acknowledged


async def test_an_error_s_text_does_not_quote_what_was_stored(db: Database) -> None:
    with pytest.raises(sa.exc.StatementError) as failed:
        await db.write(lambda c: ignore(c.execute(sa.text("INSERT INTO nowhere VALUES (:x)"), {"x": "s3cret"})))
    assert "s3cret" not in str(failed.value)

"""Numbered migrations: applied once, all or none, quickly, and told apart from what the code needs."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from handrail_rpc.errors import StartRefused
from handrail_storage import (
    Database,
    SchemaState,
    check_schema,
    current_revision,
    head_revision,
    migrate,
    wait_for_schema,
)

COMMAND = "python -m loop_service migrate"


def _add(versions: Path, number: int, body: str) -> None:
    down = f'"{number - 1:04d}"' if number > 1 else "None"
    (versions / f"{number:04d}_step.py").write_text(
        "import sqlalchemy as sa\nfrom alembic import op\n\n"
        f'revision = "{number:04d}"\ndown_revision = {down}\n\n\ndef upgrade() -> None:\n    {body}\n'
    )


@pytest.fixture
def versions(tmp_path: Path) -> Path:
    folder = tmp_path / "versions with space % sign"
    folder.mkdir()
    _add(folder, 1, 'op.create_table("a", sa.Column("id", sa.Integer, primary_key=True))')
    _add(folder, 2, 'op.add_column("a", sa.Column("text", sa.Text))')
    return folder


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/data/loop.db"


def _tables(url: str) -> set[str]:
    connection = sqlite3.connect(url.removeprefix("sqlite:///"))
    try:
        return {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    finally:
        connection.close()


def test_a_missing_database_is_told_and_not_created(url: str, versions: Path) -> None:
    state = check_schema(url, versions, COMMAND)
    assert (state.current, state.head, state.ready) == (None, "0002", False)
    assert state.message.endswith(f"has no schema; run `{COMMAND}`")
    assert not Path(url.removeprefix("sqlite:///")).exists()


def test_migrating_makes_the_schema_once(url: str, versions: Path) -> None:
    assert migrate(url, versions) == (None, "0002")
    assert _tables(url) == {"a", "alembic_version"}
    assert migrate(url, versions) == ("0002", "0002")
    assert check_schema(url, versions, COMMAND) == SchemaState("0002", "0002", True, "")


def test_an_older_schema_names_both_numbers_and_the_command(url: str, versions: Path) -> None:
    migrate(url, versions)
    _add(versions, 3, 'op.create_table("b", sa.Column("id", sa.Integer))')
    state = check_schema(url, versions, COMMAND)
    assert not state.ready
    assert "0002" in state.message
    assert "0003" in state.message
    assert COMMAND in state.message
    assert migrate(url, versions) == ("0002", "0003")


def test_a_newer_schema_is_refused_not_migrated(url: str, versions: Path) -> None:
    migrate(url, versions)
    (versions / "0002_step.py").unlink()
    state = check_schema(url, versions, COMMAND)
    assert not state.ready
    assert "newer" in state.message
    with pytest.raises(StartRefused, match="newer"):
        migrate(url, versions)


def test_a_failing_migration_leaves_the_schema_as_it_was(url: str, versions: Path) -> None:
    migrate(url, versions)
    _add(versions, 3, 'op.create_table("b", sa.Column("id", sa.Integer))')
    _add(versions, 4, 'op.create_table("c", sa.Column("id", sa.Integer)); raise RuntimeError("broken")')
    with pytest.raises(RuntimeError, match="broken"):
        migrate(url, versions)
    assert current_revision(url) == "0002"
    assert _tables(url) == {"a", "alembic_version"}


@pytest.mark.parametrize("files", [[], ["0002_b.py"], ["0001_a.py", "0003_c.py"], ["0001_a.py", "0001_b.py"]])
def test_numbers_have_no_gap_and_no_twin(tmp_path: Path, files: list[str]) -> None:
    for name in files:
        (tmp_path / name).touch()
    with pytest.raises(ValueError, match="without a gap"):
        head_revision(tmp_path)


def test_an_open_database_is_not_migrated_beneath_its_process(url: str, versions: Path) -> None:
    migrate(url, versions)
    _add(versions, 3, 'op.create_table("b", sa.Column("id", sa.Integer))')
    db = Database(url)
    try:
        with pytest.raises(StartRefused, match="in use"):
            migrate(url, versions)
    finally:
        db.close_now()
    migrate(url, versions)


async def test_waiting_goes_on_once_somebody_migrated(url: str, versions: Path) -> None:
    told: list[SchemaState] = []
    asked = asyncio.Event()

    def on_waiting(state: SchemaState) -> None:
        told.append(state)
        asked.set()

    stop = asyncio.Event()
    waiting = asyncio.ensure_future(wait_for_schema(url, versions, COMMAND, on_waiting, stop, poll_seconds=0.05))
    await asyncio.wait_for(asked.wait(), 10)
    await asyncio.to_thread(migrate, url, versions)
    assert await asyncio.wait_for(waiting, 10) is True
    assert len(told) == 1


async def test_waiting_ends_with_the_process(url: str, versions: Path) -> None:
    stop = asyncio.Event()
    assert await wait_for_schema(url, versions, COMMAND, lambda _: stop.set(), stop) is False


def test_a_fresh_process_migrates_and_leaves_nothing_running(url: str, versions: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from handrail_storage import migrate; "
        "print(migrate(sys.argv[1], Path(sys.argv[2])))"
    )
    # A thread left behind would hold the exit up until the timeout.
    done = subprocess.run(
        [sys.executable, "-c", program, url, str(versions)], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout.strip()) == (0, "(None, '0002')"), done.stderr

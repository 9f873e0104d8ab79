"""Commits are counted in real write-ahead logs, through restarts of the log."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from bench.wal import PinnedWal, count_commits


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE IF NOT EXISTS t (x BLOB)")
    return connection


def _commit(connection: sqlite3.Connection, transactions: int, rows: int = 1) -> None:
    for _ in range(transactions):
        connection.execute("BEGIN IMMEDIATE")
        for _ in range(rows):
            connection.execute("INSERT INTO t VALUES (zeroblob(3000))")
        connection.execute("COMMIT")


def test_commits_are_counted_not_pages(tmp_path: Path) -> None:
    connection = _open(tmp_path / "a.db")
    _commit(connection, 2)
    with PinnedWal(tmp_path / "a.db") as wal:
        assert wal.commits() == 0
        _commit(connection, 7, rows=9)
        assert wal.commits() == 7
    connection.close()


def test_a_pinned_log_grows_beyond_the_automatic_checkpoint(tmp_path: Path) -> None:
    connection = _open(tmp_path / "a.db")
    _commit(connection, 1)
    with PinnedWal(tmp_path / "a.db") as wal:
        # SQLite would copy the log and start it again after 1000 pages.
        _commit(connection, 300, rows=6)
        assert wal.commits() == 300
    connection.close()


def test_a_log_that_was_copied_before_is_restarted_and_still_counted(tmp_path: Path) -> None:
    connection = _open(tmp_path / "a.db")
    _commit(connection, 20)
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
    with PinnedWal(tmp_path / "a.db") as wal:
        _commit(connection, 5)
        assert wal.commits() == 5
    connection.close()


def test_a_rolled_back_transaction_is_no_commit(tmp_path: Path) -> None:
    connection = _open(tmp_path / "a.db")
    with PinnedWal(tmp_path / "a.db") as wal:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO t VALUES (zeroblob(3000))")
        connection.execute("ROLLBACK")
        _commit(connection, 1)
        assert wal.commits() == 1
    connection.close()


def test_other_bytes_are_refused() -> None:
    assert count_commits(b"") == 0
    with pytest.raises(ValueError, match="write-ahead log"):
        count_commits(b"no log" * 20)

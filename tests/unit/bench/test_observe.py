"""What /proc and a database say of a process: parsed texts, and a look at this process and a real file."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from bench.observe import (
    cpu_seconds,
    parse_busy,
    parse_cpu,
    parse_file_system,
    parse_private,
    private_bytes,
    stored_bytes,
)

TICK = 1 / os.sysconf("SC_CLK_TCK")


def test_private_memory() -> None:
    status = "Name:\tpython\nVmRSS:\t   81912 kB\nRssAnon:\t   41000 kB\nRssFile:\t   40912 kB\n"
    assert parse_private(status) == 41000 * 1024
    assert parse_private("Name:\tpython\n") is None


def test_cpu_time_with_a_name_that_looks_like_fields() -> None:
    fields = "S 1 2 3 4 5 6 7 8 9 10 250 150 12 13"
    assert parse_cpu(f"42 (a ) b (c) {fields}") == pytest.approx(400 * TICK)


def test_busy_time_leaves_out_idle_iowait_and_guests() -> None:
    assert parse_busy("cpu  100 20 30 1000 500 4 5 6 70 80") == pytest.approx(165 * TICK)


def test_file_system_of_the_longest_mount() -> None:
    mounts = ["/dev/vda / ext4 rw 0 0", "tmpfs /tmp tmpfs rw 0 0", "tmpfs /tmpest xfs rw 0 0"]
    assert parse_file_system(mounts, Path("/tmp/x/y")) == "tmpfs"
    assert parse_file_system(mounts, Path("/var/x")) == "ext4"
    assert parse_file_system([], Path("/var/x")) == ""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system has no /proc")
def test_a_living_process_and_a_dead_one() -> None:
    assert (private_bytes(os.getpid()) or 0) > 1024 * 1024
    assert (cpu_seconds(os.getpid()) or 0) > 0
    # Beyond the largest process id that Linux gives.
    assert private_bytes(2**22 + 1) is None
    assert cpu_seconds(2**22 + 1) is None


def test_stored_bytes_count_what_stands_in_the_log_and_not_what_was_deleted(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE t (x BLOB)")
    empty = stored_bytes(tmp_path / "a.db")
    connection.execute("INSERT INTO t VALUES (zeroblob(200000))")
    assert 200_000 < stored_bytes(tmp_path / "a.db") < 200_000 + 2 * empty
    connection.execute("DELETE FROM t")
    assert stored_bytes(tmp_path / "a.db") == empty
    connection.close()

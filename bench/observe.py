"""What a process and a database use, seen from outside: private memory, CPU time, bytes stored. Called by scenarios.

Memory and CPU come from /proc and are None on systems without it.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

_TICK_SECONDS = 1 / os.sysconf("SC_CLK_TCK")


def private_bytes(pid: int) -> int | None:
    """Resident memory of a process that lives, without pages of files: the system shares those and drops them."""
    try:
        text = Path(f"/proc/{pid}/status").read_text("ascii", errors="replace")
    except OSError:
        return None
    return parse_private(text)


def parse_private(status: str) -> int | None:
    """RssAnon of a /proc/PID/status text, in bytes."""
    for line in status.splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return None


def cpu_seconds(pid: int) -> float | None:
    """User and system time of all threads of a process that lives."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text("ascii", errors="replace")
    except OSError:
        return None
    return parse_cpu(text)


def parse_cpu(stat: str) -> float:
    """utime and stime of a /proc/PID/stat text, in seconds; the name in brackets may hold anything."""
    fields = stat.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * _TICK_SECONDS


def busy_seconds() -> float | None:
    """CPU seconds that the whole machine has spent on anything, all cores together, steal included."""
    try:
        first = Path("/proc/stat").read_text("ascii").partition("\n")[0]
    except OSError:
        return None
    return parse_busy(first)


def parse_busy(line: str) -> float:
    """The first line of /proc/stat without idle and iowait (fields 4 and 5) and guests, which user time contains."""
    ticks = [int(each) for each in line.split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) * _TICK_SECONDS


def stored_bytes(database: Path) -> int:
    """Bytes of a SQLite database's pages in use, what still stands in its log included; whole pages."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        pages, free, size = (
            int(connection.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("page_count", "freelist_count", "page_size")
        )
    finally:
        connection.close()
    return (pages - free) * size


def file_system(path: Path) -> str:
    """Type of the file system that `path` is on, "" where /proc does not say: a commit costs nothing on tmpfs."""
    try:
        lines = Path("/proc/mounts").read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return parse_file_system(lines, path.resolve())


def parse_file_system(mounts: list[str], path: Path) -> str:
    """The type of the longest mount point of /proc/mounts lines that holds `path`."""
    found = ("", "")
    for line in mounts:
        parts = line.split()
        if len(parts) > 2 and path.is_relative_to(parts[1]) and len(parts[1]) >= len(found[0]):
            found = (parts[1], parts[2])
    return found[1]

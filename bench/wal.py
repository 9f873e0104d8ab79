"""Counts commits in SQLite's write-ahead log from outside, so that a service needs no counter of its own.

Each transaction's last frame carries the database's size after its commit; every other frame carries 0 there
(sqlite.org/fileformat2.html 'The WAL File'). While `PinnedWal` holds a reader's snapshot the log is never restarted,
so every commit since then stands in the file. Called by the counting pass, never by a timed one.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Self

_HEADER_BYTES = 32
_FRAME_HEADER_BYTES = 24


def count_commits(log: bytes) -> int:
    """Commit frames of the log's current generation; stale frames of an earlier one have other salts.

    Raises ValueError for bytes that are no write-ahead log.
    """
    if not log:
        return 0
    if len(log) < _HEADER_BYTES or struct.unpack(">I", log[:4])[0] not in (0x377F0682, 0x377F0683):
        raise ValueError("not a write-ahead log of SQLite")
    return sum(size != 0 for size in _sizes_after(log))


def count_frame_bytes(log: bytes) -> int:
    """Bytes of the frames of the log's current generation: what was written to it."""
    if not log:
        return 0
    return sum(1 for _ in _sizes_after(log)) * (_FRAME_HEADER_BYTES + _page_bytes(log))


def _page_bytes(log: bytes) -> int:
    size: int = struct.unpack(">I", log[8:12])[0]
    return size


def _sizes_after(log: bytes) -> Iterator[int]:
    """For each frame, the database's size after the commit that it ends; 0 within a transaction."""
    salts, step = salts_of(log), _FRAME_HEADER_BYTES + _page_bytes(log)
    for position in range(_HEADER_BYTES, len(log) - _FRAME_HEADER_BYTES + 1, step):
        if log[position + 8 : position + 16] != salts:
            return
        yield struct.unpack(">I", log[position + 4 : position + 8])[0]


def salts_of(log: bytes) -> bytes:
    """What tells one generation of a log from another; empty for an empty log."""
    return log[16:24]


class PinnedWal:
    """`with PinnedWal(database) as wal:` … `wal.commits()` counts the commits since the block began.

    A log that was fully copied into the database when the block begins is restarted once more (this reader then needs
    none of it), and from then on never, for no page can be copied past the snapshot.
    """

    def __init__(self, database: Path) -> None:
        self._log = database.with_name(database.name + "-wal")
        self._connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True, isolation_level=None)
        self._before = 0
        self._written_before = 0
        self._salts = b""

    def __enter__(self) -> Self:
        self._connection.execute("BEGIN")
        self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        log = self._read()
        self._before, self._written_before, self._salts = count_commits(log), count_frame_bytes(log), salts_of(log)
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def commits(self) -> int:
        """Commits since the block began."""
        log = self._read()
        return count_commits(log) - (self._before if salts_of(log) == self._salts else 0)

    def written(self) -> int:
        """Bytes written to the log since the block began."""
        log = self._read()
        return count_frame_bytes(log) - (self._written_before if salts_of(log) == self._salts else 0)

    def _read(self) -> bytes:
        try:
            return self._log.read_bytes()
        except FileNotFoundError:
            return b""

"""The cache of one workspace: an SQLite file with texts, parsed documents, sections and their full-text index (FTS5).

Written by the index, read by its views. Everything in it can be made anew from the workspace's files, so a file that
is damaged or of another release is thrown away. Rows are by content hash: a state of the workspace that is still being
looked at keeps its rows while a newer state is added beside it.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from .errors import WorkbenchError
from .records import Content, SectionRow
from .terms import fold_for_index

# Raised whenever a table or what is kept in it changes: an older file is then rebuilt.
RELEASE: Final = 1
_SCHEMA: Final = """
CREATE TABLE contents (
    id INTEGER PRIMARY KEY, sha256 TEXT NOT NULL, format TEXT NOT NULL, findings TEXT NOT NULL, text TEXT NOT NULL,
    UNIQUE (sha256, format)
);
CREATE TABLE fragments (
    id INTEGER PRIMARY KEY, content_id INTEGER NOT NULL, ordinal INTEGER NOT NULL, is_section INTEGER NOT NULL,
    start INTEGER NOT NULL, end INTEGER NOT NULL, name TEXT NOT NULL, body TEXT NOT NULL
);
CREATE INDEX fragments_by_content ON fragments (content_id);
CREATE TABLE files (path TEXT PRIMARY KEY, sha256 TEXT NOT NULL, rules TEXT NOT NULL, data TEXT NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5(name, text, content='', detail=column,
    tokenize="unicode61 remove_diacritics 2");
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, row);
"""
# More rows than this in one "IN (…)" would exceed SQLite's limit on parameters.
_CHUNK: Final = 500


class Store:
    """One cache file; safe from several threads. Writes are the index's, under its own lock."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._connections: dict[str, sqlite3.Connection] = {}

    def _connection(self, role: str) -> sqlite3.Connection:
        # The reader has its own connection, so that searches go on while a new state is written (WAL).
        connection = self._connections.get(role)
        if connection is None:
            connection = self._connections[role] = self._open()
        return connection

    def _open(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self.path, check_same_thread=False, timeout=30, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            (release,) = connection.execute("PRAGMA user_version").fetchone()
            if release == 0:
                connection.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {RELEASE}; COMMIT;")
            elif release != RELEASE:
                raise sqlite3.DatabaseError("cache of another release")
        except sqlite3.DatabaseError:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Closes the file; a later use opens it again."""
        with self._lock:
            for connection in self._connections.values():
                connection.close()
            self._connections.clear()

    def discard(self) -> None:
        """Deletes the cache: the next use makes an empty one."""
        with self._lock:
            self.close()
            for suffix in ("", "-wal", "-shm"):
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    # Reading.

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Raises WorkbenchError view_outdated where the cache was replaced under a view."""
        with self._lock:
            try:
                return self._connection("reader").execute(sql, parameters).fetchall()
            except sqlite3.Error:
                raise _outdated() from None

    def rows_in(self, sql: str, ids: Iterable[Any]) -> list[Any]:
        """`sql` has one "IN (?)", which gets all of `ids`."""
        wanted = list(ids)
        found: list[Any] = []
        for start in range(0, len(wanted), _CHUNK):
            chunk = wanted[start : start + _CHUNK]
            found += self.rows(sql.replace("(?)", f"({','.join('?' * len(chunk))})"), chunk)
        return found

    def text(self, content_id: int) -> str:
        rows = self.rows("SELECT text FROM contents WHERE id = ?", (content_id,))
        if not rows:
            raise _outdated()
        return str(rows[0][0])

    def bodies(self, fragments: Iterable[int]) -> dict[int, Any]:
        """The values of documents by fragment; text-only ones are left out."""
        rows = self.rows_in("SELECT id, body FROM fragments WHERE id IN (?) AND body <> ''", fragments)
        return {fragment: json.loads(body) for fragment, body in rows}

    def slices(self, fragments: Iterable[int]) -> dict[int, str]:
        """The text of each fragment as the file has it."""
        rows = self.rows_in(
            "SELECT f.id, substr(c.text, f.start + 1, f.end - f.start) FROM fragments f "
            "JOIN contents c ON c.id = f.content_id WHERE f.id IN (?)",
            fragments,
        )
        return dict(rows)

    def known_contents(self, wanted: Iterable[tuple[str, str]]) -> dict[tuple[str, str], tuple[int, list[Any]]]:
        """(sha256, format) of those contents that are kept, with the content's id and its findings."""
        asked = set(wanted)
        sql = "SELECT sha256, format, id, findings FROM contents"
        if len(asked) > _CHUNK:
            rows = self.rows(sql)
        else:
            rows = self.rows_in(f"{sql} WHERE sha256 IN (?)", {sha256 for sha256, _ in asked})
        return {(sha256, form): (content_id, json.loads(found)) for sha256, form, content_id, found in rows}

    def file_rows(self, rules: str) -> dict[str, tuple[str, str]]:
        """Path to (sha256, data) of the files whose documents were named by these rules."""
        rows = self.rows("SELECT path, sha256, data FROM files WHERE rules = ?", (rules,))
        return {path: (sha256, data) for path, sha256, data in rows}

    def sections(self, content_ids: Iterable[int]) -> dict[int, tuple[SectionRow, ...]]:
        rows = self.rows_in(
            "SELECT content_id, id, start, end, body FROM fragments WHERE content_id IN (?) AND is_section = 1 "
            "ORDER BY content_id, ordinal",
            content_ids,
        )
        found: dict[int, list[SectionRow]] = {}
        for content_id, fragment, start, end, body in rows:
            anchor, title, heading_path = json.loads(body)
            found.setdefault(content_id, []).append(
                SectionRow(fragment, anchor, title, tuple(heading_path), start, end)
            )
        return {content_id: tuple(each) for content_id, each in found.items()}

    def document_fragments(self, content_ids: Iterable[int]) -> dict[int, list[tuple[int, int, bool]]]:
        """Content id to (fragment, ordinal, text only) of its documents."""
        rows = self.rows_in(
            "SELECT content_id, id, ordinal, body = '' FROM fragments WHERE content_id IN (?) AND is_section = 0 "
            "ORDER BY content_id, ordinal",
            content_ids,
        )
        found: dict[int, list[tuple[int, int, bool]]] = {}
        for content_id, fragment, ordinal, text_only in rows:
            found.setdefault(content_id, []).append((fragment, ordinal, bool(text_only)))
        return found

    # Writing: the index calls these under its lock.

    def add_contents(self, contents: Sequence[Content]) -> list[tuple[int, int]]:
        """Adds contents with their fragments and words in one transaction; the id and first fragment of each."""
        with closing(self._connection("writer").cursor()) as cursor:
            cursor.execute("BEGIN IMMEDIATE")
            try:
                (content_id,) = cursor.execute("SELECT coalesce(max(id), 0) FROM contents").fetchone()
                (fragment_id,) = cursor.execute("SELECT coalesce(max(id), 0) FROM fragments").fetchone()
                ids: list[tuple[int, int]] = []
                for content in contents:
                    content_id += 1
                    ids.append((content_id, fragment_id + 1))
                    cursor.execute(
                        "INSERT INTO contents (id, sha256, format, findings, text) VALUES (?, ?, ?, ?, ?)",
                        (
                            content_id,
                            content.sha256,
                            content.format,
                            json.dumps(content.findings),
                            content.text,
                        ),
                    )
                    first = fragment_id + 1
                    fragment_id += len(content.fragments)
                    numbered = list(enumerate(content.fragments, first))
                    cursor.executemany(
                        "INSERT INTO fragments (id, content_id, ordinal, is_section, start, end, name, body) "
                        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                        [
                            (
                                number,
                                content_id,
                                each.ordinal,
                                each.is_section,
                                each.start,
                                each.end,
                                each.name,
                                each.body,
                            )
                            for number, each in numbered
                        ],
                    )
                    cursor.executemany(
                        "INSERT INTO words (rowid, name, text) VALUES (?, ?, ?)",
                        [
                            (number, fold_for_index(each.name), fold_for_index(content.text[each.start : each.end]))
                            for number, each in numbered
                        ],
                    )
                cursor.execute("COMMIT")
            except BaseException:
                cursor.execute("ROLLBACK")
                raise
        return ids

    def put_files(self, rules: str, changed: Mapping[str, tuple[str, str]], gone: Iterable[str]) -> None:
        """What the rules make of changed files (path to sha256 and data), and files that are no longer there."""
        with closing(self._connection("writer").cursor()) as cursor:
            cursor.execute("BEGIN IMMEDIATE")
            try:
                cursor.executemany("DELETE FROM files WHERE path = ?", [(path,) for path in gone])
                cursor.executemany(
                    "INSERT OR REPLACE INTO files (path, sha256, rules, data) VALUES (?, ?, ?, ?)",
                    [(path, sha256, rules, data) for path, (sha256, data) in changed.items()],
                )
                cursor.execute("COMMIT")
            except BaseException:
                cursor.execute("ROLLBACK")
                raise

    def content_ids(self) -> set[int]:
        # In the order of the index on hashes, which has the ids too: the table itself is all of the texts.
        return {content_id for (content_id,) in self.rows("SELECT id FROM contents ORDER BY sha256")}

    def prune(self, gone: Iterable[int]) -> None:
        """Drops contents that no state in use has."""
        with closing(self._connection("writer").cursor()) as cursor:
            cursor.execute("BEGIN IMMEDIATE")
            try:
                for content_id in gone:
                    # A contentless index forgets a row by being told what was in it.
                    rows = cursor.execute(
                        "SELECT f.id, f.name, substr(c.text, f.start + 1, f.end - f.start) FROM fragments f "
                        "JOIN contents c ON c.id = f.content_id WHERE c.id = ?",
                        (content_id,),
                    ).fetchall()
                    cursor.executemany(
                        "INSERT INTO words (words, rowid, name, text) VALUES ('delete', ?, ?, ?)",
                        [(number, fold_for_index(name), fold_for_index(text)) for number, name, text in rows],
                    )
                    cursor.execute("DELETE FROM fragments WHERE content_id = ?", (content_id,))
                    cursor.execute("DELETE FROM contents WHERE id = ?", (content_id,))
                cursor.execute("COMMIT")
            except BaseException:
                cursor.execute("ROLLBACK")
                raise


def _outdated() -> WorkbenchError:
    return WorkbenchError(
        "view_outdated",
        "workspace",
        "The workspace was read anew meanwhile; please ask again.",
        "Рабочая область тем временем прочитана заново; повторите запрос.",
    )

"""The only module that names driver exceptions: what a database fault means to the layers above.

`Database` translates everything that leaves a unit of work; a store that wants to react to a violated constraint
inside its unit uses `translated()`. Faults are told by SQLite's numeric result codes, never by message text.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError

from handrail_rpc.errors import Unavailable

STORAGE_UNAVAILABLE = "STORAGE_UNAVAILABLE"

_UNIQUE = {sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_ROWID}
# Primary result codes (the low byte) and what the operator should look at.
_AWAY = {
    sqlite3.SQLITE_BUSY: "another program holds the database",
    sqlite3.SQLITE_LOCKED: "another connection holds the database",
    sqlite3.SQLITE_NOMEM: "the database ran out of memory",
    sqlite3.SQLITE_READONLY: "the database is read-only",
    sqlite3.SQLITE_IOERR: "the disk reported an error",
    sqlite3.SQLITE_CORRUPT: "the database file is damaged",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_CANTOPEN: "the database file cannot be opened",
    sqlite3.SQLITE_PERM: "access to the database file is denied",
    sqlite3.SQLITE_NOTADB: "the file is not a database",
}


class UniqueViolation(Exception):
    """A UNIQUE or PRIMARY KEY constraint was violated; the unit of work changed nothing."""


def translate(error: BaseException) -> BaseException:
    """What `error` means: UniqueViolation, Unavailable (STORAGE_UNAVAILABLE), or the error itself."""
    driver = error.orig if isinstance(error, DBAPIError) else error
    if not isinstance(driver, sqlite3.Error):
        return error
    code = getattr(driver, "sqlite_errorcode", None)
    if code in _UNIQUE:
        return _caused(UniqueViolation("a row with this key exists already"), error)
    if code is not None and (code & 0xFF) in _AWAY:
        return _caused(storage_unavailable(_AWAY[code & 0xFF]), error)
    return error


def storage_unavailable(explanation: str) -> Unavailable:
    return Unavailable(f"storage is unavailable: {explanation}", reason=STORAGE_UNAVAILABLE)


@contextmanager
def translated() -> Iterator[None]:
    """Raise the translation of a driver error out of the block, so that a store can catch UniqueViolation."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        meaning = translate(error)
        if meaning is error:
            raise
        raise meaning from error


def _caused(meaning: BaseException, cause: BaseException) -> BaseException:
    meaning.__cause__ = cause
    return meaning

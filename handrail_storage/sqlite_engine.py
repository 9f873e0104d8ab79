"""SQLite through SQLAlchemy as engineering.md 'Storage' measured it: WAL, FULL, BEGIN IMMEDIATE for writers.

Called by `Database` and `migrations`. The driver's own transaction handling is off (isolation_level None), so every
BEGIN is ours: a deferred one would lose updates or answer "database is locked" in spite of the timeout.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from sqlite3 import Connection as DriverConnection
from sqlite3 import connect
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import NullPool

from handrail_rpc.errors import StartRefused

URL_FORM = "sqlite:////absolute/path/to/file.db (or sqlite:///relative/path.db)"
_BUSY_MILLISECONDS = 10_000
_WAL_LIMIT_BYTES = 64 * 1024 * 1024


def database_path(url: str) -> Path:
    """The file that `url` names. Raises StartRefused naming the accepted form."""
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise StartRefused(f"the database URL must be {URL_FORM}") from error
    name = parsed.database or ""
    if parsed.get_backend_name() != "sqlite" or not name or name == ":memory:" or parsed.query:
        raise StartRefused(f"the database URL must be {URL_FORM}, not {parsed.render_as_string(hide_password=True)}")
    return Path(name).absolute()


def writer_engine(path: Path) -> Engine:
    """For the one thread that writes; each of its transactions takes the write lock at once.

    What is deleted or replaced is overwritten (secure_delete): erased content must not stay in free space of the file.
    """
    return _engine(path, begin="BEGIN IMMEDIATE", pragmas=("synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"))


def truncate_log(path: Path) -> bool:
    """Put everything into the database file and cut the write-ahead log off; False where a reader held it up.

    Most of it is copied before the writer is made to wait. Blocks, for a thread. Raises sqlite3.Error.
    """
    with closing(connect(path, timeout=_BUSY_MILLISECONDS / 1000, isolation_level=None)) as connection:
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy


def reader_engine(path: Path) -> Engine:
    """For readers: a plain BEGIN, so each transaction sees one snapshot and never waits for the writer."""
    return _engine(path, begin="BEGIN", pragmas=("query_only=ON",))


def _engine(path: Path, *, begin: str, pragmas: tuple[str, ...]) -> Engine:
    engine = create_engine(
        f"sqlite+pysqlite:///{path}",
        # Connections are held for good, and closed by the thread that closes the database.
        poolclass=NullPool,
        # An error's text must not quote what a person wrote (requirement G5).
        hide_parameters=True,
        connect_args={
            "isolation_level": None,
            "check_same_thread": False,
            "timeout": _BUSY_MILLISECONDS / 1000,
            "cached_statements": 512,
        },
    )

    @event.listens_for(engine, "connect")
    def _prepare(connection: DriverConnection, _record: Any) -> None:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA journal_size_limit={_WAL_LIMIT_BYTES}")
        connection.execute("PRAGMA temp_store=MEMORY")
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        driver: Any = connection.connection.driver_connection
        if not driver.in_transaction:  # a reader's was begun on the driver
            connection.exec_driver_sql(begin)

    return engine

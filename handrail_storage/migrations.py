"""Numbered, append-only migrations: alembic driven by code, one folder a service.

Called by `python -m loop_service migrate`, `python -m adapter_service migrate`, `handrail up`, and by the composition
roots (`check_schema`, `wait_for_schema`) before they open the database. A file is named `0001_initial.py` and its
revision is its number; the order of the numbers is the order of the migrations, so the head is known without
importing alembic.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from handrail_rpc.errors import StartRefused
from handrail_storage.driver_errors import translated
from handrail_storage.process_lock import ProcessLock
from handrail_storage.sqlite_engine import database_path, writer_engine

_FILE = re.compile(r"(\d{4})_[a-z0-9_]+\.py")
_ENVIRONMENT = Path(__file__).parent / "migration_environment"


@dataclass(frozen=True, slots=True)
class SchemaState:
    """`current` is None for a database without any migration; `message` says in one line what to do if not ready."""

    current: str | None
    head: str
    ready: bool
    message: str


def head_revision(versions: Path) -> str:
    """The newest number in a service's migrations folder. Raises ValueError for a gap, a twin, or none."""
    numbers: list[str] = sorted(m.group(1) for p in versions.iterdir() if (m := _FILE.fullmatch(p.name)))
    if not numbers or numbers != [f"{n:04d}" for n in range(1, len(numbers) + 1)]:
        raise ValueError(f"{versions} must hold 0001_….py, 0002_….py and so on without a gap, found {numbers}")
    return numbers[-1]


def current_revision(url: str) -> str | None:
    """The number the database is at; None if it does not exist or was never migrated. Changes and creates nothing.

    Raises Unavailable (STORAGE_UNAVAILABLE) if the file cannot be read.
    """
    path = database_path(url)
    if not path.exists():
        return None
    with translated(), closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=5)) as connection:
        known = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchone()
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone() if known else None
    return None if row is None else str(row[0])


def check_schema(url: str, versions: Path, command: str) -> SchemaState:
    """Compare the database with what the code needs; `command` is what mends it (`python -m loop_service migrate`).

    A newer schema than the code knows is not ready either: the code was rolled back below its database.
    """
    current, head = current_revision(url), head_revision(versions)
    if current == head:
        return SchemaState(current, head, True, "")
    where = database_path(url)
    if current is None:
        message = f"the database {where} has no schema; run `{command}`"
    elif current < head:
        message = f"the database {where} is at schema {current}, the code needs {head}; run `{command}`"
    else:
        message = f"the database {where} is at schema {current}, newer than this code ({head}); start the newer version"
    return SchemaState(current, head, False, message)


def migrate(url: str, versions: Path) -> tuple[str | None, str]:
    """Apply every missing migration in one transaction; returns (revision before, revision after).

    Makes the folder and the file where missing. Raises StartRefused if a process has the database open or it is
    newer than the code, Unavailable for a database that cannot be written.
    """
    from alembic import command  # imported here: a service that is up to date never pays for it
    from alembic.config import Config

    path = database_path(url)
    head = head_revision(versions)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StartRefused(f"cannot make the folder {path.parent}: {error.strerror}") from error
    lock = ProcessLock(path)
    try:
        before = current_revision(url)
        if before is not None and before > head:
            raise StartRefused(f"the database {path} is at schema {before}, newer than this code ({head})")
        if before == head:
            return before, head
        engine = writer_engine(path)
        try:
            with translated(), engine.begin() as connection:
                config = Config()
                config.set_main_option("script_location", str(_ENVIRONMENT).replace("%", "%%"))
                config.set_main_option("path_separator", "newline")
                config.set_main_option("version_locations", str(versions).replace("%", "%%"))
                config.attributes["connection"] = connection
                command.upgrade(config, head)
        finally:
            engine.dispose()
        return before, head
    finally:
        lock.release()


async def wait_for_schema(
    url: str,
    versions: Path,
    command: str,
    on_waiting: Callable[[SchemaState], None],
    stop: asyncio.Event,
    *,
    poll_seconds: float = 1.0,
) -> bool:
    """Return True once the schema is what the code needs, False if `stop` was set first.

    Call it before opening the `Database`: the migration needs the lock that an open database holds. `on_waiting` is
    called once, so that the service can log the command and stay NOT_SERVING.
    """
    told = False
    while not stop.is_set():
        state = await asyncio.to_thread(check_schema, url, versions, command)
        if state.ready:
            return True
        if not told:
            on_waiting(state)
            told = True
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), poll_seconds)
    return False

"""Taking copies of a service's database and putting them back, as an operator would. Used by the tests of restores."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from handrail_storage import marker_path
from tests.crash.site import Site
from tests.fakes.processes import poll


def take_copy(site: Site, name: str, label: str = "copy") -> Path:
    """A consistent copy while the service runs (SQLite's backup API)."""
    copy = site.folder / f"{name}-{label}.backup"
    with closing(sqlite3.connect(site.database(name))) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    return copy


async def put_back(site: Site, name: str, copy: Path, *, noticed: bool = True) -> None:
    """Replace the database of a service, which is killed for it. Not started again.

    `noticed`: the marker has caught up with the database before. False: it is what it was when the copy was taken, as
    if the file had been swapped within the second in which markers lag behind.
    """
    process, database = site.process(name), site.database(name)
    if noticed:
        await poll(lambda: not process.running or read_marker(database) == read_history(database), "the marker")
    process.kill()
    for suffix in ("-wal", "-shm"):
        database.with_name(database.name + suffix).unlink(missing_ok=True)
    shutil.copy(copy, database)
    if not noticed:
        history_id, position = read_history(database)
        marker_path(database).write_text(json.dumps({"history_id": history_id, "position": position}), "utf-8")


def read_marker(database: Path) -> tuple[str, int] | None:
    """(history_id, position) as the marker has them."""
    try:
        body = json.loads(marker_path(database).read_bytes())
    except FileNotFoundError:
        return None
    return body["history_id"], body["position"]


def read_history(database: Path) -> tuple[str, int]:
    """(history_id, position) as stored."""
    with closing(sqlite3.connect(database)) as connection:
        history_id, position = connection.execute("SELECT history_id, position FROM history").fetchone()
    return str(history_id), int(position)

"""The history of a database: an id that a restore renews, and a position by which a file that was put back is known.

soundness.md 'Restored databases': a backup that is put back goes on under the old history id as if nothing had been
lost, so the peer would believe it. A marker file beside the database (`loop.db.history`) remembers how far it had
come; `Database` compares the two when it opens and `renew_history` is the operator's own command.

Both services' migrations make the table `history` with one row: `history_id`, `position`. The position counts groups
of units that changed something. Its price is one statement of a few microseconds and one page in each group's commit,
which the group shares; the exact count is worth it, since a coarser mark would leave a longer stretch of commits that
could be put back unseen. The marker is written by a thread of its own, at most about once a second, so a file that is
put back to within the last second before a crash is not known by it: the peer's high-water mark is what tells then.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine, text

from handrail_rpc.logging import get_logger
from handrail_storage.driver_errors import storage_unavailable, translated
from handrail_storage.process_lock import ProcessLock
from handrail_storage.sqlite_engine import database_path, writer_engine

ADVANCE = "UPDATE history SET position = position + 1"
MARKER_SUFFIX = ".history"
_SECONDS_BETWEEN_MARKERS = 1.0
_READ = text("SELECT history_id, position FROM history")
_RENEW = text("UPDATE history SET history_id = :history_id, position = position + 1")

logger = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class History:
    """`put_back` says how the file was known to be an older copy; empty where it is the one that was left."""

    history_id: str
    position: int
    put_back: str = ""


def marker_path(database: Path) -> Path:
    """Where the marker of a database file lies. A backup leaves it out."""
    return database.with_name(database.name + MARKER_SUFFIX)


def take_up(engine: Engine, database: Path, new_id: Callable[[], str]) -> History:
    """Compare a database with its marker, renew the history of one that was put back, and write the marker.

    Called with the process lock held, before anything else is written. Raises Unavailable where either cannot be
    written. A crash between the two leaves a marker of another history: the next start renews once more.
    """
    marker = _read_marker(marker_path(database))
    with translated(), engine.begin() as connection:
        history_id, position = connection.execute(_READ).one()
        why = _why_put_back(history_id, position, marker)
        if why:
            history_id, position = new_id(), position + 1
            connection.execute(_RENEW, {"history_id": history_id})
    taken = History(history_id, position, why)
    _write_first(database, taken)
    return taken


def renew_history(url: str, new_id: Callable[[], str]) -> tuple[str, str]:
    """The operator's command after a restore; returns the history ids before and after.

    Raises StartRefused where a process has the database open, Unavailable where it cannot be written or has no schema.
    """
    path = database_path(url)
    if not path.exists():
        raise storage_unavailable(f"there is no database {path}")
    lock = ProcessLock(path)
    try:
        engine = writer_engine(path)
        try:
            with translated(), engine.begin() as connection:
                before, position = connection.execute(_READ).one()
                after = new_id()
                connection.execute(_RENEW, {"history_id": after})
        finally:
            engine.dispose()
        _write_first(path, History(after, position + 1))
        return str(before), after
    finally:
        lock.release()


class Marker:
    """Keeps the marker file up with the database while it is open."""

    def __init__(self, database: Path, history: History) -> None:
        self._path = marker_path(database)
        self._history_id = history.history_id
        self._position = self._written = history.position
        self._moved = threading.Event()
        self._closed = threading.Event()
        self._failing = False
        self._thread = threading.Thread(target=self._work, name="handrail-marker", daemon=True)
        self._thread.start()

    def advanced(self) -> None:
        """A group that moved the position is durable. Called by the writer's thread alone."""
        self._position += 1
        self._moved.set()

    def close(self) -> None:
        """Write the last position and end the thread. Blocks; may be called again."""
        self._closed.set()
        self._moved.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._closed.is_set():
            self._moved.wait()
            self._moved.clear()
            self._write()
            self._closed.wait(_SECONDS_BETWEEN_MARKERS)
        self._write()

    def _write(self) -> None:
        position = self._position
        if position == self._written:
            return
        try:
            _write_marker(self._path, History(self._history_id, position))
        except OSError as error:
            # The disk is full, say: an older marker only knows less, and it is written again once there is room.
            if not self._failing:
                logger.warning("the history marker cannot be written", path=str(self._path), error=error.strerror)
            self._failing = True
            if not self._closed.is_set():
                self._moved.set()
            return
        self._failing = False
        self._written = position


def _why_put_back(history_id: str, position: int, marker: History | None) -> str:
    if marker is None:
        return "it has been served before, but not here: its marker is missing" if position else ""
    if marker.history_id != history_id:
        return "its marker belongs to another history"
    if marker.position > position:
        return f"it is at position {position}, and was at {marker.position} when it was last served"
    return ""


def _read_marker(path: Path) -> History | None:
    """None where it is missing or no marker. Raises Unavailable where it cannot be read."""
    try:
        data = json.loads(path.read_bytes())
        return History(str(data["history_id"]), int(data["position"]))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise storage_unavailable(f"the history marker {path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError):
        logger.warning("the history marker is not readable and counts as missing", path=str(path))
        return None


def _write_first(database: Path, history: History) -> None:
    path = marker_path(database)
    try:
        _write_marker(path, history)
    except OSError as error:
        raise storage_unavailable(f"the history marker {path} cannot be written: {error.strerror}") from error


def _write_marker(path: Path, history: History) -> None:
    """Replace the file as a whole. It is synced, off the path of every write: after a power cut a torn marker would
    take a healthy database for one that was put back."""
    new = path.with_name(path.name + ".new")
    body = json.dumps({"history_id": history.history_id, "position": history.position}).encode()
    with new.open("wb") as file:
        file.write(body)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)

"""One process a database: a lock file beside it, held with flock for as long as the database is open.

Used by `Database` and `migrate`. SQLite would let two processes interleave; leases, in-process wake-ups and the
single writer all assume they do not.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from handrail_rpc.errors import StartRefused


class ProcessLock:
    """Held from construction to `release`. Raises StartRefused, naming the file and the holder's pid."""

    def __init__(self, database: Path) -> None:
        self.path = database.with_name(database.name + ".lock")
        try:
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StartRefused(f"cannot open the lock file {self.path}: {error.strerror}") from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(self._descriptor, 32).decode("ascii", "replace").strip()
            os.close(self._descriptor)
            by = f"process {holder}" if holder else "another process"
            raise StartRefused(
                f"the database {database} is in use by {by} (lock file {self.path}); stop it first"
            ) from error
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Give the lock up; the file stays (removing it would race with a process that has it open)."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

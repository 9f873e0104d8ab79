"""A folder as a workspace: its scan, reading, and the atomic write of one file (requirements C10, I2).

Rules: regular files only; no symbolic link is followed, wherever it leads; hidden names are left out; what breaks a
limit or path rule is left out and told in the log, the rest works. Opened through folder descriptors, so that a folder
which is swapped for a link meanwhile is not followed either. What no rule closes: an outside editor may write between
the last comparison and the rename.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import stat
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from adapter_service.application.workspace import own_writes
from adapter_service.application.workspace.uploaded import check_together, check_writable
from adapter_service.domain import failure_texts as texts
from adapter_service.domain.workspace import (
    FILE_LIMIT,
    MOST_BYTES,
    MOST_FILE_BYTES,
    MOST_FILES,
    TOTAL_LIMIT,
    clashes,
    state_sha256,
)
from adapter_service.sdk import BaseChanged, Domain, ToolError, WorkspaceFile
from adapter_service.storage.workspace_scan import (
    UNREADABLE,
    Entry,
    Looks,
    identity_of,
    look_through,
    looks_of,
    open_root,
    why_left_out,
)
from handrail_rpc.errors import StartRefused, Unavailable
from handrail_rpc.logging import get_logger

FORM = "the path of a folder that exists and can be read"
# A file that was changed so shortly before it was hashed may change again without another time of change: the coarsest
# clock of a usual file system (FAT) has two seconds.
GRANULARITY_NS = 2_000_000_000
_TEMPORARY = re.compile(r"\.handrail-[0-9a-f]{16}\.tmp")
_CHUNK_BYTES = 256 * 1024

logger = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a file looked like when it was hashed; `sure` where no later change can look the same."""

    looks: Looks
    sha256: str
    sure: bool


class _MaybeWritten(Exception):
    """The new bytes are in their place, and nobody can say whether they would survive a loss of power."""


class FolderWorkspace:
    """`sdk.Workspace` of one state of a folder. `skipped` are paths left out, with the reason."""

    def __init__(
        self,
        folder: WorkspaceFolder,
        files: Mapping[str, WorkspaceFile],
        names: Mapping[str, str],
        skipped: dict[str, str],
    ) -> None:
        self.workspace_id = folder.workspace_id
        self.uploaded = False
        self.files = files
        self.sha256 = state_sha256(files)
        self.skipped: Mapping[str, str] = MappingProxyType(skipped)
        self._folder = folder
        self._names = names

    def read(self, path: str) -> bytes:
        """See sdk.Workspace."""
        wanted = self.files[path].sha256
        data = self._folder.read(self._names[path])
        if data is None or hashlib.sha256(data).hexdigest() != wanted:
            raise BaseChanged
        return data

    def replace(self, path: str, data: bytes, expected_sha256: str) -> str:
        """See sdk.Workspace; keeps the mode of a file that is there, and makes folders that are missing."""
        check_writable(path, data)
        file = WorkspaceFile(path, hashlib.sha256(data).hexdigest(), len(data))
        check_together({**self.files, path: file}, path)
        self._folder.replace(self._names.get(path, path), data, expected_sha256)
        own_writes.note(file)
        return file.sha256


class WorkspaceFolder:
    """One folder. Safe from any thread; one scan and one write at a time. `left_out` is a folder in it that is no part.

    Openings that wait for a scan share the next one, which begins after all of them were asked for.

    Raises StartRefused naming `setting` for a path that is no readable folder.
    """

    def __init__(self, setting: str, path: str, left_out: Path | None = None) -> None:
        try:
            self._root = Path(path).resolve(strict=True)
            with os.scandir(self._root):
                pass
        except OSError as error:
            raise StartRefused(f"{setting}: {path!r} must be {FORM} ({error.strerror})") from error
        self.workspace_id = f"folder-{hashlib.sha256(os.fsencode(self._root)).hexdigest()[:32]}"
        self._left_out = identity_of(left_out)
        self._gate = threading.Lock()
        self._writing = threading.Lock()
        self._seen: dict[str, _Seen] = {}
        self._state: FolderWorkspace | None = None
        self._state_begun = 0
        self._listing: list[tuple[str, Looks]] | None = None
        self._remove_temporary()

    def open(self) -> FolderWorkspace:
        """Its present state: one stat a file, and reading what may have changed. The same object where nothing has.

        Raises Unavailable where the folder is gone or cannot be read any more.
        """
        asked = time.monotonic_ns()
        with self._gate:
            if self._state is not None and self._state_begun > asked:
                return self._state
            begun = time.monotonic_ns()
            try:
                self._state = self._scan()
            except OSError as error:
                logger.error("workspace folder cannot be read", error=error.strerror)
                raise Unavailable(
                    "the workspace folder cannot be read; look after it and ask again", reason="WORKSPACE_UNAVAILABLE"
                ) from error
            self._state_begun = begun
            return self._state

    def _scan(self) -> FolderWorkspace:
        skipped: dict[str, str] = {}
        entries = look_through(self._root, skipped, self._left_out)
        listing = [(entry.name, entry.looks) for entry in entries]
        state = self._state
        if state is not None and listing == self._listing:
            return state
        files, names, sure = self._hash(entries, skipped)
        # Trusted as a whole only where no file can have changed again without looking different.
        self._listing = listing if sure else None
        if state is not None and state.files == files and state.skipped == skipped:
            return state
        if skipped and (state is None or state.skipped != skipped):
            logger.warning("workspace files left out", count=len(skipped), reasons=sorted(set(skipped.values())))
        return FolderWorkspace(self, MappingProxyType(files), names, skipped)

    def read(self, name: str) -> bytes | None:
        """The bytes of a file as it is now; None where there is no such regular file within the limit."""
        try:
            with self._parent(name) as (parent, base):
                found = _read(parent, base)
        except OSError:
            return None
        return None if found is None else found[1]

    def replace(self, name: str, data: bytes, expected_sha256: str) -> None:
        """Put bytes in the place of the file's in one step, if it still has that hash ("": if there is none).

        Raises BaseChanged where it has not, ToolError where the folder cannot be written. Nothing is changed then. Any
        other error leaves open whether it is.
        """
        try:
            with self._writing, self._parent(name, make=not expected_sha256) as (parent, base):
                self._put(parent, base, data, expected_sha256)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise BaseChanged from error
        except OSError as error:
            logger.error("workspace file could not be written", error=error.strerror)
            raise ToolError(
                "tool_failed", texts.WORKSPACE_NOT_WRITABLE, source_code="workspace_not_writable", retryable=True
            ) from error

    def _put(self, parent: int, base: str, data: bytes, expected_sha256: str) -> None:
        temporary = f".handrail-{secrets.token_hex(8)}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        try:
            # Nobody else reads in it what the file in its place may keep from them.
            written = os.open(temporary, flags, 0o600 if expected_sha256 else 0o666, dir_fd=parent)
            try:
                _write_all(written, data)
                current = _hash_now(parent, base) if expected_sha256 else None
                if current is not None:
                    os.fchmod(written, stat.S_IMODE(current[0].st_mode))
                os.fsync(written)
            finally:
                os.close(written)
            if not expected_sha256:
                # Makes the name only where there is none: nobody's new file is overwritten.
                os.link(temporary, base, src_dir_fd=parent, dst_dir_fd=parent, follow_symlinks=False)
            else:
                # Once more, right before the rename (soundness rule compare_at_write).
                current = _hash_now(parent, base)
                if current is None or current[1] != expected_sha256:
                    raise BaseChanged
                os.rename(temporary, base, src_dir_fd=parent, dst_dir_fd=parent)
            _sync_written(parent)
        except FileExistsError as error:
            raise BaseChanged from error
        finally:
            with suppress(OSError):  # hidden, and removed by the next start
                os.unlink(temporary, dir_fd=parent)

    @contextmanager
    def _parent(self, name: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """The descriptor of the folder that a file is in, and its own name."""
        *folders, base = name.split("/")
        descriptor = open_root(self._root)
        try:
            for folder in folders:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(folder, dir_fd=descriptor)
                        os.fsync(descriptor)
                following = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = following
            yield descriptor, base
        finally:
            os.close(descriptor)

    def _hash(
        self, entries: list[Entry], skipped: dict[str, str]
    ) -> tuple[dict[str, WorkspaceFile], dict[str, str], bool]:
        """The files within the limits, their names in the file system, and whether equal looks mean equal files from
        now on; what is left out goes to `skipped`.
        """
        clashing = {position for position, _, _ in clashes([entry.path for entry in entries])}
        files: dict[str, WorkspaceFile] = {}
        names: dict[str, str] = {}
        seen: dict[str, _Seen] = {}
        total, sure = 0, True
        for position, entry in enumerate(entries):
            if position in clashing:
                skipped[entry.path] = "clashes with another path"
            elif len(files) >= MOST_FILES:
                skipped[entry.path] = f"a workspace has at most {MOST_FILES} files"
            elif entry.looks[0] > MOST_FILE_BYTES:
                skipped[entry.path] = f"a file has at most {FILE_LIMIT}"
            elif total + entry.looks[0] > MOST_BYTES:
                skipped[entry.path] = f"a workspace has at most {TOTAL_LIMIT}"
            else:
                try:
                    known = self._hashed(entry)
                except PermissionError:
                    skipped[entry.path] = UNREADABLE  # until its looks change: permissions are among them
                    continue
                except OSError as error:
                    known = None
                    if reason := why_left_out(error):
                        skipped[entry.path] = reason
                if known is None:
                    sure = False
                    continue
                seen[entry.name] = known
                files[entry.path] = WorkspaceFile(entry.path, known.sha256, known.looks[0])
                names[entry.path] = entry.name
                total += known.looks[0]
                sure = sure and known.sure
        self._seen = seen
        return files, names, sure

    def _hashed(self, entry: Entry) -> _Seen | None:
        """None for what is no regular file within the limit any more. Raises OSError."""
        known = self._seen.get(entry.name)
        if known is not None and known.sure and known.looks == entry.looks:
            return known
        begun = time.time_ns()
        with self._parent(entry.name) as (parent, base):
            read = _read(parent, base)
        if read is None:
            return None
        found, data = read
        looks = looks_of(found)
        # A program can set the time of change of the content, also into the future, but not that of the entry.
        sure = begun - found.st_ctime_ns >= GRANULARITY_NS
        return _Seen((len(data), *looks[1:]), hashlib.sha256(data).hexdigest(), sure and looks[0] == len(data))

    def _remove_temporary(self) -> None:
        """What a process that was killed between writing and renaming has left."""
        for folder, _, names in os.walk(self._root):
            for name in names:
                if _TEMPORARY.fullmatch(name):
                    with suppress(OSError):
                        os.unlink(os.path.join(folder, name))


def open_folders(
    domains: Iterable[Domain], environment: Mapping[str, str], data_dir: Path
) -> dict[str, WorkspaceFolder]:
    """The folders that the settings of domains name, by domain. Raises StartRefused for a path that is no folder."""
    return {
        domain.name: WorkspaceFolder(domain.workspace.folder_setting, path, data_dir)
        for domain in domains
        if domain.workspace is not None and (path := environment.get(domain.workspace.folder_setting, ""))
    }


def _hash_now(parent: int, base: str) -> tuple[os.stat_result, str] | None:
    """What the file looks like and its hash; None where there is none, or something else in its place."""
    try:
        found = _read(parent, base)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP):
            return None
        raise
    return None if found is None else (found[0], hashlib.sha256(found[1]).hexdigest())


def _read(parent: int, base: str) -> tuple[os.stat_result, bytes] | None:
    """What a regular file looks like and its bytes; None for another kind of file, or one beyond the limit."""
    descriptor = os.open(base, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=parent)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return None
        data = bytearray()
        while chunk := os.read(descriptor, _CHUNK_BYTES):
            data += chunk
            if len(data) > MOST_FILE_BYTES:
                return None
        return found, bytes(data)
    finally:
        os.close(descriptor)


def _sync_written(folder: int) -> None:
    """Raises _MaybeWritten: from here on a failure does not mean that nothing has changed."""
    try:
        os.fsync(folder)
    except OSError as error:
        raise _MaybeWritten(error.strerror) from error


def _write_all(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]

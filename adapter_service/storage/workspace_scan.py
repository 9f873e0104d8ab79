"""Looking through a folder of a workspace: which regular files there are, without reading any. Called by
workspace_folder at each opening.

The order is that of names, so that the same folder gives the same list, also where a limit cuts it.
"""

from __future__ import annotations

import errno
import os
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from adapter_service.domain.workspace import MOST_FILES, path_trouble

MOST_LOOKED_AT: Final = 5 * MOST_FILES
"""How many names of files and folders are looked at in all, so that a huge folder costs a bounded time."""
UNREADABLE: Final = "cannot be read"
_MOST_DEPTH = 64
_SHORT = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})

Looks = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Entry:
    """A regular file: its path in NFC, its name as the file system has it, and what it looks like."""

    path: str
    name: str
    looks: Looks


def looks_of(found: os.stat_result) -> Looks:
    """Size, times of change of content and of the entry, inode. The second time cannot be set back by a program."""
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def identity_of(folder: Path | None) -> tuple[int, int] | None:
    """What tells a folder from every other one; None where there is none."""
    try:
        found = folder.stat() if folder is not None else None
    except OSError:
        return None
    return None if found is None else (found.st_dev, found.st_ino)


def look_through(root: Path, skipped: dict[str, str], left_out: tuple[int, int] | None) -> list[Entry]:
    """The regular files below a folder in the order of paths; what is left out goes to `skipped`, hidden names aside.

    Raises OSError where the folder itself cannot be read, or this process is short of memory or descriptors: then a
    file that is not listed is not gone.
    """
    descriptor = open_root(root)
    try:
        found = _Look(skipped, left_out).below(descriptor, "", 0)
        return sorted(found, key=lambda entry: (entry.path, entry.name))
    finally:
        os.close(descriptor)


def open_root(root: Path) -> int:
    """A descriptor of the folder itself, which its setting named by a path without links when the process began.

    Raises OSError for a link that has come in its place, too.
    """
    return os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


def why_left_out(error: OSError) -> str:
    """Why one file or folder is left out; "" for one that has gone meanwhile.

    Raises the error itself where it is about this process and says nothing of the file.
    """
    if error.errno in _SHORT:
        raise error
    return "" if error.errno in _GONE else UNREADABLE


class _Look:
    """One walk. Folders are opened from the folder above, so that a link in the place of one is not followed."""

    def __init__(self, skipped: dict[str, str], left_out: tuple[int, int] | None) -> None:
        self._skipped = skipped
        self._left_out = left_out
        self._looked_at = 0

    def below(self, descriptor: int, above: str, depth: int) -> Iterator[Entry]:
        """The regular files below an open folder."""
        try:
            with os.scandir(descriptor) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            if not above:
                raise
            self._skip(above.rstrip("/"), why_left_out(error))
            return
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if self._looked_at >= MOST_LOOKED_AT:
                self._skip("", f"at most {MOST_LOOKED_AT} names of files and folders are looked at")
                return
            self._looked_at += 1
            name = f"{above}{entry.name}"
            try:
                if entry.is_symlink():
                    self._skip(name, "is a symbolic link")
                elif entry.is_dir(follow_symlinks=False):
                    yield from self._inside(descriptor, entry.name, name, depth)
                elif entry.is_file(follow_symlinks=False):
                    looks = looks_of(entry.stat(follow_symlinks=False))
                    path, trouble = _path_of(name)
                    if trouble:
                        self._skip(name, f"the path {trouble}")
                    else:
                        yield Entry(path, name, looks)
            except OSError as error:
                self._skip(name, why_left_out(error))

    def _inside(self, descriptor: int, base: str, name: str, depth: int) -> Iterator[Entry]:
        if depth >= _MOST_DEPTH:
            self._skip(name, f"folders are nested at most {_MOST_DEPTH} deep")
            return
        below = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=descriptor)
        try:
            found = os.fstat(below)
            if (found.st_dev, found.st_ino) != self._left_out:
                yield from self.below(below, f"{name}/", depth + 1)
        finally:
            os.close(below)

    def _skip(self, name: str, reason: str) -> None:
        if reason:
            self._skipped[name.encode("utf-8", "replace").decode("utf-8")] = reason


@lru_cache(maxsize=2 * MOST_FILES)
def _path_of(name: str) -> tuple[str, str]:
    """The path of a name in the file system, and what is wrong with it."""
    path = unicodedata.normalize("NFC", name)
    return path, path_trouble(path)

"""`handrail workspace download`: fetches what a conversation's workspace has into a folder. Called by
workspace_commands.

The server is not trusted with the machine: each path is checked again, no symbolic link is followed on the way to a
file, and a file appears whole or not at all.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import secrets
import stat
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from gateway.cli import workspace
from gateway.cli.client import HandrailClient
from gateway.cli.events import one_line
from gateway.cli.refusals import EXIT_FAILED, EXIT_OK
from handrail.adapter.v1 import workspace_pb2

_MODE = 0o666
_AS_IT_IS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


class InTheWay(Exception):
    """Something at a file's place, or on the way to it, that is not overwritten; the text says what."""


async def download(
    console: Console,
    client: HandrailClient,
    conversation_id: str,
    folder: Path,
    confirm: Callable[[str], bool] | None,
) -> int:
    """Write every file of the workspace that the folder lacks, or has with other bytes, and say which.

    `confirm` is asked once before files are overwritten; None overwrites them. EXIT_FAILED where it says no (nothing
    is written then), the server names a path outside the folder, or a file could not be written. Raises
    HandrailError.
    """
    files = [file async for page in workspace.pages(client, conversation_id) for file in page.files]
    outside = [file.path for file in files if not stays_inside(file.path)]
    if outside:
        for path in outside:
            console.print(f"refused {one_line(path)!r}: it is no path inside a folder", style="red")
        console.print("nothing was written", style="red")
        return EXIT_FAILED
    try:
        wanted, refused = await asyncio.to_thread(_compare, folder, files)
    except OSError as error:
        console.print(f"the folder cannot be used: {error.strerror}; nothing was written", style="red")
        return EXIT_FAILED
    for path, why in refused:
        console.print(f"not written {one_line(path)}: {why}", style="red")
    changed = [file for file, present in wanted if present]
    if changed and confirm is not None:
        # The conversation does not keep what was uploaded, so edits made here since look like what it has published.
        console.print("these differ from what the folder has, which will be lost:")
        for file in changed:
            console.print(f"  {one_line(file.path)}")
        if not confirm(f"Overwrite {len(changed)} of your files?"):
            console.print("nothing was written", style="yellow")
            return EXIT_FAILED
    for file, present in wanted:
        data = await workspace.read_file(client, conversation_id, file.path)
        if hashlib.sha256(data).hexdigest() != file.sha256:
            console.print("the workspace has changed meanwhile; run the command again", style="red")
            return EXIT_FAILED
        try:
            await asyncio.to_thread(_write, folder, file.path, data, present)
        except (OSError, InTheWay) as error:
            refused.append((file.path, _why(error)))
            console.print(f"not written {one_line(file.path)}: {refused[-1][1]}", style="red")
            continue
        console.print(f"{'overwritten' if present else 'new':<11} {one_line(file.path)}")
    written = sum(1 for file, _ in wanted if file.path not in {path for path, _ in refused})
    console.print(f"{written} of {len(files)} files written to {folder}; the others are as they were", style="dim")
    return EXIT_FAILED if refused else EXIT_OK


def stays_inside(path: str) -> bool:
    """Whether it is a relative path of plain names: no "..", nothing hidden, no control character or backslash."""
    names = path.split("/")
    plain = all(name and not name.startswith(".") for name in names) and "\\" not in path
    return plain and not any(unicodedata.category(character) in ("Cc", "Cs") for character in path)


def _compare(
    folder: Path, files: Sequence[workspace_pb2.WorkspaceFile]
) -> tuple[list[tuple[workspace_pb2.WorkspaceFile, str]], list[tuple[str, str]]]:
    """Files to write with the hash of what is in their place ("" for nothing), and what is in the way with the reason.

    Raises OSError where the folder itself cannot be had.
    """
    folder.mkdir(parents=True, exist_ok=True)
    wanted: list[tuple[workspace_pb2.WorkspaceFile, str]] = []
    refused: list[tuple[str, str]] = []
    with _opened(folder):
        for file in files:
            try:
                with _holder(folder, file.path, make=False) as (holder, name):
                    present = _sha256(holder, name)
            except FileNotFoundError:
                present = ""
            except (OSError, InTheWay) as error:
                refused.append((file.path, _why(error)))
                continue
            if present != file.sha256:
                wanted.append((file, present))
    return wanted, refused


def _write(folder: Path, path: str, data: bytes, present: str) -> None:
    """Put the file in its place in one step. Raises InTheWay where it is another one than when it was compared."""
    with _holder(folder, path, make=True) as (holder, name):
        beside = f".{secrets.token_hex(8)}.handrail"
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, _MODE, dir_fd=holder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                if present:
                    os.fchmod(file.fileno(), stat.S_IMODE(os.stat(name, dir_fd=holder, follow_symlinks=False).st_mode))
                os.fsync(file.fileno())
            if _sha256(holder, name) != present:
                raise InTheWay("it was changed meanwhile")
            os.replace(beside, name, src_dir_fd=holder, dst_dir_fd=holder)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(beside, dir_fd=holder)
            raise


@contextmanager
def _holder(folder: Path, path: str, *, make: bool) -> Iterator[tuple[int, str]]:
    """The folder that holds a file, opened name by name, and the file's name in it; `make` makes what is missing."""
    *names, last = path.split("/")
    with contextlib.ExitStack() as opened:
        holder = opened.enter_context(_opened(folder))
        for name in names:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, dir_fd=holder)
            if stat.S_ISLNK(os.stat(name, dir_fd=holder, follow_symlinks=False).st_mode):
                raise InTheWay("a symbolic link is in its path")
            holder = opened.enter_context(_opened(name, holder))
        yield holder, last


@contextmanager
def _opened(folder: Path | str, within: int | None = None) -> Iterator[int]:
    """A folder; below another one, no symbolic link is taken for it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | (0 if within is None else os.O_NOFOLLOW), dir_fd=within)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _sha256(holder: int, name: str) -> str:
    """The hash of what is there; "" for nothing. Raises InTheWay for what is no regular file."""
    try:
        found = os.stat(name, dir_fd=holder, follow_symlinks=False)
    except FileNotFoundError:
        return ""
    if not stat.S_ISREG(found.st_mode):
        raise InTheWay("a symbolic link is in its place" if stat.S_ISLNK(found.st_mode) else "it is no regular file")
    with os.fdopen(os.open(name, _AS_IT_IS, dir_fd=holder), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _why(error: OSError | InTheWay) -> str:
    return str(error) if isinstance(error, InTheWay) else error.strerror or "it cannot be written"

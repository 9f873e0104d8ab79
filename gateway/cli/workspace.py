"""`handrail workspace`: uploads a folder as the workspace of a conversation, sending only what is missing, and shows
what a conversation works on. Called by main, chat and the demo.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import stat
import unicodedata
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console

from gateway.cli.client import HandrailClient
from gateway.cli.events import one_line
from gateway.cli.refusals import EXIT_FAILED, EXIT_OK
from handrail.adapter.v1 import artifact_service_pb2 as artifacts
from handrail.adapter.v1 import workspace_pb2
from handrail_rpc.context import new_request_id
from handrail_rpc.errors import FieldViolation, InvalidArgument

MOST_FILE_BYTES = 2 * 1024 * 1024
MOST_FILES = 20_000
_SECONDS = 60.0
_AT_ONCE = 4
_PAGE = 1000
_MOST_TRIES = 3
_TELL_EVERY = 100
_OF_FILE = re.compile(r"manifest\.files\[(\d+)\]\.(\w+)")
_SOURCES = {
    workspace_pb2.WORKSPACE_SOURCE_FOLDER: "a folder of the adapter",
    workspace_pb2.WORKSPACE_SOURCE_UPLOAD: "an upload",
}


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file to upload: its path in the workspace, where it is, and what it held when it was looked at."""

    path: str
    place: Path
    sha256: str
    size_bytes: int


class FolderChanged(Exception):
    """A file has other bytes than a moment ago."""


async def upload(console: Console, client: HandrailClient, conversation_id: str, folder: Path) -> int:
    """Make the folder the conversation's workspace. Raises HandrailError, naming the files that are refused; a folder
    that keeps changing or cannot be read is EXIT_FAILED.

    Hidden files and symbolic links are no part of it; a file that is too large or cannot be read is left out, and
    named.
    """
    for _ in range(_MOST_TRIES):
        try:
            files, left_out = await asyncio.to_thread(look, folder)
        except OSError as error:
            console.print(f"the folder cannot be read: {error.strerror}; nothing was taken", style="red")
            return EXIT_FAILED
        if len(files) > MOST_FILES:
            console.print("the folder has more than 20,000 files, which is the limit; nothing was taken", style="red")
            return EXIT_FAILED
        for path, why in left_out:
            console.print(f"left out {one_line(path)}: {why}", style="yellow")
        try:
            state = await _send(console, client, conversation_id, files)
        except FolderChanged:
            console.print("the folder has changed meanwhile; looking again", style="yellow")
            continue
        console.print(_told(state))
        return EXIT_OK
    console.print("the folder is changing all the time; nothing was taken", style="red")
    return EXIT_FAILED


async def show(console: Console, client: HandrailClient, conversation_id: str) -> int:
    """Print the workspace as it is now, and its files. Raises HandrailError."""
    first = True
    async for page in pages(client, conversation_id):
        if first:
            console.print(_told(page.workspace))
            first = False
        for file in page.files:
            console.print(f"  {file.sha256[:12]}  {file.size_bytes:>8}  {one_line(file.path)}")
    return EXIT_OK


async def read_file(client: HandrailClient, conversation_id: str, path: str) -> bytes:
    """A file of the workspace as it is now. Raises HandrailError, NotFound for a path that it does not have."""
    request = artifacts.ReadWorkspaceFileRequest(conversation_id=conversation_id, path=path)

    async def read() -> bytes:
        return b"".join([part.data async for part in client.artifacts.ReadWorkspaceFile(request, timeout=_SECONDS)])

    return await client.call(read)


def look(folder: Path) -> tuple[list[LocalFile], list[tuple[str, str]]]:
    """The files of a folder in the order of paths, and what is left out with the reason; no more are looked at where
    they are more than MOST_FILES. Raises OSError where the folder itself cannot be read.
    """
    found: list[LocalFile] = []
    left_out: list[tuple[str, str]] = []
    for place, trouble in _regular(folder):
        path = unicodedata.normalize("NFC", place.relative_to(folder).as_posix())
        if any("\ud800" <= character <= "\udfff" for character in path):
            path, trouble = ascii(path), "its name is no text in UTF-8"
        try:
            data = b"" if trouble else _read(place)
        except OSError as error:
            trouble = f"it cannot be read: {error.strerror}"
        if trouble:
            left_out.append((path, trouble))
        elif len(data) > MOST_FILE_BYTES:
            left_out.append((path, "a file has at most 2 MiB"))
        else:
            found.append(LocalFile(path, place, hashlib.sha256(data).hexdigest(), len(data)))
        if len(found) > MOST_FILES:
            break
    return sorted(found, key=lambda file: file.path), left_out


def _regular(folder: Path) -> Iterator[tuple[Path, str]]:
    """Regular files, and the folders that cannot be listed with the reason; depth first."""
    listed = [_listed(folder)]
    while listed:
        entry = next(listed[-1], None)
        if entry is None:
            listed.pop()
        elif entry.name.startswith(".") or entry.is_symlink():
            continue
        elif entry.is_dir(follow_symlinks=False):
            try:
                listed.append(_listed(Path(entry.path)))
            except OSError as error:
                yield Path(entry.path), f"it cannot be read: {error.strerror}"
        elif entry.is_file(follow_symlinks=False):
            yield Path(entry.path), ""


def _listed(folder: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as listing:
        return iter(sorted(listing, key=lambda entry: entry.name))


def _read(place: Path) -> bytes:
    """The bytes, or so many that they are too many; a pipe that has come in the file's place holds nobody up."""
    descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is no regular file")
        return file.read(MOST_FILE_BYTES + 1)


async def _send(
    console: Console, client: HandrailClient, conversation_id: str, files: list[LocalFile]
) -> workspace_pb2.Workspace:
    manifest = workspace_pb2.WorkspaceManifest(
        files=[
            workspace_pb2.WorkspaceFile(path=file.path, sha256=file.sha256, size_bytes=file.size_bytes)
            for file in files
        ]
    )
    try:
        answer = await _step(client, conversation_id, manifest=manifest)
    except InvalidArgument as error:
        raise _with_paths(error, files) from None
    missing = list(answer.missing_sha256s)
    if missing:
        by_hash = {file.sha256: file for file in files}
        await _send_files(console, client, conversation_id, [by_hash[sha256] for sha256 in missing])
        answer = await _step(client, conversation_id, manifest=manifest)
    if answer.missing_sha256s:
        raise FolderChanged
    return answer.workspace


def _with_paths(error: InvalidArgument, files: list[LocalFile]) -> InvalidArgument:
    """The same with the files' paths in the place of their numbers, which say nothing to who named the folder."""
    named = tuple(_with_path(each, files) for each in error.field_violations)
    if not named:
        return error
    message = "; ".join(f"{each.field}: {each.description}" for each in named)
    return InvalidArgument(message, named, reason=error.reason, metadata=error.metadata)


def _with_path(violation: FieldViolation, files: list[LocalFile]) -> FieldViolation:
    found = _OF_FILE.fullmatch(violation.field)
    if found is None or int(found[1]) >= len(files):
        return violation
    return FieldViolation(f"{one_line(files[int(found[1])].path)} ({found[2]})", violation.description)


async def _send_files(console: Console, client: HandrailClient, conversation_id: str, files: list[LocalFile]) -> None:
    """A few at a time; what is told is how many of them have arrived."""
    room = asyncio.Semaphore(_AT_ONCE)
    arrived = 0

    async def send(file: LocalFile) -> None:
        nonlocal arrived
        async with room:
            try:
                data = await asyncio.to_thread(_read, file.place)
            except OSError:
                raise FolderChanged from None
            if hashlib.sha256(data).hexdigest() != file.sha256:
                raise FolderChanged
            content = workspace_pb2.WorkspaceFileContent(data=data, sha256=file.sha256)
            await _step(client, conversation_id, file=content)
            arrived += 1
            if arrived % _TELL_EVERY == 0 or arrived == len(files):
                console.print(f"sent {arrived} of {len(files)} new files", style="dim")

    try:
        async with asyncio.TaskGroup() as group:
            for file in files:
                group.create_task(send(file))
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from None


async def _step(
    client: HandrailClient,
    conversation_id: str,
    *,
    file: workspace_pb2.WorkspaceFileContent | None = None,
    manifest: workspace_pb2.WorkspaceManifest | None = None,
) -> artifacts.UploadWorkspaceResponse:
    request = artifacts.UploadWorkspaceRequest(
        request_id=new_request_id(), conversation_id=conversation_id, file=file, manifest=manifest
    )
    return await client.call(lambda: client.artifacts.UploadWorkspace(request, timeout=_SECONDS))


async def pages(client: HandrailClient, conversation_id: str) -> AsyncIterator[artifacts.GetWorkspaceResponse]:
    """The workspace as it is now, with its files in the order of their paths. Raises HandrailError."""
    token: str | None = ""
    while token is not None:
        request = artifacts.GetWorkspaceRequest(conversation_id=conversation_id, page_size=_PAGE, page_token=token)
        page = await client.call(partial(client.artifacts.GetWorkspace, request, timeout=_SECONDS))
        yield page
        token = page.next_page_token or None


def _told(state: workspace_pb2.Workspace) -> str:
    source = _SOURCES.get(state.source, "nothing yet")
    snapshot = f" · snapshot {state.workspace_snapshot_id}" if state.workspace_snapshot_id else ""
    return (
        f"workspace generation {state.workspace_generation}: {state.file_count} files, {state.size_bytes} bytes, from "
        f"{source}{snapshot} · sha256 {state.workspace_snapshot_sha256}"
    )

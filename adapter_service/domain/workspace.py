"""Workspaces as data: the limits and path rules of their files, a state's hash, and what a session's workspace is at.

Used by uploads, by the folder's scan and by writes alike, so that a path which one of them takes all of them take.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from adapter_service.sdk import WorkspaceFile
from handrail_rpc.digest import canonical_json, sha256_hex

MOST_FILES: Final = 20_000
MOST_FILE_BYTES: Final = 2 * 1024 * 1024
MOST_BYTES: Final = 200 * 1024 * 1024
MOST_PATH_CHARACTERS: Final = 240
FILE_LIMIT: Final = "2 MiB (2,097,152 bytes)"
TOTAL_LIMIT: Final = "200 MiB (209,715,200 bytes)"

_SHA256 = re.compile(r"[0-9a-f]{64}")
# Categories Cc, Zl, Zp and Cs of Unicode: control characters, separators of lines and paragraphs, lone surrogates.
_REFUSED = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class WorkspaceSource(StrEnum):
    """Names of handrail.adapter.v1.WorkspaceSource without prefix; UNSPECIFIED: no folder is set, nothing uploaded."""

    UNSPECIFIED = "UNSPECIFIED"
    FOLDER = "FOLDER"
    UPLOAD = "UPLOAD"


@dataclass(frozen=True, slots=True)
class WorkspaceState:
    """What a session's workspace is at (C10). `generation` counts from 1; `snapshot_id` is "" for a folder."""

    generation: int
    sha256: str
    source: WorkspaceSource
    snapshot_id: str
    documentation_version: str
    file_count: int
    size_bytes: int
    create_time: datetime


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One uploaded state, or what a publication made of it, without its files; `number` counts within the session."""

    snapshot_id: str
    domain_session_id: str
    number: int
    sha256: str
    file_count: int
    size_bytes: int
    create_time: datetime


def is_sha256(text: str) -> bool:
    """Whether it is lower-case hex of 32 bytes."""
    return bool(_SHA256.fullmatch(text))


def state_sha256(files: Mapping[str, WorkspaceFile]) -> str:
    """The hash of a workspace's state: over the RFC 8785 JSON of {path: sha256}."""
    return sha256_hex(canonical_json({path: file.sha256 for path, file in files.items()}))


def path_trouble(path: str) -> str:
    """What is wrong with a path, with the accepted form; "" for one that a workspace takes."""
    if not path:
        return "must not be empty"
    if len(path) > MOST_PATH_CHARACTERS:
        return f"must have at most {MOST_PATH_CHARACTERS} characters"
    if _REFUSED.search(path):
        return "must be well-formed text without control characters and line breaks"
    if not unicodedata.is_normalized("NFC", path):
        return "must be in Unicode normalisation form C (NFC)"
    if "\\" in path:
        return "must have / between names, and no backslash"
    names = path.split("/")
    if "" in names:
        return "must be relative, with one / between names and none at its ends"
    if "." in names or ".." in names:
        return "must not have the names . and .."
    if any(name.startswith(".") for name in names):
        return "must have no name that begins with a dot: hidden files are no part of a workspace"
    return ""


def folded(path: str) -> str:
    """Equal for paths that a file system which ignores case takes for one."""
    return unicodedata.normalize("NFC", path.casefold())


def clashes(paths: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Which paths cannot be beside the others: their position, the other path, and why."""
    seen: dict[str, str] = {}
    folders: dict[str, str] = {}
    for path in paths:
        names = folded(path).split("/")
        for end in range(1, len(names)):
            folders.setdefault("/".join(names[:end]), path)
    for position, path in enumerate(paths):
        key = folded(path)
        if key in seen:
            other = seen[key]
            yield position, other, "must be named once" if other == path else f"differs from “{other}” in case only"
        elif key in folders:
            yield position, folders[key], f"is also a folder, of “{folders[key]}”"
        seen.setdefault(key, path)

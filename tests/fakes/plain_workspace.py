"""A workspace over a folder with the shape of the SDK's protocol and nothing else: for tests of a domain alone."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from adapter_service.sdk import BaseChanged, WorkspaceFile


@dataclass
class PlainWorkspace:
    """One state of a folder."""

    workspace_id: str
    sha256: str
    files: Mapping[str, WorkspaceFile]
    folder: Path
    uploaded: bool = False

    def read(self, path: str) -> bytes:
        """The bytes of a file."""
        return (self.folder / self.files[path].path).read_bytes()

    def replace(self, path: str, data: bytes, expected_sha256: str) -> str:
        """Write a file if it still has that hash."""
        target = self.folder / path
        now = hashlib.sha256(target.read_bytes()).hexdigest() if target.exists() else ""
        if now != expected_sha256:
            raise BaseChanged
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        return hashlib.sha256(data).hexdigest()


def scan(folder: Path) -> PlainWorkspace:
    """The folder as it is now; hidden files are left out."""
    files: dict[str, WorkspaceFile] = {}
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        name = path.relative_to(folder).as_posix()
        if not any(part.startswith(".") for part in name.split("/")):
            data = path.read_bytes()
            files[name] = WorkspaceFile(name, hashlib.sha256(data).hexdigest(), len(data))
    whole = hashlib.sha256(repr([(f.path, f.sha256) for f in files.values()]).encode()).hexdigest()
    return PlainWorkspace("plain", whole, files, folder)

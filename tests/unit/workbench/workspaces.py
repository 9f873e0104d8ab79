"""A folder as the workbench's index wants a workspace; reads are counted. Used by the tests of this folder."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class File:
    path: str
    sha256: str
    size_bytes: int


class Folder:
    """The state of a folder at the time of the call. `reads` are the paths that were read."""

    def __init__(self, root: Path, workspace_id: str = "folder") -> None:
        self.root = root
        self.workspace_id = workspace_id
        self.uploaded = False
        self.reads: list[str] = []
        self.files = {}
        for file in sorted(each for each in root.rglob("*") if each.is_file()):
            data = file.read_bytes()
            path = file.relative_to(root).as_posix()
            self.files[path] = File(path, hashlib.sha256(data).hexdigest(), len(data))
        listing = "".join(f"{path}\0{file.sha256}\0" for path, file in self.files.items())
        self.sha256 = hashlib.sha256(listing.encode()).hexdigest()

    def read(self, path: str) -> bytes:
        self.reads.append(path)
        return (self.root / path).read_bytes()


def write(root: Path, path: str, text: str | bytes) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())

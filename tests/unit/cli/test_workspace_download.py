"""What `handrail workspace download` writes where a server or somebody else misbehaves: never outside the folder."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from gateway.cli import workspace_download
from handrail.adapter.v1 import artifact_service_pb2 as pb


class Server:
    """Stands for a client of a server that names these files; `served` differs from what it listed."""

    def __init__(self, files: dict[str, str], served: dict[str, str] | None = None) -> None:
        self.artifacts = self
        self._files, self._served = files, files if served is None else served

    async def call(self, send: Callable[[], Any]) -> Any:
        return await send()

    async def GetWorkspace(self, _request: pb.GetWorkspaceRequest, **_more: object) -> pb.GetWorkspaceResponse:
        answer = pb.GetWorkspaceResponse()
        for path, text in self._files.items():
            answer.files.add(path=path, sha256=hashlib.sha256(text.encode()).hexdigest(), size_bytes=len(text))
        return answer

    async def ReadWorkspaceFile(
        self, request: pb.ReadWorkspaceFileRequest, **_more: object
    ) -> AsyncIterator[pb.ReadWorkspaceFileResponse]:
        yield pb.ReadWorkspaceFileResponse(data=self._served[request.path].encode())


async def download(server: Server, folder: Path, confirm: Callable[[str], bool] | None = None) -> tuple[int, str]:
    output = io.StringIO()
    client: Any = server
    console = Console(file=output, markup=False, width=200)
    return await workspace_download.download(console, client, "conv_1", folder, confirm), output.getvalue()


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


@pytest.mark.parametrize(
    "path", ["", "/etc/x", "../x", "a/../../x", "a//x", "./x", "a/", ".bashrc", "a/.git/x", "..\\x", "a\nb", "a\0b"]
)
async def test_a_path_outside_the_folder_or_hidden_writes_nothing_at_all(tmp_path: Path, path: str) -> None:
    folder = tmp_path / "mine"
    code, output = await download(Server({"fine.md": "x", path: "x"}), folder)
    assert code == 1
    assert "nothing was written" in output
    assert names(tmp_path) == []


@pytest.mark.parametrize("place", ["file", "folder"])
async def test_a_symbolic_link_is_not_followed(tmp_path: Path, place: str) -> None:
    folder, outside = tmp_path / "mine", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (outside / "a.md").write_text("theirs")
    if place == "folder":
        (folder / "docs").symlink_to(outside, target_is_directory=True)
    else:
        (folder / "docs").mkdir()
        (folder / "docs" / "a.md").symlink_to(outside / "a.md")
    code, output = await download(Server({"docs/a.md": "x", "fine.md": "fine"}), folder)
    assert code == 1
    assert "not written docs/a.md: a symbolic link is in its" in output
    assert (outside / "a.md").read_text() == "theirs"
    assert names(outside) == ["a.md"]
    assert (folder / "fine.md").read_text() == "fine"


async def test_other_bytes_than_were_listed_are_not_written(tmp_path: Path) -> None:
    code, output = await download(Server({"a.md": "listed"}, {"a.md": "another"}), tmp_path)
    assert code == 1
    assert "changed meanwhile" in output
    assert names(tmp_path) == []


async def test_a_file_saved_after_it_was_compared_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("old")

    def saves(_question: str) -> bool:
        file.write_text("saved meanwhile")
        return True

    code, output = await download(Server({"a.md": "published"}), tmp_path, saves)
    assert code == 1
    assert "not written a.md: it was changed meanwhile" in output
    assert file.read_text() == "saved meanwhile"
    assert names(tmp_path) == ["a.md"]


async def test_a_write_that_fails_leaves_the_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.md").write_text("old")

    def full(*_arguments: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", full)
    code, output = await download(Server({"a.md": "published"}), tmp_path)
    assert code == 1
    assert os.strerror(28) in output
    assert (tmp_path / "a.md").read_text() == "old"
    assert names(tmp_path) == ["a.md"]

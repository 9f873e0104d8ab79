"""What `handrail workspace upload` takes of a folder, whatever is in it or happens to it meanwhile."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from gateway.cli import workspace
from gateway.cli.workspace import FolderChanged, LocalFile, look


def test_a_file_or_folder_that_cannot_be_read_is_left_out_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.md").write_text("red")
    (tmp_path / "secret.md").write_text("x")
    (tmp_path / "closed").mkdir()
    opened, listed = os.open, os.scandir

    def refused(path: object) -> None:
        if Path(str(path)).name in ("secret.md", "closed"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "open", lambda path, *more: (refused(path), opened(path, *more))[1])
    monkeypatch.setattr(os, "scandir", lambda path: (refused(path), listed(path))[1])
    files, left_out = look(tmp_path)
    assert [file.path for file in files] == ["a.md"]
    reason = "it cannot be read: Permission denied"
    assert sorted(left_out) == [("closed", reason), ("secret.md", reason)]


def test_no_more_files_are_read_than_a_workspace_can_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "MOST_FILES", 3)
    for number in range(9):
        (tmp_path / f"{number}.md").write_text("x")
    assert len(look(tmp_path)[0]) == 4


@pytest.mark.parametrize("becomes", ["nothing", "a pipe", "a link"])
async def test_a_file_that_is_no_file_any_more_when_it_is_sent_means_a_changed_folder(
    tmp_path: Path, becomes: str
) -> None:
    place = tmp_path / "a.md"
    if becomes == "a pipe":
        os.mkfifo(place)
    elif becomes == "a link":
        place.symlink_to(__file__)
    file = LocalFile("a.md", place, "0" * 64, 1)
    with pytest.raises(FolderChanged):
        # It never comes to the client.
        await workspace._send_files(None, None, "conv_1", [file])  # type: ignore[arg-type]

"""A folder as a workspace: what its scan sees and skips, when it reads again, and what a write never does."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from pathlib import Path

import pytest

from adapter_service.domain import workspace as rules
from adapter_service.sdk import BaseChanged, ToolError
from adapter_service.storage import workspace_folder, workspace_scan
from adapter_service.storage.workspace_folder import WorkspaceFolder
from handrail_rpc.errors import StartRefused

OLD = 1_000_000_000


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def put(path: Path, text: str, *, old: bool = True) -> Path:
    """A file that was changed long ago, so that the scan may trust its looks."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    if old:
        os.utime(path, ns=(OLD, OLD))
    return path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    put(folder / "a.md", "red")
    put(folder / "docs" / "b.md", "blue")
    return folder


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that were read, in order; times of change count as old."""
    read: list[str] = []
    real = workspace_folder._read

    def counted(parent: int, base: str) -> object:
        read.append(base)
        return real(parent, base)

    monkeypatch.setattr(workspace_folder, "_read", counted)
    monkeypatch.setattr(workspace_folder, "GRANULARITY_NS", -1)
    return read


def opened(root: Path) -> WorkspaceFolder:
    return WorkspaceFolder("HANDRAIL_X_FOLDER", str(root))


def test_a_state_has_every_visible_file_in_the_order_of_paths(root: Path) -> None:
    put(root / ".git" / "config", "hidden")
    put(root / ".hidden.md", "hidden")
    put(root / "docs" / "Z.md", "z")
    state = opened(root).open()
    assert list(state.files) == ["a.md", "docs/Z.md", "docs/b.md"]
    assert state.files["a.md"].sha256 == sha256("red")
    assert state.files["a.md"].size_bytes == 3
    assert state.read("docs/b.md") == b"blue"
    with pytest.raises(KeyError):
        state.read(".hidden.md")


def test_equal_states_have_equal_hashes_and_other_names_other_ones(root: Path, tmp_path: Path) -> None:
    folder = opened(root)
    before = folder.open()
    (root / "a.md").rename(root / "c.md")
    renamed = folder.open()
    assert renamed.sha256 != before.sha256
    (root / "c.md").rename(root / "a.md")
    assert folder.open().sha256 == before.sha256


def test_an_unchanged_file_is_not_read_again(root: Path, hashed: list[str]) -> None:
    folder = opened(root)
    first = folder.open()
    assert sorted(hashed) == ["a.md", "b.md"]
    hashed.clear()
    assert folder.open() is first
    assert hashed == []
    put(root / "a.md", "green")
    assert folder.open().files["a.md"].sha256 == sha256("green")
    assert hashed == ["a.md"]


def test_a_file_that_was_changed_just_before_is_read_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Racy clean: on a file system with a coarse clock two changes can look the same, also in size and times."""
    for module in (workspace_folder, workspace_scan):
        monkeypatch.setattr(module, "looks_of", lambda found: (found.st_size, 0, 0, found.st_ino))
    folder = opened(root)
    path = put(root / "a.md", "one", old=False)
    assert folder.open().files["a.md"].sha256 == sha256("one")
    with path.open("r+") as file:
        file.write("two")
    assert folder.open().files["a.md"].sha256 == sha256("two")


def test_a_time_of_change_that_was_set_back_hides_nothing(root: Path, hashed: list[str]) -> None:
    folder = opened(root)
    folder.open()
    put(root / "a.md", "RED")  # same size, same old time of change, same inode
    assert folder.open().files["a.md"].sha256 == sha256("RED")


def test_links_are_followed_nowhere(root: Path, tmp_path: Path) -> None:
    outside = put(tmp_path / "outside" / "secret.md", "secret")
    (root / "link.md").symlink_to(outside)
    (root / "inside.md").symlink_to(root / "a.md")
    (root / "folder").symlink_to(outside.parent)
    state = opened(root).open()
    assert list(state.files) == ["a.md", "docs/b.md"]
    assert set(state.skipped) == {"link.md", "inside.md", "folder"}


def test_a_file_or_folder_that_becomes_a_link_is_neither_read_nor_written(root: Path, tmp_path: Path) -> None:
    outside = put(tmp_path / "outside" / "b.md", "blue")
    same = put(tmp_path / "outside" / "a.md", "red")  # only the link tells it from the file
    state = opened(root).open()
    (root / "docs" / "b.md").unlink()
    (root / "docs").rmdir()
    (root / "docs").symlink_to(outside.parent)
    (root / "a.md").unlink()
    (root / "a.md").symlink_to(same)
    for path, text in (("docs/b.md", "blue"), ("a.md", "red")):
        with pytest.raises(BaseChanged):
            state.read(path)
        with pytest.raises(BaseChanged):
            state.replace(path, b"new", sha256(text))
    assert outside.read_text() == "blue"
    assert same.read_text() == "red"


def test_what_breaks_a_rule_is_left_out_and_the_rest_works(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "large.md").write_bytes(bytes(rules.MOST_FILE_BYTES + 1))
    put(root / "A.MD", "upper")
    put(root / "e\u0301.md", "accent")
    put(root / ("x" * 200) / ("y" * 60), "long")
    put(root / "back\\slash.md", "x")
    put(root / "line\nbreak.md", "x")
    os.mkfifo(root / "pipe.md")
    (root / "not-utf8-\udcff.md").write_text("x")
    state = opened(root).open()
    assert list(state.files) == ["A.MD", "docs/b.md", "\u00e9.md"]
    assert state.read("\u00e9.md") == b"accent"
    assert len(state.skipped) == 6
    assert "2 MiB" in state.skipped["large.md"]
    assert "clashes" in state.skipped["a.md"]


def test_more_than_the_limits_is_left_out(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace_folder, "MOST_FILES", 1)
    state = opened(root).open()
    assert list(state.files) == ["a.md"]
    assert "at most 1 files" in state.skipped["docs/b.md"]
    monkeypatch.setattr(workspace_folder, "MOST_FILES", 10)
    monkeypatch.setattr(workspace_folder, "MOST_BYTES", 6)
    state = opened(root).open()
    assert list(state.files) == ["a.md"]
    assert "200 MiB" in state.skipped["docs/b.md"]


def test_a_data_folder_inside_is_no_part_of_it(root: Path) -> None:
    put(root / "handrail-data" / "adapter.txt", "x")
    folder = WorkspaceFolder("HANDRAIL_X_FOLDER", str(root), root / "handrail-data")
    assert list(folder.open().files) == ["a.md", "docs/b.md"]


@pytest.mark.parametrize("path", ["missing", "a.md"])
def test_a_path_that_is_no_folder_stops_the_start(root: Path, path: str) -> None:
    with pytest.raises(StartRefused, match="HANDRAIL_X_FOLDER: .*must be the path of a folder that exists"):
        WorkspaceFolder("HANDRAIL_X_FOLDER", str(root / path))


def test_a_write_replaces_the_whole_file_and_keeps_its_mode(root: Path) -> None:
    (root / "a.md").chmod(0o640)
    before = os.stat(root / "a.md").st_ino
    folder = opened(root)
    assert folder.open().replace("a.md", b"green", sha256("red")) == sha256("green")
    after = os.stat(root / "a.md")
    assert (root / "a.md").read_text() == "green"
    assert stat.S_IMODE(after.st_mode) == 0o640
    assert after.st_ino != before
    assert sorted(os.listdir(root)) == ["a.md", "docs"]  # nothing temporary is left
    assert folder.open().files["a.md"].sha256 == sha256("green")


def test_a_write_to_another_base_changes_nothing(root: Path) -> None:
    state = opened(root).open()
    for path, expected in (("a.md", sha256("other")), ("a.md", ""), ("gone.md", sha256("x")), ("no/gone.md", "0" * 64)):
        with pytest.raises(BaseChanged):
            state.replace(path, b"green", expected)
    assert (root / "a.md").read_text() == "red"
    assert sorted(os.listdir(root)) == ["a.md", "docs"]


def test_an_edit_right_before_the_rename_is_not_overwritten(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """compare_at_write: the comparison comes after the bytes are on the disk."""
    state = opened(root).open()
    real = os.fsync
    fired: list[int] = []

    def edited(descriptor: int) -> None:
        real(descriptor)
        if not fired:
            fired.append(descriptor)
            (root / "a.md").write_text("somebody else's")

    monkeypatch.setattr(os, "fsync", edited)
    with pytest.raises(BaseChanged):
        state.replace("a.md", b"green", sha256("red"))
    assert fired
    assert (root / "a.md").read_text() == "somebody else's"


def test_of_two_writes_to_one_base_one_succeeds(root: Path) -> None:
    state = opened(root).open()
    barrier = threading.Barrier(2)
    results: list[object] = []

    def write(text: str) -> None:
        barrier.wait()
        try:
            results.append(state.replace("a.md", text.encode(), sha256("red")))
        except BaseChanged as error:
            results.append(type(error))

    threads = [threading.Thread(target=write, args=(text,)) for text in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results.count(BaseChanged) == 1
    assert (root / "a.md").read_text() in ("one", "two")


def test_a_folder_that_cannot_be_written_is_a_tool_error_without_its_path(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = opened(root).open()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(workspace_folder, "_write_all", full)
    with pytest.raises(ToolError) as caught:
        state.replace("a.md", b"green", sha256("red"))
    assert caught.value.source_code == "workspace_not_writable"
    assert str(root) not in caught.value.explanation.en
    assert (root / "a.md").read_text() == "red"
    assert sorted(os.listdir(root)) == ["a.md", "docs"]


@pytest.mark.parametrize("path", ["../out.md", "/abs.md", ".hidden", "docs/../a.md", "A.MD", "a.md/below"])
def test_a_write_takes_only_paths_that_a_workspace_takes(root: Path, path: str) -> None:
    with pytest.raises(ToolError):
        opened(root).open().replace(path, b"x", "")


def test_what_a_killed_process_left_is_removed_at_the_start(root: Path) -> None:
    put(root / "docs" / ".handrail-0123456789abcdef.tmp", "half")
    assert list(opened(root).open().files) == ["a.md", "docs/b.md"]
    assert not (root / "docs" / ".handrail-0123456789abcdef.tmp").exists()

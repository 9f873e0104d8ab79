"""A folder that causes trouble while it is looked at or written: what is short, slow, damaged or in the way."""

from __future__ import annotations

import errno
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from adapter_service.sdk import BaseChanged, ToolError
from adapter_service.storage import workspace_folder, workspace_scan
from adapter_service.storage.workspace_folder import WorkspaceFolder
from handrail_rpc.errors import Unavailable
from tests.fakes.workspaces import sha256

OLD = 1_000_000_000
SCANDIR: Any = os.scandir


def put(path: Path, text: str, *, old: bool = True) -> Path:
    """A file that was changed long ago, as far as its time of change tells."""
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


def opened(root: Path) -> WorkspaceFolder:
    return WorkspaceFolder("HANDRAIL_X_FOLDER", str(root))


class Backwards:
    """A file system that lists names in another order."""

    def __init__(self, folder: Any) -> None:
        self._listing = SCANDIR(folder)

    def __enter__(self) -> Any:
        return iter(sorted(self._listing, key=lambda entry: entry.name, reverse=True))

    def __exit__(self, *_: object) -> None:
        self._listing.close()


def test_openings_that_wait_for_a_scan_share_the_next_one(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a folder costs does not grow with the decisions that are made at once; each sees it as of its own begin."""
    folder = opened(root)
    folder.open()
    scans: list[int] = []
    asked = threading.Semaphore(0)
    first, release = threading.Event(), threading.Event()
    real, clock = workspace_folder.look_through, workspace_folder.time.monotonic_ns

    def look(*arguments: Any) -> Any:
        scans.append(1)
        if len(scans) == 1:
            first.set()
            assert release.wait(30)
        return real(*arguments)

    def now() -> int:
        asked.release()
        return clock()

    monkeypatch.setattr(workspace_folder, "look_through", look)
    monkeypatch.setattr(workspace_folder.time, "monotonic_ns", now)
    states: list[Any] = []
    threads = [threading.Thread(target=lambda: states.append(folder.open())) for _ in range(6)]
    threads[0].start()
    assert first.wait(30)
    put(root / "new.md", "came after the first scan had begun", old=False)
    for thread in threads[1:]:
        thread.start()
    for _ in range(2 + 5):
        assert asked.acquire(timeout=30)
    release.set()
    for thread in threads:
        thread.join(30)
    assert len(scans) == 2
    assert sum("new.md" in state.files for state in states) >= 5


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM])
@pytest.mark.parametrize("place", ["scandir", "open"])
def test_a_process_that_is_short_of_descriptors_takes_no_file_for_gone(
    root: Path, monkeypatch: pytest.MonkeyPatch, number: int, place: str
) -> None:
    folder = opened(root)
    before = folder.open()
    real: Any = getattr(os, place)
    target = "b.md" if place == "open" else None

    def short(path: Any, *arguments: Any, **more: Any) -> Any:
        if path == target or (place == "scandir" and len(os.listdir(path)) == 1):
            raise OSError(number, os.strerror(number))
        return real(path, *arguments, **more)

    monkeypatch.setattr(os, place, short)
    put(root / "docs" / "b.md", "changed")
    with pytest.raises(Unavailable):
        folder.open()
    monkeypatch.setattr(os, place, real)
    assert list(folder.open().files) == list(before.files)


def test_a_file_that_could_not_be_read_once_is_read_at_the_next_opening(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = workspace_folder._read

    def broken(parent: int, base: str) -> Any:
        if base == "b.md":
            raise OSError(errno.EIO, "Input/output error")
        return real(parent, base)

    monkeypatch.setattr(workspace_folder, "GRANULARITY_NS", -1)
    folder = opened(root)
    monkeypatch.setattr(workspace_folder, "_read", broken)
    state = folder.open()
    assert (list(state.files), dict(state.skipped)) == (["a.md"], {"docs/b.md": "cannot be read"})
    monkeypatch.setattr(workspace_folder, "_read", real)
    assert list(folder.open().files) == ["a.md", "docs/b.md"]


def test_a_file_that_vanishes_during_the_scan_is_not_there(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = workspace_folder._read

    def gone(parent: int, base: str) -> Any:
        if base == "a.md":
            (root / "a.md").unlink()
        return real(parent, base)

    monkeypatch.setattr(workspace_folder, "_read", gone)
    state = opened(root).open()
    assert (list(state.files), dict(state.skipped)) == (["docs/b.md"], {})


def test_a_link_in_the_place_of_the_folder_itself_is_not_followed(root: Path, tmp_path: Path) -> None:
    folder = opened(root)
    state = folder.open()
    put(tmp_path / "other" / "a.md", "red")
    root.rename(tmp_path / "away")
    root.symlink_to(tmp_path / "other")
    with pytest.raises(Unavailable):
        folder.open()
    with pytest.raises(BaseChanged):
        state.read("a.md")
    with pytest.raises((BaseChanged, ToolError)):
        state.replace("a.md", b"green", sha256("red"))
    assert (tmp_path / "other" / "a.md").read_text() == "red"


def test_what_is_looked_at_is_limited_and_the_same_each_time(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace_scan, "MOST_LOOKED_AT", 4)
    for name in "dcb":
        put(root / f"{name}.md", name)
    state = opened(root).open()
    assert list(state.files) == ["a.md", "b.md", "c.md", "d.md"]
    assert list(state.skipped.values()) == ["at most 4 names of files and folders are looked at"]


def test_of_two_forms_of_one_name_the_same_one_is_taken_each_time(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(root / "\u00e9.md", "composed")
    put(root / "e\u0301.md", "decomposed")
    one, other = opened(root), opened(root)
    state = one.open()
    monkeypatch.setattr(os, "scandir", Backwards)
    assert other.open().sha256 == state.sha256


def test_a_time_of_change_in_the_future_costs_no_reading(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    real = workspace_folder._read
    monkeypatch.setattr(workspace_folder, "_read", lambda parent, base: (read.append(base), real(parent, base))[1])
    monkeypatch.setattr(workspace_folder, "GRANULARITY_NS", -1)
    os.utime(root / "a.md", ns=(4_000_000_000 * 10**9,) * 2)
    folder = opened(root)
    assert folder.open() is folder.open()
    assert sorted(read) == ["a.md", "b.md"]


def test_a_write_that_may_not_last_is_no_failure_without_effect(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name points to the new bytes already: neither a ToolError nor BaseChanged, so that its outcome is unknown."""
    state = opened(root).open()
    real = os.fsync

    def broken(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EIO, "Input/output error")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", broken)
    for path, expected in (("a.md", sha256("red")), ("new.md", "")):
        with pytest.raises(Exception, match="Input/output error") as caught:
            state.replace(path, b"green", expected)
        assert not isinstance(caught.value, ToolError | BaseChanged | OSError)
        assert (root / path).read_text() == "green"


def test_the_temporary_file_of_a_private_one_is_private(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "a.md").chmod(0o600)
    modes: list[int] = []
    real = workspace_folder._write_all

    def written(descriptor: int, data: bytes) -> None:
        modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        real(descriptor, data)

    monkeypatch.setattr(workspace_folder, "_write_all", written)
    opened(root).open().replace("a.md", b"green", sha256("red"))
    assert modes == [0o600]
    assert stat.S_IMODE(os.stat(root / "a.md").st_mode) == 0o600


def test_somebody_elses_file_with_a_like_name_is_not_removed(root: Path) -> None:
    mine = put(root / ".handrail-notes.tmp", "mine")
    opened(root)
    assert mine.exists()

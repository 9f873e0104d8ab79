"""A process that is killed between the temporary file and the rename: the file is whole, and the next start tidies."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

from adapter_service.storage.workspace_folder import WorkspaceFolder

# kill -9 in the place of the rename: everything before it has happened, nothing after it does.
WRITE_AND_DIE = """
import os, signal, sys
from adapter_service.storage.workspace_folder import WorkspaceFolder
os.rename = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
WorkspaceFolder("HANDRAIL_X_FOLDER", sys.argv[1]).open().replace("docs/a.md", b"green", sys.argv[2])
"""


def test_kill_between_the_temporary_file_and_the_rename_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "docs" / "a.md"
    path.parent.mkdir()
    path.write_text("red")
    expected = hashlib.sha256(b"red").hexdigest()
    died = subprocess.run([sys.executable, "-c", WRITE_AND_DIE, str(tmp_path), expected], timeout=60, check=False)
    assert died.returncode == -signal.SIGKILL
    [left] = [name for name in os.listdir(path.parent) if name != "a.md"]
    assert left.startswith(".handrail-")
    assert (path.parent / left).read_text() == "green"
    assert path.read_text() == "red"
    folder = WorkspaceFolder("HANDRAIL_X_FOLDER", str(tmp_path))
    state = folder.open()
    assert list(state.files) == ["docs/a.md"]
    assert os.listdir(path.parent) == ["a.md"]
    state.replace("docs/a.md", b"green", expected)
    assert path.read_text() == "green"

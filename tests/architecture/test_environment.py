"""`make` makes the environment from the lock, and again only when the lock changed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def _planned(folder: Path, target: str) -> str:
    """What `make target` would run."""
    command = ["make", "--dry-run", "--no-print-directory", target]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_the_environment_is_made_again_only_when_the_lock_changed(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path)
        os.utime(tmp_path / name, (1_000, 1_000))
    for target in ("demo", "test"):
        assert "--require-hashes -r requirements.lock" in _planned(tmp_path, target)
    (tmp_path / ".venv").mkdir()
    for seconds, name in enumerate(("installed", "editable"), start=2_000):
        (tmp_path / ".venv" / name).touch()
        os.utime(tmp_path / ".venv" / name, (seconds, seconds))
    for target in ("demo", "test"):
        assert "pip" not in _planned(tmp_path, target)
    os.utime(tmp_path / "requirements.lock", (3_000, 3_000))
    assert "--require-hashes -r requirements.lock" in _planned(tmp_path, "demo")

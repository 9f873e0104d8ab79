"""Ways to take a service's storage away while it runs, and to give it back: for real, each in its own way.

`SmallDisk` is a tmpfs of its own that is filled to the last byte (ENOSPC; where this process may not mount, tests that
need it are skipped and say so). `refuse_writes` lowers the process's own limit on file sizes to nothing, so that every
write of every file fails (EFBIG), as on a file system that has become read-only.
"""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from gateway.cli.processes import ServiceProcess

MEGABYTE = 1024 * 1024


@dataclass
class SmallDisk:
    """A file system of a few megabytes at `folder`."""

    folder: Path

    def fill(self) -> None:
        """Leave no room for another byte."""
        filler = self.folder / "filler"
        with filler.open("ab", buffering=0) as file:
            for size in (MEGABYTE // 4, 4096, 1):
                try:
                    while True:
                        file.write(b"x" * size)
                except OSError:
                    continue

    def free(self) -> None:
        (self.folder / "filler").unlink()


@contextmanager
def small_disk(folder: Path, megabytes: int = 16) -> Iterator[SmallDisk]:
    """Mount one; unmounted at the end."""
    folder.mkdir(parents=True, exist_ok=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"a file system of its own cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def refuse_writes(process: ServiceProcess) -> None:
    """From now on every write of the process to any file fails."""
    _, most = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, most))


def allow_writes(process: ServiceProcess) -> None:
    _, most = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (most, most))

"""Starts real service processes in a quarter of the time: they are forked from one that has imported almost everything.

Hundreds of restarts are most of what the crash suite costs, and imports are most of a restart. `WarmStart` asks
tests.crash.warm_server for processes; each runs its module as `python -m` would, with an environment of its own.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from gateway.cli.processes import ProcessFailed, Service, ServiceProcess

_READY_SECONDS = 60.0


class WarmStart:
    """The process that others are forked from. A context manager: leaving it ends all of them."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.warm_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._ended: dict[int, int] = {}
        self._read = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(10)

    def start(self, module: str, environment: Mapping[str, str], log_path: Path) -> Child:
        """Run a module in a new process, with exactly this environment, its output appended to the log."""
        assert self._process.stdin is not None
        asked = {"module": module, "environment": dict(environment), "log": str(log_path)}
        self._process.stdin.write(json.dumps(asked).encode() + b"\n")
        self._process.stdin.flush()
        while True:
            word, pid, code = self._next(_READY_SECONDS)
            if word == "started":
                # A number may be used again; what an earlier process of that number ended with is not this one's.
                self._ended.pop(pid, None)
                return Child(self, pid)
            self._ended[pid] = code

    def exit_code(self, pid: int) -> int | None:
        """None while it runs."""
        while pid not in self._ended and self._may_read(0):
            _, ended, code = self._next(0)
            self._ended[ended] = code
        return self._ended.get(pid)

    def _may_read(self, seconds: float) -> bool:
        """Whether a whole line is there; reads unbuffered, as select sees no buffers."""
        assert self._process.stdout is not None
        while b"\n" not in self._read:
            if not select.select([self._process.stdout], [], [], seconds)[0]:
                return False
            data = os.read(self._process.stdout.fileno(), 65_536)
            if not data:
                raise ProcessFailed("tests.crash.warm_server has ended")
            self._read += data
        return True

    def _next(self, seconds: float) -> tuple[str, int, int]:
        if not self._may_read(seconds):
            raise ProcessFailed("tests.crash.warm_server does not answer")
        line, _, self._read = self._read.partition(b"\n")
        word, pid, code = line.split()
        return word.decode(), int(pid), int(code)


class Child:
    """What of subprocess.Popen a ServiceProcess needs."""

    def __init__(self, warm: WarmStart, pid: int) -> None:
        self._warm = warm
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = self._warm.exit_code(self.pid)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        deadline = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("warm start", timeout or 0)
            time.sleep(0.002)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


class WarmProcess(ServiceProcess):
    """A service process that is started by a `WarmStart`."""

    def __init__(self, warm: WarmStart, service: Service, environment: Mapping[str, str], log_path: Path) -> None:
        super().__init__(service, environment, log_path)
        self._warm = warm
        self._process: Any = None

    def start(self) -> None:
        """Start it, if it does not run already."""
        if not self.running:
            self.log_path.parent.mkdir(parents=True, exist_ok=True)
            self._process = self._warm.start(self.service.module, self.environment, self.log_path)

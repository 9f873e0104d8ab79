"""The process that others are forked from: `python -m tests.crash.warm_server`, run and spoken to by `warm_start`.

It has imported almost everything that the services need. Nothing is forked after grpc was imported (engineering.md
'grpc.aio'): that is left to the child.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import sys
from typing import Any

_PACKAGES = tuple(
    f"{service}.{layer}"
    for service in ("loop_service", "adapter_service")
    for layer in ("domain", "application", "convert", "storage")
)
_MODULES = ("handrail_storage", "handrail_storage.migrations", "alembic.command", "tests.fakes.probe_domain")


def _serve() -> None:
    """Fork what is asked for on stdin; tell on stdout what was started and what ended."""
    for name in _PACKAGES:
        package = importlib.import_module(name)
        for found in pkgutil.walk_packages(package.__path__, f"{name}."):
            if ".migrations." not in found.name:
                importlib.import_module(found.name)
    for name in _MODULES:
        importlib.import_module(name)
    assert not any(name.partition(".")[0] == "grpc" for name in sys.modules), "grpc must be imported after the fork"
    gc.collect()
    gc.freeze()
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    children: set[int] = set()
    waiting = b""
    while True:
        ready, _, _ = select.select([0, woken], [], [])
        if woken in ready:
            os.read(woken, 512)
        if 0 in ready:
            data = os.read(0, 65_536)
            if not data:
                break
            *lines, waiting = (waiting + data).split(b"\n")
            for line in lines:
                pid = os.fork()
                if pid == 0:
                    _become(json.loads(line))
                children.add(pid)
                _tell("started", pid, 0)
        for pid in tuple(children):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                children.discard(pid)
                _tell("ended", pid, os.waitstatus_to_exitcode(status))
    for pid in children:
        os.kill(pid, signal.SIGKILL)


def _tell(word: str, pid: int, code: int) -> None:
    os.write(1, f"{word} {pid} {code}\n".encode())


def _become(asked: dict[str, Any]) -> None:
    """In the child: a process as `python -m` makes it. Does not return."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    nothing, log = (
        os.open(os.devnull, os.O_RDONLY),
        os.open(asked["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
    )
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.closerange(3, 64)
    os.environ.clear()
    os.environ.update(asked["environment"])
    # Which crash points are chosen is read at the import.
    importlib.reload(importlib.import_module("handrail_rpc.crash_points"))
    sys.argv = [asked["module"]]
    code = 0
    try:
        runpy.run_module(asked["module"], run_name="__main__", alter_sys=True)
    except SystemExit as ending:
        code = ending.code if isinstance(ending.code, int) else int(ending.code is not None)
    except BaseException:  # noqa: BLE001 - as the interpreter does it
        sys.excepthook(*sys.exc_info())
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _serve()

"""`handrail up` and `handrail migrate`: the three services in the foreground, on the settings of the environment."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable
from contextlib import suppress
from pathlib import Path

from rich.console import Console
from rich.text import Text

from gateway.cli.processes import ADAPTER, LOOP, ProcessFailed, Stack
from gateway.cli.refusals import EXIT_FAILED, EXIT_OK

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def stack_of_environment() -> Stack:
    """The stack that this process's environment describes; the data directory is `./handrail-data` by default.

    The peers' addresses follow a changed listen address unless they are set themselves.
    """
    environment = dict(os.environ)
    data_dir = Path(environment.setdefault("HANDRAIL_DATA_DIR", "handrail-data"))
    environment.setdefault("HANDRAIL_GATEWAY_LOOP", environment.get(LOOP.listen_setting) or LOOP.default_listen)
    if environment.get(ADAPTER.listen_setting):
        adapter = environment[ADAPTER.listen_setting]
        environment.setdefault("HANDRAIL_ADAPTERS", f"aviation={adapter},workbench={adapter}")
    return Stack(environment, data_dir / "logs")


def apply_migrations(console: Console) -> int:
    """Migrate both databases; returns the exit code."""
    try:
        for output in stack_of_environment().migrate():
            console.print(Text(output))
    except ProcessFailed as error:
        console.print(Text(str(error)), style="red")
        return EXIT_FAILED
    return EXIT_OK


def run_in_foreground(console: Console) -> int:
    """Migrate, run all three until a signal or until one of them ends; returns the exit code."""
    stack = stack_of_environment()
    try:
        stack.migrate()
        return asyncio.run(_serve(console, stack))
    except ProcessFailed as error:
        console.print(Text(str(error)), style="red")
        return EXIT_FAILED
    finally:
        _stop(console, stack)


async def _serve(console: Console, stack: Stack) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in _STOP_SIGNALS:
        loop.add_signal_handler(number, stop.set)
    stack.start()
    if await _first_of(stack.wait_serving(), stop):
        return EXIT_OK
    _greet(console, stack)
    ended = asyncio.ensure_future(stack.wait_for_exit())
    if await _first_of(ended, stop):
        return EXIT_OK
    process = ended.result()
    raise process.failure(f"ended with exit code {process.exit_code}; stopping the others")


async def _first_of(work: Awaitable[object], stop: asyncio.Event) -> bool:
    """Wait for `work` or the stop; True if it was the stop. Raises what `work` raises."""
    task = asyncio.ensure_future(work)
    stopped = asyncio.ensure_future(stop.wait())
    await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        stopped.cancel()
        task.result()
        return False
    task.cancel()
    return True


def _greet(console: Console, stack: Stack) -> None:
    gateway = stack.gateway.target
    console.print("Handrail is up. Ctrl-C stops it.", style="bold green")
    for process in reversed(stack.processes):
        console.print(f"  {process.service.name:<8} {process.target}   log {process.log_path}")
    console.print(f"  data     {stack.environment['HANDRAIL_DATA_DIR']}")
    at = "" if gateway == "127.0.0.1:50050" else f" --address {gateway}"
    console.print("Try next, in another terminal:")
    console.print(f"  handrail chat{at} --position 52.52,13.40")
    console.print(f"  handrail inbox{at}")
    console.print(f"  grpcurl -plaintext {gateway} list")


def _stop(console: Console, stack: Stack) -> None:
    """Drain all three; a second Ctrl-C or SIGTERM kills what still drains."""
    # A closing terminal hangs up more than once (its shell does too): none may end the drain halfway.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        # A terminal that was closed cannot be written to; the services are stopped all the same.
        with suppress(OSError):
            console.print("stopping", style="dim")
        stack.stop()
    except KeyboardInterrupt:
        stack.kill()

"""A thread for each blocking call, so that a hanging tool holds up nothing else. Implements ports.Threads.

A shared pool would be full after a few hanging tools. The threads are daemons: a hanging one does not hold up the exit.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from typing import TypeVar

from handrail_rpc.errors import ResourceExhausted

MOST_THREADS = 256

T = TypeVar("T")


class ThreadPerCall:
    """At most MOST_THREADS at a time, those of calls whose caller gave up included."""

    def __init__(self) -> None:
        self._running = 0

    async def run(self, function: Callable[[], T]) -> T:
        """The function's result. Raises ResourceExhausted at the limit. Canceling leaves the thread to itself."""
        if self._running >= MOST_THREADS:
            raise ResourceExhausted(
                f"all {MOST_THREADS} threads for blocking work are busy", reason="TOOL_THREADS_EXHAUSTED"
            )
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        context = copy_context()
        self._running += 1

        def settle(done: Future[T]) -> None:
            self._running -= 1
            if future.cancelled():
                return
            error = done.exception()
            if error is None:
                future.set_result(done.result())
            elif isinstance(error, Exception) and not isinstance(error, StopIteration):
                future.set_exception(error)
            else:
                # A future refuses StopIteration, and SystemExit out of a domain's code would end the whole process.
                broken = RuntimeError(f"a function in a thread raised {type(error).__name__}")
                broken.__cause__ = error
                future.set_exception(broken)

        def work() -> None:
            done: Future[T] = Future()
            try:
                done.set_result(context.run(function))
            except BaseException as error:  # noqa: BLE001 - the boundary to a domain's code; handed to the caller
                done.set_exception(error)
            finally:
                with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                    loop.call_soon_threadsafe(settle, done)

        threading.Thread(target=work, name="handrail-blocking", daemon=True).start()
        return await future

"""Threads for blocking calls, reused, so that a hanging tool holds up nothing else. Implements ports.Threads.

A call takes an idle thread or, where none is idle, a new one: a pool with a queue would be full after a few hanging
tools. A hanging call keeps its thread; the next call never waits for it. The threads are daemons: a hanging one does
not hold up the exit. Asynchronous functions run in the event loops of tool_loops.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import Context, copy_context
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, TypeVar

from adapter_service.domain.errors import NoThreadFree
from adapter_service.tool_loops import DomainLoops

MOST_THREADS = 256
MOST_IDLE = 16

T = TypeVar("T")


@dataclass(slots=True)
class _Call:
    """A function to run, in its caller's context, where to tell how it ended, and how it ended."""

    function: Callable[[], Any]
    context: Context
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None


class ToolThreads:
    """At most MOST_THREADS calls at a time, those whose caller gave up included."""

    def __init__(self) -> None:
        self._loops = DomainLoops()
        self._gate = threading.Lock()
        self._idle: list[SimpleQueue[_Call]] = []
        self._busy = 0

    async def run(self, function: Callable[[], T]) -> T:
        """The function's result. Raises NoThreadFree at the limit. Canceling leaves the thread to itself."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._begin(_Call(function, copy_context(), loop, future))
        return await future

    async def run_async(self, domain: str, begin: Callable[[], Awaitable[T]]) -> T:
        """The result of what `begin` makes, awaited in the domain's event loop. Raises NoThreadFree."""
        return await self._loops.run(domain, begin)

    async def close(self) -> None:
        """End the event loops of the domains; threads end by themselves, or with the process."""
        self._loops.close()

    def _begin(self, call: _Call) -> None:
        with self._gate:
            if self._busy >= MOST_THREADS:
                raise NoThreadFree(MOST_THREADS)
            calls = self._idle.pop() if self._idle else None
            if calls is None:
                calls = SimpleQueue()
                threading.Thread(target=self._work, args=(calls,), name="handrail-blocking", daemon=True).start()
            self._busy += 1
        calls.put(call)

    def _work(self, calls: SimpleQueue[_Call]) -> None:
        """One thread: a call after the other, until there are idle threads enough."""
        while True:
            call = calls.get()
            try:
                call.result = call.context.run(call.function)
            except BaseException as error:  # noqa: BLE001 - the boundary to a domain's code; handed to the caller
                call.error = error
            with self._gate:
                self._busy -= 1
                idle = len(self._idle) < MOST_IDLE
                if idle:
                    # Before the caller hears of it: the next call finds this thread.
                    self._idle.append(calls)
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                call.loop.call_soon_threadsafe(_settle, call)
            del call  # an idle thread keeps no result alive
            if not idle:
                return


def _settle(call: _Call) -> None:
    if call.future.cancelled():
        return
    error = call.error
    if error is None:
        call.future.set_result(call.result)
    elif isinstance(error, Exception) and not isinstance(error, StopIteration):
        call.future.set_exception(error)
    else:
        # A future refuses StopIteration, and SystemExit out of a domain's code would end the whole process.
        broken = RuntimeError(f"a function in a thread raised {type(error).__name__}")
        broken.__cause__ = error
        call.future.set_exception(broken)

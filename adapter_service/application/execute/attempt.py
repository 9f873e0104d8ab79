"""A running attempt of a call in this process: it outlives every client stream, and repetitions attach to it.

Made and found by `execute_tool` (soundness rule live_attempt).
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from adapter_service.application.ports import Threads
from adapter_service.domain.decision import ProgressReport
from adapter_service.domain.errors import NoThreadFree
from adapter_service.domain.session import AtRevision
from handrail_rpc.errors import HandrailError, Unavailable

MOST_THREADS_OF_A_DOMAIN = 128  # half of all: what hangs in one domain leaves room for the others and for decisions

T = TypeVar("T")


class Attempt:
    """One attempt as a task of its own. Made within the running event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._latest: ProgressReport | None = None
        self._changed = asyncio.Event()
        self._task: asyncio.Task[AtRevision] | None = None

    def start(self, work: Coroutine[Any, Any, AtRevision]) -> asyncio.Task[AtRevision]:
        """Run the attempt to its end, whoever watches."""
        self._task = asyncio.create_task(work)
        self._task.add_done_callback(lambda _task: self._wake())
        return self._task

    def report(self, percent: int, message: str) -> None:
        """Show progress; only the newest report is kept. Safe from any thread."""
        report = ProgressReport(max(0, min(100, int(percent))), str(message)[:500])
        self._loop.call_soon_threadsafe(self._set, report)

    def _set(self, report: ProgressReport) -> None:
        self._latest = report
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def follow(self) -> AsyncIterator[ProgressReport]:
        """Progress until the attempt has ended; a slow reader skips reports."""
        assert self._task is not None  # started before anyone can find it
        shown: ProgressReport | None = None
        while not self._task.done():
            changed = self._changed
            if self._latest is not None and self._latest is not shown:
                shown = self._latest
                yield shown
            else:
                await changed.wait()

    @property
    def was_refused(self) -> bool:
        """Whether it has ended without an outcome, for a reason that another caller may not have."""
        task = self._task
        if task is None or not task.done() or task.cancelled():
            return False
        return isinstance(task.exception(), HandrailError)

    async def outcome(self) -> AtRevision:
        """The recorded outcome's bytes. Raises what ended the attempt without one, Unavailable at shutdown."""
        assert self._task is not None  # started before anyone can find it
        try:
            return await asyncio.shield(self._task)
        except asyncio.CancelledError:
            if self._task.cancelled():
                raise Unavailable("the server is shutting down; ask again", reason="SERVER_DRAINING") from None
            raise


class RunningFunctions:
    """Functions of tools that are still running, those whose attempt has timed out included: until such a function
    ends, its change may still come (soundness rule settle_dead). One domain's never take all the threads.
    """

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._lock = threading.Lock()
        self._running: Counter[str] = Counter()
        self._in_threads: Counter[str] = Counter()

    def of(self, tool_call_id: str, domain: str) -> Threads:
        """Threads for the functions of one call."""
        return _CountedThreads(self._threads, self, tool_call_id, domain)

    def is_running(self, tool_call_id: str) -> bool:
        """Whether a function of the call is running. Safe from any thread."""
        with self._lock:
            return self._running[tool_call_id] > 0

    def enter(self, tool_call_id: str, domain: str) -> None:
        """Count a function, in a thread of `domain` unless that is "". Raises NoThreadFree at the domain's limit."""
        with self._lock:
            if domain:
                if self._in_threads[domain] >= MOST_THREADS_OF_A_DOMAIN:
                    raise NoThreadFree(MOST_THREADS_OF_A_DOMAIN)
                self._in_threads[domain] += 1
            self._running[tool_call_id] += 1

    def leave(self, tool_call_id: str, domain: str) -> None:
        """The end of what `enter` counted. Safe from any thread."""
        with self._lock:
            if domain:
                self._in_threads[domain] -= 1
            self._running[tool_call_id] -= 1
            if not self._running[tool_call_id]:
                del self._running[tool_call_id]


class _CountedThreads:
    """`ports.Threads` that counts what has begun and not ended, in the function's own thread or loop."""

    def __init__(self, threads: Threads, functions: RunningFunctions, tool_call_id: str, domain: str) -> None:
        self._threads = threads
        self._functions = functions
        self._tool_call_id = tool_call_id
        self._domain = domain

    async def run(self, function: Callable[[], T]) -> T:
        """As `ports.Threads.run`. Canceling leaves the count to the thread, which goes on."""
        begun = threading.Event()

        def counted() -> T:
            begun.set()
            try:
                return function()
            finally:
                self._functions.leave(self._tool_call_id, self._domain)

        self._functions.enter(self._tool_call_id, self._domain)
        try:
            return await self._threads.run(counted)
        except (NoThreadFree, RuntimeError):
            if not begun.is_set():  # no thread was free: the function will never run
                self._functions.leave(self._tool_call_id, self._domain)
            raise

    async def run_async(self, domain: str, begin: Callable[[], Awaitable[T]]) -> T:
        """As `ports.Threads.run_async`. What goes on although it was canceled is counted until it ends."""
        entered = threading.Lock()  # taken by the function where it begins, else by the caller that gives up

        async def counted() -> T:
            if not entered.acquire(blocking=False):
                raise asyncio.CancelledError
            try:
                return await begin()
            finally:
                self._functions.leave(self._tool_call_id, "")

        self._functions.enter(self._tool_call_id, "")
        try:
            return await self._threads.run_async(domain, counted)
        finally:
            if entered.acquire(blocking=False):
                self._functions.leave(self._tool_call_id, "")

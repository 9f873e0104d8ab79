"""A running attempt of a call in this process: it outlives every client stream, and repetitions attach to it.

Made and found by `execute_tool` (soundness rule live_attempt).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from typing import Any

from adapter_service.domain.decision import ProgressReport
from handrail_rpc.errors import Unavailable


class Attempt:
    """One attempt as a task of its own. Made within the running event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._latest: ProgressReport | None = None
        self._changed = asyncio.Event()
        self._task: asyncio.Task[bytes] | None = None

    def start(self, work: Coroutine[Any, Any, bytes]) -> asyncio.Task[bytes]:
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

    async def outcome(self) -> bytes:
        """The recorded outcome's bytes. Raises what ended the attempt without one, Unavailable at shutdown."""
        assert self._task is not None  # started before anyone can find it
        try:
            return await asyncio.shield(self._task)
        except asyncio.CancelledError:
            if self._task.cancelled():
                raise Unavailable("the server is shutting down; ask again", reason="SERVER_DRAINING") from None
            raise

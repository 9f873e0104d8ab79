"""Waits for the next due time, or for a timer being set (`changed`), and fires what is due.

Started and ended by bootstrap; the rows are the truth.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from handrail_rpc.logging import get_logger
from loop_service.application.fire_timers import FireTimers
from loop_service.application.ports import Clock

logger = get_logger(__name__)


class TimerLoop:
    def __init__(
        self,
        fire: FireTimers,
        clock: Clock,
        wake_workers: Callable[[], None],
        changed: asyncio.Event,
        poll_seconds: float,
    ) -> None:
        self._fire = fire
        self._clock = clock
        self._wake_workers = wake_workers
        self._poll_seconds = poll_seconds
        self._changed = changed
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        self._task = asyncio.ensure_future(self._run())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        while True:
            self._changed.clear()
            pause = self._poll_seconds
            try:
                try:
                    due = await self._fire.fire()
                finally:
                    # Also after an error: the other timers may have queued runs.
                    self._wake_workers()
                if due is not None:
                    until = (due - self._clock.now()).total_seconds()
                    pause = min(max(until, 0.01), self._poll_seconds)
            except Exception as error:
                logger.error("firing timers failed", exc_info=error)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._changed.wait()

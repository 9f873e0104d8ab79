"""What the Adapter does now and then, in the background, for no caller. Started and ended by bootstrap.

Restart-safe: the rows say what is due.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

from handrail_rpc.logging import get_logger

logger = get_logger(__name__)


class Housekeeping:
    """Looks every `seconds`, the first time at once. `chores`: what is removed -> removes it and returns how many."""

    def __init__(self, chores: Mapping[str, Callable[[], Awaitable[int]]], seconds: float) -> None:
        self._chores = chores
        self._seconds = seconds
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Start, within the running event loop."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """End; what was not finished is due again at the next start."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        while True:
            for removed, chore in self._chores.items():
                try:
                    if count := await chore():
                        logger.info("housekeeping", removed=removed, count=count)
                except Exception as error:
                    logger.error("housekeeping failed", chore=removed, exc_info=error)
            await asyncio.sleep(self._seconds)

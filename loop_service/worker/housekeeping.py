"""What is done now and then, in the background, for no caller: retention of old events.

Started and ended by bootstrap. Restart-safe: the rows say what is due.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from handrail_rpc.logging import get_logger
from loop_service.application.trim_events import TrimEvents

logger = get_logger(__name__)


class Housekeeping:
    """Looks every `seconds`, the first time at once."""

    def __init__(self, trim: TrimEvents, seconds: float) -> None:
        self._trim = trim
        self._seconds = seconds
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
            try:
                removed = await self._trim.execute()
                if removed:
                    logger.info("old events removed", count=removed)
            except Exception as error:
                logger.error("retention failed", exc_info=error)
            await asyncio.sleep(self._seconds)

"""Carries on with deletions that a crash or an absent Adapter left unfinished. Started and ended by bootstrap."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from handrail_rpc.logging import get_logger
from loop_service.application.delete_conversation import DeleteConversation
from loop_service.application.ports import Clock

logger = get_logger(__name__)


class Eraser:
    """Looks at what is due, then sleeps until the next one is, at most `seconds`."""

    def __init__(self, deletion: DeleteConversation, clock: Clock, seconds: float) -> None:
        self._deletion = deletion
        self._clock = clock
        self._seconds = seconds
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        self._task = asyncio.ensure_future(self._run())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        await self._deletion.stop()

    async def _run(self) -> None:
        while True:
            pause = self._seconds
            try:
                due = await self._deletion.take_up()
                if due is not None:
                    pause = min(max((due - self._clock.now()).total_seconds(), 0.05), self._seconds)
            except Exception as error:
                logger.error("carrying on with deletions failed", exc_info=error)
            await asyncio.sleep(pause)

"""Event loops for asynchronous tools, one a domain, so that one that blocks its loop holds up nobody else's calls.

Used by `tool_threads`. A domain keeps one loop as long as it answers: what its functions share (connections, locks)
stays good. Where a function blocks it, later calls of the domain go on in another one. The loops run in daemon threads.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

from adapter_service.domain.errors import NoThreadFree

STUCK_SECONDS = 1.0
MOST_LOOPS = 16  # a domain; each but the last is blocked, or was

T = TypeVar("T")


class _Start:
    """Settled once: the call has begun in its loop, or its caller has given that loop up."""

    def __init__(self) -> None:
        self._gate = threading.Lock()

    def take(self) -> bool:
        """Whether the taker is the first."""
        return self._gate.acquire(blocking=False)


class DomainLoops:
    """Runs coroutines of domains. Safe from any event loop."""

    def __init__(self) -> None:
        self._gate = threading.Lock()
        self._loops: dict[str, list[asyncio.AbstractEventLoop]] = {}

    async def run(self, domain: str, begin: Callable[[], Awaitable[T]]) -> T:
        """The result of what `begin` makes, awaited in the domain's loop. Canceling cancels it there.

        Raises NoThreadFree where every loop of the domain is blocked: then nothing has begun.
        """
        here = asyncio.get_running_loop()
        for _ in range(MOST_LOOPS):
            loop, start, begun = self._loop_of(domain), _Start(), asyncio.Event()
            future = asyncio.run_coroutine_threadsafe(_guarded(begin, start, here, begun), loop)
            ended = asyncio.wrap_future(future)
            try:
                async with asyncio.timeout(STUCK_SECONDS):
                    await begun.wait()
            except TimeoutError:
                if start.take():
                    ended.cancel()
                    self._give_up(domain, loop)
                    continue
            except asyncio.CancelledError:
                if start.take():
                    self._give_up(domain, loop)
                ended.cancel()
                raise
            return await ended
        raise NoThreadFree(MOST_LOOPS)

    def close(self) -> None:
        """End the loops that answer; what is still awaited in them is canceled. A blocked one is abandoned."""
        with self._gate:
            loops = [loop for each in self._loops.values() for loop in each]
            self._loops.clear()
        for loop in loops:
            loop.call_soon_threadsafe(loop.stop)

    def _loop_of(self, domain: str) -> asyncio.AbstractEventLoop:
        with self._gate:
            loops = self._loops.setdefault(domain, [])
            if not loops:
                loops.append(_started(domain))
            return loops[-1]

    def _give_up(self, domain: str, stuck: asyncio.AbstractEventLoop) -> None:
        """Another loop for later calls: a new one, or the one that was given up first."""
        with self._gate:
            loops = self._loops[domain]
            if loops[-1] is not stuck:
                return  # another call has found it stuck
            loops.append(_started(domain) if len(loops) < MOST_LOOPS else loops.pop(0))


def _started(domain: str) -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()

    def run() -> None:
        try:
            loop.run_forever()
            if left := asyncio.all_tasks(loop):
                for task in left:
                    task.cancel()
                loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        finally:
            loop.close()

    threading.Thread(target=run, name=f"handrail-{domain}", daemon=True).start()
    return loop


async def _guarded(
    begin: Callable[[], Awaitable[T]], start: _Start, caller: asyncio.AbstractEventLoop, begun: asyncio.Event
) -> T:
    if not start.take():
        raise asyncio.CancelledError
    caller.call_soon_threadsafe(begun.set)
    try:
        return await begin()
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise RuntimeError("an asynchronous function raised CancelledError without being canceled") from error
    except Exception:
        raise
    except BaseException as error:
        # SystemExit out of a task would end the loop, and with it every other call of the domain; callers handle
        # what is no Exception as little (a panic of a native library, a cancellation of another framework).
        raise RuntimeError(f"an asynchronous function raised {type(error).__name__}") from error

"""Event loops of domains: one a domain while it answers; a blocked one holds up no other call."""

from __future__ import annotations

import asyncio
import threading

import pytest

from adapter_service import tool_loops
from adapter_service.domain.errors import NoThreadFree
from adapter_service.tool_loops import DomainLoops


async def loop_of() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


class Blocker:
    """Blocks the event loop that it is awaited in until it is released."""

    def __init__(self) -> None:
        self.begun, self.release = threading.Event(), threading.Event()

    async def __call__(self) -> str:
        self.begun.set()
        self.release.wait(30)
        return "released"

    async def start(self, loops: DomainLoops) -> asyncio.Task[str]:
        """Until it blocks the loop of the domain."""
        task = asyncio.create_task(loops.run("one", self))
        assert await asyncio.to_thread(self.begun.wait, 10)
        return task


async def test_a_domains_calls_share_a_loop_that_is_not_the_services() -> None:
    loops = DomainLoops()
    first, again, other = [await loops.run(domain, loop_of) for domain in ("one", "one", "two")]
    assert first is again
    assert len({first, other, asyncio.get_running_loop()}) == 3
    loops.close()


async def test_a_function_that_blocks_its_loop_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_loops, "STUCK_SECONDS", 0.05)
    loops, blocker = DomainLoops(), Blocker()
    before = await loops.run("one", loop_of)
    blocked = await blocker.start(loops)
    others = await asyncio.gather(*(loops.run("one", loop_of) for _ in range(5)), loops.run("two", loop_of))
    assert before not in others
    blocker.release.set()
    assert await blocked == "released"
    loops.close()


async def test_what_never_began_in_a_blocked_loop_does_not_run_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_loops, "STUCK_SECONDS", 0.05)
    loops, blocker, ran = DomainLoops(), Blocker(), []

    async def count() -> None:
        ran.append(threading.current_thread())

    blocked = await blocker.start(loops)
    await loops.run("one", count)
    blocker.release.set()
    await blocked
    await loops.run("one", count)
    assert len(ran) == 2
    loops.close()


async def test_loops_are_bounded_and_the_refusal_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_loops, "STUCK_SECONDS", 0.05)
    monkeypatch.setattr(tool_loops, "MOST_LOOPS", 2)
    loops, blockers = DomainLoops(), [Blocker(), Blocker()]
    blocked = [await blocker.start(loops) for blocker in blockers]
    with pytest.raises(NoThreadFree):
        await loops.run("one", loop_of)
    for blocker in blockers:
        blocker.release.set()
    await asyncio.gather(*blocked)
    assert await loops.run("one", loop_of)
    loops.close()


async def test_canceling_reaches_the_function() -> None:
    loops, canceled, waits = DomainLoops(), threading.Event(), threading.Event()

    async def wait() -> None:
        waits.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            canceled.set()
            raise

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await loops.run("one", wait)
    assert waits.is_set()
    assert await asyncio.to_thread(canceled.wait, 10)
    loops.close()


@pytest.mark.parametrize(
    "error", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit(), BaseException()]
)
async def test_what_would_end_a_loop_becomes_an_ordinary_error(error: BaseException) -> None:
    loops = DomainLoops()

    async def fail() -> None:
        raise error

    before = await loops.run("one", loop_of)
    with pytest.raises(RuntimeError, match=type(error).__name__):
        await loops.run("one", fail)
    assert await loops.run("one", loop_of) is before
    loops.close()


async def test_closing_cancels_what_is_still_awaited() -> None:
    loops, waits, canceled = DomainLoops(), threading.Event(), threading.Event()

    async def wait() -> None:
        waits.set()
        try:
            await asyncio.Event().wait()
        finally:
            canceled.set()

    waiting = asyncio.create_task(loops.run("one", wait))
    assert await asyncio.to_thread(waits.wait, 10)
    loops.close()
    assert await asyncio.to_thread(canceled.wait, 10)
    with pytest.raises(asyncio.CancelledError):
        await waiting

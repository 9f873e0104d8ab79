"""Threads for blocking calls: reused, never held up by one that hangs, bounded."""

from __future__ import annotations

import asyncio
import itertools
import threading
from contextvars import ContextVar

import pytest

from adapter_service import tool_threads
from adapter_service.application.execute import attempt
from adapter_service.domain.errors import NoThreadFree
from adapter_service.tool_threads import ToolThreads
from handrail_rpc.errors import ResourceExhausted
from tests.fakes.processes import poll

SECONDS = 10
asked_by: ContextVar[str] = ContextVar("asked_by", default="")


async def hang(threads: ToolThreads, calls: int, release: threading.Event) -> list[asyncio.Task[bool]]:
    """Calls that wait for `release`, all of them in their threads."""
    inside = threading.Barrier(calls + 1)

    def wait() -> bool:
        inside.wait(SECONDS)
        return release.wait(SECONDS)

    tasks = [asyncio.create_task(threads.run(wait)) for _ in range(calls)]
    await asyncio.to_thread(inside.wait, SECONDS)
    return tasks


async def test_calls_one_after_the_other_share_a_thread() -> None:
    threads = ToolThreads()
    used = {await threads.run(threading.get_ident) for _ in range(50)}
    assert len(used) == 1
    assert threading.get_ident() not in used


async def test_a_hanging_call_keeps_its_thread_and_holds_up_nobody() -> None:
    threads, release = ToolThreads(), threading.Event()
    used = await threads.run(threading.get_ident)
    hanging = await hang(threads, 20, release)
    assert await asyncio.wait_for(threads.run(threading.get_ident), SECONDS) != used
    release.set()
    assert all(await asyncio.gather(*hanging))


async def test_a_thread_whose_caller_gave_up_serves_others_once_it_is_free() -> None:
    threads, release, inside = ToolThreads(), threading.Event(), threading.Event()
    ident = 0

    def wait() -> None:
        nonlocal ident
        ident = threading.get_ident()
        inside.set()
        release.wait(SECONDS)

    given_up = asyncio.create_task(threads.run(wait))
    await asyncio.to_thread(inside.wait, SECONDS)
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    assert await threads.run(threading.get_ident) != ident
    release.set()

    together = itertools.count(2)  # at last more than there are idle threads, so that all of them are taken

    async def is_found() -> bool:
        everybody = threading.Barrier(next(together))

        def meet() -> int:
            everybody.wait(SECONDS)
            return threading.get_ident()

        return ident in await asyncio.gather(*(threads.run(meet) for _ in range(everybody.parties)))

    await poll(is_found, "a call in the thread that was given up", SECONDS)


async def test_threads_are_bounded_and_the_refusal_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_threads, "MOST_THREADS", 3)
    threads, release = ToolThreads(), threading.Event()
    hanging = await hang(threads, 3, release)
    with pytest.raises(ResourceExhausted, match="all 3 threads"):
        await threads.run(threading.get_ident)
    release.set()
    await asyncio.gather(*hanging)
    assert await threads.run(threading.get_ident)


async def test_idle_threads_beyond_a_few_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_threads, "MOST_IDLE", 2)
    threads, release = ToolThreads(), threading.Event()
    names = {thread.ident for thread in threading.enumerate()}
    hanging = await hang(threads, 10, release)
    mine = [thread for thread in threading.enumerate() if thread.ident not in names and "blocking" in thread.name]
    assert len(mine) == 10
    release.set()
    await asyncio.gather(*hanging)
    ended = [thread for thread in mine if thread not in await asyncio.to_thread(_alive_at_last, mine, 2)]
    assert len(ended) == 8


def _alive_at_last(threads: list[threading.Thread], expected: int) -> list[threading.Thread]:
    for thread in threads:
        if sum(each.is_alive() for each in threads) > expected:
            thread.join(0.5)
    return [thread for thread in threads if thread.is_alive()]


async def test_a_call_runs_in_its_caller_s_context_and_leaves_nothing_in_it() -> None:
    threads = ToolThreads()
    asked_by.set("ann")
    assert await threads.run(lambda: asked_by.get()) == "ann"
    await threads.run(lambda: asked_by.set("somebody else"))
    assert await threads.run(lambda: asked_by.get()) == "ann"


@pytest.mark.parametrize("error", [StopIteration(), SystemExit(3), GeneratorExit()])
async def test_what_no_future_may_raise_becomes_an_ordinary_error(error: BaseException) -> None:
    threads = ToolThreads()

    def fail() -> None:
        raise error

    with pytest.raises(RuntimeError, match=type(error).__name__):
        await threads.run(fail)
    assert await threads.run(lambda: "still at work") == "still at work"


async def test_what_hangs_in_one_domain_leaves_threads_for_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempt, "MOST_THREADS_OF_A_DOMAIN", 2)
    functions, release = attempt.RunningFunctions(ToolThreads()), threading.Event()
    begun = threading.Barrier(3)

    def hang() -> bool:
        begun.wait(SECONDS)
        return release.wait(SECONDS)

    hanging = [asyncio.create_task(functions.of(f"call_{n}", "one").run(hang)) for n in range(2)]
    await asyncio.to_thread(begun.wait, SECONDS)
    with pytest.raises(NoThreadFree, match="all 2 threads"):
        await functions.of("call_3", "one").run(lambda: True)
    assert await functions.of("call_4", "two").run(lambda: True)
    assert [functions.is_running(f"call_{n}") for n in range(5)] == [True, True, False, False, False]
    release.set()
    assert await asyncio.gather(*hanging) == [True, True]
    assert await functions.of("call_5", "one").run(lambda: True)

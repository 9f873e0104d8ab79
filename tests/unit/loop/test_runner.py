"""The worker's tasks: which interaction a task stands for, and how a run is put back (worker.runner)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import pytest

from handrail_rpc.errors import Unavailable
from loop_service.application.advance import Advance
from loop_service.application.claim_runs import ClaimRuns
from loop_service.application.ports import RunContext
from loop_service.application.steps import Diverge, Step
from loop_service.domain.interaction import Requester
from loop_service.worker.runner import Runner

CONTEXT = RunContext(
    conversation_id="conv",
    interaction_id="int_1",
    run_id="run_1",
    request_id="req",
    owner="own",
    epoch=1,
    domain="test",
    domain_session_id="ses",
    history_id="hist",
    requester=Requester("local", "local", ("*",), "en"),
    traceparent="",
    link_traceparent="",
    seconds_left=1.0,
    tool_actions_left=1,
    generations_left=1,
    attempt=1,
)


class Scripted:
    """Stands for advance and for the claims; `take` is what a step does."""

    def __init__(self, take: Callable[[Step], Awaitable[Step | None]]) -> None:
        self.take = take
        self.put_backs: list[tuple[str, timedelta]] = []

    async def advance(self, step: Step) -> Step | None:
        return await self.take(step)

    async def put_back(self, context: RunContext, delay: timedelta) -> None:
        self.put_backs.append((context.interaction_id, delay))


def runner_of(scripted: Scripted) -> Runner:
    return Runner(
        cast(Advance, scripted),
        cast(ClaimRuns, scripted),
        places=4,
        lease=timedelta(seconds=30),
        poll_seconds=1.0,
    )


def step_of(interaction_id: str, **changes: Any) -> Step:
    return Diverge(replace(CONTEXT, interaction_id=interaction_id, **changes))


async def ended(runner: Runner) -> None:
    async with asyncio.timeout(5):
        await asyncio.gather(*runner._tasks.values())


async def test_a_run_that_moved_on_is_put_back_on_its_new_interaction() -> None:
    async def take(step: Step) -> Step | None:
        if step.context.interaction_id == "int_1":
            return step_of("int_2")
        raise Unavailable("the disk is full", reason="STORAGE_UNAVAILABLE")

    scripted = Scripted(take)
    runner = runner_of(scripted)
    assert runner.try_reserve()
    runner.start(step_of("int_1"))
    await ended(runner)
    assert [interaction_id for interaction_id, _ in scripted.put_backs] == ["int_2"]


@pytest.mark.parametrize("attempt", [1, 12, 5000])
async def test_the_pause_before_a_further_attempt_is_bounded(attempt: int) -> None:
    async def take(step: Step) -> Step | None:
        raise Unavailable("the disk is full", reason="STORAGE_UNAVAILABLE")

    scripted = Scripted(take)
    runner = runner_of(scripted)
    assert runner.try_reserve()
    runner.start(step_of("int_1", attempt=attempt))
    await ended(runner)
    assert timedelta(0) < scripted.put_backs[0][1] <= timedelta(seconds=30)


async def test_a_stop_of_the_successor_that_was_faster_keeps_its_place() -> None:
    """The former task commits the successor; before it comes to itself, a stop of the successor has begun."""
    committed, canceled = asyncio.Event(), asyncio.Event()

    async def take(step: Step) -> Step | None:
        if step.context.interaction_id == "int_1":
            await committed.wait()
            return step_of("int_2")
        if step.context.attempt == 1:
            return None
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            canceled.set()
            raise
        return None

    runner = runner_of(Scripted(take))
    for step in (step_of("int_1"), step_of("int_2", attempt=2)):
        assert runner.try_reserve()
        runner.start(step)
    former = runner._tasks["int_1"]
    committed.set()
    async with asyncio.timeout(5):
        await former
    assert list(runner._tasks) == ["int_2"]
    await runner.stop()
    assert canceled.is_set()


class Queue(Scripted):
    """A queue of runs that found no place; counts how often it is looked into."""

    def __init__(self, take: Callable[[Step], Awaitable[Step | None]]) -> None:
        super().__init__(take)
        self.queued: list[Step] = []
        self.looks = 0
        self.looked = asyncio.Event()

    async def claim(self, owner: str, limit: int) -> list[Step]:
        self.looks += 1
        self.looked.set()
        claimed, self.queued = self.queued[:limit], self.queued[limit:]
        return claimed


async def test_a_freed_place_looks_into_the_queue_only_where_a_run_found_none() -> None:
    taken: list[str] = []
    all_taken = asyncio.Event()

    async def take(step: Step) -> Step | None:
        taken.append(step.context.interaction_id)
        if len(taken) == 4:
            all_taken.set()
        return None

    queue = Queue(take)
    runner = Runner(cast(Advance, queue), cast(ClaimRuns, queue), places=1, lease=timedelta(30), poll_seconds=3600)
    runner.begin()
    async with asyncio.timeout(5):
        await queue.looked.wait()  # at the start
        for name in ("int_1", "int_2"):
            assert runner.try_reserve()
            runner.start(step_of(name))
            await ended(runner)
        assert queue.looks == 1
        assert runner.try_reserve()
        assert not runner.try_reserve()
        queue.queued.append(step_of("int_4"))
        runner.start(step_of("int_3"))
        await all_taken.wait()
    assert taken == ["int_1", "int_2", "int_3", "int_4"]
    await runner.stop()

"""Every limit ends with its own code, the limit named and the confirmed steps listed (B4, G3), on both real services.

Time is the test's: what waits for a person, for a time or for a signal does not count (engineering.md: two clocks).
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import grpc
import pytest

from handrail.common.v1 import approval_pb2, failure_pb2
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail_rpc.errors import Unavailable
from loop_service.storage.unit_of_work import SqlUnitOfWork
from tests.fakes.adapter import Refusal, call, complete
from tests.fakes.probe_domain import World
from tests.grpc.loop.driver import check_runs, last, names, running_loop
from tests.grpc.whole.running import Whole, running_whole


def check_failed(events: Any, code: str, limit: str, *tools: str) -> None:
    failure = last(events, "failed").failure
    assert (failure.code, failure.stage) == (code, failure_pb2.STAGE_DEADLINE)
    assert limit in failure.explanation
    assert failure.progress == (failure_pb2.PROGRESS_PARTIAL if tools else failure_pb2.PROGRESS_NOT_EXECUTED)
    assert [step.tool for step in failure.confirmed_steps] == list(tools)


async def active_seconds(whole: Whole, interaction_id: str) -> float:
    request = pb.GetInteractionRequest(interaction_id=interaction_id)
    found = (await whole.stub.GetInteraction(request)).interaction
    return float(found.active_time.ToTimedelta().total_seconds())


async def test_tool_action_limit_reached(tmp_path: Path) -> None:
    async with running_whole(tmp_path, tool_actions=1) as whole:
        events = await whole.driver.send(await whole.create(), "look Berlin then measure it")
        check_failed(events, "tool_action_limit_reached", "1", "look")


async def test_clarification_limit_reached(tmp_path: Path) -> None:
    async with running_whole(tmp_path, clarification_rounds=1) as whole:
        conversation_id = await whole.create()
        asked = await whole.driver.send(conversation_id, "look Berlin then fetch")
        assert names(asked)[-1] == "clarification_required"
        check_failed(await whole.driver.send(conversation_id, "it is many"), "clarification_limit_reached", "1", "look")


async def test_decision_limit_reached(tmp_path: Path) -> None:
    async with running_whole(tmp_path, decisions=2) as whole:
        events = await whole.driver.send(await whole.create(), "look Berlin then measure it")
        check_failed(events, "decision_limit_reached", "2", "look", "measure")


async def test_generation_limit_reached(tmp_path: Path) -> None:
    """The probe domain plans without a model, so the Adapter that reports generations is the scripted one."""

    def script(request: Any) -> Any:
        return complete() if request.decision_number > 5 else call(f"call_{request.decision_number}")

    async with running_loop(tmp_path, script, generations=3) as driver:
        driver.adapter.generations = 2
        events = await driver.send(await driver.create(), "x")
        check_failed(events, "generation_limit_reached", "3", "look", "look")
        left = [r.budgets.generations_left for r in driver.adapter.decide_requests]
        assert left == [3, 1]
        run = (await driver.stub.GetRun(pb.GetRunRequest(run_id=events[0].run_id))).run
        assert run.usage.generations == 4


async def test_deadline_exceeded_by_time_spent_working(tmp_path: Path) -> None:
    async with running_whole(tmp_path) as whole:
        gate = whole.probe.world.hold("measure")
        conversation_id = await whole.create()
        sending = asyncio.ensure_future(
            whole.driver.send(conversation_id, "look Berlin then measure it then look Paris")
        )
        await whole.begun("measure")
        whole.clock.leap(121)
        gate.set()
        check_failed(await sending, "deadline_exceeded", "120", "look", "look", "measure")
        check_runs(await whole.driver.events(conversation_id))


async def test_waiting_for_a_person_uses_up_no_time(tmp_path: Path) -> None:
    """A question and an approval stand open for longer than the whole budget."""
    async with running_whole(tmp_path) as whole:
        conversation_id = await whole.create()
        asked = await whole.driver.send(conversation_id, "write then post")
        assert names(asked)[-1] == "clarification_required"
        whole.clock.leap(5000)
        blocked = await whole.driver.send(conversation_id, "memo")
        assert names(blocked)[-1] == "clarification_required", "the level is missing"
        whole.clock.leap(5000)
        approval = last(await whole.driver.send(conversation_id, "3"), "approval_required")
        whole.clock.leap(5000)
        done = await whole.driver.resolve(approval, approval_pb2.VERDICT_APPROVE)
        assert names(done)[-1] == "completed"
        assert await active_seconds(whole, done[-1].interaction_id) < 60


async def test_waiting_for_a_time_or_a_signal_uses_up_no_time(tmp_path: Path) -> None:
    async with running_whole(tmp_path) as whole:
        conversation_id = await whole.create()
        await whole.driver.send(conversation_id, "nap 5000 then await go within 5000")

        async def waits(count: int) -> bool:
            return names(await whole.driver.events(conversation_id)).count("waiting") >= count

        whole.clock.leap(5001)
        await whole.driver.until(lambda: waits(2))
        whole.clock.leap(5001)

        async def completed() -> Any:
            stored = await whole.driver.events(conversation_id)
            return stored if names(stored)[-1] == "completed" else None

        stored = await whole.driver.until(completed)
        assert await active_seconds(whole, stored[-1].interaction_id) < 60


async def test_an_outage_of_our_own_storage_is_not_told_as_the_adapter_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The dispatch number of a further sending cannot be committed for longer than the time budget: the run goes on."""

    def script(request: Any) -> Any:
        return complete() if request.observation.WhichOneof("kind") == "tool_finished" else call("call_1")

    real, refused = SqlUnitOfWork.write, 0

    async def write(self: SqlUnitOfWork, unit: Any, *, name: str = "") -> Any:
        nonlocal refused
        if name == "execute_calls.dispatch_again" and refused < 3:
            refused += 1
            raise Unavailable("the disk is full", reason="STORAGE_UNAVAILABLE")
        return await real(self, unit, name=name)

    async with running_loop(tmp_path, script, active_time_seconds=0.5) as driver:
        monkeypatch.setattr(SqlUnitOfWork, "write", write)
        driver.adapter.refuse("ExecuteTool", *[Refusal(grpc.StatusCode.UNAVAILABLE)] * 3)
        conversation_id = await driver.create()
        events = await driver.send(conversation_id, "x")
        assert names(events)[-1] == "completed"
        assert refused == 3
        assert driver.adapter.executions == 1
        check_runs(await driver.events(conversation_id))


async def test_a_hung_read_holds_back_no_ending(tmp_path: Path) -> None:
    world = World()
    async with running_whole(tmp_path, world, stop_patience_seconds=30) as whole:
        world.hold("look")
        conversation_id = await whole.create()
        sending = asyncio.ensure_future(whole.driver.send(conversation_id, "look Berlin"))
        await whole.begun("look")
        interaction_id = (await whole.driver.events(conversation_id))[0].interaction_id
        request = pb.CancelInteractionRequest(request_id="stop", interaction_id=interaction_id)
        async with asyncio.timeout(10):
            await whole.stub.CancelInteraction(request)
            assert names(await sending)[-2:] == ["status_changed", "canceled"]
        assert "waiting" not in names(await whole.driver.events(conversation_id))

"""soundness.md 'Action' and 'Further rules' as the Loop keeps them: stops, fences, verdicts, dispatches, endings."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pytest

from handrail.adapter.v1 import domain_adapter_service_pb2 as adapter_pb
from handrail.common.v1 import approval_pb2, decision_pb2, failure_pb2, tool_pb2
from handrail.loop.v1 import event_pb2, interaction_state_pb2
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from tests.fakes.adapter import Refusal, ask, call, complete, end_with, request_approval, succeed
from tests.grpc.loop.driver import LoopDriver, check_runs, last, names, running_loop
from tests.grpc.loop.errors import refused

APPROVE = approval_pb2.VERDICT_APPROVE
CANCELED = interaction_state_pb2.INTERACTION_STATE_CANCELED


def one_change(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
    if request.observation.WhichOneof("kind") == "tool_finished":
        return complete("Done.")
    return call(f"call_{request.interaction_id}", effect=tool_pb2.EFFECT_EXTERNAL)


def cancellation(driver: LoopDriver, **more: str) -> pb.CancelInteractionRequest:
    interaction_id = driver.adapter.decide_requests[0].interaction_id
    return pb.CancelInteractionRequest(request_id="c", interaction_id=interaction_id, **more)


async def test_confirm_stop(tmp_path: Path) -> None:
    """`canceled` is told only after the Adapter has said which calls had begun, and those have their outcome."""
    async with running_loop(tmp_path, one_change) as driver:
        tool = driver.adapter.hold("tool")
        closing_ = driver.adapter.hold("CancelInteraction")
        conversation_id = await driver.create()
        running = asyncio.ensure_future(driver.send(conversation_id, "start"))
        await driver.adapter.until_arrived("tool")
        canceling = asyncio.ensure_future(driver.stub.CancelInteraction(cancellation(driver, reason="enough")))
        await driver.adapter.until_arrived("CancelInteraction")
        assert "canceled" not in names(await driver.events(conversation_id))
        closing_.set()
        await driver.until(partial(dispatched, driver, 2))
        assert "canceled" not in names(await driver.events(conversation_id))
        assert not canceling.done()
        tool.set()
        assert (await canceling).interaction.state == CANCELED
        events = await running
        assert names(events)[-3:] == ["artifact_published", "status_changed", "canceled"]
        assert last(events, "tool_finished").outcome == tool_pb2.OUTCOME_SUCCEEDED
        canceled = last(events, "canceled")
        assert canceled.reason == "enough"
        assert [s.tool_call_id for s in canceled.confirmed_steps] == [f"call_{events[0].interaction_id}"]
        assert driver.adapter.executions == 1
        again = await driver.stub.CancelInteraction(cancellation(driver, reason="enough"))
        assert again.interaction.state == CANCELED
        check_runs(await driver.events(conversation_id))


async def dispatched(driver: LoopDriver, count: int) -> bool:
    return len(driver.adapter.execute_requests) >= count


async def test_close_names_all_and_the_loop_records_all(tmp_path: Path) -> None:
    """A call that the Adapter's ledger names and the Loop has no row of is part of the ending, with its outcome."""
    async with running_loop(tmp_path, lambda request: ask()) as driver:
        conversation_id = await driver.create()
        interaction_id = (await driver.send(conversation_id, "start"))[0].interaction_id
        lost = asyncio.get_running_loop().create_future()
        lost.set_result(succeed(adapter_pb.ExecuteToolRequest(tool_call_id="call_lost")))
        driver.adapter.ledger["call_lost"] = lost
        driver.adapter.begun[interaction_id] = ["call_lost"]
        events = await driver.send(conversation_id, "cancel")
        assert last(events, "tool_finished").tool_call_id == "call_lost"
        assert last(events, "tool_finished").outcome == tool_pb2.OUTCOME_SUCCEEDED
        assert [s.tool_call_id for s in last(events, "canceled").confirmed_steps] == ["call_lost"]


async def test_fence_interaction_the_epoch_only_rises_and_every_call_carries_it(tmp_path: Path) -> None:
    """Counted per interaction over runs and restarts, in its row; all three calls on an interaction carry it."""

    def script(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        return ask() if request.decision_number == 1 else one_change(request)

    async with running_loop(tmp_path, script) as driver:
        conversation_id = await driver.create()
        await driver.send(conversation_id, "go")
        await driver.restart()
        driver.adapter.hold("tool")
        second = driver.open_send(conversation_id, "it")
        await driver.adapter.until_arrived("tool")
        await driver.restart()
        await driver.until(partial(dispatched, driver, 2))
        canceling = asyncio.ensure_future(driver.stub.CancelInteraction(cancellation(driver)))
        await driver.until(partial(dispatched, driver, 3))
        adapter = driver.adapter
        assert [r.lease_epoch for r in adapter.decide_requests] == [1, 2]
        first, again, attached = [r.lease_epoch for r in adapter.execute_requests]
        assert 2 == first < again < adapter.cancel_requests[0].lease_epoch == attached
        with closing(sqlite3.connect(tmp_path / "loop.db")) as connection:
            assert connection.execute("SELECT epoch FROM interactions").fetchall() == [(attached,)]
        adapter.gates["tool"].set()
        assert (await canceling).interaction.state == CANCELED
        second.cancel()


async def test_adopt_fence(tmp_path: Path) -> None:
    """A higher fence is adopted by the owner of the lease, stored, and the call sent again."""
    async with running_loop(tmp_path, lambda request: complete()) as driver:
        driver.adapter.refuse("Decide", Refusal(grpc.StatusCode.ABORTED, "LEASE_LOST", {"fence": "41"}))
        conversation_id = await driver.create()
        assert names(await driver.send(conversation_id, "go"))[-1] == "completed"
        assert [r.lease_epoch for r in driver.adapter.decide_requests] == [1, 41]
        with closing(sqlite3.connect(tmp_path / "loop.db")) as connection:
            assert connection.execute("SELECT epoch FROM interactions").fetchall() == [(41,)]


async def test_adopt_fence_calls_side_by_side_adopt_the_same_fence(tmp_path: Path) -> None:
    """The first compare-and-set wins; the others find it done under their own claim and go on at once."""

    def script(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        return complete() if request.observation.WhichOneof("kind") == "tool_finished" else call("a", "b", "c")

    async with running_loop(tmp_path, script) as driver:
        fenced = Refusal(grpc.StatusCode.ABORTED, "LEASE_LOST", {"fence": "9"})
        driver.adapter.refuse("ExecuteTool", fenced, fenced, fenced)
        conversation_id = await driver.create()
        async with asyncio.timeout(10):
            assert names(await driver.send(conversation_id, "go"))[-1] == "completed"
        assert [r.lease_epoch for r in driver.adapter.execute_requests] == [1, 1, 1, 9, 9, 9]


async def test_adopt_fence_by_nobody_who_lost_the_lease(tmp_path: Path) -> None:
    """The lease was taken away (a stop) while the refusal was under way: the fence is not adopted, nothing is sent.

    There is one place for work, so that the worker which asked goes on until its answer comes.
    """
    async with running_loop(tmp_path, one_change, concurrent_runs=1) as driver:
        gate = driver.adapter.hold("Decide")
        conversation_id = await driver.create()
        running = asyncio.ensure_future(driver.send(conversation_id, "go"))
        await driver.adapter.until_arrived("Decide")
        driver.adapter.refuse_late("Decide", Refusal(grpc.StatusCode.ABORTED, "LEASE_LOST", {"fence": "41"}))
        canceling = asyncio.ensure_future(driver.stub.CancelInteraction(cancellation(driver)))
        await driver.until(partial(stop_is_recorded, tmp_path))
        gate.set()
        assert (await canceling).interaction.state == CANCELED
        assert names(await running)[-1] == "canceled"
        assert len(driver.adapter.decide_requests) == 1
        assert [r.lease_epoch for r in driver.adapter.cancel_requests] == [3]


async def stop_is_recorded(folder: Path) -> bool:
    with closing(sqlite3.connect(folder / "loop.db")) as connection:
        return connection.execute("SELECT stop_kind FROM interactions").fetchall() != [("",)]


async def test_addressed_verdict_of_another_digest_changes_nothing(tmp_path: Path) -> None:
    """A verdict names the approval and the digest that was issued for it; any other changes nothing."""

    def script(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        resolved = request.observation.WhichOneof("kind") == "approval_resolved"
        return complete("Filed.") if resolved else request_approval()

    async with running_loop(tmp_path, script) as driver:
        conversation_id = await driver.create()
        approval = last(await driver.send(conversation_id, "file"), "approval_required")
        before = await driver.events(conversation_id)
        error = await refused(driver.resolve(approval, APPROVE, snapshot_digest="0" * 64), "FAILED_PRECONDITION")
        assert error.reason == "DIGEST_UNKNOWN"
        assert await driver.events(conversation_id) == before
        assert names(await driver.resolve(approval, APPROVE))[-1] == "completed"
        error = await refused(driver.resolve(approval, approval_pb2.VERDICT_REJECT), "FAILED_PRECONDITION")
        assert error.reason == "APPROVAL_RESOLVED"
        assert len(driver.adapter.decide_requests) == 2


async def test_adapter_clock_is_asked_by_the_loops_timer(tmp_path: Path) -> None:
    """The timer only asks; the same snapshot again means: not expired, and the open approval stays."""
    answers = [True, False]
    past = int(time.time()) - 5

    def script(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        observation = request.observation
        if observation.WhichOneof("kind") == "approval_resolved" and observation.approval_resolved.expired:
            if answers.pop(0):
                return request_approval(expire_seconds=past)
            block = failure_pb2.PolicyBlock(code="approval_expired", rule="approval_unexpired")
            return decision_pb2.Decision(blocked=decision_pb2.Blocked(block=block))
        return request_approval(expire_seconds=past)

    async with running_loop(tmp_path, script, expiry_recheck_seconds=0.2) as driver:
        conversation_id = await driver.create()
        approval = last(await driver.send(conversation_id, "file"), "approval_required")

        async def ended() -> bool:
            return "blocked" in names(await driver.events(conversation_id))

        await driver.until(ended)
        events = await driver.events(conversation_id)
        shown = [e.approval_required.approval_id for e in events if e.HasField("approval_required")]
        assert shown == [approval.approval_id] * 2
        assert last(events, "approval_resolved").outcome == event_pb2.APPROVAL_OUTCOME_EXPIRED
        assert last(events, "blocked").failure.code == "approval_expired"
        check_runs(events)


@pytest.mark.parametrize("why", ["cancel", "deadline", "adapter away"])
async def test_no_ending_while_a_change_lacks_its_outcome(tmp_path: Path, why: str) -> None:
    """The run ends `waiting`, and a timer asks again until the outcome is known; then the interaction ends."""
    settings: dict[str, Any] = {"stop_patience_seconds": 0.3, "settle_first_seconds": 0.2}
    if why != "cancel":
        settings["active_time_seconds"] = 1.0
    async with running_loop(tmp_path, one_change, **settings) as driver:
        gate = driver.adapter.hold("tool")
        conversation_id = await driver.create()
        running = asyncio.ensure_future(driver.send(conversation_id, "start"))
        await driver.adapter.until_arrived("tool")
        if why == "adapter away":
            await driver.adapter.stop()
        canceling = (
            asyncio.ensure_future(driver.stub.CancelInteraction(cancellation(driver))) if why == "cancel" else None
        )
        assert names(await running)[-1] == "waiting"
        if why == "adapter away":
            await driver.adapter.start()
        gate.set()

        async def ended() -> bool:
            return names(await driver.events(conversation_id))[-1] in ("canceled", "failed")

        await driver.until(ended)
        stored = await driver.events(conversation_id)
        check_runs(stored)
        assert [e.tool_finished.outcome for e in stored if e.HasField("tool_finished")] == [tool_pb2.OUTCOME_SUCCEEDED]
        assert driver.adapter.executions == 1
        if canceling is not None:
            assert (await canceling).interaction.state == CANCELED
        else:
            failure = last(stored, "failed").failure
            assert failure.code == ("deadline_exceeded" if why == "deadline" else "adapter_unavailable")
            assert failure.progress == failure_pb2.PROGRESS_PARTIAL
            assert len(failure.confirmed_steps) == 1


async def test_an_unknown_outcome_has_its_own_progress(tmp_path: Path) -> None:
    """Failure.progress also has PROGRESS_UNKNOWN: never told as not executed."""
    async with running_loop(tmp_path, one_change, end_with(tool_pb2.OUTCOME_UNKNOWN)) as driver:
        conversation_id = await driver.create()
        failure = last(await driver.send(conversation_id, "x"), "failed").failure
        assert (failure.code, failure.progress) == ("tool_outcome_unknown", failure_pb2.PROGRESS_UNKNOWN)


async def test_a_dispatch_number_is_committed_before_each_sending(tmp_path: Path) -> None:
    """What a restart would read at the moment a call arrives already counts that sending."""
    stored: list[int] = []

    async with running_loop(tmp_path, one_change) as driver:

        def look() -> None:
            with closing(sqlite3.connect(tmp_path / "loop.db")) as connection:
                stored.extend(row[0] for row in connection.execute("SELECT dispatch_number FROM tool_calls"))

        driver.adapter.on_arrival["ExecuteTool"] = look
        driver.adapter.refuse("ExecuteTool", *[Refusal(grpc.StatusCode.UNAVAILABLE)] * 2)
        conversation_id = await driver.create()
        assert names(await driver.send(conversation_id, "go"))[-1] == "completed"
        assert [r.dispatch_number for r in driver.adapter.execute_requests] == stored == [1, 2, 3]


async def test_execute_tool_has_no_channel_retries(tmp_path: Path) -> None:
    """The channel sends no call by itself: a dispatch number arrives once, though every sending but one is refused."""
    async with running_loop(tmp_path, one_change) as driver:
        driver.adapter.refuse("ExecuteTool", *[Refusal(grpc.StatusCode.UNAVAILABLE)] * 3)
        conversation_id = await driver.create()
        assert names(await driver.send(conversation_id, "go"))[-1] == "completed"
        assert [r.dispatch_number for r in driver.adapter.execute_requests] == [1, 2, 3, 4]

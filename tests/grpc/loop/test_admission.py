"""Admission: a full queue refuses new inputs before anything is stored, and nothing that was accepted before."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc.aio
import pytest

from gateway.cli.client import connect
from handrail.adapter.v1 import domain_adapter_service_pb2 as adapter_pb
from handrail.common.v1 import approval_pb2, decision_pb2
from handrail.loop.v1 import interaction_state_pb2 as states
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail_rpc.errors import HandrailError, ResourceExhausted
from tests.fakes.adapter import complete, request_approval
from tests.grpc.loop.driver import LoopDriver, collect, last, names, running_loop
from tests.grpc.loop.errors import refused
from tests.grpc.whole.running import MovedClock

QUEUED = 2


def by_text(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
    if request.observation.WhichOneof("kind") != "user_message":
        return complete("Went on.")
    match request.observation.user_message.text:
        case "approve":
            return request_approval()
        case "signal":
            waiting = decision_pb2.Decision(wait=decision_pb2.Wait(signal="go"))
            waiting.wait.limit.seconds = 3600
            return waiting
        case "sleep":
            asleep = decision_pb2.Decision()
            asleep.wait.until.seconds = 3600
            return asleep
        case _:
            return complete()


class Full:
    """A Loop with one busy worker and a full queue; `release` lets it work."""

    def __init__(self, driver: LoopDriver, clock: MovedClock) -> None:
        self.driver = driver
        self.clock = clock
        self.running = ""
        self.queued: list[str] = []
        self.streams: list[Any] = []

    async def fill(self) -> None:
        self.gate = self.driver.adapter.hold("Decide")
        self.running = await self.driver.create()
        self.streams.append(self.driver.open_send(self.running, "running"))
        await self.driver.adapter.until_arrived("Decide")
        for _ in range(QUEUED):
            conversation_id = await self.driver.create()
            self.queued.append(conversation_id)
            stream = self.driver.open_send(conversation_id, "queued", request_id=f"queued-{len(self.queued) - 1}")
            assert (await stream.read()).event.WhichOneof("payload") == "run_started"
            self.streams.append(stream)

    def release(self) -> None:
        self.driver.adapter.gates.clear()
        self.gate.set()

    async def until_ended(self, conversation_id: str) -> list[str]:
        async def ended() -> list[str]:
            found = names(await self.driver.events(conversation_id))
            return found if found[-1] in ("completed", "canceled") else []

        found: list[str] = await self.driver.until(ended)
        return found


@asynccontextmanager
async def one_worker(folder: Path) -> AsyncIterator[Full]:
    async with running_loop(folder, by_text, concurrent_runs=1, queued_runs=QUEUED) as driver:
        await driver.stop()
        driver.clock = clock = MovedClock()
        await driver.start()
        full = Full(driver, clock)
        yield full
        for stream in full.streams:
            stream.cancel()


def check_queue_full(refusal: HandrailError) -> None:
    assert isinstance(refusal, ResourceExhausted)
    assert (refusal.reason, refusal.metadata["limit"]) == ("QUEUE_FULL", str(QUEUED))
    assert refusal.retry_after is not None
    assert str(QUEUED) in refusal.message


async def test_a_full_queue_refuses_a_message_before_anything_is_stored(tmp_path: Path) -> None:
    async with one_worker(tmp_path) as full:
        conversation_id = await full.driver.create()
        await full.fill()
        for _ in range(2):
            check_queue_full(
                await refused(full.driver.send(conversation_id, "x", request_id="late"), "RESOURCE_EXHAUSTED")
            )
        assert await full.driver.events(conversation_id) == []
        listed = await full.driver.stub.ListMessages(pb.ListMessagesRequest(conversation_id=conversation_id))
        assert not listed.messages
        full.release()
        # What runs and what is queued was not touched, and the same request is welcome later.
        for accepted in (full.running, *full.queued):
            assert (await full.until_ended(accepted))[-1] == "completed"
        assert names(await full.driver.send(conversation_id, "x", request_id="late"))[-1] == "completed"


async def test_a_replay_a_joining_message_and_a_cancel_are_never_refused(tmp_path: Path) -> None:
    async with one_worker(tmp_path) as full:
        await full.fill()
        again = full.driver.open_send(full.queued[0], "queued", request_id="queued-0")
        assert (await again.read()).event.WhichOneof("payload") == "run_started"
        # A busy interaction takes a further message without a further run.
        joining = full.driver.open_send(full.queued[0], "and this")
        full.streams += [again, joining]

        async def accepted() -> bool:
            return "message_accepted" in names(await full.driver.events(full.queued[0]))

        await full.driver.until(accepted)
        interaction_id = (await full.driver.events(full.queued[1]))[0].interaction_id
        request = pb.CancelInteractionRequest(request_id="stop", interaction_id=interaction_id)
        canceling = asyncio.ensure_future(full.driver.stub.CancelInteraction(request))
        full.release()
        async with asyncio.timeout(20):
            canceled = await canceling
        assert canceled.interaction.state == states.INTERACTION_STATE_CANCELED


async def test_approvals_and_signals_that_would_start_a_run_are_refused_too(tmp_path: Path) -> None:
    async with one_worker(tmp_path) as full:
        driver = full.driver
        approving = await driver.create()
        approval = last(await driver.send(approving, "approve"), "approval_required")
        rejecting = await driver.create()
        other = last(await driver.send(rejecting, "approve"), "approval_required")
        signaled = (await driver.send(await driver.create(), "signal"))[-1].interaction_id
        await full.fill()
        head = len(await driver.events(approving))
        check_queue_full(await refused(driver.resolve(approval, approval_pb2.VERDICT_APPROVE), "RESOURCE_EXHAUSTED"))
        assert len(await driver.events(approving)) == head
        request = pb.SignalInteractionRequest(request_id="s", interaction_id=signaled, signal="go")
        check_queue_full(await refused(driver.stub.SignalInteraction(request), "RESOURCE_EXHAUSTED"))
        # A signal that is only kept starts nothing; a rejection ends work.
        early = pb.SignalInteractionRequest(request_id="e", interaction_id=signaled, signal="other")
        assert not (await driver.stub.SignalInteraction(early)).delivered
        rejected = asyncio.ensure_future(driver.resolve(other, approval_pb2.VERDICT_REJECT))

        async def stored() -> bool:
            return "approval_resolved" in names(await driver.events(rejecting))

        await driver.until(stored)
        full.release()
        assert names(await rejected)[-1] == "canceled"
        assert names(await driver.resolve(approval, approval_pb2.VERDICT_APPROVE))[-1] == "completed"
        assert (await driver.stub.SignalInteraction(request)).delivered


async def test_a_timer_is_never_refused(tmp_path: Path) -> None:
    async with one_worker(tmp_path) as full:
        sleeping = await full.driver.create()
        assert names(await full.driver.send(sleeping, "sleep"))[-1] == "waiting"
        await full.fill()
        full.clock.leap(3601)

        async def woken() -> bool:
            return names(await full.driver.events(sleeping)).count("run_started") == 2

        await full.driver.until(woken)
        full.release()
        assert (await full.until_ended(sleeping))[-1] == "completed"


async def test_the_client_sends_again_when_the_server_said(tmp_path: Path) -> None:
    async with one_worker(tmp_path) as full, connect(full.driver.loop.target) as client:
        conversation_id = await full.driver.create()
        await full.fill()
        pauses: list[float] = []

        def told(seconds: float) -> None:
            pauses.append(seconds)
            full.release()

        client.on_busy = told
        async with asyncio.timeout(20):
            kinds = [e.WhichOneof("payload") async for e in client.send_message(conversation_id, "x")]
        assert kinds[-1] == "completed"
        assert pauses == [2.0]
        # Without the patience to wait as long as that, the refusal is told.
        await full.fill()
        async with connect(full.driver.loop.target, resume_seconds=1.0) as hasty:
            with pytest.raises(ResourceExhausted):
                await anext(hasty.send_message(conversation_id, "y"))
        full.release()


async def test_counting_the_queue_reads_its_own_index_only(tmp_path: Path) -> None:
    async with one_worker(tmp_path) as full:
        assert full.driver.loop.parts is not None

        def plan(connection: Any) -> list[str]:
            query = "SELECT count(*) FROM (SELECT state FROM runs WHERE state = 'queued' LIMIT 1000)"
            return [str(row) for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}")]

        found = await full.driver.loop.parts.database.read(plan)
        assert any("COVERING INDEX runs_queued" in row for row in found), found


async def test_streams_and_unary_calls_have_limits_of_their_own(tmp_path: Path) -> None:
    async with running_loop(tmp_path, by_text, streams=2, unary_calls=1) as driver:
        conversation_id = await driver.create()
        request = pb.WatchConversationRequest(conversation_id=conversation_id, follow=True)
        open_streams = [driver.stub.WatchConversation(request) for _ in range(2)]
        for stream in open_streams:
            assert (await stream.read()).event.WhichOneof("payload") == "live"
        refusal = await refused(collect(driver.stub.WatchConversation(request)), "RESOURCE_EXHAUSTED")
        assert isinstance(refusal, ResourceExhausted)
        assert (refusal.reason, refusal.metadata["limit"]) == ("STREAMS_FULL", "2")
        assert refusal.retry_after is not None
        await driver.stub.GetConversation(pb.GetConversationRequest(conversation_id=conversation_id))
        open_streams[0].cancel()

        async def room() -> bool:
            try:
                return names(await driver.send(conversation_id, "x"))[-1] == "completed"
            except grpc.aio.AioRpcError:
                return False

        await driver.until(room)
        open_streams[1].cancel()

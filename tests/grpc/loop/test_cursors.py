"""Cursors: any of them resumes the same sequence, across restarts, within one history of the database only."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from grpc_health.v1 import health_pb2

from handrail.adapter.v1 import domain_adapter_service_pb2 as adapter_pb
from handrail.common.v1 import decision_pb2
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail.loop.v1 import workflow_loop_service_pb2_grpc
from loop_service.domain.events import StoredEvent
from loop_service.worker.feed import EventFeed
from tests.fakes.adapter import FakeAdapter, ask, call, complete
from tests.grpc.loop.driver import LoopDriver, collect, names, running_loop
from tests.grpc.loop.errors import refused
from tests.grpc.loop.test_process import LoopProcess, until_health


def one_tool(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
    if request.observation.WhichOneof("kind") == "tool_finished":
        return complete("Done.")
    return call(f"call_{request.interaction_id}")


def watch_request(conversation_id: str, after: int, history_id: str = "", follow: bool = False) -> Any:
    return pb.WatchConversationRequest(
        conversation_id=conversation_id, after_sequence=after, history_id=history_id, follow=follow
    )


async def every_suffix(driver: LoopDriver, conversation_id: str, stored: list[bytes], history_id: str) -> None:
    """Each cursor gives exactly what follows it, byte for byte, then the live marker."""
    for cursor in range(len(stored) + 1):
        found = await collect(driver.stub.WatchConversation(watch_request(conversation_id, cursor, history_id)))
        assert [e.SerializeToString() for e in found[:-1]] == stored[cursor:]
        assert found[-1].WhichOneof("payload") == "live"
        assert (found[-1].sequence, found[-1].live.history_id) == (len(stored), history_id)


async def test_every_cursor_resumes_the_same_sequence_across_a_restart(tmp_path: Path) -> None:
    async with running_loop(tmp_path, one_tool) as driver:
        conversation_id = await driver.create()
        started = (await driver.send(conversation_id, "one"))[0].run_started
        await driver.send(conversation_id, "two")
        stored = [e.SerializeToString() for e in await driver.events(conversation_id)]
        assert started.history_id
        await every_suffix(driver, conversation_id, stored, started.history_id)
        await driver.restart()
        await every_suffix(driver, conversation_id, stored, started.history_id)


async def test_a_watcher_resumed_in_mid_run_sees_each_event_once(tmp_path: Path) -> None:
    async with running_loop(tmp_path, one_tool) as driver:
        gate = driver.adapter.hold("tool")
        conversation_id = await driver.create()
        sending = driver.open_send(conversation_id, "go")
        await driver.adapter.until_arrived("tool")
        seen = [e.sequence for e in await driver.events(conversation_id)]
        await driver.restart()
        stream = driver.stub.WatchConversation(watch_request(conversation_id, seen[-1], follow=True))
        gate.set()
        async with asyncio.timeout(20):
            async for response in stream:
                if response.event.WhichOneof("payload") != "live":
                    seen.append(response.event.sequence)
                if response.event.WhichOneof("payload") == "completed":
                    break
        stream.cancel()
        sending.cancel()
        assert seen == list(range(1, len(seen) + 1))


async def test_a_waiting_run_can_be_watched_after_a_restart(tmp_path: Path) -> None:
    async with running_loop(tmp_path, lambda request: ask()) as driver:
        conversation_id = await driver.create()
        head = (await driver.send(conversation_id, "x"))[-1].sequence
        await driver.restart()
        found = await collect(driver.stub.WatchConversation(watch_request(conversation_id, head - 1)))
        assert names(found) == ["clarification_required", "live"]


async def test_a_cursor_of_another_history_is_out_of_range(tmp_path: Path) -> None:
    """The history id is renewed as a restore does it: the numbers may mean other events now."""
    async with running_loop(tmp_path, one_tool) as driver:
        conversation_id = await driver.create()
        head = (await driver.send(conversation_id, "one"))[-1].sequence
        get = pb.GetConversationRequest(conversation_id=conversation_id)
        before = (await driver.stub.GetConversation(get)).conversation
        assert before.first_sequence == 1
        await collect(driver.stub.WatchConversation(watch_request(conversation_id, head, before.history_id)))
        await driver.channel.close()
        await driver.loop.stop()
        with closing(sqlite3.connect(tmp_path / "loop.db")) as connection, connection:
            connection.execute("UPDATE history SET history_id = 'his_renewed'")
        (tmp_path / "loop.db.history").unlink(missing_ok=True)
        await driver.start()
        after = (await driver.stub.GetConversation(get)).conversation
        assert after.history_id != before.history_id
        stream = driver.stub.WatchConversation(watch_request(conversation_id, head, before.history_id))
        refusal = await refused(collect(stream), "OUT_OF_RANGE")
        assert (refusal.reason, refusal.metadata["history_id"]) == ("HISTORY_RENEWED", after.history_id)
        assert f"0 to {head}" in refusal.message
        found = await collect(driver.stub.WatchConversation(watch_request(conversation_id, head, after.history_id)))
        assert found[-1].live.history_id == after.history_id


def test_what_a_lagging_reader_holds_in_memory_is_bounded() -> None:
    feed = EventFeed(50)
    slow, catching_up = feed.subscribe("conv"), feed.subscribe("conv")
    slow.start_live()
    for sequence in range(1, 10_001):
        feed.publish("conv", [StoredEvent("conv", sequence, "run", "content_delta", b"x" * 100)])
        assert len(slow._events) <= 50
        assert len(catching_up._events) <= 50
    assert slow.overflowed, "a live one that falls behind is closed"
    assert not catching_up.overflowed, "one that still replays reads the table at its own pace"
    assert catching_up.take() is None


async def test_every_cursor_resumes_the_same_sequence_after_kill_9(tmp_path: Path) -> None:
    """The process dies in mid-run: what a watcher had seen is a prefix of what any cursor gives afterwards."""
    adapter = await FakeAdapter(one_tool).start()
    loop = LoopProcess(tmp_path, adapter.target)
    loop.migrate()
    loop.spawn()
    try:
        async with loop.channel() as channel:
            stub: Any = workflow_loop_service_pb2_grpc.WorkflowLoopServiceStub(channel)
            await until_health(channel, health_pb2.HealthCheckResponse.SERVING)
            created = await stub.CreateConversation(pb.CreateConversationRequest(request_id="1", domain="test"))
            conversation_id = created.conversation.conversation_id
            gate = adapter.hold("tool")
            stream = stub.SendMessage(pb.SendMessageRequest(request_id="2", conversation_id=conversation_id, text="x"))
            await adapter.until_arrived("tool")
            before = await collect(stub.WatchConversation(watch_request(conversation_id, 0)))
            history_id = before[-1].live.history_id
            seen = [e.SerializeToString() for e in before[:-1]]
            loop.kill(signal.SIGKILL)
            stream.cancel()
            gate.set()
            loop.spawn()
            await until_health(channel, health_pb2.HealthCheckResponse.SERVING)
            stored: list[bytes] = []
            async with asyncio.timeout(20):
                follow = stub.WatchConversation(watch_request(conversation_id, 0, history_id, follow=True))
                async for response in follow:
                    if response.event.WhichOneof("payload") != "live":
                        stored.append(response.event.SerializeToString())
                    if response.event.WhichOneof("payload") == "completed":
                        break
                follow.cancel()
            assert stored[: len(seen)] == seen
            for cursor in range(len(stored) + 1):
                found = await collect(stub.WatchConversation(watch_request(conversation_id, cursor, history_id)))
                assert [e.SerializeToString() for e in found[:-1]] == stored[cursor:]
        assert loop.kill(signal.SIGTERM) == 0
    finally:
        if loop.process is not None and loop.process.poll() is None:
            loop.process.kill()
            loop.process.wait()
        await adapter.stop()

"""Readers of the event stream: slow ones, many of them, and all of them at a drain."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import grpc.aio
import pytest

from handrail.adapter.v1 import domain_adapter_service_pb2 as adapter_pb
from handrail.common.v1 import decision_pb2
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail_rpc.status import from_rpc_error
from loop_service.application.stream_events import BATCH
from tests.fakes.adapter import complete
from tests.grpc.loop.driver import names, running_loop

LONG = "word " * 1500


def long_answer(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
    return complete(LONG)


async def test_a_slow_reader_is_closed_with_its_cursor_and_holds_up_nobody(tmp_path: Path) -> None:
    async with running_loop(tmp_path, long_answer, reader_lag_events=60) as driver:
        conversation_id = await driver.create()
        slow = driver.stub.WatchConversation(pb.WatchConversationRequest(conversation_id=conversation_id, follow=True))
        assert (await slow.read()).event.WhichOneof("payload") == "live"
        for _ in range(40):
            assert names(await driver.send(conversation_id, "more"))[-1] == "completed"
        cursors: list[int] = []

        async def read_on() -> None:
            while response := await slow.read():
                cursors.append(response.event.sequence)

        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await asyncio.wait_for(read_on(), 20)
        cursor = cursors[-1]
        refusal = from_rpc_error(caught.value)
        assert caught.value.code().name == "RESOURCE_EXHAUSTED"
        assert refusal.reason == "READER_TOO_SLOW"
        assert int(refusal.metadata["cursor"]) == cursor
        rest = await driver.events(conversation_id, after=cursor)
        assert rest[0].sequence == cursor + 1


async def test_a_reader_that_catches_up_is_not_slow(tmp_path: Path) -> None:
    async with running_loop(tmp_path, long_answer, reader_lag_events=60) as driver:
        conversation_id = await driver.create()
        for _ in range(5):
            await driver.send(conversation_id, "more")
        stored = await driver.events(conversation_id)
        assert len(stored) > 100


async def test_a_closed_client_stream_stops_nothing(tmp_path: Path) -> None:
    async with running_loop(tmp_path, long_answer) as driver:
        gate = driver.adapter.hold("Decide")
        conversation_id = await driver.create()
        stream = driver.open_send(conversation_id, "go")
        await driver.adapter.until_arrived("Decide")
        stream.cancel()
        gate.set()

        async def completed() -> bool:
            return "completed" in names(await driver.events(conversation_id))

        await driver.until(completed)


async def test_many_readers_see_the_same_events(tmp_path: Path) -> None:
    async with running_loop(tmp_path, long_answer) as driver:
        conversation_id = await driver.create()

        async def follow() -> list[bytes]:
            seen: list[bytes] = []
            request = pb.WatchConversationRequest(conversation_id=conversation_id, follow=True)
            stream = driver.stub.WatchConversation(request)
            async for response in stream:
                if response.event.WhichOneof("payload") != "live":
                    seen.append(response.event.SerializeToString())
                if response.event.WhichOneof("payload") == "completed":
                    break
            stream.cancel()
            return seen

        readers = [asyncio.ensure_future(follow()) for _ in range(10)]
        await driver.send(conversation_id, "go")
        async with asyncio.timeout(20):
            seen = await asyncio.gather(*readers)
        stored = [e.SerializeToString() for e in await driver.events(conversation_id)]
        assert all(one == stored for one in seen)


async def test_drain_ends_streams_unavailable_with_their_cursor(tmp_path: Path) -> None:
    async with running_loop(tmp_path, long_answer) as driver:
        conversation_id = await driver.create()
        head = (await driver.send(conversation_id, "go"))[-1].sequence
        stream = driver.stub.WatchConversation(
            pb.WatchConversationRequest(conversation_id=conversation_id, after_sequence=head - 1, follow=True)
        )
        assert (await stream.read()).event.sequence == head
        assert (await stream.read()).event.WhichOneof("payload") == "live"
        stopping = asyncio.ensure_future(driver.loop.stop())
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await asyncio.wait_for(stream.read(), 10)
        refusal = from_rpc_error(caught.value)
        assert caught.value.code().name == "UNAVAILABLE"
        assert refusal.reason == "SERVER_DRAINING"
        assert refusal.metadata["cursor"] == str(head)
        await stopping


async def test_an_early_run_is_replayed_without_reading_the_rest_of_the_conversation(tmp_path: Path) -> None:
    """Its events are picked while reading; a query that picked them would scan every later event."""
    async with running_loop(tmp_path, long_answer) as driver:
        conversation_id = await driver.create()
        first = await driver.send(conversation_id, "go", request_id="early")
        for _ in range(22):
            await driver.send(conversation_id, "more")
        head = (await driver.events(conversation_id))[-1].sequence
        assert head > 2 * BATCH
        assert driver.loop.parts is not None
        database, counted = driver.loop.parts.database, 0
        read = database.read

        async def counting(query: Any) -> Any:
            nonlocal counted
            found = await read(query)
            counted += len(found) if isinstance(found, list) else 0
            return found

        database.read = counting  # type: ignore[method-assign]
        again = await driver.send(conversation_id, "go", request_id="early")
        assert [e.SerializeToString() for e in again] == [e.SerializeToString() for e in first]
        assert 0 < counted <= BATCH

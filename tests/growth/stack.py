"""Gateway, Loop and Adapter in this process, on real sockets with counting relays between them, and what they did.

The domain is the benchmark's: "turn N" is a turn with one pure tool (R2), "round N" ends waiting for an approval (R1).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from adapter_service import bootstrap as adapter
from adapter_service.config import AdapterSettings
from bench.domain import NAME, make_domain
from bench.observe import stored_bytes
from bench.wal import PinnedWal
from gateway.bootstrap import build_gateway
from gateway.config import GatewaySettings
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail.loop.v1.event_pb2 import Event
from handrail.loop.v1.workflow_loop_service_pb2_grpc import WorkflowLoopServiceStub
from handrail_rpc.channel import open_channel, set_call_tracer
from handrail_rpc.settings import ListenAddress
from loop_service import bootstrap as loop
from loop_service.config import LoopSettings
from tests.growth.relay import Relay, relay_to

_START_SECONDS = 30.0
ANYWHERE = ListenAddress("127.0.0.1", 0)


class CallCounter:
    """Counts the calls that channels of this process begin, by method (handrail_rpc.channel.CallTracer)."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    def start(self, method: str, _metadata: list[tuple[str, str | bytes]]) -> Callable[[Any], None] | None:
        self.calls[method] += 1
        return None


@dataclass(frozen=True, slots=True)
class Spent:
    """What a turn took, of both databases and of all wires; `written` are bytes of the logs, `kept` those of pages."""

    commits: float
    written: float
    kept: float
    calls: float
    wire: float


class Running:
    """The three services. `stub` talks to the gateway."""

    def __init__(self, folder: Path, channel: Any, relays: list[Relay], counter: CallCounter) -> None:
        self.stub = WorkflowLoopServiceStub(channel)
        self.databases = [folder / "loop.db", folder / "adapter.db"]
        self._relays = relays
        self._counter = counter

    async def create(self) -> str:
        """A new conversation's id."""
        request = pb.CreateConversationRequest(request_id=str(uuid4()), domain=NAME)
        return (await self.stub.CreateConversation(request)).conversation.conversation_id

    async def send(self, conversation_id: str, text: str, ending: str) -> Event:
        """The run's last event, which must be `ending`."""
        request = pb.SendMessageRequest(request_id=str(uuid4()), conversation_id=conversation_id, text=text)
        events = [response.event async for response in self.stub.SendMessage(request)]
        assert events[-1].WhichOneof("payload") == ending, events[-1]
        return events[-1]

    async def turns(self, conversation_id: str, count: int) -> None:
        """So many R2 turns, one after the other."""
        for number in range(count):
            await self.send(conversation_id, f"turn {number}", "completed")

    async def spent(self, conversation_id: str, turns: int) -> Spent:
        """What `turns` turns take."""
        calls, wire, kept = self._counter.calls.total(), self._wire(), self._kept()
        with PinnedWal(self.databases[0]) as one, PinnedWal(self.databases[1]) as other:
            await self.turns(conversation_id, turns)
            logs = (one, other)
            return Spent(
                sum(log.commits() for log in logs) / turns,
                sum(log.written() for log in logs) / turns,
                (self._kept() - kept) / turns,
                (self._counter.calls.total() - calls) / turns,
                (self._wire() - wire) / turns,
            )

    def _wire(self) -> int:
        return sum(relay.count for relay in self._relays)

    def _kept(self) -> int:
        return sum(stored_bytes(path) for path in self.databases)


@asynccontextmanager
async def running_stack(folder: Path) -> AsyncIterator[Running]:
    """Migrated, serving, stopped at the end."""
    counter = CallCounter()
    async with AsyncExitStack() as stack:
        set_call_tracer(counter)
        stack.callback(set_call_tracer, None)
        adapter_settings = AdapterSettings(listen=ANYWHERE, data_dir=folder)
        adapter.migrate_database(adapter_settings)
        served = await adapter.start(adapter_settings, domains=[make_domain(folder / "effects.txt")])
        stack.push_async_callback(served.stop)
        to_adapter = await stack.enter_async_context(relay_to(served.port))
        loop_settings = LoopSettings(
            listen=ANYWHERE, data_dir=folder, database_url=None, adapters={NAME: to_adapter.target}
        )
        looping = await loop.start(loop_settings, migrate_first=True)
        stack.push_async_callback(looping.stop)
        await asyncio.wait_for(looping.ready.wait(), _START_SECONDS)
        to_loop = await stack.enter_async_context(relay_to(looping.port))
        gateway = build_gateway(GatewaySettings(listen=ANYWHERE, loop=to_loop.target), drain_pause_seconds=0)
        port = await gateway.start()
        gateway.set_ready(True)
        stack.push_async_callback(gateway.stop)
        to_gateway = await stack.enter_async_context(relay_to(port))
        channel = await stack.enter_async_context(open_channel(to_gateway.target))
        yield Running(folder, channel, [to_adapter, to_loop, to_gateway], counter)

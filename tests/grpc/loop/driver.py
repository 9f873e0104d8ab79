"""Starts a real Loop on a real SQLite file against the scripted Adapter, and speaks to it over a real socket."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc.aio

from handrail.adapter.v1 import artifact_service_pb2_grpc
from handrail.loop.v1 import event_pb2, workflow_loop_service_pb2_grpc
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail_rpc.settings import ListenAddress
from loop_service.application.ports import ActionModel, Clock, ReplyModel
from loop_service.bootstrap import RunningLoop, start
from loop_service.config import LoopSettings
from tests.fakes.adapter import FakeAdapter, Script, ToolScript
from tests.fakes.processes import poll

ENDINGS = {
    "clarification_required",
    "approval_required",
    "waiting",
    "completed",
    "failed",
    "blocked",
    "canceled",
    "superseded",
}
DOMAIN = "test"


class LoopDriver:
    """One Loop, one scripted Adapter, one client; `restart` opens the same database anew."""

    def __init__(self, folder: Path, adapter: FakeAdapter, **settings: Any) -> None:
        self.folder = folder
        self.adapter = adapter
        self.settings = settings
        self.clock: Clock | None = None
        self.reply_model: ReplyModel | None = None
        self.action_model: ActionModel | None = None
        self._ids = itertools.count(1)
        self.loop: RunningLoop

    def loop_settings(self) -> LoopSettings:
        values: dict[str, Any] = {
            "listen": ListenAddress("127.0.0.1", 0),
            "data_dir": self.folder,
            "database_url": None,
            "adapters": {DOMAIN: self.adapter.target},
            "poll_seconds": 0.1,
            "grace_seconds": 1.0,
            "log_level": "error",
            **self.settings,
        }
        return LoopSettings(**values)

    async def start(self) -> None:
        self.loop = await start(
            self.loop_settings(),
            clock=self.clock,
            reply_model=self.reply_model,
            action_model=self.action_model,
            migrate_first=True,
        )
        async with asyncio.timeout(10):
            await self.loop.ready.wait()
        self.channel = grpc.aio.insecure_channel(self.loop.target, options=[("grpc.http2.bdp_probe", 0)])
        self.stub: Any = workflow_loop_service_pb2_grpc.WorkflowLoopServiceStub(self.channel)
        self.artifacts: Any = artifact_service_pb2_grpc.ArtifactServiceStub(self.channel)

    async def stop(self) -> None:
        await self.channel.close()
        await self.loop.stop()

    async def restart(self) -> None:
        """Tasks are cut off where they stand, everything in memory is gone, the database stays."""
        await self.channel.close()
        await self.loop.stop()
        await self.start()

    def next_id(self) -> str:
        return f"req-{next(self._ids)}"

    async def create(self, metadata: Any = None, **fields: Any) -> str:
        request = pb.CreateConversationRequest(**{"request_id": self.next_id(), "domain": DOMAIN, **fields})
        response = await self.stub.CreateConversation(request, metadata=metadata)
        return str(response.conversation.conversation_id)

    async def send(
        self, conversation_id: str, text: str = "", metadata: Any = None, **fields: Any
    ) -> list[event_pb2.Event]:
        """Send and read the stream to its end."""
        return await collect(self.open_send(conversation_id, text, metadata, **fields))

    def open_send(self, conversation_id: str, text: str = "", metadata: Any = None, **fields: Any) -> Any:
        request = pb.SendMessageRequest(
            **{"request_id": self.next_id(), "conversation_id": conversation_id, "text": text, **fields}
        )
        return self.stub.SendMessage(request, metadata=metadata)

    async def resolve(
        self, approval: event_pb2.ApprovalRequired, verdict: int, metadata: Any = None, **fields: Any
    ) -> list[event_pb2.Event]:
        request = pb.ResolveApprovalRequest(
            **{
                "request_id": self.next_id(),
                "approval_id": approval.approval_id,
                "verdict": verdict,
                "snapshot_digest": approval.snapshot_digest,
                **fields,
            }
        )
        return await collect(self.stub.ResolveApproval(request, metadata=metadata))

    async def events(self, conversation_id: str, after: int = 0) -> list[event_pb2.Event]:
        """Every stored event, without the live marker; checks that the numbers have no gap."""
        request = pb.WatchConversationRequest(conversation_id=conversation_id, after_sequence=after)
        found = await collect(self.stub.WatchConversation(request))
        assert found[-1].WhichOneof("payload") == "live"
        stored = found[:-1]
        assert [e.sequence for e in stored] == list(range(after + 1, after + 1 + len(stored)))
        return stored

    async def until(self, check: Callable[[], Any], seconds: float = 10.0) -> Any:
        """Poll an async check until it is true, and return what it returned; fails after the deadline."""
        return await poll(check, "what was awaited", seconds)


async def collect(call: Any) -> list[event_pb2.Event]:
    async with asyncio.timeout(30):
        return [response.event async for response in call]


def names(events: list[event_pb2.Event]) -> list[str]:
    return [str(event.WhichOneof("payload")) for event in events]


def last(events: list[event_pb2.Event], name: str) -> Any:
    """The payload of the newest event called `name`."""
    return getattr(next(e for e in reversed(events) if e.WhichOneof("payload") == name), name)


def check_runs(events: list[event_pb2.Event]) -> None:
    """Every run that is over has exactly one ending, and it is its last event."""
    by_run: dict[str, list[str]] = {}
    for event in events:
        if event.run_id:
            by_run.setdefault(event.run_id, []).append(str(event.WhichOneof("payload")))
    for run in by_run.values():
        endings = [name for name in run if name in ENDINGS]
        assert len(endings) <= 1, run
        if endings:
            assert run[-1] == endings[0], run
        assert run[0] == "run_started"


@asynccontextmanager
async def running_loop(
    folder: Path, decide: Script, execute: ToolScript | None = None, **settings: Any
) -> AsyncIterator[LoopDriver]:
    adapter = await FakeAdapter(decide, execute).start()
    driver = LoopDriver(folder, adapter, **settings)
    await driver.start()
    try:
        yield driver
    finally:
        await driver.stop()
        await adapter.stop()

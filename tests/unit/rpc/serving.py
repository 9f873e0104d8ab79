"""A real RpcServer on a free loopback port with scripted handlers, for the tests of the wire.

The Loop's contract serves as the vehicle; what the handlers do is the test's.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from google.rpc import error_details_pb2, status_pb2

from handrail.loop.v1 import workflow_loop_service_pb2_grpc as rpc
from handrail_rpc.channel import open_channel
from handrail_rpc.server import RpcServer
from handrail_rpc.settings import ListenAddress

LOOP = "handrail.loop.v1.WorkflowLoopService"


class Scripted(rpc.WorkflowLoopServiceServicer):
    """Unary `ListDomains` and streaming `SendMessage`, `WatchConversation` call the given functions."""

    def __init__(self, unary: Any = None, stream: Any = None) -> None:
        self._unary = unary
        self._stream = stream

    async def ListDomains(self, request: Any, context: Any) -> Any:
        return await self._unary(request, context)

    async def SendMessage(self, request: Any, context: Any) -> Any:
        async for message in self._stream(request, context):
            yield message

    async def WatchConversation(self, request: Any, context: Any) -> None:
        await self._stream(request, context)


@asynccontextmanager
async def serving(unary: Any = None, stream: Any = None, **options: Any) -> AsyncIterator[RpcServer]:
    """A started, ready server; stopped without grace at the end."""
    options.setdefault("drain_pause_seconds", 0.0)
    options.setdefault("grace_seconds", 0.0)
    server = RpcServer(ListenAddress("127.0.0.1", 0), listen_setting="HANDRAIL_TEST_LISTEN", **options)
    servicer = Scripted(unary, stream)
    server.add_service(LOOP, lambda s: rpc.add_WorkflowLoopServiceServicer_to_server(servicer, s))
    await server.start()
    server.set_ready(True)
    try:
        yield server
    finally:
        await server.stop()


@asynccontextmanager
async def calling(target: str, **options: Any) -> AsyncIterator[rpc.WorkflowLoopServiceAsyncStub]:
    channel = open_channel(target, **options)
    try:
        yield rpc.WorkflowLoopServiceStub(channel)
    finally:
        await channel.close()


def error_info(error: Any) -> error_details_pb2.ErrorInfo:
    """The ErrorInfo of a failed call. Raises AssertionError if it carries none."""
    for key, value in error.trailing_metadata():
        if key == "grpc-status-details-bin":
            info = error_details_pb2.ErrorInfo()
            for detail in status_pb2.Status.FromString(value).details:
                if detail.Unpack(info):
                    return info
    raise AssertionError("the status carries no ErrorInfo")

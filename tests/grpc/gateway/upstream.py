"""A real grpc.aio server in the Loop's place, below the level of messages: it answers any method with bytes.

What it answers is the test's; what it received (path, bytes, metadata) is kept.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
import grpc.aio

from gateway.bootstrap import PROXIED, build_gateway
from gateway.config import GatewaySettings
from handrail_rpc.server import RpcServer
from handrail_rpc.settings import ListenAddress

UNARY = "/handrail.loop.v1.WorkflowLoopService/GetRun"
STREAM = "/handrail.loop.v1.WorkflowLoopService/SendMessage"
STREAMING = {f"/{s.full_name}/{m.name}" for s in PROXIED for m in s.methods if m.server_streaming}
METHODS = [f"/{s.full_name}/{m.name}" for s in PROXIED for m in s.methods]

Serve = Callable[[bytes, Any], Awaitable[Any]]


@dataclass
class Upstream(grpc.GenericRpcHandler):
    """`unary(request, context)` returns bytes; `stream(request, context)` writes bytes."""

    unary: Serve | None = None
    stream: Serve | None = None
    paths: list[str] = field(default_factory=list)
    requests: list[bytes] = field(default_factory=list)
    metadata: list[dict[str, Any]] = field(default_factory=list)
    port: int = 0

    def service(self, handler_call_details: Any) -> Any:
        self.paths.append(handler_call_details.method)
        if handler_call_details.method in STREAMING:
            return grpc.unary_stream_rpc_method_handler(self._serve_stream)
        return grpc.unary_unary_rpc_method_handler(self._serve_unary)

    async def _serve_unary(self, request: bytes, context: Any) -> bytes:
        self._keep(request, context)
        return request if self.unary is None else await self.unary(request, context)

    async def _serve_stream(self, request: bytes, context: Any) -> None:
        self._keep(request, context)
        if self.stream is None:
            await context.write(request)
        else:
            await self.stream(request, context)

    def _keep(self, request: bytes, context: Any) -> None:
        self.requests.append(request)
        self.metadata.append(dict(context.invocation_metadata()))

    @property
    def target(self) -> str:
        return f"127.0.0.1:{self.port}"

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Upstream]:
        """Listen (on the same port again after a first time); killed at the end."""
        server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
        server.add_generic_rpc_handlers((self,))
        self.port = server.add_insecure_port(f"127.0.0.1:{self.port}")
        await server.start()
        try:
            yield self
        finally:
            await server.stop(0)


@asynccontextmanager
async def gateway_to(loop: str, **options: Any) -> AsyncIterator[tuple[RpcServer, grpc.aio.Channel]]:
    """A ready gateway in front of `loop`, and a plain client channel to it."""
    options.setdefault("grace_seconds", 1.0)
    settings = GatewaySettings(listen=ListenAddress("127.0.0.1", 0), loop=loop, **options)
    server = build_gateway(settings, drain_pause_seconds=0.0)
    await server.start()
    server.set_ready(True)
    try:
        async with grpc.aio.insecure_channel(server.target) as channel:
            yield server, channel
    finally:
        await server.stop()

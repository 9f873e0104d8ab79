"""gRPC health, per service; `RpcServer` sets it, balancers, `handrail up` and tests read it.

Written anew because the library's aio servicer holds a lock while it writes to a watcher: one stalled watcher would
block the change to NOT_SERVING, and watchers that never end would hold up the drain.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from handrail_rpc import status
from handrail_rpc.context import new_request_id
from handrail_rpc.errors import NotFound

HEALTH_SERVICE = "grpc.health.v1.Health"
_Response = health_pb2.HealthCheckResponse
# The stubs that mypy reads are older than the List method.
_messages: Any = health_pb2


class Health(health_pb2_grpc.HealthServicer):
    """Each known service and "" (the whole server) is SERVING or NOT_SERVING; watchers end with the drain."""

    def __init__(self, draining: asyncio.Event) -> None:
        self._ready: dict[str, bool] = {"": False}
        self._changed = asyncio.Event()
        self._draining = draining

    def add(self, service: str) -> None:
        self._ready.setdefault(service, False)

    def set(self, ready: bool, service: str | None = None) -> None:
        """One service, or with None all of them; the whole server is ready when every service is."""
        for name in [service] if service is not None else list(self._ready):
            self._ready[name] = ready
        self._ready[""] = all(value for name, value in self._ready.items() if name) if len(self._ready) > 1 else ready
        self._changed.set()
        self._changed = asyncio.Event()

    async def Check(
        self, request: health_pb2.HealthCheckRequest, context: grpc.aio.ServicerContext[Any, Any]
    ) -> health_pb2.HealthCheckResponse:
        if request.service not in self._ready:
            error = NotFound.of("service", request.service)
            await status.abort(context, status.to_status(error, new_request_id()))
        return _Response(status=self._status(request.service))

    async def List(self, request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
        return _messages.HealthListResponse(
            statuses={name: _Response(status=self._status(name)) for name in self._ready}
        )

    async def Watch(self, request: health_pb2.HealthCheckRequest, context: grpc.aio.ServicerContext[Any, Any]) -> None:
        async with aclosing(self._states(request.service)) as states:
            async for state in states:
                await context.write(_Response(status=state))

    async def _states(self, service: str) -> AsyncGenerator[int, None]:
        last: int | None = None
        draining = asyncio.ensure_future(self._draining.wait())
        try:
            while True:
                changed = asyncio.ensure_future(self._changed.wait())
                state = self._status(service)
                if state != last:
                    last = state
                    yield state
                try:
                    await asyncio.wait({changed, draining}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    changed.cancel()
                if draining.done():
                    if self._status(service) != last:
                        yield self._status(service)
                    return
        finally:
            draining.cancel()

    def _status(self, service: str) -> int:
        ready = self._ready.get(service)
        if ready is None:
            return _Response.SERVICE_UNKNOWN
        return _Response.SERVING if ready else _Response.NOT_SERVING

"""The bare grpc.aio echo: one unary method without interceptors, storage or logs, in a process of its own.

`python -m bench.echo` prints its port and serves until its stdin is closed. Its options are those of
handrail_rpc.channel and handrail_rpc.server (a unit test compares them), so that only what Handrail does differs.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import grpc
import grpc.aio

from handrail.loop.v1.workflow_loop_service_pb2 import GetRunRequest

ECHO_SERVICE = "handrail.bench.Echo"
ECHO_METHOD = f"/{ECHO_SERVICE}/Echo"
CHANNEL_OPTIONS: tuple[tuple[str, Any], ...] = (
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.http2.bdp_probe", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2_000),
)
SERVER_OPTIONS: tuple[tuple[str, Any], ...] = (
    ("grpc.so_reuseport", 0),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
)


async def _echo(request: GetRunRequest, _context: grpc.aio.ServicerContext[GetRunRequest, GetRunRequest]) -> Any:
    return request


async def serve() -> None:
    """Serve until stdin ends."""
    server = grpc.aio.server(options=SERVER_OPTIONS)
    method = grpc.unary_unary_rpc_method_handler(
        _echo, request_deserializer=GetRunRequest.FromString, response_serializer=GetRunRequest.SerializeToString
    )
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(ECHO_SERVICE, {"Echo": method}),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)
    await server.stop(0)


if __name__ == "__main__":
    asyncio.run(serve())

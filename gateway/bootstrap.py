"""The gateway's composition root: settings in, a running server out. Called by `__main__` and by tests."""

from __future__ import annotations

from functools import partial

import grpc
import grpc.aio
from google.protobuf.descriptor import ServiceDescriptor

from gateway.config import GatewaySettings
from gateway.proxy import Proxy
from handrail.adapter.v1 import artifact_service_pb2
from handrail.loop.v1 import workflow_loop_service_pb2
from handrail_rpc import telemetry
from handrail_rpc.channel import open_channel
from handrail_rpc.server import RpcServer

PROXIED: tuple[ServiceDescriptor, ...] = (
    workflow_loop_service_pb2.DESCRIPTOR.services_by_name["WorkflowLoopService"],
    artifact_service_pb2.DESCRIPTOR.services_by_name["ArtifactService"],
)
SUBSCRIPTIONS = ("handrail.loop.v1.WorkflowLoopService/WatchConversation",)


def build_gateway(settings: GatewaySettings, *, drain_pause_seconds: float = 0.2) -> RpcServer:
    """A gateway that is ready as soon as it listens: its readiness says nothing about the Loop's."""
    server = RpcServer(
        settings.listen,
        listen_setting="HANDRAIL_GATEWAY_LISTEN",
        grace_seconds=settings.grace_seconds,
        drain_pause_seconds=drain_pause_seconds,
        subscriptions=SUBSCRIPTIONS,
    )
    # No retries here: the client knows its request_id and decides; a second layer would multiply the attempts.
    channel = open_channel(settings.loop)
    proxy = Proxy(channel, deadline_seconds=settings.deadline_seconds)
    for service in PROXIED:
        server.add_service(service.full_name, partial(_register, proxy.handler(service)))
    server.on_drain(proxy.drain)
    server.on_stop(channel.close)
    return server


def _register(handler: grpc.GenericRpcHandler, server: grpc.aio.Server) -> None:
    server.add_generic_rpc_handlers((handler,))


async def run_gateway(settings: GatewaySettings) -> None:
    """Serve until SIGTERM or SIGINT. Raises StartRefused if the address cannot be used."""
    telemetry.configure("handrail-gateway")
    server = build_gateway(settings)
    try:
        await server.start()
        server.set_ready(True)
        await server.serve()
    finally:
        await server.stop()

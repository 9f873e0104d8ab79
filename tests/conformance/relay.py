"""An honest relay in front of a real Adapter: what a broken one does differently is one overridden method.

Served on its own port with health and reflection. Used by broken_*.py; `Fault` names which rules must fail.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import grpc
import grpc.aio

from adapter_service.domains.conformance import Effects
from handrail.adapter.v1 import artifact_service_pb2 as artifact_pb2
from handrail.adapter.v1 import artifact_service_pb2_grpc, domain_adapter_service_pb2_grpc
from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail.common.v1 import decision_pb2, tool_pb2
from handrail_rpc.server import RpcServer
from handrail_rpc.settings import ListenAddress
from handrail_rpc.status import from_rpc_error

T = TypeVar("T")
Context = grpc.aio.ServicerContext[Any, Any]


class Relay(domain_adapter_service_pb2_grpc.DomainAdapterServiceServicer):
    """Forwards every call. `effects` are the real Adapter's, for faults that act by themselves.

    `keys` remembers the key that an interaction's message names, `decisions` what was decided last, `running` what is
    being worked on.
    """

    ready = True

    def __init__(self, channel: grpc.aio.Channel, effects: Effects) -> None:
        self.adapter = domain_adapter_service_pb2_grpc.DomainAdapterServiceStub(channel)
        self.store = artifact_service_pb2_grpc.ArtifactServiceStub(channel)
        self.effects = effects
        self.keys: dict[str, str] = {}
        self.decisions: dict[str, decision_pb2.Decision] = {}
        self.running: set[str] = set()

    async def unary(self, call: Awaitable[T]) -> T:
        """One forwarded call; a refusal comes back as it is."""
        try:
            return await call
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from None

    async def decided(self, request: pb2.DecideRequest) -> pb2.DecideResponse:
        """The last part of Decide; raises HandrailError."""
        text = request.observation.user_message.text
        if "key=" in text:
            self.keys[request.interaction_id] = text.partition("key=")[2].split()[0]
        try:
            parts = [part async for part in self.adapter.Decide(request)]
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from None
        self.decisions[request.interaction_id] = parts[-1].decision
        return parts[-1]

    async def executed(self, request: pb2.ExecuteToolRequest) -> tool_pb2.ToolOutcome:
        """The outcome of ExecuteTool; raises HandrailError."""
        return [part async for part in self.execution(request)][-1].outcome

    async def execution(self, request: pb2.ExecuteToolRequest) -> AsyncIterator[pb2.ExecuteToolResponse]:
        """The parts of ExecuteTool; raises HandrailError."""
        call = self.adapter.ExecuteTool(request)
        try:
            async for part in call:
                yield part
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from None
        finally:
            call.cancel()

    async def DescribeDomain(self, request: pb2.DescribeDomainRequest, context: Context) -> pb2.DescribeDomainResponse:
        return await self.unary(self.adapter.DescribeDomain(request))

    async def OpenSession(self, request: pb2.OpenSessionRequest, context: Context) -> pb2.OpenSessionResponse:
        return await self.unary(self.adapter.OpenSession(request))

    async def Decide(self, request: pb2.DecideRequest, context: Context) -> AsyncIterator[pb2.DecideResponse]:
        yield await self.decided(request)

    async def ExecuteTool(
        self, request: pb2.ExecuteToolRequest, context: Context
    ) -> AsyncIterator[pb2.ExecuteToolResponse]:
        async for part in self.execution(request):
            yield part

    async def CancelInteraction(
        self, request: pb2.CancelInteractionRequest, context: Context
    ) -> pb2.CancelInteractionResponse:
        return await self.unary(self.adapter.CancelInteraction(request))

    async def GetSession(self, request: pb2.GetSessionRequest, context: Context) -> pb2.GetSessionResponse:
        return await self.unary(self.adapter.GetSession(request))

    async def SettleExecution(
        self, request: pb2.SettleExecutionRequest, context: Context
    ) -> pb2.SettleExecutionResponse:
        return await self.unary(self.adapter.SettleExecution(request))

    async def DeleteSession(self, request: pb2.DeleteSessionRequest, context: Context) -> pb2.DeleteSessionResponse:
        return await self.unary(self.adapter.DeleteSession(request))

    async def read(self, request: artifact_pb2.ReadArtifactRequest) -> AsyncIterator[artifact_pb2.ReadArtifactResponse]:
        """The chunks of ReadArtifact; raises HandrailError."""
        try:
            async for part in self.store.ReadArtifact(request):
                yield part
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from None


class Artifacts(artifact_service_pb2_grpc.ArtifactServiceServicer):
    """The two RPCs of ArtifactService that the kit calls."""

    def __init__(self, relay: Relay) -> None:
        self._relay = relay

    async def GetArtifact(
        self, request: artifact_pb2.GetArtifactRequest, context: Context
    ) -> artifact_pb2.GetArtifactResponse:
        return await self._relay.unary(self._relay.store.GetArtifact(request))

    async def ReadArtifact(
        self, request: artifact_pb2.ReadArtifactRequest, context: Context
    ) -> AsyncIterator[artifact_pb2.ReadArtifactResponse]:
        async for part in self._relay.read(request):
            yield part


@dataclass(frozen=True)
class Fault:
    """One way to be broken. `breaks` are exactly the rules that must fail; the first is the one it is about."""

    relay: type[Relay]
    breaks: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.relay.__name__


FAULTS: list[Fault] = []


def breaking(*rules: str) -> Any:
    """Register a relay with the rules that it breaks."""

    def register(relay: type[Relay]) -> type[Relay]:
        FAULTS.append(Fault(relay, rules))
        return relay

    return register


@asynccontextmanager
async def served(relay: Relay) -> AsyncIterator[str]:
    """The relay on a port of its own; its host:port."""
    server = RpcServer(ListenAddress("127.0.0.1", 0), listen_setting="none", drain_pause_seconds=0.0)
    server.add_service(
        "handrail.adapter.v1.DomainAdapterService",
        lambda grpc_server: domain_adapter_service_pb2_grpc.add_DomainAdapterServiceServicer_to_server(
            relay, grpc_server
        ),
    )
    server.add_service(
        "handrail.adapter.v1.ArtifactService",
        lambda grpc_server: artifact_service_pb2_grpc.add_ArtifactServiceServicer_to_server(
            Artifacts(relay), grpc_server
        ),
    )
    await server.start()
    server.set_ready(relay.ready, reason="a test")
    try:
        yield server.target
    finally:
        await server.stop()

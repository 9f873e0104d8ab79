"""ArtifactService for clients: the conversation is authorised here, the bytes come from the Adapter of its domain."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import grpc.aio

from handrail.adapter.v1 import artifact_service_pb2 as pb
from handrail.adapter.v1 import artifact_service_pb2_grpc
from handrail_rpc.context import current_caller
from loop_service.convert import paging, requests
from loop_service.transport.use_cases import UseCases

Context = grpc.aio.ServicerContext[Any, Any]


class ArtifactServicer(artifact_service_pb2_grpc.ArtifactServiceServicer):
    def __init__(self, use_cases: UseCases) -> None:
        self._use = use_cases

    async def GetArtifact(self, request: pb.GetArtifactRequest, context: Context) -> pb.GetArtifactResponse:
        requests.check_identifier("artifact_id", request.artifact_id)
        domain = await self._authorise(request.conversation_id)
        return await self._use.artifacts.get_artifact(domain, request)

    async def ListArtifacts(self, request: pb.ListArtifactsRequest, context: Context) -> pb.ListArtifactsResponse:
        paging.page_size(request.page_size)
        domain = await self._authorise(request.conversation_id)
        return await self._use.artifacts.list_artifacts(domain, request)

    async def ReadArtifact(
        self, request: pb.ReadArtifactRequest, context: Context
    ) -> AsyncGenerator[pb.ReadArtifactResponse, None]:
        requests.check_identifier("artifact_id", request.artifact_id)
        domain = await self._authorise(request.conversation_id)
        async with aclosing(self._use.artifacts.read_artifact(domain, request)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _authorise(self, conversation_id: str) -> str:
        """The domain of the caller's conversation. Raises NotFound for another principal's."""
        requests.check_identifier("conversation_id", conversation_id)
        found = await self._use.queries.conversation(conversation_id, current_caller())
        return found.domain

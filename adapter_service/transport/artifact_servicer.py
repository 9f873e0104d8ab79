"""`ArtifactService` of the Adapter. Registered by bootstrap; the Loop authorises and forwards to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc.aio

from adapter_service.application.read_artifacts import CHUNK_BYTES, ReadArtifacts
from adapter_service.convert import requests, responses
from adapter_service.convert.common import reference
from handrail.adapter.v1 import artifact_service_pb2 as pb2
from handrail.adapter.v1 import artifact_service_pb2_grpc

Context = grpc.aio.ServicerContext[Any, Any]


class ArtifactServicer(artifact_service_pb2_grpc.ArtifactServiceServicer):
    """See the service's comments in artifact_service.proto."""

    def __init__(self, ready: Callable[[], ReadArtifacts]) -> None:
        """`ready` gives the use cases, or raises Unavailable while the database is not ready."""
        self._ready = ready

    async def GetArtifact(self, request: pb2.GetArtifactRequest, context: Context) -> pb2.GetArtifactResponse:
        """Metadata of one version."""
        requests.check_get_artifact(request)
        found = await self._ready().get(request.conversation_id, request.artifact_id, request.version)
        return pb2.GetArtifactResponse(artifact=responses.artifact(found))

    async def ListArtifacts(self, request: pb2.ListArtifactsRequest, context: Context) -> pb2.ListArtifactsResponse:
        """A page of a conversation's artifacts."""
        page_size = requests.read_page_size(request)
        found, token = await self._ready().list(request.conversation_id, page_size, request.page_token)
        return pb2.ListArtifactsResponse(
            artifacts=[responses.artifact(version) for version in found], next_page_token=token
        )

    async def ReadArtifact(
        self, request: pb2.ReadArtifactRequest, context: Context
    ) -> AsyncIterator[pb2.ReadArtifactResponse]:
        """The bytes from an offset on; at least one message, so that the reference always arrives."""
        requests.check_get_artifact(request)
        version, data = await self._ready().content(
            request.conversation_id, request.artifact_id, request.version, request.offset
        )
        for start in range(0, max(len(data), 1), CHUNK_BYTES):
            yield pb2.ReadArtifactResponse(
                data=data[start : start + CHUNK_BYTES],
                offset=request.offset + start,
                artifact=reference(version.reference),
            )

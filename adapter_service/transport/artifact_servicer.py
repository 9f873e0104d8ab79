"""`ArtifactService` of the Adapter. Registered by bootstrap; the Loop authorises and forwards to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import grpc.aio

from adapter_service.application.diff_artifact import DiffArtifact
from adapter_service.application.read_artifacts import ReadArtifacts
from adapter_service.application.workspace.read_workspace import ReadWorkspace
from adapter_service.application.workspace.upload_workspace import UploadWorkspace
from adapter_service.convert import requests, responses, workspace
from adapter_service.convert.common import reference
from handrail.adapter.v1 import artifact_service_pb2 as pb2
from handrail.adapter.v1 import artifact_service_pb2_grpc

Context = grpc.aio.ServicerContext[Any, Any]


@dataclass(frozen=True, slots=True)
class ArtifactUseCases:
    """What the servicer calls."""

    read: ReadArtifacts
    diff: DiffArtifact
    upload: UploadWorkspace
    workspaces: ReadWorkspace


class ArtifactServicer(artifact_service_pb2_grpc.ArtifactServiceServicer):
    """See the service's comments in artifact_service.proto."""

    def __init__(self, ready: Callable[[], ArtifactUseCases]) -> None:
        """`ready` gives the use cases, or raises Unavailable while the database is not ready."""
        self._ready = ready

    async def GetArtifact(self, request: pb2.GetArtifactRequest, context: Context) -> pb2.GetArtifactResponse:
        """Metadata of one version."""
        requests.check_get_artifact(request)
        found = await self._ready().read.get(request.conversation_id, request.artifact_id, request.version)
        return pb2.GetArtifactResponse(artifact=responses.artifact(found))

    async def ListArtifacts(self, request: pb2.ListArtifactsRequest, context: Context) -> pb2.ListArtifactsResponse:
        """A page of a conversation's artifacts."""
        page_size = requests.read_page_size(request)
        found, token = await self._ready().read.list(request.conversation_id, page_size, request.page_token)
        return pb2.ListArtifactsResponse(
            artifacts=[responses.artifact(version) for version in found], next_page_token=token
        )

    async def ReadArtifact(
        self, request: pb2.ReadArtifactRequest, context: Context
    ) -> AsyncIterator[pb2.ReadArtifactResponse]:
        """The bytes from an offset on; at least one message, so that the reference always arrives."""
        requests.check_get_artifact(request)
        parts = self._ready().read.content(
            request.conversation_id, request.artifact_id, request.version, request.offset
        )
        async with aclosing(parts):
            async for part in parts:
                yield pb2.ReadArtifactResponse(
                    data=part.data, offset=part.offset, artifact=reference(part.version.reference)
                )

    async def DiffArtifact(self, request: pb2.DiffArtifactRequest, context: Context) -> pb2.DiffArtifactResponse:
        """What differs between two versions."""
        context_lines = requests.read_diff_artifact(request)
        found = await self._ready().diff.run(
            request.conversation_id, request.artifact_id, request.from_version, request.to_version, context_lines
        )
        return responses.artifact_diff(found)

    async def UploadWorkspace(
        self, request: pb2.UploadWorkspaceRequest, context: Context
    ) -> pb2.UploadWorkspaceResponse:
        """One step of an upload."""
        upload = self._ready().upload
        if workspace.check_upload(request) == "file":
            answer = await upload.add_file(request.conversation_id, request.request_id, request.file.data)
        else:
            # Checking 20,000 paths takes a while, in which other calls go on.
            files = await asyncio.to_thread(workspace.read_manifest, request)
            answer = await upload.take_manifest(request.conversation_id, request.request_id, files)
        return workspace.upload_answer(answer)

    async def GetWorkspace(self, request: pb2.GetWorkspaceRequest, context: Context) -> pb2.GetWorkspaceResponse:
        """The workspace with a page of its files."""
        page_size = workspace.read_page_size(request)
        found = await self._ready().workspaces.page(request.conversation_id, page_size, request.page_token)
        return workspace.workspace_page(found)

    async def ReadWorkspaceFile(
        self, request: pb2.ReadWorkspaceFileRequest, context: Context
    ) -> AsyncIterator[pb2.ReadWorkspaceFileResponse]:
        """The bytes from an offset on; at least one message, so that the file's hash always arrives."""
        workspace.check_read_file(request)
        file, data = await self._ready().workspaces.file(request.conversation_id, request.path, request.offset)
        for start in range(0, max(len(data), 1), workspace.CHUNK_BYTES):
            yield pb2.ReadWorkspaceFileResponse(
                data=data[start : start + workspace.CHUNK_BYTES],
                offset=request.offset + start,
                file=workspace.workspace_file(file),
            )

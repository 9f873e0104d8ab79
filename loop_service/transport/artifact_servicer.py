"""ArtifactService for clients: the conversation is authorised here, the bytes come from the Adapter of its domain."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import grpc.aio

from handrail.adapter.v1 import artifact_service_pb2 as pb
from handrail.adapter.v1 import artifact_service_pb2_grpc
from handrail_rpc.context import current_caller
from handrail_rpc.errors import NotFound
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

    async def DiffArtifact(self, request: pb.DiffArtifactRequest, context: Context) -> pb.DiffArtifactResponse:
        requests.check_identifier("artifact_id", request.artifact_id)
        domain = await self._authorise(request.conversation_id)
        return await self._use.artifacts.diff_artifact(domain, request)

    async def UploadWorkspace(self, request: pb.UploadWorkspaceRequest, context: Context) -> pb.UploadWorkspaceResponse:
        requests.check_identifier("request_id", request.request_id)
        domain = await self._with_session(request.conversation_id)
        try:
            return await self._use.artifacts.upload_workspace(domain, request)
        finally:  # also where no answer came: it may be there
            await self._erase_if_deleted(domain, request.conversation_id)

    async def GetWorkspace(self, request: pb.GetWorkspaceRequest, context: Context) -> pb.GetWorkspaceResponse:
        domain = await self._with_session(request.conversation_id)
        return await self._use.artifacts.get_workspace(domain, request)

    async def ReadWorkspaceFile(
        self, request: pb.ReadWorkspaceFileRequest, context: Context
    ) -> AsyncGenerator[pb.ReadWorkspaceFileResponse, None]:
        domain = await self._with_session(request.conversation_id)
        async with aclosing(self._use.artifacts.read_workspace_file(domain, request)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _with_session(self, conversation_id: str) -> str:
        """The domain of the caller's conversation, which has a session there. Raises NotFound as `_authorise`."""
        requests.check_identifier("conversation_id", conversation_id)
        found = await self._use.queries.conversation(conversation_id, current_caller())
        if not found.domain_session_id:
            await self._use.artifacts.open_workspace(found.domain, conversation_id)
        return found.domain

    async def _erase_if_deleted(self, domain: str, conversation_id: str) -> None:
        """Raises NotFound where the conversation was deleted meanwhile, perhaps before it had a session: nothing that
        was uploaded stays.
        """
        try:
            await self._authorise(conversation_id)
        except NotFound:
            await self._use.artifacts.delete_session(domain, conversation_id, f"delete-{conversation_id}")
            raise

    async def _authorise(self, conversation_id: str) -> str:
        """The domain of the caller's conversation. Raises NotFound for another principal's."""
        requests.check_identifier("conversation_id", conversation_id)
        found = await self._use.queries.conversation(conversation_id, current_caller())
        return found.domain

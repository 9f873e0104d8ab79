"""The use cases that the servicers call, or the reason why there are none yet. Filled in by bootstrap."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol

from handrail.adapter.v1 import artifact_service_pb2 as artifact_pb
from handrail_rpc.errors import Unavailable
from loop_service.application.audit_trail import AuditTrail
from loop_service.application.cancel_interaction import CancelInteraction
from loop_service.application.create_conversation import CreateConversation
from loop_service.application.delete_conversation import DeleteConversation
from loop_service.application.environment import Environment
from loop_service.application.list_diverged import ListDiverged
from loop_service.application.queries import ListDomains, Queries
from loop_service.application.recover_conversation import RecoverConversation
from loop_service.application.report_channel_failure import ReportChannelFailure
from loop_service.application.resolve_approval import ResolveApproval
from loop_service.application.send_message import SendMessage
from loop_service.application.settle_execution import SettleExecution
from loop_service.application.signal_interaction import SignalInteraction
from loop_service.application.stream_events import StreamEvents


class ArtifactReader(Protocol):
    """Where artifacts and workspaces are: the Adapter of a domain. Messages pass through as they are."""

    async def get_artifact(
        self, domain: str, request: artifact_pb.GetArtifactRequest
    ) -> artifact_pb.GetArtifactResponse: ...
    async def list_artifacts(
        self, domain: str, request: artifact_pb.ListArtifactsRequest
    ) -> artifact_pb.ListArtifactsResponse: ...
    async def diff_artifact(
        self, domain: str, request: artifact_pb.DiffArtifactRequest
    ) -> artifact_pb.DiffArtifactResponse: ...
    def read_artifact(
        self, domain: str, request: artifact_pb.ReadArtifactRequest
    ) -> AsyncGenerator[artifact_pb.ReadArtifactResponse, None]: ...
    async def open_workspace(self, domain: str, conversation_id: str) -> None:
        """Make sure that the conversation has a session there: a workspace may be asked for before any message."""
        ...

    async def upload_workspace(
        self, domain: str, request: artifact_pb.UploadWorkspaceRequest
    ) -> artifact_pb.UploadWorkspaceResponse: ...
    async def get_workspace(
        self, domain: str, request: artifact_pb.GetWorkspaceRequest
    ) -> artifact_pb.GetWorkspaceResponse: ...
    def read_workspace_file(
        self, domain: str, request: artifact_pb.ReadWorkspaceFileRequest
    ) -> AsyncGenerator[artifact_pb.ReadWorkspaceFileResponse, None]: ...
    async def delete_session(self, domain: str, conversation_id: str, request_id: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class ReadyUseCases:
    env: Environment
    artifacts: ArtifactReader
    queries: Queries
    list_domains: ListDomains
    create_conversation: CreateConversation
    send_message: SendMessage
    resolve_approval: ResolveApproval
    cancel_interaction: CancelInteraction
    stream_events: StreamEvents
    audit_trail: AuditTrail
    delete_conversation: DeleteConversation
    report_channel_failure: ReportChannelFailure
    settle_execution: SettleExecution
    signal_interaction: SignalInteraction
    list_diverged: ListDiverged
    recover_conversation: RecoverConversation


class UseCases:
    """Raises Unavailable (SCHEMA_NOT_READY) on every access until `open` is called."""

    def __init__(self) -> None:
        self._ready: ReadyUseCases | None = None
        self.reason = "the service is starting"

    def open(self, ready: ReadyUseCases) -> None:
        self._ready = ready

    def _get(self) -> ReadyUseCases:
        if self._ready is None:
            raise Unavailable(self.reason, reason="SCHEMA_NOT_READY")
        return self._ready

    @property
    def env(self) -> Environment:
        return self._get().env

    @property
    def artifacts(self) -> ArtifactReader:
        return self._get().artifacts

    @property
    def queries(self) -> Queries:
        return self._get().queries

    @property
    def list_domains(self) -> ListDomains:
        return self._get().list_domains

    @property
    def create_conversation(self) -> CreateConversation:
        return self._get().create_conversation

    @property
    def send_message(self) -> SendMessage:
        return self._get().send_message

    @property
    def resolve_approval(self) -> ResolveApproval:
        return self._get().resolve_approval

    @property
    def cancel_interaction(self) -> CancelInteraction:
        return self._get().cancel_interaction

    @property
    def stream_events(self) -> StreamEvents:
        return self._get().stream_events

    @property
    def audit_trail(self) -> AuditTrail:
        return self._get().audit_trail

    @property
    def settle_execution(self) -> SettleExecution:
        return self._get().settle_execution

    @property
    def delete_conversation(self) -> DeleteConversation:
        return self._get().delete_conversation

    @property
    def report_channel_failure(self) -> ReportChannelFailure:
        return self._get().report_channel_failure

    @property
    def signal_interaction(self) -> SignalInteraction:
        return self._get().signal_interaction

    @property
    def list_diverged(self) -> ListDiverged:
        return self._get().list_diverged

    @property
    def recover_conversation(self) -> RecoverConversation:
        return self._get().recover_conversation

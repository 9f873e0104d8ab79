"""The Domain Adapter over gRPC: the application's Adapter port. Built by bootstrap, one channel an address.

ExecuteTool has no channel retries (soundness.md 'Further rules'): each sending has its own dispatch number.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping

import grpc.aio
from google.protobuf.duration_pb2 import Duration

from handrail.adapter.v1 import (
    artifact_service_pb2,
    artifact_service_pb2_grpc,
    domain_adapter_service_pb2,
    domain_adapter_service_pb2_grpc,
    observation_pb2,
)
from handrail.common.v1 import caller_pb2, fact_pb2
from handrail_rpc import crash_points
from handrail_rpc.channel import open_channel
from handrail_rpc.errors import NotFound, Unavailable
from handrail_rpc.status import from_rpc_error
from loop_service.application.ports import (
    BegunCall,
    Closed,
    Decided,
    DecideInput,
    Executed,
    RunContext,
    Session,
    SettleCall,
)
from loop_service.convert.names import OUTCOME
from loop_service.domain.decision import CallRecord

_pb = domain_adapter_service_pb2
_ERASE_SECONDS = 60.0


class AdapterClient:
    """`targets` maps a domain to host:port. Raises handrail_rpc.errors categories for every failed call."""

    def __init__(self, targets: Mapping[str, str]) -> None:
        self._channels = {target: open_channel(target) for target in set(targets.values())}
        self._stubs: dict[str, domain_adapter_service_pb2_grpc.DomainAdapterServiceStub] = {}
        self._artifacts: dict[str, artifact_service_pb2_grpc.ArtifactServiceStub] = {}
        for domain, target in targets.items():
            channel = self._channels[target]
            self._stubs[domain] = domain_adapter_service_pb2_grpc.DomainAdapterServiceStub(channel)
            self._artifacts[domain] = artifact_service_pb2_grpc.ArtifactServiceStub(channel)

    async def close(self) -> None:
        for channel in self._channels.values():
            await channel.close()

    async def describe(self, domain: str, locale: str, timeout_seconds: float) -> bytes:
        try:
            answer = await self._stub(domain).DescribeDomain(
                _pb.DescribeDomainRequest(domain=domain, locale=locale), timeout=timeout_seconds
            )
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from error
        return answer.SerializeToString()

    async def history_id(self, domain: str, timeout_seconds: float) -> str:
        """The current history of the domain's Adapter."""
        try:
            answer = await self._stub(domain).DescribeDomain(
                _pb.DescribeDomainRequest(domain=domain, locale="en"), timeout=timeout_seconds
            )
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from error
        return answer.history_id

    async def open_session(self, domain: str, conversation_id: str, request_id: str) -> Session:
        crash_points.reach("loop.call.open_session.before")
        try:
            answer = await self._stub(domain).OpenSession(
                _pb.OpenSessionRequest(request_id=request_id, domain=domain, conversation_id=conversation_id)
            )
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from error
        crash_points.reach("loop.call.open_session.after")
        return Session(answer.domain_session_id, answer.history_id, answer.session_revision)

    async def decide(self, context: RunContext, epoch: int, asked: DecideInput) -> Decided:
        left = Duration()
        left.FromMilliseconds(int(context.seconds_left * 1000))
        request = _pb.DecideRequest(
            request_id=context.request_id,
            domain=context.domain,
            domain_session_id=context.domain_session_id,
            interaction_id=context.interaction_id,
            run_id=context.run_id,
            lease_epoch=epoch,
            decision_number=asked.observation.number,
            base_plan_version=asked.observation.base_plan_version,
            caller=_caller(context),
            budgets=_pb.Budgets(
                tool_actions_left=context.tool_actions_left,
                generations_left=context.generations_left,
                active_time_left=left,
            ),
            locale=context.requester.locale,
            recent_messages=[
                _pb.RecentMessage(message_id=m.message_id, role=m.role.value, text=m.text)
                for m in asked.recent_messages
            ],
            facts=[fact_pb2.Fact.FromString(fact) for fact in asked.facts],
            workspace_snapshot_id=asked.workspace_snapshot_id,
            observation=observation_pb2.Observation.FromString(asked.observation.data),
            history_id=context.history_id,
            supersedes_interaction_id=asked.supersedes_interaction_id,
            known_session_revision=context.known_session_revision,
        )
        usage = _pb.ModelUsage()
        crash_points.reach("loop.call.decide.before")
        call = self._stub(context.domain).Decide(request)
        try:
            async for response in call:
                part = response.WhichOneof("part")
                if part == "usage":
                    usage.generations += response.usage.generations
                    usage.prompt_tokens += response.usage.prompt_tokens
                    usage.output_tokens += response.usage.output_tokens
                elif part == "decision":
                    crash_points.reach("loop.call.decide.after")
                    return Decided(
                        response.decision.SerializeToString(),
                        usage.generations,
                        usage.prompt_tokens,
                        usage.output_tokens,
                        response.session_revision,
                    )
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from error
        finally:
            call.cancel()
        raise Unavailable("the stream ended without a decision", reason="STREAM_INCOMPLETE")

    async def execute(
        self, context: RunContext, epoch: int, call: CallRecord, on_progress: Callable[[int, str], None]
    ) -> Executed:
        request = _pb.ExecuteToolRequest(
            request_id=context.request_id,
            domain=context.domain,
            domain_session_id=context.domain_session_id,
            interaction_id=context.interaction_id,
            run_id=context.run_id,
            lease_epoch=epoch,
            tool_call_id=call.tool_call_id,
            dispatch_number=call.dispatch_number,
            caller=_caller(context),
            locale=context.requester.locale,
            history_id=context.history_id,
            known_session_revision=context.known_session_revision,
        )
        crash_points.reach("loop.call.execute_tool.before")
        stream = self._stub(context.domain).ExecuteTool(request)
        try:
            async for response in stream:
                part = response.WhichOneof("part")
                if part == "progress":
                    on_progress(response.progress.percent, response.progress.message)
                elif part == "outcome":
                    crash_points.reach("loop.call.execute_tool.after")
                    return Executed(response.outcome.SerializeToString(), response.session_revision)
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from error
        finally:
            stream.cancel()
        raise Unavailable("the stream ended without an outcome", reason="STREAM_INCOMPLETE")

    async def cancel(self, context: RunContext, epoch: int) -> Closed:
        crash_points.reach("loop.call.cancel_interaction.before")
        try:
            answer = await self._stub(context.domain).CancelInteraction(
                _pb.CancelInteractionRequest(
                    request_id=context.request_id,
                    domain=context.domain,
                    domain_session_id=context.domain_session_id,
                    interaction_id=context.interaction_id,
                    lease_epoch=epoch,
                    history_id=context.history_id,
                    known_session_revision=context.known_session_revision,
                )
            )
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from error
        crash_points.reach("loop.call.cancel_interaction.after")
        calls = tuple(
            BegunCall(
                call.tool_call_id,
                call.tool,
                call.running,
                call.outcome.SerializeToString() if call.HasField("outcome") else b"",
            )
            for call in answer.calls
        )
        return Closed(calls, answer.session_revision)

    async def settle(self, call: SettleCall) -> bytes:
        crash_points.reach("loop.call.settle_execution.before")
        try:
            answer = await self._stub(call.domain).SettleExecution(
                _pb.SettleExecutionRequest(
                    request_id=call.request_id,
                    domain=call.domain,
                    domain_session_id=call.domain_session_id,
                    interaction_id=call.interaction_id,
                    tool_call_id=call.tool_call_id,
                    history_id=call.history_id,
                    outcome=OUTCOME.number("succeeded" if call.happened else "failed"),
                    settled_by=call.settled_by,
                    comment=call.comment,
                    locale=call.locale,
                )
            )
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from error
        crash_points.reach("loop.call.settle_execution.after")
        return answer.outcome.SerializeToString()

    async def delete_session(self, domain: str, conversation_id: str, request_id: str) -> bool:
        request = _pb.DeleteSessionRequest(request_id=request_id, domain=domain, conversation_id=conversation_id)
        crash_points.reach("loop.call.delete_session.before")
        try:
            answer = await self._stub(domain).DeleteSession(request, timeout=_ERASE_SECONDS)
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from error
        crash_points.reach("loop.call.delete_session.after")
        return answer.erased

    async def get_artifact(
        self, domain: str, request: artifact_service_pb2.GetArtifactRequest
    ) -> artifact_service_pb2.GetArtifactResponse:
        try:
            return await self._artifact_stub(domain).GetArtifact(request)
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from error

    async def list_artifacts(
        self, domain: str, request: artifact_service_pb2.ListArtifactsRequest
    ) -> artifact_service_pb2.ListArtifactsResponse:
        try:
            return await self._artifact_stub(domain).ListArtifacts(request)
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from error

    async def diff_artifact(
        self, domain: str, request: artifact_service_pb2.DiffArtifactRequest
    ) -> artifact_service_pb2.DiffArtifactResponse:
        try:
            return await self._artifact_stub(domain).DiffArtifact(request)
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from error

    async def read_artifact(
        self, domain: str, request: artifact_service_pb2.ReadArtifactRequest
    ) -> AsyncGenerator[artifact_service_pb2.ReadArtifactResponse, None]:
        stream = self._artifact_stub(domain).ReadArtifact(request)
        try:
            async for chunk in stream:
                yield chunk
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from error
        finally:
            stream.cancel()

    async def open_workspace(self, domain: str, conversation_id: str) -> None:
        """Make sure that the conversation has a session. The run of its first message opens, and stores, the same."""
        self._artifact_stub(domain)
        await self.open_session(domain, conversation_id, f"session-{conversation_id}")

    async def upload_workspace(
        self, domain: str, request: artifact_service_pb2.UploadWorkspaceRequest
    ) -> artifact_service_pb2.UploadWorkspaceResponse:
        try:
            return await self._artifact_stub(domain).UploadWorkspace(request)
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from error

    async def get_workspace(
        self, domain: str, request: artifact_service_pb2.GetWorkspaceRequest
    ) -> artifact_service_pb2.GetWorkspaceResponse:
        try:
            return await self._artifact_stub(domain).GetWorkspace(request)
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from error

    async def read_workspace_file(
        self, domain: str, request: artifact_service_pb2.ReadWorkspaceFileRequest
    ) -> AsyncGenerator[artifact_service_pb2.ReadWorkspaceFileResponse, None]:
        stream = self._artifact_stub(domain).ReadWorkspaceFile(request)
        try:
            async for chunk in stream:
                yield chunk
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from error
        finally:
            stream.cancel()

    def _stub(self, domain: str) -> domain_adapter_service_pb2_grpc.DomainAdapterServiceStub:
        stub = self._stubs.get(domain)
        if stub is None:
            # The domain was configured when the conversation began and is not any more.
            raise Unavailable(f"no adapter is configured for the domain {domain}", reason="DOMAIN_NOT_CONFIGURED")
        return stub

    def _artifact_stub(self, domain: str) -> artifact_service_pb2_grpc.ArtifactServiceStub:
        stub = self._artifacts.get(domain)
        if stub is None:
            raise NotFound.of("domain", domain)
        return stub


def _caller(context: RunContext) -> caller_pb2.Principal:
    requester = context.requester
    return caller_pb2.Principal(principal=requester.principal, tenant=requester.tenant, roles=requester.roles)

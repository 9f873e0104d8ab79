"""`DomainAdapterService`: each method converts, calls one use case, converts. Registered by bootstrap."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import grpc.aio

from adapter_service.application.cancel_interaction import CancelInteraction
from adapter_service.application.decide.decide import Decide
from adapter_service.application.delete_session import DeleteSession
from adapter_service.application.describe_domain import DescribeDomain
from adapter_service.application.execute.execute_tool import ExecuteTool
from adapter_service.application.get_session import GetSession
from adapter_service.application.open_session import OpenSession
from adapter_service.application.settle_execution import SettleExecution
from adapter_service.convert import requests, responses
from adapter_service.domain.session import AtRevision
from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail.adapter.v1 import domain_adapter_service_pb2_grpc
from handrail.common.v1 import decision_pb2, tool_pb2
from handrail_rpc.context import current_request_id
from handrail_rpc.logging import bind_log_ids

Context = grpc.aio.ServicerContext[Any, Any]


@dataclass(frozen=True, slots=True)
class UseCases:
    """What the servicer calls."""

    describe_domain: DescribeDomain
    open_session: OpenSession
    decide: Decide
    execute_tool: ExecuteTool
    cancel_interaction: CancelInteraction
    get_session: GetSession
    settle_execution: SettleExecution
    delete_session: DeleteSession


class DomainAdapterServicer(domain_adapter_service_pb2_grpc.DomainAdapterServiceServicer):
    """See the service's comments in domain_adapter_service.proto."""

    def __init__(self, ready: Callable[[], UseCases]) -> None:
        """`ready` gives the use cases, or raises Unavailable while the database is not ready."""
        self._ready = ready

    async def DescribeDomain(self, request: pb2.DescribeDomainRequest, context: Context) -> pb2.DescribeDomainResponse:
        """What a domain offers."""
        locale = requests.check_describe(request)
        use_case = self._ready().describe_domain
        return responses.describe_domain(use_case.run(request.domain), locale, use_case.history_id)

    async def OpenSession(self, request: pb2.OpenSessionRequest, context: Context) -> pb2.OpenSessionResponse:
        """The session of a conversation."""
        requests.check_open_session(request)
        bind_log_ids(conversation_id=request.conversation_id)
        session, history_id = await self._ready().open_session.run(request.domain, request.conversation_id)
        return pb2.OpenSessionResponse(
            domain_session_id=session.domain_session_id, history_id=history_id, session_revision=session.revision
        )

    async def Decide(self, request: pb2.DecideRequest, context: Context) -> AsyncIterator[pb2.DecideResponse]:
        """One decision; planning without a model is quick, so the decision is the only part."""
        command = requests.read_decide(request, current_request_id())
        bind_log_ids(interaction_id=request.interaction_id, run_id=request.run_id)
        decided = await self._ready().decide.run(command)
        yield pb2.DecideResponse(
            decision=decision_pb2.Decision.FromString(decided.data), session_revision=decided.session_revision
        )

    async def ExecuteTool(
        self, request: pb2.ExecuteToolRequest, context: Context
    ) -> AsyncIterator[pb2.ExecuteToolResponse]:
        """Progress, then the outcome."""
        command = requests.read_execute(request, current_request_id())
        bind_log_ids(interaction_id=request.interaction_id, run_id=request.run_id)
        async for part in self._ready().execute_tool.run(command):
            if isinstance(part, AtRevision):
                outcome = tool_pb2.ToolOutcome.FromString(part.data)
                yield pb2.ExecuteToolResponse(outcome=outcome, session_revision=part.session_revision)
            else:
                progress = pb2.WorkProgress(percent=part.percent, message=part.message)
                yield pb2.ExecuteToolResponse(progress=progress)

    async def CancelInteraction(
        self, request: pb2.CancelInteractionRequest, context: Context
    ) -> pb2.CancelInteractionResponse:
        """Fence an interaction."""
        command = requests.read_cancel(request)
        bind_log_ids(interaction_id=request.interaction_id)
        closed = await self._ready().cancel_interaction.run(command)
        return responses.cancel_interaction(closed.executions, closed.session_revision)

    async def GetSession(self, request: pb2.GetSessionRequest, context: Context) -> pb2.GetSessionResponse:
        """Diagnosis."""
        principal, locale = requests.read_get_session(request)
        report = await self._ready().get_session.run(request.domain_session_id, principal, locale)
        return pb2.GetSessionResponse(session=responses.session(report))

    async def SettleExecution(
        self, request: pb2.SettleExecutionRequest, context: Context
    ) -> pb2.SettleExecutionResponse:
        """A person's verdict on an unknown outcome."""
        command = requests.read_settle(request, current_request_id())
        bind_log_ids(interaction_id=request.interaction_id)
        data = await self._ready().settle_execution.run(command)
        return pb2.SettleExecutionResponse(outcome=tool_pb2.ToolOutcome.FromString(data))

    async def DeleteSession(self, request: pb2.DeleteSessionRequest, context: Context) -> pb2.DeleteSessionResponse:
        """Erasure of a session's content."""
        requests.check_delete_session(request)
        bind_log_ids(conversation_id=request.conversation_id)
        erased = await self._ready().delete_session.run(request.domain, request.conversation_id)
        return pb2.DeleteSessionResponse(erased=erased)

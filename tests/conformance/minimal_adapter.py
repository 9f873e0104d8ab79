"""An adapter written by hand on the generated stubs alone, in memory: what the protocol asks of one in any language.

`python -m tests.conformance.minimal_adapter` serves the four required probe tools on a free port and prints it. It is
the pattern of docs/conformance.md; nothing of Handrail but the stubs is imported. The state is in minimal_state.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc
import grpc.aio
from google.protobuf.any_pb2 import Any as Packed
from google.rpc import error_details_pb2, status_pb2
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail.adapter.v1 import domain_adapter_service_pb2_grpc, session_pb2
from tests.conformance.minimal_decisions import decide
from tests.conformance.minimal_executions import execute, settle
from tests.conformance.minimal_state import Refusal, Session, Store, check_fields

SERVICE = "handrail.adapter.v1.DomainAdapterService"
Context = grpc.aio.ServicerContext[Any, Any]


class MinimalAdapter(domain_adapter_service_pb2_grpc.DomainAdapterServiceServicer):
    """One process, one event loop: what runs between two awaits is a transaction."""

    def __init__(self) -> None:
        self.store = Store()

    async def DescribeDomain(self, request: pb2.DescribeDomainRequest, context: Context) -> Any:
        return await self._refusing(context, lambda: self._describe(request))

    def _describe(self, request: pb2.DescribeDomainRequest) -> pb2.DescribeDomainResponse:
        self.store.check_domain(request.domain)
        return pb2.DescribeDomainResponse(
            domain=request.domain,
            title="Minimal",
            version="1",
            policy_version=self.store.policy_version,
            history_id=self.store.history_id,
            tools=self.store.tools.values(),
        )

    async def OpenSession(self, request: pb2.OpenSessionRequest, context: Context) -> Any:
        return await self._refusing(context, lambda: self._open(request))

    def _open(self, request: pb2.OpenSessionRequest) -> pb2.OpenSessionResponse:
        check_fields(request, ids=("request_id", "domain", "conversation_id"))
        self.store.check_domain(request.domain)
        session = self.store.open(request.conversation_id)
        return pb2.OpenSessionResponse(
            domain_session_id=session.session_id,
            history_id=self.store.history_id,
            session_revision=session.revision,
        )

    async def Decide(self, request: pb2.DecideRequest, context: Context) -> AsyncIterator[pb2.DecideResponse]:
        def made() -> pb2.DecideResponse:
            session, decision = decide(self.store, request)
            return pb2.DecideResponse(decision=decision, session_revision=session.revision)

        yield await self._refusing(context, made)

    async def ExecuteTool(
        self, request: pb2.ExecuteToolRequest, context: Context
    ) -> AsyncIterator[pb2.ExecuteToolResponse]:
        def done() -> pb2.ExecuteToolResponse:
            session, outcome = execute(self.store, request)
            return pb2.ExecuteToolResponse(outcome=outcome, session_revision=session.revision)

        yield await self._refusing(context, done)

    async def CancelInteraction(self, request: pb2.CancelInteractionRequest, context: Context) -> Any:
        return await self._refusing(context, lambda: self._cancel(request))

    def _cancel(self, request: pb2.CancelInteractionRequest) -> pb2.CancelInteractionResponse:
        check_fields(request, ids=("request_id", "domain", "domain_session_id", "interaction_id", "history_id"))
        session, interaction = self.store.access(request)
        if not interaction.closed:
            interaction.closed = True
            session.revision += 1
        ended = [self.store.outcomes[name] for name in interaction.calls if name in self.store.outcomes]
        calls = [pb2.BegunCall(tool_call_id=each.tool_call_id, tool=each.tool, outcome=each) for each in ended]
        return pb2.CancelInteractionResponse(calls=calls, session_revision=session.revision)

    async def GetSession(self, request: pb2.GetSessionRequest, context: Context) -> Any:
        return await self._refusing(context, lambda: self._explain(request))

    def _explain(self, request: pb2.GetSessionRequest) -> pb2.GetSessionResponse:
        session = self.store.session(request.domain_session_id)
        newest = next(reversed(session.interactions.values()), None)
        plan = session_pb2.PlanView()
        if newest is not None:
            plan.interaction_id, plan.plan_version = newest.interaction_id, newest.plan_version
            plan.decision_number, plan.closed = len(newest.decisions), newest.closed
        return pb2.GetSessionResponse(
            session=session_pb2.Session(
                domain_session_id=session.session_id,
                domain=self.store.domain,
                conversation_id=session.conversation_id,
                policy_version=self.store.policy_version,
                history_id=self.store.history_id,
                plan=plan,
            )
        )

    async def SettleExecution(self, request: pb2.SettleExecutionRequest, context: Context) -> Any:
        return await self._refusing(context, lambda: pb2.SettleExecutionResponse(outcome=settle(self.store, request)))

    async def DeleteSession(self, request: pb2.DeleteSessionRequest, context: Context) -> Any:
        def delete() -> pb2.DeleteSessionResponse:
            check_fields(request, ids=("request_id", "domain", "conversation_id"))
            found: Session | None = self.store.by_conversation.get(request.conversation_id)
            erased = found is not None and not found.erased
            if found is not None:
                found.erased = True
            return pb2.DeleteSessionResponse(erased=erased)

        return await self._refusing(context, delete)

    async def _refusing(self, context: Context, serve: Callable[[], Any]) -> Any:
        """The answer, or the refusal as google.rpc.Status with ErrorInfo."""
        try:
            return serve()
        except Refusal as refusal:
            await context.abort(refusal.code, refusal.text, trailing_metadata=_details(refusal, context))


def _details(refusal: Refusal, context: Context) -> tuple[tuple[str, bytes], ...]:
    sent = dict(context.invocation_metadata() or ()).get("x-request-id", "none")
    info = error_details_pb2.ErrorInfo(reason=refusal.reason, domain="handrail", metadata=refusal.metadata)
    info.metadata["request_id"] = str(sent)
    status = status_pb2.Status(code=refusal.code.value[0], message=refusal.text)
    details: list[Any] = [info]
    if refusal.fields:
        bad = error_details_pb2.BadRequest()
        for field in refusal.fields:
            bad.field_violations.add(field=field, description=refusal.text)
        details.append(bad)
    for each in details:
        packed = Packed()
        packed.Pack(each)
        status.details.append(packed)
    return (("grpc-status-details-bin", status.SerializeToString()),)


async def serve(port: int = 0) -> tuple[grpc.aio.Server, int]:
    """A listening server with health and reflection, and its port."""
    server = grpc.aio.server()
    domain_adapter_service_pb2_grpc.add_DomainAdapterServiceServicer_to_server(MinimalAdapter(), server)
    serving = health.aio.HealthServicer()
    await serving.set(SERVICE, health_pb2.HealthCheckResponse.SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(serving, server)
    reflection.enable_server_reflection((SERVICE, reflection.SERVICE_NAME), server)
    bound = server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    return server, bound


async def main() -> None:
    server, port = await serve()
    print(port, flush=True)
    await server.wait_for_termination()


if __name__ == "__main__":
    asyncio.run(main())

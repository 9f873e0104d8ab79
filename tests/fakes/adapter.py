"""A scripted DomainAdapterService over a real socket, for tests of the Loop alone.

A test gives it a script: a function from a DecideRequest to a Decision (or an error), and one for ExecuteTool. It keeps
the protocol's promises itself (a stored decision by number, a ledger by call, a tombstone), so that what a test sees
is the Loop's doing. Failure is injected by `refuse`, delay by events that the test sets.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import grpc
import grpc.aio
from google.rpc import code_pb2, error_details_pb2, status_pb2

from handrail.adapter.v1 import (
    artifact_service_pb2,
    artifact_service_pb2_grpc,
    domain_adapter_service_pb2_grpc,
    session_pb2,
)
from handrail.adapter.v1 import (
    domain_adapter_service_pb2 as pb,
)
from handrail.common.v1 import (
    answer_pb2,
    approval_pb2,
    artifact_pb2,
    decision_pb2,
    failure_pb2,
    prompt_pb2,
    tool_pb2,
)

Script = Callable[[pb.DecideRequest], decision_pb2.Decision]
ToolScript = Callable[[pb.ExecuteToolRequest], tool_pb2.ToolOutcome]
Context = grpc.aio.ServicerContext[Any, Any]


@dataclass
class Refusal:
    """An error to answer with: a status code, ErrorInfo.reason and metadata."""

    code: grpc.StatusCode
    reason: str = ""
    metadata: dict[str, str] = field(default_factory=dict)


class FakeAdapter:
    """`decide` and `execute` are the script; `requests` are kept for assertions."""

    def __init__(self, decide: Script, execute: ToolScript | None = None) -> None:
        self.decide = decide
        self.execute = execute or succeed
        self.history_id = "hist_1"
        self.decide_requests: list[pb.DecideRequest] = []
        self.execute_requests: list[pb.ExecuteToolRequest] = []
        self.cancel_requests: list[pb.CancelInteractionRequest] = []
        self.delete_requests: list[pb.DeleteSessionRequest] = []
        self.refusals: dict[str, list[Refusal]] = {}
        self.late_refusals: dict[str, list[Refusal]] = {}
        self.on_arrival: dict[str, Callable[[], None]] = {}
        self.gates: dict[str, asyncio.Event] = {}
        self.arrived: dict[str, asyncio.Event] = {}
        self.progress: list[tuple[int, str]] = []
        self.decisions: dict[tuple[str, int], bytes] = {}
        self.ledger: dict[str, asyncio.Future[tool_pb2.ToolOutcome]] = {}
        self.begun: dict[str, list[str]] = {}
        self.closed: set[str] = set()
        self.executions = 0
        self.generations = 0
        self._server: grpc.aio.Server | None = None
        self._port = 0

    @property
    def target(self) -> str:
        return f"127.0.0.1:{self._port}"

    async def start(self) -> FakeAdapter:
        """Listen; a second start after `stop` takes the same port, as a restarted process would."""
        server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
        servicer = _Servicer(self)
        domain_adapter_service_pb2_grpc.add_DomainAdapterServiceServicer_to_server(servicer, server)
        artifact_service_pb2_grpc.add_ArtifactServiceServicer_to_server(_Artifacts(), server)
        self._port = server.add_insecure_port(f"127.0.0.1:{self._port}")
        await server.start()
        self._server = server
        return self

    async def stop(self) -> None:
        if self._server is not None:
            server, self._server = self._server, None
            await server.stop(0)

    def refuse(self, method: str, *refusals: Refusal) -> None:
        """Answer the next calls of `method` with these, in this order."""
        self.refusals.setdefault(method, []).extend(refusals)

    def refuse_late(self, method: str, refusal: Refusal) -> None:
        """Answer a call that stands at the gate of `hold` with this, once the gate is open."""
        self.late_refusals.setdefault(method, []).append(refusal)

    def hold(self, method: str) -> asyncio.Event:
        """Calls of `method` stand still until the returned event is set."""
        self.gates[method] = asyncio.Event()
        self.arrived[method] = asyncio.Event()
        return self.gates[method]

    async def until_arrived(self, method: str) -> None:
        """Until a call stands at the gate of `hold`."""
        async with asyncio.timeout(10):
            await self.arrived[method].wait()

    async def pass_gate(self, method: str, context: Context) -> None:
        if method in self.on_arrival:
            self.on_arrival[method]()
        waiting = self.refusals.get(method)
        if waiting:
            await refuse_call(context, waiting.pop(0))
        gate = self.gates.get(method)
        if gate is not None:
            self.arrived[method].set()
            await gate.wait()
        late = self.late_refusals.get(method)
        if late:
            await refuse_call(context, late.pop(0))


async def refuse_call(context: Context, refusal: Refusal) -> None:
    info = error_details_pb2.ErrorInfo(
        reason=refusal.reason or refusal.code.name, domain="handrail", metadata=refusal.metadata
    )
    status = status_pb2.Status(code=getattr(code_pb2, refusal.code.name), message=refusal.reason)
    status.details.add().Pack(info)
    details = (("grpc-status-details-bin", status.SerializeToString()),)
    await context.abort(refusal.code, refusal.reason, details)


class _Servicer(domain_adapter_service_pb2_grpc.DomainAdapterServiceServicer):
    def __init__(self, fake: FakeAdapter) -> None:
        self._fake = fake

    async def DescribeDomain(self, request: pb.DescribeDomainRequest, context: Context) -> pb.DescribeDomainResponse:
        await self._fake.pass_gate("DescribeDomain", context)
        return pb.DescribeDomainResponse(
            domain=request.domain, title="Test domain", version="1", tools=[pb.Tool(name="look", version="1")]
        )

    async def OpenSession(self, request: pb.OpenSessionRequest, context: Context) -> pb.OpenSessionResponse:
        await self._fake.pass_gate("OpenSession", context)
        return pb.OpenSessionResponse(
            domain_session_id=f"ses_{request.conversation_id}", history_id=self._fake.history_id
        )

    async def Decide(self, request: pb.DecideRequest, context: Context) -> AsyncIterator[pb.DecideResponse]:
        fake = self._fake
        fake.decide_requests.append(request)
        await fake.pass_gate("Decide", context)
        if request.history_id != fake.history_id:
            await refuse_call(context, Refusal(grpc.StatusCode.FAILED_PRECONDITION, "HISTORY_DIVERGED"))
        if request.interaction_id in fake.closed:
            await refuse_call(context, Refusal(grpc.StatusCode.FAILED_PRECONDITION, "INTERACTION_CLOSED"))
        if request.supersedes_interaction_id:
            fake.closed.add(request.supersedes_interaction_id)
        key = (request.interaction_id, request.decision_number)
        if key not in fake.decisions:
            decision = fake.decide(request)
            decision.decision_number = request.decision_number
            decision.decision_id = f"dec_{request.interaction_id}_{request.decision_number}"
            decision.plan_version = max(decision.plan_version, request.base_plan_version)
            fake.decisions[key] = decision.SerializeToString()
        yield pb.DecideResponse(usage=pb.ModelUsage(generations=fake.generations, prompt_tokens=7, output_tokens=3))
        yield pb.DecideResponse(decision=decision_pb2.Decision.FromString(fake.decisions[key]))

    async def ExecuteTool(
        self, request: pb.ExecuteToolRequest, context: Context
    ) -> AsyncIterator[pb.ExecuteToolResponse]:
        fake = self._fake
        fake.execute_requests.append(request)
        await fake.pass_gate("ExecuteTool", context)
        for percent, text in fake.progress:
            yield pb.ExecuteToolResponse(progress=pb.WorkProgress(percent=percent, message=text))
        attempt = fake.ledger.get(request.tool_call_id)
        if attempt is None:
            if request.interaction_id in fake.closed:
                await refuse_call(context, Refusal(grpc.StatusCode.FAILED_PRECONDITION, "INTERACTION_CLOSED"))
            attempt = asyncio.get_running_loop().create_future()
            fake.ledger[request.tool_call_id] = attempt
            fake.begun.setdefault(request.interaction_id, []).append(request.tool_call_id)
            task = asyncio.ensure_future(self._attempt(request, attempt))
            task.add_done_callback(lambda _: None)
        outcome = await asyncio.shield(attempt)
        yield pb.ExecuteToolResponse(outcome=outcome)

    async def _attempt(self, request: pb.ExecuteToolRequest, attempt: asyncio.Future[tool_pb2.ToolOutcome]) -> None:
        """The tool itself: it goes on although the stream that began it is gone (live_attempt)."""
        fake = self._fake
        gate = fake.gates.get("tool")
        if gate is not None:
            fake.arrived["tool"].set()
            await gate.wait()
        fake.executions += 1
        outcome = fake.execute(request)
        outcome.tool_call_id = request.tool_call_id
        attempt.set_result(outcome)

    async def CancelInteraction(
        self, request: pb.CancelInteractionRequest, context: Context
    ) -> pb.CancelInteractionResponse:
        fake = self._fake
        fake.cancel_requests.append(request)
        await fake.pass_gate("CancelInteraction", context)
        fake.closed.add(request.interaction_id)
        response = pb.CancelInteractionResponse()
        for tool_call_id in fake.begun.get(request.interaction_id, []):
            attempt = fake.ledger[tool_call_id]
            call = response.calls.add(tool_call_id=tool_call_id, running=not attempt.done())
            if attempt.done():
                call.outcome.CopyFrom(attempt.result())
        return response

    async def DeleteSession(self, request: pb.DeleteSessionRequest, context: Context) -> pb.DeleteSessionResponse:
        fake = self._fake
        fake.delete_requests.append(request)
        await fake.pass_gate("DeleteSession", context)
        return pb.DeleteSessionResponse(erased=True)

    async def GetSession(self, request: pb.GetSessionRequest, context: Context) -> pb.GetSessionResponse:
        return pb.GetSessionResponse(session=session_pb2.Session(domain_session_id=request.domain_session_id))


class _Artifacts(artifact_service_pb2_grpc.ArtifactServiceServicer):
    async def GetArtifact(
        self, request: artifact_service_pb2.GetArtifactRequest, context: Context
    ) -> artifact_service_pb2.GetArtifactResponse:
        return artifact_service_pb2.GetArtifactResponse(
            artifact=artifact_service_pb2.Artifact(
                artifact_id=request.artifact_id, conversation_id=request.conversation_id, version=1
            )
        )

    async def ListArtifacts(
        self, request: artifact_service_pb2.ListArtifactsRequest, context: Context
    ) -> artifact_service_pb2.ListArtifactsResponse:
        return artifact_service_pb2.ListArtifactsResponse(
            artifacts=[artifact_service_pb2.Artifact(artifact_id="art_1", version=1)]
        )

    async def ReadArtifact(
        self, request: artifact_service_pb2.ReadArtifactRequest, context: Context
    ) -> AsyncIterator[artifact_service_pb2.ReadArtifactResponse]:
        for offset, data in ((0, b"first "), (6, b"second")):
            yield artifact_service_pb2.ReadArtifactResponse(data=data, offset=offset)


def succeed(request: pb.ExecuteToolRequest) -> tool_pb2.ToolOutcome:
    """The tool worked and made one artifact version."""
    outcome = tool_pb2.ToolOutcome(
        tool_call_id=request.tool_call_id,
        tool="look",
        outcome=tool_pb2.OUTCOME_SUCCEEDED,
        receipt=tool_pb2.Receipt(
            execution_id=f"exe_{request.tool_call_id}",
            key=f"key_{request.tool_call_id}",
            result_sha256="e" * 64,
            summary="looked",
        ),
        artifacts=[
            artifact_pb2.ArtifactRef(
                artifact_id=f"art_{request.tool_call_id}", version=1, sha256="f" * 64, media_type="text/plain"
            )
        ],
    )
    outcome.receipt.finish_time.GetCurrentTime()
    return outcome


def end_with(outcome: tool_pb2.Outcome.ValueType) -> ToolScript:
    def run(request: pb.ExecuteToolRequest) -> tool_pb2.ToolOutcome:
        ended = tool_pb2.ToolOutcome(tool_call_id=request.tool_call_id, tool="look", outcome=outcome)
        if outcome == tool_pb2.OUTCOME_BLOCKED:
            ended.block.CopyFrom(failure_pb2.PolicyBlock(code="approval_stale", rule="approval_matches", tool="look"))
        elif outcome == tool_pb2.OUTCOME_FAILED:
            ended.failure.CopyFrom(
                failure_pb2.Failure(stage=failure_pb2.STAGE_TOOL, code="tool_failed", explanation="broke")
            )
        return ended

    return run


def complete(text: str = "Done.") -> decision_pb2.Decision:
    return decision_pb2.Decision(
        complete=decision_pb2.Complete(answer=answer_pb2.Answer(text=text)), summary="answered"
    )


def call(
    *names: str, effect: tool_pb2.Effect.ValueType = tool_pb2.EFFECT_READ, approval_id: str = ""
) -> decision_pb2.Decision:
    """Calls with these ids."""
    calls = [
        tool_pb2.ToolCall(
            tool_call_id=name,
            tool="look",
            tool_version="1",
            effect=effect,
            idempotency_key=f"key_{name}",
            input_sha256="d" * 64,
            summary=f"call {name}",
            approval_id=approval_id,
        )
        for name in names
    ]
    return decision_pb2.Decision(call_tool=decision_pb2.CallTool(calls=calls), summary="calling")


def ask(
    question: str = "Which one?", options: Iterable[tuple[str, str]] = (), *, required: bool = True
) -> decision_pb2.Decision:
    """A question about slot `place` of task `t1`; options are (candidate_id, display_name)."""
    listed = [prompt_pb2.PromptOption(candidate_id=c, identity=c, display_name=name) for c, name in options]
    prompt = prompt_pb2.Prompt(
        type=prompt_pb2.PROMPT_TYPE_SELECT if listed else prompt_pb2.PROMPT_TYPE_INPUT,
        task=prompt_pb2.TaskTarget(task_id="t1", slot="place"),
        question=question,
        options=listed,
        required=required,
    )
    return decision_pb2.Decision(ask=decision_pb2.Ask(prompt=prompt), summary="asking")


def request_approval(
    key: str = "key_1",
    *,
    content: str = "a",
    role: str = "",
    requester_may_approve: bool = True,
    expire_seconds: int = 4_000_000_000,
) -> decision_pb2.Decision:
    snapshot = approval_pb2.ApprovalSnapshot(
        digest_scheme="rfc8785-sha256-v1",
        tool="file",
        tool_version="1",
        artifact_id="art_1",
        artifact_version=1,
        artifact_sha256=content * 64,
        validation_sha256="b" * 64,
        input_sha256="c" * 64,
        policy_version="1",
        required_role=role,
        idempotency_key=key,
    )
    snapshot.expire_time.seconds = expire_seconds
    snapshot.expire_time.nanos = 123_000
    return decision_pb2.Decision(
        request_approval=decision_pb2.RequestApproval(
            snapshot=snapshot,
            title="File it",
            input_preview="{}",
            change_ref="art_1@1",
            requester_may_approve=requester_may_approve,
        ),
        summary="approval needed",
    )


def reply(verdict: decision_pb2.ReplyVerdict.ValueType) -> decision_pb2.Decision:
    """A decision that only classifies."""
    return decision_pb2.Decision(reply_verdict=verdict, summary="classified")

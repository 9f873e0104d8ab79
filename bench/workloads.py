"""One round of each workload over the generated stubs, as a client program makes it. Called by the load process."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Protocol

import grpc.aio

from bench.domain import NAME
from bench.echo import ECHO_METHOD
from bench.jobs import Approval, Job, Outcome
from handrail.common.v1.approval_pb2 import VERDICT_APPROVE
from handrail.loop.v1 import workflow_loop_service_pb2 as loop
from handrail.loop.v1.event_pb2 import Event
from handrail.loop.v1.workflow_loop_service_pb2_grpc import WorkflowLoopServiceStub
from handrail_rpc.context import new_request_id

_CALL_SECONDS = 60.0

Round = Callable[[int, int], Awaitable[None]]
"""(client, number of the round) -> done."""


class UnexpectedEnding(Exception):
    """A run ended otherwise than the workload means it to."""


class _EventResponse(Protocol):
    @property
    def event(self) -> Event: ...


class Workloads:
    """Rounds on one channel; what they send and receive is counted in `outcome`."""

    def __init__(self, channel: grpc.aio.Channel, job: Job, outcome: Outcome) -> None:
        self._stub = WorkflowLoopServiceStub(channel)
        self._job = job
        self._outcome = outcome
        self._conversations = list(job.conversations)
        self._echo: Any = channel.unary_unary(
            ECHO_METHOD,
            request_serializer=loop.GetRunRequest.SerializeToString,
            response_deserializer=loop.GetRunRequest.FromString,
        )

    async def prepare(self) -> Round:
        """Connect, open what the workload needs before the clock starts, and return the round."""
        job = self._job
        match job.workload:
            case "echo":
                await self._one_echo(0, 0)
                return self._one_echo
            case "round":
                await self._create()
                return self._one_round
            case "turn":
                # A conversation's first turn opens the session with the Adapter; R2 is a later one.
                for client in range(len(self._conversations), job.clients):
                    self._conversations.append(await self._create())
                    await self._one_turn(client, 0)
                await self._stub.GetConversation(
                    loop.GetConversationRequest(conversation_id=self._conversations[0]), timeout=_CALL_SECONDS
                )
                return self._one_turn
            case "pend":
                await self._create()
                return self._one_pending
            case "resume":
                await self._stub.ListPending(loop.ListPendingRequest(page_size=1), timeout=_CALL_SECONDS)
                return self._one_resumption

    async def _one_echo(self, _client: int, number: int) -> None:
        self._outcome.calls += 1
        await self._echo(loop.GetRunRequest(run_id=f"run_{number:030x}"), timeout=_CALL_SECONDS)
        self._outcome.messages += 1

    async def _one_round(self, _client: int, _number: int) -> None:
        """R1: start, decide, pure tool, decide, approval; approve, tool with a side effect, decide, answer."""
        await self._resume(await self._ask_approval())

    async def _one_turn(self, client: int, number: int) -> None:
        """R2: a turn with one tool in the client's own conversation."""
        await self._send(self._conversations[client], f"turn {number}", "completed")

    async def _one_pending(self, _client: int, _number: int) -> None:
        self._outcome.approvals.append(await self._ask_approval())

    async def _one_resumption(self, _client: int, number: int) -> None:
        await self._resume(self._job.approvals[number])

    async def _create(self) -> str:
        self._outcome.calls += 1
        request = loop.CreateConversationRequest(request_id=new_request_id(), domain=NAME)
        answer = await self._stub.CreateConversation(request, timeout=_CALL_SECONDS)
        self._outcome.messages += 1
        return answer.conversation.conversation_id

    async def _ask_approval(self) -> Approval:
        # The number becomes the target of the side effect, which no other round of the run may share.
        text = f"round {secrets.randbits(48)}"
        asked = (await self._send(await self._create(), text, "approval_required")).approval_required
        return Approval(asked.approval_id, asked.snapshot_digest)

    async def _send(self, conversation_id: str, text: str, ending: str) -> Event:
        request = loop.SendMessageRequest(request_id=new_request_id(), conversation_id=conversation_id, text=text)
        return await self._last_event(self._stub.SendMessage(request, timeout=_CALL_SECONDS), ending)

    async def _resume(self, approval: Approval) -> None:
        request = loop.ResolveApprovalRequest(
            request_id=new_request_id(),
            approval_id=approval.approval_id,
            verdict=VERDICT_APPROVE,
            snapshot_digest=approval.digest,
        )
        await self._last_event(self._stub.ResolveApproval(request, timeout=_CALL_SECONDS), "completed")

    async def _last_event(self, call: AsyncIterator[_EventResponse] | Any, ending: str) -> Event:
        """Read a run's stream to its end. Raises UnexpectedEnding for another ending event."""
        self._outcome.calls += 1
        event: Event | None = None
        async for response in call:
            self._outcome.messages += 1
            event = response.event
        if event is None or event.WhichOneof("payload") != ending:
            raise UnexpectedEnding(f"a run ended with {event and event.WhichOneof('payload')}, not {ending}")
        return event

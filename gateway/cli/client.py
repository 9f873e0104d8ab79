"""A small client on the generated stubs: what the CLI, the demo and the end-to-end tests say to the gateway.

Failed calls come out as `handrail_rpc.errors.HandrailError` with reason, fields and request id.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import Protocol, TypeVar

import grpc.aio
from google.protobuf.timestamp_pb2 import Timestamp

from handrail.adapter.v1 import artifact_service_pb2 as artifacts
from handrail.adapter.v1.artifact_service_pb2_grpc import ArtifactServiceStub
from handrail.common.v1.approval_pb2 import Verdict
from handrail.common.v1.fact_pb2 import Fact
from handrail.loop.v1 import workflow_loop_service_pb2 as loop
from handrail.loop.v1.event_pb2 import ApprovalRequired, Event
from handrail.loop.v1.workflow_loop_service_pb2_grpc import WorkflowLoopServiceStub
from handrail_rpc.channel import open_channel
from handrail_rpc.context import Caller, call_context, new_request_id
from handrail_rpc.errors import NotFound, ResourceExhausted, Unavailable
from handrail_rpc.status import from_rpc_error

ENDINGS = frozenset(
    {"clarification_required", "approval_required", "waiting"}
    | {"completed", "failed", "blocked", "canceled", "superseded"}
)
_LOOP = "handrail.loop.v1.WorkflowLoopService"
_READS = ("ListDomains", "GetConversation", "ListMessages", "GetInteraction", "GetRun", "GetApproval", "ListPending")
_UNARY_SECONDS = 30.0
_PAGE = 200

Response = TypeVar("Response")


class _Page(Protocol):
    @property
    def next_page_token(self) -> str: ...


Page = TypeVar("Page", bound=_Page)


class _EventResponse(Protocol):
    @property
    def event(self) -> Event: ...


class _EventCall(Protocol):
    """A server stream of events; the three RPCs differ only in the response's name."""

    def __aiter__(self) -> AsyncIterator[_EventResponse]: ...

    def cancel(self) -> bool: ...


class HandrailClient:
    """One connection in the name of one caller. Make it with `connect`.

    Every method raises HandrailError; a server that is not there is Unavailable.
    """

    def __init__(self, channel: grpc.aio.Channel, caller: Caller, resume_seconds: float) -> None:
        self.stub = WorkflowLoopServiceStub(channel)
        self.artifacts = ArtifactServiceStub(channel)
        self.on_busy: Callable[[float], None] = lambda _seconds: None
        """Called with the pause before a request that was refused for want of room is sent again."""
        self._caller = caller
        self._resume_seconds = resume_seconds

    async def call(self, call: Callable[[], Awaitable[Response]]) -> Response:
        """Make one unary call as the caller."""
        with call_context(caller=self._caller, request_id=new_request_id()):
            try:
                return await call()
            except grpc.aio.AioRpcError as error:
                raise from_rpc_error(error) from None

    async def _pages(self, read: Callable[[str], Awaitable[Page]]) -> AsyncGenerator[Page, None]:
        """Every page of a list in its order; `read` calls for the page of a token."""
        token: str | None = ""
        while token is not None:
            page = await self.call(partial(read, token))
            yield page
            token = page.next_page_token or None

    async def domains(self) -> list[loop.Domain]:
        answer = await self.call(lambda: self.stub.ListDomains(loop.ListDomainsRequest(), timeout=_UNARY_SECONDS))
        return list(answer.domains)

    async def create_conversation(self, domain: str, title: str = "", request_id: str = "") -> loop.Conversation:
        request = loop.CreateConversationRequest(request_id=request_id or new_request_id(), domain=domain, title=title)
        answer = await self.call(lambda: self.stub.CreateConversation(request, timeout=_UNARY_SECONDS))
        return answer.conversation

    async def domain(self, name: str) -> loop.Domain | None:
        """One of the first 200 domains, as it is now; None for one that is not there."""
        request = loop.ListDomainsRequest(page_size=_PAGE)
        answer = await self.call(lambda: self.stub.ListDomains(request, timeout=_UNARY_SECONDS))
        return next((each for each in answer.domains if each.domain == name), None)

    async def conversation(self, conversation_id: str) -> loop.Conversation:
        request = loop.GetConversationRequest(conversation_id=conversation_id)
        return (await self.call(lambda: self.stub.GetConversation(request, timeout=_UNARY_SECONDS))).conversation

    async def conversations(self) -> list[loop.Conversation]:
        """The caller's newest conversations, at most 200."""
        request = loop.ListConversationsRequest(page_size=_PAGE)
        answer = await self.call(lambda: self.stub.ListConversations(request, timeout=_UNARY_SECONDS))
        return list(answer.conversations)

    async def interaction(self, interaction_id: str) -> loop.Interaction:
        request = loop.GetInteractionRequest(interaction_id=interaction_id)
        return (await self.call(lambda: self.stub.GetInteraction(request, timeout=_UNARY_SECONDS))).interaction

    async def run(self, run_id: str) -> loop.Run:
        request = loop.GetRunRequest(run_id=run_id)
        return (await self.call(lambda: self.stub.GetRun(request, timeout=_UNARY_SECONDS))).run

    async def cancel(self, interaction_id: str, reason: str = "", request_id: str = "") -> loop.Interaction:
        request = loop.CancelInteractionRequest(
            request_id=request_id or new_request_id(), interaction_id=interaction_id, reason=reason
        )
        return (await self.call(lambda: self.stub.CancelInteraction(request, timeout=_UNARY_SECONDS))).interaction

    async def messages(self, conversation_id: str) -> list[loop.Message]:
        """All messages of a conversation, oldest first."""

        def read(token: str) -> Awaitable[loop.ListMessagesResponse]:
            request = loop.ListMessagesRequest(conversation_id=conversation_id, page_size=_PAGE, page_token=token)
            return self.stub.ListMessages(request, timeout=_UNARY_SECONDS)

        return [message async for page in self._pages(read) for message in page.messages]

    async def audit_events(self, conversation_id: str) -> list[loop.AuditEvent]:
        """The whole audit trail of a conversation, oldest first."""

        def read(token: str) -> Awaitable[loop.ListAuditEventsResponse]:
            request = loop.ListAuditEventsRequest(conversation_id=conversation_id, page_size=_PAGE, page_token=token)
            return self.stub.ListAuditEvents(request, timeout=_UNARY_SECONDS)

        return [row async for page in self._pages(read) for row in page.audit_events]

    async def pending(
        self,
        kind: loop.PendingKind.ValueType = loop.PENDING_KIND_UNSPECIFIED,
        conversation_id: str = "",
        *,
        interaction_id: str = "",
        domain: str = "",
        tool: str = "",
        requested_by_me: bool = False,
        created_before: Timestamp | None = None,
    ) -> list[loop.PendingItem]:
        """Everything that waits for this caller and fits the filters, oldest first."""

        def read(token: str) -> Awaitable[loop.ListPendingResponse]:
            request = loop.ListPendingRequest(
                kind=kind,
                page_size=_PAGE,
                page_token=token,
                conversation_id=conversation_id,
                interaction_id=interaction_id,
                domain=domain,
                tool=tool,
                requested_by_me=requested_by_me,
                created_before_time=created_before,
            )
            return self.stub.ListPending(request, timeout=_UNARY_SECONDS)

        return [item async for page in self._pages(read) for item in page.items]

    async def diverged(self) -> list[loop.DivergedConversation]:
        """Every conversation of the tenant whose history was lost, oldest first. For the role operator."""

        def read(token: str) -> Awaitable[loop.ListDivergedConversationsResponse]:
            request = loop.ListDivergedConversationsRequest(page_size=_PAGE, page_token=token)
            return self.stub.ListDivergedConversations(request, timeout=_UNARY_SECONDS)

        return [conversation async for page in self._pages(read) for conversation in page.conversations]

    async def recover(
        self, conversation_id: str, recovery: loop.Recovery.ValueType, request_id: str = ""
    ) -> loop.RecoverConversationResponse:
        """End what a lost history has left open, or reopen the conversation. For the role operator."""
        request = loop.RecoverConversationRequest(
            request_id=request_id or new_request_id(), conversation_id=conversation_id, recovery=recovery
        )
        return await self.call(lambda: self.stub.RecoverConversation(request, timeout=_UNARY_SECONDS))

    async def approval(self, approval_id: str) -> loop.Approval:
        """An approval with how far it has come."""
        request = loop.GetApprovalRequest(approval_id=approval_id)
        return (await self.call(lambda: self.stub.GetApproval(request, timeout=_UNARY_SECONDS))).approval

    async def pending_approval(self, approval_id: str) -> ApprovalRequired:
        """The open approval of that id; raises NotFound, saying what became of it, if it is not open."""
        found = await self.approval(approval_id)
        if found.state == loop.APPROVAL_STATE_PENDING:
            return found.request
        state = loop.ApprovalState.Name(found.state).removeprefix("APPROVAL_STATE_").lower().replace("_", " ")
        by = f", resolved by {found.resolved_by}" if found.resolved_by else ""
        raise NotFound(f"approval {approval_id} is not open: it is {state}{by}", reason="APPROVAL_NOT_PENDING")

    async def settle(
        self,
        interaction_id: str,
        tool_call_id: str,
        settlement: loop.Settlement.ValueType,
        *,
        comment: str = "",
        request_id: str = "",
    ) -> loop.SettleExecutionResponse:
        """A person's verdict on a call whose outcome is unknown."""
        request = loop.SettleExecutionRequest(
            request_id=request_id or new_request_id(),
            interaction_id=interaction_id,
            tool_call_id=tool_call_id,
            settlement=settlement,
            comment=comment,
        )
        return await self.call(lambda: self.stub.SettleExecution(request, timeout=_UNARY_SECONDS))

    def send_message(
        self,
        conversation_id: str,
        text: str = "",
        *,
        reply: loop.Reply | None = None,
        facts: Iterable[Fact] = (),
        request_id: str = "",
    ) -> AsyncGenerator[Event, None]:
        """Send a message and yield its run's events until the run ends."""
        request = loop.SendMessageRequest(
            request_id=request_id or new_request_id(),
            conversation_id=conversation_id,
            text=text,
            reply=reply,
            facts=list(facts),
        )
        return self._run_events(lambda: self.stub.SendMessage(request))

    def resolve_approval(
        self,
        approval_id: str,
        verdict: Verdict.ValueType,
        snapshot_digest: str,
        *,
        comment: str = "",
        request_id: str = "",
    ) -> AsyncGenerator[Event, None]:
        """Resolve an approval by the digest that was shown, and yield the run's events until it ends."""
        request = loop.ResolveApprovalRequest(
            request_id=request_id or new_request_id(),
            approval_id=approval_id,
            verdict=verdict,
            snapshot_digest=snapshot_digest,
            comment=comment,
        )
        return self._run_events(lambda: self.stub.ResolveApproval(request))

    async def watch(
        self, conversation_id: str, after_sequence: int = 0, *, follow: bool = False, history_id: str = ""
    ) -> AsyncGenerator[Event, None]:
        """The stored events after a cursor, then the live marker, then new ones where asked to follow.

        `history_id` is that of the conversation which the cursor was read with. A stream that breaks, or is closed
        because this reader fell behind, is taken up after its last event, within the history of its first marker.
        """
        request = loop.WatchConversationRequest(
            conversation_id=conversation_id, after_sequence=after_sequence, follow=follow, history_id=history_id
        )
        clock = asyncio.get_running_loop().time
        give_up: float | None = None
        told_live = False
        while True:
            try:
                async with aclosing(self._stream(lambda: self.stub.WatchConversation(request))) as events:
                    async for event in events:
                        give_up = None
                        request.after_sequence = event.sequence
                        if event.WhichOneof("payload") == "live":
                            request.history_id = event.live.history_id
                            if told_live:
                                continue
                            told_live = True
                        yield event
            except (Unavailable, ResourceExhausted) as refused:
                # Counted from the break, not from the last event: a follower may have been idle for hours.
                give_up = give_up or clock() + self._resume_seconds
                if isinstance(refused, ResourceExhausted):
                    await self._wait_for_room(refused, give_up)
                elif not told_live or clock() >= give_up:
                    raise
                else:
                    await asyncio.sleep(0.1)
            else:
                return

    async def history(self, conversation_id: str) -> list[Event]:
        """All stored events of a conversation that retention kept, without the live marker."""
        found = await self.conversation(conversation_id)
        events = self.watch(conversation_id, max(found.first_sequence - 1, 0), history_id=found.history_id)
        return [event async for event in events if event.WhichOneof("payload") != "live"]

    async def read_artifact(self, conversation_id: str, artifact_id: str, version: int = 0) -> bytes:
        """The bytes of one version (0: the newest)."""
        request = artifacts.ReadArtifactRequest(
            conversation_id=conversation_id, artifact_id=artifact_id, version=version
        )
        data = bytearray()
        with call_context(caller=self._caller, request_id=new_request_id()):
            call = self.artifacts.ReadArtifact(request)
        try:
            async for chunk in call:
                data += chunk.data
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from None
        finally:
            call.cancel()
        return bytes(data)

    async def _run_events(self, open_call: Callable[[], _EventCall]) -> AsyncGenerator[Event, None]:
        """The events of a run, through a broken stream: the same request_id replays the run, seen events are skipped.

        Only a run that was seen to start is resumed (at most `resume_seconds` without a new event); a server that is
        not there at all is reported at once. A request that was refused for want of room is sent again when the
        server said, for as long.
        """
        last_sequence = 0
        clock = asyncio.get_running_loop().time
        give_up = clock() + self._resume_seconds
        while True:
            try:
                async with aclosing(self._stream(open_call)) as events:
                    async for event in events:
                        give_up = clock() + self._resume_seconds
                        if event.sequence > last_sequence:
                            last_sequence = event.sequence
                            yield event
            except Unavailable:
                if not last_sequence or clock() >= give_up:
                    raise
                await asyncio.sleep(0.1)
            except ResourceExhausted as refused:
                await self._wait_for_room(refused, give_up)
            else:
                return

    async def _wait_for_room(self, refused: ResourceExhausted, give_up: float) -> None:
        """Pause before the same request is sent again; raises `refused` where that makes no sense any more.

        A reader that was closed for falling behind goes on at once; a full queue says when it may have room.
        """
        if refused.reason == "READER_TOO_SLOW":
            return
        if refused.retry_after is None:
            raise refused
        pause = refused.retry_after.total_seconds()
        if asyncio.get_running_loop().time() + pause >= give_up:
            raise refused
        self.on_busy(pause)
        await asyncio.sleep(pause)

    async def _stream(self, open_call: Callable[[], _EventCall]) -> AsyncGenerator[Event, None]:
        with call_context(caller=self._caller, request_id=new_request_id()):
            call = open_call()
        try:
            async for response in call:
                yield response.event
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from None
        finally:
            # Leaving the loop early does not end the call by itself.
            call.cancel()


@asynccontextmanager
async def connect(
    target: str, caller: Caller | None = None, *, resume_seconds: float = 30.0
) -> AsyncIterator[HandrailClient]:
    """A client of the gateway (or a Loop) at host:port; nothing is sent until the first call.

    A run whose stream broke is taken up again for `resume_seconds` after its last event.
    """
    channel = open_channel(target, retry_methods=[f"{_LOOP}/{name}" for name in _READS])
    try:
        yield HandrailClient(channel, caller or Caller(), resume_seconds)
    finally:
        await channel.close()


def payload_names(events: Sequence[Event]) -> list[str]:
    """The kinds of a run's events, in order: 'run_started', 'status_changed', …"""
    return [event.WhichOneof("payload") or "" for event in events]

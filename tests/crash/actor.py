"""A client that never gives up, as a good one would be: the same request_id again, and its stream from the cursor.

Scenarios speak through it; whatever it has been told it remembers, so that `invariants` can hold it against what is
stored in the end.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from gateway.cli.client import ENDINGS, HandrailClient, connect
from gateway.cli.conversing import Turn
from handrail.common.v1.approval_pb2 import Verdict
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail.loop.v1.event_pb2 import ApprovalRequired, ClarificationRequired, Event
from handrail_rpc.context import Caller, new_request_id
from handrail_rpc.errors import NotFound, OutOfRange, Unavailable

PATIENCE_SECONDS = 60.0
_PAUSE_SECONDS = 0.02

T = TypeVar("T")


@dataclass
class Heard:
    """What the clients of one conversation were told, by sequence; a second telling must be the same bytes."""

    conversation_id: str
    events: dict[int, bytes] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)

    def hear(self, event: Event) -> None:
        data = event.SerializeToString(deterministic=True)
        known = self.events.setdefault(event.sequence, data)
        assert known == data, f"event {event.sequence} was told twice, differently"


class Actor:
    """One conversation of one requester, and the approver beside it. Make it with `acting`."""

    def __init__(self, requester: HandrailClient, approver: HandrailClient, caller: Caller) -> None:
        self.requester = requester
        self.approver = approver
        self.caller = caller
        self.heard = Heard("")
        self.watches_no_more = False
        """Set where the conversation is to go, or its events are."""
        self._watching: asyncio.Task[None] | None = None
        self._beside: list[asyncio.Task[Any]] = []
        self._since = 0

    @property
    def conversation_id(self) -> str:
        return self.heard.conversation_id

    async def begin(self, domain: str = "probe") -> None:
        """Make the conversation and watch it from its beginning."""
        request_id = new_request_id()
        made = await persist(lambda: self.requester.create_conversation(domain, request_id=request_id))
        self.heard.conversation_id = made.conversation_id
        self._watching = asyncio.create_task(self._watch())

    async def say(self, text: str = "", reply: pb.Reply | None = None) -> Turn:
        """Send a message until its run has ended, however often that takes."""
        request_id = new_request_id()
        self.heard.texts.append(text)
        return await self._turn(
            lambda: self.requester.send_message(self.conversation_id, text, reply=reply, request_id=request_id)
        )

    async def click(self, question: ClarificationRequired, position: int) -> Turn:
        """Choose a candidate of the question."""
        chosen = question.prompt.options[position].candidate_id
        reply = pb.Reply(clarification_id=question.clarification_id)
        reply.selected_candidate_id = chosen
        return await self.say(reply=reply)

    async def resolve(self, approval: ApprovalRequired, verdict: Verdict.ValueType, comment: str = "") -> Turn:
        """Resolve it as the approver."""
        request_id = new_request_id()
        return await self._turn(
            lambda: self.approver.resolve_approval(
                approval.approval_id, verdict, approval.snapshot_digest, comment=comment, request_id=request_id
            )
        )

    async def approve(self, approval: ApprovalRequired) -> Turn:
        return await self.resolve(approval, Verdict.VERDICT_APPROVE)

    async def cancel(self, interaction_id: str) -> pb.Interaction:
        request_id = new_request_id()
        return await persist(lambda: self.requester.cancel(interaction_id, request_id=request_id))

    async def signal(self, interaction_id: str, name: str, **payload: str) -> pb.SignalInteractionResponse:
        request = pb.SignalInteractionRequest(request_id=new_request_id(), interaction_id=interaction_id, signal=name)
        request.payload.update(payload)
        stub = self.requester.stub
        return await persist(lambda: self.requester.call(lambda: stub.SignalInteraction(request, timeout=30)))

    async def settle(self, item: pb.PendingItem, settlement: pb.Settlement.ValueType) -> pb.SettleExecutionResponse:
        """Say as the approver what became of the call."""
        request_id = new_request_id()
        return await persist(
            lambda: self.approver.settle(
                item.interaction_id, item.execution.tool_call_id, settlement, request_id=request_id
            )
        )

    async def take_stock(self) -> None:
        """What has come so far is not waited for any more."""
        self._since = (await persist(lambda: self.requester.conversation(self.conversation_id))).last_sequence

    async def until(self, *payloads: str, count: int = 1) -> Event:
        """Wait for the count-th event of any of those kinds in the conversation, since stock was taken."""

        async def found() -> Event | None:
            heard = sorted(self.heard.events.items())
            events = [Event.FromString(data) for sequence, data in heard if sequence > self._since]
            of_kind = [event for event in events if event.WhichOneof("payload") in payloads]
            return of_kind[count - 1] if len(of_kind) >= count else None

        return await until(found, f"event {count} of {payloads}")

    def soon(self, doing: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Do it beside what follows; await the result, or it is ended with the actor."""
        task = asyncio.create_task(doing)
        self._beside.append(task)
        return task

    async def end(self) -> None:
        """Stop watching; raises what the watcher found wrong."""
        for task in self._beside:
            task.cancel()
        await asyncio.gather(*self._beside, return_exceptions=True)
        if self._watching is not None:
            if not self._watching.done():
                self._watching.cancel()
            await asyncio.wait([self._watching])
            if not self._watching.cancelled():
                self._watching.result()

    async def _turn(self, open_stream: Callable[[], AsyncIterator[Event]]) -> Turn:
        async def follow() -> Turn:
            events: list[Event] = []
            async for event in open_stream():
                self.heard.hear(event)
                events.append(event)
            turn = Turn(tuple(events))
            assert turn.ending in ENDINGS, f"the stream ended with {turn.ending or 'nothing'}"
            return turn

        return await persist(follow)

    async def _watch(self) -> None:
        """Follow the conversation through every crash, from the last event that was seen."""
        cursor = 0
        while True:
            try:
                async for event in self.requester.watch(self.conversation_id, cursor, follow=True):
                    if event.WhichOneof("payload") == "live":
                        continue
                    assert event.sequence == cursor + 1, f"after {cursor} came {event.sequence}"
                    cursor = event.sequence
                    self.heard.hear(event)
            except Unavailable:
                await asyncio.sleep(_PAUSE_SECONDS)
            except (NotFound, OutOfRange) as gone:
                if self.watches_no_more:
                    return
                if isinstance(gone, NotFound):
                    raise
                # The Loop's history was renewed: what was heard is heard again, and must be the same.
                cursor = 0


async def persist(call: Callable[[], Awaitable[T]], seconds: float = PATIENCE_SECONDS) -> T:
    """Make the call until it is answered, unless by a refusal."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + seconds
    while True:
        try:
            return await call()
        except Unavailable:
            if clock() > deadline:
                raise
            await asyncio.sleep(_PAUSE_SECONDS)


async def until(find: Callable[[], Awaitable[T | None]], what: str, seconds: float = PATIENCE_SECONDS) -> T:
    """What `find` finds at last; fails naming `what` after `seconds`."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + seconds
    while True:
        found = await persist(find)
        if found is not None:
            return found
        assert clock() < deadline, f"{what} did not come within {seconds:g} s"
        await asyncio.sleep(_PAUSE_SECONDS)


@asynccontextmanager
async def acting(target: str) -> AsyncIterator[Actor]:
    """An actor with principals of its own, on the Loop at `target`."""
    name = uuid.uuid4().hex[:12]
    asker = Caller(f"asker-{name}", f"tenant-{name}", frozenset({"author"}))
    judge = Caller(f"judge-{name}", f"tenant-{name}", frozenset({"ringer", "editor", "approver"}))
    async with (
        connect(target, asker, resume_seconds=PATIENCE_SECONDS) as requester,
        connect(target, judge, resume_seconds=PATIENCE_SECONDS) as approver,
    ):
        actor = Actor(requester, approver, asker)
        try:
            yield actor
        finally:
            await actor.end()

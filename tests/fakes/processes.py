"""Real processes for the end-to-end tests: a migrated, serving stack, polling with a deadline, refusals taken apart."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
import grpc.aio
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2

from gateway.cli.client import ENDINGS, HandrailClient
from gateway.cli.processes import Stack
from handrail.loop.v1.event_pb2 import Event


@contextmanager
def running_stack(data_dir: Path, overrides: Mapping[str, str] | None = None) -> Iterator[Stack]:
    """The three services on their own data directory and ports, migrated and serving; stopped at the end."""
    with Stack.isolated(data_dir, overrides) as stack:
        stack.migrate()
        stack.start()
        asyncio.run(stack.wait_serving())
        yield stack


async def poll(
    condition: Callable[[], Awaitable[object]] | Callable[[], object], what: str, seconds: float = 60.0
) -> object:
    """Call `condition` until it is truthy, and return what it returned; fails naming `what` after the deadline."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + seconds
    while True:
        found = condition()
        if isinstance(found, Awaitable):
            found = await found
        if found:
            return found
        assert clock() < deadline, f"{what} did not happen within {seconds:g} s; last: {found!r}"
        await asyncio.sleep(0.02)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused call as it came over the wire."""

    code: grpc.StatusCode
    text: str
    reason: str
    domain: str
    metadata: dict[str, str]
    fields: dict[str, str]
    violations: dict[str, str]

    @property
    def name(self) -> str:
        return self.code.name

    @classmethod
    def of(cls, error: grpc.aio.AioRpcError) -> Refusal:
        info = error_details_pb2.ErrorInfo()
        bad = error_details_pb2.BadRequest()
        unmet = error_details_pb2.PreconditionFailure()
        for key, value in error.trailing_metadata() or ():
            if key == "grpc-status-details-bin":
                status = status_pb2.Status.FromString(value)
                assert status.message == error.details()
                for packed in status.details:
                    for into in (info, bad, unmet):
                        if packed.Is(into.DESCRIPTOR):
                            packed.Unpack(into)
        return cls(
            error.code(),
            error.details() or "",
            info.reason,
            info.domain,
            dict(info.metadata),
            {each.field: each.description for each in bad.field_violations},
            {each.subject: each.description for each in unmet.violations},
        )


async def refusal_of(call: Awaitable[Message] | grpc.aio.UnaryStreamCall) -> Refusal:
    """Make a call that must be refused before anything comes of it; fails if it is not."""
    try:
        if isinstance(call, grpc.aio.UnaryStreamCall):
            events = [each async for each in call]
            raise AssertionError(f"the call was accepted and streamed {len(events)} messages: {events[-1:]}")
        answer = await call
        raise AssertionError(f"the call was accepted: {answer}")
    except grpc.aio.AioRpcError as error:
        return Refusal.of(error)


@dataclass(frozen=True, slots=True)
class Stored:
    """All that a conversation shows: equal before and after a request that must store nothing."""

    conversation: bytes
    messages: tuple[bytes, ...]
    events: tuple[bytes, ...]
    audit_rows: int


async def stored(client: HandrailClient, conversation_id: str) -> Stored:
    conversation = await client.conversation(conversation_id)
    return Stored(
        conversation.SerializeToString(deterministic=True),
        tuple(each.SerializeToString(deterministic=True) for each in await client.messages(conversation_id)),
        tuple(each.SerializeToString(deterministic=True) for each in await client.history(conversation_id)),
        len(await client.audit_events(conversation_id)),
    )


def check_history(events: list[Event]) -> None:
    """Sequences from 1 without a gap; one ending a run, and nothing of a run after its ending."""
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    ended: set[str] = set()
    for event in events:
        if not event.run_id:
            continue
        assert event.run_id not in ended, f"run {event.run_id} goes on after its ending: {event}"
        if event.WhichOneof("payload") in ENDINGS:
            ended.add(event.run_id)
    assert {event.run_id for event in events if event.run_id} == ended, "a run has no ending"

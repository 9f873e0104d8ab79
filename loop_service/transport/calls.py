"""What every handler takes from the RPC being served, and how stored event bytes become response messages."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TypeVar, cast

from handrail_rpc import telemetry
from handrail_rpc.context import current_caller, current_request_id
from loop_service.application.accept import CallInfo
from loop_service.application.ports import Subscription
from loop_service.domain.events import StoredEvent

R = TypeVar("R")


def call_info() -> CallInfo:
    return CallInfo(current_caller(), current_request_id(), telemetry.current_traceparent())


def wrap_event(_response: type[R], event: StoredEvent) -> R:
    """The bytes of a response that has the event as its field 1; the boundary sends bytes as they are.

    Nothing is parsed and nothing rebuilt on the way from the table to the client.
    """
    return cast(R, b"\x0a" + _varint(len(event.data)) + event.data)


async def wrapped(
    response: type[R], events: AsyncGenerator[StoredEvent, None], subscription: Subscription
) -> AsyncGenerator[R, None]:
    """The responses of a stream; what feeds it is closed on every path."""
    try:
        async with aclosing(events) as stream:
            async for event in stream:
                yield wrap_event(response, event)
    finally:
        subscription.close()


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)

"""Calls to the adapter under test: deadlines, refusals taken apart, and a trace of what was sent and what came.

Streams are read here leniently (the last word counts); the rules about streams look at the parts themselves.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import grpc
import grpc.aio
from google.protobuf import text_format
from google.protobuf.message import DecodeError, Message
from google.rpc import error_details_pb2, status_pb2

CALL_SECONDS = 15.0
_DETAILS = "grpc-status-details-bin"
_MOST_SHOWN = 900
_MOST_TRACED = 6

M = TypeVar("M", bound=Message)


@dataclass(frozen=True)
class Refused(Exception):
    """A call that ended with a status, as it came over the wire."""

    code: grpc.StatusCode
    text: str
    reason: str
    info_domain: str
    metadata: dict[str, str]
    fields: dict[str, str]

    def __str__(self) -> str:
        named = f", fields {', '.join(sorted(self.fields))}" if self.fields else ""
        return f"{self.code.name} {self.reason or '(no ErrorInfo)'}: {_cut(self.text)}{named}"


@dataclass
class Trace:
    """The newest exchanges of one rule, for its report."""

    lines: deque[str] = field(default_factory=lambda: deque(maxlen=_MOST_TRACED))

    def sent(self, method: str, message: Message) -> None:
        self.lines.append(f"sent {method} {shown(message)}")

    def came(self, what: Message | Refused) -> None:
        self.lines.append(f"came {what if isinstance(what, Refused) else shown(what)}")


def shown(message: Message) -> str:
    """A message on one line, cut."""
    text = text_format.MessageToString(message, as_one_line=True, as_utf8=True)
    return _cut(f"{type(message).__name__} {{{text}}}")


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 1] + "…"


async def unary(trace: Trace, method: str, call: Callable[..., Awaitable[M]], request: Message) -> M:
    """One unary call. Raises Refused."""
    trace.sent(method, request)
    try:
        answer = await call(request, timeout=CALL_SECONDS)
    except grpc.aio.AioRpcError as error:
        refused = refusal_of(error)
        trace.came(refused)
        raise refused from None
    trace.came(answer)
    return answer


async def parts_of(trace: Trace, method: str, call: Callable[..., Any], request: Message) -> AsyncGenerator[Any, None]:
    """The parts of a server stream as they come. Raises Refused; TimeoutError is its DEADLINE_EXCEEDED."""
    trace.sent(method, request)
    stream = call(request, timeout=CALL_SECONDS)
    try:
        async for part in stream:
            trace.came(part)
            yield part
    except grpc.aio.AioRpcError as error:
        refused = refusal_of(error)
        trace.came(refused)
        raise refused from None
    finally:
        stream.cancel()  # what a rule leaves unread must not hold the call open


def refusal_of(error: grpc.aio.AioRpcError) -> Refused:
    """Code, text and details of a failed call."""
    info = error_details_pb2.ErrorInfo()
    bad = error_details_pb2.BadRequest()
    for key, value in error.trailing_metadata() or ():
        if key != _DETAILS or not isinstance(value, bytes):
            continue
        try:
            for packed in status_pb2.Status.FromString(value).details:
                for into in (info, bad):
                    if packed.Is(into.DESCRIPTOR):
                        packed.Unpack(into)
        except DecodeError:
            continue
    return Refused(
        code=error.code(),
        text=error.details() or "",
        reason=info.reason,
        info_domain=info.domain,
        metadata=dict(info.metadata),
        fields={each.field: each.description for each in bad.field_violations},
    )


async def both(first: Awaitable[Any], second: Awaitable[Any]) -> tuple[Any, Any]:
    """Two calls at the same time; each result is an answer or the Refused that it ended with."""
    found = await asyncio.gather(first, second, return_exceptions=True)
    for each in found:
        if isinstance(each, BaseException) and not isinstance(each, Refused):
            raise each
    return found[0], found[1]

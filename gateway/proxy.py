"""The gRPC proxy: every method of the proxied services, its bytes forwarded unparsed in both directions.

`gateway.bootstrap` adds it to the server. Which methods there are, and which of them stream, comes from the
descriptors of the generated code, so a new RPC needs no line here. Request id, caller and trace travel as metadata; the
peer's status, its details and its trailing metadata come back unchanged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, NoReturn

import grpc
import grpc.aio
from google.protobuf.descriptor import Descriptor, ServiceDescriptor
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from handrail_rpc import status
from handrail_rpc.context import REQUEST_ID_HEADER, current_request_id
from handrail_rpc.errors import Unavailable
from handrail_rpc.logging import get_logger

Context = grpc.aio.ServicerContext[bytes, bytes]
Forward = Callable[[bytes, Context], Awaitable[Any]]

logger = get_logger(__name__)

LOOP_UNAVAILABLE = "LOOP_UNAVAILABLE"
_NO_DEADLINE_SECONDS = 10 * 365 * 86_400

# Set anew for the next hop by gRPC or by the channel, or (credentials) not the next hop's to see.
_OWN_HEADERS = frozenset(
    {
        "accept-language",
        "authorization",
        "content-type",
        "cookie",
        "te",
        "traceparent",
        "user-agent",
        "x-handrail-principal",
        "x-handrail-roles",
        "x-handrail-tenant",
        "x-request-id",
    }
)


class Proxy:
    """Forwards to one peer over `channel`. `deadline_seconds` bounds unary calls; a client's shorter one wins."""

    def __init__(self, channel: grpc.aio.Channel, *, deadline_seconds: float) -> None:
        self._channel = channel
        self._deadline_seconds = deadline_seconds
        self._streams: set[Any] = set()
        self._draining = False

    def handler(self, service: ServiceDescriptor) -> grpc.GenericRpcHandler:
        """The handlers of every method of `service`. Raises ValueError for a client-streaming method."""
        handlers: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}
        for method in service.methods:
            path = f"/{service.full_name}/{method.name}"
            if method.client_streaming:
                raise ValueError(f"{path} streams from the client; the proxy forwards one request a call")
            if method.server_streaming:
                handlers[method.name] = grpc.unary_stream_rpc_method_handler(
                    self._stream(path, _cursor_of(method.output_type))
                )
            else:
                handlers[method.name] = grpc.unary_unary_rpc_method_handler(self._unary(path))
        return grpc.method_handlers_generic_handler(service.full_name, handlers)

    async def drain(self) -> None:
        """End the open streams: UNAVAILABLE, so that a client resumes from its last sequence at the next gateway."""
        self._draining = True
        for call in list(self._streams):
            call.cancel()

    def _unary(self, path: str) -> Forward:
        begin: Any = self._channel.unary_unary(path)

        async def forward(request: bytes, context: Context) -> bytes:
            timeout = min(_remaining(context) or self._deadline_seconds, self._deadline_seconds)
            call = begin(request, timeout=timeout, metadata=_forwarded(context))
            try:
                answer: bytes = await call
                await _pass_trailers(call, context)
                logger.info("call forwarded")
            except grpc.aio.AioRpcError as error:
                await _pass_on(context, error, timeout)
            finally:
                call.cancel()
            return answer

        return forward

    def _stream(self, path: str, cursor_of: Callable[[bytes], str]) -> Forward:
        begin: Any = self._channel.unary_stream(path)

        async def forward(request: bytes, context: Context) -> None:
            if self._draining:
                raise _shutting_down()
            timeout = _remaining(context)
            call = begin(request, timeout=timeout, metadata=_forwarded(context))
            self._streams.add(call)
            last = b""
            try:
                async for message in call:
                    await context.write(message)
                    last = message
                await _pass_trailers(call, context)
                logger.info("stream forwarded")
            except grpc.aio.AioRpcError as error:
                await _pass_on(context, error, timeout or 0.0)
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if self._draining and task is not None and task.cancelling() == 0:
                    # Not the client left: `drain` canceled the call to the peer.
                    raise _shutting_down(cursor_of(last)) from None
                raise
            finally:
                self._streams.discard(call)
                # Leaving the loop does not end the call: the peer would go on writing to nobody.
                call.cancel()

        return forward


def _forwarded(context: Context) -> list[tuple[str, str | bytes]]:
    """The caller's own metadata for the next hop; what `open_channel` adds from the context is not repeated."""
    return [
        (key, value)
        for key, value in context.invocation_metadata() or ()
        if key not in _OWN_HEADERS and not key.startswith(("grpc-", ":"))
    ]


def _remaining(context: Context) -> float | None:
    """Seconds of the client's deadline, None without one (gRPC then reports None or a time decades away)."""
    remaining = context.time_remaining()
    return None if remaining is None or remaining > _NO_DEADLINE_SECONDS else max(remaining, 0.001)


async def _pass_trailers(call: Any, context: Context) -> None:
    trailers = [(key, value) for key, value in await call.trailing_metadata() if key != REQUEST_ID_HEADER]
    if trailers:
        context.set_trailing_metadata(((REQUEST_ID_HEADER, current_request_id()), *trailers))


async def _pass_on(context: Context, error: grpc.aio.AioRpcError, deadline_seconds: float) -> NoReturn:
    away = Unavailable(
        "the workflow loop cannot be reached; the same request may be sent again",
        reason=LOOP_UNAVAILABLE,
        retry_after=timedelta(seconds=1),
    )
    answer = status.forwarded_status(error, current_request_id(), away=away, deadline_seconds=deadline_seconds)
    await status.abort(context, answer)


def _cursor_of(response: Descriptor) -> Callable[[bytes], str]:
    """From the last message of a stream that was forwarded to its cursor; "" where it has none.

    Parsed at the drain only: what is forwarded stays bytes.
    """
    if "event" not in response.fields_by_name:
        return lambda _data: ""
    parse: Any = GetMessageClass(response).FromString

    def cursor(data: bytes) -> str:
        try:
            return str(parse(data).event.sequence) if data else ""
        except DecodeError:
            return ""

    return cursor


def _shutting_down(cursor: str = "") -> Unavailable:
    return Unavailable(
        "the gateway is shutting down; resume with WatchConversation after the last sequence received",
        reason="SERVER_DRAINING",
        metadata={"cursor": cursor} if cursor else None,
    )

"""The outermost layer of every served RPC; `RpcServer` installs it, servicers never see it.

One interceptor does the five things that each call needs, in a fixed order: request id and caller from the metadata,
ids bound for the logs, the server span, the handler, and the mapping of whatever it raises. One instead of five
because gRPC walks the chain anew for each call; the wrapped handlers are kept by method.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Any, TypeAlias

import grpc
import grpc.aio
from google.protobuf.message import DecodeError
from structlog.contextvars import bind_contextvars

from handrail_rpc import context as calls
from handrail_rpc import crash_points, status, telemetry
from handrail_rpc.errors import HandrailError, InvalidArgument
from handrail_rpc.interceptors.call_limits import NO_LIMITS, CallLimits, Room
from handrail_rpc.logging import get_logger

Context = grpc.aio.ServicerContext[Any, Any]
# Quoted: at run time gRPC's handler class takes no type arguments.
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
Serve = Callable[[Any, Context], Awaitable[Any]]

logger = get_logger(__name__)


class Boundary(grpc.aio.ServerInterceptor):
    """Wraps unary and server-streaming handlers of our own services.

    `subscriptions` are full method names (a leading slash does not matter) whose streams idle: their span ends at once.
    `plain_services` (health, reflection) pass untouched. `reply_points` is the prefix of the crash points around what
    is sent to clients; "" for a process that has none. `limits` is how many calls are served at once.
    """

    def __init__(
        self,
        *,
        subscriptions: Collection[str] = (),
        plain_services: Collection[str] = (),
        reply_points: str = "",
        limits: CallLimits = NO_LIMITS,
    ) -> None:
        self._exempt = limits.exempt
        self._unary_calls = Room("unary_calls", limits.unary_calls)
        self._streams = Room("streams", limits.streams)
        self._subscriptions = frozenset(name.lstrip("/") for name in subscriptions)
        self._plain = tuple(f"/{name}/" for name in plain_services)
        self._wrapped: dict[str, tuple[Handler, Handler]] = {}
        self._reply_points = reply_points if crash_points.chosen else ""

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        method = handler_call_details.method
        handler = await continuation(handler_call_details)
        if handler is None or handler.request_streaming or method.startswith(self._plain):
            return handler
        known = self._wrapped.get(method)
        if known is not None and known[0] is handler:
            return known[1]
        wrapped = self._wrap(method.lstrip("/"), handler)
        self._wrapped[method] = (handler, wrapped)
        return wrapped

    def _wrap(self, method: str, handler: Handler) -> Handler:
        point = crash_points.reply_point(self._reply_points, method) if self._reply_points else ""
        if handler.response_streaming:
            return grpc.unary_stream_rpc_method_handler(
                self._guard(
                    method,
                    handler,
                    _written(handler.unary_stream, point),
                    self._room(method, self._streams),
                    method in self._subscriptions,
                ),
                response_serializer=_unless_bytes(handler.response_serializer),
            )
        return grpc.unary_unary_rpc_method_handler(
            self._guard(
                method, handler, _answered(handler.unary_unary, point), self._room(method, self._unary_calls), False
            ),
            response_serializer=handler.response_serializer,
        )

    def _room(self, method: str, room: Room) -> Room:
        return Room("exempt_calls", 0) if method in self._exempt else room

    def _guard(self, method: str, handler: Handler, serve: Serve, room: Room, subscription: bool) -> Serve:
        parse = handler.request_deserializer

        async def guarded(data: bytes, context: Context) -> Any:
            refusal = _enter_call(method, context)
            exporter = telemetry.exporter()
            call = exporter.server_call(method) if exporter is not None else None
            if call is not None and subscription:
                call.detach()
            code = "OK"
            try:
                if refusal is not None:
                    raise refusal
                with room:
                    return await serve(data if parse is None else _parsed(parse, data), context)
            except grpc.aio.AbortError:
                # The handler passed a peer's status through (the gateway).
                code = context.code().name
                logger.info("call refused", code=code, reason="forwarded")
                raise
            except ClientGone:
                # Nobody is left to answer; gRPC's own cancellation of this task is under way.
                code = "CANCELLED"
                return None
            except asyncio.CancelledError as error:
                code = "CANCELLED"
                task = asyncio.current_task()
                if task is not None and task.cancelling() == 0:
                    # Leaked from an inner task, not our cancellation: unanswered, the client would hang until its
                    # deadline (grpc#29248).
                    code = "INTERNAL"
                    await _refuse(context, method, error)
                raise
            except Exception as error:  # noqa: BLE001 - the boundary: mapped, and logged with its cause
                code = status.code_name(error)
                await _refuse(context, method, error)
            finally:
                if call is not None:
                    call.finish(code)

        return guarded


def _unless_bytes(serialize: Callable[[Any], bytes] | None) -> Callable[[Any], bytes] | None:
    """A streaming handler may write messages that are serialized already (stored events): they go out as they are."""
    if serialize is None:
        return None
    return lambda message: message if type(message) is bytes else serialize(message)


def _enter_call(method: str, context: Context) -> HandrailError | None:
    """Set request id, caller, trace parent and log ids for this RPC's task; returns what is wrong with the metadata."""
    metadata: dict[str, str] = {}
    for key, value in context.invocation_metadata() or ():
        if isinstance(value, str):
            # gRPC joins nothing: a repeated header would otherwise be decided by its order.
            metadata[key] = f"{metadata[key]},{value}" if key in metadata else value
    refusal: HandrailError | None = None
    try:
        request_id, caller, traceparent = calls.parse_call(metadata)
    except HandrailError as error:
        refusal = error
        given = metadata.get(calls.REQUEST_ID_HEADER, "")
        request_id = given if calls.is_request_id(given) else calls.new_request_id()
        caller, traceparent = calls.LOCAL_CALLER, ""
    calls.set_call(request_id, caller, traceparent)
    # In the trailers of every answer; `_send_request_id` puts it in front of one that is no refusal.
    context.set_trailing_metadata(((calls.REQUEST_ID_HEADER, request_id),))
    bind_contextvars(request_id=request_id, method=method)
    return refusal


def _parsed(parse: Callable[[bytes], Any], data: bytes) -> Any:
    """The request; parsed within the boundary, as gRPC itself would answer UNKNOWN with the exception's text."""
    try:
        return parse(data)
    except DecodeError:
        raise InvalidArgument(
            "the request is not a message of this method's type (its strings must be UTF-8)", reason="MALFORMED_REQUEST"
        ) from None


async def _refuse(context: Context, method: str, error: BaseException) -> None:
    answer = status.to_status(error, calls.current_request_id())
    if status.is_internal(answer):
        logger.error("call failed", code=answer.code.name, exc_info=error)
    else:
        reason = error.reason if isinstance(error, HandrailError) else ""
        logger.info("call refused", code=answer.code.name, reason=reason)
    await status.abort(context, answer)


class ClientGone(asyncio.CancelledError):
    """The client ended the call while we were writing to it: a cancellation to the servicer, not an error to log."""


async def _send_request_id(context: Context) -> None:
    """Return the request id with the answer, not before it: headers commit a call, and a refusal that follows them can
    no longer be retried by the client's channel. A stream's client can look for its call in the logs from the start."""
    try:
        await context.send_initial_metadata(((calls.REQUEST_ID_HEADER, calls.current_request_id()),))
    except grpc.aio.InternalError:
        raise ClientGone from None


def _answered(unary: Any, point: str) -> Serve:
    async def serve(request: Any, context: Context) -> Any:
        answer = await unary(request, context)
        await _send_request_id(context)
        if point:
            crash_points.reach(f"{point}.before")
            # gRPC sends the answer after this task's end, and calls back once it is sent.
            when_done: Any = context.add_done_callback
            when_done(lambda _context: crash_points.reach(f"{point}.after"))
        return answer

    return serve


class _Writing:
    """A servicer context: the request id goes before its first message, and a client who left is no error."""

    def __init__(self, context: Context, point: str) -> None:
        self._context = context
        self._point = point
        self._begun = False

    async def write(self, message: Any) -> None:
        if not self._begun:
            self._begun = True
            await _send_request_id(self._context)
        if self._point:
            crash_points.reach(f"{self._point}.before")
        try:
            await self._context.write(message)
        except grpc.aio.InternalError:
            # Its text would quote the message.
            raise ClientGone from None
        finally:
            if self._point:
                # Also where the client ends the call as soon as it has what it wants.
                crash_points.reach(f"{self._point}.after")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)


def _written(stream: Any, point: str) -> Serve:
    """A streaming handler as one coroutine that writes.

    An async generator left parked at its yield would get GeneratorExit from the garbage collector, late and in another
    context; owned here, it is closed in the RPC's own task as soon as the RPC ends.
    """

    async def serve(request: Any, context: Context) -> None:
        writing = _Writing(context, point)
        produced = stream(request, writing)
        if not hasattr(produced, "__aiter__"):
            await produced
            return
        try:
            async for message in produced:
                await writing.write(message)
        finally:
            close = getattr(produced, "aclose", None)
            if close is not None:
                await close()

    return serve

"""Channels to a peer: keepalive, retries where they are safe, and the current call's metadata on each request.

Clients, the gateway, and the services' clients open theirs here and put generated stubs on it. The metadata is added
by a thin wrapper of the channel, not by gRPC's client interceptors: those run each call in a task of their own, which
made a unary call a fifth dearer here, the wrapper 7 %. Light: needs grpc only.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import grpc
import grpc.aio

from handrail_rpc.context import outgoing_metadata

MOST_MESSAGE_BYTES = 8 * 1024 * 1024

_OPTIONS: tuple[tuple[str, Any], ...] = (
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    # Without the probe the window stays small: a stalled reader buffers 93 KiB instead of 3 to 6 MiB.
    ("grpc.http2.bdp_probe", 0),
    # A peer that was restarted is found again in well under a second.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2_000),
)


class CallTracer(Protocol):
    """What telemetry plugs in: called as a call starts, may add metadata, and sees the call end."""

    def start(self, method: str, metadata: list[tuple[str, str | bytes]]) -> Callable[[Any], None] | None: ...


_tracer: CallTracer | None = None


def set_call_tracer(tracer: CallTracer | None) -> None:
    """Telemetry's switch; None (the default) costs one comparison a call."""
    global _tracer
    _tracer = tracer


def open_channel(
    target: str,
    *,
    retry_methods: Iterable[str] = (),
    max_message_bytes: int = MOST_MESSAGE_BYTES,
    options: Sequence[tuple[str, Any]] = (),
) -> grpc.aio.Channel:
    """A channel to `target` (host:port, loopback: no TLS yet). Call it with a running event loop; close it at the end.

    `retry_methods` are full names ('handrail.loop.v1.WorkflowLoopService/GetRun') that `request_id` or their nature
    makes safe to send twice: UNAVAILABLE is retried for these (streams: before the first message), for no other.
    """
    channel = grpc.aio.insecure_channel(
        target,
        options=[
            *_OPTIONS,
            ("grpc.max_receive_message_length", max_message_bytes),
            ("grpc.max_send_message_length", max_message_bytes),
            ("grpc.service_config", json.dumps(_service_config(retry_methods))),
            *options,
        ],
    )
    return ContextChannel(channel)


def _service_config(retry_methods: Iterable[str]) -> dict[str, Any]:
    names = []
    for method in sorted(retry_methods):
        service, _, name = method.strip("/").partition("/")
        if not service or not name:
            raise ValueError(f"a retry method is 'package.Service/Method', not {method!r}")
        names.append({"service": service, "method": name})
    if not names:
        return {}
    policy = {
        "maxAttempts": 4,
        "initialBackoff": "0.1s",
        "maxBackoff": "1s",
        "backoffMultiplier": 2,
        "retryableStatusCodes": ["UNAVAILABLE"],
    }
    return {
        "methodConfig": [{"name": names, "retryPolicy": policy}],
        "retryThrottling": {"maxTokens": 100, "tokenRatio": 0.1},
    }


class ContextChannel(grpc.aio.Channel):
    """A channel whose calls carry `context.outgoing_metadata` and are traced; metadata given by hand wins."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._channel = channel

    def unary_unary(self, method: str, *arguments: Any, **options: Any) -> Any:
        return _with_context(method, self._channel.unary_unary(method, *arguments, **options))

    def unary_stream(self, method: str, *arguments: Any, **options: Any) -> Any:
        return _with_context(method, self._channel.unary_stream(method, *arguments, **options))

    def stream_unary(self, method: str, *arguments: Any, **options: Any) -> Any:
        return _with_context(method, self._channel.stream_unary(method, *arguments, **options))

    def stream_stream(self, method: str, *arguments: Any, **options: Any) -> Any:
        return _with_context(method, self._channel.stream_stream(method, *arguments, **options))

    async def close(self, grace: float | None = None) -> None:
        await self._channel.close(grace)

    def get_state(self, try_to_connect: bool = False) -> grpc.ChannelConnectivity:
        return self._channel.get_state(try_to_connect)

    async def wait_for_state_change(self, last_observed_state: grpc.ChannelConnectivity) -> None:
        await self._channel.wait_for_state_change(last_observed_state)

    async def channel_ready(self) -> None:
        await self._channel.channel_ready()

    async def __aenter__(self) -> ContextChannel:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _with_context(method: str, callable_: Any) -> Callable[..., Any]:
    name = method.lstrip("/")

    def call(*arguments: Any, metadata: Any = None, **options: Any) -> Any:
        pairs: list[tuple[str, str | bytes]] = list(metadata) if metadata is not None else []
        given = {key for key, _ in pairs}
        pairs.extend(pair for pair in outgoing_metadata() if pair[0] not in given)
        finish = None if _tracer is None else _tracer.start(name, pairs)
        started = callable_(*arguments, metadata=pairs, **options)
        if finish is not None:
            started.add_done_callback(finish)
        return started

    return call

"""The live side of `telemetry`: spans and metrics over OTLP, and the RPC conventions for both sides of a call.

Only `telemetry.configure` makes an `Exporter`. The RPC names follow OpenTelemetry's stable RPC conventions
(rpc.system.name, rpc.method, rpc.response.status_code, rpc.server.call.duration): the contributed gRPC
instrumentation breaks `context.write` handlers and leaves the status unset (engineering.md 'OpenTelemetry').
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, cast

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import Counter, Histogram, UpDownCounter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from handrail_rpc import context
from handrail_rpc.channel import set_call_tracer
from handrail_rpc.telemetry import Attributes, Kind, Span, Value

SYSTEM = "grpc"
SERVER_DURATION = "rpc.server.call.duration"
CLIENT_DURATION = "rpc.client.call.duration"
OPEN_STREAMS = "handrail.rpc.server.open_streams"
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 120)
# On the server only these statuses are the server's own fault (RPC conventions); the others are answers.
_SERVER_FAULTS = frozenset({"UNKNOWN", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"})
_KINDS = {"internal": SpanKind.INTERNAL, "server": SpanKind.SERVER, "client": SpanKind.CLIENT}


class Exporter:
    """A process's tracer and meter, sending to one OTLP endpoint; never blocks a caller."""

    def __init__(self, service: str, endpoint: str) -> None:
        _quieten()
        insecure = not endpoint.startswith("https://")
        resource = Resource.create({"service.name": service, "service.namespace": "handrail"})
        self._traces = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._traces.add_span_processor(
            BatchSpanProcessor(
                OTLPSpanExporter(endpoint=endpoint, insecure=insecure, timeout=5),
                schedule_delay_millis=_milliseconds("OTEL_BSP_SCHEDULE_DELAY", 1000),
            )
        )
        reader = PeriodicExportingMetricReader(
            OTLPMetricExporter(endpoint=endpoint, insecure=insecure, timeout=5),
            export_interval_millis=_milliseconds("OTEL_METRIC_EXPORT_INTERVAL", 15_000),
        )
        self._metrics = MeterProvider(resource=resource, metric_readers=[reader], shutdown_on_exit=False)
        self._tracer = self._traces.get_tracer("handrail")
        self._meter = self._metrics.get_meter("handrail")
        self._counters: dict[str, Counter] = {}
        self._gauges: dict[str, UpDownCounter] = {}
        self._histograms: dict[str, Histogram] = {}
        set_call_tracer(self)

    def span(
        self, name: str, kind: Kind, attributes: Attributes | None, *, parent: str, link: str = ""
    ) -> AbstractContextManager[Span]:
        """See `telemetry.span`; `parent` and `link` are traceparents, "" for none."""
        linked = _span_context(link)
        return _LiveSpan(
            self._tracer.start_span(
                name,
                context=_parent_context(parent),
                kind=_KINDS[kind],
                attributes=dict(attributes or {}),
                links=[Link(linked)] if linked is not None else None,
                record_exception=False,
                set_status_on_exception=False,
            )
        )

    def count(self, name: str, amount: int, attributes: Attributes | None, unit: str) -> None:
        counter = self._counters.get(name)
        if counter is None:
            counter = self._counters.setdefault(name, self._meter.create_counter(name, unit=unit))
        counter.add(amount, dict(attributes or {}))

    def gauge_add(self, name: str, amount: int, attributes: Attributes | None, unit: str) -> None:
        gauge = self._gauges.get(name)
        if gauge is None:
            gauge = self._gauges.setdefault(name, self._meter.create_up_down_counter(name, unit=unit))
        gauge.add(amount, dict(attributes or {}))

    def observe(self, name: str, value: float, attributes: Attributes | None, unit: str) -> None:
        histogram = self._histograms.get(name)
        if histogram is None:
            created = self._meter.create_histogram(
                name, unit=unit, explicit_bucket_boundaries_advisory=_BUCKETS if unit == "s" else None
            )
            histogram = self._histograms.setdefault(name, created)
        histogram.record(value, dict(attributes or {}))

    def server_call(self, method: str) -> ServerCall:
        """Begin the server span of an RPC: a child of the caller's span, current until `finish`."""
        return ServerCall(self, method)

    def start(self, method: str, metadata: list[tuple[str, str | bytes]]) -> Callable[[Any], None]:
        """`channel.CallTracer`: the client span of one call, its traceparent put into `metadata`."""
        span = self._tracer.start_span(
            method,
            context=_parent_context(context.incoming_traceparent()),
            kind=SpanKind.CLIENT,
            attributes={"rpc.system.name": SYSTEM, "rpc.method": method},
        )
        metadata[:] = [pair for pair in metadata if pair[0] != context.TRACEPARENT_HEADER]
        metadata.append((context.TRACEPARENT_HEADER, _format(span.get_span_context())))
        began = time.perf_counter()

        def finish(call: Any) -> None:
            code = _ended_code(call)
            _end_rpc(span, code, failed=code != "OK")
            self._record_rpc(CLIENT_DURATION, method, code, time.perf_counter() - began)

        return finish

    def shutdown(self, timeout_seconds: float) -> None:
        """Export what is left. The work is on a daemon thread: whatever the collector does, this returns in time."""
        set_call_tracer(None)
        until = time.monotonic() + timeout_seconds
        workers = [
            threading.Thread(target=stop, name="handrail-telemetry-flush", daemon=True)
            for stop in (self._traces.shutdown, self._metrics.shutdown)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(max(0.0, until - time.monotonic()))

    def _record_rpc(self, metric: str, method: str, code: str, seconds: float) -> None:
        self.observe(
            metric,
            seconds,
            {"rpc.system.name": SYSTEM, "rpc.method": method, "rpc.response.status_code": code},
            "s",
        )


class ServerCall:
    """One served RPC. `detach` ends the span early for a subscription: an idle stream is not one endless span."""

    def __init__(self, exporter: Exporter, method: str) -> None:
        self._exporter = exporter
        self._method = method
        self._began = time.perf_counter()
        self._is_subscription = False
        self._live = cast(
            _LiveSpan,
            exporter.span(
                method,
                "server",
                {"rpc.system.name": SYSTEM, "rpc.method": method},
                parent=context.incoming_traceparent(),
            ),
        )
        self._live.__enter__()

    def detach(self) -> None:
        self._is_subscription = True
        self._exporter.gauge_add(OPEN_STREAMS, 1, {"rpc.method": self._method}, "{stream}")
        self._live.end("OK", failed=False)

    def finish(self, code: str) -> None:
        if self._is_subscription:
            self._exporter.gauge_add(OPEN_STREAMS, -1, {"rpc.method": self._method}, "{stream}")
        else:
            self._live.end(code, failed=code in _SERVER_FAULTS)
        self._exporter._record_rpc(SERVER_DURATION, self._method, code, time.perf_counter() - self._began)


class _LiveSpan(AbstractContextManager[Span]):
    """A started span; current (for OpenTelemetry and for outgoing metadata) between enter and exit."""

    def __init__(self, span: trace.Span) -> None:
        self._span = span
        self._failed = False

    def set(self, key: str, value: Value) -> None:
        self._span.set_attribute(key, value)

    def event(self, name: str, attributes: Attributes | None = None) -> None:
        self._span.add_event(name, dict(attributes or {}))

    def fail(self, code: str) -> None:
        self._failed = True
        self._span.set_attribute("error.type", code)
        self._span.set_status(Status(StatusCode.ERROR, code))

    def end(self, code: str, *, failed: bool) -> None:
        """End as the span of an RPC with that status."""
        _end_rpc(self._span, code, failed=failed)
        self._leave()

    def __enter__(self) -> Span:
        self._otel_before = otel_context.get_current()
        self._traceparent_before = context.incoming_traceparent()
        otel_context.attach(trace.set_span_in_context(self._span))
        context.set_traceparent(_format(self._span.get_span_context()))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None and not self._failed:
            # The type only: an exception's text may quote what a person wrote.
            self.fail(getattr(error, "reason", None) or type(error).__name__)
        self._span.end()
        self._leave()

    def _leave(self) -> None:
        # Left in another task's context (a generator closed late), the current span is not ours to replace.
        if trace.get_current_span() is self._span:
            otel_context.attach(self._otel_before)
            context.set_traceparent(self._traceparent_before)


def _end_rpc(span: trace.Span, code: str, *, failed: bool) -> None:
    span.set_attribute("rpc.response.status_code", code)
    if failed:
        span.set_attribute("error.type", code)
        span.set_status(Status(StatusCode.ERROR))
    span.end()


def _ended_code(call: Any) -> str:
    """The status of a call that has ended: `code()` is then ready at once, so one step of it is enough."""
    waiting = call.code()
    try:
        waiting.send(None)
    except StopIteration as ready:
        return str(ready.value.name)
    finally:
        waiting.close()
    return "UNKNOWN"


def _parent_context(parent: str) -> otel_context.Context:
    current = trace.get_current_span()
    if parent and _format(current.get_span_context()) == parent:
        return trace.set_span_in_context(current, otel_context.Context())
    remote = _span_context(parent)
    if remote is None:
        return otel_context.Context()
    return trace.set_span_in_context(NonRecordingSpan(remote), otel_context.Context())


def _span_context(traceparent: str) -> SpanContext | None:
    parts = traceparent.split("-")
    if len(parts) != 4:
        return None
    found = SpanContext(int(parts[1], 16), int(parts[2], 16), is_remote=True, trace_flags=TraceFlags(int(parts[3], 16)))
    return found if found.is_valid else None


def _format(span: SpanContext) -> str:
    return f"00-{span.trace_id:032x}-{span.span_id:016x}-{span.trace_flags:02x}" if span.is_valid else ""


def _milliseconds(variable: str, default: int) -> int:
    text = os.environ.get(variable, "")
    return int(text) if text.isascii() and text.isdigit() and int(text) > 0 else default


class _OncePerMinute(logging.Filter):
    """A collector that is away is worth one line a minute, not one an attempt."""

    def __init__(self) -> None:
        super().__init__()
        self._next = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + 60
        return True


def _quieten() -> None:
    once = _OncePerMinute()
    for name in ("exporter.otlp.proto.grpc.exporter", "sdk._shared_internal", "sdk.metrics._internal.export"):
        logger = logging.getLogger(f"opentelemetry.{name}")
        logger.filters[:] = [once]
        logger.setLevel(logging.ERROR)

"""A real OTLP collector in a few lines: the three gRPC services of opentelemetry-proto on a loopback port.

Tests that assert on traces or metrics start one, hand `endpoint` to the process under test, and wait for what they
expect. It keeps everything it received, in arrival order.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeVar

import grpc
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2, logs_service_pb2_grpc
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2, metrics_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc
from opentelemetry.proto.trace.v1 import trace_pb2

T = TypeVar("T")


@dataclass(frozen=True)
class ReceivedSpan:
    """One span; ids in lower-case hex, "" for no parent; `links` are (trace_id, span_id) pairs."""

    service: str
    name: str
    kind: str
    trace_id: str
    span_id: str
    parent_span_id: str
    links: tuple[tuple[str, str], ...]
    attributes: dict[str, Any]
    events: tuple[str, ...]
    failed: bool

    def is_named_by(self, traceparent: str) -> bool:
        """Whether `traceparent` names this span (the exporter does not send the trace flags)."""
        return traceparent.split("-")[1:3] == [self.trace_id, self.span_id]


@dataclass(frozen=True)
class ReceivedPoint:
    """One data point of a metric: `value` is a sum, or the count of a histogram (`total` its sum)."""

    service: str
    name: str
    attributes: dict[str, Any]
    value: float
    total: float


class OtlpReceiver:
    """`with OtlpReceiver() as receiver:` listens on a free loopback port until the block ends."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._spans: list[ReceivedSpan] = []
        self._points: list[ReceivedPoint] = []
        self._log_records = 0
        self._server = grpc.server(ThreadPoolExecutor(max_workers=4))
        trace_service_pb2_grpc.add_TraceServiceServicer_to_server(_Traces(self._add), self._server)
        metrics_service_pb2_grpc.add_MetricsServiceServicer_to_server(_Metrics(self._add), self._server)
        logs_service_pb2_grpc.add_LogsServiceServicer_to_server(_Logs(self._add), self._server)
        self._port = self._server.add_insecure_port("127.0.0.1:0")

    @property
    def endpoint(self) -> str:
        """For HANDRAIL_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_ENDPOINT."""
        return f"http://127.0.0.1:{self._port}"

    def spans(self, name: str | None = None) -> list[ReceivedSpan]:
        with self._changed:
            return [span for span in self._spans if name is None or span.name == name]

    def points(self, name: str) -> list[ReceivedPoint]:
        with self._changed:
            return [point for point in self._points if point.name == name]

    def wait_for(self, find: Callable[[], T], *, seconds: float = 10.0) -> T:
        """Call `find` after each arrival until truthy; AssertionError listing the spans after `seconds`."""
        with self._changed:
            found: list[T] = []

            def look() -> bool:
                found[:] = [find()]
                return bool(found[0])

            if not self._changed.wait_for(look, seconds):
                names = [f"{span.service}:{span.name}" for span in self._spans]
                raise AssertionError(f"not received within {seconds} s; spans so far: {names}")
            return found[0]

    def wait_for_span(self, name: str, *, seconds: float = 10.0) -> ReceivedSpan:
        return self.wait_for(lambda: self.spans(name), seconds=seconds)[0]

    def _add(self, spans: list[ReceivedSpan], points: list[ReceivedPoint], log_records: int) -> None:
        with self._changed:
            self._spans += spans
            self._points += points
            self._log_records += log_records
            self._changed.notify_all()

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.stop(None).wait()


Add = Callable[[list[ReceivedSpan], list[ReceivedPoint], int], None]


class _Traces(trace_service_pb2_grpc.TraceServiceServicer):
    def __init__(self, add: Add) -> None:
        self._add = add

    def Export(self, request: Any, context: grpc.ServicerContext) -> Any:
        self._add(
            [
                _span(_service(resource), span)
                for resource in request.resource_spans
                for scope in resource.scope_spans
                for span in scope.spans
            ],
            [],
            0,
        )
        return trace_service_pb2.ExportTraceServiceResponse()


class _Metrics(metrics_service_pb2_grpc.MetricsServiceServicer):
    def __init__(self, add: Add) -> None:
        self._add = add

    def Export(self, request: Any, context: grpc.ServicerContext) -> Any:
        points = [
            point
            for resource in request.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            for point in _points(_service(resource), metric)
        ]
        self._add([], points, 0)
        return metrics_service_pb2.ExportMetricsServiceResponse()


class _Logs(logs_service_pb2_grpc.LogsServiceServicer):
    def __init__(self, add: Add) -> None:
        self._add = add

    def Export(self, request: Any, context: grpc.ServicerContext) -> Any:
        records = sum(len(scope.log_records) for resource in request.resource_logs for scope in resource.scope_logs)
        self._add([], [], records)
        return logs_service_pb2.ExportLogsServiceResponse()


def _span(service: str, span: Any) -> ReceivedSpan:
    return ReceivedSpan(
        service=service,
        name=span.name,
        kind=trace_pb2.Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_").lower(),
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_span_id=span.parent_span_id.hex(),
        links=tuple((link.trace_id.hex(), link.span_id.hex()) for link in span.links),
        attributes=_attributes(span.attributes),
        events=tuple(event.name for event in span.events),
        failed=span.status.code == trace_pb2.Status.STATUS_CODE_ERROR,
    )


def _points(service: str, metric: Any) -> list[ReceivedPoint]:
    kind = metric.WhichOneof("data")
    found = []
    for point in getattr(metric, kind).data_points if kind else ():
        attributes = _attributes(point.attributes)
        if kind == "histogram":
            found.append(ReceivedPoint(service, metric.name, attributes, float(point.count), point.sum))
        else:
            value = float(getattr(point, point.WhichOneof("value") or "as_int"))
            found.append(ReceivedPoint(service, metric.name, attributes, value, value))
    return found


def _service(resource: Any) -> str:
    return str(_attributes(resource.resource.attributes).get("service.name", ""))


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value") or "string_value") for pair in pairs}

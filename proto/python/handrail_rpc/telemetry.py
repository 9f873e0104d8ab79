"""Traces and metrics for every process: one small vocabulary that does nothing until an endpoint is configured.

Composition roots call `configure`; everything else uses `span`, `root_span`, `continued_span`, `count`, `observe` and
`current_traceparent`. OpenTelemetry is imported by `telemetry_export` alone, and only when there is somewhere to send
to. Attributes are ids, codes and sizes, never texts (requirement G5).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from handrail_rpc.context import incoming_traceparent
from handrail_rpc.errors import StartRefused

if TYPE_CHECKING:
    from handrail_rpc.telemetry_export import Exporter

Value: TypeAlias = str | int | float | bool
Attributes: TypeAlias = Mapping[str, Value]
Kind = Literal["internal", "server", "client"]

_ENDPOINT = re.compile(r"(https?://)?([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(:[0-9]{1,5})?/?")

FLUSH_SECONDS = 2.0
"""How long `shutdown` may take: a collector that does not answer must not hold up the exit."""


class Span(Protocol):
    """The part of a span that callers use."""

    def set(self, key: str, value: Value) -> None:
        """Add an attribute."""

    def event(self, name: str, attributes: Attributes | None = None) -> None:
        """Add a moment within the span."""

    def fail(self, code: str) -> None:
        """Mark the span as failed with a machine code (error.type); never a text."""


class _NoSpan(AbstractContextManager[Span]):
    """The span of a process without an endpoint; one instance serves all."""

    def set(self, key: str, value: Value) -> None:
        return None

    def event(self, name: str, attributes: Attributes | None = None) -> None:
        return None

    def fail(self, code: str) -> None:
        return None

    def __enter__(self) -> Span:
        return self

    def __exit__(self, *_: object) -> None:
        return None


_NO_SPAN = _NoSpan()
_exporter: Exporter | None = None


def endpoint_from_environment() -> str | None:
    """HANDRAIL_OTLP_ENDPOINT, else OTEL_EXPORTER_OTLP_ENDPOINT, else None (OTLP over gRPC, http://host:4317)."""
    return os.environ.get("HANDRAIL_OTLP_ENDPOINT") or os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or None


def configure(service: str, endpoint: str | None = None) -> bool:
    """Start exporting to `endpoint` (default: from the environment); without one nothing happens and False returns.

    Raises StartRefused for an endpoint of another form.
    """
    global _exporter
    target = endpoint or endpoint_from_environment()
    if target is None:
        return False
    if not _ENDPOINT.fullmatch(target):
        raise StartRefused(
            "HANDRAIL_OTLP_ENDPOINT (or OTEL_EXPORTER_OTLP_ENDPOINT): must be the URL of an OTLP gRPC collector, for "
            "example http://127.0.0.1:4317"
        )
    if _exporter is None:
        from handrail_rpc.telemetry_export import Exporter

        _exporter = Exporter(service, target)
    return True


def shutdown(timeout_seconds: float = FLUSH_SECONDS) -> None:
    """Flush and stop, at most `timeout_seconds` long. Blocks; a no-op when nothing is configured."""
    global _exporter
    exporter, _exporter = _exporter, None
    if exporter is not None:
        exporter.shutdown(timeout_seconds)


def exporter() -> Exporter | None:
    """The live side, for the RPC boundary; None when nothing is configured."""
    return _exporter


def span(name: str, attributes: Attributes | None = None, *, kind: Kind = "internal") -> AbstractContextManager[Span]:
    """A span below the current one. An exception that leaves the block marks it failed with the exception's type."""
    if _exporter is None:
        return _NO_SPAN
    return _exporter.span(name, kind, attributes, parent=incoming_traceparent())


def root_span(name: str, *, link: str = "", attributes: Attributes | None = None) -> AbstractContextManager[Span]:
    """A new trace, linked to the stored traceparent `link`: a resumed run, after the wait ended the former trace."""
    if _exporter is None:
        return _NO_SPAN
    return _exporter.span(name, "internal", attributes, parent="", link=link)


def continued_span(
    name: str, *, parent: str, link: str = "", attributes: Attributes | None = None
) -> AbstractContextManager[Span]:
    """A span of the trace that the stored traceparent `parent` names: a worker goes on with a request's trace.

    `link` is the traceparent of the run that waited, where this one resumes it under a request of its own.
    """
    if _exporter is None:
        return _NO_SPAN
    return _exporter.span(name, "internal", attributes, parent=parent, link=link)


def current_traceparent() -> str:
    """The W3C traceparent to store or to send ("" if there is none). Without an endpoint, what the caller sent."""
    return incoming_traceparent()


def count(name: str, amount: int = 1, attributes: Attributes | None = None, *, unit: str = "1") -> None:
    """Add to a counter (an up-down counter takes negative amounts: use `gauge_add`)."""
    if _exporter is not None:
        _exporter.count(name, amount, attributes, unit)


def gauge_add(name: str, amount: int, attributes: Attributes | None = None, *, unit: str = "1") -> None:
    """Move an up-down counter: open streams, waiting runs."""
    if _exporter is not None:
        _exporter.gauge_add(name, amount, attributes, unit)


def observe(name: str, value: float, attributes: Attributes | None = None, *, unit: str = "s") -> None:
    """Record one value in a histogram; durations are in seconds."""
    if _exporter is not None:
        _exporter.observe(name, value, attributes, unit)

"""Structured logs: one JSON object a line on stderr, with the ids of the call or run being served.

Every process calls `configure_logging` once; everything else takes `get_logger`. An event is a fixed phrase and data
goes into keys. Message texts, prompts, answers and credentials are never logged (requirement G5).
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager, suppress
from typing import Any, Literal, TextIO, cast

import structlog
from structlog.contextvars import bind_contextvars, get_contextvars, merge_contextvars, reset_contextvars
from structlog.typing import FilteringBoundLogger, Processor

Level = Literal["debug", "info", "warning", "error"]

_MOST_EXCEPTION_TEXT = 500
_MOST_FRAMES = 30
_ORDER = ("time", "level", "service", "logger", "event")


def configure_logging(service: str, level: Level = "info") -> None:
    """Send our own logs from `level` up, and other libraries' from warning up, to stderr as JSON lines."""
    number = getattr(logging, level.upper())
    shared: list[Processor] = [
        merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
        _service(service),
        _describe_exception,
    ]
    structlog.configure(
        processors=[*shared, _in_order, structlog.processors.JSONRenderer(serializer=_dump)],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.WriteLoggerFactory(file=cast(TextIO, _Forgiving(sys.stderr))),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *shared],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _in_order,
                structlog.processors.JSONRenderer(serializer=_dump),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)


class _Forgiving:
    """Where log lines go. One that cannot be written is dropped: a full disk must not end what it was to tell of."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        with suppress(OSError):
            self._stream.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()


def get_logger(name: str) -> FilteringBoundLogger:
    """A logger for one module: `logger = get_logger(__name__)`; `logger.info("run claimed", run_id=run_id)`."""
    return cast(FilteringBoundLogger, structlog.get_logger(logger_name=name))


@contextmanager
def log_context(**ids: str) -> Iterator[None]:
    """Add ids (conversation_id, interaction_id, run_id, tool_call_id, …) to every log line of the block."""
    tokens = bind_contextvars(**ids)
    try:
        yield
    finally:
        reset_contextvars(**tokens)


def bind_log_ids(**ids: str) -> None:
    """Like `log_context` for the rest of the current task (a servicer that has just learnt the ids)."""
    bind_contextvars(**ids)


def bound_log_ids() -> dict[str, Any]:
    return get_contextvars()


def _service(service: str) -> Processor:
    def add(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        event["service"] = service
        return event

    return add


def _describe_exception(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Replace exc_info by type, a bounded text and the frames: no local values, no endless text."""
    info = event.pop("exc_info", None)
    if info is True:
        info = sys.exc_info()
    if isinstance(info, BaseException):
        info = (type(info), info, info.__traceback__)
    if not info or info[1] is None:
        return event
    error = info[1]
    frames = traceback.extract_tb(error.__traceback__)[-_MOST_FRAMES:]
    event["exception"] = {
        "type": f"{type(error).__module__}.{type(error).__qualname__}",
        "text": str(error)[:_MOST_EXCEPTION_TEXT],
        "frames": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames],
    }
    if error.__cause__ is not None:
        event["exception"]["cause"] = type(error.__cause__).__qualname__
    return event


def _in_order(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    if "logger_name" in event:
        event["logger"] = event.pop("logger_name")
    ordered = {key: event[key] for key in _ORDER if key in event}
    ordered.update(event)
    return ordered


def _dump(event: Any, **_: Any) -> str:
    return json.dumps(event, ensure_ascii=False, default=str, separators=(",", ":"))

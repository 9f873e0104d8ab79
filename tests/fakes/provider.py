"""A model provider on loopback that speaks the Messages API, for tests with the real SDK (issue 5).

A real HTTP server: JSON and event stream, scripted per test, able to misbehave. Every request is kept, so that a test
can say what a prompt contains and what it does not.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

NAMES = {429: "rate_limit_error", 500: "api_error", 529: "overloaded_error", 401: "authentication_error"}


@dataclass(frozen=True)
class Asked:
    """One request as it came: `body` is its JSON, `raw` its bytes."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    raw: bytes

    @property
    def data(self) -> dict[str, Any]:
        """The JSON that the one user message consists of."""
        (message,) = self.body["messages"]
        assert message["role"] == "user"
        loaded: dict[str, Any] = json.loads(message["content"])
        return loaded


@dataclass(frozen=True)
class Says:
    """A message with this text. A dict is told as JSON."""

    text: str | dict[str, Any]
    stop_reason: str = "end_turn"
    prompt_tokens: int = 50
    output_tokens: int = 7


@dataclass(frozen=True)
class Refuses:
    """An error status, optionally with a retry-after of so many seconds, or a redirect to `location`."""

    status: int
    retry_after: str = ""
    location: str = ""


@dataclass(frozen=True)
class Breaks:
    """`raw` in place of JSON; `cut` closes the connection in the middle of it, or of the event stream."""

    raw: bytes = b'{"id": "msg_1", "type": "mess'
    cut: bool = False


@dataclass(frozen=True)
class Hangs:
    """Answers once `release` is set; never before."""

    release: asyncio.Event = field(default_factory=asyncio.Event)


Behaviour = Says | Refuses | Breaks | Hangs
Script = Callable[[Asked], Behaviour]


class FakeProvider:
    """`behave` is the script; `asked` holds every request; `arrived` is set at each."""

    def __init__(self, behave: Script) -> None:
        self.behave = behave
        self.asked: list[Asked] = []
        self.arrived = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def base_url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def start(self) -> FakeProvider:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        # The client goes away in the middle, or the test ends: neither is an error of this server.
        with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            try:
                while await self._answer_one(reader, writer):
                    pass
            finally:
                writer.close()

    async def _answer_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; False where the connection is to be closed."""
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        raw = await reader.readexactly(int(headers.get("content-length", "0")))
        asked = Asked(first.split()[1], headers, json.loads(raw), raw)
        self.asked.append(asked)
        self.arrived.set()
        behaviour = self.behave(asked)
        streams = bool(asked.body.get("stream"))
        kind = "text/event-stream" if streams else "application/json"
        match behaviour:
            case Hangs(release):
                await release.wait()
                return False
            case Refuses(status, retry_after, location):
                told = {"retry-after": retry_after, "location": location}
                extra = {name: value for name, value in told.items() if value}
                await _send(writer, status, "application/json", _error(status), **extra)
            case Breaks(raw_answer, cut):
                body = _events(Says("cut off"))[:200] if streams else raw_answer
                await _send(writer, 200, kind, body, missing=100 if cut else 0)
                return not cut
            case Says():
                body = _events(behaviour) if streams else json.dumps(_message(behaviour)).encode()
                await _send(writer, 200, kind, body)
        return True


async def _send(
    writer: asyncio.StreamWriter, status: int, kind: str, body: bytes, missing: int = 0, **extra: str
) -> None:
    """`missing` bytes are promised and never sent."""
    headers = {"content-type": kind, "content-length": str(len(body) + missing), "request-id": "req_fake", **extra}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"HTTP/1.1 {status} Status\r\n{head}\r\n".encode() + body)
    await writer.drain()


def _text(says: Says) -> str:
    return says.text if isinstance(says.text, str) else json.dumps(says.text)


def _message(says: Says) -> dict[str, Any]:
    return {
        "id": "msg_fake",
        "type": "message",
        "role": "assistant",
        "model": "fake-model",
        "content": [{"type": "text", "text": _text(says)}],
        "stop_reason": says.stop_reason,
        "stop_sequence": None,
        "usage": {"input_tokens": says.prompt_tokens, "output_tokens": says.output_tokens},
    }


def _error(status: int) -> bytes:
    error = {"type": NAMES.get(status, "invalid_request_error"), "message": "SECRET-OF-THE-PROVIDER"}
    return json.dumps({"type": "error", "error": error}).encode()


def _events(says: Says) -> bytes:
    """The message as the events of its stream, the text in pieces of ten characters."""
    text = _text(says)
    begun = {**_message(says), "content": [], "stop_reason": None}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": begun}]
    events.append({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
    for start in range(0, len(text), 10):
        delta = {"type": "text_delta", "text": text[start : start + 10]}
        events.append({"type": "content_block_delta", "index": 0, "delta": delta})
    events.append({"type": "content_block_stop", "index": 0})
    ended = {"stop_reason": says.stop_reason, "stop_sequence": None}
    events.append({"type": "message_delta", "delta": ended, "usage": {"output_tokens": says.output_tokens}})
    events.append({"type": "message_stop"})
    return b"".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in events)


def one_after_another(*behaviours: Behaviour) -> Script:
    """These in turn; the last one again and again."""
    left = list(behaviours)
    return lambda _asked: left.pop(0) if len(left) > 1 else left[0]


@asynccontextmanager
async def providing(behave: Script | Behaviour) -> AsyncIterator[FakeProvider]:
    """A provider that follows a script, or always behaves in one way."""
    script = behave if callable(behave) else one_after_another(behave)
    provider = await FakeProvider(script).start()
    try:
        yield provider
    finally:
        await provider.stop()

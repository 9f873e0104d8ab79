"""In-process wake-ups for readers of events: bounded, and only a hint. Storage publishes, streams subscribe."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress

from handrail_rpc.errors import Unavailable
from loop_service.domain.events import StoredEvent


class ReaderSubscription:
    """New events of one conversation for one reader, at most `most` of them; then the reader must read the table."""

    def __init__(self, feed: EventFeed, conversation_id: str, most: int) -> None:
        self._feed = feed
        self._conversation_id = conversation_id
        self._most = most
        self._events: deque[StoredEvent] = deque()
        self._woken = asyncio.Event()
        self._gap = False
        self._live = False
        self._overflowed = False

    @property
    def overflowed(self) -> bool:
        return self._overflowed

    def start_live(self) -> None:
        self._live = True

    def push(self, events: Sequence[StoredEvent]) -> None:
        if self._overflowed:
            return
        if len(self._events) + len(events) > self._most:
            # A reader that still catches up reads the table at its own pace; a live one is too slow and is closed.
            self._events.clear()
            self._gap = True
            if self._live:
                self._overflowed = True
        else:
            self._events.extend(events)
        self._woken.set()

    def wake(self) -> None:
        self._woken.set()

    def take(self) -> list[StoredEvent] | None:
        self._woken.clear()
        if self._gap:
            self._gap = False
            self._events.clear()
            return None
        taken = list(self._events)
        self._events.clear()
        return taken

    async def wait(self, seconds: float) -> bool:
        self._check_open()
        if not self._woken.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._woken.wait()
        self._check_open()
        return self._woken.is_set()

    def close(self) -> None:
        self._feed.remove(self._conversation_id, self)

    def _check_open(self) -> None:
        if self._feed.draining:
            raise Unavailable("the server is shutting down; resume from the last cursor", reason="SERVER_DRAINING")


class EventFeed:
    """All subscriptions of this process, by conversation. Used from the event loop's thread only."""

    def __init__(self, most_lag: int) -> None:
        self._most_lag = most_lag
        self._readers: dict[str, set[ReaderSubscription]] = {}
        self.draining = False

    def subscribe(self, conversation_id: str) -> ReaderSubscription:
        reader = ReaderSubscription(self, conversation_id, self._most_lag)
        self._readers.setdefault(conversation_id, set()).add(reader)
        return reader

    def remove(self, conversation_id: str, reader: ReaderSubscription) -> None:
        readers = self._readers.get(conversation_id)
        if readers is not None:
            readers.discard(reader)
            if not readers:
                del self._readers[conversation_id]

    def publish(self, conversation_id: str, events: Sequence[StoredEvent]) -> None:
        for reader in tuple(self._readers.get(conversation_id, ())):
            reader.push(events)

    def drain(self) -> None:
        """End every reader with its cursor."""
        self.draining = True
        for readers in self._readers.values():
            for reader in readers:
                reader.wake()

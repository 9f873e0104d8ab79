"""A TCP relay that counts the bytes it passes on, both ways together; for the growth tests' wire."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

_CHUNK = 65_536


class Relay:
    """`count` bytes have gone through so far."""

    def __init__(self, port: int) -> None:
        self.count = 0
        self.target = ""
        self._port = port

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until either side ends it."""
        there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pass_on(reader, there_writer))
                group.create_task(self._pass_on(there_reader, writer))
        finally:
            there_writer.close()
            writer.close()

    async def _pass_on(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await source.read(_CHUNK):
                self.count += len(data)
                sink.write(data)
                await sink.drain()
            sink.close()


@asynccontextmanager
async def relay_to(port: int) -> AsyncIterator[Relay]:
    """A relay to `port` of this machine, listening at `target`."""
    relay = Relay(port)
    server = await asyncio.start_server(relay.serve, "127.0.0.1", 0)
    relay.target = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield relay
    finally:
        server.close()

"""What gRPC alone takes of a round: R1's and R2's calls and messages through bare processes that do nothing else.

`python -m bench.chain` prints the cost in echoes by CPU, at 64 clients. The numbers of calls and messages are those
that the benchmark counts ("Counted, for each round"); of the rest, a round's cost above this is Handrail's own.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import grpc.aio

from bench.driver import process_line, running_process
from bench.echo import CHANNEL_OPTIONS, SERVER_OPTIONS
from bench.observe import cpu_seconds

_MESSAGE = bytes(220)
_SERVICE = "handrail.bench.Chain"
# For each stream that a client opens: unary and streaming calls to the Adapter, and events on the way to the client.
_STREAMS = {"Turn": (0, 3, 12), "Ask": (1, 3, 10), "Approve": (0, 3, 15)}
_CLIENTS, _ROUNDS, _REPETITIONS = 64, 300, 5
_PREPARE_SECONDS = 60.0

Round = Callable[[], Awaitable[object]]


def _path(method: str) -> str:
    return f"/{_SERVICE}/{method}"


def _adapter(_target: str) -> dict[str, Any]:
    async def unary(_request: bytes, _context: Any) -> bytes:
        return _MESSAGE

    async def stream(_request: bytes, _context: Any) -> AsyncIterator[bytes]:
        yield _MESSAGE

    return {
        "Unary": grpc.unary_unary_rpc_method_handler(unary),
        "Stream": grpc.unary_stream_rpc_method_handler(stream),
    }


def _loop(target: str) -> dict[str, Any]:
    channel = grpc.aio.insecure_channel(target, options=CHANNEL_OPTIONS)
    unary: Any = channel.unary_unary(_path("Unary"))
    stream: Any = channel.unary_stream(_path("Stream"))

    async def ask() -> None:
        call = stream(_MESSAGE)
        await call.read()
        call.cancel()

    async def create(_request: bytes, _context: Any) -> bytes:
        return _MESSAGE

    def run(unary_calls: int, streams: int, events: int) -> Any:
        async def handler(_request: bytes, _context: Any) -> AsyncIterator[bytes]:
            calls = [unary] * unary_calls + [None] * streams
            for number in range(events):
                if number < len(calls):
                    await (ask() if calls[number] is None else unary(_MESSAGE))
                yield _MESSAGE

        return grpc.unary_stream_rpc_method_handler(handler)

    return {
        "Create": grpc.unary_unary_rpc_method_handler(create),
        **{name: run(*numbers) for name, numbers in _STREAMS.items()},
    }


def _gateway(target: str) -> dict[str, Any]:
    channel = grpc.aio.insecure_channel(target, options=CHANNEL_OPTIONS)
    begin: Any = channel.unary_unary(_path("Create"))

    async def create(request: bytes, _context: Any) -> Any:
        return await begin(request)

    def forward(name: str) -> Any:
        begin_stream: Any = channel.unary_stream(_path(name))

        async def handler(request: bytes, context: Any) -> None:
            async for message in begin_stream(request):
                await context.write(message)

        return grpc.unary_stream_rpc_method_handler(handler)

    return {"Create": grpc.unary_unary_rpc_method_handler(create), **{name: forward(name) for name in _STREAMS}}


_ROLES: dict[str, Callable[[str], dict[str, Any]]] = {"adapter": _adapter, "loop": _loop, "gateway": _gateway}


async def serve(role: str, target: str) -> None:
    """One of the three, until stdin ends; prints its port."""
    server = grpc.aio.server(options=SERVER_OPTIONS)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_SERVICE, _ROLES[role](target)),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)


async def measure() -> dict[str, float]:
    """R1 and R2 in echoes by CPU: medians of repetitions, each beside an echo of its own."""
    pids = [os.getpid()]
    async with AsyncExitStack() as stack:

        async def start(*arguments: str) -> str:
            process = await stack.enter_async_context(running_process(*arguments))
            pids.append(process.pid)
            return f"127.0.0.1:{(await process_line(process, _PREPARE_SECONDS)).strip()}"

        target = ""
        for role in _ROLES:
            target = await start("bench.chain", role, target)
        echo_target = await start("bench.echo")
        channel = grpc.aio.insecure_channel(target, options=CHANNEL_OPTIONS)
        echoes = grpc.aio.insecure_channel(echo_target, options=CHANNEL_OPTIONS)
        echo: Any = echoes.unary_unary("/handrail.bench.Echo/Echo")
        create: Any = channel.unary_unary(_path("Create"))
        streams: dict[str, Any] = {name: channel.unary_stream(_path(name)) for name in _STREAMS}

        async def read(name: str) -> None:
            async for _ in streams[name](_MESSAGE):
                pass

        async def round_() -> None:
            await create(_MESSAGE)
            await read("Ask")
            await read("Approve")

        async def cost(one: Round, count: int) -> float:
            before = sum(cpu_seconds(pid) or 0.0 for pid in pids)
            left = iter(range(count))

            async def client() -> None:
                for _ in left:
                    await one()

            await asyncio.gather(*(client() for _ in range(_CLIENTS)))
            return (sum(cpu_seconds(pid) or 0.0 for pid in pids) - before) / count

        await cost(round_, 2 * _CLIENTS)
        found: dict[str, list[float]] = {"R1": [], "R2": []}
        for _ in range(_REPETITIONS):
            bare = await cost(lambda: echo(b""), 15 * _ROUNDS)
            found["R1"].append(await cost(round_, _ROUNDS) / bare)
            found["R2"].append(await cost(lambda: read("Turn"), 2 * _ROUNDS) / bare)
        await channel.close()
        await echoes.close()
    return {name: statistics.median(values) for name, values in found.items()}


if __name__ == "__main__":
    if sys.argv[1:]:
        asyncio.run(serve(sys.argv[1], sys.argv[2]))
    else:
        began = time.monotonic()
        result = ", ".join(f"{name} {value:.1f} echoes" for name, value in asyncio.run(measure()).items())
        sys.stdout.write(f"gRPC alone, by CPU at {_CLIENTS} clients: {result} ({time.monotonic() - began:.0f} s)\n")

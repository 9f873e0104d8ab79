"""An interaction that waits without a watcher is rows: no process keeps more than 1 KiB for it.

What gateway, Loop and Adapter together keep in Python's memory is compared at two numbers of waiting interactions, so
that caches, which are bounded, and the programs themselves fall out. Private memory from outside is the benchmark's.
"""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path

from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from tests.growth.stack import Running, running_stack

_FEW = 120
_MORE = 240
_MOST_BYTES = 1024
_AT_ONCE = 8


async def _make_wait(running: Running, count: int) -> None:
    numbers = iter(range(count))

    async def one_client() -> None:
        for number in numbers:
            await running.send(await running.create(), f"round {number}", "approval_required")

    await asyncio.gather(*(one_client() for _ in range(_AT_ONCE)))


def _kept() -> int:
    """Bytes of living Python objects."""
    for _ in range(3):
        gc.collect()
    return tracemalloc.get_traced_memory()[0]


async def _pages(running: Running) -> AsyncIterator[int]:
    token = ""
    while True:
        page = await running.stub.ListPending(pb.ListPendingRequest(page_size=200, page_token=token))
        yield len(page.items)
        token = page.next_page_token
        if not token:
            return


async def test_a_waiting_interaction_keeps_at_most_one_kibibyte(tmp_path: Path) -> None:
    async with running_stack(tmp_path) as running:
        tracemalloc.start()
        try:
            await _make_wait(running, _FEW)
            few = _kept()
            await _make_wait(running, _MORE)
            each = (_kept() - few) / _MORE
        finally:
            tracemalloc.stop()
        assert sum([count async for count in _pages(running)]) == _FEW + _MORE
        assert each <= _MOST_BYTES

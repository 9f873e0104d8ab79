"""Starts the processes around a measurement: load, echo, group commit. Each ends by itself or with its block."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.figures import Timing, timing
from bench.jobs import Job, Outcome, split, together
from bench.observe import busy_seconds, cpu_seconds
from bench.stack import ROOT

_PREPARE_SECONDS = 60.0
_SPARE_SECONDS = 120.0


class LoadFailed(Exception):
    """A process of the benchmark itself did not do its part."""


@asynccontextmanager
async def running_process(*arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """`python -m arguments`, killed at the end of the block if it still runs. An outcome is one long line."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        *arguments,
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=64 * 1024 * 1024,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def process_line(process: asyncio.subprocess.Process, seconds: float) -> str:
    """The next line of its output. Raises LoadFailed where none comes in time."""
    assert process.stdout is not None
    try:
        async with asyncio.timeout(seconds):
            line = await process.stdout.readline()
    except TimeoutError:
        raise LoadFailed(f"a process of the benchmark did not answer within {seconds:g} s") from None
    if not line:
        raise LoadFailed(f"a process of the benchmark ended with {await process.wait()}; see above")
    return line.decode()


def _tell(process: asyncio.subprocess.Process, line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(line.encode() + b"\n")


@asynccontextmanager
async def _loads(jobs: list[Job]) -> AsyncIterator[list[asyncio.subprocess.Process]]:
    if not jobs:
        yield []
        return
    async with running_process("bench.load") as process, _loads(jobs[1:]) as others:
        _tell(process, jobs[0].to_json())
        yield [process, *others]


@dataclass(frozen=True, slots=True)
class Used:
    """CPU seconds of a load and of what served it, by process, and of the whole machine."""

    by_process: Mapping[str, float]
    machine: float


async def run_load(
    job: Job,
    processes: int,
    cpu: Callable[[], Mapping[str, float]] = dict,
    when_ready: Callable[[], Awaitable[None]] | None = None,
) -> tuple[Outcome, Used]:
    """Share the job out over load processes and let them begin together, after `when_ready`. Raises LoadFailed."""
    async with _loads(split(job, processes)) as loads:
        for each in loads:
            await process_line(each, _PREPARE_SECONDS)
        if when_ready is not None:
            await when_ready()
        before, machine_before = cpu(), busy_seconds() or 0.0
        for each in loads:
            _tell(each, "go")
        lines = [await process_line(each, job.most_seconds + _SPARE_SECONDS) for each in loads]
        after, machine_after = cpu(), busy_seconds() or 0.0
    outcome = together([Outcome.from_json(line) for line in lines])
    used = {name: after[name] - before[name] for name in before if name in after}
    return outcome, Used({"load": outcome.cpu, **used}, machine_after - machine_before)


async def timed(
    name: str, job: Job, processes: int, cpu: Callable[[], Mapping[str, float]] = dict
) -> tuple[Timing, Outcome]:
    """`run_load` as a Timing. Raises LoadFailed where rounds failed: their rate would mean nothing."""
    outcome, used = await run_load(job, processes, cpu)
    if outcome.failures:
        raise LoadFailed(f"{name}: {outcome.failures} of {job.rounds} rounds failed, first: {outcome.first_failure}")
    seconds = outcome.ended - outcome.started
    return timing(name, job.clients, outcome.latencies, seconds, used.by_process, used.machine), outcome


class Echo:
    """The running echo."""

    def __init__(self, process: asyncio.subprocess.Process, port: int) -> None:
        self._process = process
        self.target = f"127.0.0.1:{port}"

    def cpu(self) -> dict[str, float]:
        """CPU seconds of its process so far."""
        used = cpu_seconds(self._process.pid)
        return {} if used is None else {"echo": used}


@asynccontextmanager
async def running_echo() -> AsyncIterator[Echo]:
    """The echo process, ended with the block."""
    async with running_process("bench.echo") as process:
        yield Echo(process, int(await process_line(process, _PREPARE_SECONDS)))


async def group_commits(folder: Path, writers: int, units: int, most_seconds: float) -> tuple[Timing, float]:
    """The bare group commit, and its units per commit."""
    arguments = ("bench.group_commit", str(folder), str(writers), str(units), str(most_seconds))
    async with running_process(*arguments) as process:
        found = json.loads(await process_line(process, most_seconds + _SPARE_SECONDS))
    result = timing("group commit", writers, found["latencies"], found["seconds"])
    return result, len(found["latencies"]) / max(1, found["commits"])

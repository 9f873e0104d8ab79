"""The counting pass: RPCs, commits and bytes of a round, on a stack that reports its calls over OTLP.

Never timed: telemetry and the pinned log cost the services something. RPCs are read from the services' own metric
rpc.server.call.duration, commits from SQLite's logs (`bench.wal`), so the services need nothing of the benchmark.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

from bench.driver import LoadFailed, run_load
from bench.jobs import Job
from bench.results import Counts
from bench.stack import SERVICES, BenchStack, running_stack
from bench.wal import PinnedWal
from tests.fakes.otlp_receiver import OtlpReceiver

_EXPORT_MILLISECONDS = 200
_SETTLE_SECONDS = 20.0
_METRIC = "rpc.server.call.duration"
_OWN = "handrail."


class Counter:
    """Counts workloads on one stack."""

    def __init__(self, running: BenchStack, receiver: OtlpReceiver) -> None:
        self.running = running
        self._receiver = receiver

    async def count(self, job: Job, processes: int, name: str = "") -> Counts:
        """Run the job and count. Raises LoadFailed where rounds fail, or the metrics do not arrive."""
        served: dict[str, float] = {}
        stored: dict[str, int] = {}
        with ExitStack() as pinned:
            logs: dict[str, PinnedWal] = {}

            async def begin() -> None:
                """Once the load processes have opened what they need: that does not count."""
                served.update(await self._settled(0))
                stored.update(self.running.stored())
                logs.update(
                    {key: pinned.enter_context(PinnedWal(path)) for key, path in self.running.databases.items()}
                )

            outcome, _ = await run_load(job, processes, when_ready=begin)
            commits = {key: log.commits() for key, log in logs.items()}
        if outcome.failures:
            raise LoadFailed(f"counting {job.workload}: {outcome.failures} failed, first: {outcome.first_failure}")
        rounds = len(outcome.latencies)
        seen = await self._settled(served.get("gateway", 0) + outcome.calls)
        after = self.running.stored()
        return Counts(
            workload=name or job.workload,
            clients=job.clients,
            rounds=rounds,
            client_calls=outcome.calls / rounds,
            messages=outcome.messages / rounds,
            served={key: (seen.get(key, 0) - served.get(key, 0)) / rounds for key in SERVICES},
            commits={key: value / rounds for key, value in commits.items()},
            stored={key: (after[key] - stored[key]) / rounds for key in after},
        )

    async def _settled(self, at_least: float) -> dict[str, float]:
        """RPCs served by process, once the gateway has told of `at_least` and nothing more arrives."""
        until = time.monotonic() + _SETTLE_SECONDS
        before: dict[str, float] = {}
        while True:
            await asyncio.sleep(3 * _EXPORT_MILLISECONDS / 1000)
            now = self._served()
            if now == before and now.get("gateway", 0) >= at_least:
                return now
            if time.monotonic() > until:
                raise LoadFailed(f"the services told of {now} calls only, {at_least:g} were expected of the gateway")
            before = now

    def _served(self) -> dict[str, float]:
        newest: dict[tuple[str, ...], float] = {}
        for point in self._receiver.points(_METRIC):
            method, code = (str(point.attributes.get(f"rpc.{key}")) for key in ("method", "response.status_code"))
            if method.startswith(_OWN):
                newest[point.service.removeprefix("handrail-"), method, code] = point.value
        served: dict[str, float] = {}
        for (service, _, _), value in newest.items():
            served[service] = served.get(service, 0) + value
        return served


@asynccontextmanager
async def counting(folder: Path) -> AsyncIterator[Counter]:
    """A stack that reports to a receiver of this process."""
    with OtlpReceiver() as receiver:
        overrides = {
            "HANDRAIL_OTLP_ENDPOINT": receiver.endpoint,
            "OTEL_METRIC_EXPORT_INTERVAL": str(_EXPORT_MILLISECONDS),
        }
        async with running_stack(folder, overrides) as running:
            yield Counter(running, receiver)

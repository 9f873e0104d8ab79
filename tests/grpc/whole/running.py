"""A real Loop against a real Adapter with the probe domain, both in this process, spoken to over real sockets."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from adapter_service.sdk import Domain, PlanningRequest, Proposal
from loop_service.bootstrap import SystemClock
from tests.fakes.adapter import FakeAdapter, complete
from tests.fakes.adapter_harness import FakeClock, Probe, running_probe
from tests.fakes.probe_domain import World
from tests.grpc.loop.driver import LoopDriver


class MovedClock(SystemClock):
    """The machine's clock with leaps that the test makes: what sleeps really sleeps, but not through a leap."""

    def __init__(self) -> None:
        self._leapt = 0.0

    def now(self) -> datetime:
        return super().now() + timedelta(seconds=self._leapt)

    def monotonic(self) -> float:
        return super().monotonic() + self._leapt

    def leap(self, seconds: float) -> None:
        """So much time has passed."""
        self._leapt += seconds


class HeldPlanner:
    """The probe's planner, which stands still until the test lets it go on."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.gate = threading.Event()

    def adapt(self, domain: Domain) -> Domain:
        self._planner = domain.planner
        return replace(domain, planner=self)

    def plan(self, request: PlanningRequest) -> Proposal:
        self.begun.set()
        self.gate.wait(30)
        return self._planner.plan(request)


class Whole:
    """Both services. `create` opens a conversation of the domain that the Adapter serves."""

    def __init__(self, driver: LoopDriver, probe: Probe, clock: MovedClock, domain: str) -> None:
        self.domain = domain
        self.driver = driver
        self.probe = probe
        self.clock = clock

    @property
    def stub(self) -> Any:
        """Of the Loop that runs now."""
        return self.driver.stub

    async def create(self, metadata: Any = None) -> str:
        return await self.driver.create(metadata=metadata, domain=self.domain)

    async def begun(self, tool: str) -> None:
        """Until the held tool stands at its gate."""
        assert await asyncio.to_thread(self.probe.world.begun[tool].wait, 10)


@asynccontextmanager
async def running_whole(
    folder: Path,
    world: World | None = None,
    adapt: Callable[[Domain], Domain] = lambda domain: domain,
    domain: str = "probe",
    **settings: Any,
) -> AsyncIterator[Whole]:
    """`adapt` changes or replaces the probe domain, which is then called `domain`; `settings` are the Loop's.

    The Loop's clock is the test's to move; the Adapter's is `probe.clock`.
    """
    (folder / "adapter").mkdir(parents=True, exist_ok=True)
    async with running_probe(folder / "adapter", world, FakeClock(), adapt) as probe:
        # The scripted adapter is never started: the real one serves the only domain.
        settings["adapters"] = {domain: probe.running.target}
        driver = LoopDriver(folder / "loop", FakeAdapter(lambda request: complete()), **settings)
        driver.clock = clock = MovedClock()
        await driver.start()
        try:
            yield Whole(driver, probe, clock, domain)
        finally:
            await driver.stop()

"""A Loop and an Adapter as real processes that die at chosen points and are started again, as a supervisor would.

`running_site` makes one on a data directory and ports of its own; `arm` chooses where a process dies next, while it
runs. Scenarios talk to the Loop and need to know nothing of all this.
"""

from __future__ import annotations

import asyncio
import signal
import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adapter_service.bootstrap import migrate_database as migrate_adapter
from adapter_service.config import AdapterSettings
from gateway.cli.processes import ADAPTER, LOOP, ProcessFailed, Service, ServiceProcess, isolated_environment
from handrail_rpc import crash_points
from loop_service.bootstrap import migrate_database as migrate_loop
from loop_service.config import LoopSettings
from tests.crash.domain import read_effects
from tests.crash.warm_start import WarmProcess, WarmStart

PROBE_ADAPTER = Service(
    "adapter", "tests.crash.adapter_process", ADAPTER.listen_setting, ADAPTER.default_listen, ADAPTER.health_service
)
_USUAL = {service.name: service for service in (PROBE_ADAPTER, LOOP)}
QUICK = {
    # A live lease is renewed three times within a second; a stop waits for an absent Adapter only for a moment.
    "HANDRAIL_LOOP_LEASE_SECONDS": "1",
    "HANDRAIL_LOOP_STOP_PATIENCE_SECONDS": "0.6",
    "HANDRAIL_LOOP_SETTLE_FIRST_SECONDS": "0.2",
    "HANDRAIL_LOOP_EXPIRY_RECHECK_SECONDS": "0.3",
    "HANDRAIL_LOOP_POLL_SECONDS": "0.2",
    "HANDRAIL_LOG_LEVEL": "warning",
}
_LOOK_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Death:
    """A process that ended; `point` is empty where the test itself killed it."""

    process: str
    point: str


@dataclass
class Site:
    """The two processes. Within `supervised` a process that dies by SIGKILL is started again at once."""

    folder: Path
    environment: dict[str, str]
    warm: WarmStart
    deaths: list[Death] = field(default_factory=list)
    held_down: set[str] = field(default_factory=set)
    died: asyncio.Event = field(default_factory=asyncio.Event)
    """Set by the first death since `arm`."""

    def __post_init__(self) -> None:
        self._processes = {
            service.name: WarmProcess(
                self.warm, service, self._settings(service.name), self.folder / "logs" / f"{service.name}.log"
            )
            for service in _USUAL.values()
        }
        self._following: list[str] = []
        self._unreached: set[str] = set()
        self._started: set[str] = set()

    def _settings(self, name: str) -> dict[str, str]:
        return self.environment | {crash_points.VARIABLE: f"@{self._armed(name)}"}

    @property
    def target(self) -> str:
        """host:port of the Loop."""
        return self._processes["loop"].target

    def process(self, name: str) -> ServiceProcess:
        return self._processes[name]

    def start(self) -> None:
        for name, process in self._processes.items():
            process.start()
            self._started.add(name)

    async def wait_serving(self) -> None:
        for process in self._processes.values():
            await process.wait_serving()

    async def wait_up(self) -> None:
        """Until both serve, however often they die meanwhile."""
        for name in self._processes:
            while True:
                try:
                    await self._processes[name].wait_serving()
                    break
                except ProcessFailed:
                    await asyncio.sleep(_LOOK_SECONDS)

    def arm(self, steps: Sequence[str]) -> None:
        """`steps[0]` holds points of either process ("name" or "name:n", comma separated) that kill it from now on;
        each later step is armed when all points of the step before have been reached."""
        self.deaths.clear()
        self.died.clear()
        for name in self._processes:
            self._armed(name).unlink(missing_ok=True)
        self._following = list(steps)
        self._arm_next()

    def _arm_next(self) -> None:
        if not self._following:
            return
        points = self._following.pop(0).split(",")
        self._unreached = {point.partition(":")[0] for point in points}
        for name in self._processes:
            own = [point for point in points if point.startswith(f"{name}.")]
            if own:
                # Written whole, then in place: a point may be reached at this very moment.
                written = self._armed(name).with_suffix(".new")
                written.write_text(",".join(own), "utf-8")
                written.replace(self._armed(name))

    @property
    def unreached(self) -> list[str]:
        """What was armed and not reached, or not even armed yet."""
        left = [self._armed(name) for name in self._processes]
        return [path.read_text("utf-8") for path in left if path.exists()] + self._following

    def kill(self, name: str) -> None:
        """kill -9 by the test; the supervisor sees to the rest."""
        process = self._processes[name]
        if process.running:
            process.send_signal(signal.SIGKILL)

    def stop(self) -> None:
        """End both: nothing may be lost by killing them, so that is what happens."""
        for process in self._processes.values():
            process.kill()

    def hold(self, tool: str) -> None:
        """Let calls of `tool` wait."""
        (self.folder / f"hold-{tool}").touch()

    def release(self) -> None:
        """Let every held call go on."""
        for path in self.folder.glob("hold-*"):
            path.unlink(missing_ok=True)

    def effects(self) -> list[str]:
        """The key of each effect in the world, in order."""
        return read_effects(self.folder / "effects.txt")

    def one(self, database: str, query: str, *values: object) -> Any:
        """The first column of the first row."""
        with closing(sqlite3.connect(self.database(database), timeout=10)) as connection:
            return connection.execute(query, values).fetchone()[0]

    def all(self, database: str, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Every row."""
        with closing(sqlite3.connect(self.database(database), timeout=10)) as connection:
            return connection.execute(query, values).fetchall()

    def change(self, database: str, statement: str, *values: object) -> None:
        """Damage something, as nothing of Handrail would."""
        with closing(sqlite3.connect(self.database(database), timeout=10)) as connection, connection:
            connection.execute(statement, values)

    def database(self, name: str) -> Path:
        return self.folder / f"{name}.db"

    @asynccontextmanager
    async def supervised(self) -> AsyncIterator[None]:
        """Start what is not running, and start again what dies; a process that ends in another way ends the block."""
        self.held_down.clear()
        self.release()
        for process in self._processes.values():
            # A scenario may have changed a setting, or the program, for itself.
            usual = (_USUAL[process.service.name], self._settings(process.service.name))
            if usual != (process.service, process.environment):
                process.service, process.environment = usual
                process.kill()
        body = asyncio.current_task()
        assert body is not None  # a context manager is entered within a task
        supervising = asyncio.create_task(self._supervise())
        supervising.add_done_callback(lambda ended: None if ended.cancelled() else body.cancel())
        try:
            yield
        except asyncio.CancelledError:
            if supervising.done() and not supervising.cancelled():
                body.uncancel()
                supervising.result()
            raise
        finally:
            supervising.cancel()
            await asyncio.wait([supervising])

    async def _supervise(self) -> None:
        while True:
            for name, process in self._processes.items():
                if process.running:
                    continue
                if name in self._started:
                    self._started.discard(name)
                    self._note_death(name, process)
                if name not in self.held_down:
                    process.start()
                    self._started.add(name)
            await asyncio.sleep(_LOOK_SECONDS)

    def _note_death(self, name: str, process: ServiceProcess) -> None:
        assert process.exit_code == -signal.SIGKILL, process.failure(f"ended with {process.exit_code}")
        reached = self._armed(name).with_name(f"crash-{name}.reached")
        point = reached.read_text("utf-8") if reached.exists() else ""
        reached.unlink(missing_ok=True)
        self.deaths.append(Death(name, point))
        self.died.set()
        if point in self._unreached:
            self._unreached.discard(point)
            if not self._unreached:
                self._arm_next()

    def _armed(self, name: str) -> Path:
        return self.folder / f"crash-{name}"


@contextmanager
def running_site(folder: Path, overrides: Mapping[str, str] | None = None) -> Iterator[Site]:
    """A migrated site whose processes have been started; both are killed at the end."""
    folder.mkdir(parents=True, exist_ok=True)
    environment = isolated_environment(folder, QUICK)
    adapter = environment[ADAPTER.listen_setting]
    environment |= {"HANDRAIL_ADAPTERS": f"probe={adapter},pages={adapter},ghost={adapter}"} | dict(overrides or {})
    migrate_loop(LoopSettings(data_dir=folder, database_url=None))
    migrate_adapter(AdapterSettings(data_dir=folder, database=None))
    with WarmStart() as warm:
        site = Site(folder, environment, warm)
        try:
            site.start()
            yield site
        finally:
            site.stop()

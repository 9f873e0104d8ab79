"""Gateway, Loop and Adapter for a benchmark: real processes on a folder of their own, with the domain `bench`.

The domain is installed as any other is: a distribution with an entry point of the group handrail.domains, on the
Adapter's import path. Called by scenarios.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.domain import EFFECTS_FILE, NAME, read_effects
from bench.observe import cpu_seconds, private_bytes, stored_bytes
from gateway.cli.processes import ADAPTER, Stack, isolated_environment

ROOT = Path(__file__).resolve().parent.parent
SERVICES = ("gateway", "loop", "adapter")


def install_domain(folder: Path) -> None:
    """Make `folder` an import path on which the domain's distribution is found."""
    described = folder / "handrail_bench-1.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: handrail-bench\nVersion: 1\n", "ascii")
    (described / "entry_points.txt").write_text(f"[handrail.domains]\n{NAME} = bench.domain:create_domain\n", "ascii")


@dataclass(frozen=True, slots=True)
class BenchStack:
    """A serving stack and what can be seen of it from outside."""

    stack: Stack
    folder: Path

    @property
    def target(self) -> str:
        return self.stack.gateway.target

    @property
    def databases(self) -> dict[str, Path]:
        return {"loop": self.folder / "loop.db", "adapter": self.folder / "adapter.db"}

    def memory(self) -> dict[str, int]:
        """Private bytes by process; a process that /proc does not show is left out."""
        seen = {each.service.name: private_bytes(each.pid) for each in self.stack.processes}
        return {name: value for name, value in seen.items() if value is not None}

    def cpu(self) -> dict[str, float]:
        """CPU seconds used so far, by process."""
        seen = {each.service.name: cpu_seconds(each.pid) for each in self.stack.processes}
        return {name: value for name, value in seen.items() if value is not None}

    def stored(self) -> dict[str, int]:
        """Bytes stored, by service."""
        return {name: stored_bytes(path) for name, path in self.databases.items()}

    def effects(self) -> tuple[int, int]:
        """(executions, distinct ones) of the tool with the side effect."""
        return read_effects(self.folder / "domains" / NAME / EFFECTS_FILE)

    async def restart(self) -> float:
        """SIGKILL all three, start them, wait until they serve; returns CLOCK_MONOTONIC of the start."""
        for process in self.stack.processes:
            process.kill()
        started = time.monotonic()
        self.stack.start()
        await self.stack.wait_serving()
        return started


@asynccontextmanager
async def running_stack(folder: Path, overrides: Mapping[str, str] | None = None) -> AsyncIterator[BenchStack]:
    """Migrated, serving, and stopped at the end. `folder` is made. Raises ProcessFailed."""
    data = folder / "data"
    data.mkdir(parents=True)
    install_domain(folder / "installed")
    environment = isolated_environment(data)
    # A collector in the caller's environment would be paid for by the rounds.
    for name in ("HANDRAIL_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"):
        environment.pop(name, None)
    environment |= {
        "HANDRAIL_ADAPTERS": f"{NAME}={environment[ADAPTER.listen_setting]}",
        "HANDRAIL_ADAPTER_DOMAINS": NAME,
        "PYTHONPATH": os.pathsep.join([str(folder / "installed"), str(ROOT), os.environ.get("PYTHONPATH", "")]),
        **(overrides or {}),
    }
    with Stack(environment, folder / "logs") as stack:
        stack.migrate()
        stack.start()
        await stack.wait_serving()
        yield BenchStack(stack, data)

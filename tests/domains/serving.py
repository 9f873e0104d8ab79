"""Serves one domain of the suite by a real Adapter, with its tool functions watched and breakable."""

from __future__ import annotations

import functools
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import grpc.aio

from adapter_service.bootstrap import migrate_database, start
from adapter_service.config import AdapterSettings
from adapter_service.domain_registry import load_domains
from adapter_service.sdk import Domain, Tool
from handrail.adapter.v1 import artifact_service_pb2_grpc
from handrail.adapter.v1 import domain_adapter_service_pb2_grpc as pb2_grpc
from handrail.common.v1 import decision_pb2
from handrail_rpc.channel import open_channel
from handrail_rpc.settings import ListenAddress
from tests.domains.scripts import DomainScript
from tests.fakes.adapter_harness import Driver, FakeClock, open_driver

SECRET = "the text of an exception"
MOST_QUESTIONS = 12


@dataclass
class Watch:
    """Calls of the domain's tool functions by tool, and which of them break instead."""

    calls: Counter[str] = field(default_factory=Counter)
    broken: set[str] = field(default_factory=set)

    def watched(self, tool: Tool) -> Tool:
        """The same tool around the same function, whose signature still counts."""
        function = tool.function

        @functools.wraps(function)
        def call(**arguments: Any) -> Any:
            self.calls[tool.name] += 1
            if tool.name in self.broken:
                raise RuntimeError(SECRET)
            return function(**arguments)

        return replace(tool, function=call)


@dataclass
class Served:
    """A running Adapter with one domain of the suite."""

    script: DomainScript
    domain: Domain
    watch: Watch
    clock: FakeClock
    channel: grpc.aio.Channel
    database: Path

    @property
    def stub(self) -> pb2_grpc.DomainAdapterServiceStub:
        """The service's stub."""
        return pb2_grpc.DomainAdapterServiceStub(self.channel)

    @property
    def artifacts(self) -> artifact_service_pb2_grpc.ArtifactServiceStub:
        """The artifact service's stub."""
        return artifact_service_pb2_grpc.ArtifactServiceStub(self.channel)

    async def open(self, **more: Any) -> Driver:
        """A new interaction."""
        return await open_driver(self.stub, domain=self.script.name, **more)

    async def change(self, **more: Any) -> Driver:
        """A request for a change, up to its approval."""
        driver = await self.open(**more)
        await driver.say(self.script.change)
        await self.up_to_approval(driver, self.script.change_answers)
        return driver

    async def up_to_approval(self, driver: Driver, answers: Any) -> None:
        """Execute and answer until an approval is asked for."""
        for _ in range(MOST_QUESTIONS):
            decision = await driver.run()
            if decision.HasField("request_approval"):
                return
            assert decision.HasField("ask"), decision
            slot = decision.ask.prompt.task.slot
            assert slot in answers, f"{slot} is asked for: {decision.ask.prompt.question}"
            await driver.reply(answers[slot])
        raise AssertionError(f"no approval is asked for: {driver.last}")

    def results(self) -> list[str]:
        """The stored results, contents and inputs, as text."""
        with closing(sqlite3.connect(self.database, timeout=10)) as connection:
            rows = connection.execute("SELECT data FROM contents").fetchall()
        return [bytes(data).decode("utf-8", "replace") for (data,) in rows]


@asynccontextmanager
async def serving(
    script: DomainScript, folder: Path, adapt: Callable[[Domain], Domain] = lambda domain: domain
) -> AsyncIterator[Served]:
    """The domain of a script, served below `folder`; `adapt` changes it before."""
    clock, watch = FakeClock(), Watch()
    settings = AdapterSettings(listen=ListenAddress("127.0.0.1", 0), data_dir=folder)
    (made,) = load_domains([script.create(folder)], None, folder, clock).values()
    domain = adapt(replace(made, tools=tuple(watch.watched(tool) for tool in made.tools)))
    migrate_database(settings)
    running = await start(settings, domains=[domain], clock=clock)
    channel = open_channel(running.target)
    try:
        yield Served(script, domain, watch, clock, channel, folder / "adapter.db")
    finally:
        await channel.close()
        await running.stop()


def outcome_of(decision: decision_pb2.Decision) -> str:
    """Which outcome a decision has, "" for none."""
    return decision.WhichOneof("outcome") or ""

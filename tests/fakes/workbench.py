"""A running Adapter with the workbench domain over a folder, driven as the Loop would."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapter_service.domains.workbench import create_domain
from adapter_service.domains.workbench.domain import FOLDER_SETTING
from adapter_service.sdk import DomainEnvironment
from handrail.common.v1 import answer_pb2, decision_pb2
from tests.fakes.adapter_harness import Driver, Probe, running_probe


@dataclass
class Workbench:
    """The Adapter and its folder."""

    probe: Probe
    folder: Path

    async def open(self, conversation_id: str = "conv_1", locale: str = "en") -> Driver:
        """A new interaction in a conversation."""
        return await self.probe.open(conversation_id, domain="workbench", locale=locale)

    async def ask(self, text: str, conversation_id: str = "conv_1", locale: str = "en") -> decision_pb2.Decision:
        """One message, run until something else than a call is decided."""
        driver = await self.open(conversation_id, locale)
        await driver.say(text)
        return await driver.run()

    async def answer(self, text: str, conversation_id: str = "conv_1", locale: str = "en") -> answer_pb2.Answer:
        """One message that is answered without a question."""
        decision = await self.ask(text, conversation_id, locale)
        assert decision.WhichOneof("outcome") == "complete", decision
        return decision.complete.answer

    def read(self, path: str) -> str:
        """A file as it is now."""
        return (self.folder / path).read_bytes().decode()

    def write(self, path: str, text: str) -> None:
        """Somebody else writes a file."""
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_bytes(text.encode())


@asynccontextmanager
async def running_workbench(
    folder: Path, monkeypatch: pytest.MonkeyPatch, fill: Callable[[Path], None]
) -> AsyncIterator[Workbench]:
    """`fill` writes the workspace's files before the Adapter starts."""
    workspace = folder / "workspace"
    workspace.mkdir(parents=True)
    fill(workspace)
    monkeypatch.setenv(FOLDER_SETTING, str(workspace))
    data_dir = folder / "index"
    data_dir.mkdir()
    environment = DomainEnvironment(data_dir, lambda: datetime.now(UTC), os.environ)
    async with running_probe(folder / "data", adapt=lambda _probe: create_domain(environment)) as probe:
        yield Workbench(probe, workspace)

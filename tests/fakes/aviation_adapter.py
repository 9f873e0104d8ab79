"""A real Adapter with the aviation domain in this process, and what the tests of it say and read."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from adapter_service.bootstrap import migrate_database, start
from adapter_service.config import AdapterSettings
from adapter_service.domains.aviation import create_domain
from adapter_service.sdk import Domain, DomainEnvironment
from handrail.adapter.v1 import artifact_service_pb2, artifact_service_pb2_grpc
from handrail.adapter.v1 import domain_adapter_service_pb2_grpc as pb2_grpc
from handrail.common.v1 import decision_pb2
from handrail_rpc.channel import open_channel
from handrail_rpc.settings import ListenAddress
from tests.fakes.adapter_harness import Driver, FakeClock, open_driver

# The harness' clock stands at 2030-01-02 03:04 UTC.
COMPLETE_PLAN = (
    "draft a flight plan from EDDB to EDDM for DABC1, A320, 450 knots, FL340, endurance 5 hours, 120 passengers, "
    "2030-01-02 14:00, equipment SDFGWY/S"
)


@dataclass
class AviationAdapter:
    """One conversation with a running Adapter; every `say` that is no reply opens an interaction of its own."""

    stub: pb2_grpc.DomainAdapterServiceStub
    artifacts: artifact_service_pb2_grpc.ArtifactServiceStub
    outbox: Path
    conversation_id: str = "conv_1"
    locale: str = "en"

    async def ask(self, text: str, **more: Any) -> Driver:
        """A new request, as far as it goes without a person."""
        russian = any("а" <= char <= "я" for char in text.lower())
        driver = await open_driver(
            self.stub, self.conversation_id, domain="aviation", locale="ru" if russian else self.locale
        )
        await driver.say(text, **more)
        await driver.run()
        return driver

    async def content(self, decision: decision_pb2.Decision) -> tuple[int, dict[str, Any]]:
        """Version and content of the artifact that an answer names."""
        made = decision.complete.answer.artifacts[-1]
        request = artifact_service_pb2.ReadArtifactRequest(
            conversation_id=self.conversation_id, artifact_id=made.artifact_id, version=made.version
        )
        parts = [part async for part in self.artifacts.ReadArtifact(request)]
        content: dict[str, Any] = json.loads(b"".join(part.data for part in parts))
        return made.version, content


@asynccontextmanager
async def running_aviation(
    folder: Path, clock: FakeClock | None = None, **settings: str
) -> AsyncIterator[AviationAdapter]:
    """A migrated and started Adapter below `folder`; `settings` are environment variables of the domain."""
    adapter = AdapterSettings(listen=ListenAddress("127.0.0.1", 0), data_dir=folder)
    migrate_database(adapter)
    outbox = folder / "filed"

    def domain(environment: DomainEnvironment) -> Domain:
        return create_domain(replace(environment, settings={"HANDRAIL_AVIATION_OUTBOX": str(outbox), **settings}))

    running = await start(adapter, domains=[domain], clock=clock or FakeClock())
    channel = open_channel(running.target)
    try:
        yield AviationAdapter(
            pb2_grpc.DomainAdapterServiceStub(channel), artifact_service_pb2_grpc.ArtifactServiceStub(channel), outbox
        )
    finally:
        await channel.close()
        await running.stop()

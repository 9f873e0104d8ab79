"""Our own Adapter with the probe tools, for tests of the kit: in this process, or as a process of its own."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from grpc_health.v1 import health_pb2, health_pb2_grpc

from adapter_service.bootstrap import migrate_database, start
from adapter_service.config import AdapterSettings
from adapter_service.domain_registry import DomainSource
from gateway.cli.processes import free_loopback_ports
from handrail_rpc.channel import open_channel
from handrail_rpc.settings import ListenAddress

ROOT = Path(__file__).parents[2]
SECONDS = 60.0
PROBES = "adapter_service.domains.conformance:create_domain"


@asynccontextmanager
async def served_adapter(folder: Path, domain: DomainSource) -> AsyncIterator[str]:
    """An Adapter in this process; its host:port."""
    settings = AdapterSettings(listen=ListenAddress("127.0.0.1", 0), data_dir=folder)
    await asyncio.to_thread(migrate_database, settings)
    running = await start(settings, domains=[domain])
    try:
        yield running.target
    finally:
        await running.stop()


@asynccontextmanager
async def adapter_process(folder: Path, domains: str) -> AsyncIterator[str]:
    """`python -m adapter_service` with those domains, migrated and serving; its host:port. Stopped at the end."""
    port = free_loopback_ports(1)[0]
    settings = {
        "HANDRAIL_DATA_DIR": str(folder),
        "HANDRAIL_ADAPTER_LISTEN": f"127.0.0.1:{port}",
        "HANDRAIL_ADAPTER_DOMAINS": domains,
        "HANDRAIL_LOG_LEVEL": "error",
    }
    environment = {**os.environ, **settings}
    command = [sys.executable, "-m", "adapter_service"]
    migrated = await asyncio.create_subprocess_exec(*command, "migrate", cwd=ROOT, env=environment)
    assert await migrated.wait() == 0
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, env=environment)
    channel = open_channel(f"127.0.0.1:{port}")
    try:
        request = health_pb2.HealthCheckRequest(service="handrail.adapter.v1.DomainAdapterService")
        await health_pb2_grpc.HealthStub(channel).Check(request, timeout=SECONDS, wait_for_ready=True)
        yield f"127.0.0.1:{port}"
    finally:
        await channel.close()
        if process.returncode is None:
            process.terminate()
        await process.wait()

"""The Adapter as a process: kill -9 in mid-tool, missing schema, settings, drain (B3, durable_claim)."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from adapter_service.bootstrap import MIGRATIONS, migrate_database, start
from adapter_service.config import AdapterSettings
from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail.adapter.v1 import domain_adapter_service_pb2_grpc as pb2_grpc
from handrail.common.v1 import approval_pb2, tool_pb2
from handrail_rpc.channel import open_channel
from handrail_rpc.errors import StartRefused
from handrail_rpc.settings import ListenAddress
from handrail_storage import head_revision
from tests.fakes.adapter_harness import Driver, open_driver, refusal
from tests.fakes.probe_domain import World, make_domain

ROOT = Path(__file__).parents[3]
SECONDS = 30


@asynccontextmanager
async def adapter_process(folder: Path) -> AsyncIterator[tuple[Process, pb2_grpc.DomainAdapterServiceStub]]:
    """A real process with the probe domain; killed at the end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.fakes.probe_adapter", str(folder), "0", cwd=ROOT, stdout=PIPE
    )
    assert process.stdout is not None
    try:
        port = int(await asyncio.wait_for(process.stdout.readline(), SECONDS))
        channel = open_channel(f"127.0.0.1:{port}")
        try:
            yield process, pb2_grpc.DomainAdapterServiceStub(channel)
        finally:
            await channel.close()
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def killed_in_mid_tool(folder: Path, text: str) -> tuple[Driver, tool_pb2.ToolCall]:
    """SIGKILL while the approved tool is inside its function, after its effect was written."""
    fifo = folder / "hold.fifo"
    os.mkfifo(fifo)
    async with adapter_process(folder) as (process, stub):
        driver = await open_driver(stub)
        await driver.say(text)
        await driver.run()
        await driver.resolve(approval_pb2.VERDICT_APPROVE)
        call = driver.last.call_tool.calls[0]
        task = asyncio.create_task(driver.execute(call))
        # Opening the fifo for writing succeeds exactly when the tool is there, reading.
        writer = await asyncio.wait_for(asyncio.to_thread(os.open, fifo, os.O_WRONLY), SECONDS)
        process.send_signal(signal.SIGKILL)
        await process.wait()
        os.close(writer)
        assert await asyncio.wait({task}, timeout=SECONDS)
        assert task.exception() is not None
    fifo.unlink()
    return driver, call


async def test_after_kill_9_an_idempotent_tool_is_called_again_with_the_same_key(tmp_path: Path) -> None:
    driver, call = await killed_in_mid_tool(tmp_path, "write memo at 3 then post")
    async with adapter_process(tmp_path) as (_, stub):
        driver.stub = stub
        outcome = await driver.execute(call, dispatch_number=2)
        assert outcome.outcome == tool_pb2.OUTCOME_SUCCEEDED
        assert outcome.receipt.key == call.idempotency_key
        assert (await driver.finish(outcome)).HasField("complete")
    assert (tmp_path / "effects.txt").read_text().split() == [call.idempotency_key] * 2


async def test_after_kill_9_any_other_change_is_unknown(tmp_path: Path) -> None:
    driver, call = await killed_in_mid_tool(tmp_path, "ring 2")
    async with adapter_process(tmp_path) as (_, stub):
        driver.stub = stub
        outcome = await driver.execute(call, dispatch_number=2)
        assert (outcome.outcome, outcome.failure.code) == (tool_pb2.OUTCOME_UNKNOWN, "tool_outcome_unknown")
    assert (tmp_path / "effects.txt").read_text().split() == [call.idempotency_key]


async def test_without_schema_it_serves_nothing_until_it_is_migrated(tmp_path: Path) -> None:
    settings = AdapterSettings(listen=ListenAddress("127.0.0.1", 0), data_dir=tmp_path)
    running = await start(settings, domains=[make_domain(World())])
    channel = open_channel(running.target)
    health = health_pb2_grpc.HealthStub(channel)
    service = health_pb2.HealthCheckRequest(service="handrail.adapter.v1.DomainAdapterService")
    try:
        watch = health.Watch(service)
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
        stub = pb2_grpc.DomainAdapterServiceStub(channel)
        opening = pb2.OpenSessionRequest(request_id="r", domain="probe", conversation_id="conv_1")
        error = await refusal(stub.OpenSession(opening))
        assert error.reason == "SCHEMA_NOT_READY"
        assert "python -m adapter_service migrate" in error.message
        assert migrate_database(settings) == (None, head_revision(MIGRATIONS))
        assert (await asyncio.wait_for(watch.read(), SECONDS)).status == health_pb2.HealthCheckResponse.SERVING
        assert (await stub.OpenSession(opening)).history_id.startswith("his_")
        watch.cancel()
    finally:
        await channel.close()
        await running.stop()


async def test_a_database_serves_one_process_at_a_time(tmp_path: Path) -> None:
    settings = AdapterSettings(listen=ListenAddress("127.0.0.1", 0), data_dir=tmp_path)
    migrate_database(settings)
    running = await start(settings, domains=[make_domain(World())])
    try:
        with pytest.raises(StartRefused):
            await start(settings, domains=[make_domain(World())])
    finally:
        await running.stop()


async def test_sigterm_drains_and_ends_well(tmp_path: Path) -> None:
    async with adapter_process(tmp_path) as (process, stub):
        driver = await open_driver(stub)
        await driver.say("look Berlin")
        process.terminate()
        assert await asyncio.wait_for(process.wait(), SECONDS) == 0


@pytest.mark.parametrize(
    ("name", "value", "accepted"),
    [
        ("HANDRAIL_ADAPTER_LISTEN", "nowhere", "host:port"),
        ("HANDRAIL_ADAPTER_LISTEN", "0.0.0.0:50052", "loopback"),
        ("HANDRAIL_ADAPTER_DATABASE_URL", "mysql://x", "sqlite:///"),
        ("HANDRAIL_ADAPTER_DOMAINS", "a,,b", "comma separated"),
        ("HANDRAIL_ADAPTER_DOMAINS", "atlantis", "not installed"),
        ("HANDRAIL_ADAPTER_DOMAINS", "nowhere_desk:create_domain", "no module nowhere_desk"),
    ],
)
async def test_a_wrong_setting_stops_the_start_with_its_name_and_form(
    tmp_path: Path, name: str, value: str, accepted: str
) -> None:
    environment = {**os.environ, "HANDRAIL_DATA_DIR": str(tmp_path), name: value}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "adapter_service", cwd=ROOT, env=environment, stdout=PIPE, stderr=PIPE
    )
    _, text = await asyncio.wait_for(process.communicate(), SECONDS)
    assert process.returncode == 2
    assert name in text.decode()
    assert accepted in text.decode()
    assert "Traceback" not in text.decode()


async def test_migrate_says_what_it_did(tmp_path: Path) -> None:
    environment = {**os.environ, "HANDRAIL_DATA_DIR": str(tmp_path)}
    said = []
    for _ in range(2):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "adapter_service", "migrate", cwd=ROOT, env=environment, stdout=PIPE
        )
        out, _ = await asyncio.wait_for(process.communicate(), SECONDS)
        assert process.returncode == 0
        said.append(out.decode().strip())
    assert said == ["adapter database migrated from nothing to 0004", "adapter database is up to date at 0004"]

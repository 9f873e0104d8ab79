"""A full disk and storage that refuses every write, under real services: a readable failure, nothing torn, recovery
without a restart.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from adapter_service.bootstrap import migrate_database as migrate_adapter
from adapter_service.config import AdapterSettings
from gateway.cli.processes import ServiceProcess
from handrail.common.v1.failure_pb2 import Stage
from handrail.common.v1.tool_pb2 import Outcome
from handrail_rpc.context import new_request_id
from handrail_rpc.errors import Unavailable
from loop_service.bootstrap import migrate_database as migrate_loop
from loop_service.config import LoopSettings
from tests.crash.scenarios import expect
from tests.crash.site import Site, running_site
from tests.fakes.processes import check_history, poll
from tests.restore.conftest import talking
from tests.restore.disks import allow_writes, refuse_writes, small_disk

DRIVER_WORDS = ("sqlite", "OperationalError", "UPDATE", "INSERT", "Traceback", ".db")
SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING
FULL, REFUSING = "full disk", "every write refused"
KINDS = pytest.mark.parametrize("kind", [FULL, REFUSING])


@dataclass
class Storage:
    """A site, and how to take the storage of one of its services away and to give it back."""

    site: Site
    process: ServiceProcess
    take: Callable[[], None]
    give: Callable[[], None]

    async def health(self) -> int:
        async with grpc.aio.insecure_channel(self.process.target) as channel:
            request = health_pb2.HealthCheckRequest(service=self.process.service.health_service)
            return (await health_pb2_grpc.HealthStub(channel).Check(request)).status

    async def is_told_as(self, status: int) -> None:
        async def told() -> bool:
            return await self.health() == status

        await poll(told, f"health {health_pb2.HealthCheckResponse.ServingStatus.Name(status)}", 30)


@contextmanager
def storage_of(name: str, kind: str, folder: Path, **overrides: str) -> Iterator[Storage]:
    if kind == REFUSING:
        with running_site(folder / "site", overrides) as site:
            process = site.process(name)
            yield Storage(site, process, lambda: refuse_writes(process), lambda: allow_writes(process))
        return
    with small_disk(folder / "disk") as disk:
        url = f"sqlite:///{disk.folder}/{name}.db"
        if name == "loop":
            migrate_loop(LoopSettings(data_dir=folder, database_url=url))
        else:
            migrate_adapter(AdapterSettings(data_dir=folder, database=url))
        with running_site(folder / "site", {f"HANDRAIL_{name.upper()}_DATABASE_URL": url, **overrides}) as site:
            yield Storage(site, site.process(name), disk.fill, disk.free)


def is_plain(error: Unavailable) -> None:
    assert error.reason == "STORAGE_UNAVAILABLE"
    assert error.message.startswith("storage is unavailable: ")
    assert not any(word in error.message for word in DRIVER_WORDS), error.message


@KINDS
async def test_the_loop_refuses_what_it_cannot_store_and_goes_on_when_it_can(kind: str, tmp_path: Path) -> None:
    with storage_of("loop", kind, tmp_path) as storage:
        async with talking(storage.site) as (actor, _):
            expect(await actor.say("ring 1"), "approval_required")
            pid = storage.process.pid
            before = await actor.requester.history(actor.conversation_id)
            storage.take()
            request_id = new_request_id()
            sending = actor.requester.send_message(actor.conversation_id, "look Berlin", request_id=request_id)
            with pytest.raises(Unavailable) as refused:
                await anext(sending)
            is_plain(refused.value)
            with pytest.raises(Unavailable) as refused:
                await actor.requester.create_conversation("probe")
            is_plain(refused.value)
            await storage.is_told_as(NOT_SERVING)
            # What is stored can be read all the while, and nothing was added to it.
            assert await actor.requester.history(actor.conversation_id) == before
            assert len(await actor.requester.messages(actor.conversation_id)) == 1

            storage.give()
            await storage.is_told_as(SERVING)
            events = [
                event
                async for event in actor.requester.send_message(
                    actor.conversation_id, "look Berlin", request_id=request_id
                )
            ]
            assert events[-1].WhichOneof("payload") in ("completed", "approval_required")
            assert storage.process.pid == pid
            # The request counts once, however often it was sent.
            texts = [each.text for each in await actor.requester.messages(actor.conversation_id)]
            assert texts.count("look Berlin") == 1
            check_history(await actor.requester.history(actor.conversation_id))
            assert storage.site.effects() == []


@KINDS
async def test_a_run_that_is_under_way_in_the_loop_goes_on_by_itself(kind: str, tmp_path: Path) -> None:
    # A lease that outlives the test: the run is put back as soon as that can be stored.
    with storage_of("loop", kind, tmp_path, HANDRAIL_LOOP_LEASE_SECONDS="120") as storage:
        site = storage.site
        async with talking(site) as (actor, _):
            asked = expect(await actor.say("ring 1"), "approval_required")
            site.hold("ring")
            approving = asyncio.create_task(actor.approve(asked.last.approval_required))

            async def begun() -> bool:
                events = await actor.requester.history(actor.conversation_id)
                return any(event.WhichOneof("payload") == "tool_started" for event in events)

            await poll(begun, "the call's beginning")
            storage.take()
            site.release()
            await poll(site.effects, "the effect")
            # The outcome is there, and the Loop can store it nowhere.
            await storage.is_told_as(NOT_SERVING)
            assert not approving.done()
            storage.give()
            turn = expect(await asyncio.wait_for(approving, 45), "completed")
            assert [each.outcome for each in turn.of("tool_finished")] == [Outcome.OUTCOME_SUCCEEDED]
            assert len(site.effects()) == 1
            check_history(await actor.requester.history(actor.conversation_id))


@KINDS
async def test_while_the_adapter_can_store_nothing_a_run_waits_and_then_goes_on(kind: str, tmp_path: Path) -> None:
    with storage_of("adapter", kind, tmp_path) as storage:
        async with talking(storage.site) as (actor, _):
            asked = expect(await actor.say("ring 1"), "approval_required")
            pid = storage.process.pid
            storage.take()
            approving = asyncio.create_task(actor.approve(asked.last.approval_required))
            await storage.is_told_as(NOT_SERVING)
            assert not approving.done()
            storage.give()
            turn = expect(await asyncio.wait_for(approving, 45), "completed")
            assert [each.outcome for each in turn.of("tool_finished")] == [Outcome.OUTCOME_SUCCEEDED]
            assert len(storage.site.effects()) == 1
            await storage.is_told_as(SERVING)
            assert storage.process.pid == pid


async def test_an_outcome_that_the_adapter_cannot_store_is_kept_and_stored_later(tmp_path: Path) -> None:
    with storage_of("adapter", FULL, tmp_path) as storage:
        site = storage.site
        async with talking(site) as (actor, _):
            asked = expect(await actor.say("ring 1"), "approval_required")
            site.hold("ring")
            approving = asyncio.create_task(actor.approve(asked.last.approval_required))

            def claimed() -> bool:
                with closing(sqlite3.connect(tmp_path / "disk" / "adapter.db")) as connection:
                    rows = connection.execute("SELECT 1 FROM executions WHERE tool = 'ring' AND state = 'claimed'")
                    return rows.fetchone() is not None

            await poll(claimed, "the claim")
            storage.take()
            site.release()
            await poll(site.effects, "the effect")
            await storage.is_told_as(NOT_SERVING)
            storage.give()
            turn = expect(await asyncio.wait_for(approving, 45), "completed")
            assert [each.outcome for each in turn.of("tool_finished")] == [Outcome.OUTCOME_SUCCEEDED]
            assert len(site.effects()) == 1


@KINDS
async def test_an_adapter_that_can_store_nothing_for_long_fails_the_run_as_storage_unavailable(
    kind: str, tmp_path: Path
) -> None:
    with storage_of("adapter", kind, tmp_path, HANDRAIL_LOOP_ACTIVE_TIME_SECONDS="3") as storage:
        async with talking(storage.site) as (actor, _):
            expect(await actor.say("look Berlin"), "completed")
            storage.take()
            failure = expect(await actor.say("look Paris"), "failed").last.failed.failure
            assert (failure.code, failure.stage) == ("storage_unavailable", Stage.STAGE_STORAGE)
            assert failure.source_code == "STORAGE_UNAVAILABLE"
            assert failure.retryable
            assert failure.explanation
            storage.give()
            expect(await actor.say("look Paris"), "completed")


async def test_a_full_disk_under_the_logs_ends_nothing(tmp_path: Path) -> None:
    """Log lines that cannot be written are dropped; what they would have told of goes on."""
    with small_disk(tmp_path / "disk") as disk:
        logs = disk.folder / "logs"
        with running_site(tmp_path / "site", {"HANDRAIL_LOG_LEVEL": "info"}) as site:
            for name in ("adapter", "loop"):
                site.process(name).kill()
                site.process(name).log_path = logs / f"{name}.log"
            site.start()
            async with talking(site) as (actor, _):
                expect(await actor.say("look Berlin"), "completed")
                disk.fill()
                for _ in range(3):
                    expect(await actor.say("look Paris"), "completed")

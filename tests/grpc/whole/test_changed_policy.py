"""A newer Adapter while an approval waits at the Loop, and diffs for clients: both services, over real sockets."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from adapter_service.bootstrap import migrate_database, start
from adapter_service.config import AdapterSettings
from adapter_service.sdk import Domain
from handrail.adapter.v1 import artifact_service_pb2
from handrail.common.v1 import approval_pb2
from handrail_rpc.settings import ListenAddress
from tests.fakes.adapter import FakeAdapter, complete
from tests.fakes.probe_domain import World, make_domain
from tests.grpc.gateway.upstream import gateway_to
from tests.grpc.loop.driver import LoopDriver, last, names
from tests.grpc.loop.errors import refused
from tests.grpc.whole.running import running_whole
from tests.grpc.whole.settling import POST, who

APPROVE = approval_pb2.VERDICT_APPROVE


def newer_policy(domain: Domain) -> Domain:
    return replace(domain, policy_version=2)


def newer_tool(domain: Domain) -> Domain:
    return replace(domain, tools=tuple(replace(t, version=2) if t.name == "post_note" else t for t in domain.tools))


@pytest.mark.parametrize(("newer", "member"), [(newer_policy, "policy_version"), (newer_tool, "tool_version")])
async def test_what_was_shown_under_older_rules_is_asked_for_again_and_only_then_executed(
    tmp_path: Path, newer: Callable[[Domain], Domain], member: str
) -> None:
    world = World()
    settings = AdapterSettings(listen=ListenAddress("127.0.0.1", 0), data_dir=tmp_path / "adapter")
    settings.data_dir.mkdir()
    migrate_database(settings)
    running = await start(settings, domains=[make_domain(world)])
    driver = LoopDriver(tmp_path / "loop", FakeAdapter(lambda _request: complete()), adapters={"probe": running.target})
    await driver.start()
    try:
        conversation_id = await driver.create(domain="probe")
        old = last(await driver.send(conversation_id, POST), "approval_required")
        port = running.port
        await running.stop()
        again = settings.model_copy(update={"listen": ListenAddress("127.0.0.1", port)})
        running = await start(again, domains=[newer(make_domain(world))])
        events = await driver.resolve(old, APPROVE)
        assert last(events, "policy_blocked").code == "approval_stale"
        assert last(events, "policy_blocked").lifted_by
        new = last(events, "approval_required")
        assert names(events)[-1] == "approval_required"
        assert [getattr(each.snapshot, member) for each in (old, new)] == ["1", "2"]
        assert new.snapshot.idempotency_key != old.snapshot.idempotency_key
        assert not world.effects
        events = await driver.resolve(new, APPROVE)
        assert names(events)[-1] == "completed"
        assert list(world.effects) == [new.snapshot.idempotency_key]
    finally:
        await driver.stop()
        await running.stop()


async def test_a_client_gets_the_diff_of_its_own_artifacts_through_the_gateway(tmp_path: Path) -> None:
    ann, bob = who("ann", "author"), who("bob", "author")
    async with running_whole(tmp_path) as whole:
        conversation_id = await whole.create(metadata=ann)
        await whole.driver.send(conversation_id, POST, metadata=ann)
        asked = last(await whole.driver.send(conversation_id, "actually level 9", metadata=ann), "approval_required")
        request = artifact_service_pb2.DiffArtifactRequest(
            conversation_id=conversation_id, artifact_id=asked.snapshot.artifact_id, from_version=1
        )
        async with gateway_to(whole.driver.loop.target) as (_, channel):
            path = "/handrail.adapter.v1.ArtifactService/DiffArtifact"
            call = channel.unary_unary(path)
            data = await call(request.SerializeToString(), metadata=ann)
        found = artifact_service_pb2.DiffArtifactResponse.FromString(data)
        assert json.loads(found.json_patch) == [{"op": "replace", "path": "/level", "value": 9}]
        assert found == await whole.driver.artifacts.DiffArtifact(request, metadata=ann)
        assert found.to.sha256 == asked.snapshot.artifact_sha256
        await refused(whole.driver.artifacts.DiffArtifact(request, metadata=bob), "NOT_FOUND")
        request.artifact_id = ""
        await refused(whole.driver.artifacts.DiffArtifact(request, metadata=ann), "INVALID_ARGUMENT")

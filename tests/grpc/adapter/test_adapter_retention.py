"""Old artifact versions that nothing can name go in the background; what may still be named stays, however old."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from handrail.adapter.v1 import artifact_service_pb2 as pb2
from handrail.adapter.v1 import domain_adapter_service_pb2 as adapter_pb2
from handrail.common.v1 import approval_pb2, tool_pb2
from handrail_rpc.errors import NotFound
from tests.fakes.adapter_harness import Driver, FakeClock, Probe, refusal, running_probe
from tests.fakes.probe_domain import World
from tests.fakes.processes import poll

APPROVE = approval_pb2.VERDICT_APPROVE
NEW_VERSION = """INSERT INTO artifact_versions (artifact_id, version, sha256, media_type, title, size_bytes,
tool_call_id, tool, input_sha256, sources, settled_by, create_time)
SELECT artifact_id, version + 1, sha256, media_type, title, size_bytes, 'x', tool,
input_sha256, sources, '', create_time FROM artifact_versions
WHERE artifact_id = ? AND version = (SELECT max(version) FROM artifact_versions WHERE artifact_id = ?)"""


@asynccontextmanager
async def running(folder: Path, world: World | None = None) -> AsyncIterator[Probe]:
    """An Adapter that keeps what is unnamed for thirty days and looks very often."""
    async with running_probe(
        folder, world, FakeClock(), artifact_days=30, housekeeping_seconds=0.02, log_level="error"
    ) as probe:
        yield probe


async def revised_and_posted(probe: Probe, conversation_id: str = "conv_1") -> str:
    """A note whose first version failed its validation and whose second one was posted; its artifact id."""
    driver = await probe.open(conversation_id)
    await driver.say("write memo then post")
    await driver.run()
    await driver.reply("7")
    await driver.run()
    await driver.resolve(APPROVE)
    answer = (await driver.run()).complete.answer
    assert [each.version for each in answer.artifacts] == [2]
    return answer.artifacts[0].artifact_id


def supersede(probe: Probe, artifact_id: str) -> None:
    """The newest version is no longer the newest one."""
    probe.sql(NEW_VERSION, artifact_id, artifact_id)
    probe.sql("UPDATE artifacts SET latest_version = latest_version + 1 WHERE artifact_id = ?", artifact_id)


async def swept(probe: Probe) -> None:
    """Thirty days pass, and housekeeping has looked at every version: an unnamed one that was made last of all went."""
    witness = await revised_and_posted(probe, f"conv_witness_{probe.clock.now.timestamp()}")
    probe.clock.advance(timedelta(days=31))
    await poll(lambda: versions(probe, witness) == [2], "the end of the witness")


def versions(probe: Probe, artifact_id: str) -> list[int]:
    query = "SELECT version FROM artifact_versions WHERE artifact_id = ? ORDER BY version"
    return [row[0] for row in probe.sql(query, artifact_id)]


async def content(probe: Probe, artifact_id: str, version: int) -> bytes:
    request = pb2.ReadArtifactRequest(conversation_id="conv_1", artifact_id=artifact_id, version=version)
    return b"".join([part.data async for part in probe.artifacts.ReadArtifact(request)])


async def test_an_unnamed_version_goes_with_its_content_and_its_reader_is_told(tmp_path: Path) -> None:
    async with running(tmp_path) as probe:
        artifact_id = await revised_and_posted(probe)
        query = "SELECT sha256, tool_call_id FROM artifact_versions WHERE artifact_id = ? AND version = 1"
        [(sha256, call_id)] = probe.sql(query, artifact_id)
        first = await content(probe, artifact_id, 1)
        ledger = probe.sql("SELECT tool_call_id, state, result_sha256, outcome FROM executions ORDER BY 1")
        probe.clock.advance(timedelta(days=29))
        assert await content(probe, artifact_id, 1) == first  # not old enough
        probe.clock.advance(timedelta(days=2))
        await poll(lambda: versions(probe, artifact_id) == [2], "the end of the first version")
        for call in (
            lambda: content(probe, artifact_id, 1),
            lambda: get(probe, artifact_id, 1),
            lambda: diff(probe, artifact_id, from_version=1),
        ):
            error = await refusal(call())
            assert (type(error), error.reason) == (NotFound, "ARTIFACT_VERSION_REMOVED")
            assert "was removed by retention; the newest is 2" in error.message
        other = pb2.GetArtifactRequest(conversation_id="conv_2", artifact_id=artifact_id, version=1)
        assert (await refusal(probe.artifacts.GetArtifact(other))).reason == "ARTIFACT_NOT_FOUND"
        assert probe.sql("SELECT count(*) FROM contents WHERE sha256 = ?", sha256) == [(0,)]
        assert probe.sql("SELECT count(*) FROM validations WHERE artifact_id = ? AND version = 1", artifact_id) == [
            (0,)
        ]
        assert (await get(probe, artifact_id, 0)).artifact.version == 2
        assert await content(probe, artifact_id, 2)
        assert probe.sql("SELECT tool_call_id, state, result_sha256, outcome FROM executions ORDER BY 1") == ledger
        assert probe.sql("SELECT count(*) FROM executions WHERE tool_call_id = ?", call_id) == [(1,)]


async def test_without_the_setting_every_version_is_kept(tmp_path: Path) -> None:
    async with running_probe(tmp_path, clock=FakeClock(), housekeeping_seconds=0.02) as probe:
        artifact_id = await revised_and_posted(probe)
        probe.clock.advance(timedelta(days=4000))
        driver = await probe.open("conv_2")
        await driver.say("look Berlin")
        await driver.run()
        assert versions(probe, artifact_id) == [1, 2]


async def test_an_open_approval_keeps_its_artifact_until_it_ends(tmp_path: Path) -> None:
    async with running(tmp_path) as probe:
        driver = await probe.open()
        await driver.say("write memo at 3 then post")
        await driver.run()
        artifact_id = driver.last.request_approval.snapshot.artifact_id
        supersede(probe, artifact_id)
        await swept(probe)
        assert versions(probe, artifact_id) == [1, 2]
        await driver.cancel()
        await swept(probe)
        assert versions(probe, artifact_id) == [2]


async def test_what_was_published_or_named_by_an_answer_is_kept(tmp_path: Path) -> None:
    async with running(tmp_path) as probe:
        posted = await revised_and_posted(probe)
        named = await written(await probe.open("conv_2"))
        for artifact_id in (posted, named):
            supersede(probe, artifact_id)
        await swept(probe)
        assert versions(probe, posted) == [2, 3]
        assert versions(probe, named) == [1, 2]


async def test_what_was_published_is_kept_although_no_answer_told_it(tmp_path: Path) -> None:
    async with running(tmp_path) as probe:
        driver = await probe.open()
        await driver.say("write memo at 3 then post")
        await driver.run()
        artifact_id = driver.last.request_approval.snapshot.artifact_id
        await driver.resolve(APPROVE)
        assert (await driver.execute(driver.last.call_tool.calls[0])).outcome == tool_pb2.OUTCOME_SUCCEEDED
        await driver.cancel()
        supersede(probe, artifact_id)
        await swept(probe)
        assert versions(probe, artifact_id) == [1, 2]


async def test_an_unknown_outcome_keeps_what_the_call_read_until_a_person_settles_it(tmp_path: Path) -> None:
    class Unsure(World):
        def act(self, key: str) -> None:
            raise ConnectionError("the line broke off")

    async with running(tmp_path, Unsure()) as probe:
        driver = await probe.open()
        await driver.say("write memo at 3 then put")
        await driver.run()
        artifact_id = driver.last.request_approval.snapshot.artifact_id
        await driver.resolve(APPROVE)
        call = driver.last.call_tool.calls[0]
        outcome = await driver.execute(call)
        assert outcome.outcome == tool_pb2.OUTCOME_UNKNOWN
        await driver.cancel()  # no ending names the version
        supersede(probe, artifact_id)
        probe.clock.advance(timedelta(days=60))
        probe.world.__class__ = World  # the witness of the sweep has to be posted
        await swept(probe)
        assert versions(probe, artifact_id) == [1, 2]


async def test_a_content_that_something_else_has_is_kept(tmp_path: Path) -> None:
    async with running(tmp_path) as probe:
        artifact_id = await revised_and_posted(probe)
        other = await written(await probe.open("conv_2"), "write memo")  # the same bytes as the first version
        probe.clock.advance(timedelta(days=31))
        await poll(lambda: versions(probe, artifact_id) == [2], "the end of the first version")
        request = pb2.ReadArtifactRequest(conversation_id="conv_2", artifact_id=other)
        data = b"".join([part.data async for part in probe.artifacts.ReadArtifact(request)])
        assert data == b'{"level":null,"title":"memo"}'


async def test_an_erased_session_forgets_what_retention_removed(tmp_path: Path) -> None:
    async with running(tmp_path) as probe:
        artifact_id = await revised_and_posted(probe)
        probe.clock.advance(timedelta(days=31))
        await poll(lambda: versions(probe, artifact_id) == [2], "the end of the first version")
        request = adapter_pb2.DeleteSessionRequest(request_id="req_d", domain="probe", conversation_id="conv_1")
        assert (await probe.stub.DeleteSession(request)).erased
        assert probe.sql("SELECT count(*) FROM removed_versions") == [(0,)]
        assert (await refusal(get(probe, artifact_id, 1))).reason == "ARTIFACT_NOT_FOUND"


async def written(driver: Driver, text: str = "write memo at 5") -> str:
    """The artifact that an answer names."""
    await driver.say(text)
    answer = (await driver.run()).complete.answer
    return answer.artifacts[0].artifact_id


async def get(probe: Probe, artifact_id: str, version: int) -> pb2.GetArtifactResponse:
    request = pb2.GetArtifactRequest(conversation_id="conv_1", artifact_id=artifact_id, version=version)
    return await probe.artifacts.GetArtifact(request)


async def diff(probe: Probe, artifact_id: str, **fields: Any) -> pb2.DiffArtifactResponse:
    request = pb2.DiffArtifactRequest(conversation_id="conv_1", artifact_id=artifact_id, **fields)
    return await probe.artifacts.DiffArtifact(request)

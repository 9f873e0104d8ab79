"""ArtifactService of the Adapter: get, list, read; another conversation sees nothing."""

from __future__ import annotations

from handrail.adapter.v1 import artifact_service_pb2 as pb2
from handrail_rpc.digest import sha256_hex
from handrail_rpc.errors import InvalidArgument, NotFound, OutOfRange
from tests.fakes.adapter_harness import Probe, refusal


async def write(probe: Probe, title: str, conversation_id: str = "conv_1") -> pb2.Artifact:
    """A note of a conversation, as the service shows it."""
    driver = await probe.open(conversation_id)
    await driver.say(f"write {title} at 1")
    made = (await driver.run()).complete.answer.artifacts[0]
    request = pb2.GetArtifactRequest(conversation_id=conversation_id, artifact_id=made.artifact_id)
    return (await probe.artifacts.GetArtifact(request)).artifact


async def read(probe: Probe, request: pb2.ReadArtifactRequest) -> list[pb2.ReadArtifactResponse]:
    return [part async for part in probe.artifacts.ReadArtifact(request)]


async def test_metadata_names_origin_and_content(probe: Probe) -> None:
    artifact = await write(probe, "memo")
    assert (artifact.kind, artifact.title, artifact.tool, artifact.version) == ("note", "memo", "write_note", 1)
    assert (artifact.media_type, list(artifact.sources)) == ("application/json", ["probe"])
    request = pb2.ReadArtifactRequest(conversation_id="conv_1", artifact_id=artifact.artifact_id)
    parts = await read(probe, request)
    data = b"".join(part.data for part in parts)
    assert data == b'{"level":1,"title":"memo"}'
    assert sha256_hex(data) == artifact.sha256 == parts[0].artifact.sha256


async def test_long_content_comes_in_chunks_from_any_offset(probe: Probe) -> None:
    artifact = await write(probe, "memo")
    long = b"x" * 150_000
    probe.sql("INSERT INTO contents VALUES ('long', ?)", long)
    probe.sql("UPDATE artifact_versions SET sha256 = 'long', size_bytes = ?", len(long))
    request = pb2.ReadArtifactRequest(conversation_id="conv_1", artifact_id=artifact.artifact_id)
    parts = await read(probe, request)
    assert [(part.offset, len(part.data)) for part in parts] == [(0, 65536), (65536, 65536), (131072, 18928)]
    request.offset = 149_999
    assert [(part.offset, part.data) for part in await read(probe, request)] == [(149_999, b"x")]
    request.offset = 150_000
    assert [part.data for part in await read(probe, request)] == [b""]
    request.offset = 150_001
    error = await refusal(read(probe, request))
    assert (type(error), error.metadata["size_bytes"]) == (OutOfRange, "150000")
    request.offset = -1
    assert isinstance(await refusal(read(probe, request)), InvalidArgument)


async def test_pages_hold_every_artifact_once_newest_first(probe: Probe) -> None:
    titles = [f"memo{number}" for number in range(5)]
    for title in titles:
        await write(probe, title)
    await write(probe, "other", "conv_2")
    found, token = [], ""
    while True:
        request = pb2.ListArtifactsRequest(conversation_id="conv_1", page_size=2, page_token=token)
        page = await probe.artifacts.ListArtifacts(request)
        found += [artifact.title for artifact in page.artifacts]
        token = page.next_page_token
        if not token:
            break
    assert found == titles[::-1]
    for page_size, page_token in ((201, ""), (-1, ""), (2, "b7")):
        wrong = pb2.ListArtifactsRequest(conversation_id="conv_1", page_size=page_size, page_token=page_token)
        assert isinstance(await refusal(probe.artifacts.ListArtifacts(wrong)), InvalidArgument)


async def test_another_conversations_artifact_does_not_exist(probe: Probe) -> None:
    artifact = await write(probe, "memo")
    for conversation_id, artifact_id, version in (
        ("conv_2", artifact.artifact_id, 0),
        ("conv_1", "art_unknown", 0),
        ("conv_1", artifact.artifact_id, 2),
    ):
        get = pb2.GetArtifactRequest(conversation_id=conversation_id, artifact_id=artifact_id, version=version)
        assert isinstance(await refusal(probe.artifacts.GetArtifact(get)), NotFound)
        content = pb2.ReadArtifactRequest(conversation_id=conversation_id, artifact_id=artifact_id, version=version)
        assert isinstance(await refusal(read(probe, content)), NotFound)

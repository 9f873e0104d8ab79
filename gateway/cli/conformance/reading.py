"""Rules about artifacts, where the adapter serves ArtifactService: content, hashes, versions, and who may read."""

from __future__ import annotations

import hashlib

from gateway.cli.conformance.kit import Kit, kind_of
from gateway.cli.conformance.rule import NotApplicable, expect, rule
from gateway.cli.conformance.wire import Refused, parts_of, unary
from handrail.adapter.v1 import artifact_service_pb2 as artifacts
from handrail.common.v1.artifact_pb2 import ArtifactRef
from handrail_rpc.digest import NotCanonical, canonical_json, parse_json_strict


async def _draft(kit: Kit, title: str) -> tuple[str, ArtifactRef]:
    """The conversation in which a note was drafted, and the note."""
    begun = await kit.say(f"probe_draft title={title} level=1")
    outcome = await begun.execute(begun.only_call())
    expect(len(outcome.artifacts) == 1, f"the outcome names {len(outcome.artifacts)} artifacts, and one was made")
    done = await begun.finish(outcome)
    expect(done.WhichOneof("outcome") == "complete", f"came {kind_of(done)}")
    return begun.session.conversation_id, outcome.artifacts[0]


async def _read(kit: Kit, conversation_id: str, artifact_id: str, version: int = 0) -> bytes:
    request = artifacts.ReadArtifactRequest(conversation_id=conversation_id, artifact_id=artifact_id, version=version)
    data = bytearray()
    try:
        async for part in parts_of(kit.trace, "ReadArtifact", kit.artifacts.ReadArtifact, request):
            expect(part.offset == len(data), f"a chunk is at {part.offset} and {len(data)} bytes came before it")
            data += part.data
    except Refused as refused:
        if refused.code.name == "UNIMPLEMENTED":
            raise NotApplicable("the adapter serves no ArtifactService") from None
        raise
    return bytes(data)


@rule(
    wants="An artifact's bytes have the hash that outcome and GetArtifact name; JSON is stored as RFC 8785.",
    source="docs/protocol.md#artifacts",
    why="The hash is what is approved; a reader has to be able to check it.",
    needs=("probe_draft",),
)
async def artifact_has_its_hash(kit: Kit) -> None:
    title = kit.new_key()
    conversation_id, made = await _draft(kit, title)
    data = await _read(kit, conversation_id, made.artifact_id, made.version)
    expect(hashlib.sha256(data).hexdigest() == made.sha256, "the bytes have another hash than the outcome names")
    try:
        content = parse_json_strict(data)
        canonical = canonical_json(content) == data
    except NotCanonical as error:
        content, canonical = None, False
        expect(False, f"the content is no JSON: {error}")
    expect(canonical, "the JSON content is not in the form of RFC 8785")
    expect(content == {"title": title, "level": 1}, f"the content is {content!r}")
    request = artifacts.GetArtifactRequest(conversation_id=conversation_id, artifact_id=made.artifact_id)
    found = (await unary(kit.trace, "GetArtifact", kit.artifacts.GetArtifact, request)).artifact
    expect((found.sha256, found.version, found.size_bytes) == (made.sha256, 1, len(data)), "GetArtifact differs")
    expect(found.tool == "probe_draft" and found.tool_call_id, "GetArtifact does not say which call made it")


@rule(
    wants="A revision makes a new version; the earlier one stays as it was.",
    source="docs/protocol.md#artifacts",
    why="What somebody approved has to be there to be looked at afterwards.",
    needs=("probe_draft", "probe_revise"),
)
async def versions_are_immutable(kit: Kit) -> None:
    conversation_id, made = await _draft(kit, kit.new_key())
    before = await _read(kit, conversation_id, made.artifact_id, 1)
    session = await kit.open_session(conversation_id)
    revised = await kit.say("probe_revise level=2", session)
    outcome = await revised.execute(revised.only_call())
    new = outcome.artifacts[0] if outcome.artifacts else ArtifactRef()
    expect((new.artifact_id, new.version) == (made.artifact_id, 2), f"the revision made {new}")
    expect(await _read(kit, conversation_id, made.artifact_id, 1) == before, "version 1 changed")
    expect(await _read(kit, conversation_id, made.artifact_id) != before, "the newest version is the old content")


@rule(
    wants="Another conversation's artifact is NOT_FOUND.",
    source="docs/protocol.md#visibility",
    why="An id that leaked must not open somebody else's content.",
    needs=("probe_draft",),
)
async def foreign_artifact_refused(kit: Kit) -> None:
    conversation_id, made = await _draft(kit, kit.new_key())
    await _read(kit, conversation_id, made.artifact_id)
    other = await kit.open_session()
    await kit.refused(_read(kit, other.conversation_id, made.artifact_id), "NOT_FOUND")

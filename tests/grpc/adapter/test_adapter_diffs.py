"""DiffArtifact, provenance, and content that is read part by part: what ArtifactService says about versions."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from sqlite3 import Connection
from typing import Any

import jsonpatch
import pytest
from sqlalchemy import Engine, event

from adapter_service.application import diff_artifact
from adapter_service.sdk import ArtifactOutput, DiffForm, Domain
from handrail.adapter.v1 import artifact_service_pb2 as pb2
from handrail_rpc.digest import canonical_json, sha256_hex
from handrail_rpc.errors import InvalidArgument, NotFound
from tests.fakes.adapter_harness import Driver, Probe, refusal, running_probe
from tests.fakes.processes import poll
from tests.unit.adapter.test_unified_diff import apply


async def two_versions(probe: Probe, conversation_id: str = "conv_1") -> tuple[Driver, str]:
    """A note at level 3, revised to level 9; its artifact id."""
    driver = await probe.open(conversation_id)
    await driver.say("write memo at 3 then post")
    await driver.run()
    await driver.decide_text("actually level 9")
    await driver.run()
    return driver, driver.last.request_approval.snapshot.artifact_id


async def diff(probe: Probe, artifact_id: str, **fields: Any) -> pb2.DiffArtifactResponse:
    request = pb2.DiffArtifactRequest(**{"conversation_id": "conv_1", "artifact_id": artifact_id, **fields})
    return await probe.artifacts.DiffArtifact(request)


async def content(probe: Probe, artifact_id: str, version: int) -> bytes:
    request = pb2.ReadArtifactRequest(conversation_id="conv_1", artifact_id=artifact_id, version=version)
    return b"".join([part.data async for part in probe.artifacts.ReadArtifact(request)])


async def test_both_forms_of_a_diff_applied_to_the_first_version_give_the_second(probe: Probe) -> None:
    _, artifact_id = await two_versions(probe)
    found = await diff(probe, artifact_id, from_version=1)
    assert (getattr(found, "from").version, found.to.version) == (1, 2)
    assert json.loads(found.json_patch) == [{"op": "replace", "path": "/level", "value": 9}]
    assert (found.added_lines, found.removed_lines, found.truncated) == (1, 1, False)
    first, second = [await content(probe, artifact_id, version) for version in (1, 2)]
    patched = jsonpatch.apply_patch(json.loads(first), found.json_patch)
    assert canonical_json(patched) == second
    shown = [f"{json.dumps(json.loads(each), indent=2)}\n" for each in (first, second)]
    assert apply(shown[0], found.unified_diff) == shown[1]
    assert found.unified_diff.splitlines()[:2] == ["--- memo\tversion 1", "+++ memo\tversion 2"]
    backwards = await diff(probe, artifact_id, from_version=2, to_version=1, context_lines=0)
    assert backwards.unified_diff.splitlines()[2:] == ["@@ -2 +2 @@", '-  "level": 9,', '+  "level": 3,']
    same = await diff(probe, artifact_id, from_version=2)
    assert (same.unified_diff, same.json_patch) == ("", "[]")


async def test_from_nothing_everything_is_new(probe: Probe) -> None:
    _, artifact_id = await two_versions(probe)
    found = await diff(probe, artifact_id, to_version=1)
    assert not found.HasField("from")
    assert (found.added_lines, found.removed_lines) == (4, 0)
    assert jsonpatch.apply_patch(None, found.json_patch) == {"level": 3, "title": "memo"}


def with_forms(
    diff_form: Callable[[Any], DiffForm] | None, base_form: Callable[[Any], DiffForm | None] | None
) -> Callable[[Domain], Domain]:
    def adapt(domain: Domain) -> Domain:
        kinds = tuple(replace(kind, diff_form=diff_form, base_form=base_form) for kind in domain.artifact_kinds)
        return replace(domain, artifact_kinds=kinds)

    return adapt


async def test_a_kind_says_what_is_compared_and_what_a_version_was_drafted_from(tmp_path: Path) -> None:
    def form(note: Any) -> DiffForm:
        return DiffForm(f"# {note['title']}\nlevel {note['level']}", note, "notes/memo.md")

    def base(note: Any) -> DiffForm:
        return DiffForm("# memo\nlevel 0\n", {"title": note["title"], "level": 0}, "notes/memo.md")

    async with running_probe(tmp_path, adapt=with_forms(form, base)) as probe:
        _, artifact_id = await two_versions(probe)
        found = await diff(probe, artifact_id)
        assert found.unified_diff == (
            "--- notes/memo.md\tbase\n+++ notes/memo.md\tversion 2\n@@ -1,2 +1,2 @@\n # memo\n-level 0\n+level 9\n"
            "\\ No newline at end of file\n"
        )
        assert json.loads(found.json_patch) == [{"op": "replace", "path": "/level", "value": 9}]


async def test_a_form_that_breaks_leaves_the_content_to_compare(tmp_path: Path) -> None:
    def broken(_note: Any) -> DiffForm:
        raise RuntimeError("a domain that breaks")

    async with running_probe(tmp_path, adapt=with_forms(broken, broken)) as probe:
        _, artifact_id = await two_versions(probe)
        assert (await diff(probe, artifact_id, from_version=1)).added_lines == 1
        assert (await diff(probe, artifact_id)).added_lines == 4


async def test_content_that_is_no_text_has_no_diff_and_text_has_no_patch(tmp_path: Path) -> None:
    async with running_probe(tmp_path, adapt=with_forms(lambda _note: DiffForm(None), None)) as probe:
        _, artifact_id = await two_versions(probe)
        found = await diff(probe, artifact_id, from_version=1)
        assert (found.unified_diff, found.json_patch, found.truncated) == ("", "", False)


async def test_other_content_than_json_is_kept_by_its_bytes_and_compared_as_text(tmp_path: Path) -> None:
    def adapt(domain: Domain) -> Domain:
        made = ArtifactOutput(
            "note", "text/markdown", lambda note: note["title"], lambda note: f"# {note['title']}\r\n\u00e9".encode()
        )
        tools = (replace(tool, makes=made) if tool.name == "write_note" else tool for tool in domain.tools)
        return replace(domain, tools=tuple(tools))

    async with running_probe(tmp_path, adapt=adapt) as probe:
        driver = await probe.open()
        await driver.say("write memo at 1")
        made = (await driver.run()).complete.answer.artifacts[0]
        data = await content(probe, made.artifact_id, 1)
        assert data == "# memo\r\n\u00e9".encode()
        assert (made.media_type, made.sha256) == ("text/markdown", sha256_hex(data))
        found = await diff(probe, made.artifact_id)
        assert apply("", found.unified_diff) == data.decode()
        assert (found.json_patch, found.added_lines, found.truncated) == ("", 2, False)


async def test_the_limit_that_a_diff_exceeds_is_named(probe: Probe, monkeypatch: pytest.MonkeyPatch) -> None:
    _, artifact_id = await two_versions(probe)
    monkeypatch.setattr(diff_artifact, "MOST_FORM_BYTES", 10)
    found = await diff(probe, artifact_id, from_version=1)
    assert (found.truncated, found.unified_diff, found.json_patch) == (True, "", "")
    assert "unified_diff: at most 10 bytes are compared, here are " in found.limit
    assert "json_patch: at most 10 bytes are compared, here are " in found.limit


async def test_a_diff_is_asked_for_within_the_conversation_and_of_versions_that_are_there(probe: Probe) -> None:
    _, artifact_id = await two_versions(probe)
    for wrong in ({"conversation_id": "conv_2"}, {"from_version": 3}, {"to_version": 9}):
        assert isinstance(await refusal(diff(probe, artifact_id, **wrong)), NotFound)
    for wrong in ({"context_lines": 101}, {"from_version": -1}, {"to_version": -1}, {"conversation_id": ""}):
        assert isinstance(await refusal(diff(probe, artifact_id, **wrong)), InvalidArgument)


async def test_a_version_names_what_its_call_read(probe: Probe) -> None:
    _, artifact_id = await two_versions(probe)
    request = pb2.GetArtifactRequest(conversation_id="conv_1", artifact_id=artifact_id)
    second = (await probe.artifacts.GetArtifact(request)).artifact
    request.version = 1
    first = (await probe.artifacts.GetArtifact(request)).artifact
    assert (first.tool, list(first.input_artifacts), first.latest_version) == ("write_note", [], 2)
    read = [(each.artifact_id, each.version, each.sha256) for each in second.input_artifacts]
    assert (second.tool, read) == ("change_note", [(artifact_id, 1, first.sha256)])
    assert len(second.input_sha256) == 64
    assert second.tool_call_id.startswith("call_")


async def test_what_a_version_covers_is_told(tmp_path: Path) -> None:
    def adapt(domain: Domain) -> Domain:
        tools = (
            replace(tool, makes=replace(tool.makes, data_scope=lambda note: f"notes called {note['title']}"))
            if tool.makes is not None
            else tool
            for tool in domain.tools
        )
        return replace(domain, tools=tuple(tools))

    async with running_probe(tmp_path, adapt=adapt) as probe:
        _, artifact_id = await two_versions(probe)
        request = pb2.GetArtifactRequest(conversation_id="conv_1", artifact_id=artifact_id)
        assert (await probe.artifacts.GetArtifact(request)).artifact.data_scope == "notes called memo"


async def test_a_reader_is_told_where_the_content_goes_while_it_reads(probe: Probe) -> None:
    """Each part is loaded when it is wanted: nothing of a long content is held for a reader that is slow."""
    _, artifact_id = await two_versions(probe)
    long = b"x" * (3 * 1024 * 1024)
    probe.sql("INSERT INTO contents VALUES ('long', ?)", long)
    probe.sql("UPDATE artifact_versions SET sha256 = 'long', size_bytes = ? WHERE version = 2", len(long))
    request = pb2.ReadArtifactRequest(conversation_id="conv_1", artifact_id=artifact_id)
    sizes: list[int] = []

    async def read() -> None:
        async for part in probe.artifacts.ReadArtifact(request):
            if not sizes:
                probe.sql("DELETE FROM contents WHERE sha256 = 'long'")
            sizes.append(len(part.data))

    assert isinstance(await refusal(read()), NotFound)
    assert set(sizes) == {65536}
    assert sum(sizes) < len(long)


async def test_a_part_is_read_without_the_rest_of_the_content(tmp_path: Path) -> None:
    seen: list[str] = []

    def watch(connection: Connection, _record: Any) -> None:
        connection.set_trace_callback(seen.append)

    event.listen(Engine, "connect", watch)
    try:
        async with running_probe(tmp_path) as probe:
            _, artifact_id = await two_versions(probe)
            long = bytes(range(256)) * 1024
            probe.sql("INSERT INTO contents VALUES ('long', ?)", long)
            probe.sql("UPDATE artifact_versions SET sha256 = 'long', size_bytes = ? WHERE version = 2", len(long))
            seen.clear()
            assert await content(probe, artifact_id, 2) == long
            assert len([text for text in seen if "FROM contents" in text]) == len(long) // 65536
            assert not [text for text in seen if "contents.data" in text]
    finally:
        event.remove(Engine, "connect", watch)


async def test_documents_of_very_many_values_are_not_compared_value_by_value(
    probe: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two lists may cost the product of their lengths, for minutes."""
    _, artifact_id = await two_versions(probe)
    monkeypatch.setattr(diff_artifact, "MOST_PATCH_VALUES", 2)
    found = await diff(probe, artifact_id, from_version=1)
    assert (found.json_patch, found.truncated) == ("", True)
    assert found.limit == "json_patch: documents of at most 2 values are compared, here are 3"
    assert found.unified_diff


async def test_a_comparison_whose_client_is_gone_keeps_its_place_until_it_ends(tmp_path: Path) -> None:
    """Otherwise clients that give up and ask again would take one thread after the other."""
    begun: list[Any] = []
    release = threading.Event()

    def slow_form(note: Any) -> DiffForm:
        begun.append(note)
        release.wait(20)
        return DiffForm(text="form\n")

    async with running_probe(tmp_path, adapt=with_forms(slow_form, None)) as probe:
        _, artifact_id = await two_versions(probe)
        gone = [asyncio.create_task(diff(probe, artifact_id)) for _ in range(diff_artifact.MOST_AT_ONCE)]
        await poll(lambda: len(begun) == diff_artifact.MOST_AT_ONCE, "the comparisons")
        for each in gone:
            each.cancel()
        await asyncio.wait(gone)
        waiting = asyncio.create_task(diff(probe, artifact_id))
        await probe.open("conv_2")  # the service has answered others meanwhile
        assert len(begun) == diff_artifact.MOST_AT_ONCE
        release.set()
        assert (await waiting).to.version == 2

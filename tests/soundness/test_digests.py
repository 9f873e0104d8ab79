"""soundness.md 'Digests', and the sentences of 'Further rules' about bytes: what is hashed, stored and forwarded."""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapter_service.sdk import Domain
from handrail.adapter.v1 import artifact_service_pb2
from handrail.adapter.v1 import domain_adapter_service_pb2 as adapter_pb
from handrail.common.v1 import approval_pb2, decision_pb2, fact_pb2, tool_pb2
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail_rpc.digest import parse_json_strict, sha256_hex
from handrail_rpc.errors import InvalidArgument
from tests.fakes.adapter import call, complete, request_approval
from tests.fakes.adapter_harness import Probe, refusal, running_probe
from tests.grpc.loop.driver import last, running_loop
from tests.grpc.whole.running import running_whole
from tests.soundness.acting import POST, approved, asked

APPROVE = approval_pb2.VERDICT_APPROVE
DECOMPOSED, COMPOSED = "Cafe\u0301", "Café"
MEMBERS = {
    "digest_scheme", "tool", "tool_version", "artifact_id", "artifact_version", "artifact_sha256", "validation_sha256",
    "input_sha256", "policy_version", "required_role", "idempotency_key", "expire_time",
}  # fmt: skip


def changed(name: str, **more: Any) -> Callable[[Domain], Domain]:
    """The probe domain with one tool changed."""

    def adapt(domain: Domain) -> Domain:
        return replace(domain, tools=tuple(replace(t, **more) if t.name == name else t for t in domain.tools))

    return adapt


async def test_the_hash_covers_the_explicit_object_alone(tmp_path: Path) -> None:
    """Twelve members, all present and all texts, the scheme's name among them: written down here by hand."""
    async with running_whole(tmp_path) as whole:
        conversation_id = await whole.create()
        shown = last(await whole.driver.send(conversation_id, "write memo at 3 then post"), "approval_required")
        snapshot = shown.snapshot
        expires = snapshot.expire_time
        explicit = {
            **{name: getattr(snapshot, name) for name in MEMBERS - {"artifact_version", "expire_time"}},
            "artifact_version": str(snapshot.artifact_version),
            "expire_time": f"{expires.ToDatetime():%Y-%m-%dT%H:%M:%S}.{expires.nanos // 1000:06d}Z",
        }
        assert explicit["digest_scheme"] == "rfc8785-sha256-v1"
        text = json.dumps(explicit, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert shown.snapshot_digest == hashlib.sha256(text.encode()).hexdigest()


async def test_strings_are_normalised_on_entry(tmp_path: Path) -> None:
    """A decomposed text is composed in the Loop's message and in the Adapter's hashed input."""
    async with running_whole(tmp_path) as whole:
        conversation_id = await whole.create()
        await whole.driver.send(conversation_id, f"write {DECOMPOSED} at 3 then post")
        listed = await whole.stub.ListMessages(pb.ListMessagesRequest(conversation_id=conversation_id))
        assert listed.messages[0].text == f"write {COMPOSED} at 3 then post"
    async with running_probe(tmp_path) as probe:
        driver = await probe.open()
        await driver.say(f"write {DECOMPOSED} at 3")
        ((stored,),) = probe.sql("SELECT input_bytes FROM tool_calls")
        assert parse_json_strict(stored)["arguments"]["title"] == COMPOSED


@pytest.mark.parametrize("media_type", ["application/json", "text/plain"])
async def test_document_content_is_never_normalised(tmp_path: Path, media_type: str) -> None:
    """What a tool made is stored and hashed as it made it, also where it looks like something else."""

    def adapt(domain: Domain) -> Domain:
        tool = domain.tool("write_note")
        assert tool.makes is not None

        def content(_result: Any) -> Any:
            return {"title": DECOMPOSED} if media_type == "application/json" else DECOMPOSED

        return changed("write_note", makes=replace(tool.makes, media_type=media_type, content=content))(domain)

    async with running_probe(tmp_path, adapt=adapt) as probe:
        driver = await probe.open()
        await driver.say("write memo at 3")
        await driver.run()
        ((artifact_id, sha256),) = probe.sql("SELECT artifact_id, sha256 FROM artifact_versions")
        request = artifact_service_pb2.ReadArtifactRequest(conversation_id="conv_1", artifact_id=artifact_id)
        data = b"".join([chunk.data async for chunk in probe.artifacts.ReadArtifact(request)])
        assert DECOMPOSED.encode() in data
        assert sha256_hex(data) == sha256


NUMBERS = {"too large": 2.0**53 + 2, "not a number": math.nan, "infinite": math.inf}


@pytest.mark.parametrize("number", NUMBERS)
async def test_what_has_no_canonical_form_is_refused(probe: Probe, number: str) -> None:
    """On entry with its field, as a result of a tool with its own code; never rewritten to make it fit."""
    driver = await probe.open()
    fact = fact_pb2.Fact(name="x", source=fact_pb2.SOURCE_USER)
    fact.value.fields["n"].number_value = NUMBERS[number]
    error = await refusal(driver.say("look London", facts=[fact]))
    assert isinstance(error, InvalidArgument)
    assert [violation.field for violation in error.field_violations] == ["facts[0].value"]


async def test_numbers_outside_the_safe_range_are_refused_never_rewritten(tmp_path: Path) -> None:
    """2^53+1 would become another number in any reader that has only doubles; as a text it travels unharmed."""

    def fetch(number: int) -> Any:
        return {"number": str(2**53 + number) if number == 2 else 2.0**53 + 2 * number}

    async with running_probe(tmp_path, adapt=changed("fetch", function=fetch)) as probe:
        driver = await probe.open()
        await driver.say("fetch 1")
        outcome = await driver.execute(driver.last.call_tool.calls[0])
        assert (outcome.outcome, outcome.failure.source_code) == (tool_pb2.OUTCOME_FAILED, "result_unreadable")
        text = await probe.open("conv_2")
        await text.say("fetch 2")
        assert (await text.run()).complete.answer.text == f"Number {2**53 + 2}."
        large = await probe.open("conv_3")
        assert (await large.say("fetch 9007199254740993")).HasField("ask")


async def test_repeated_keys_are_refused(tmp_path: Path) -> None:
    """Two members of one name are two documents in one: a reader that took the last would find nothing wrong here."""

    def script(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        return complete() if request.observation.HasField("tool_finished") else call("call_1")

    async with running_loop(tmp_path, script) as driver:
        conversation_id = await driver.create()
        await driver.send(conversation_id, "go")
        verify = pb.VerifyAuditRequest(conversation_id=conversation_id)
        assert (await driver.stub.VerifyAudit(verify)).valid
        with closing(sqlite3.connect(tmp_path / "loop.db", timeout=10)) as connection, connection:
            ((number, details),) = connection.execute(
                "SELECT number, details FROM audit_events WHERE kind = 'tool_called'"
            ).fetchall()
            twice = details.replace('"tool":"look"', '"tool":"hide","tool":"look"')
            assert json.loads(twice) == json.loads(details) != twice
            connection.execute("UPDATE audit_events SET details = ? WHERE number = ?", (twice, number))
        found = await driver.stub.VerifyAudit(verify)
        assert [(f.number, f.fault) for f in found.findings] == [(number, pb.AUDIT_FAULT_EDITED)]


async def test_canonicalised_once_and_the_tool_receives_those_bytes(probe: Probe) -> None:
    """The hash covers the stored bytes; others than those that were hashed reach no tool."""
    driver, posting = await approved(probe, POST)
    ((stored,),) = probe.sql("SELECT input_bytes FROM tool_calls WHERE tool = 'post_note'")
    assert sha256_hex(stored) == posting.input_sha256
    assert probe.sql("SELECT input_bytes FROM approvals") == [(stored,)]
    # The same value written in another way has another hash.
    probe.sql("UPDATE tool_calls SET input_bytes = CAST(input_bytes || ' ' AS BLOB) WHERE tool = 'post_note'")
    assert (await driver.execute(posting)).block.code == "approval_stale"
    reader = await probe.open("conv_2")
    await reader.say("fetch 7")
    probe.sql("UPDATE tool_calls SET input_bytes = CAST(replace(input_bytes, 7, 8) AS BLOB) WHERE tool = 'fetch'")
    outcome = await reader.execute(reader.last.call_tool.calls[0])
    assert (outcome.outcome, outcome.failure.code) == (tool_pb2.OUTCOME_FAILED, "tool_input_invalid")
    assert not probe.world.effects


async def test_content_of_another_hash_reaches_no_tool(probe: Probe) -> None:
    driver, posting = await approved(probe, POST)
    ((sha256,),) = probe.sql("SELECT sha256 FROM artifact_versions")
    probe.sql("UPDATE contents SET data = CAST(replace(data, 'memo', 'mimo') AS BLOB) WHERE sha256 = ?", sha256)
    outcome = await driver.execute(posting)
    assert (outcome.outcome, outcome.failure.code) == (tool_pb2.OUTCOME_FAILED, "tool_input_invalid")
    assert not probe.world.effects


async def test_a_snapshot_is_stored_and_forwarded_as_its_bytes(tmp_path: Path) -> None:
    """Round trip of a snapshot whose expiry has nanoseconds and that has a member which this Loop does not know."""
    newer = b"\xc2\x3e\x05later"  # field 1000, length-delimited
    sent = request_approval().request_approval.snapshot
    sent.expire_time.nanos = 999_999_000
    sent.MergeFromString(newer)
    data = sent.SerializeToString(deterministic=True)
    assert newer in data

    def script(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        decision = request_approval()
        decision.request_approval.snapshot.CopyFrom(sent)
        return decision

    async with running_loop(tmp_path, script) as driver:
        conversation_id = await driver.create()
        shown = last(await driver.send(conversation_id, "file"), "approval_required")
        await driver.restart()
        pending = (await driver.stub.ListPending(pb.ListPendingRequest())).items[0].approval
        replayed = last(await driver.events(conversation_id), "approval_required")
        for each in (shown, pending, replayed):
            assert each.snapshot.SerializeToString(deterministic=True) == data
            assert each.snapshot_digest == shown.snapshot_digest


async def test_a_time_finer_than_microseconds_is_refused_never_rounded(tmp_path: Path) -> None:
    """Two snapshots that differ by nanoseconds would have one digest; such a one is never shown to anybody."""

    def script(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        decision = request_approval()
        decision.request_approval.snapshot.expire_time.nanos = 123_456_789
        return decision if request.decision_number == 1 else complete()

    async with running_loop(tmp_path, script) as driver:
        conversation_id = await driver.create()
        failure = last(await driver.send(conversation_id, "file"), "failed").failure
        assert (failure.code, failure.source_code) == ("adapter_failed", "DECISION_MALFORMED")


async def test_the_adapters_own_expiry_has_microseconds(probe: Probe) -> None:
    snapshot = (await asked(probe, POST)).last.request_approval.snapshot
    assert snapshot.expire_time.ToNanoseconds() % 1000 == 0

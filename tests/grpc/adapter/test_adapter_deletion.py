"""DeleteSession: content goes, also from the bytes of the file; the ledger and the tombstones stay."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy.dialects import sqlite

from adapter_service.storage import erasure_store
from handrail.adapter.v1 import artifact_service_pb2 as artifact_pb
from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail.common.v1 import approval_pb2, tool_pb2
from handrail_rpc.errors import FailedPrecondition, InvalidArgument, NotFound, Unavailable
from tests.fakes.adapter_harness import Driver, Probe, position, refusal
from tests.grpc.adapter.test_adapter_executions import approved, begun

SECRET = "zanzibar"


async def delete(probe: Probe, conversation_id: str = "conv_1", **more: str) -> bool:
    fields = {"request_id": "req_d", "domain": "probe", "conversation_id": conversation_id, **more}
    return (await probe.stub.DeleteSession(pb2.DeleteSessionRequest(**fields))).erased


def traces(folder: Path, text: str = SECRET) -> list[str]:
    """Files below a folder whose bytes have the text, the write-ahead log included."""
    return [path.name for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


async def posted(probe: Probe, conversation_id: str = "conv_1") -> Driver:
    """A conversation that has written, revised and posted a note, with its secret in it."""
    driver, call = await approved(probe, f"write {SECRET} at 3 then post", conversation_id)
    await driver.finish(await driver.execute(call))
    other = await probe.open(conversation_id)
    await other.say(f"say {SECRET}", facts=[position(1.5)])
    return driver


async def test_everything_said_and_made_is_gone_from_the_files(probe: Probe) -> None:
    await posted(probe)
    folder = probe.settings.data_dir
    assert traces(folder)
    assert await delete(probe)
    assert traces(folder) == []
    assert not await delete(probe)
    assert not await delete(probe, "conv_never")
    for table in ("facts", "decisions", "candidates", "artifacts", "artifact_versions", "validations", "contents"):
        assert probe.sql(f"SELECT count(*) FROM {table}") == [(0,)], table
    listed = artifact_pb.ListArtifactsRequest(conversation_id="conv_1")
    assert not (await probe.artifacts.ListArtifacts(listed)).artifacts


async def test_the_ledger_and_the_tombstones_outlive_the_content(probe: Probe) -> None:
    driver = await posted(probe)
    ledger = "SELECT tool_call_id, execution_id, idempotency_key, state, result_sha256, tool FROM executions"
    before = probe.sql(ledger)
    digests = probe.sql("SELECT digest, idempotency_key, state, resolved_by FROM approvals")
    assert await delete(probe)
    assert probe.sql(ledger) == before
    assert probe.sql("SELECT digest, idempotency_key, state, resolved_by FROM approvals") == digests
    assert set(probe.sql("SELECT closed FROM interactions")) == {(1,)}
    effects = dict(probe.world.effects)
    call = tool_pb2.ToolCall(tool_call_id=before[-1][0])
    assert isinstance(await refusal(driver.execute(call)), NotFound)
    assert isinstance(await refusal((await probe.open("conv_1")).say("look Berlin")), NotFound)
    assert dict(probe.world.effects) == effects


async def test_a_content_that_another_session_has_too_is_kept(probe: Probe) -> None:
    for conversation_id in ("conv_1", "conv_2"):
        driver = await probe.open(conversation_id)
        await driver.say("write quagga at 3")
        await driver.run()
    assert await delete(probe, "conv_1")
    listed = (await probe.artifacts.ListArtifacts(artifact_pb.ListArtifactsRequest(conversation_id="conv_2"))).artifacts
    read = artifact_pb.ReadArtifactRequest(conversation_id="conv_2", artifact_id=listed[0].artifact_id)
    assert b"quagga" in b"".join([chunk.data async for chunk in probe.artifacts.ReadArtifact(read)])
    assert await delete(probe, "conv_2")
    assert traces(probe.settings.data_dir, "quagga") == []


async def test_while_a_call_runs_nothing_is_erased(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say("look Berlin")
    release = probe.world.hold("look")
    call = driver.last.call_tool.calls[0]
    stream = probe.stub.ExecuteTool(driver.execute_request(call))
    await begun(probe, "look")
    error = await refusal(delete(probe))
    assert (type(error), error.reason) == (Unavailable, "ATTEMPT_RUNNING")
    assert probe.sql("SELECT count(*) FROM decisions") == [(1,)]
    release.set()
    assert [part.WhichOneof("part") async for part in stream][-1] == "outcome"
    assert await delete(probe)


async def test_an_unknown_outcome_is_settled_before_its_content_is_erased(probe: Probe) -> None:
    driver, call = await approved(probe, "toll 3")
    release = probe.world.hold("ring")
    outcome = await driver.execute(call)
    release.set()
    assert outcome.outcome == tool_pb2.OUTCOME_UNKNOWN
    probe.clock.advance(timedelta(hours=1))
    error = await refusal(delete(probe))
    assert (type(error), error.reason) == (FailedPrecondition, "EXECUTION_UNSETTLED")
    assert "SettleExecution" in error.message
    assert call.tool_call_id in error.message
    assert probe.sql("SELECT target FROM executions WHERE state = 'unknown'") == [("bell",)]
    settle = pb2.SettleExecutionRequest(
        request_id="req_s",
        domain="probe",
        domain_session_id=driver.session_id,
        interaction_id=driver.interaction_id,
        tool_call_id=call.tool_call_id,
        history_id=driver.history_id,
        outcome=tool_pb2.OUTCOME_FAILED,
        settled_by="bob",
        comment=f"the {SECRET} bell was silent",
        locale="en",
    )
    await probe.stub.SettleExecution(settle)
    assert await delete(probe)
    assert traces(probe.settings.data_dir) == []
    assert probe.sql("SELECT state, settled_by FROM executions") == [("failed", "bob")]


async def test_an_erased_session_is_neither_explained_nor_settled(probe: Probe) -> None:
    driver = await posted(probe)
    call_id = probe.sql("SELECT tool_call_id FROM executions WHERE tool = 'post_note'")[0][0]
    assert await delete(probe)
    asked = pb2.GetSessionRequest(domain_session_id=driver.session_id, caller=driver.principal())
    assert isinstance(await refusal(probe.stub.GetSession(asked)), NotFound)
    verdict = pb2.SettleExecutionRequest(
        request_id="req_s",
        domain="probe",
        domain_session_id=driver.session_id,
        interaction_id=driver.interaction_id,
        tool_call_id=call_id,
        history_id=driver.history_id,
        outcome=tool_pb2.OUTCOME_SUCCEEDED,
        settled_by="bob",
        comment=SECRET,
        locale="en",
    )
    assert isinstance(await refusal(probe.stub.SettleExecution(verdict)), NotFound)
    assert traces(probe.settings.data_dir) == []


@pytest.mark.parametrize("missing", ["request_id", "domain", "conversation_id"])
async def test_a_missing_member_is_named(probe: Probe, missing: str) -> None:
    error = await refusal(delete(probe, **{missing: ""}))
    assert isinstance(error, InvalidArgument)
    assert [each.field for each in error.field_violations] == [missing]


async def test_a_session_of_another_domain_is_left_alone(probe: Probe) -> None:
    await posted(probe)
    assert not await delete(probe, domain="elsewhere")
    assert traces(probe.settings.data_dir)


async def test_an_open_approval_goes_with_its_session(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say(f"write {SECRET} at 3 then post")
    await driver.run()
    assert driver.last.HasField("request_approval")
    await driver.cancel()
    assert await delete(probe)
    assert isinstance(await refusal(driver.resolve(approval_pb2.VERDICT_APPROVE)), NotFound)
    assert traces(probe.settings.data_dir) == []


async def test_whether_a_content_is_anothers_too_is_answered_by_indexes(probe: Probe) -> None:
    statement = str(erasure_store._DROP_CONTENT.core.compile(dialect=sqlite.dialect()))
    plan = [row[3] for row in probe.sql(f"EXPLAIN QUERY PLAN {statement}", *[""] * statement.count("?"))]
    assert len(plan) > 4
    assert [step for step in plan if step.startswith("SCAN") and "CONSTANT" not in step] == []

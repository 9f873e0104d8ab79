"""soundness.md 'Further rules': what outlives the erasure of a conversation, and what an open approval keeps."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from adapter_service.sdk import Domain
from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail.common.v1 import approval_pb2, tool_pb2
from tests.fakes.adapter_harness import Probe, refusal, running_probe
from tests.soundness.acting import POST, RING, approved, asked

APPROVE = approval_pb2.VERDICT_APPROVE
SUCCEEDED = tool_pb2.OUTCOME_SUCCEEDED


async def erase(probe: Probe, conversation_id: str = "conv_1") -> bool:
    request = pb2.DeleteSessionRequest(request_id="del_1", domain="probe", conversation_id=conversation_id)
    return (await probe.stub.DeleteSession(request)).erased


async def test_ledger_rows_and_tombstones_outlive_what_names_them(probe: Probe) -> None:
    """The content is erased: no key executes again, and nothing of the conversation begins any more."""
    driver, rung = await approved(probe, RING)
    assert (await driver.execute(rung)).outcome == SUCCEEDED
    waiting, never = await approved(probe, POST)
    assert await erase(probe)
    assert not await erase(probe)
    for late in (waiting.execute(never), waiting.say("more")):
        assert (await refusal(late)).reason in ("SESSION_NOT_FOUND", "INTERACTION_CLOSED")
    await asyncio.gather(driver.execute(rung, dispatch_number=2), return_exceptions=True)
    assert probe.world.effects == {rung.idempotency_key: 1}
    kept = probe.sql("SELECT state FROM executions WHERE idempotency_key = ?", rung.idempotency_key)
    assert kept == [("succeeded",)]
    assert {closed for (closed,) in probe.sql("SELECT closed FROM interactions")} == {1}
    ((texts,),) = probe.sql("SELECT count(*) FROM tool_calls WHERE input_bytes <> x''")
    assert texts == 0


def with_another_form(domain: Domain) -> Domain:
    """A note's content is other bytes than the result that it was made of, so that only artifacts name it."""
    tool = domain.tool("write_note")
    assert tool.makes is not None
    makes = replace(tool.makes, content=lambda result: {**result, "form": "note"})
    return replace(domain, tools=tuple(replace(t, makes=makes) if t is tool else t for t in domain.tools))


async def test_an_open_approval_keeps_its_artifacts(tmp_path: Path) -> None:
    """Equal bytes are stored once: erasing one conversation leaves those that another one's open approval names."""
    async with running_probe(tmp_path, adapt=with_another_form) as probe:
        await asked(probe, POST, "conv_1")
        other = await asked(probe, POST, "conv_2")
        assert probe.sql("SELECT count(DISTINCT sha256), count(*) FROM artifact_versions") == [(1, 2)]
        assert await erase(probe, "conv_1")
        await other.resolve(APPROVE)
        assert (await other.run()).complete.answer.text.endswith("Posted the note memo.")
        assert sum(probe.world.effects.values()) == 1

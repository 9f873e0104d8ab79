"""No statement of a turn reads a whole table: what a conversation costs does not grow with what is stored (H3)."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from sqlalchemy import Engine, event

from adapter_service.domain.session import MOST_ARTIFACTS
from handrail.adapter.v1 import artifact_service_pb2
from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail.common.v1 import approval_pb2
from tests.fakes.adapter_harness import FakeClock, Probe, position, running_probe
from tests.fakes.processes import poll

# One row, whatever is stored.
KINDS = ("SELECT", "INSERT", "UPDATE", "DELETE")
SMALL = ("SCAN history", "SCAN history USING COVERING INDEX sqlite_autoindex_history_1")


async def test_every_statement_of_a_turn_uses_an_index(tmp_path: Path) -> None:
    seen: list[str] = []

    def watch(connection: Connection, _record: Any) -> None:
        connection.set_trace_callback(seen.append)

    event.listen(Engine, "connect", watch)
    try:
        async with running_probe(tmp_path) as probe:
            seen.clear()
            await one_of_everything(probe)
            statements = {text for text in seen if text.startswith(("SELECT", "UPDATE", "DELETE"))}
            plans = {text: [row[3] for row in probe.sql(f"EXPLAIN QUERY PLAN {text}")] for text in statements}
    finally:
        event.remove(Engine, "connect", watch)
    assert len({text.split(" WHERE ")[0] for text in statements}) > 20
    for text, plan in plans.items():
        assert not [line for line in plan if line.startswith("SCAN") and line not in SMALL], text


async def test_housekeeping_looks_by_indexes(tmp_path: Path) -> None:
    seen: list[str] = []

    def watch(connection: Connection, _record: Any) -> None:
        connection.set_trace_callback(seen.append)

    event.listen(Engine, "connect", watch)
    try:
        async with running_probe(
            tmp_path, clock=FakeClock(), artifact_days=30, housekeeping_seconds=0.02, log_level="error"
        ) as probe:
            driver = await probe.open()
            await driver.say("write memo at 3 then post")
            await driver.run()
            await driver.decide_text("actually level 9")
            await driver.run()
            await driver.resolve(approval_pb2.VERDICT_APPROVE)
            await driver.run()
            seen.clear()
            probe.clock.advance(timedelta(days=31))
            await poll(lambda: probe.sql("SELECT count(*) FROM removed_versions") == [(1,)], "the end of the version")
            statements = {text for text in seen if text.startswith(("SELECT", "UPDATE", "DELETE"))}
            plans = {text: [row[3] for row in probe.sql(f"EXPLAIN QUERY PLAN {text}")] for text in statements}
    finally:
        event.remove(Engine, "connect", watch)
    assert any(text.startswith("DELETE FROM contents") for text in statements)
    for text, plan in plans.items():
        assert not [line for line in plan if line.startswith("SCAN") and line not in SMALL], text


async def test_a_turn_executes_as_many_statements_late_in_a_session_as_early(tmp_path: Path) -> None:
    seen: list[str] = []

    def watch(connection: Connection, _record: Any) -> None:
        connection.set_trace_callback(seen.append)

    counts: list[int] = []
    event.listen(Engine, "connect", watch)
    try:
        async with running_probe(tmp_path) as probe:
            for number in range(3 * MOST_ARTIFACTS):
                driver = await probe.open()
                seen.clear()
                await driver.say(f"look Berlin then write memo{number} at 3", facts=[position(number)])
                await driver.run()
                counts.append(sum(text.startswith(KINDS) for text in seen))
                assert driver.last.HasField("complete")
    finally:
        event.remove(Engine, "connect", watch)
    # Later than MOST_ARTIFACTS turns there is no more of anything that planning reads.
    assert len(set(counts[MOST_ARTIFACTS:])) == 1, counts


async def one_of_everything(probe: Probe) -> None:
    """A turn with facts, a choice, an artifact and an approval; a repetition, a cancellation, and what can be read."""
    driver = await probe.open()
    await driver.say("look London then write memo at 3 then post", facts=[position(1)])
    await driver.reply(selected_candidate_id=driver.last.ask.prompt.options[0].candidate_id)
    await driver.run()
    await driver.resolve(approval_pb2.VERDICT_APPROVE)
    outcome = await driver.execute(driver.last.call_tool.calls[0])
    await driver.execute(driver.last.call_tool.calls[0])
    await driver.finish(outcome)
    await driver.send(driver.last_request)
    await driver.cancel()
    request = pb2.GetSessionRequest(domain_session_id=driver.session_id, caller=driver.principal())
    await probe.stub.GetSession(request)
    listing = artifact_service_pb2.ListArtifactsRequest(conversation_id="conv_1", page_size=1, page_token="a9")
    await probe.artifacts.ListArtifacts(listing)

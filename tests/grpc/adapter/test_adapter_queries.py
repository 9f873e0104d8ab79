"""No statement of a turn reads a whole table: what a conversation costs does not grow with what is stored (H3)."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, event

from handrail.adapter.v1 import artifact_service_pb2
from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail.common.v1 import approval_pb2
from tests.fakes.adapter_harness import Probe, position

# One row, whatever is stored.
SMALL = ("SCAN history",)


async def test_every_statement_of_a_turn_uses_an_index(probe: Probe) -> None:
    statements: dict[str, Any] = {}

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, many: bool) -> None:
        if not many and statement.startswith(("SELECT", "UPDATE", "DELETE")):
            statements[statement] = parameters

    event.listen(Engine, "before_cursor_execute", note)
    try:
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
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    assert len(statements) > 25
    for statement, parameters in statements.items():
        plan = [row[3] for row in probe.sql(f"EXPLAIN QUERY PLAN {statement}", *parameters)]
        assert not [line for line in plan if line.startswith("SCAN") and line not in SMALL], statement

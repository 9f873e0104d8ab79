"""One trace per run through the three real processes and the tool, as a real OTLP receiver sees it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from gateway.cli.client import connect
from tests.e2e.talking import say
from tests.fakes.otlp_receiver import OtlpReceiver
from tests.fakes.processes import running_stack

LOOP = "handrail.loop.v1.WorkflowLoopService"
ADAPTER = "handrail.adapter.v1.DomainAdapterService"


async def _talk(target: str) -> list[str]:
    """A run that asks and the run that goes on from the answer; returns their ids."""
    async with connect(target) as client:
        conversation = (await client.create_conversation("aviation")).conversation_id
        asked = await say(client, conversation, "Weather at the airport nearest to me", "clarification_required")
        answered = await say(client, conversation, "52.52, 13.40", "completed")
        return [asked.last.run_id, answered.last.run_id]


def test_each_run_is_one_trace_through_gateway_loop_adapter_and_tool(tmp_path: Path) -> None:
    with OtlpReceiver() as receiver:
        with running_stack(tmp_path, {"HANDRAIL_OTLP_ENDPOINT": receiver.endpoint}) as stack:
            asked, answered = asyncio.run(_talk(stack.gateway.target))
        # Stopping the processes flushed what they had to send.
        runs = {span.attributes["handrail.run_id"]: span for span in receiver.spans("loop.run")}
        waited, resumed = runs[asked], runs[answered]
        assert waited.trace_id != resumed.trace_id
        assert (waited.trace_id, waited.span_id) in resumed.links
        of_run = [span for span in receiver.spans() if span.trace_id == resumed.trace_id]
    assert {span.service for span in of_run} == {"handrail-gateway", "handrail-loop", "handrail-adapter"}
    sides = {(span.name, span.kind) for span in of_run}
    for method in (f"{LOOP}/SendMessage", f"{ADAPTER}/Decide", f"{ADAPTER}/ExecuteTool"):
        assert {(method, "client"), (method, "server")} <= sides
    tools = [span.attributes["handrail.tool"] for span in of_run if "handrail.tool" in span.attributes]
    assert {"get_position", "search_airports", "get_weather"} <= set(tools)
    assert "52.52" not in "".join(str(span) for span in of_run), "a trace holds no text of the user"

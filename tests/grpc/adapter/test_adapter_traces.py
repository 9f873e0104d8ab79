"""Traces and logs of the Adapter: the tool span lies within the caller's trace; no text or input leaves (J2, G5)."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

from handrail.adapter.v1 import domain_adapter_service_pb2_grpc as pb2_grpc
from handrail_rpc.channel import open_channel
from handrail_rpc.context import LOCAL_CALLER, call_context
from tests.fakes.adapter_harness import open_driver
from tests.fakes.otlp_receiver import OtlpReceiver

ROOT = Path(__file__).parents[3]
TRACE = "0af7651916cd43dd8448eb211c80319c"


async def test_a_tools_span_is_part_of_the_callers_trace_and_logs_carry_ids_but_no_texts(tmp_path: Path) -> None:
    with OtlpReceiver() as receiver:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.fakes.probe_adapter",
            str(tmp_path),
            "0",
            cwd=ROOT,
            env={**os.environ, "HANDRAIL_OTLP_ENDPOINT": receiver.endpoint},
            stdout=PIPE,
            stderr=PIPE,
        )
        assert process.stdout is not None
        try:
            port = int(await asyncio.wait_for(process.stdout.readline(), 60))
            channel = open_channel(f"127.0.0.1:{port}")
            driver = await open_driver(pb2_grpc.DomainAdapterServiceStub(channel))
            traceparent = f"00-{TRACE}-b7ad6b7169203331-01"
            with call_context(request_id="req_traced", caller=LOCAL_CALLER, traceparent=traceparent):
                await driver.say("write verysecrettitle at 7")
                await driver.run()
            await channel.close()
        finally:
            process.terminate()
            _, text = await asyncio.wait_for(process.communicate(), 60)
        spans = receiver.spans()
    tool = next(span for span in spans if span.name == "adapter.tool")
    parent = next(span for span in spans if span.span_id == tool.parent_span_id)
    assert (tool.trace_id, tool.attributes["handrail.tool"]) == (TRACE, "write_note")
    assert parent.name.endswith("ExecuteTool")
    lines = [json.loads(line) for line in text.decode().splitlines()]
    claimed = next(line for line in lines if line["event"] == "tool call claimed")
    assert claimed["request_id"] == "req_traced"
    assert claimed["interaction_id"] == driver.interaction_id
    assert claimed["run_id"] == "run_1"
    assert "verysecrettitle" not in text.decode()
    assert "verysecrettitle" not in str(spans)

"""What the soundness tests of the Adapter share: an approved call, a tool held within, and a crash in mid-tool."""

from __future__ import annotations

import asyncio

from handrail.common.v1 import approval_pb2, tool_pb2
from tests.fakes.adapter_harness import Driver, Probe

SECONDS = 20
POST = "write memo at 3 then post"
"""An idempotent EXTERNAL tool over an artifact that is validated."""
RING = "ring 2"
"""A CHANGE tool that is not idempotent."""
PUT = "write memo at 3 then put"
"""An EXTERNAL tool that replaces a base outside the database and has a probe."""


async def asked(probe: Probe, text: str, conversation_id: str = "conv_1") -> Driver:
    """An interaction whose last decision asks for an approval."""
    driver = await probe.open(conversation_id)
    await driver.say(text)
    await driver.run()
    assert driver.last.HasField("request_approval"), driver.last
    return driver


async def approved(probe: Probe, text: str, conversation_id: str = "conv_1") -> tuple[Driver, tool_pb2.ToolCall]:
    """An approved call that was not yet executed."""
    driver = await asked(probe, text, conversation_id)
    await driver.resolve(approval_pb2.VERDICT_APPROVE)
    return driver, driver.last.call_tool.calls[0]


async def begun(probe: Probe, tool: str) -> None:
    """Wait until a held tool is inside its function."""
    assert await asyncio.to_thread(probe.world.begun[tool].wait, SECONDS)


async def crash(probe: Probe, driver: Driver, call: tool_pb2.ToolCall, gate: str) -> None:
    """Stop the Adapter while the tool stands at a gate; its thread never gets any further, nothing is recorded."""
    probe.world.hold(gate)
    task = asyncio.create_task(driver.execute(call))
    await begun(probe, gate)
    for _ in range(2):  # the second request cuts the grace short
        probe.running.server.request_stop()
    await probe.running.stop()
    await asyncio.wait([task])
    assert task.exception() is not None
    probe.world.held.clear()
    probe.world.begun.clear()


def state_of(probe: Probe, call: tool_pb2.ToolCall) -> str:
    """The ledger's word on a call, "" without a row."""
    rows = probe.sql("SELECT state FROM executions WHERE tool_call_id = ?", call.tool_call_id)
    return str(rows[0][0]) if rows else ""

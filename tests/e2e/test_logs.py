"""The logs of the three real processes: one run is found by its ids in each, and no log holds what was said."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from gateway.cli.client import connect
from gateway.cli.processes import ServiceProcess
from tests.e2e.talking import Turn, say
from tests.fakes.processes import running_stack

SAID = "Weather at Hamburg please"


async def _talk(target: str) -> Turn:
    async with connect(target) as client:
        return await say(client, (await client.create_conversation("aviation")).conversation_id, SAID, "completed")


def _lines(process: ServiceProcess) -> list[dict[str, Any]]:
    return [json.loads(line) for line in process.log_path.read_text("utf-8").splitlines()]


def test_a_run_is_found_by_its_ids_and_no_text_is_logged(tmp_path: Path) -> None:
    with running_stack(tmp_path) as stack:
        last = asyncio.run(_talk(stack.gateway.target)).last
    of_request = [line for line in _lines(stack.gateway) if line.get("method", "").endswith("/SendMessage")]
    assert [line["event"] for line in of_request] == ["stream forwarded"]
    of_run = [line for line in _lines(stack.loop) if line.get("run_id") == last.run_id]
    assert {"run taken up", "run ended"} <= {line["event"] for line in of_run}
    for line in of_run:
        assert (line["conversation_id"], line["request_id"]) == (last.conversation_id, last.request_id)
    of_tool = [line for line in _lines(stack.adapter) if line.get("run_id") == last.run_id]
    assert {"tool call claimed", "tool call ended"} <= {line["event"] for line in of_tool}
    for process in stack.processes:
        text = process.log_path.read_text("utf-8")
        for word in ("Hamburg", "please", last.completed.answer.text[:20]):
            assert word not in text, f"{process.service.name} logged what was said"

"""`handrail delete` as a person uses it, against a real Loop."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from tests.fakes.adapter import complete
from tests.grpc.loop.driver import LoopDriver, running_loop
from tests.grpc.loop.errors import refused


async def delete(driver: LoopDriver, *arguments: str, typed: str = "") -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *[sys.executable, "-m", "gateway.cli", "delete", *arguments, "--address", driver.loop.target],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await asyncio.wait_for(process.communicate(typed.encode()), 60)
    assert process.returncode is not None
    return process.returncode, output.decode()


async def test_a_conversation_is_erased_once_it_is_confirmed(tmp_path: Path) -> None:
    async with running_loop(tmp_path, lambda request: complete()) as driver:
        conversation_id = await driver.create(title="Berlin and back")
        await driver.send(conversation_id, "hello")
        found = pb.GetConversationRequest(conversation_id=conversation_id)
        for typed in ("n\n", "", "\n"):
            code, told = await delete(driver, conversation_id, typed=typed)
            assert code == 1
            assert "“Berlin and back”" in told
            assert "nothing was erased" in told
            assert (await driver.stub.GetConversation(found)).conversation.title == "Berlin and back"
        code, told = await delete(driver, conversation_id, typed="y\n")
        assert code == 0, told
        assert f"erased {conversation_id}" in told
        await refused(driver.stub.GetConversation(found), "NOT_FOUND")
        code, told = await delete(driver, conversation_id, "--yes")
        assert code == 2
        assert "CONVERSATION_NOT_FOUND" in told

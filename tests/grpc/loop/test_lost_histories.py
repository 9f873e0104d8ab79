"""A Loop's database that was put back: what the Adapter can and cannot say of the calls that were under way, and the
operator's recovery as a request like any other.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import grpc

from handrail.adapter.v1 import domain_adapter_service_pb2 as adapter_pb
from handrail.common.v1 import decision_pb2, tool_pb2
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from tests.fakes.adapter import FakeAdapter, Refusal, call, complete
from tests.grpc.loop.driver import LoopDriver, last, names, running_loop
from tests.grpc.loop.errors import refused


def change(asked: adapter_pb.DecideRequest) -> decision_pb2.Decision:
    return call("c1", effect=tool_pb2.EFFECT_CHANGE)


def put_back(folder: Path, *, known_revision: int) -> None:
    """As if the database of a stopped Loop were an older copy, which has seen the session at that revision."""
    with closing(sqlite3.connect(folder / "loop.db")) as connection, connection:
        connection.execute("UPDATE history SET swept_history_id = ''")
        connection.execute("UPDATE conversations SET loop_history_id = 'his_lost'")
        connection.execute("UPDATE conversations SET session_revision = ?", (known_revision,))


async def ended_after(tmp_path: Path, *, known_revision: int) -> str:
    """How a change under way ends whose sending the Adapter knows nothing of; its sessions are at revision 0."""
    async with running_loop(tmp_path, change) as driver:
        conversation_id = await driver.create()
        driver.adapter.refuse("ExecuteTool", *[Refusal(grpc.StatusCode.UNAVAILABLE, "AWAY")] * 1000)
        sending = driver.open_send(conversation_id, "change it")

        async def sent() -> bool:
            return bool(driver.adapter.execute_requests)

        await driver.until(sent)
        sending.cancel()
        await driver.stop()
        put_back(tmp_path, known_revision=known_revision)
        await driver.start()

        async def ended() -> bool:
            return names(await driver.events(conversation_id))[-1] == "failed"

        await driver.until(ended)
        events = await driver.events(conversation_id)
        assert last(events, "failed").failure.code == "session_diverged"
        assert [each.interaction_id for each in driver.adapter.cancel_requests] == [events[-1].interaction_id]
        return tool_pb2.Outcome.Name(last(events, "tool_finished").outcome)


async def test_a_call_that_the_whole_ledger_does_not_name_never_began(tmp_path: Path) -> None:
    assert await ended_after(tmp_path, known_revision=0) == "OUTCOME_BLOCKED"


async def test_a_call_that_a_shortened_ledger_does_not_name_is_unknown(tmp_path: Path) -> None:
    assert await ended_after(tmp_path, known_revision=5) == "OUTCOME_UNKNOWN"


async def test_a_recovery_is_replayed_while_the_adapter_is_away(tmp_path: Path) -> None:
    adapter = await FakeAdapter(lambda asked: complete()).start()
    driver = LoopDriver(tmp_path, adapter)
    await driver.start()
    try:
        conversation_id = await driver.create()
        await driver.send(conversation_id, "hello")
        with closing(sqlite3.connect(tmp_path / "loop.db")) as connection, connection:
            connection.execute("UPDATE conversations SET divergence = 'diverged'")
        request = pb.RecoverConversationRequest(
            request_id="recover", conversation_id=conversation_id, recovery=pb.RECOVERY_REOPEN
        )
        first = await driver.stub.RecoverConversation(request)
        await adapter.stop()
        assert await driver.stub.RecoverConversation(request) == first
        request.request_id = "another"
        await refused(driver.stub.RecoverConversation(request), "UNAVAILABLE")
    finally:
        await driver.stop()
        await adapter.stop()

"""DeleteConversation where the Adapter is away or the Loop is restarted: it is carried through by itself."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import grpc
import pytest

from handrail.common.v1 import approval_pb2
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from loop_service.application import delete_conversation
from tests.fakes.adapter import Refusal, ask, complete, request_approval
from tests.grpc.loop.driver import LoopDriver, collect, last, names, running_loop
from tests.grpc.loop.errors import refused

AWAY = Refusal(grpc.StatusCode.UNAVAILABLE, "AWAY")


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delete_conversation, "RETRY", timedelta(milliseconds=200))


def request(conversation_id: str, request_id: str = "delete") -> pb.DeleteConversationRequest:
    return pb.DeleteConversationRequest(request_id=request_id, conversation_id=conversation_id)


async def state(driver: LoopDriver, conversation_id: str) -> str:
    with closing(sqlite3.connect(driver.folder / "loop.db", timeout=10)) as connection:
        query = "SELECT deletion FROM conversations WHERE conversation_id = ?"
        return str(connection.execute(query, (conversation_id,)).fetchone()[0])


async def until_erased(driver: LoopDriver, conversation_id: str) -> None:
    async def erased() -> bool:
        return await state(driver, conversation_id) == "erased"

    await driver.until(erased)
    kinds = await audit_kinds(driver, conversation_id)
    assert kinds.count("AUDIT_KIND_CONVERSATION_DELETED") == 1
    verified = await driver.stub.VerifyAudit(pb.VerifyAuditRequest(conversation_id=conversation_id))
    assert verified.valid


async def audit_kinds(driver: LoopDriver, conversation_id: str) -> list[str]:
    listed = await driver.stub.ListAuditEvents(pb.ListAuditEventsRequest(conversation_id=conversation_id))
    return [pb.AuditKind.Name(row.kind) for row in listed.audit_events]


async def test_while_the_adapter_is_away_nobody_reads_it_and_it_is_carried_through_later(tmp_path: Path) -> None:
    async with running_loop(tmp_path, lambda asked: complete()) as driver:
        conversation_id = await driver.create()
        await driver.send(conversation_id, "hello")
        driver.adapter.refuse("DeleteSession", AWAY, AWAY)
        error = await refused(driver.stub.DeleteConversation(request(conversation_id)), "UNAVAILABLE")
        assert error.reason == "DELETION_PENDING"
        assert await state(driver, conversation_id) == "deleted"
        messages = pb.ListMessagesRequest(conversation_id=conversation_id)
        await refused(driver.stub.ListMessages(messages), "NOT_FOUND")
        await until_erased(driver, conversation_id)
        assert len(driver.adapter.delete_requests) == 3
        assert {each.request_id for each in driver.adapter.delete_requests} == {f"delete-{conversation_id}"}
        assert (await driver.stub.DeleteConversation(request(conversation_id))).delete_time.seconds > 0


async def test_a_deletion_under_way_is_taken_up_after_a_restart(tmp_path: Path) -> None:
    async with running_loop(tmp_path, lambda asked: complete()) as driver:
        conversation_id = await driver.create()
        await driver.send(conversation_id, "hello")
        await driver.adapter.stop()
        await refused(driver.stub.DeleteConversation(request(conversation_id)), "UNAVAILABLE")
        await driver.restart()
        assert await state(driver, conversation_id) == "deleted"
        await driver.adapter.start()
        await until_erased(driver, conversation_id)


async def test_a_stop_that_is_not_confirmed_holds_the_deletion_back(tmp_path: Path) -> None:
    async with running_loop(
        tmp_path, lambda asked: ask(), stop_patience_seconds=0.3, settle_first_seconds=0.3
    ) as driver:
        conversation_id = await driver.create()
        assert names(await driver.send(conversation_id, "hello"))[-1] == "clarification_required"
        await driver.adapter.stop()
        error = await refused(driver.stub.DeleteConversation(request(conversation_id)), "UNAVAILABLE")
        assert error.reason == "DELETION_PENDING"
        # Nothing is erased and it can still be read, but nothing begins in it any more (confirm_stop).
        assert await state(driver, conversation_id) == "requested"
        assert await driver.events(conversation_id)
        refusal = await refused(driver.send(conversation_id, "more"), "FAILED_PRECONDITION")
        assert refusal.reason == "CONVERSATION_STATE"
        assert not driver.adapter.delete_requests
        await driver.adapter.start()
        await until_erased(driver, conversation_id)
        assert "AUDIT_KIND_INTERACTION_ENDED" in await audit_kinds(driver, conversation_id)


async def test_two_requests_at_once_erase_once(tmp_path: Path) -> None:
    async with running_loop(tmp_path, lambda asked: complete()) as driver:
        conversation_id = await driver.create()
        await driver.send(conversation_id, "hello")
        gate = driver.adapter.hold("DeleteSession")
        first = driver.stub.DeleteConversation(request(conversation_id, "a"))
        await driver.adapter.until_arrived("DeleteSession")
        second = driver.stub.DeleteConversation(request(conversation_id, "b"))
        gate.set()
        assert (await first).delete_time == (await second).delete_time
        await until_erased(driver, conversation_id)
        assert len(driver.adapter.delete_requests) == 1


async def test_much_content_is_erased_in_parts(tmp_path: Path) -> None:
    async with running_loop(tmp_path, lambda asked: complete("word " * 2000)) as driver:
        conversation_id = await driver.create()
        for turn in range(30):
            await driver.send(conversation_id, f"turn {turn}")
        before = driver.loop.parts
        assert before is not None
        units = before.database.stats.units
        await driver.stub.DeleteConversation(request(conversation_id))
        assert before.database.stats.units - units >= 5
        with closing(sqlite3.connect(tmp_path / "loop.db")) as connection:
            for table in ("messages", "events", "interactions", "observations", "decisions", "clarifications"):
                assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table
            assert connection.execute("SELECT count(*) FROM requests").fetchone() == (32,)


async def test_a_verdict_a_signal_and_a_recovery_do_not_find_what_was_deleted(tmp_path: Path) -> None:
    async with running_loop(tmp_path, lambda asked: request_approval()) as driver:
        conversation_id = await driver.create()
        asked = await driver.send(conversation_id, "file it")
        approval = last(asked, "approval_required")
        verdict = approval_pb2.VERDICT_REJECT
        await driver.resolve(approval, verdict, request_id="verdict")
        driver.adapter.refuse("DeleteSession", *[AWAY] * 100)
        await refused(driver.stub.DeleteConversation(request(conversation_id)), "UNAVAILABLE")
        # Its rows are still there: the Adapter has not erased its half.
        assert await state(driver, conversation_id) == "deleted"
        for request_id in ("verdict", "another"):
            await refused(driver.resolve(approval, verdict, request_id=request_id), "NOT_FOUND")
        for role in ("*", "operator", "signaler"):
            who = (("x-handrail-principal", "tracker"), ("x-handrail-roles", role))
            signal = pb.SignalInteractionRequest(request_id=role, interaction_id=asked[-1].interaction_id, signal="go")
            await refused(driver.stub.SignalInteraction(signal, metadata=who), "NOT_FOUND")
        recovery = pb.RecoverConversationRequest(
            request_id="recover", conversation_id=conversation_id, recovery=pb.RECOVERY_REOPEN
        )
        await refused(driver.stub.RecoverConversation(recovery), "NOT_FOUND")


async def test_a_message_that_waited_when_the_deletion_came_begins_nothing(tmp_path: Path) -> None:
    async with running_loop(tmp_path, lambda asked: complete()) as driver:
        conversation_id = await driver.create()
        gate = driver.adapter.hold("Decide")
        running = driver.open_send(conversation_id, "first")
        await driver.adapter.until_arrived("Decide")
        waiting = driver.open_send(conversation_id, "second")

        async def joined() -> bool:
            return "message_accepted" in names(await driver.events(conversation_id))

        await driver.until(joined)
        # The content stays readable until the Adapter answers.
        driver.adapter.refuse("DeleteSession", *[AWAY] * 100)
        deleting = driver.stub.DeleteConversation(request(conversation_id))
        second = await collect(waiting)
        gate.set()
        assert names(second)[-1] == "canceled"
        assert last(second, "canceled").reason == "The conversation was deleted."
        assert names(await collect(running))[-1] == "canceled"
        await refused(deleting, "UNAVAILABLE")
        assert [each.observation.user_message.text for each in driver.adapter.decide_requests] == ["first"]

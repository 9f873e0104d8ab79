"""Retention of events by age, and cursors that stay honest about it (HANDRAIL_LOOP_EVENT_RETENTION_DAYS)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from handrail.adapter.v1 import domain_adapter_service_pb2 as adapter_pb
from handrail.common.v1 import decision_pb2
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from loop_service.application.trim_events import BATCH
from tests.fakes.adapter import FakeAdapter, ask, complete
from tests.grpc.loop.driver import LoopDriver, collect, names
from tests.grpc.loop.errors import refused
from tests.grpc.whole.running import MovedClock

DAY = 86_400.0


class Kept:
    """A Loop that keeps events for ten days, on a clock of the test's."""

    def __init__(self, driver: LoopDriver, clock: MovedClock) -> None:
        self.driver = driver
        self.clock = clock

    async def conversation(self, conversation_id: str) -> pb.Conversation:
        request = pb.GetConversationRequest(conversation_id=conversation_id)
        found: pb.Conversation = (await self.driver.stub.GetConversation(request)).conversation
        return found

    async def until_first(self, conversation_id: str, sequence: int) -> None:
        async def trimmed() -> bool:
            return (await self.conversation(conversation_id)).first_sequence == sequence

        await self.driver.until(trimmed)

    async def watch(self, conversation_id: str, after: int) -> list[Any]:
        request = pb.WatchConversationRequest(conversation_id=conversation_id, after_sequence=after)
        return await collect(self.driver.stub.WatchConversation(request))


class running_kept:
    """`async with running_kept(tmp_path, script) as kept`."""

    def __init__(self, folder: Path, script: Any, **settings: Any) -> None:
        self._adapter = FakeAdapter(script)
        given = {"event_retention_days": 10, "housekeeping_seconds": 0.05, **settings}
        self._driver = LoopDriver(folder, self._adapter, **given)

    async def __aenter__(self) -> Kept:
        await self._adapter.start()
        self._driver.clock = clock = MovedClock()
        await self._driver.start()
        return Kept(self._driver, clock)

    async def __aexit__(self, *_: object) -> None:
        await self._driver.stop()
        await self._adapter.stop()


def answering(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
    return complete("Done.")


async def test_old_events_go_and_older_cursors_are_out_of_range(tmp_path: Path) -> None:
    async with running_kept(tmp_path, answering) as kept:
        conversation_id = await kept.driver.create()
        old = await kept.driver.send(conversation_id, "old", request_id="old")
        kept.clock.leap(9 * DAY)
        young = await kept.driver.send(conversation_id, "young", request_id="young")
        assert (await kept.conversation(conversation_id)).first_sequence == 1
        kept.clock.leap(2 * DAY)
        first, last = young[0].sequence, young[-1].sequence
        await kept.until_first(conversation_id, first)
        for cursor in (0, 1, first - 2):
            refusal = await refused(kept.watch(conversation_id, cursor), "OUT_OF_RANGE")
            assert (refusal.metadata["first_sequence"], refusal.metadata["last_sequence"]) == (str(first), str(last))
            assert f"{first - 1} to {last}" in refusal.message
        left = await kept.watch(conversation_id, first - 1)
        assert [e.sequence for e in left] == [*range(first, last + 1), last]
        # A replay of the old request says so in the same way; the young one's is whole.
        gone = await refused(kept.driver.send(conversation_id, "old", request_id="old"), "OUT_OF_RANGE")
        assert gone.metadata["first_sequence"] == str(first)
        assert old[0].run_id in gone.message
        again = await kept.driver.send(conversation_id, "young", request_id="young")
        assert [e.SerializeToString() for e in again] == [e.SerializeToString() for e in young]
        listed = await kept.driver.stub.ListMessages(pb.ListMessagesRequest(conversation_id=conversation_id))
        assert len(listed.messages) == 4, "messages stay"
        audit = await kept.driver.stub.ListAuditEvents(pb.ListAuditEventsRequest(conversation_id=conversation_id))
        assert audit.audit_events[0].number == 1


async def test_a_conversation_whose_events_are_all_gone_goes_on_with_the_next_number(tmp_path: Path) -> None:
    async with running_kept(tmp_path, answering) as kept:
        conversation_id = await kept.driver.create()
        head = (await kept.driver.send(conversation_id, "old"))[-1].sequence
        kept.clock.leap(11 * DAY)
        await kept.until_first(conversation_id, head + 1)
        assert names(await kept.watch(conversation_id, head)) == ["live"]
        refusal = await refused(kept.watch(conversation_id, 0), "OUT_OF_RANGE")
        assert f"{head} to {head}" in refusal.message
        new = await kept.driver.send(conversation_id, "new")
        assert new[0].sequence == head + 1
        assert len(await kept.watch(conversation_id, head)) == len(new) + 1
        kept.clock.leap(11 * DAY)
        await kept.until_first(conversation_id, new[-1].sequence + 1)


async def test_events_of_an_active_run_stay_however_old(tmp_path: Path) -> None:
    """Also what follows them: only the front of the sequence is removed."""

    async with running_kept(tmp_path, answering, active_time_seconds=80_000.0) as kept:
        conversation_id = await kept.driver.create()
        head = (await kept.driver.send(conversation_id, "old"))[-1].sequence
        kept.driver.adapter.hold("Decide")
        sending = asyncio.ensure_future(kept.driver.send(conversation_id, "active"))
        await kept.driver.adapter.until_arrived("Decide")
        kept.clock.leap(12 * DAY)
        await kept.until_first(conversation_id, head + 1)
        kept.clock.leap(DAY)
        left = await kept.watch(conversation_id, head)
        assert names(left)[0] == "run_started"
        sending.cancel()


async def test_retention_is_taken_up_after_a_restart_and_works_in_batches(tmp_path: Path) -> None:
    def long_answer(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        return complete("word " * 20_000)

    async with running_kept(tmp_path, long_answer) as kept:
        conversation_id = await kept.driver.create()
        events = await kept.driver.send(conversation_id, "old")
        head = events[-1].sequence
        assert head > BATCH
        await kept.driver.stop()
        kept.clock.leap(11 * DAY)
        await kept.driver.start()
        await kept.until_first(conversation_id, head + 1)


async def test_without_the_setting_events_are_kept_for_ever(tmp_path: Path) -> None:
    async with running_kept(tmp_path, lambda request: ask(), event_retention_days=0) as kept:
        assert kept.driver.loop.parts is not None
        assert kept.driver.loop.parts.housekeeping is None
        conversation_id = await kept.driver.create()
        await kept.driver.send(conversation_id, "old")
        kept.clock.leap(3000 * DAY)
        assert len(await kept.driver.events(conversation_id)) > 0


async def test_finding_what_is_old_uses_the_index(tmp_path: Path) -> None:
    async with running_kept(tmp_path, answering) as kept:
        await kept.driver.send(await kept.driver.create(), "x")
        assert kept.driver.loop.parts is not None

        def plans(connection: Any) -> list[str]:
            query = (
                "SELECT conversation_id FROM conversations WHERE oldest_event_time IS NOT NULL "
                "AND oldest_event_time < 5 ORDER BY oldest_event_time LIMIT 50"
            )
            return [str(row) for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}")]

        found = await kept.driver.loop.parts.database.read(plans)
        assert any("conversations_by_oldest_event" in row for row in found), found

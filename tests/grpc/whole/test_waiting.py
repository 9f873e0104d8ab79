"""Waiting for a time and for a signal, on the real Loop and the real Adapter (B1 'wait'; soundness: mailbox)."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

from google.protobuf.struct_pb2 import Struct

from handrail.loop.v1 import interaction_state_pb2 as states
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from tests.grpc.loop.driver import check_runs, last, names
from tests.grpc.whole.running import HeldPlanner, Whole, running_whole

WAITING = states.INTERACTION_STATE_WAITING


async def signal(whole: Whole, interaction_id: str, name: str, metadata: Any = None, **payload: Any) -> Any:
    body = Struct()
    body.update(payload)
    request = pb.SignalInteractionRequest(
        request_id=whole.driver.next_id(), interaction_id=interaction_id, signal=name, payload=body
    )
    return await whole.stub.SignalInteraction(request, metadata=metadata)


async def answer(whole: Whole, conversation_id: str) -> str:
    """Text of the conversation's answer, once it is there."""

    async def completed() -> str:
        stored = await whole.driver.events(conversation_id)
        check_runs(stored)
        assert "failed" not in names(stored), stored[-1]
        return last(stored, "completed").answer.text if "completed" in names(stored) else ""

    found: str = await whole.driver.until(completed)
    return found


async def test_a_task_waits_until_a_time_and_goes_on_by_itself(tmp_path: Path) -> None:
    async with running_whole(tmp_path) as whole:
        conversation_id = await whole.create()
        events = await whole.driver.send(conversation_id, "nap 3600 then look Berlin")
        assert names(events)[-1] == "waiting"
        until = last(events, "waiting").until.ToSeconds()
        assert abs(until - whole.clock.now().timestamp() - 3600) < 10
        await whole.driver.restart()
        assert names(await whole.driver.events(conversation_id))[-1] == "waiting"
        whole.clock.leap(3601)
        assert await answer(whole, conversation_id) == "Napped.\n\nBER is Berlin."


async def test_a_signal_ends_the_wait_and_its_payload_fills_a_later_task(tmp_path: Path) -> None:
    async with running_whole(tmp_path) as whole:
        conversation_id = await whole.create()
        events = await whole.driver.send(conversation_id, "await go within 600 then spell it")
        told = last(events, "waiting")
        assert told.signal == "go"
        assert abs(told.limit_time.ToSeconds() - whole.clock.now().timestamp() - 600) < 10
        interaction_id = events[-1].interaction_id
        asked = await whole.stub.GetInteraction(pb.GetInteractionRequest(interaction_id=interaction_id))
        assert asked.interaction.waiting == told
        other = await signal(whole, interaction_id, "other", letters="xyz")
        assert (other.delivered, other.interaction.state) == (False, WAITING)
        came = await signal(whole, interaction_id, "go", letters="abc")
        assert came.delivered
        assert await answer(whole, conversation_id) == "Heard go: {'letters': 'abc'}.\n\nSpelled abc."
        stored = await whole.driver.events(conversation_id)
        received = [(e.signal_received.signal, e.signal_received.delivered, bool(e.run_id)) for e in stored
                    if e.WhichOneof("payload") == "signal_received"]  # fmt: skip
        assert received == [("other", False, False), ("go", True, True)]


async def test_mailbox_a_signal_that_comes_before_the_wait_is_kept_and_ends_it(tmp_path: Path) -> None:
    async with running_whole(tmp_path) as whole:
        gate = whole.probe.world.hold("await_word")
        conversation_id = await whole.create()
        sending = asyncio.ensure_future(whole.driver.send(conversation_id, "await go then spell it"))
        await whole.begun("await_word")
        started = (await whole.driver.events(conversation_id))[0]
        first = await signal(whole, started.interaction_id, "go", letters="one")
        second = await signal(whole, started.interaction_id, "go", letters="two")
        assert not first.delivered
        assert not second.delivered
        await whole.driver.restart()
        gate.set()
        assert await answer(whole, conversation_id) == "Heard go: {'letters': 'one'}.\n\nSpelled one."
        assert "waiting" not in names(await whole.driver.events(conversation_id))
        sending.cancel()


async def test_signals_of_one_name_are_consumed_once_oldest_first(tmp_path: Path) -> None:
    async with running_whole(tmp_path) as whole:
        gate = whole.probe.world.hold("await_word")
        conversation_id = await whole.create()
        text = "await go then spell it then await go then spell it then await go"
        sending = asyncio.ensure_future(whole.driver.send(conversation_id, text))
        await whole.begun("await_word")
        interaction_id = (await whole.driver.events(conversation_id))[0].interaction_id
        for letters in ("one", "two"):
            await signal(whole, interaction_id, "go", letters=letters)
        gate.set()
        events = await sending
        assert names(events)[-1] == "waiting", "the third wait finds nothing left"
        assert (await signal(whole, interaction_id, "go", letters="three")).delivered
        told = await answer(whole, conversation_id)
        heard = [told.index(word) for word in ("'one'", "'two'", "'three'")]
        assert heard == sorted(heard)


async def test_a_wait_for_a_signal_ends_at_its_limit(tmp_path: Path) -> None:
    async with running_whole(tmp_path) as whole:
        conversation_id = await whole.create()
        await whole.driver.send(conversation_id, "await go within 600")
        whole.clock.leap(601)
        assert await answer(whole, conversation_id) == "No go came."


async def test_a_message_during_a_wait_is_classified_and_the_wait_stands(tmp_path: Path) -> None:
    """An unclear text leaves the wait as it was, its limit too; a signal that came meanwhile ends it then."""
    async with running_whole(tmp_path) as whole:
        conversation_id = await whole.create()
        first = await whole.driver.send(conversation_id, "await go within 600")
        again = await whole.driver.send(conversation_id, "hm")
        assert last(again, "waiting").limit_time == last(first, "waiting").limit_time
        superseding = await whole.driver.send(conversation_id, "new look Berlin")
        assert names(superseding)[-1] == "completed"
        stored = await whole.driver.events(conversation_id)
        check_runs(stored)
        assert "superseded" in names(stored)


async def test_a_canceled_wait_takes_no_signal(tmp_path: Path) -> None:
    async with running_whole(tmp_path) as whole:
        conversation_id = await whole.create()
        interaction_id = (await whole.driver.send(conversation_id, "await go"))[-1].interaction_id
        canceled = await whole.stub.CancelInteraction(
            pb.CancelInteractionRequest(request_id="stop", interaction_id=interaction_id)
        )
        assert canceled.interaction.state == states.INTERACTION_STATE_CANCELED
        whole.clock.leap(4000)
        again = await whole.driver.send(conversation_id, "look Berlin")
        assert names(again)[-1] == "completed"
        assert names(await whole.driver.events(conversation_id)).count("waiting") == 1


async def test_a_signal_that_comes_while_a_message_is_classified_ends_the_wait_afterwards(tmp_path: Path) -> None:
    """The run was busy with the text when the signal came; going back to sleep looks into the mailbox too."""
    planner = HeldPlanner()
    async with running_whole(tmp_path, adapt=planner.adapt) as whole:
        planner.gate.set()
        conversation_id = await whole.create()
        interaction_id = (await whole.driver.send(conversation_id, "await go"))[-1].interaction_id
        planner.begun.clear()
        planner.gate.clear()
        sending = asyncio.ensure_future(whole.driver.send(conversation_id, "hm"))
        assert await asyncio.to_thread(planner.begun.wait, 10)
        assert not (await signal(whole, interaction_id, "go", letters="abc")).delivered
        planner.gate.set()
        assert last(await sending, "completed").answer.text == "Heard go: {'letters': 'abc'}."
        assert names(await whole.driver.events(conversation_id)).count("waiting") == 1


async def test_a_correction_of_something_else_does_not_prolong_the_wait(tmp_path: Path) -> None:
    async with running_whole(tmp_path) as whole:
        conversation_id = await whole.create()
        await whole.driver.send(conversation_id, "write memo at 3 then await go within 600")
        whole.clock.leap(500)
        whole.probe.clock.advance(timedelta(seconds=500))
        events = await whole.driver.send(conversation_id, "actually level 5")
        assert [e.tool_started.tool for e in events if e.WhichOneof("payload") == "tool_started"] == ["change_note"]
        left = last(events, "waiting").limit_time.ToSeconds() - whole.clock.now().timestamp()
        assert 80 < left < 105
        await signal(whole, events[-1].interaction_id, "go")
        assert "Heard go" in await answer(whole, conversation_id)

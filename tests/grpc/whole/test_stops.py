"""Cancel and supersede in flight, on both real services: what had begun is recorded in the ending, nothing begins after
(soundness: confirm_stop, close_names_all, tombstone, supersede_in_decide; requirement C2).
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from handrail.common.v1 import approval_pb2, tool_pb2
from handrail.loop.v1 import interaction_state_pb2 as states
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from tests.grpc.loop.driver import check_runs, last, names
from tests.grpc.loop.errors import refused
from tests.grpc.whole.running import HeldPlanner, Whole, running_whole

CANCELED = states.INTERACTION_STATE_CANCELED


async def cancel(whole: Whole, conversation_id: str) -> pb.Interaction:
    interaction_id = (await whole.driver.events(conversation_id))[-1].interaction_id
    request = pb.CancelInteractionRequest(request_id="stop", interaction_id=interaction_id)
    async with asyncio.timeout(20):
        canceled: pb.Interaction = (await whole.stub.CancelInteraction(request)).interaction
    return canceled


async def settled(whole: Whole, conversation_id: str) -> list[Any]:
    """The conversation's events, once what was late has been refused; its runs have one ending each."""
    stored = await whole.driver.events(conversation_id)
    check_runs(stored)
    return stored


async def test_cancel_while_the_decision_is_being_made(tmp_path: Path) -> None:
    planner = HeldPlanner()
    async with running_whole(tmp_path, adapt=planner.adapt) as whole:
        conversation_id = await whole.create()
        sending = asyncio.ensure_future(whole.driver.send(conversation_id, "look Berlin"))
        assert await asyncio.to_thread(planner.begun.wait, 10)
        assert (await cancel(whole, conversation_id)).state == CANCELED
        planner.gate.set()
        assert names(await sending)[-1] == "canceled"
        # The decision that was late is refused by the tombstone: the Adapter has stored nothing for it.
        again = await whole.driver.send(conversation_id, "measure Berlin")
        assert names(again)[-1] == "completed"
        await settled(whole, conversation_id)
        tools = whole.probe.sql("SELECT tool FROM tool_calls")
        assert tools == [("measure",)]


async def test_cancel_while_a_read_runs_records_its_outcome(tmp_path: Path) -> None:
    async with running_whole(tmp_path) as whole:
        gate = whole.probe.world.hold("look")
        conversation_id = await whole.create()
        sending = asyncio.ensure_future(whole.driver.send(conversation_id, "look Berlin"))
        await whole.begun("look")
        stopping = asyncio.ensure_future(cancel(whole, conversation_id))

        async def stopped() -> bool:
            rows = whole.probe.sql("SELECT closed FROM interactions")
            return rows == [(1,)]

        await whole.driver.until(stopped)
        gate.set()
        assert (await stopping).state == CANCELED
        events = await sending
        assert last(events, "tool_finished").outcome == tool_pb2.OUTCOME_SUCCEEDED
        assert [step.tool for step in last(events, "canceled").confirmed_steps] == ["look"]
        await settled(whole, conversation_id)


async def open_approval(whole: Whole) -> tuple[str, Any]:
    conversation_id = await whole.create()
    events = await whole.driver.send(conversation_id, "write memo at 3 then post")
    return conversation_id, last(events, "approval_required")


async def test_cancel_while_a_change_runs_is_told_after_its_outcome(tmp_path: Path) -> None:
    async with running_whole(tmp_path, stop_patience_seconds=0.2, settle_first_seconds=0.2) as whole:
        conversation_id, approval = await open_approval(whole)
        gate = whole.probe.world.hold("post_note")
        resolving = asyncio.ensure_future(whole.driver.resolve(approval, approval_pb2.VERDICT_APPROVE))
        await whole.begun("post_note")
        stopping = asyncio.ensure_future(cancel(whole, conversation_id))

        async def held_back() -> bool:
            return "waiting" in names(await whole.driver.events(conversation_id))

        await whole.driver.until(held_back)
        assert not stopping.done(), "no ending while the call lacks its outcome"
        gate.set()
        assert (await stopping).state == CANCELED
        stored = await settled(whole, conversation_id)
        canceled = last(stored, "canceled")
        assert [step.tool for step in canceled.confirmed_steps][-1] == "post_note"
        assert sum(whole.probe.world.effects.values()) == 1
        await resolving


async def test_cancel_while_a_question_is_open(tmp_path: Path) -> None:
    async with running_whole(tmp_path) as whole:
        conversation_id = await whole.create()
        asked = last(await whole.driver.send(conversation_id, "look Berlin then fetch"), "clarification_required")
        assert (await cancel(whole, conversation_id)).state == CANCELED
        stored = await settled(whole, conversation_id)
        assert [step.tool for step in last(stored, "canceled").confirmed_steps] == ["look"]
        late = pb.Reply(clarification_id=asked.clarification_id)
        refusal = await refused(whole.driver.send(conversation_id, "7", reply=late), "FAILED_PRECONDITION")
        assert refusal.metadata["state"] == "withdrawn"


async def test_cancel_while_an_approval_is_open(tmp_path: Path) -> None:
    async with running_whole(tmp_path) as whole:
        conversation_id, approval = await open_approval(whole)
        assert (await cancel(whole, conversation_id)).state == CANCELED
        await refused(whole.driver.resolve(approval, approval_pb2.VERDICT_APPROVE), "FAILED_PRECONDITION")
        assert not whole.probe.world.effects
        await settled(whole, conversation_id)


async def test_a_new_request_supersedes_while_a_tool_runs(tmp_path: Path) -> None:
    async with running_whole(tmp_path) as whole:
        gate = whole.probe.world.hold("look")
        conversation_id = await whole.create()
        first = asyncio.ensure_future(whole.driver.send(conversation_id, "look Berlin then fetch"))
        await whole.begun("look")
        second = asyncio.ensure_future(whole.driver.send(conversation_id, "new measure Paris"))

        async def joined() -> bool:
            return "message_accepted" in names(await whole.driver.events(conversation_id))

        await whole.driver.until(joined)
        gate.set()
        events = await second
        assert last(events, "completed").answer.text == "PAR measures 3 m."
        stored = await settled(whole, conversation_id)
        superseded = last(stored, "superseded")
        assert [step.tool for step in superseded.confirmed_steps] == ["look"]
        assert "clarification_required" not in names(stored), "the question is held back: the input is consumed first"
        closed = dict(whole.probe.sql("SELECT interaction_id, closed FROM interactions"))
        assert closed[stored[0].interaction_id] == 1
        await first


async def test_a_new_request_supersedes_an_open_approval_which_then_executes_nothing(tmp_path: Path) -> None:
    async with running_whole(tmp_path) as whole:
        conversation_id, approval = await open_approval(whole)
        events = await whole.driver.send(conversation_id, "new measure Paris")
        assert names(events)[-1] == "completed"
        await refused(whole.driver.resolve(approval, approval_pb2.VERDICT_APPROVE), "FAILED_PRECONDITION")
        assert not whole.probe.world.effects
        await settled(whole, conversation_id)

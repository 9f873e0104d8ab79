"""The Adapter's database is put back to an older copy while the Loop goes on (A3; history, diverged_ends)."""

from __future__ import annotations

import asyncio

import pytest

from handrail.common.v1.failure_pb2 import Progress
from handrail.common.v1.tool_pb2 import Outcome
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail_rpc.context import new_request_id
from tests.crash.scenarios import expect
from tests.crash.site import Site
from tests.fakes.processes import poll
from tests.restore.backups import put_back, read_history, take_copy
from tests.restore.conftest import start, talking

NOTICED = pytest.mark.parametrize("noticed", [True, False], ids=["noticed at start", "unnoticed at start"])


def is_diverged(turn) -> None:
    failure = expect(turn, "failed").last.failed.failure
    assert failure.code == "session_diverged"
    assert failure.explanation
    assert failure.helpful_action


@NOTICED
async def test_an_approval_of_a_lost_history_executes_nothing_and_the_reopened_conversation_works(
    site: Site, noticed: bool
) -> None:
    async with talking(site) as (actor, operator):
        expect(await actor.say("look Berlin"), "completed")
        copy = take_copy(site, "adapter")
        asked = expect(await actor.say("ring 1"), "approval_required")
        before = (await operator.diverged()) == []
        await put_back(site, "adapter", copy, noticed=noticed)
        await start(site, "adapter")
        is_diverged(await actor.approve(asked.last.approval_required))
        assert site.effects() == []
        assert before, "listed before anything was lost"
        assert [each.conversation_id for each in await operator.diverged()] == [actor.conversation_id]

        answer = await operator.recover(actor.conversation_id, pb.RECOVERY_REOPEN)
        assert answer.conversation.conversation_id == actor.conversation_id
        assert await operator.diverged() == []
        asked = expect(await actor.say("ring 2"), "approval_required")
        expect(await actor.approve(asked.last.approval_required), "completed")
        assert len(site.effects()) == 1


@NOTICED
async def test_after_an_execution_that_the_older_copy_does_not_know_nothing_is_executed_again(
    site: Site, noticed: bool
) -> None:
    async with talking(site) as (actor, operator):
        asked = expect(await actor.say("ring 1"), "approval_required")
        copy = take_copy(site, "adapter")
        expect(await actor.approve(asked.last.approval_required), "completed")
        await put_back(site, "adapter", copy, noticed=noticed)
        await start(site, "adapter")
        is_diverged(await actor.say("ring 2"))
        is_diverged(await actor.say("look Berlin"))
        assert len(site.effects()) == 1
        [listed] = await operator.diverged()
        assert (listed.conversation_id, listed.domain) == (actor.conversation_id, "probe")
        assert listed.principal == actor.caller.principal
        assert not listed.open_interaction_id


@NOTICED
async def test_a_call_in_flight_when_its_claim_is_lost_ends_unknown_for_a_person_to_settle(
    site: Site, noticed: bool
) -> None:
    async with talking(site) as (actor, operator):
        asked = expect(await actor.say("ring 1"), "approval_required")
        site.hold("ring")
        if noticed:
            copy = take_copy(site, "adapter")
        approving = asyncio.create_task(actor.approve(asked.last.approval_required))

        async def begun() -> bool:
            events = await actor.requester.history(actor.conversation_id)
            return any(event.WhichOneof("payload") == "tool_started" for event in events)

        await poll(begun, "the call's beginning")
        if not noticed:
            # The decision is in this copy, and so is the claim or not: nobody could tell.
            copy = take_copy(site, "adapter")
        await put_back(site, "adapter", copy, noticed=noticed)
        site.release()
        await start(site, "adapter")
        turn = await approving
        failure = expect(turn, "failed").last.failed.failure
        assert failure.progress == Progress.PROGRESS_UNKNOWN
        if noticed:
            assert failure.code == "session_diverged"
        outcomes = [event.outcome for event in turn.of("tool_finished")]
        assert outcomes == [Outcome.OUTCOME_UNKNOWN]
        assert len(site.effects()) <= 1
        if noticed:
            [listed] = await operator.diverged()
            [call] = listed.executions
            assert call.tool == "ring"
            # The person's verdict is recorded although the Adapter has lost the call.
            request = pb.SettleExecutionRequest(
                request_id=new_request_id(),
                interaction_id=turn.last.interaction_id,
                tool_call_id=call.tool_call_id,
                settlement=pb.SETTLEMENT_DID_NOT_HAPPEN,
                comment="the bell did not ring",
            )
            await operator.call(lambda: operator.stub.SettleExecution(request))
            [listed] = await operator.diverged()
            assert not listed.executions


async def test_a_renewed_history_is_told_in_the_log_and_kept(site: Site) -> None:
    async with talking(site) as (actor, _):
        expect(await actor.say("look Berlin"), "completed")
        copy = take_copy(site, "adapter")
        expect(await actor.say("look Paris"), "completed")
        old, _ = read_history(copy)
        await put_back(site, "adapter", copy)
        await start(site, "adapter")
        new, _ = read_history(site.database("adapter"))
        assert new != old
        log = site.process("adapter").log_tail(200)
        assert "put back to an older copy" in log
        assert "handrail diverged list" in log
        site.process("adapter").terminate()
        await start(site, "adapter")
        assert read_history(site.database("adapter"))[0] == new, "an ordinary start renewed it again"


async def test_an_ordinary_kill_or_stop_renews_nothing(site: Site) -> None:
    async with talking(site) as (actor, operator):
        expect(await actor.say("look Berlin"), "completed")
        for stop in ("kill", "terminate"):
            for name in ("adapter", "loop"):
                getattr(site.process(name), stop)()
            await start(site, "adapter", "loop")
            expect(await actor.say("look Paris"), "completed")
        assert await operator.diverged() == []

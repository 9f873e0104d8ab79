"""The Loop's database is put back to an older copy while the Adapter goes on (A3; soundness: loop_restore)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from handrail.common.v1.tool_pb2 import Outcome
from handrail.loop.v1 import interaction_state_pb2
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail_rpc.errors import HandrailError
from tests.crash.actor import Actor, until
from tests.crash.scenarios import expect
from tests.crash.site import Site
from tests.fakes.processes import poll
from tests.restore.backups import put_back, read_history, take_copy
from tests.restore.conftest import start, talking
from tests.restore.test_older_adapter import is_diverged


async def restore_loop(site: Site, actor: Actor, copy: Path, *, noticed: bool = True) -> None:
    """Put the Loop's older copy back and start it. Its sequences go on from the copy's: what was heard is forgotten."""
    await put_back(site, "loop", copy, noticed=noticed)
    actor.heard.events.clear()
    await start(site, "loop")


async def ended_interaction(actor, interaction_id: str) -> pb.Interaction:
    async def found() -> pb.Interaction | None:
        interaction = await actor.requester.interaction(interaction_id)
        return interaction if interaction.state == interaction_state_pb2.INTERACTION_STATE_FAILED else None

    return await until(found, f"the end of {interaction_id}")


async def test_an_open_interaction_is_closed_at_the_adapter_and_its_calls_are_named(site: Site) -> None:
    async with talking(site) as (actor, operator):
        asked = expect(await actor.say("ring 1"), "approval_required")
        interaction_id = asked.last.interaction_id
        copy = take_copy(site, "loop")
        expect(await actor.approve(asked.last.approval_required), "completed")
        assert len(site.effects()) == 1
        await restore_loop(site, actor, copy)

        ended = await ended_interaction(actor, interaction_id)
        assert ended.failure.code == "session_diverged"
        assert ended.failure.source_code == "LOOP_RESTORED"
        events = await actor.requester.history(actor.conversation_id)
        finished = [e.tool_finished for e in events if e.WhichOneof("payload") == "tool_finished"]
        # The call was made by a history that is lost here, and its outcome is told all the same (close_names_all).
        assert [(f.tool, f.outcome) for f in finished] == [("ring", Outcome.OUTCOME_SUCCEEDED)]
        with pytest.raises(HandrailError):
            await actor.approver.resolve_approval(
                asked.last.approval_required.approval_id,
                1,
                asked.last.approval_required.snapshot_digest,
            ).__anext__()

        is_diverged(await actor.say("ring 2"))
        assert [each.conversation_id for each in await operator.diverged()] == [actor.conversation_id]
        await operator.recover(actor.conversation_id, pb.RECOVERY_REOPEN)
        asked = expect(await actor.say("ring 3"), "approval_required")
        expect(await actor.approve(asked.last.approval_required), "completed")
        assert len(site.effects()) == 2


async def test_a_call_in_flight_is_attached_to_and_recorded_with_its_outcome(site: Site) -> None:
    async with talking(site) as (actor, _):
        asked = expect(await actor.say("ring 1"), "approval_required")
        copy = take_copy(site, "loop")
        site.hold("ring")
        approving = asyncio.create_task(actor.approve(asked.last.approval_required))

        async def begun() -> bool:
            events = await actor.requester.history(actor.conversation_id)
            return any(event.WhichOneof("payload") == "tool_started" for event in events)

        await poll(begun, "the call's beginning")
        await put_back(site, "loop", copy)
        approving.cancel()
        await asyncio.wait([approving])
        await restore_loop(site, actor, copy)

        async def waiting() -> bool:
            return (
                await actor.requester.interaction(asked.last.interaction_id)
            ).state == interaction_state_pb2.INTERACTION_STATE_WAITING

        # No ending while a change that may still happen lacks its outcome.
        await poll(waiting, "the wait for the outcome")
        site.release()
        ended = await ended_interaction(actor, asked.last.interaction_id)
        assert ended.failure.code == "session_diverged"
        events = await actor.requester.history(actor.conversation_id)
        finished = [e.tool_finished for e in events if e.WhichOneof("payload") == "tool_finished"]
        assert [(f.tool, f.outcome) for f in finished] == [("ring", Outcome.OUTCOME_SUCCEEDED)]
        assert len(site.effects()) == 1


async def test_an_interaction_without_a_session_in_the_copy_is_closed_at_the_adapter_too(site: Site) -> None:
    async with talking(site) as (actor, _):
        async with site.supervised():
            site.held_down.add("loop")
            site.arm(["loop.call.open_session.before"])
            saying = asyncio.create_task(actor.say("ring 1"))
            await poll(lambda: site.deaths, "the Loop's death before it knew a session")
            copy = take_copy(site, "loop")
            site.held_down.clear()
            asked = expect(await saying, "approval_required")
            expect(await actor.approve(asked.last.approval_required), "completed")
        assert len(site.effects()) == 1
        await restore_loop(site, actor, copy)
        ended = await ended_interaction(actor, asked.last.interaction_id)
        assert ended.failure.code == "session_diverged"
        events = await actor.requester.history(actor.conversation_id)
        finished = [e.tool_finished for e in events if e.WhichOneof("payload") == "tool_finished"]
        assert [(f.tool, f.outcome) for f in finished] == [("ring", Outcome.OUTCOME_SUCCEEDED)]
        assert len(site.effects()) == 1


async def test_while_the_adapter_is_away_nothing_else_happens_in_the_conversation(site: Site) -> None:
    async with talking(site) as (actor, _):
        asked = expect(await actor.say("ring 1"), "approval_required")
        copy = take_copy(site, "loop")
        expect(await actor.approve(asked.last.approval_required), "completed")
        site.process("adapter").kill()
        await restore_loop(site, actor, copy)

        async def waiting() -> bool:
            interaction = await actor.requester.interaction(asked.last.interaction_id)
            return interaction.state == interaction_state_pb2.INTERACTION_STATE_WAITING

        await poll(waiting, "the wait for the Adapter")
        queued = asyncio.create_task(actor.say("ring 2"))

        async def stored() -> bool:
            return len(await actor.requester.messages(actor.conversation_id)) >= 2

        await poll(stored, "the message's row")
        assert (
            await actor.requester.interaction(asked.last.interaction_id)
        ).state != interaction_state_pb2.INTERACTION_STATE_FAILED
        await start(site, "adapter")
        await ended_interaction(actor, asked.last.interaction_id)
        # What was queued behind it gets its own answer: nobody has looked after the conversation yet.
        is_diverged(await queued)
        assert len(site.effects()) == 1


async def test_a_conversation_that_lost_nothing_goes_on_by_itself(site: Site) -> None:
    async with talking(site) as (actor, operator):
        expect(await actor.say("look Berlin"), "completed")
        copy = take_copy(site, "loop")
        other = await actor.requester.create_conversation("probe")
        await restore_loop(site, actor, copy)
        assert [each.conversation_id for each in await operator.diverged()] == [actor.conversation_id]
        expect(await actor.say("look Paris"), "completed")
        assert await operator.diverged() == []
        with pytest.raises(HandrailError) as refused:
            await actor.requester.conversation(other.conversation_id)
        assert refused.value.reason.endswith("NOT_FOUND")


@pytest.mark.parametrize("noticed", [True, False], ids=["noticed at start", "unnoticed at start"])
async def test_an_older_copy_of_an_idle_conversation_does_not_go_on(site: Site, noticed: bool) -> None:
    async with talking(site) as (actor, operator):
        expect(await actor.say("look Berlin"), "completed")
        copy = take_copy(site, "loop")
        asked = expect(await actor.say("ring 1"), "approval_required")
        expect(await actor.approve(asked.last.approval_required), "completed")
        await restore_loop(site, actor, copy, noticed=noticed)
        is_diverged(await actor.say("ring 2"))
        assert len(site.effects()) == 1
        assert [each.conversation_id for each in await operator.diverged()] == [actor.conversation_id]
        await operator.recover(actor.conversation_id, pb.RECOVERY_REOPEN)
        expect(await actor.say("look Paris"), "completed")


async def test_a_file_swapped_within_the_marker_s_second_is_contradicted_by_the_adapter(site: Site) -> None:
    async with talking(site) as (actor, operator):
        asked = expect(await actor.say("ring 1"), "approval_required")
        copy = take_copy(site, "loop")
        expect(await actor.approve(asked.last.approval_required), "completed")
        old, _ = read_history(copy)
        await restore_loop(site, actor, copy, noticed=False)
        site.process("loop").terminate()
        assert read_history(site.database("loop"))[0] == old, "the swap was noticed: this shows nothing"
        await start(site, "loop")
        is_diverged(await actor.approve(asked.last.approval_required))
        assert len(site.effects()) == 1
        assert [each.conversation_id for each in await operator.diverged()] == [actor.conversation_id]


async def test_a_copy_without_its_marker_counts_as_restored(site: Site) -> None:
    async with talking(site) as (actor, operator):
        asked = expect(await actor.say("ring 1"), "approval_required")
        site.process("loop").kill()
        (site.folder / "loop.db.history").unlink()
        await start(site, "loop")
        ended = await ended_interaction(actor, asked.last.interaction_id)
        assert ended.failure.code == "session_diverged"
        assert site.effects() == []


async def test_both_put_back(site: Site) -> None:
    async with talking(site) as (actor, operator):
        asked = expect(await actor.say("ring 1"), "approval_required")
        copies = {name: take_copy(site, name) for name in ("loop", "adapter")}
        expect(await actor.approve(asked.last.approval_required), "completed")
        for name, copy in copies.items():
            await put_back(site, name, copy)
        actor.heard.events.clear()
        await start(site, "adapter", "loop")
        ended = await ended_interaction(actor, asked.last.interaction_id)
        assert ended.failure.code == "session_diverged"
        is_diverged(await actor.say("ring 2"))
        assert len(site.effects()) == 1
        await operator.recover(actor.conversation_id, pb.RECOVERY_REOPEN)
        asked = expect(await actor.say("ring 3"), "approval_required")
        expect(await actor.approve(asked.last.approval_required), "completed")
        assert len(site.effects()) == 2

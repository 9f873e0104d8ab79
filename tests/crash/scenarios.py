"""What people do, as functions of a site and an actor: each is carried through whatever dies on the way.

They assert what a client may rely on. Where a process died, a tool that is not idempotent may end with its outcome
unknown; everything else ends as if nothing had happened.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable

from gateway.cli.conversing import Turn
from handrail.common.v1.approval_pb2 import Verdict
from handrail.common.v1.tool_pb2 import Outcome
from tests.crash.actor import Actor, until
from tests.crash.site import Site

Scenario = Callable[[Site, Actor], Awaitable[None]]
_bells = itertools.count(1)


def new_bell() -> int:
    """A bell that no other scenario rings."""
    return next(_bells)


def expect(turn: Turn, *endings: str) -> Turn:
    assert turn.ending in endings, f"ended with {turn.ending or 'nothing'}, not {endings}:\n{turn.last}"
    return turn


async def question_and_click(_site: Site, actor: Actor) -> None:
    await _served(actor)
    asked = expect(await actor.say("look London"), "clarification_required")
    question = asked.last.clarification_required
    assert len(question.prompt.options) == 2
    expect(await actor.click(question, 1), "completed")


async def question_and_text(_site: Site, actor: Actor) -> None:
    await _served(actor)
    expect(await actor.say("fetch"), "clarification_required")
    done = expect(await actor.say("it is 7"), "completed")
    assert "Number 7." in done.last.completed.answer.text


async def _served(actor: Actor) -> None:
    """The domain is there, as ListDomains has it from the Adapter."""

    async def available() -> bool | None:
        return True if any(each.available for each in await actor.requester.domains()) else None

    await until(available, "the domain")


async def parallel_reads(_site: Site, actor: Actor) -> None:
    done = expect(await actor.say("look Berlin then look Paris"), "completed")
    assert {each.outcome for each in done.of("tool_finished")} == {Outcome.OUTCOME_SUCCEEDED}
    assert len(done.of("tool_finished")) == 2


async def approval_and_post(_site: Site, actor: Actor) -> None:
    """An idempotent change, written, checked, approved: it succeeds and happens once, whatever dies."""
    asked = expect(await actor.say("write news at 3 then post"), "approval_required")
    _check_posted(await actor.approve(asked.last.approval_required))


async def slow_post(site: Site, actor: Actor) -> None:
    """The same, held for longer than progress is gathered and than a lease is left without renewal."""
    asked = expect(await actor.say("write news at 3 then post"), "approval_required")
    site.hold("post_note")
    approving = actor.soon(actor.approve(asked.last.approval_required))
    await tool_started(actor, "post_note")
    await asyncio.wait([approving], timeout=0.7)
    site.release()
    _check_posted(await approving)


def _check_posted(turn: Turn) -> None:
    done = expect(turn, "completed")
    posted = [each for each in done.of("tool_finished") if each.tool == "post_note"]
    assert [each.outcome for each in posted] == [Outcome.OUTCOME_SUCCEEDED]


async def approval_and_ring(_site: Site, actor: Actor) -> None:
    """A change that is not idempotent: it happens at most once, and nothing is claimed that nobody knows."""
    asked = expect(await actor.say(f"ring {new_bell()}"), "approval_required")
    done = expect(await actor.approve(asked.last.approval_required), "completed", "failed")
    outcomes = [each.outcome for each in done.of("tool_finished")]
    if done.ending == "completed":
        assert outcomes == [Outcome.OUTCOME_SUCCEEDED]
    else:
        assert outcomes == [Outcome.OUTCOME_UNKNOWN]
        assert done.last.failed.failure.code == "tool_outcome_unknown"


async def rejection(_site: Site, actor: Actor) -> None:
    asked = expect(await actor.say(f"ring {new_bell()}"), "approval_required")
    turn = await actor.resolve(asked.last.approval_required, Verdict.VERDICT_REJECT, "not today")
    if expect(turn, "canceled", "waiting").ending == "waiting":
        # The Adapter was away for longer than the stop had patience; a timer has it carried out.
        await actor.until("canceled")


async def requested_changes(_site: Site, actor: Actor) -> None:
    """Changes are requested, said in words, and lead to a new approval."""
    asked = expect(await actor.say("write news at 3 then post"), "approval_required")
    first = asked.last.approval_required
    turn = await actor.resolve(first, Verdict.VERDICT_REQUEST_CHANGES, "another level, please")
    for _ in range(4):
        if turn.ending == "approval_required":
            break
        expect(turn, "clarification_required")
        options = turn.last.clarification_required.prompt.options
        turn = await (actor.click(turn.last.clarification_required, 0) if options else actor.say("actually level 5"))
    second = expect(turn, "approval_required").last.approval_required
    assert second.snapshot_digest != first.snapshot_digest
    expect(await actor.approve(second), "completed")


async def correction(_site: Site, actor: Actor) -> None:
    """What was asked for is corrected in words while the approval is open."""
    asked = expect(await actor.say("write news at 3 then post"), "approval_required")
    first = asked.last.approval_required
    second = expect(await actor.say("actually level 5"), "approval_required").last.approval_required
    assert second.snapshot_digest != first.snapshot_digest
    expect(await actor.approve(second), "completed")


async def cancel_in_mid_tool(site: Site, actor: Actor) -> None:
    """The outcome of a call that had begun is part of the ending."""
    asked = expect(await actor.say("write news at 3 then post"), "approval_required")
    site.hold("post_note")
    approving = actor.soon(actor.approve(asked.last.approval_required))
    started = await tool_started(actor, "post_note")
    canceling = actor.soon(actor.cancel(started))

    async def fenced() -> bool | None:
        query = "SELECT closed FROM interactions WHERE interaction_id = ?"
        return True if site.one("adapter", query, started) else None

    await until(fenced, "the tombstone")
    site.release()
    await canceling
    turn = expect(await approving, "canceled", "waiting", "failed")
    if turn.ending == "failed":
        # Fenced and orphaned, it was neither repeated nor found by a probe: nobody can say.
        assert turn.last.failed.failure.code == "tool_outcome_unknown"
    assert turn.ending == "waiting" or any(each.tool == "post_note" for each in turn.of("tool_finished"))


async def cancel_of_a_long_tool(site: Site, actor: Actor) -> None:
    """The tool outlasts the patience of the stop: the run ends waiting, and a timer asks until it has ended."""
    asked = expect(await actor.say("write news at 3 then post"), "approval_required")
    site.hold("post_note")
    approving = actor.soon(actor.approve(asked.last.approval_required))
    started = await tool_started(actor, "post_note")
    canceling = actor.soon(actor.cancel(started))
    # Where the tool's process dies first there is nothing left to wait for.
    await actor.until("waiting", "failed", "canceled")
    site.release()
    await canceling
    expect(await approving, "waiting", "failed", "canceled")


async def tool_started(actor: Actor, tool: str) -> str:
    """The interaction in which the tool was started."""
    count = 1
    while True:
        event = await actor.until("tool_started", count=count)
        if event.tool_started.tool == tool:
            return event.interaction_id
        count += 1


async def cancel_a_question(_site: Site, actor: Actor) -> None:
    asked = expect(await actor.say("look London"), "clarification_required")
    await actor.cancel(asked.last.interaction_id)


async def supersede(_site: Site, actor: Actor) -> None:
    asked = expect(await actor.say("look London"), "clarification_required")
    done = expect(await actor.say("new look Berlin"), "completed")
    assert done.last.interaction_id != asked.last.interaction_id


async def joined_message(site: Site, actor: Actor) -> None:
    """A message that comes while a tool runs is answered by the run that is under way, or by its successor."""
    site.hold("look")
    first = actor.soon(actor.say("look Berlin"))
    await actor.until("tool_started")
    second = actor.soon(actor.say("measure Paris"))
    await actor.until("message_accepted")
    site.release()
    expect(await first, "completed", "superseded")
    expect(await second, "completed")


async def expiry(_site: Site, actor: Actor) -> None:
    """An approval that nobody resolves expires by itself, and the interaction says so."""
    expect(await actor.say("chime"), "approval_required")
    event = await actor.until("approval_resolved")
    assert event.approval_resolved.outcome != 0

    async def settled() -> bool | None:
        conversation = await actor.requester.conversation(actor.conversation_id)
        interaction = await actor.requester.interaction(event.interaction_id)
        return True if interaction.state and conversation.last_sequence > event.sequence else None

    await until(settled, "the end of the expired approval")


SCENARIOS: dict[str, Scenario] = {
    each.__name__: each
    for each in (
        question_and_click,
        question_and_text,
        parallel_reads,
        approval_and_post,
        slow_post,
        approval_and_ring,
        rejection,
        requested_changes,
        correction,
        cancel_in_mid_tool,
        cancel_of_a_long_tool,
        cancel_a_question,
        supersede,
        joined_message,
        expiry,
    )
}

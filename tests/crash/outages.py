"""Scenarios in which something besides the crash is wrong: a service stays away, a row is damaged, a fence is raised.

They lead through the code that nothing else reaches; carried through crashes like those of `scenarios`.
"""

from __future__ import annotations

import asyncio

from gateway.cli.conversing import Turn
from tests.crash.actor import Actor, until
from tests.crash.scenarios import Scenario, expect, tool_started
from tests.crash.site import Site


async def loop_dies_in_mid_tool(site: Site, actor: Actor) -> None:
    """The Loop comes back while the tool still runs, and attaches to the very attempt."""
    asked = expect(await actor.say("write news at 3 then post"), "approval_required")
    interaction_id = asked.last.interaction_id
    site.hold("post_note")
    approving = actor.soon(actor.approve(asked.last.approval_required))
    await tool_started(actor, "post_note")
    await until(lambda: _claimed(site, interaction_id, 3), "the claim of the call")
    fence = _epoch(site, interaction_id)
    site.kill("loop")

    async def taken_up() -> bool | None:
        return True if _epoch(site, interaction_id) > fence else None

    await until(taken_up, "the fence of the Loop that came back")
    site.release()
    expect(await approving, "completed")


async def cancel_before_the_session(site: Site, actor: Actor) -> None:
    """The Adapter has never heard of the interaction: nothing can have begun, so the stop needs no answer of it."""
    site.held_down.add("adapter")
    site.kill("adapter")
    saying = actor.soon(actor.say("look Berlin"))
    started = await actor.until("run_started")
    await actor.cancel(started.interaction_id)
    expect(await saying, "canceled")
    site.held_down.clear()


async def cancel_while_the_adapter_is_away(site: Site, actor: Actor) -> None:
    """Nothing is called canceled before the Adapter has answered; a timer asks until it does."""
    asked = expect(await actor.say("write news at 3 then post"), "approval_required")
    interaction_id = asked.last.interaction_id
    site.hold("post_note")
    approving = actor.soon(actor.approve(asked.last.approval_required))
    await tool_started(actor, "post_note")
    await until(lambda: _claimed(site, interaction_id, 3), "the claim of the call")
    site.held_down.add("adapter")
    site.kill("adapter")
    canceling = actor.soon(actor.cancel(interaction_id))
    await actor.until("waiting")
    site.release()
    site.held_down.clear()
    await canceling
    expect(await approving, "waiting", "canceled")


async def adapter_stays_away(site: Site, actor: Actor) -> None:
    """The active time runs out before the Adapter is there."""
    site.held_down.add("adapter")
    site.kill("adapter")
    site.process("loop").environment["HANDRAIL_LOOP_ACTIVE_TIME_SECONDS"] = "1"
    site.kill("loop")
    turn = expect(await actor.say("look Berlin"), "failed")
    assert turn.last.failed.failure.code == "adapter_unavailable"
    site.held_down.clear()


async def contradiction(site: Site, actor: Actor) -> None:
    """The two services' records contradict each other: the interaction ends, nothing is guessed."""
    asked = expect(await actor.say("look London"), "clarification_required")
    site.change(
        "adapter", "UPDATE interactions SET plan_version = 99 WHERE interaction_id = ?", asked.last.interaction_id
    )
    turn = expect(await actor.click(asked.last.clarification_required, 0), "failed")
    assert turn.last.failed.failure.code == "session_diverged"


async def raised_fence(site: Site, actor: Actor) -> None:
    """The Adapter has seen a higher epoch than the Loop remembers: the owner adopts it and goes on."""
    asked = expect(await actor.say("look London"), "clarification_required")
    site.change("adapter", "UPDATE interactions SET epoch = 41 WHERE interaction_id = ?", asked.last.interaction_id)
    expect(await actor.click(asked.last.clarification_required, 0), "completed")


async def domain_not_served(site: Site, actor: Actor) -> None:
    """The configured Adapter, which is just being started again, does not have the conversation's domain."""
    site.kill("adapter")
    turn = expect(await actor.say("look Berlin"), "failed")
    assert turn.last.failed.failure.code == "domain_not_served"


async def passing_fault(site: Site, actor: Actor) -> None:
    """An internal error of the Loop puts the run back; when the cause has gone, it goes on."""
    saying, observation = await _damaged(site, actor, attempts=0)

    async def put_back() -> bool | None:
        return True if site.one("loop", "SELECT max(not_before) FROM runs WHERE state != 'ended'") else None

    await until(put_back, "an attempt that failed")
    site.change("loop", "UPDATE observations SET data = ? WHERE length(data) = 1", observation)
    expect(await saying, "completed")


async def lasting_fault(site: Site, actor: Actor) -> None:
    """A run that fails again and again is given up, with a failure that a person can read."""
    saying, observation = await _damaged(site, actor, attempts=4)
    turn = expect(await saying, "failed")
    assert turn.last.failed.failure.code == "internal_error"
    site.change("loop", "UPDATE observations SET data = ? WHERE length(data) = 1", observation)


async def _damaged(site: Site, actor: Actor, attempts: int) -> tuple[asyncio.Task[Turn], bytes]:
    """A message whose observation cannot be read, accepted but not yet decided on; and what the observation was."""
    site.held_down.add("adapter")
    site.kill("adapter")
    saying = actor.soon(actor.say("look Berlin"))
    started = await actor.until("run_started")
    site.held_down.add("loop")
    site.kill("loop")

    async def gone() -> bool | None:
        return True if not site.process("loop").running else None

    await until(gone, "the end of the Loop")
    query = "SELECT data FROM observations WHERE interaction_id = ?"
    observation = site.one("loop", query, started.interaction_id)
    site.change("loop", "UPDATE observations SET data = x'ff' WHERE interaction_id = ?", started.interaction_id)
    site.change("loop", "UPDATE runs SET attempts = ? WHERE run_id = ?", attempts, started.run_id)
    site.held_down.clear()
    return saying, bytes(observation)


async def _claimed(site: Site, interaction_id: str, count: int) -> bool | None:
    query = "SELECT count(*) FROM executions WHERE interaction_id = ?"
    return True if site.one("adapter", query, interaction_id) >= count else None


def _epoch(site: Site, interaction_id: str) -> int:
    return int(site.one("adapter", "SELECT epoch FROM interactions WHERE interaction_id = ?", interaction_id))


OUTAGES: dict[str, Scenario] = {
    each.__name__: each
    for each in (
        loop_dies_in_mid_tool,
        cancel_before_the_session,
        cancel_while_the_adapter_is_away,
        adapter_stays_away,
        contradiction,
        raised_fence,
        domain_not_served,
        passing_fault,
        lasting_fault,
    )
}

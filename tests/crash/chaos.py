"""Many conversations at once while Loop and Adapter die at random: `make chaos`, and a part of it in every test run.

`python -m tests.crash.chaos --help` says what can be chosen. The seed decides which scenarios run and how processes
die; what meets what is up to the machine. Every conversation is held against all promises in the end.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import secrets
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from handrail.common.v1.tool_pb2 import Outcome
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail_rpc.errors import FailedPrecondition
from tests.crash import afterwards, scenarios
from tests.crash.actor import Actor, acting, persist
from tests.crash.cases import ALONE
from tests.crash.invariants import check_conversation
from tests.crash.scenarios import Scenario, expect, new_bell
from tests.crash.site import Site, running_site

# How long processes live between deaths; long enough to get somewhere, short enough to be in the middle of something.
_LIFE_SECONDS = (0.02, 0.7)
_ARMED_SECONDS = 1.5
_SERVICES = ("loop", "adapter")
_MOST_IN_A_CONVERSATION = 4


async def messages_side_by_side(_site: Site, actor: Actor) -> None:
    """Neither waits for the other: each is answered, in whatever run."""
    texts = ("look Berlin then measure it", "measure Paris", "fetch 3")
    for turn in await asyncio.gather(*(actor.say(text) for text in texts)):
        expect(turn, "completed", "superseded")


async def cancel_at_some_moment(_site: Site, actor: Actor) -> None:
    """The change has happened, or not, or nobody knows: whichever it is, that is what is told."""
    asked = expect(await actor.say(f"ring {new_bell()}"), "approval_required")
    approving = actor.soon(actor.approve(asked.last.approval_required))
    await actor.until("run_started", count=2)
    try:
        await actor.cancel(asked.last.interaction_id)
    except FailedPrecondition:
        # It had ended before.
        assert (await approving).ending in ("completed", "failed")
    expect(await approving, "canceled", "completed", "failed", "waiting")


async def ring_and_settle(site: Site, actor: Actor) -> None:
    """Where the outcome is unknown a person looks, and says what happened."""
    asked = expect(await actor.say(f"ring {new_bell()}"), "approval_required")
    turn = expect(await actor.approve(asked.last.approval_required), "completed", "failed")
    if turn.ending == "completed":
        return
    assert [each.outcome for each in turn.of("tool_finished")] == [Outcome.OUTCOME_UNKNOWN]
    interaction_id = asked.last.interaction_id
    [item] = await persist(lambda: actor.approver.pending(pb.PENDING_KIND_EXECUTION, interaction_id=interaction_id))
    key = asked.last.approval_required.snapshot.idempotency_key
    happened = key in site.effects()
    await actor.settle(item, pb.SETTLEMENT_HAPPENED if happened else pb.SETTLEMENT_DID_NOT_HAPPEN)


MIX: tuple[Scenario, ...] = (
    scenarios.question_and_click,
    scenarios.question_and_text,
    scenarios.parallel_reads,
    scenarios.approval_and_post,
    scenarios.approval_and_ring,
    scenarios.rejection,
    scenarios.requested_changes,
    scenarios.correction,
    scenarios.cancel_a_question,
    scenarios.supersede,
    scenarios.expiry,
    afterwards.wait_for_a_time,
    afterwards.signal_ends_a_wait,
    afterwards.channel_failure,
    messages_side_by_side,
    cancel_at_some_moment,
    ring_and_settle,
)


_POINTS = sorted(
    {case.points[-1].partition(":")[0] for case in ALONE if case.scenario in {each.__name__ for each in MIX}}
)
"""Points that the mix can reach."""


@dataclass
class Chaos:
    """One run. `interactions` is the least number that are begun, by `conversations` people at once."""

    site: Site
    seed: int
    interactions: int
    conversations: int
    done: Counter[str] = field(default_factory=Counter)
    deaths: Counter[str] = field(default_factory=Counter)

    async def run(self) -> None:
        """Raises AssertionError with what was broken."""
        choice = random.Random(self.seed)
        names = [choice.choice(MIX) for _ in range(self.interactions)]
        async with self.site.supervised():
            killing = asyncio.create_task(self._kill(random.Random(choice.random())))
            try:
                async with asyncio.TaskGroup() as group:
                    for number in range(self.conversations):
                        group.create_task(self._talk(names[number :: self.conversations]))
            finally:
                killing.cancel()
                await asyncio.wait([killing])

    async def _talk(self, mix: Sequence[Scenario]) -> None:
        """One person's conversations, one after another."""
        for start in range(0, len(mix), _MOST_IN_A_CONVERSATION):
            async with acting(self.site.target) as actor:
                await actor.begin()
                for scenario in mix[start : start + _MOST_IN_A_CONVERSATION]:
                    try:
                        await scenario(self.site, actor)
                        await check_conversation(self.site, actor)
                    except Exception as error:
                        error.add_note(f"in {scenario.__name__}, conversation {actor.conversation_id}")
                        raise
                    self.done[scenario.__name__] += 1
                    await actor.take_stock()

    async def _kill(self, choice: random.Random) -> None:
        """Let one or both die at a random time or at a random point, and come back, again and again."""
        while True:
            self.site.arm([])
            victims = choice.choice((("loop",), ("adapter",), _SERVICES))
            if choice.random() < 0.5:
                await asyncio.sleep(choice.uniform(*_LIFE_SECONDS))
                for victim in victims:
                    self.site.kill(victim)
            else:
                points = [choice.choice([each for each in _POINTS if each.startswith(f"{name}.")]) for name in victims]
                self.site.arm([",".join(f"{point}:{choice.randint(1, 3)}" for point in points)])
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.site.died.wait(), _ARMED_SECONDS)
                if choice.random() < 0.3:
                    # The other one dies in the same moment, wherever it is.
                    for name in _SERVICES:
                        self.site.kill(name)
            await self.site.wait_up()
            for death in self.site.deaths:
                self.deaths[death.point or f"{death.process} at a random time"] += 1


async def chaos(folder: Path, seed: int, interactions: int, conversations: int) -> Chaos:
    """Run it on a site of its own; says what happened, on standard output."""
    print(f"chaos: seed {seed}, {interactions} interactions, {conversations} conversations at once", flush=True)
    begun = time.monotonic()
    with running_site(folder) as site:
        (folder / "slow-tools").touch()
        running = Chaos(site, seed, interactions, conversations)
        await running.run()
    kills = sum(running.deaths.values())
    at_points = sum(count for name, count in running.deaths.items() if "." in name)
    seconds = time.monotonic() - begun
    print(f"chaos: every promise kept through {kills} deaths ({at_points} at crash points) in {seconds:.0f} s")
    print(f"chaos: {dict(running.done.most_common())}")
    return running


def new_seed() -> int:
    return secrets.randbelow(1_000_000)


def main() -> None:
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--interactions", type=int, default=1000, help="how many are begun at least (default 1000)")
    parser.add_argument("--conversations", type=int, default=6, help="how many go on at once (default 6)")
    parser.add_argument("--seed", type=int, default=None, help="of an earlier run (default: a new one)")
    parser.add_argument("--folder", type=Path, default=None, help="where data and logs are kept (default: nowhere)")
    given = parser.parse_args()
    seed = new_seed() if given.seed is None else given.seed
    with tempfile.TemporaryDirectory() as temporary:
        asyncio.run(chaos(given.folder or Path(temporary), seed, given.interactions, given.conversations))


if __name__ == "__main__":
    sys.exit(main())

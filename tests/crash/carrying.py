"""Carries one case through: the scenario, the deaths in it, and the promises afterwards. Called by the tests."""

from __future__ import annotations

from tests.crash.actor import acting, until
from tests.crash.afterwards import AFTERWARDS, CHECK_THEMSELVES
from tests.crash.cases import Case
from tests.crash.invariants import check_conversation
from tests.crash.outages import OUTAGES
from tests.crash.scenarios import SCENARIOS
from tests.crash.site import Site
from tests.crash.workspaces import WORKSPACES

EVERY_SCENARIO = SCENARIOS | OUTAGES | AFTERWARDS | WORKSPACES
_DOMAINS = {"domain_not_served": "ghost"} | dict.fromkeys(WORKSPACES, "pages")


async def carry_through(site: Site, case: Case) -> None:
    """Fails where a promise is broken, and where a process did not die at its point: the row would show nothing."""
    wanted = sorted(point.partition(":")[0] for point in case.points)

    async def every_death() -> bool | None:
        return True if sorted(death.point for death in site.deaths if death.point) == wanted else None

    async with site.supervised():
        site.arm(case.steps)
        async with acting(site.target) as actor:
            await actor.begin(_DOMAINS.get(case.scenario, "probe"))
            await EVERY_SCENARIO[case.scenario](site, actor)
            if case.scenario not in CHECK_THEMSELVES:
                await check_conversation(site, actor, effects_are_counted=case.scenario not in WORKSPACES)
        await until(every_death, f"the deaths at {case.points} (seen: {site.deaths})", 10)

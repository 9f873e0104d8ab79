"""Plays cases against a gateway, several at a time, each in a conversation of its own with a deadline.

Called by the command, with the address of a gateway or with processes of its own, and by tests.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from gateway.cli.client import HandrailClient, connect
from gateway.cli.evaluation.cases import WORKSPACE_FOLDER, Case
from gateway.cli.evaluation.playing import NotPlayed, Play
from gateway.cli.evaluation.scoring import Scored, score
from gateway.cli.evaluation.weather import write_reports
from gateway.cli.processes import Stack
from handrail.common.v1.tool_pb2 import Effect
from handrail.loop.v1 import workflow_loop_service_pb2 as loop
from handrail_rpc.context import Caller, new_request_id
from handrail_rpc.errors import HandrailError, Unavailable

CASE_SECONDS: Final = 20.0
READY_SECONDS: Final = 20.0
_AT_ONCE = 6
# The domain whose cases work on the fixed workspace.
_WORKSPACE_DOMAIN = "workbench"


class NotRun(Exception):
    """The cases cannot be played; the text says why."""


async def play_cases(
    target: str,
    cases: Sequence[Case],
    *,
    case_seconds: float = CASE_SECONDS,
    on_played: Callable[[Scored], None] = lambda _result: None,
) -> list[Scored]:
    """The results in the order of the cases. Raises NotRun where the gateway or one of the domains is not there."""
    # A principal of its own, so that nobody's inbox fills and no former run counts against a limit.
    principal = f"evaluation-{new_request_id()[:12]}"
    room = asyncio.Semaphore(_AT_ONCE)
    async with AsyncExitStack() as opened:
        clients = {
            locale: await opened.enter_async_context(connect(target, Caller(principal=principal, locale=locale)))
            for locale in sorted({case.locale for case in cases})
        }
        served = await _wait_for_domains(next(iter(clients.values())), target, {case.domain for case in cases})
        changing = {domain: changing_tools(served[domain]) for domain in served}

        async def one(case: Case) -> Scored:
            async with room:
                result = await _play(clients[case.locale], Play(case, changing[case.domain]), case_seconds)
            on_played(result)
            return result

        try:
            async with asyncio.TaskGroup() as group:
                playing = [group.create_task(one(case)) for case in cases]
        except* Unavailable:
            raise NotRun(f"the gateway at {target} went away") from None
    return [task.result() for task in playing]


async def _play(client: HandrailClient, play: Play, seconds: float) -> Scored:
    case = play.case
    upload = WORKSPACE_FOLDER if case.domain == _WORKSPACE_DOMAIN else None
    try:
        async with asyncio.timeout(seconds):
            await play.run(client, upload)
    except TimeoutError:
        return score(case, play.seen, f"no end within {seconds:g} s")
    except NotPlayed as error:
        return score(case, play.seen, str(error))
    except Unavailable:
        raise
    except HandrailError as error:
        return score(case, play.seen, f"refused: {error.reason}")
    return score(case, play.seen)


def changing_tools(domain: loop.Domain) -> frozenset[str]:
    """The tools that need an approval, since they change something or call out."""
    return frozenset(
        tool.name for tool in domain.tools if tool.effect in (Effect.EFFECT_CHANGE, Effect.EFFECT_EXTERNAL)
    )


async def _wait_for_domains(client: HandrailClient, target: str, wanted: set[str]) -> dict[str, loop.Domain]:
    """Wait until the gateway reaches the domains; one that no adapter is configured for does not come."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + READY_SECONDS
    while True:
        try:
            domains = {each.domain: each for each in await client.domains()}
        except Unavailable:
            # The client itself has tried again; what it says about sockets helps nobody.
            raise NotRun(f"nothing answers at {target}") from None
        unknown = sorted(wanted - domains.keys())
        if unknown:
            raise NotRun(f"{target} serves no domain {', '.join(unknown)}; choose with --domain")
        away = sorted(name for name in wanted if not domains[name].available)
        if not away:
            return domains
        if clock() >= deadline:
            raise NotRun(f"the adapter of {', '.join(away)} cannot be reached from {target}")
        await asyncio.sleep(0.1)


@asynccontextmanager
async def own_processes() -> AsyncIterator[str]:
    """The address of a gateway with the Loop and the Adapter behind it, on data of their own, removed at the end.

    Raises ProcessFailed where a service does not start.
    """
    data_dir = Path(tempfile.mkdtemp(prefix="handrail-eval-"))
    reports = data_dir / "weather"
    try:
        write_reports(reports, datetime.now(UTC))
        with Stack.isolated(data_dir, {"HANDRAIL_AVIATION_WEATHER_DIR": str(reports)}) as stack:
            await asyncio.to_thread(stack.migrate)
            stack.start()
            await stack.wait_serving()
            yield stack.gateway.target
    finally:
        shutil.rmtree(data_dir, ignore_errors=True)

"""A running Loop and Adapter for each test, and an operator beside the people who talk."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.cli.client import HandrailClient, connect
from handrail_rpc.context import Caller
from tests.crash.actor import Actor, acting
from tests.crash.site import Site, running_site


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with running_site(tmp_path) as running:
        yield running


@asynccontextmanager
async def talking(site: Site) -> AsyncIterator[tuple[Actor, HandrailClient]]:
    """An actor with a conversation of its own, unwatched (its stream would meet another history), and an operator."""
    await site.wait_serving()
    async with acting(site.target) as actor:
        operator = Caller("operator", actor.caller.tenant, frozenset({"operator"}))
        async with connect(site.target, operator) as client:
            made = await actor.requester.create_conversation("probe")
            actor.heard.conversation_id = made.conversation_id
            yield actor, client


async def start(site: Site, *names: str) -> None:
    for name in names:
        site.process(name).start()
    for name in names:
        await site.process(name).wait_serving()

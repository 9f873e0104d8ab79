"""Storage that keeps its word, under the real services: no lost update, no lock that a client hears of, writes that a
client's leaving does not tear.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gateway.cli.client import HandrailClient
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail.loop.v1.event_pb2 import Event
from handrail_rpc.context import new_request_id
from handrail_rpc.errors import ResourceExhausted
from tests.crash.scenarios import expect
from tests.crash.site import Site
from tests.fakes.processes import check_history, poll
from tests.restore.conftest import talking

WRITERS = 64
CANCELS = 400
AT_ONCE = 40


async def send(client: HandrailClient, conversation_id: str, text: str, request_id: str = "") -> list[Event]:
    return [event async for event in client.send_message(conversation_id, text, request_id=request_id)]


async def user_texts(client: HandrailClient, conversation_id: str) -> list[str]:
    return [each.text for each in await client.messages(conversation_id) if each.role == pb.ROLE_USER]


async def test_no_update_is_lost_among_64_writers_of_one_conversation(site: Site) -> None:
    async with talking(site) as (actor, _):
        client, conversation_id = actor.requester, actor.conversation_id
        texts = [f"say {number}" for number in range(WRITERS)]
        answers = await asyncio.gather(*(send(client, conversation_id, text) for text in texts), return_exceptions=True)
        refused = [answer for answer in answers if isinstance(answer, BaseException)]
        assert all(isinstance(each, ResourceExhausted) for each in refused), refused
        accepted = [text for text, answer in zip(texts, answers, strict=True) if isinstance(answer, list)]
        assert sorted(await user_texts(client, conversation_id)) == sorted(accepted)

        async def quiet() -> bool:
            return not (await client.conversation(conversation_id)).active_interaction_id

        await poll(quiet, "the end of every run")
        check_history(await client.history(conversation_id))
        verified = await client.call(
            lambda: client.stub.VerifyAudit(pb.VerifyAuditRequest(conversation_id=conversation_id))
        )
        assert verified.valid, verified
        accepting = [
            row for row in await client.audit_events(conversation_id) if row.kind == pb.AUDIT_KIND_MESSAGE_ACCEPTED
        ]
        assert len(accepting) == len(accepted)


@contextmanager
def held(site: Site, name: str) -> Iterator[None]:
    """Another program has the write lock of the service's database."""
    outside = sqlite3.connect(site.database(name), isolation_level=None)
    outside.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        outside.execute("ROLLBACK")
        outside.close()


@pytest.mark.parametrize("name", ["loop", "adapter"])
async def test_a_lock_that_another_program_holds_for_seconds_is_waited_for(site: Site, name: str) -> None:
    async with talking(site) as (actor, _):
        expect(await actor.say("look Berlin"), "completed")
        others = [(await actor.requester.create_conversation("probe")).conversation_id for _ in range(8)]
        with held(site, name):
            sending = [asyncio.ensure_future(send(actor.requester, each, "look Paris")) for each in others]
            done, _ = await asyncio.wait(sending, timeout=4)
            assert not done, [task.exception() or task.result()[-1] for task in done]
        for events in await asyncio.gather(*sending):
            assert events[-1].WhichOneof("payload") == "completed"


async def test_a_message_whose_client_leaves_is_stored_with_its_run_or_not_at_all(site: Site) -> None:
    chance = random.Random(20261130)
    async with talking(site) as (actor, _):
        client = actor.requester
        places = asyncio.Semaphore(AT_ONCE)
        found_stored: list[bool] = []

        async def leave_and_return() -> None:
            async with places:
                conversation_id = (await client.create_conversation("probe")).conversation_id
                request_id = new_request_id()
                leaving = asyncio.ensure_future(send(client, conversation_id, "look Berlin", request_id))
                await asyncio.wait([leaving], timeout=chance.random() * 0.05)
                leaving.cancel()
                await asyncio.wait([leaving])
                texts = await user_texts(client, conversation_id)
                started = [
                    event.run_started.message_id
                    for event in await client.history(conversation_id)
                    if event.WhichOneof("payload") == "run_started"
                ]
                # Both reads or none of them: a message that came in between has its run too.
                assert len(texts) <= len(started) <= 1, (texts, started)
                found_stored.append(bool(texts))

                first = await send(client, conversation_id, "look Berlin", request_id)
                again = await send(client, conversation_id, "look Berlin", request_id)
                assert first[-1].WhichOneof("payload") == "completed"
                assert [event.SerializeToString() for event in first] == [event.SerializeToString() for event in again]
                assert await user_texts(client, conversation_id) == ["look Berlin"]
                events = await client.history(conversation_id)
                check_history(events)
                assert len({event.run_id for event in events}) == 1
                if started:
                    assert first[0].run_started.message_id == started[0]

        await asyncio.gather(*(leave_and_return() for _ in range(CANCELS)))
        # Else the moments would show nothing.
        assert {True, False} == set(found_stored)

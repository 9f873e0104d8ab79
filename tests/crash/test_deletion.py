"""A death while content is being erased leaves no byte of it behind, in no file (the other promises: afterwards.py)."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from gateway.cli.client import HandrailClient
from handrail.common.v1.approval_pb2 import Verdict
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail.loop.v1.event_pb2 import Event
from handrail_rpc.context import new_request_id
from handrail_rpc.errors import NotFound
from tests.crash.actor import Actor, acting, persist, until
from tests.crash.site import Site, running_site

AROUND = (
    "loop.delete_conversation.erase",
    "loop.delete_conversation.finish",
    "loop.delete_conversation.cut_log",
    "adapter.delete_session.erase",
)
DELETION_POINTS = [f"{unit}.{moment}" for unit in AROUND for moment in ("before_commit", "after_commit")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with running_site(tmp_path_factory.mktemp("deletion")) as running:
        yield running


async def posted(actor: Actor, secret: str) -> str:
    """A conversation that wrote and posted a note and then asked; its secret is in all of it."""
    client = actor.requester
    made = await persist(lambda: client.create_conversation("probe", title=secret))

    async def say(text: str) -> Event:
        request_id = new_request_id()

        async def ending() -> Event:
            sent = client.send_message(made.conversation_id, text, request_id=request_id)
            return [event async for event in sent][-1]

        return await persist(ending)

    approval = (await say(f"write {secret} at 3 then post")).approval_required

    async def approve() -> Event:
        resolving = actor.approver.resolve_approval(
            approval.approval_id, Verdict.VERDICT_APPROVE, approval.snapshot_digest
        )
        return [event async for event in resolving][-1]

    assert (await persist(approve)).HasField("completed")
    assert (await say("look London")).HasField("clarification_required")
    return made.conversation_id


async def delete(client: HandrailClient, conversation_id: str, request_id: str) -> pb.DeleteConversationResponse:
    request = pb.DeleteConversationRequest(request_id=request_id, conversation_id=conversation_id)
    return await client.call(lambda: client.stub.DeleteConversation(request, timeout=30))


def traces(site: Site, secret: str) -> list[str]:
    files = [site.folder / f"{name}.db{suffix}" for name in ("loop", "adapter") for suffix in ("", "-wal")]
    return [path.name for path in files if path.exists() and secret.encode() in path.read_bytes()]


async def verified(client: HandrailClient, conversation_id: str) -> pb.VerifyAuditResponse:
    request = pb.VerifyAuditRequest(conversation_id=conversation_id)
    return await persist(lambda: client.call(lambda: client.stub.VerifyAudit(request, timeout=30)))


async def died_at(site: Site, point: str) -> None:
    async def death() -> bool | None:
        return True if [each.point for each in site.deaths if each.point] == [point] else None

    await until(death, f"the death at {point} (seen: {site.deaths})", 60)


@pytest.mark.parametrize("point", DELETION_POINTS)
async def test_a_deletion_is_carried_through_every_death(site: Site, point: str) -> None:
    secret = f"secret{uuid.uuid4().hex}"
    async with site.supervised(), acting(site.target) as actor:
        await site.wait_serving()
        conversation_id = await posted(actor, secret)
        assert traces(site, secret)
        effects = site.effects()
        site.arm([point])
        request_id = new_request_id()
        first = await persist(lambda: delete(actor.requester, conversation_id, request_id))
        await died_at(site, point)
        assert await persist(lambda: delete(actor.requester, conversation_id, request_id)) == first

        async def gone() -> bool | None:
            return None if traces(site, secret) else True

        await until(gone, f"the end of {secret} in {traces(site, secret)}", 60)
        with pytest.raises(NotFound):
            await persist(lambda: actor.requester.conversation(conversation_id))
        assert (await verified(actor.requester, conversation_id)).valid
        kinds = [row.kind for row in await persist(lambda: actor.requester.audit_events(conversation_id))]
        assert kinds.count(pb.AUDIT_KIND_CONVERSATION_DELETED) == 1
        assert site.effects() == effects
        query = "SELECT count(*) FROM executions e JOIN interactions i USING (interaction_id) WHERE e.state = ? AND "
        session = "i.domain_session_id = (SELECT domain_session_id FROM sessions WHERE conversation_id = ?)"
        assert site.one("adapter", query + session, "succeeded", conversation_id) >= 3

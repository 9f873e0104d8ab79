"""DeleteConversation through both services: content goes from both files, the audit trail stays and verifies."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from handrail.adapter.v1 import artifact_service_pb2 as artifact_pb
from handrail.common.v1 import approval_pb2, fact_pb2
from handrail.loop.v1 import event_pb2
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from tests.fakes.adapter_harness import position
from tests.fakes.probe_domain import World
from tests.grpc.loop.driver import collect, last, names
from tests.grpc.loop.errors import refused
from tests.grpc.whole.running import Whole, running_whole
from tests.grpc.whole.settling import DID_NOT, POST, UnsureWorld, settle, unknown

SECRET = "zanzibar"


async def delete(whole: Whole, conversation_id: str, request_id: str = "delete", metadata: Any = None) -> Any:
    request = pb.DeleteConversationRequest(request_id=request_id, conversation_id=conversation_id)
    return await whole.stub.DeleteConversation(request, metadata=metadata)


def traces(folder: Path, text: str = SECRET) -> list[str]:
    """Files below a folder whose bytes have the text, write-ahead logs included."""
    return [path.name for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


async def lived(whole: Whole) -> tuple[str, list[event_pb2.Event]]:
    """A conversation that said, asked, approved, executed and failed, with its secret everywhere."""
    driver = whole.driver
    request = pb.CreateConversationRequest(
        request_id="create", domain="probe", title=f"About {SECRET}", labels={SECRET: SECRET}
    )
    conversation_id = (await whole.stub.CreateConversation(request)).conversation.conversation_id
    fact = fact_pb2.Fact(name="hint", source=fact_pb2.SOURCE_USER, scope=SECRET)
    fact.value.update({"text": SECRET})
    events = await driver.send(conversation_id, f"write {SECRET} at 3 then post", facts=[position(1.5), fact])
    approval = last(events, "approval_required")
    events += await driver.resolve(approval, approval_pb2.VERDICT_APPROVE, comment=f"fine, {SECRET}")
    events += await driver.send(conversation_id, f"look {SECRET}")
    events += await driver.send(conversation_id, f"say {SECRET}")
    return conversation_id, events


async def test_everything_said_is_gone_from_both_files_and_the_trail_still_verifies(tmp_path: Path) -> None:
    async with running_whole(tmp_path) as whole:
        conversation_id, events = await lived(whole)
        audit = pb.ListAuditEventsRequest(conversation_id=conversation_id, page_size=200)
        before = (await whole.stub.ListAuditEvents(audit)).audit_events
        assert {"loop.db", "adapter.db"} <= {name.removesuffix("-wal") for name in traces(tmp_path)}
        deleted = await delete(whole, conversation_id)
        assert deleted.delete_time.seconds > 0
        assert traces(tmp_path) == []
        after = (await whole.stub.ListAuditEvents(audit)).audit_events
        assert after[: len(before)] == before
        assert [(pb.AuditKind.Name(row.kind), row.actor) for row in after[len(before) :]][-1] == (
            "AUDIT_KIND_CONVERSATION_DELETED",
            "local",
        )
        verified = await whole.stub.VerifyAudit(pb.VerifyAuditRequest(conversation_id=conversation_id))
        assert (verified.valid, verified.checked_rows) == (True, len(after))
        of_one = pb.ListAuditEventsRequest(interaction_id=events[0].interaction_id)
        assert (await whole.stub.ListAuditEvents(of_one)).audit_events
        assert (await delete(whole, conversation_id)) == deleted


async def test_a_deleted_conversation_is_not_found_by_any_way(tmp_path: Path) -> None:
    async with running_whole(tmp_path) as whole:
        conversation_id, events = await lived(whole)
        approval = last(events, "approval_required")
        stub, driver = whole.stub, whole.driver
        await delete(whole, conversation_id)
        watch = pb.WatchConversationRequest(conversation_id=conversation_id)
        artifacts = artifact_pb.ListArtifactsRequest(conversation_id=conversation_id)
        interaction_id = events[0].interaction_id
        for call in (
            stub.GetConversation(pb.GetConversationRequest(conversation_id=conversation_id)),
            stub.ListMessages(pb.ListMessagesRequest(conversation_id=conversation_id)),
            stub.GetInteraction(pb.GetInteractionRequest(interaction_id=interaction_id)),
            stub.GetRun(pb.GetRunRequest(run_id=events[0].run_id)),
            stub.GetApproval(pb.GetApprovalRequest(approval_id=approval.approval_id)),
            stub.CancelInteraction(pb.CancelInteractionRequest(request_id="c", interaction_id=interaction_id)),
            driver.artifacts.ListArtifacts(artifacts),
            driver.send(conversation_id, "still there?"),
            driver.resolve(approval, approval_pb2.VERDICT_APPROVE),
            collect(stub.WatchConversation(watch)),
            delete(whole, conversation_id, "another"),
            stub.CreateConversation(
                pb.CreateConversationRequest(
                    request_id="create", domain="probe", title=f"About {SECRET}", labels={SECRET: SECRET}
                )
            ),
        ):
            await refused(call, "NOT_FOUND")
        assert not (await stub.ListConversations(pb.ListConversationsRequest())).conversations
        assert not (await stub.ListPending(pb.ListPendingRequest())).items
        trail = pb.VerifyAuditRequest(conversation_id=conversation_id)
        await refused(stub.VerifyAudit(trail, metadata=(("x-handrail-principal", "eve"),)), "NOT_FOUND")
        auditor = (("x-handrail-principal", "eve"), ("x-handrail-roles", "auditor"))
        assert (await stub.VerifyAudit(trail, metadata=auditor)).valid


async def test_only_the_owner_deletes_and_the_request_id_is_its_own(tmp_path: Path) -> None:
    async with running_whole(tmp_path) as whole:
        conversation_id, other = await whole.create(), await whole.create()
        for metadata in ((("x-handrail-principal", "eve"),), (("x-handrail-tenant", "other"),)):
            await refused(delete(whole, conversation_id, metadata=metadata), "NOT_FOUND")
        await delete(whole, conversation_id)
        await refused(delete(whole, other), "ALREADY_EXISTS")
        await refused(delete(whole, other, ""), "INVALID_ARGUMENT")
        assert (await whole.stub.GetConversation(pb.GetConversationRequest(conversation_id=other))).conversation


async def test_what_is_active_is_stopped_first_and_its_outcome_is_in_the_trail(tmp_path: Path) -> None:
    world = World()
    async with running_whole(tmp_path, world) as whole:
        conversation_id = await whole.create()
        release = world.hold("look")
        sending = asyncio.ensure_future(whole.driver.send(conversation_id, "look Berlin"))
        await whole.begun("look")
        deleting = asyncio.ensure_future(delete(whole, conversation_id))

        async def refused_now() -> bool:
            return (await deletion_of(whole, conversation_id)) == "requested"

        await whole.driver.until(refused_now)
        error = await refused(whole.driver.send(conversation_id, "one more"), "FAILED_PRECONDITION")
        assert error.reason == "CONVERSATION_STATE"
        assert not deleting.done()
        release.set()
        await deleting
        assert names(await sending)[-1] == "canceled"
        audit = pb.ListAuditEventsRequest(conversation_id=conversation_id)
        kinds = [pb.AuditKind.Name(r.kind) for r in (await whole.stub.ListAuditEvents(audit)).audit_events]
        assert kinds == [
            "AUDIT_KIND_MESSAGE_ACCEPTED",
            "AUDIT_KIND_TOOL_CALLED",
            "AUDIT_KIND_TOOL_FINISHED",
            "AUDIT_KIND_INTERACTION_ENDED",
            "AUDIT_KIND_CONVERSATION_DELETED",
        ]


async def deletion_of(whole: Whole, conversation_id: str) -> str:
    with closing(sqlite3.connect(whole.driver.folder / "loop.db", timeout=10)) as connection:
        query = "SELECT deletion FROM conversations WHERE conversation_id = ?"
        return str(connection.execute(query, (conversation_id,)).fetchone()[0])


async def test_an_open_question_and_an_open_approval_are_canceled_by_a_deletion(tmp_path: Path) -> None:
    async with running_whole(tmp_path) as whole:
        for text, ending in (("look", "clarification_required"), (POST, "approval_required")):
            conversation_id = await whole.create()
            assert names(await whole.driver.send(conversation_id, text))[-1] == ending
            await delete(whole, conversation_id, f"delete {ending}")
            assert await deletion_of(whole, conversation_id) == "erased"
        assert not (await whole.stub.ListPending(pb.ListPendingRequest())).items


async def test_an_unknown_outcome_is_settled_before_its_conversation_is_deleted(tmp_path: Path) -> None:
    async with running_whole(tmp_path, UnsureWorld()) as whole:
        found = await unknown(whole)
        for _ in range(2):
            error = await refused(delete(whole, found.conversation_id), "FAILED_PRECONDITION")
            assert error.reason == "EXECUTION_UNSETTLED"
            assert "SettleExecution" in error.message
            assert found.tool_call_id in error.message
        assert await deletion_of(whole, found.conversation_id) == ""
        listed = await whole.stub.ListMessages(pb.ListMessagesRequest(conversation_id=found.conversation_id))
        assert listed.messages
        await settle(whole, found, DID_NOT)
        await delete(whole, found.conversation_id)
        assert await deletion_of(whole, found.conversation_id) == "erased"


async def test_an_outcome_that_becomes_unknown_while_it_is_stopped_takes_the_deletion_back(tmp_path: Path) -> None:
    world = UnsureWorld()
    async with running_whole(tmp_path, world) as whole:
        conversation_id = await whole.create()
        approval = last(await whole.driver.send(conversation_id, POST), "approval_required")
        release = world.hold("post_note")
        resolving = asyncio.ensure_future(whole.driver.resolve(approval, approval_pb2.VERDICT_APPROVE))
        await whole.begun("post_note")
        deleting = asyncio.ensure_future(delete(whole, conversation_id))

        async def requested() -> bool:
            return (await deletion_of(whole, conversation_id)) == "requested"

        await whole.driver.until(requested)
        release.set()
        error = await refused(deleting, "FAILED_PRECONDITION")
        assert error.reason == "EXECUTION_UNSETTLED"
        assert last(await resolving, "failed").failure.code == "tool_outcome_unknown"
        # Nothing is lost, and the conversation goes on.
        assert names(await whole.driver.send(conversation_id, "look Berlin"))[-1] == "completed"


async def test_a_watcher_is_told_that_the_conversation_is_gone(tmp_path: Path) -> None:
    async with running_whole(tmp_path) as whole:
        conversation_id = await whole.create()
        await whole.driver.send(conversation_id, "look Berlin")
        request = pb.WatchConversationRequest(conversation_id=conversation_id, follow=True)
        watching = asyncio.ensure_future(collect(whole.stub.WatchConversation(request)))
        await delete(whole, conversation_id)
        await refused(watching, "NOT_FOUND")

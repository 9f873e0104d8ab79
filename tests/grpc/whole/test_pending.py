"""ListPending: what the caller may answer, approve or settle, by every filter, and approvals read one by one."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from handrail.common.v1 import approval_pb2
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from tests.grpc.loop.driver import last, names
from tests.grpc.loop.errors import refused
from tests.grpc.whole.running import Whole, running_whole
from tests.grpc.whole.settling import (
    DID_NOT,
    POST,
    Unknown,
    UnsureWorld,
    approval_of,
    pending_executions,
    settle,
    unknown,
    who,
)

APPROVE = approval_pb2.VERDICT_APPROVE
ANN = who("ann", "author,editor,ringer")
BOB = who("bob", "ringer,editor,author")


async def pending(whole: Whole, metadata: Any = None, **fields: Any) -> list[pb.PendingItem]:
    return list((await whole.driver.stub.ListPending(pb.ListPendingRequest(**fields), metadata=metadata)).items)


def kinds(items: list[pb.PendingItem]) -> list[str]:
    return [str(item.WhichOneof("item")) for item in items]


class Office:
    """Ann has a question, an approval (of a note) and an unknown call (of the bell); Bob an approval of his own."""

    question: str
    approval: Any
    unknown: Unknown
    bobs: Any

    @classmethod
    async def open(cls, whole: Whole) -> Office:
        office = cls()
        office.question = await whole.create(metadata=ANN)
        await whole.driver.send(office.question, "look London", metadata=ANN)
        office.unknown = await unknown(whole, "ring 2", owner=ANN, approver=BOB)
        noted = await whole.create(metadata=ANN)
        office.approval = (await whole.driver.send(noted, POST, metadata=ANN))[-1]
        bobs = await whole.create(metadata=BOB)
        office.bobs = (await whole.driver.send(bobs, POST, metadata=BOB))[-1]
        return office


async def test_each_caller_sees_what_that_caller_may_answer(tmp_path: Path) -> None:
    async with running_whole(tmp_path, UnsureWorld()) as whole:
        await Office.open(whole)
        assert kinds(await pending(whole, ANN)) == ["clarification", "approval", "approval"]
        # The bell was Ann's request, so Bob settles it; her question is nobody else's.
        assert kinds(await pending(whole, BOB)) == ["execution", "approval", "approval"]
        assert kinds(await pending(whole, who("carl", "editor"))) == ["approval", "approval"]
        assert kinds(await pending(whole, who("olga", "operator"))) == ["execution"]
        assert kinds(await pending(whole, who("eve"))) == []
        assert kinds(await pending(whole, who("bob", "*", tenant="other"))) == []


async def test_every_filter_and_the_requester_and_domain_of_each_item(tmp_path: Path) -> None:
    async with running_whole(tmp_path, UnsureWorld()) as whole:
        office = await Office.open(whole)
        everything = await pending(whole, BOB)
        assert [(i.domain, i.requester) for i in everything] == [("probe", "ann"), ("probe", "ann"), ("probe", "bob")]
        for kind, expected in (
            (pb.PENDING_KIND_CLARIFICATION, []),
            (pb.PENDING_KIND_APPROVAL, ["approval", "approval"]),
            (pb.PENDING_KIND_EXECUTION, ["execution"]),
        ):
            assert kinds(await pending(whole, BOB, kind=kind)) == expected
        for fields, expected in (
            ({"conversation_id": office.approval.conversation_id}, ["approval"]),
            ({"interaction_id": office.approval.interaction_id}, ["approval"]),
            ({"interaction_id": office.unknown.interaction_id}, ["execution"]),
            ({"interaction_id": "int_none"}, []),
            ({"domain": "probe"}, ["execution", "approval", "approval"]),
            ({"domain": "aviation"}, []),
            ({"tool": "ring"}, ["execution"]),
            ({"tool": "post_note"}, ["approval", "approval"]),
            ({"requested_by_me": True}, ["approval"]),
            ({"requested_by_me": True, "tool": "ring"}, []),
        ):
            assert kinds(await pending(whole, BOB, **fields)) == expected, fields
        assert kinds(await pending(whole, ANN, requested_by_me=True)) == ["clarification", "approval"]
        assert kinds(await pending(whole, ANN, tool="post_note")) == ["approval", "approval"]
        assert kinds(await pending(whole, ANN, conversation_id=office.question)) == ["clarification"]
        assert (await pending(whole, ANN, conversation_id=office.question))[0].requester == "ann"


async def test_the_bound_on_the_time_of_creation_is_exclusive(tmp_path: Path) -> None:
    async with running_whole(tmp_path, UnsureWorld()) as whole:
        await Office.open(whole)
        items = await pending(whole, BOB)
        assert kinds(await pending(whole, BOB, created_before_time=items[0].create_time)) == []
        assert await pending(whole, BOB, created_before_time=items[1].create_time) == items[:1]
        later = Timestamp(seconds=items[-1].create_time.seconds + 1)
        assert await pending(whole, BOB, created_before_time=later) == items


async def test_pages_go_over_all_kinds_and_tokens_are_bound_to_the_filters(tmp_path: Path) -> None:
    async with running_whole(tmp_path, UnsureWorld()) as whole:
        await Office.open(whole)
        everything = await pending(whole, BOB)
        found: list[pb.PendingItem] = []
        token = ""
        for _ in everything:
            page = await whole.stub.ListPending(pb.ListPendingRequest(page_size=1, page_token=token), metadata=BOB)
            found += page.items
            last_token, token = token, page.next_page_token
        assert found == everything
        assert token == ""
        for fields in (
            {"tool": "ring"},
            {"domain": "probe"},
            {"requested_by_me": True},
            {"kind": pb.PENDING_KIND_APPROVAL},
            {"interaction_id": "int_1"},
            {"created_before_time": everything[0].create_time},
        ):
            call = whole.stub.ListPending(pb.ListPendingRequest(page_token=last_token, **fields), metadata=BOB)
            assert (await refused(call, "INVALID_ARGUMENT")).reason == "PAGE_TOKEN_INVALID"


async def test_wrong_filters_are_named(tmp_path: Path) -> None:
    async with running_whole(tmp_path) as whole:
        request = pb.ListPendingRequest(
            kind=77,
            conversation_id="c" * 129,
            interaction_id="i" * 129,
            tool="t" * 129,
            domain="d" * 129,
        )
        request.created_before_time.seconds = 10**15
        error: Any = await refused(whole.stub.ListPending(request), "INVALID_ARGUMENT")
        assert {each.field for each in error.field_violations} == {
            "kind", "conversation_id", "interaction_id", "tool", "domain", "created_before_time",
        }  # fmt: skip


async def test_get_approval_shows_its_whole_life_to_whoever_may_see_it(tmp_path: Path) -> None:
    world = UnsureWorld(unsure=False)
    async with running_whole(tmp_path, world) as whole:
        conversation_id = await whole.create(metadata=ANN)
        asked = (await whole.driver.send(conversation_id, "ring 2", metadata=ANN))[-1]
        approval_id = asked.approval_required.approval_id
        for caller in (ANN, BOB):
            shown = await approval_of(whole, approval_id, caller)
            assert shown.request == asked.approval_required
            assert (shown.state, shown.requester) == (pb.APPROVAL_STATE_PENDING, "ann")
            assert (shown.conversation_id, shown.interaction_id) == (conversation_id, asked.interaction_id)
            assert (shown.resolved_by, shown.tool_call_id) == ("", "")
            assert shown.HasField("create_time")
            assert not shown.HasField("resolve_time")
        for stranger in (who("eve", "pilot"), who("bob", "*", tenant="other")):
            with_stranger = whole.stub.GetApproval(pb.GetApprovalRequest(approval_id=approval_id), metadata=stranger)
            assert (await refused(with_stranger, "NOT_FOUND")).reason == "APPROVAL_NOT_FOUND"
        release = world.hold("ring")
        running = asyncio.ensure_future(whole.driver.resolve(asked.approval_required, APPROVE, metadata=BOB))
        await whole.begun("ring")
        during = await approval_of(whole, approval_id, ANN)
        assert (during.state, during.resolved_by) == (pb.APPROVAL_STATE_APPROVED, "bob")
        assert during.tool_call_id
        assert during.HasField("resolve_time")
        release.set()
        done = await running
        after = await approval_of(whole, approval_id, ANN)
        assert (after.state, after.tool_call_id) == (pb.APPROVAL_STATE_EXECUTED, during.tool_call_id)
        assert last(done, "tool_finished").tool_call_id == after.tool_call_id
        assert (after.resolved_by, after.resolve_time) == (during.resolved_by, during.resolve_time)
        none = whole.stub.GetApproval(pb.GetApprovalRequest(approval_id="apr_none"))
        await refused(none, "NOT_FOUND")
        await refused(whole.stub.GetApproval(pb.GetApprovalRequest()), "INVALID_ARGUMENT")


@pytest.mark.parametrize(
    ("verdict", "state"),
    [
        (approval_pb2.VERDICT_REJECT, pb.APPROVAL_STATE_REJECTED),
        (approval_pb2.VERDICT_REQUEST_CHANGES, pb.APPROVAL_STATE_CHANGES_REQUESTED),
    ],
)
async def test_get_approval_after_a_verdict_that_executes_nothing(
    tmp_path: Path, verdict: approval_pb2.Verdict.ValueType, state: pb.ApprovalState.ValueType
) -> None:
    async with running_whole(tmp_path) as whole:
        conversation_id = await whole.create()
        approval = last(await whole.driver.send(conversation_id, POST), "approval_required")
        events = await whole.driver.resolve(approval, verdict, comment="actually level 9")
        shown = await approval_of(whole, approval.approval_id)
        assert (shown.state, shown.resolved_by, shown.tool_call_id) == (state, "local", "")
        if verdict == approval_pb2.VERDICT_REQUEST_CHANGES:
            # Requested changes lead through a revision, its validation and a new version to a new approval.
            new = last(events, "approval_required")
            assert shown.superseded_by_approval_id == new.approval_id
            assert [e.tool_started.tool for e in events if e.HasField("tool_started")] == ["change_note", "check_note"]
            assert new.snapshot.artifact_version == approval.snapshot.artifact_version + 1
            assert new.snapshot.idempotency_key != approval.snapshot.idempotency_key
            assert "at 9" in new.input_preview


async def test_settled_items_and_closed_approvals_wait_for_nobody(tmp_path: Path) -> None:
    async with running_whole(tmp_path, UnsureWorld()) as whole:
        office = await Office.open(whole)
        await settle(whole, office.unknown, DID_NOT, BOB)
        await whole.driver.resolve(office.bobs.approval_required, approval_pb2.VERDICT_REJECT, metadata=BOB)
        assert kinds(await pending(whole, BOB)) == ["approval"]
        assert await pending_executions(whole, who("olga", "operator")) == []
        ended = await whole.driver.send(office.question, "cancel", metadata=ANN)
        assert names(ended)[-1] == "canceled"
        assert kinds(await pending(whole, ANN)) == ["approval"]

"""Resolving an approval: every rule of contract.md 'Resolving an approval' (E1 to E5)."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from handrail.adapter.v1 import domain_adapter_service_pb2 as adapter_pb
from handrail.common.v1 import approval_pb2, decision_pb2, failure_pb2, tool_pb2
from handrail.loop.v1 import event_pb2, interaction_state_pb2
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail_rpc.digest import snapshot_digest, snapshot_fields_from_proto
from tests.fakes.adapter import call, complete, end_with, reply, request_approval
from tests.grpc.loop.driver import LoopDriver, check_runs, last, names, running_loop
from tests.grpc.loop.errors import refused

APPROVE = approval_pb2.VERDICT_APPROVE
REJECT = approval_pb2.VERDICT_REJECT
CHANGES = approval_pb2.VERDICT_REQUEST_CHANGES


def filing(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
    """Asks for approval; a correction or requested changes bring another content, a question is unclear."""
    observation = request.observation
    match observation.WhichOneof("kind"):
        case "approval_resolved":
            if observation.approval_resolved.verdict == CHANGES:
                return request_approval("key_2", content="b")
            return call(
                f"call_{request.decision_number}",
                effect=tool_pb2.EFFECT_EXTERNAL,
                approval_id=observation.approval_resolved.approval_id,
            )
        case "tool_finished":
            if observation.tool_finished.calls[0].outcome == tool_pb2.OUTCOME_BLOCKED:
                return request_approval("key_3", content="c")
            return complete("Filed.")
        case "user_message" if observation.user_message.approval_id:
            text = observation.user_message.text
            if text == "what?":
                return reply(decision_pb2.REPLY_VERDICT_UNCLEAR)
            if text == "something else":
                return reply(decision_pb2.REPLY_VERDICT_NEW_REQUEST)
            corrected = request_approval("key_2", content="b")
            corrected.reply_verdict = decision_pb2.REPLY_VERDICT_CORRECTION
            return corrected
        case "user_message" if observation.user_message.text == "something else":
            return complete("Else.")
        case _:
            return request_approval()


async def open_approval(driver: LoopDriver) -> tuple[str, event_pb2.ApprovalRequired]:
    conversation_id = await driver.create()
    events = await driver.send(conversation_id, "file")
    return conversation_id, last(events, "approval_required")


async def test_digest_covers_the_snapshot_that_was_shown(tmp_path: Path) -> None:
    async with running_loop(tmp_path, filing) as driver:
        _, approval = await open_approval(driver)
        assert approval.snapshot_digest == snapshot_digest(snapshot_fields_from_proto(approval.snapshot))
        # Round trip with microseconds: the stored bytes are forwarded, never rebuilt.
        assert approval.snapshot.expire_time.nanos == 123_000
        assert approval.expire_time == approval.snapshot.expire_time


async def test_approving_again_under_any_request_id_replays_the_recorded_run(tmp_path: Path) -> None:
    async with running_loop(tmp_path, filing) as driver:
        conversation_id, approval = await open_approval(driver)
        first = await driver.resolve(approval, APPROVE)
        assert names(first)[-1] == "completed"
        again = await driver.resolve(approval, APPROVE)
        assert [e.SerializeToString() for e in again] == [e.SerializeToString() for e in first]
        assert driver.adapter.executions == 1
        check_runs(await driver.events(conversation_id))


async def test_two_clicks_at_once_make_one_run(tmp_path: Path) -> None:
    async with running_loop(tmp_path, filing) as driver:
        _, approval = await open_approval(driver)
        both = await asyncio.gather(*(driver.resolve(approval, APPROVE) for _ in range(5)))
        assert len({events[0].run_id for events in both}) == 1
        assert driver.adapter.executions == 1


async def test_another_verdict_after_the_first_names_who_and_when(tmp_path: Path) -> None:
    async with running_loop(tmp_path, filing) as driver:
        _, approval = await open_approval(driver)
        await driver.resolve(approval, APPROVE)
        refusal = await refused(driver.resolve(approval, REJECT), "FAILED_PRECONDITION")
        assert refusal.reason == "APPROVAL_RESOLVED"
        assert "approved by local at 20" in refusal.message


async def test_a_digest_never_issued_changes_nothing(tmp_path: Path) -> None:
    async with running_loop(tmp_path, filing) as driver:
        conversation_id, approval = await open_approval(driver)
        head = len(await driver.events(conversation_id))
        refusal = await refused(driver.resolve(approval, APPROVE, snapshot_digest="0" * 64), "FAILED_PRECONDITION")
        assert refusal.reason == "DIGEST_UNKNOWN"
        await refused(driver.resolve(approval, approval_pb2.VERDICT_UNSPECIFIED), "INVALID_ARGUMENT")
        for fields in ({"snapshot_digest": ""}, {"request_id": ""}, {"comment": "c" * 2001}):
            await refused(driver.resolve(approval, APPROVE, **fields), "INVALID_ARGUMENT")
        await refused(driver.resolve(approval, APPROVE, approval_id="apr_none"), "NOT_FOUND")
        assert len(await driver.events(conversation_id)) == head


async def test_superseded_digest_is_blocked_as_stale_and_shows_the_current_approval_once(
    tmp_path: Path,
) -> None:
    async with running_loop(tmp_path, filing) as driver:
        conversation_id, old = await open_approval(driver)
        changed = await driver.send(conversation_id, "at FL330")
        new = last(changed, "approval_required")
        assert last(changed, "approval_resolved").outcome == event_pb2.APPROVAL_OUTCOME_STALE
        assert new.snapshot_digest != old.snapshot_digest
        stale = await driver.resolve(old, APPROVE)
        assert names(stale) == ["run_started", "policy_blocked", "approval_required"]
        assert last(stale, "policy_blocked").code == "approval_stale"
        assert last(stale, "policy_blocked").rule == "approval_matches"
        assert last(stale, "approval_required") == new
        again = await driver.resolve(old, APPROVE)
        assert [e.sequence for e in again] == [e.sequence for e in stale]
        # The old digest given with the new approval's id counts as superseded too.
        mixed = await driver.resolve(new, APPROVE, snapshot_digest=old.snapshot_digest)
        assert names(mixed) == ["run_started", "policy_blocked", "approval_required"]
        assert driver.adapter.executions == 0
        done = await driver.resolve(new, APPROVE)
        assert names(done)[-1] == "completed"
        check_runs(await driver.events(conversation_id))


async def test_rejection_ends_canceled_with_its_code(tmp_path: Path) -> None:
    async with running_loop(tmp_path, filing) as driver:
        conversation_id, approval = await open_approval(driver)
        events = await driver.resolve(approval, REJECT, comment="not today")
        assert last(events, "canceled").code == "approval_rejected"
        assert last(events, "approval_resolved").outcome == event_pb2.APPROVAL_OUTCOME_REJECTED
        assert driver.adapter.executions == 0
        # The fence comes before the ending is told.
        assert len(driver.adapter.cancel_requests) == 1
        check_runs(await driver.events(conversation_id))


@pytest.mark.parametrize("request_id", ["заявка №1", "with a space", "line\nbreak"])
async def test_any_text_is_a_request_id(tmp_path: Path, request_id: str) -> None:
    """It need not be able to travel as metadata: the run's own calls carry one that can."""
    async with running_loop(tmp_path, filing) as driver:
        conversation_id, approval = await open_approval(driver)
        done = await driver.resolve(approval, APPROVE, request_id=request_id)
        assert names(done)[-1] == "completed"
        assert {e.request_id for e in done} == {request_id}
        again = await driver.resolve(approval, APPROVE, request_id=request_id)
        assert [e.sequence for e in again] == [e.sequence for e in done]
        assert driver.adapter.executions == 1
        check_runs(await driver.events(conversation_id))


async def test_requested_changes_bring_a_new_approval(tmp_path: Path) -> None:
    async with running_loop(tmp_path, filing) as driver:
        _, approval = await open_approval(driver)
        await refused(driver.resolve(approval, CHANGES), "INVALID_ARGUMENT")
        events = await driver.resolve(approval, CHANGES, comment="higher")
        assert last(events, "approval_resolved").outcome == event_pb2.APPROVAL_OUTCOME_CHANGES_REQUESTED
        assert last(events, "approval_required").approval_id != approval.approval_id
        observed = driver.adapter.decide_requests[-1].observation.approval_resolved
        assert observed.comment == "higher"
        assert observed.resolved_by == "local"


async def test_a_block_at_the_claim_asks_for_a_fresh_approval(tmp_path: Path) -> None:
    async with running_loop(tmp_path, filing, end_with(tool_pb2.OUTCOME_BLOCKED)) as driver:
        _, approval = await open_approval(driver)
        events = await driver.resolve(approval, APPROVE)
        assert names(events)[-1] == "approval_required"
        assert last(events, "tool_finished").outcome == tool_pb2.OUTCOME_BLOCKED
        assert last(events, "policy_blocked").code == "approval_stale"
        run = (await driver.stub.GetRun(pb.GetRunRequest(run_id=events[0].run_id))).run
        assert list(run.codes) == ["approval_stale"]


async def test_text_is_never_an_approval(tmp_path: Path) -> None:
    async with running_loop(tmp_path, filing) as driver:
        conversation_id, approval = await open_approval(driver)
        events = await driver.send(conversation_id, "what?")
        assert last(events, "approval_required") == approval
        assert driver.adapter.executions == 0
        assert names(await driver.resolve(approval, APPROVE))[-1] == "completed"


async def test_new_request_withdraws_the_approval(tmp_path: Path) -> None:
    async with running_loop(tmp_path, filing) as driver:
        conversation_id, approval = await open_approval(driver)
        events = await driver.send(conversation_id, "something else")
        assert last(events, "approval_resolved").outcome == event_pb2.APPROVAL_OUTCOME_WITHDRAWN
        assert last(events, "completed").answer.text == "Else."
        refusal = await refused(driver.resolve(approval, APPROVE), "FAILED_PRECONDITION")
        assert "withdrawn" in refusal.message
        check_runs(await driver.events(conversation_id))


async def test_role_and_separation_of_duties(tmp_path: Path) -> None:
    def script(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        if request.observation.WhichOneof("kind") == "approval_resolved":
            return complete(request.observation.approval_resolved.resolved_by)
        return request_approval(role="dispatcher", requester_may_approve=False)

    def who(name: str, roles: str, tenant: str = "acme") -> Any:
        return (
            ("x-handrail-principal", name),
            ("x-handrail-roles", roles),
            ("x-handrail-tenant", tenant),
        )

    async with running_loop(tmp_path, script) as driver:
        ann = who("ann", "dispatcher")
        conversation_id = await driver.create(metadata=ann)
        approval = last(await driver.send(conversation_id, "file", metadata=ann), "approval_required")
        own = await refused(driver.resolve(approval, APPROVE, metadata=ann), "PERMISSION_DENIED")
        assert own.reason == "REQUESTER_MAY_NOT_APPROVE"
        no_role = await refused(driver.resolve(approval, APPROVE, metadata=who("ann", "pilot")), "PERMISSION_DENIED")
        assert no_role.metadata["required_role"] == "dispatcher"
        await refused(driver.resolve(approval, APPROVE, metadata=who("bob", "pilot")), "NOT_FOUND")
        foreign = who("bob", "dispatcher", tenant="other")
        await refused(driver.resolve(approval, APPROVE, metadata=foreign), "NOT_FOUND")
        bob = who("bob", "dispatcher")
        pending = await driver.stub.ListPending(pb.ListPendingRequest(), metadata=bob)
        assert [item.approval.approval_id for item in pending.items] == [approval.approval_id]
        assert not (await driver.stub.ListPending(pb.ListPendingRequest(), metadata=ann)).items
        events = await driver.resolve(approval, APPROVE, metadata=bob)
        assert last(events, "completed").answer.text == "bob"
        assert last(events, "approval_resolved").resolved_by == "bob"


async def test_adapter_clock_expiry_is_asked_of_the_adapter(tmp_path: Path) -> None:
    """The timer only asks; the same snapshot again means: not expired, and the open approval stays."""
    answers = [True, False]

    def script(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        observation = request.observation
        if observation.WhichOneof("kind") == "approval_resolved" and observation.approval_resolved.expired:
            if answers.pop(0):
                return request_approval(expire_seconds=past)
            block = failure_pb2.PolicyBlock(code="approval_expired", rule="approval_unexpired")
            return decision_pb2.Decision(blocked=decision_pb2.Blocked(block=block))
        return request_approval(expire_seconds=past)

    past = int(time.time()) - 5
    async with running_loop(tmp_path, script, expiry_recheck_seconds=0.2) as driver:
        conversation_id, approval = await open_approval(driver)

        async def ended() -> bool:
            return "blocked" in names(await driver.events(conversation_id))

        await driver.until(ended)
        events = await driver.events(conversation_id)
        shown = [e.approval_required.approval_id for e in events if e.HasField("approval_required")]
        assert shown == [approval.approval_id] * 2
        assert last(events, "approval_resolved").outcome == event_pb2.APPROVAL_OUTCOME_EXPIRED
        failure = last(events, "blocked").failure
        assert failure.code == "approval_expired"
        assert failure.helpful_action == "Send a message to ask for a fresh approval."
        view = await driver.stub.GetInteraction(pb.GetInteractionRequest(interaction_id=events[0].interaction_id))
        assert view.interaction.state == interaction_state_pb2.INTERACTION_STATE_BLOCKED
        check_runs(events)

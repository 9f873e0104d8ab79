"""A person settles a call of unknown outcome, on the real Loop and the real Adapter (E4, E6, F4, G3; settle_dead)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from handrail.adapter.v1 import domain_adapter_service_pb2 as adapter_pb
from handrail.common.v1 import approval_pb2, failure_pb2, tool_pb2
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail_rpc.errors import HandrailError
from handrail_rpc.status import from_rpc_error
from tests.fakes.processes import poll
from tests.grpc.loop.driver import check_runs, last, names
from tests.grpc.loop.errors import refused
from tests.grpc.whole.running import Whole, running_whole
from tests.grpc.whole.settling import (
    DID_NOT,
    HAPPENED,
    POST,
    TRY_AGAIN,
    UnsureWorld,
    approval_of,
    pending_executions,
    settle,
    unknown,
    who,
)

APPROVE = approval_pb2.VERDICT_APPROVE
ANN = who("ann", "author,editor,ringer")
BOB = who("bob", "ringer")


async def interaction_of(whole: Whole, interaction_id: str, metadata: Any = None) -> pb.Interaction:
    request = pb.GetInteractionRequest(interaction_id=interaction_id)
    return (await whole.driver.stub.GetInteraction(request, metadata=metadata)).interaction


async def audit_of(whole: Whole, conversation_id: str, kind: int) -> list[pb.AuditEvent]:
    request = pb.ListAuditEventsRequest(conversation_id=conversation_id, page_size=200)
    answer = await whole.driver.stub.ListAuditEvents(request)
    return [row for row in answer.audit_events if row.kind == kind]


def ledger(whole: Whole) -> list[tuple[Any, ...]]:
    return whole.probe.sql("SELECT state, settled_by FROM executions WHERE effect IN ('change', 'external')")


async def test_a_failure_of_unknown_outcome_says_how_to_settle_it(tmp_path: Path) -> None:
    async with running_whole(tmp_path, UnsureWorld()) as whole:
        found = await unknown(whole)
        command = f"handrail settle {found.interaction_id} {found.tool_call_id}"
        for failure in (
            last(found.events, "failed").failure,
            (await interaction_of(whole, found.interaction_id)).failure,
        ):
            assert command in failure.helpful_action
            assert failure.progress == failure_pb2.PROGRESS_UNKNOWN
        items = await pending_executions(whole)
        assert [(i.interaction_id, i.domain, i.requester) for i in items] == [(found.interaction_id, "probe", "local")]
        execution = items[0].execution
        assert (execution.tool_call_id, execution.tool) == (found.tool_call_id, "post_note")
        assert (execution.approval_id, execution.summary) == (found.approval.approval_id, "Post note: memo")
        assert (await approval_of(whole, found.approval.approval_id)).state == pb.APPROVAL_STATE_APPROVED


async def test_it_happened_makes_the_call_a_confirmed_step(tmp_path: Path) -> None:
    async with running_whole(tmp_path, UnsureWorld(happens=True)) as whole:
        found = await unknown(whole)
        answer = await settle(whole, found, HAPPENED)
        assert answer.interaction == await interaction_of(whole, found.interaction_id)
        assert not answer.successor_interaction_id
        failure = answer.interaction.failure
        assert (failure.code, failure.progress) == ("settled_executed", failure_pb2.PROGRESS_PARTIAL)
        assert [step.tool for step in failure.confirmed_steps] == ["write_note", "check_note", "post_note"]
        assert failure.confirmed_steps[-1].tool_call_id == found.tool_call_id
        assert failure.confirmed_steps[-1].summary == "Post note: confirmed by local."
        assert "handrail settle" not in failure.helpful_action
        approval = await approval_of(whole, found.approval.approval_id)
        assert (approval.state, approval.tool_call_id) == (pb.APPROVAL_STATE_EXECUTED, found.tool_call_id)
        assert (approval.resolved_by, approval.requester) == ("local", "local")
        assert await pending_executions(whole) == []
        assert ledger(whole) == [("succeeded", "local")]
        # The event is outside any run and comes last; the run keeps the ending that was told.
        events = await whole.driver.events(found.conversation_id)
        check_runs(events)
        settled = events[-1].execution_settled
        assert (events[-1].run_id, settled.tool_call_id, settled.tool) == ("", found.tool_call_id, "post_note")
        assert (settled.outcome, settled.settled_by) == (tool_pb2.OUTCOME_SUCCEEDED, "local")
        # F4: the change may be claimed from now on.
        whole.probe.world.answer_suffix = ""
        claim = await whole.driver.send(found.conversation_id, "say Posted the note memo")
        assert last(claim, "completed").answer.text == "Posted the note memo"


async def test_it_did_not_happen_fails_the_call_with_its_own_code(tmp_path: Path) -> None:
    async with running_whole(tmp_path, UnsureWorld()) as whole:
        found = await unknown(whole, "toll 2")
        failure = (await settle(whole, found, DID_NOT)).interaction.failure
        assert (failure.code, failure.progress) == ("settled_not_executed", failure_pb2.PROGRESS_NOT_EXECUTED)
        assert not failure.confirmed_steps
        approval = await approval_of(whole, found.approval.approval_id)
        assert approval.state == pb.APPROVAL_STATE_WITHDRAWN
        assert ledger(whole) == [("failed", "local")]
        event = (await whole.driver.events(found.conversation_id))[-1].execution_settled
        assert event.outcome == tool_pb2.OUTCOME_FAILED


async def test_it_did_not_happen_may_not_be_claimed(tmp_path: Path) -> None:
    async with running_whole(tmp_path, UnsureWorld()) as whole:
        found = await unknown(whole)
        await settle(whole, found, DID_NOT)
        claim = await whole.driver.send(found.conversation_id, "say Posted the note memo")
        assert last(claim, "failed").failure.code == "claimed_change_not_executed"


async def test_a_settlement_is_audited_with_who_and_what_and_without_the_comment(tmp_path: Path) -> None:
    async with running_whole(tmp_path, UnsureWorld()) as whole:
        found = await unknown(whole)
        await settle(whole, found, HAPPENED, comment="seen in the hangar")
        (row,) = await audit_of(whole, found.conversation_id, pb.AUDIT_KIND_EXECUTION_SETTLED)
        assert (row.actor, row.code, row.interaction_id) == ("local", "happened", found.interaction_id)
        details = dict(row.details)
        assert details == {
            "tool": "post_note",
            "tool_call_id": found.tool_call_id,
            "approval_id": found.approval.approval_id,
        }
        assert len(row.digest) == 64
        assert b"hangar" not in row.SerializeToString()


async def test_a_watcher_sees_the_settlement_and_the_new_attempt_as_they_happen(tmp_path: Path) -> None:
    async with running_whole(tmp_path, UnsureWorld()) as whole:
        found = await unknown(whole)
        head = (await whole.driver.events(found.conversation_id))[-1].sequence
        call = whole.stub.WatchConversation(
            pb.WatchConversationRequest(conversation_id=found.conversation_id, after_sequence=head, follow=True)
        )
        seen: list[str] = []

        async def watch() -> None:
            async for response in call:
                seen.append(str(response.event.WhichOneof("payload")))
                if seen[-1] == "approval_required":
                    return

        watching = asyncio.ensure_future(watch())
        await poll(lambda: seen == ["live"], "the live marker")
        await settle(whole, found, TRY_AGAIN)
        async with asyncio.timeout(30):
            await watching
        call.cancel()
        assert seen[:3] == ["live", "execution_settled", "run_started"]


async def test_target_lock_is_freed_by_the_settlement(tmp_path: Path) -> None:
    world = UnsureWorld()
    async with running_whole(tmp_path, world) as whole:
        found = await unknown(whole, "toll 2")
        world.unsure = False
        other = await whole.create()
        approval = last(await whole.driver.send(other, "toll 1"), "approval_required")
        blocked = await whole.driver.resolve(approval, APPROVE)
        assert last(blocked, "policy_blocked").code == "target_busy"
        await settle(whole, found, DID_NOT)
        again = last(blocked, "approval_required")
        assert last(await whole.driver.resolve(again, APPROVE), "completed").answer.text == "Tolled 1."


async def test_try_again_asks_for_a_new_approval_of_a_new_call(tmp_path: Path) -> None:
    world = UnsureWorld()
    async with running_whole(tmp_path, world) as whole:
        found = await unknown(whole)
        first = await interaction_of(whole, found.interaction_id)
        world.unsure = False
        answer = await settle(whole, found, TRY_AGAIN)
        assert answer.interaction.failure.code == "settled_not_executed"

        async def asked() -> Any:
            events = await whole.driver.events(found.conversation_id)
            mine = [e for e in events if e.run_id == answer.run_id]
            return mine if mine and names(mine)[-1] == "approval_required" else None

        events = await whole.driver.until(asked)
        assert {e.interaction_id for e in events} == {answer.successor_interaction_id}
        assert events[0].run_started.message_id == first.root_message_id
        approval = last(events, "approval_required")
        assert approval.approval_id != found.approval.approval_id
        assert approval.snapshot.idempotency_key != found.approval.snapshot.idempotency_key
        assert approval.snapshot_digest != found.approval.snapshot_digest
        successor = await interaction_of(whole, answer.successor_interaction_id)
        assert successor.root_message_id == first.root_message_id
        done = await whole.driver.resolve(approval, APPROVE)
        assert last(done, "completed").answer.text.endswith("Posted the note memo.")
        call = last(done, "tool_finished")
        assert call.tool_call_id != found.tool_call_id
        assert dict(world.effects) == {approval.snapshot.idempotency_key: 1}
        stored = await whole.driver.events(found.conversation_id)
        check_runs(stored)
        settled = last(stored, "execution_settled")
        assert settled.successor_interaction_id == answer.successor_interaction_id
        # Saying it again does nothing more, however long ago it was.
        again = await settle(whole, found, TRY_AGAIN)
        assert (again.successor_interaction_id, again.run_id) == (answer.successor_interaction_id, answer.run_id)
        assert len(await whole.driver.events(found.conversation_id)) == len(stored)


async def test_try_again_survives_a_restart_of_the_loop(tmp_path: Path) -> None:
    world = UnsureWorld()
    async with running_whole(tmp_path, world) as whole:
        found = await unknown(whole, "toll 2")
        answer = await settle(whole, found, TRY_AGAIN)
        await whole.driver.restart()

        async def asked() -> Any:
            return (await interaction_of(whole, answer.successor_interaction_id)).HasField("approval")

        await whole.driver.until(asked)
        world.unsure = False
        approval = (await interaction_of(whole, answer.successor_interaction_id)).approval
        assert last(await whole.driver.resolve(approval, APPROVE), "completed").answer.text == "Tolled 2."


async def test_try_again_is_refused_while_something_is_active_and_changes_nothing(tmp_path: Path) -> None:
    async with running_whole(tmp_path, UnsureWorld()) as whole:
        found = await unknown(whole)
        active = (await whole.driver.send(found.conversation_id, "look London"))[-1]
        head = len(await whole.driver.events(found.conversation_id))
        error = await refused(settle(whole, found, TRY_AGAIN), "FAILED_PRECONDITION")
        assert (error.reason, error.metadata["state"]) == ("INTERACTION_STATE", "awaiting_clarification")
        assert active.interaction_id in error.message
        assert ledger(whole) == [("unknown", "")]
        assert len(await whole.driver.events(found.conversation_id)) == head
        # What does not open anything may be settled all the same.
        assert (await settle(whole, found, DID_NOT)).interaction.failure.code == "settled_not_executed"


async def test_the_same_request_is_answered_again_and_another_body_is_refused(tmp_path: Path) -> None:
    async with running_whole(tmp_path, UnsureWorld()) as whole:
        found = await unknown(whole)
        first = await settle(whole, found, DID_NOT, request_id="mine")
        assert await settle(whole, found, DID_NOT, request_id="mine") == first
        assert (await refused(settle(whole, found, HAPPENED, request_id="mine"), "ALREADY_EXISTS")).reason == (
            "REQUEST_ID_REUSED"
        )
        assert await settle(whole, found, DID_NOT) == first
        assert len(await audit_of(whole, found.conversation_id, pb.AUDIT_KIND_EXECUTION_SETTLED)) == 1


@pytest.mark.parametrize(("first", "second"), [(DID_NOT, HAPPENED), (HAPPENED, DID_NOT), (DID_NOT, TRY_AGAIN)])
async def test_another_verdict_after_the_first_names_who_and_when(
    tmp_path: Path, first: pb.Settlement.ValueType, second: pb.Settlement.ValueType
) -> None:
    async with running_whole(tmp_path, UnsureWorld()) as whole:
        found = await unknown(whole)
        await settle(whole, found, first)
        error = await refused(settle(whole, found, second), "FAILED_PRECONDITION")
        assert error.reason == "EXECUTION_SETTLED"
        word = {DID_NOT: "did_not_happen", HAPPENED: "happened"}[first]
        assert f"was already settled as {word} by local at 20" in error.message


@pytest.mark.parametrize("verdicts", [(HAPPENED, DID_NOT, TRY_AGAIN), (DID_NOT, TRY_AGAIN)])
async def test_of_two_verdicts_at_once_one_wins_and_the_other_is_a_coded_conflict(
    tmp_path: Path, verdicts: tuple[pb.Settlement.ValueType, ...]
) -> None:
    """The two that mean the same to the Adapter are told apart here."""
    async with running_whole(tmp_path, UnsureWorld()) as whole:
        found = await unknown(whole)
        results = await asyncio.gather(
            *(settle(whole, found, verdict) for verdict in verdicts * 3),
            return_exceptions=True,
        )
        won = [r for r in results if isinstance(r, pb.SettleExecutionResponse)]
        lost: list[HandrailError] = [
            from_rpc_error(r) for r in results if not isinstance(r, pb.SettleExecutionResponse)
        ]
        assert len({w.interaction.failure.code for w in won}) == 1
        assert len({w.successor_interaction_id for w in won}) == 1
        assert len(won) == 3
        assert {error.reason for error in lost} <= {"EXECUTION_SETTLED", "INTERACTION_STATE"}
        events = await whole.driver.events(found.conversation_id)
        assert names(events).count("execution_settled") == 1


async def test_separation_of_duties_bars_the_requester_from_settling_too(tmp_path: Path) -> None:
    async with running_whole(tmp_path, UnsureWorld()) as whole:
        found = await unknown(whole, "ring 2", owner=ANN, approver=BOB)
        assert await pending_executions(whole, ANN) == []
        error = await refused(settle(whole, found, HAPPENED, ANN), "PERMISSION_DENIED")
        assert error.reason == "REQUESTER_MAY_NOT_SETTLE"
        assert ledger(whole) == [("unknown", "")]
        assert len(await pending_executions(whole, BOB)) == 1
        answer = await settle(whole, found, HAPPENED, BOB)
        # Another than the principal learns what became of it, not what it is about.
        assert answer.interaction.interaction_id == found.interaction_id
        assert not answer.interaction.HasField("failure")
        failure = (await interaction_of(whole, found.interaction_id, ANN)).failure
        assert failure.confirmed_steps[-1].summary == "Ring: confirmed by bob."


async def test_who_may_settle_is_decided_by_the_credential(tmp_path: Path) -> None:
    async with running_whole(tmp_path, UnsureWorld()) as whole:
        found = await unknown(whole, "ring 2", owner=ANN, approver=BOB)
        for stranger in (who("eve", "pilot"), who("eve", "ringer,operator", tenant="other"), who("eve")):
            assert await pending_executions(whole, stranger) == []
            error = await refused(settle(whole, found, HAPPENED, stranger), "NOT_FOUND")
            assert error.reason == "INTERACTION_NOT_FOUND"
        operator = who("olga", "operator")
        assert len(await pending_executions(whole, operator)) == 1
        await settle(whole, found, DID_NOT, operator)
        assert ledger(whole) == [("failed", "olga")]


async def test_the_requester_settles_without_the_role_that_approving_takes(tmp_path: Path) -> None:
    async with running_whole(tmp_path, UnsureWorld()) as whole:
        found = await unknown(whole, POST, owner=who("ann", "author,editor"))
        without = who("ann", "author")
        assert len(await pending_executions(whole, without)) == 1
        assert (await settle(whole, found, HAPPENED, without)).interaction.failure.code == "settled_executed"


async def test_where_the_adapter_is_away_nothing_is_recorded(tmp_path: Path) -> None:
    async with running_whole(tmp_path, UnsureWorld(), stop_patience_seconds=0.3) as whole:
        found = await unknown(whole)
        head = len(await whole.driver.events(found.conversation_id))
        driver = whole.driver
        target, driver.settings["adapters"] = driver.settings["adapters"], {"probe": "127.0.0.1:1"}
        await driver.restart()
        for verdict in (HAPPENED, TRY_AGAIN):
            error = await refused(settle(whole, found, verdict), "UNAVAILABLE")
            assert error.reason == "ADAPTER_UNAVAILABLE"
        assert len(await driver.events(found.conversation_id)) == head
        assert len(await pending_executions(whole)) == 1
        driver.settings["adapters"] = target
        await driver.restart()
        assert (await settle(whole, found, HAPPENED)).interaction.failure.code == "settled_executed"


async def told_the_adapter_alone(whole: Whole, conversation_id: str, happened: bool) -> None:
    """What a Loop that crashed after the Adapter's answer leaves behind."""
    ((call, interaction),) = whole.probe.sql(
        "SELECT tool_call_id, interaction_id FROM executions WHERE state = 'unknown'"
    )
    ((session, history),) = whole.probe.sql(
        "SELECT domain_session_id, history_id FROM sessions, history WHERE conversation_id = ?", conversation_id
    )
    await whole.probe.stub.SettleExecution(
        adapter_pb.SettleExecutionRequest(
            request_id="before-the-crash",
            domain="probe",
            domain_session_id=session,
            interaction_id=interaction,
            tool_call_id=call,
            history_id=history,
            outcome=tool_pb2.OUTCOME_SUCCEEDED if happened else tool_pb2.OUTCOME_FAILED,
            settled_by="local",
            locale="en",
        )
    )


@pytest.mark.parametrize("verdict", [DID_NOT, TRY_AGAIN])
async def test_a_crash_after_the_adapters_answer_is_healed_by_saying_it_again(
    tmp_path: Path, verdict: pb.Settlement.ValueType
) -> None:
    async with running_whole(tmp_path, UnsureWorld()) as whole:
        found = await unknown(whole)
        await told_the_adapter_alone(whole, found.conversation_id, happened=False)
        error = await refused(settle(whole, found, HAPPENED), "FAILED_PRECONDITION")
        assert (error.reason, error.metadata["state"]) == ("EXECUTION_SETTLED", "failed")
        assert "by local at 2030" in error.message
        answer = await settle(whole, found, verdict)
        assert bool(answer.successor_interaction_id) == (verdict == TRY_AGAIN)
        assert answer.interaction.failure.code == "settled_not_executed"


async def test_a_lost_session_is_settled_here_alone_and_cannot_be_tried_again(tmp_path: Path) -> None:
    async with running_whole(tmp_path, UnsureWorld()) as whole:
        found = await unknown(whole)
        other = await unknown(whole, "toll 2")
        whole.probe.sql("UPDATE history SET history_id = 'his_restored'")
        error = await refused(settle(whole, found, TRY_AGAIN), "FAILED_PRECONDITION")
        assert error.reason == "SESSION_DIVERGED"
        assert "cannot be tried again" in error.message
        assert len(await pending_executions(whole)) == 2
        failure = (await settle(whole, found, HAPPENED)).interaction.failure
        assert (failure.code, failure.confirmed_steps[-1].summary) == ("settled_executed", "Post note: memo")
        assert (await settle(whole, other, DID_NOT)).interaction.failure.code == "settled_not_executed"
        assert ledger(whole) == [("unknown", ""), ("unknown", "")]
        assert await pending_executions(whole) == []


async def test_settle_dead_a_call_that_still_runs_is_not_settled(tmp_path: Path) -> None:
    world = UnsureWorld(unsure=False)
    async with running_whole(tmp_path, world) as whole:
        release = world.hold("ring")
        found = await unknown(whole, "toll 2")  # its time is up, its thread goes on
        error = await refused(settle(whole, found, DID_NOT), "FAILED_PRECONDITION")
        assert error.reason == "EXECUTION_RUNNING"
        assert len(await pending_executions(whole)) == 1
        release.set()
        await poll(lambda: world.effects, "the late effect")

        async def settled() -> bool:
            results = await asyncio.gather(settle(whole, found, HAPPENED), return_exceptions=True)
            return isinstance(results[0], pb.SettleExecutionResponse)

        await whole.driver.until(settled)


async def test_a_call_whose_cancel_ended_unknown_can_be_settled(tmp_path: Path) -> None:
    world = UnsureWorld()
    async with running_whole(tmp_path, world) as whole:
        release = world.hold("post_note")
        conversation_id = await whole.create()
        approval = last(await whole.driver.send(conversation_id, POST), "approval_required")
        running = asyncio.ensure_future(whole.driver.resolve(approval, APPROVE))
        await whole.begun("post_note")
        interaction_id = (await whole.driver.events(conversation_id))[-1].interaction_id
        request = pb.CancelInteractionRequest(request_id="cancel", interaction_id=interaction_id)
        canceling = asyncio.ensure_future(whole.stub.CancelInteraction(request))
        await poll(lambda: whole.probe.sql("SELECT closed FROM interactions") == [(1,)], "the tombstone")
        release.set()
        events = await running
        await canceling
        failure = last(events, "failed").failure
        assert failure.code == "tool_outcome_unknown"
        (item,) = await pending_executions(whole)
        assert f"handrail settle {interaction_id} {item.execution.tool_call_id}" in failure.helpful_action
        answer = await whole.stub.SettleExecution(
            pb.SettleExecutionRequest(
                request_id="settle",
                interaction_id=interaction_id,
                tool_call_id=item.execution.tool_call_id,
                settlement=DID_NOT,
            )
        )
        assert answer.interaction.failure.code == "settled_not_executed"


async def test_only_an_unknown_change_can_be_settled(tmp_path: Path) -> None:
    async with running_whole(tmp_path, UnsureWorld(unsure=False)) as whole:
        conversation_id = await whole.create()
        approval = last(await whole.driver.send(conversation_id, POST), "approval_required")
        done = await whole.driver.resolve(approval, APPROVE)
        call, interaction_id = last(done, "tool_finished").tool_call_id, done[-1].interaction_id
        request = {"request_id": "r1", "interaction_id": interaction_id, "tool_call_id": call, "settlement": DID_NOT}
        error = await refused(whole.stub.SettleExecution(pb.SettleExecutionRequest(**request)), "FAILED_PRECONDITION")
        assert (error.reason, error.metadata["state"]) == ("EXECUTION_STATE", "succeeded")
        for wrong, reason in (
            ({"tool_call_id": "call_none"}, "TOOL_CALL_NOT_FOUND"),
            ({"interaction_id": "int_none"}, "INTERACTION_NOT_FOUND"),
        ):
            given = pb.SettleExecutionRequest(**{**request, **wrong})
            assert (await refused(whole.stub.SettleExecution(given), "NOT_FOUND")).reason == reason
        stranger = whole.stub.SettleExecution(pb.SettleExecutionRequest(**request), metadata=who("eve", "*"))
        assert (await refused(stranger, "NOT_FOUND")).reason == "INTERACTION_NOT_FOUND"


async def test_every_wrong_field_is_named_and_an_unset_verdict_is_none(tmp_path: Path) -> None:
    async with running_whole(tmp_path, UnsureWorld()) as whole:
        found = await unknown(whole)
        error: Any = await refused(
            settle(whole, found, pb.SETTLEMENT_UNSPECIFIED, request_id="", tool_call_id="x" * 129, comment="c" * 2001),
            "INVALID_ARGUMENT",
        )
        named = {each.field for each in error.field_violations}
        assert named == {"request_id", "tool_call_id", "settlement", "comment"}
        assert ledger(whole) == [("unknown", "")]

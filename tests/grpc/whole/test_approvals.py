"""The life of an approval on the real Loop and the real Adapter (E1 to E5, contract.md 'Resolving an approval')."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import grpc.aio
import pytest

from handrail.common.v1 import approval_pb2, tool_pb2
from handrail.loop.v1 import event_pb2
from handrail.loop.v1 import interaction_state_pb2 as states
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail_rpc.status import from_rpc_error
from tests.fakes.probe_domain import World
from tests.grpc.loop.driver import check_runs, collect, last, names
from tests.grpc.loop.errors import refused
from tests.grpc.whole.running import Whole, running_whole
from tests.grpc.whole.settling import POST, approval_of, who

APPROVE = approval_pb2.VERDICT_APPROVE
REJECT = approval_pb2.VERDICT_REJECT
CHANGES = approval_pb2.VERDICT_REQUEST_CHANGES
ANN = who("ann", "ringer")
BOB = who("bob", "ringer")
CARL = who("carl", "ringer")


async def asked(whole: Whole, text: str = POST, metadata: Any = None) -> tuple[str, event_pb2.ApprovalRequired]:
    conversation_id = await whole.create(metadata=metadata)
    events = await whole.driver.send(conversation_id, text, metadata=metadata)
    return conversation_id, last(events, "approval_required")


async def state_of(whole: Whole, approval: event_pb2.ApprovalRequired) -> str:
    shown = await approval_of(whole, approval.approval_id)
    return pb.ApprovalState.Name(shown.state).removeprefix("APPROVAL_STATE_")


@pytest.mark.parametrize("verdicts", [(APPROVE, REJECT), (APPROVE, CHANGES), (REJECT, CHANGES)])
async def test_of_two_callers_at_once_one_wins_and_the_other_is_told_who(
    tmp_path: Path, verdicts: tuple[int, int]
) -> None:
    world = World()
    async with running_whole(tmp_path, world) as whole:
        conversation_id, approval = await asked(whole, "ring 2", ANN)
        results = await asyncio.gather(
            *(
                whole.driver.resolve(approval, verdict, metadata=caller, comment="actually 3")
                for verdict, caller in zip(verdicts, (BOB, CARL), strict=True)
            ),
            return_exceptions=True,
        )
        lost = [from_rpc_error(r) for r in results if isinstance(r, grpc.aio.AioRpcError)]
        assert [error.reason for error in lost] == ["APPROVAL_RESOLVED"]
        winner = ("bob", "carl")[[isinstance(r, list) for r in results].index(True)]
        assert f" by {winner} at 20" in lost[0].message
        events = await collect(
            whole.stub.WatchConversation(pb.WatchConversationRequest(conversation_id=conversation_id), metadata=ANN)
        )
        assert names(events).count("approval_resolved") == 1
        assert sum(world.effects.values()) == (1 if "completed" in names(events) else 0)
        check_runs(events)


async def test_two_callers_with_the_same_verdict_get_the_same_run(tmp_path: Path) -> None:
    world = World()
    async with running_whole(tmp_path, world) as whole:
        _, approval = await asked(whole, "ring 2", ANN)
        both = await asyncio.gather(
            *(whole.driver.resolve(approval, APPROVE, metadata=caller) for caller in (BOB, CARL, BOB, CARL))
        )
        assert len({tuple(e.SerializeToString() for e in events) for events in both}) == 1
        assert sum(world.effects.values()) == 1


async def test_a_rejected_proposal_comes_again_only_with_a_new_message(tmp_path: Path) -> None:
    world = World()
    async with running_whole(tmp_path, world) as whole:
        conversation_id, approval = await asked(whole)
        events = await whole.driver.resolve(approval, REJECT)
        assert last(events, "canceled").code == "approval_rejected"
        assert await state_of(whole, approval) == "REJECTED"
        stored = await whole.driver.events(conversation_id)
        # Neither a restart, nor time, nor the same verdict again brings it back.
        await whole.driver.restart()
        whole.clock.leap(7200)
        assert [e.sequence for e in await whole.driver.resolve(approval, REJECT)] == [e.sequence for e in events]
        late = await refused(whole.driver.resolve(approval, APPROVE), "FAILED_PRECONDITION")
        assert "already closed as rejected by local" in late.message
        assert await whole.driver.events(conversation_id) == stored
        assert not (await whole.driver.stub.ListPending(pb.ListPendingRequest())).items
        again = last(await whole.driver.send(conversation_id, "post"), "approval_required")
        assert again.snapshot.idempotency_key != approval.snapshot.idempotency_key
        assert not world.effects


async def test_expiry_by_timer_blocks_and_a_message_asks_afresh(tmp_path: Path) -> None:
    async with running_whole(tmp_path, expiry_recheck_seconds=0.2) as whole:
        conversation_id, approval = await asked(whole)
        # The Loop's timer is early by its own clock: the Adapter's alone decides, and the approval stays.
        whole.clock.leap((approval.expire_time.ToSeconds() - whole.clock.now().timestamp()) + 1)

        async def announced_again() -> bool:
            return names(await whole.driver.events(conversation_id)).count("approval_required") > 1

        await whole.driver.until(announced_again)
        assert await state_of(whole, approval) == "PENDING"
        whole.probe.clock.advance(timedelta(hours=2))

        async def blocked() -> Any:
            events = await whole.driver.events(conversation_id)
            return events if names(events)[-1] == "blocked" else None

        events = await whole.driver.until(blocked)
        assert last(events, "blocked").failure.code == "approval_expired"
        assert last(events, "approval_resolved").outcome == event_pb2.APPROVAL_OUTCOME_EXPIRED
        assert await state_of(whole, approval) == "EXPIRED"
        fresh = last(await whole.driver.send(conversation_id, "post"), "approval_required")
        assert fresh.approval_id != approval.approval_id


async def test_an_approval_that_comes_too_late_for_the_adapters_clock_is_expired_and_asked_for_anew(
    tmp_path: Path,
) -> None:
    world = World()
    async with running_whole(tmp_path, world) as whole:
        _, approval = await asked(whole)
        whole.probe.clock.advance(timedelta(hours=2))
        events = await whole.driver.resolve(approval, APPROVE)
        assert names(events)[-1] == "approval_required"
        assert last(events, "policy_blocked").code == "approval_expired"
        assert not world.effects
        assert await state_of(whole, approval) == "EXPIRED"
        fresh = last(events, "approval_required")
        assert (await approval_of(whole, approval.approval_id)).superseded_by_approval_id == fresh.approval_id
        late = await refused(whole.driver.resolve(approval, REJECT), "FAILED_PRECONDITION")
        assert "already closed as approved by local" in late.message
        assert "it is expired now" in late.message
        done = await whole.driver.resolve(fresh, APPROVE)
        assert last(done, "completed").answer.text.endswith("Posted the note memo.")
        assert await state_of(whole, fresh) == "EXECUTED"


def use_up(whole: Whole, key: str) -> None:
    """Another call has a row with this key in the ledger."""
    call = {
        "tool_call_id": "call_other", "decision_number": 1, "task_id": "", "tool": "toll", "tool_version": 1,
        "effect": "change", "idempotent": 0, "idempotency_key": key, "input_bytes": b"", "input_sha256": "",
        "target": "", "timeout_microseconds": 1, "summary": "", "approval_id": "", "approval_digest": "",
    }  # fmt: skip
    row = {
        "tool_call_id": "call_other", "execution_id": "exe_other", "domain": "probe", "idempotency_key": key,
        "tool": "toll", "effect": "change", "target": "", "state": "succeeded", "attempt": 1, "owner": "",
        "lease_until": 0, "outcome": b"", "result_sha256": "", "trouble": "", "claim_time": 0,
    }  # fmt: skip
    ((interaction_id,),) = whole.probe.sql("SELECT interaction_id FROM interactions")
    for table, values in (("tool_calls", call), ("executions", row)):
        given = {**values, "interaction_id": interaction_id}
        columns, places = ", ".join(given), ", ".join("?" for _ in given)
        whole.probe.sql(f"INSERT INTO {table} ({columns}) VALUES ({places})", *given.values())


async def test_a_block_at_the_claim_makes_the_approval_stale_and_a_new_one_takes_its_place(tmp_path: Path) -> None:
    world = World()
    async with running_whole(tmp_path, world) as whole:
        conversation_id, approval = await asked(whole, "toll 1")
        # Somebody else has used the key up: the decision still calls, the claim does not.
        use_up(whole, approval.snapshot.idempotency_key)
        events = await whole.driver.resolve(approval, APPROVE)
        assert names(events)[-1] == "approval_required"
        finished = last(events, "tool_finished")
        assert finished.outcome == tool_pb2.OUTCOME_BLOCKED
        assert not world.effects
        fresh = last(events, "approval_required")
        shown = await approval_of(whole, approval.approval_id)
        assert shown.state == pb.APPROVAL_STATE_STALE
        assert (shown.superseded_by_approval_id, shown.tool_call_id) == (fresh.approval_id, finished.tool_call_id)
        late = await refused(whole.driver.resolve(approval, REJECT), "FAILED_PRECONDITION")
        assert "already closed as approved by local" in late.message
        assert "it is stale now" in late.message
        assert last(await whole.driver.resolve(fresh, APPROVE), "completed").answer.text == "Tolled 1."
        check_runs(await whole.driver.events(conversation_id))


async def test_a_correction_makes_the_open_approval_stale_and_its_digest_shows_the_current_one(tmp_path: Path) -> None:
    async with running_whole(tmp_path) as whole:
        conversation_id, old = await asked(whole)
        changed = await whole.driver.send(conversation_id, "actually level 7")
        new = last(changed, "approval_required")
        assert await state_of(whole, old) == "STALE"
        assert (await approval_of(whole, old.approval_id)).superseded_by_approval_id == new.approval_id
        stale = await whole.driver.resolve(old, APPROVE)
        assert names(stale) == ["run_started", "policy_blocked", "approval_required"]
        assert last(stale, "policy_blocked").code == "approval_stale"
        assert last(stale, "approval_required") == new
        assert "at 7" in new.input_preview


async def test_an_approved_approval_whose_interaction_is_canceled_before_the_call_is_withdrawn(tmp_path: Path) -> None:
    world = World()
    async with running_whole(tmp_path, world, stop_patience_seconds=0.3) as whole:
        conversation_id, approval = await asked(whole)
        interaction_id = (await whole.driver.events(conversation_id))[0].interaction_id
        driver = whole.driver
        target, driver.settings["adapters"] = driver.settings["adapters"], {"probe": "127.0.0.1:1"}
        await driver.restart()
        resolving = asyncio.ensure_future(driver.resolve(approval, APPROVE))

        async def approved() -> bool:
            return await state_of(whole, approval) == "APPROVED"

        await driver.until(approved)
        request = pb.CancelInteractionRequest(request_id="cancel", interaction_id=interaction_id)
        canceling = asyncio.ensure_future(driver.stub.CancelInteraction(request))
        await asyncio.wait([resolving])
        driver.settings["adapters"] = target
        await driver.restart()
        await asyncio.wait([canceling])
        view = (await driver.stub.CancelInteraction(request)).interaction
        assert view.state == states.INTERACTION_STATE_CANCELED
        assert await state_of(whole, approval) == "WITHDRAWN"
        assert not world.effects

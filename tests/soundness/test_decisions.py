"""soundness.md 'Further rules': identity of a decision, versions, dispatches, waits, reads side by side."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail.common.v1 import approval_pb2, decision_pb2, fact_pb2, failure_pb2, tool_pb2
from tests.fakes.adapter_harness import FakeClock, Probe, refusal, running_probe
from tests.fakes.probe_domain import World
from tests.grpc.loop.driver import last, names, running_loop
from tests.grpc.whole.running import running_whole
from tests.soundness.acting import POST, RING, approved, state_of

APPROVE = approval_pb2.VERDICT_APPROVE
SUCCEEDED, BLOCKED, UNKNOWN = tool_pb2.OUTCOME_SUCCEEDED, tool_pb2.OUTCOME_BLOCKED, tool_pb2.OUTCOME_UNKNOWN


async def test_identity_of_a_decision_request(probe: Probe) -> None:
    """Interaction, number, base plan version and observation bytes; everything else may differ on a retry."""
    driver = await probe.open()
    first = await driver.say("look London")
    again = pb2.DecideRequest()
    again.CopyFrom(driver.last_request)
    again.run_id, again.locale, again.request_id, again.lease_epoch = "run_9", "ru", "req_other", 7
    again.budgets.tool_actions_left, again.budgets.generations_left = 3, 1
    again.budgets.active_time_left.FromTimedelta(timedelta(seconds=1))
    again.recent_messages.add(message_id="msg_9", role="user", text="look London")
    again.facts.append(fact_pb2.Fact(name="x", source=fact_pb2.SOURCE_USER))
    again.workspace_snapshot_id = "wsp_1"
    repeated = await driver.send(again)
    assert repeated.SerializeToString(deterministic=True) == first.SerializeToString(deterministic=True)
    for name in ("observation", "base_plan_version"):
        other = pb2.DecideRequest()
        other.CopyFrom(again)
        if name == "observation":
            other.observation.user_message.text = "look Paris"
        else:
            other.base_plan_version = 4
        assert (await refusal(driver.send(other))).reason == "DECISION_CONTRADICTION"
    assert probe.sql("SELECT count(*) FROM decisions") == [(1,)]


@pytest.mark.parametrize("kind", ["policy", "tool"])
async def test_monotone_versions(probe: Probe, kind: str) -> None:
    """Another process has brought a newer version: this one claims nothing under its own, and asks for no approval."""
    driver, call = await approved(probe, POST)
    name = "" if kind == "policy" else "post_note"
    probe.sql("UPDATE versions SET version = 9 WHERE kind = ? AND name = ?", kind, name)
    blocked = await driver.execute(call)
    assert (blocked.outcome, blocked.block.code) == (BLOCKED, "approval_stale")
    assert not probe.world.effects
    failure = (await driver.finish(blocked)).fail.failure
    assert (failure.code, failure.stage) == ("policy_version_outdated", failure_pb2.STAGE_POLICY)
    reader = await probe.open("conv_2")
    await reader.say("look Berlin")
    outcome = await reader.execute(reader.last.call_tool.calls[0])
    if kind == "policy":  # whom a tool is permitted to is policy, too
        assert (outcome.outcome, outcome.failure.code) == (tool_pb2.OUTCOME_FAILED, "policy_version_outdated")
    else:
        assert outcome.outcome == SUCCEEDED


async def test_monotone_versions_are_never_lowered_by_an_older_process(tmp_path: Path) -> None:
    world, clock = World(policy_version=2), FakeClock()
    async with running_probe(tmp_path, world, clock) as newer:
        driver, call = await approved(newer, POST)
    world.policy_version = 1
    async with running_probe(tmp_path, world, clock) as older:
        assert older.sql("SELECT version FROM versions WHERE kind = 'policy'") == [(2,)]
        driver.stub = older.stub
        assert (await driver.execute(call)).block.code == "approval_stale"
        assert not world.effects


async def test_a_second_dispatch_without_a_ledger_row_is_unknown(probe: Probe) -> None:
    """Unless the tool is idempotent: the row may have been lost together with the effect's record."""
    driver, call = await approved(probe, RING)
    outcome = await driver.execute(call, dispatch_number=2)
    assert (outcome.outcome, outcome.failure.code) == (UNKNOWN, "tool_outcome_unknown")
    assert (state_of(probe, call), probe.world.effects) == ("unknown", {})
    other, idempotent = await approved(probe, POST, "conv_2")
    assert (await other.execute(idempotent, dispatch_number=2)).outcome == SUCCEEDED


async def test_wait_until_is_a_duration_from_receipt(tmp_path: Path) -> None:
    """Clocks are never compared: the Adapter's says another year, and work before the wait does not shorten it."""
    async with running_whole(tmp_path) as whole:
        gate = whole.probe.world.hold("look")
        conversation_id = await whole.create()
        sending = asyncio.ensure_future(whole.driver.send(conversation_id, "look Berlin then nap 3600"))
        await whole.begun("look")
        whole.clock.leap(60)
        gate.set()
        until = last(await sending, "waiting").until.ToSeconds()
        assert abs(until - whole.clock.now().timestamp() - 3600) < 30


async def test_a_wake_up_is_authoritative(tmp_path: Path) -> None:
    """Woken by the Loop, the Adapter goes on, though no time at all has passed on its own clock."""
    async with running_whole(tmp_path) as whole:
        conversation_id = await whole.create()
        before = whole.probe.clock.now
        assert names(await whole.driver.send(conversation_id, "nap 3600"))[-1] == "waiting"
        whole.clock.leap(3601)

        async def ended() -> bool:
            return names(await whole.driver.events(conversation_id))[-1] == "completed"

        await whole.driver.until(ended)
        assert whole.probe.clock.now == before


async def test_every_wait_for_a_signal_has_a_limit(tmp_path: Path) -> None:
    """One without a limit could wait for ever: it is no decision that can be carried out."""

    def script(request: pb2.DecideRequest) -> decision_pb2.Decision:
        return decision_pb2.Decision(wait=decision_pb2.Wait(signal="go"))

    async with running_loop(tmp_path, script) as driver:
        events = await driver.send(await driver.create(), "x")
        assert last(events, "failed").failure.code == "plan_invalid"
        assert "waiting" not in names(events)


async def test_reads_of_one_step_run_together_and_are_one_observation(tmp_path: Path) -> None:
    """call_tool carries calls[]: both are inside their functions at once, and one decision follows."""
    world = World()
    async with running_whole(tmp_path, world) as whole:
        gate = world.hold("look")
        conversation_id = await whole.create()
        sending = asyncio.ensure_future(whole.driver.send(conversation_id, "look Berlin then look Paris"))

        async def both_inside() -> bool:
            return world.running == 2

        await whole.driver.until(both_inside)
        gate.set()
        events = await sending
        assert last(events, "completed").answer.text == "BER is Berlin.\n\nPAR is Paris."
        assert names(events).count("tool_finished") == 2
        assert names(events).count("decision_made") == 2


async def test_a_mismatch_after_the_claim_is_told_as_a_policy_block(tmp_path: Path) -> None:
    """compare_at_write, through both services: an event of its own, no failure, and a fresh approval."""
    async with running_whole(tmp_path) as whole:
        driver, world = whole.driver, whole.probe.world
        conversation_id = await whole.create()
        first = last(await driver.send(conversation_id, "write memo at 3 then put"), "approval_required")
        release = world.hold("put_up")
        approving = asyncio.ensure_future(driver.resolve(first, APPROVE))
        await whole.begun("put_up")
        world.board = "of another editor"
        release.set()
        events = await approving
        told = names(events)
        assert (told.count("policy_blocked"), told.count("failed"), told[-1]) == (1, 0, "approval_required")
        assert last(events, "policy_blocked").code == "approval_stale"
        assert last(events, "tool_finished").outcome == BLOCKED
        fresh = last(events, "approval_required")
        assert fresh.snapshot.idempotency_key != first.snapshot.idempotency_key
        assert names(await driver.resolve(fresh, APPROVE))[-1] == "completed"
        assert world.effects == {fresh.snapshot.idempotency_key: 1}

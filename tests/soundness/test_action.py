"""soundness.md 'Action: approval, claim, execution, stop': what the Adapter holds, each rule by its name."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import grpc.aio
import pytest

from adapter_service.application.execute import execute_tool
from adapter_service.sdk import ArtifactKind, Domain
from adapter_service.storage.unit_of_work import SqlUnitOfWork
from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail.adapter.v1 import observation_pb2 as obs
from handrail.common.v1 import approval_pb2, failure_pb2, tool_pb2
from handrail_rpc.errors import FailedPrecondition, Unavailable
from tests.fakes.adapter_harness import FakeClock, Probe, refusal, running_probe
from tests.fakes.probe_domain import World
from tests.fakes.processes import poll
from tests.soundness.acting import POST, RING, approved, asked, begun, crash, state_of

APPROVE = approval_pb2.VERDICT_APPROVE
SUCCEEDED, BLOCKED, UNKNOWN = tool_pb2.OUTCOME_SUCCEEDED, tool_pb2.OUTCOME_BLOCKED, tool_pb2.OUTCOME_UNKNOWN


class WatchedDomain(Domain):
    """Tells when the claim looks up an artifact's kind: it has read the versions by then and has not yet claimed."""

    on_kind: Callable[[], None] | None = None

    def kind(self, name: str) -> ArtifactKind:
        if self.on_kind is not None:
            self.on_kind()
        return super().kind(name)


async def test_serializable_claim(tmp_path: Path) -> None:
    """Two connections: what the one has compared, the other cannot change before the claim is written."""
    tried: list[str] = []
    watched: list[WatchedDomain] = []

    def watch(domain: Domain) -> Domain:
        watched.append(WatchedDomain(**{f.name: getattr(domain, f.name) for f in fields(domain) if f.init}))
        return watched[0]

    def raise_policy() -> None:
        object.__setattr__(watched[0], "on_kind", None)
        with closing(sqlite3.connect(tmp_path / "adapter.db", timeout=0)) as other:
            try:
                other.execute("UPDATE versions SET version = 2 WHERE kind = 'policy'")
                other.commit()
                tried.append("written")
            except sqlite3.OperationalError as error:
                tried.append(str(error))

    async with running_probe(tmp_path, adapt=watch) as probe:
        driver, call = await approved(probe, POST)
        object.__setattr__(watched[0], "on_kind", raise_policy)
        assert (await driver.execute(call)).outcome == SUCCEEDED
        assert tried == ["database is locked"]


async def test_tombstone(probe: Probe) -> None:
    """Nothing begins and nothing is decided once CancelInteraction has returned; what was decided is still told."""
    driver, call = await approved(probe, POST)
    await driver.cancel()
    error = await refusal(driver.execute(call))
    assert (type(error), error.reason) == (FailedPrecondition, "INTERACTION_CLOSED")
    assert (state_of(probe, call), probe.world.effects) == ("", {})
    asking = await probe.open("conv_2")
    first = await asking.say("look London")
    await asking.cancel()
    assert await asking.send(asking.last_request) == first
    assert (await refusal(asking.reply("Berlin"))).reason == "INTERACTION_CLOSED"
    unseen = await probe.open("conv_3")
    await unseen.cancel()
    assert (await refusal(unseen.say("look Paris"))).reason == "INTERACTION_CLOSED"


async def test_tombstone_and_claim_race_to_one_consistent_end(probe: Probe) -> None:
    """Whatever comes first, the answer to the close names the call exactly where it ran."""
    for number in range(12):
        driver, call = await approved(probe, POST, f"conv_{number}")
        executed, closed = await asyncio.gather(driver.execute(call), driver.cancel(), return_exceptions=True)
        assert isinstance(closed, pb2.CancelInteractionResponse)
        named = call.tool_call_id in {each.tool_call_id for each in closed.calls}
        assert isinstance(executed, tool_pb2.ToolOutcome) == named
        assert probe.world.effects[call.idempotency_key] == int(named)


async def test_close_names_all(probe: Probe) -> None:
    """The answer to a close names every call in the ledger, and a running one is attached to for its outcome."""
    driver, call = await approved(probe, POST)
    release = probe.world.hold("post_note")
    task = asyncio.create_task(driver.execute(call))
    await begun(probe, "post_note")
    driver.epoch += 1
    closed = await driver.cancel()
    assert [(c.tool, c.running, c.outcome.outcome) for c in closed.calls] == [
        ("write_note", False, SUCCEEDED),
        ("check_note", False, SUCCEEDED),
        ("post_note", True, tool_pb2.OUTCOME_UNSPECIFIED),
    ]
    release.set()
    assert (await driver.execute(call)).outcome == SUCCEEDED
    assert (await task).outcome == SUCCEEDED
    assert not any(begun_call.running for begun_call in (await driver.cancel()).calls)


async def test_fence_interaction(probe: Probe) -> None:
    """The highest epoch that an interaction has shown is its fence for every call; another interaction has its own."""
    driver, call = await approved(probe, POST)
    old = driver.epoch
    driver.epoch = old + 5
    assert (await driver.execute(call)).outcome == SUCCEEDED
    finished = obs.ToolFinished(calls=[obs.FinishedCall(tool_call_id=call.tool_call_id, outcome=SUCCEEDED)])
    late = driver.request(obs.Observation(tool_finished=finished), lease_epoch=old)
    for stale in (driver.execute(call, lease_epoch=old), driver.cancel(lease_epoch=old), driver.send(late)):
        error = await refusal(stale)
        assert (error.reason, error.metadata["fence"]) == ("LEASE_LOST", str(old + 5))
    other = await probe.open()
    assert (await other.say("look Paris")).HasField("call_tool")


async def test_durable_claim(probe: Probe) -> None:
    """While the tool runs, what a restart would read already says that its key is claimed."""
    driver, call = await approved(probe, POST)
    release = probe.world.hold("post_note")
    task = asyncio.create_task(driver.execute(call))
    await begun(probe, "post_note")
    assert state_of(probe, call) == "claimed"
    release.set()
    assert (await task).outcome == SUCCEEDED


async def test_addressed_verdict(probe: Probe) -> None:
    """A resolution of another digest than the open one, or of a closed approval, changes nothing."""
    driver = await asked(probe, POST)
    old = driver.digest()
    error = await refusal(driver.resolve(APPROVE, digest="0" * 64))
    assert (type(error), error.reason) == (FailedPrecondition, "UNEXPECTED_OBSERVATION")
    message = obs.UserMessage(text="actually level 9", approval_id="apr_1")
    await driver.decide(obs.Observation(user_message=message))
    await driver.run()
    assert driver.digest() != old
    assert (await refusal(driver.resolve(APPROVE, digest=old))).reason == "UNEXPECTED_OBSERVATION"
    assert probe.sql("SELECT state FROM approvals ORDER BY decision_number") == [("stale",), ("open",)]
    await driver.resolve(APPROVE)
    assert driver.last.call_tool.calls[0].tool == "post_note"


async def test_blocked_final(probe: Probe) -> None:
    """Block, revert the policy, repeat the same bytes: blocked for good; a new approval brings a new key."""
    driver, call = await approved(probe, POST)
    request = driver.execute_request(call)
    probe.sql("UPDATE versions SET version = 2 WHERE kind = 'policy'")
    blocked = await driver.execute(call)
    assert (blocked.outcome, blocked.block.code, blocked.block.tool_call_id) == (
        BLOCKED,
        "approval_stale",
        call.tool_call_id,
    )
    assert not blocked.HasField("failure")
    probe.sql("UPDATE versions SET version = 1 WHERE kind = 'policy'")
    again = [part async for part in driver.stub.ExecuteTool(request)][-1].outcome
    assert again.SerializeToString(deterministic=True) == blocked.SerializeToString(deterministic=True)
    assert (state_of(probe, call), probe.world.effects) == ("blocked", {})
    await driver.finish(blocked)
    fresh = driver.last.request_approval.snapshot
    assert fresh.idempotency_key not in ("", call.idempotency_key)
    await driver.resolve(APPROVE)
    assert (await driver.run()).HasField("complete")
    assert probe.world.effects == {fresh.idempotency_key: 1}


async def next_part(stream: Any) -> pb2.ExecuteToolResponse:
    part = await stream.read()
    assert isinstance(part, pb2.ExecuteToolResponse)
    return part


async def test_live_attempt(probe: Probe) -> None:
    """The stream is dropped in mid-tool: a repetition attaches to the attempt, whose outcome is everybody's."""
    driver, call = await approved(probe, POST)
    release = probe.world.hold("post_note")
    dropped = driver.stub.ExecuteTool(driver.execute_request(call))
    assert (await next_part(dropped)).progress.message == "posting"
    dropped.cancel()
    attached = [driver.stub.ExecuteTool(driver.execute_request(call, dispatch_number=2)) for _ in range(4)]
    # The attempt's progress says that they are attached to it, while its tool is still held.
    assert {(await next_part(stream)).progress.message for stream in attached} == {"posting"}
    release.set()
    outcomes = [(await next_part(stream)).outcome for stream in attached]
    assert len({outcome.SerializeToString(deterministic=True) for outcome in outcomes}) == 1
    assert outcomes[0].outcome == SUCCEEDED
    assert probe.sql("SELECT attempt FROM executions WHERE tool = 'post_note'") == [(1,)]
    assert probe.world.effects == {call.idempotency_key: 1}


async def test_live_attempt_of_another_process_is_left_alone_until_its_lease_lapses(probe: Probe) -> None:
    driver, call = await approved(probe, POST)
    lease = int((probe.clock.now.timestamp() + 60) * 1_000_000)
    probe.sql(
        "INSERT INTO executions (tool_call_id, execution_id, interaction_id, domain, idempotency_key, tool, effect, "
        "target, state, attempt, owner, lease_until, outcome, result_sha256, trouble, claim_time, finish_time) "
        "SELECT tool_call_id, 'exe_x', interaction_id, 'probe', idempotency_key, tool, effect, target, 'claimed', 1, "
        "'another process', ?, x'', '', '', 0, NULL FROM tool_calls WHERE tool_call_id = ?",
        lease,
        call.tool_call_id,
    )
    assert (await refusal(driver.execute(call))).reason == "ATTEMPT_RUNNING"
    assert not probe.world.effects
    probe.clock.advance(timedelta(seconds=61))
    assert (await driver.execute(call)).outcome == SUCCEEDED
    assert probe.world.effects == {call.idempotency_key: 1}


async def test_live_attempt_whose_time_out_could_not_be_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full when a change runs out of time. Its function still runs, so what the probe finds may yet change:
    once the lease has lapsed, the call is not taken over before the function has ended."""

    def brief(domain: Domain) -> Domain:
        tools = (replace(t, timeout=timedelta(milliseconds=50)) if t.name == "put_up" else t for t in domain.tools)
        return replace(domain, tools=tuple(tools))

    write = SqlUnitOfWork.write
    full = threading.Event()

    async def write_or_not(self: SqlUnitOfWork, unit: Callable[[Any], Any], *, name: str = "") -> Any:
        if full.is_set() and name == "execute_tool.record":
            raise Unavailable("the disk is full", reason="STORAGE_UNAVAILABLE")
        return await write(self, unit, name=name)

    monkeypatch.setattr(SqlUnitOfWork, "write", write_or_not)
    monkeypatch.setattr(execute_tool, "RECORD_SECONDS", 0.2)
    async with running_probe(tmp_path, adapt=brief) as probe:
        driver, call = await approved(probe, "write memo at 3 then put")
        release = probe.world.hold("put_up_checked")
        full.set()
        assert (await refusal(driver.execute(call))).reason == "STORAGE_UNAVAILABLE"
        full.clear()
        probe.clock.advance(timedelta(minutes=1))
        assert (await refusal(driver.execute(call, dispatch_number=2))).reason == "ATTEMPT_RUNNING"
        release.set()

        async def recovered() -> tool_pb2.ToolOutcome | None:
            try:
                return await driver.execute(call, dispatch_number=3)
            except grpc.aio.AioRpcError:
                return None  # the function has not ended yet

        outcome = await poll(recovered, "the recovery")
        assert isinstance(outcome, tool_pb2.ToolOutcome)
        assert outcome.outcome == SUCCEEDED
        assert probe.world.effects == {call.idempotency_key: 1}


RECOVERIES = {
    "nothing": SUCCEEDED,
    "expired": UNKNOWN,
    "policy": UNKNOWN,
    "content": UNKNOWN,
    "closed": UNKNOWN,
}


@pytest.mark.parametrize("changed", RECOVERIES)
async def test_recheck_recovery(tmp_path: Path, changed: str) -> None:
    """After a crash an idempotent tool is called again only where approval, expiry, content and tombstone still hold.

    Where they do not, nobody can say whether the first attempt had its effect: unknown, and nothing is called.
    """
    world, clock = World(), FakeClock()
    async with running_probe(tmp_path, world, clock) as before:
        driver, call = await approved(before, POST)
        await crash(before, driver, call, "post_note")
    world.policy_version = 2 if changed == "policy" else 1
    async with running_probe(tmp_path, world, clock) as after:
        driver.stub = after.stub
        if changed == "expired":
            clock.advance(timedelta(hours=2))
        if changed == "content":
            after.sql("UPDATE artifacts SET latest_version = 2")
            after.sql(
                "INSERT INTO artifact_versions (artifact_id, version, sha256, media_type, title, size_bytes, "
                "tool_call_id, tool, input_sha256, sources, settled_by, create_time) "
                "SELECT artifact_id, 2, sha256, media_type, title, size_bytes, 'x', "
                "tool, input_sha256, sources, settled_by, create_time FROM artifact_versions"
            )
        if changed == "closed":
            assert [c.running for c in (await driver.cancel()).calls] == [False, False, True]
        outcome = await driver.execute(call, dispatch_number=2)
        assert outcome.outcome == RECOVERIES[changed]
        assert world.effects == ({call.idempotency_key: 1} if changed == "nothing" else {})
        if changed == "nothing":
            assert after.sql("SELECT attempt FROM executions WHERE tool = 'post_note'") == [(2,)]


async def test_recheck_recovery_of_a_tool_that_is_not_idempotent_is_unknown(tmp_path: Path) -> None:
    world, clock = World(), FakeClock()
    async with running_probe(tmp_path, world, clock) as before:
        driver, call = await approved(before, RING)
        await crash(before, driver, call, "ring")
    async with running_probe(tmp_path, world, clock) as after:
        driver.stub = after.stub
        outcome = await driver.execute(call, dispatch_number=2)
        assert (outcome.outcome, outcome.failure.progress) == (UNKNOWN, failure_pb2.PROGRESS_UNKNOWN)
        assert not world.effects


async def test_timeout_unknown(probe: Probe) -> None:
    """A tool sleeps past its time-out and then writes: the record says unknown, which stays true."""
    driver, call = await approved(probe, "toll 3")
    release = probe.world.hold("ring")
    outcome = await driver.execute(call)
    assert (outcome.outcome, outcome.failure.code) == (UNKNOWN, "tool_outcome_unknown")
    assert (outcome.failure.source_code, outcome.failure.progress) == ("tool_timeout", failure_pb2.PROGRESS_UNKNOWN)
    release.set()
    assert await asyncio.to_thread(probe.world.acted.wait, 20)
    assert probe.world.effects == {call.idempotency_key: 1}
    assert await driver.execute(call) == outcome
    failure = (await driver.finish(outcome)).fail.failure
    assert (failure.code, failure.progress) == ("tool_outcome_unknown", failure_pb2.PROGRESS_UNKNOWN)


async def test_settle_dead_a_lapsed_attempt_does_not_call(probe: Probe) -> None:
    driver, call = await approved(probe, POST)
    probe.clock.step = timedelta(minutes=2)  # every look at the clock: the process pauses after its claim
    assert (await refusal(driver.execute(call))).reason == "ATTEMPT_RUNNING"
    probe.clock.step = timedelta(0)
    assert (state_of(probe, call), probe.world.effects) == ("claimed", {})
    assert (await driver.execute(call)).outcome == SUCCEEDED
    assert probe.world.effects == {call.idempotency_key: 1}


async def test_adapter_clock(probe: Probe) -> None:
    """Expiry is decided by the Adapter's clock within the claim."""
    driver, call = await approved(probe, POST)
    probe.clock.advance(timedelta(minutes=59))
    later, late = await approved(probe, RING, "conv_2")
    assert (await driver.execute(call)).outcome == SUCCEEDED
    probe.clock.advance(timedelta(hours=24))
    blocked = await later.execute(late)
    assert (blocked.outcome, blocked.block.code) == (BLOCKED, "approval_expired")
    assert probe.world.effects == {call.idempotency_key: 1}


async def test_adapter_clock_a_timer_that_is_early_gets_the_same_approval_again(probe: Probe) -> None:
    driver = await asked(probe, POST)
    first = driver.last.request_approval
    resolved = obs.ApprovalResolved(approval_id="apr_1", snapshot_digest=driver.digest(), expired=True)
    probe.clock.advance(timedelta(minutes=59))
    again = (await driver.decide(obs.Observation(approval_resolved=resolved))).request_approval
    assert again.SerializeToString(deterministic=True) == first.SerializeToString(deterministic=True)
    assert probe.sql("SELECT state FROM approvals") == [("open",)]
    probe.clock.advance(timedelta(minutes=1))
    await driver.decide(obs.Observation(approval_resolved=resolved))
    assert (driver.last.blocked.block.code, driver.last.blocked.block.approval_id) == ("approval_expired", "apr_1")

"""Executions: at most once, live attempts, time-outs, fences, recovery (E4; soundness.md 'Action')."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail.common.v1 import approval_pb2, failure_pb2, tool_pb2
from handrail_rpc.errors import FailedPrecondition
from tests.fakes.adapter_harness import Driver, FakeClock, Probe, refusal, running_probe
from tests.fakes.probe_domain import World

SECONDS = 20


async def approved(probe: Probe, text: str, conversation_id: str = "conv_1") -> tuple[Driver, tool_pb2.ToolCall]:
    """An approved call of the last task of `text`."""
    driver = await probe.open(conversation_id)
    await driver.say(text)
    await driver.run()
    await driver.resolve(approval_pb2.VERDICT_APPROVE)
    return driver, driver.last.call_tool.calls[0]


async def begun(probe: Probe, tool: str) -> None:
    """Wait until the held tool is inside its function."""
    assert await asyncio.to_thread(probe.world.begun[tool].wait, SECONDS)


POST = "write memo at 3 then post"


async def test_a_call_executed_again_returns_the_recorded_outcome_byte_for_byte(probe: Probe) -> None:
    driver, call = await approved(probe, POST)
    first = await driver.execute(call)
    again = await driver.execute(call, locale="ru", dispatch_number=2, request_id="other")
    assert first.outcome == tool_pb2.OUTCOME_SUCCEEDED
    assert again.SerializeToString(deterministic=True) == first.SerializeToString(deterministic=True)
    assert (first.receipt.key, sum(probe.world.effects.values())) == (call.idempotency_key, 1)


async def test_concurrent_executions_of_one_call_have_one_effect_and_one_outcome(probe: Probe) -> None:
    driver, call = await approved(probe, POST)
    release = probe.world.hold("post_note")
    running = [asyncio.create_task(driver.execute(call)) for _ in range(6)]
    await begun(probe, "post_note")
    running += [asyncio.create_task(driver.execute(call)) for _ in range(2)]
    release.set()
    outcomes = await asyncio.gather(*running)
    assert len({outcome.SerializeToString(deterministic=True) for outcome in outcomes}) == 1
    assert probe.sql("SELECT attempt FROM executions WHERE tool_call_id = ?", call.tool_call_id) == [(1,)]
    assert list(probe.world.effects.values()) == [1]


async def test_the_claim_is_durable_before_the_tool_is_called(probe: Probe) -> None:
    driver, call = await approved(probe, POST)
    release = probe.world.hold("post_note")
    task = asyncio.create_task(driver.execute(call))
    await begun(probe, "post_note")
    assert probe.sql("SELECT state FROM executions WHERE tool_call_id = ?", call.tool_call_id) == [("claimed",)]
    release.set()
    assert (await task).outcome == tool_pb2.OUTCOME_SUCCEEDED


async def test_progress_comes_before_the_outcome(probe: Probe) -> None:
    driver, call = await approved(probe, POST)
    release = probe.world.hold("post_note")
    parts = []
    async for part in driver.stub.ExecuteTool(driver.execute_request(call)):
        parts.append(part)
        release.set()
    assert [part.WhichOneof("part") for part in parts] == ["progress", "outcome"]
    assert (parts[0].progress.percent, parts[0].progress.message) == (10, "posting")


async def test_a_dropped_stream_stops_nothing(probe: Probe) -> None:
    driver, call = await approved(probe, POST)
    release = probe.world.hold("post_note")
    stream = driver.stub.ExecuteTool(driver.execute_request(call))
    reading = asyncio.ensure_future(stream.read())
    await begun(probe, "post_note")
    stream.cancel()
    await asyncio.wait([reading])
    second = asyncio.create_task(driver.execute(call))
    release.set()
    assert (await second).outcome == tool_pb2.OUTCOME_SUCCEEDED
    assert list(probe.world.effects.values()) == [1]


async def test_a_hanging_tool_holds_up_nobody_else(probe: Probe) -> None:
    release = probe.world.hold("look")
    hanging = []
    for number in range(12):
        driver = await probe.open(f"conv_{number}")
        await driver.say("look Berlin")
        hanging.append(asyncio.create_task(driver.execute(driver.last.call_tool.calls[0])))
    await begun(probe, "look")
    other = await probe.open("conv_other")
    await other.say("fetch 7")
    assert (await asyncio.wait_for(other.run(), SECONDS)).complete.answer.text == "Number 7."
    release.set()
    assert {outcome.outcome for outcome in await asyncio.gather(*hanging)} == {tool_pb2.OUTCOME_SUCCEEDED}


async def test_a_read_that_takes_too_long_failed_and_may_be_tried_again(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say("slow")
    outcome = await driver.execute(driver.last.call_tool.calls[0])
    assert (outcome.outcome, outcome.failure.code) == (tool_pb2.OUTCOME_FAILED, "tool_timeout")
    assert outcome.failure.retryable
    assert (await driver.finish(outcome)).fail.failure.code == "tool_timeout"


async def test_a_change_that_takes_too_long_is_unknown_and_stays_so(probe: Probe) -> None:
    driver, call = await approved(probe, "toll 3")
    release = probe.world.hold("ring")
    outcome = await driver.execute(call)
    assert (outcome.outcome, outcome.failure.code) == (tool_pb2.OUTCOME_UNKNOWN, "tool_outcome_unknown")
    assert (outcome.failure.source_code, outcome.failure.progress) == ("tool_timeout", failure_pb2.PROGRESS_UNKNOWN)
    release.set()  # the thread wakes up and writes: the record does not change
    assert await driver.execute(call) == outcome
    failure = (await driver.finish(outcome)).fail.failure
    assert (failure.code, failure.progress) == ("tool_outcome_unknown", failure_pb2.PROGRESS_UNKNOWN)
    # target_lock: the unsettled change keeps the target
    other, blocked = await approved(probe, "ring 1", "conv_2")
    assert (await other.execute(blocked)).block.code == "target_busy"


@pytest.mark.parametrize("text", ["ring 2", POST])
async def test_a_second_dispatch_without_a_ledger_row_is_unknown_unless_idempotent(probe: Probe, text: str) -> None:
    driver, call = await approved(probe, text)
    outcome = await driver.execute(call, dispatch_number=2)
    if call.idempotent:
        assert outcome.outcome == tool_pb2.OUTCOME_SUCCEEDED
    else:
        assert (outcome.outcome, outcome.failure.code) == (tool_pb2.OUTCOME_UNKNOWN, "tool_outcome_unknown")
        assert not probe.world.effects


async def test_cancel_and_claim_race_to_one_consistent_end(probe: Probe) -> None:
    for number in range(12):
        driver, call = await approved(probe, POST, f"conv_{number}")
        executed, closed = await asyncio.gather(driver.execute(call), driver.cancel(), return_exceptions=True)
        assert isinstance(closed, pb2.CancelInteractionResponse)
        named = [begun_call for begun_call in closed.calls if begun_call.tool_call_id == call.tool_call_id]
        ran = probe.world.effects[call.idempotency_key]
        if named:
            assert isinstance(executed, tool_pb2.ToolOutcome)
            assert ran == 1
        else:
            assert not isinstance(executed, tool_pb2.ToolOutcome)
            assert ran == 0


async def test_cancel_names_every_call_and_a_running_one_is_attached_to(probe: Probe) -> None:
    driver, call = await approved(probe, POST)
    release = probe.world.hold("post_note")
    task = asyncio.create_task(driver.execute(call))
    await begun(probe, "post_note")
    driver.epoch += 1
    closed = await driver.cancel()
    assert [(c.tool, c.running, c.outcome.outcome) for c in closed.calls] == [
        ("write_note", False, tool_pb2.OUTCOME_SUCCEEDED),
        ("check_note", False, tool_pb2.OUTCOME_SUCCEEDED),
        ("post_note", True, tool_pb2.OUTCOME_UNSPECIFIED),
    ]
    release.set()
    assert (await driver.execute(call)).outcome == tool_pb2.OUTCOME_SUCCEEDED
    assert (await task).outcome == tool_pb2.OUTCOME_SUCCEEDED
    assert not any(begun_call.running for begun_call in (await driver.cancel()).calls)
    error = await refusal(driver.cancel(lease_epoch=1))
    assert error.reason == "LEASE_LOST"


async def test_nothing_begins_after_cancel(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say("look Berlin")
    call = driver.last.call_tool.calls[0]
    await driver.cancel()
    error = await refusal(driver.execute(call))
    assert (type(error), error.reason) == (FailedPrecondition, "INTERACTION_CLOSED")
    assert probe.world.most_running == 0


async def crash(probe: Probe, driver: Driver, call: tool_pb2.ToolCall, tool: str) -> None:
    """Stop the Adapter while the tool is inside its function; its thread never records anything."""
    probe.world.hold(tool)
    task = asyncio.create_task(driver.execute(call))
    await begun(probe, tool)
    for _ in range(2):  # the second request cuts the grace short
        probe.running.server.request_stop()
    await probe.running.stop()
    await asyncio.wait([task])
    assert task.exception() is not None
    probe.world.held.clear()
    probe.world.begun.clear()


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ("nothing", tool_pb2.OUTCOME_SUCCEEDED),
        ("expired", tool_pb2.OUTCOME_UNKNOWN),
        ("policy", tool_pb2.OUTCOME_UNKNOWN),
        ("closed", tool_pb2.OUTCOME_UNKNOWN),
        ("probe finds it", tool_pb2.OUTCOME_SUCCEEDED),
    ],
)
async def test_an_orphan_of_an_idempotent_tool_passes_the_whole_comparison_again(
    tmp_path: Path, changed: str, expected: tool_pb2.Outcome.ValueType
) -> None:
    world, clock = World(), FakeClock()
    async with running_probe(tmp_path, world, clock) as before:
        driver, call = await approved(before, POST)
        await crash(before, driver, call, "post_note")
    world.policy_version = 2 if changed == "policy" else 1
    async with running_probe(tmp_path, world, clock) as after:
        driver.stub = after.stub
        if changed == "expired":
            clock.advance(timedelta(hours=2))
        if changed == "closed":
            assert [c.running for c in (await driver.cancel()).calls] == [False, False, True]
        if changed == "probe finds it":
            world.with_probe = True
            world.effects[call.idempotency_key] = 1
        outcome = await driver.execute(call, dispatch_number=2)
        assert outcome.outcome == expected
        if changed == "nothing":
            assert after.sql("SELECT attempt FROM executions WHERE tool = 'post_note'") == [(2,)]
            assert world.effects == {call.idempotency_key: 1}
        if changed == "probe finds it":
            assert outcome.receipt.summary == "Posted the note found."
            assert world.effects == {call.idempotency_key: 1}
        if expected == tool_pb2.OUTCOME_UNKNOWN:
            assert not world.effects


async def test_an_orphan_of_another_tool_is_unknown_and_reads_simply_run_again(tmp_path: Path) -> None:
    world, clock = World(), FakeClock()
    async with running_probe(tmp_path, world, clock) as before:
        driver, call = await approved(before, "ring 2")
        await crash(before, driver, call, "ring")
    async with running_probe(tmp_path, world, clock) as after:
        driver.stub = after.stub
        assert (await driver.execute(call, dispatch_number=2)).outcome == tool_pb2.OUTCOME_UNKNOWN
        reader = await after.open("conv_2")
        await reader.say("look Berlin")
        read = reader.last.call_tool.calls[0]
        await crash(after, reader, read, "look")
    async with running_probe(tmp_path, world, clock) as last:
        reader.stub = last.stub
        assert (await reader.execute(read, dispatch_number=2)).outcome == tool_pb2.OUTCOME_SUCCEEDED


async def test_a_lease_held_elsewhere_is_left_alone_until_it_lapses(probe: Probe) -> None:
    driver, call = await approved(probe, POST)
    lease = int((probe.clock.now.timestamp() + 60) * 1_000_000)
    probe.sql(
        "INSERT INTO executions SELECT tool_call_id, 'exe_x', interaction_id, 'probe', idempotency_key, tool, effect, "
        "target, 'claimed', 1, 'another process', ?, x'', '', '', 0, NULL FROM tool_calls WHERE tool_call_id = ?",
        lease,
        call.tool_call_id,
    )
    assert (await refusal(driver.execute(call))).reason == "ATTEMPT_RUNNING"
    assert not probe.world.effects
    probe.clock.advance(timedelta(seconds=61))
    assert (await driver.execute(call)).outcome == tool_pb2.OUTCOME_SUCCEEDED
    assert list(probe.world.effects.values()) == [1]


async def test_a_revision_of_an_outdated_version_makes_no_version(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say("write memo then post")
    await driver.run()
    await driver.reply("5")
    release = probe.world.hold("change_note")
    task = asyncio.create_task(driver.execute(driver.last.call_tool.calls[0]))
    await begun(probe, "change_note")
    probe.sql(
        "INSERT INTO artifact_versions SELECT artifact_id, 2, sha256, media_type, title, size_bytes, 'x', tool, "
        "input_sha256, sources, settled_by, create_time FROM artifact_versions"
    )
    probe.sql("UPDATE artifacts SET latest_version = 2")
    release.set()
    outcome = await task
    assert (outcome.outcome, outcome.failure.source_code) == (tool_pb2.OUTCOME_FAILED, "artifact_changed")
    assert probe.sql("SELECT max(version) FROM artifact_versions") == [(2,)]


async def test_each_call_has_its_own_thread(probe: Probe) -> None:
    probe.world.barrier = threading.Barrier(16)
    drivers = [await probe.open(f"conv_{number}") for number in range(16)]
    for driver in drivers:
        await driver.say("look Berlin")
    outcomes = await asyncio.gather(*(driver.execute(driver.last.call_tool.calls[0]) for driver in drivers))
    assert {outcome.outcome for outcome in outcomes} == {tool_pb2.OUTCOME_SUCCEEDED}


async def test_an_attempt_whose_lease_lapsed_before_the_call_does_not_call(probe: Probe) -> None:
    driver, call = await approved(probe, POST)
    probe.clock.step = timedelta(minutes=2)  # every look at the clock: the process pauses after its claim
    assert (await refusal(driver.execute(call))).reason == "ATTEMPT_RUNNING"
    probe.clock.step = timedelta(0)
    assert not probe.world.effects
    assert probe.sql("SELECT state FROM executions WHERE tool_call_id = ?", call.tool_call_id) == [("claimed",)]
    assert (await driver.execute(call)).outcome == tool_pb2.OUTCOME_SUCCEEDED
    assert list(probe.world.effects.values()) == [1]


async def test_nobody_else_can_write_between_comparison_and_claim(probe: Probe) -> None:
    """serializable_claim: the clock is read inside the claiming transaction, right before the comparison."""
    driver, call = await approved(probe, POST)
    tried: list[str] = []

    def raise_policy() -> None:
        path = probe.settings.data_dir / "adapter.db"
        with closing(sqlite3.connect(path, timeout=0)) as other:
            try:
                other.execute("UPDATE versions SET version = 2 WHERE kind = 'policy'")
                tried.append("written")
            except sqlite3.OperationalError as error:
                tried.append(str(error))
        probe.clock.on_look = None

    probe.clock.on_look = raise_policy
    assert (await driver.execute(call)).outcome == tool_pb2.OUTCOME_SUCCEEDED
    assert tried == ["database is locked"]


async def test_a_draft_interrupted_by_a_crash_makes_one_version(tmp_path: Path) -> None:
    world, clock = World(), FakeClock()
    async with running_probe(tmp_path, world, clock) as before:
        driver = await before.open()
        await driver.say("write memo at 1")
        call = driver.last.call_tool.calls[0]
        await crash(before, driver, call, "write_note")
        assert before.sql("SELECT state FROM executions") == [("claimed",)]
    async with running_probe(tmp_path, world, clock) as after:
        driver.stub = after.stub
        outcome = await driver.execute(call, dispatch_number=2)
        assert (outcome.outcome, len(outcome.artifacts)) == (tool_pb2.OUTCOME_SUCCEEDED, 1)
        assert after.sql("SELECT count(*) FROM artifact_versions") == [(1,)]

"""Executions: at most once, live attempts, time-outs, fences, recovery (E4; soundness.md 'Action')."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import grpc.aio

from handrail.common.v1 import approval_pb2, tool_pb2
from tests.fakes.adapter_harness import Driver, FakeClock, Probe, running_probe
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


async def test_progress_comes_before_the_outcome(probe: Probe) -> None:
    driver, call = await approved(probe, POST)
    release = probe.world.hold("post_note")
    parts = []
    async for part in driver.stub.ExecuteTool(driver.execute_request(call)):
        parts.append(part)
        release.set()
    assert [part.WhichOneof("part") for part in parts] == ["progress", "outcome"]
    assert (parts[0].progress.percent, parts[0].progress.message) == (10, "posting")


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


async def test_who_attaches_to_a_refused_attempt_makes_its_own(probe: Probe) -> None:
    for _ in range(5):
        driver = await probe.open()
        driver.epoch = 7
        await driver.say("look Berlin")
        call = driver.last.call_tool.calls[0]
        outdated = driver.execute_request(call, lease_epoch=6)
        both = (driver.stub.ExecuteTool(outdated).read(), driver.stub.ExecuteTool(driver.execute_request(call)).read())
        refused, executed = await asyncio.gather(*both, return_exceptions=True)
        assert isinstance(refused, grpc.aio.AioRpcError)
        assert refused.code() is grpc.StatusCode.ABORTED
        assert not isinstance(executed, BaseException), executed
        assert executed.outcome.outcome == tool_pb2.OUTCOME_SUCCEEDED


async def test_a_read_that_takes_too_long_failed_and_may_be_tried_again(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say("slow")
    outcome = await driver.execute(driver.last.call_tool.calls[0])
    assert (outcome.outcome, outcome.failure.code) == (tool_pb2.OUTCOME_FAILED, "tool_timeout")
    assert outcome.failure.retryable
    assert (await driver.finish(outcome)).fail.failure.code == "tool_timeout"


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


async def test_a_revision_of_an_outdated_version_makes_no_version(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say("write memo then post")
    await driver.run()
    await driver.reply("5")
    release = probe.world.hold("change_note")
    task = asyncio.create_task(driver.execute(driver.last.call_tool.calls[0]))
    await begun(probe, "change_note")
    probe.sql(
        "INSERT INTO artifact_versions (artifact_id, version, sha256, media_type, title, size_bytes, tool_call_id, "
        "tool, input_sha256, sources, settled_by, create_time) "
        "SELECT artifact_id, 2, sha256, media_type, title, size_bytes, 'x', tool, "
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

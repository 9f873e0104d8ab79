"""Failures and blocks of the catalogue that no other test of the Adapter provokes, each for real (G1, E3)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from adapter_service.sdk import Domain
from handrail.common.v1 import failure_pb2, tool_pb2
from tests.fakes.adapter_harness import FakeClock, Probe, running_probe
from tests.fakes.probe_domain import World
from tests.grpc.adapter.test_adapter_executions import crash


async def test_a_read_that_a_cancel_overtook_in_a_crash_is_blocked_as_closed(tmp_path: Path) -> None:
    world, clock = World(), FakeClock()
    async with running_probe(tmp_path, world, clock) as before:
        driver = await before.open()
        await driver.say("look Berlin")
        read = driver.last.call_tool.calls[0]
        await crash(before, driver, read, "look")
    async with running_probe(tmp_path, world, clock) as after:
        driver.stub = after.stub
        await driver.cancel()
        outcome = await driver.execute(read, dispatch_number=2)
        assert (outcome.outcome, outcome.block.code) == (tool_pb2.OUTCOME_BLOCKED, "interaction_closed")
        assert outcome.block.lifted_by == "a new request"


async def test_a_version_that_was_not_validated_is_blocked_and_then_validated(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say("write memo at 3 then post")
    await driver.finish(*[await driver.execute(call) for call in driver.last.call_tool.calls])
    assert [block.code for block in driver.last.blocks] == ["validation_missing"]
    assert [call.tool for call in driver.last.call_tool.calls] == ["check_note"]


async def test_an_input_that_the_tool_refuses_is_asked_for_again_and_then_fails(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say("fetch seven")
    for text in ("eight", "nine"):
        assert "not an accepted value" in driver.last.ask.prompt.question
        await driver.reply(text)
    failure = driver.last.fail.failure
    assert (failure.code, failure.stage) == ("tool_input_invalid", failure_pb2.STAGE_PLANNING)
    assert "nine" in failure.explanation


def silent(domain: Domain) -> Domain:
    """The probe domain whose tools say nothing about their results."""
    return replace(domain, tools=tuple(replace(tool, say=lambda _result, _locale: " ") for tool in domain.tools))


async def test_an_answer_without_text_is_not_shown(tmp_path: Path) -> None:
    async with running_probe(tmp_path, adapt=silent) as probe:
        driver = await probe.open()
        await driver.say("look Berlin")
        failure = (await driver.run()).fail.failure
        assert (failure.code, failure.stage) == ("answer_empty", failure_pb2.STAGE_VERIFICATION)
        assert [step.tool for step in failure.confirmed_steps] == ["look"]

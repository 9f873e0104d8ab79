"""A domain that breaks never loses an effect, a task or the service (B3, E4, G3; soundness rule timeout_unknown)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc.aio
import pytest

from adapter_service import tool_loops
from adapter_service.domain.errors import NoThreadFree
from adapter_service.domain.session import MOST_ARTIFACT_BYTES
from adapter_service.sdk import Domain, Text, ToolError
from adapter_service.tool_threads import ToolThreads
from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail.common.v1 import approval_pb2, failure_pb2, tool_pb2
from handrail_rpc.errors import ResourceExhausted
from tests.fakes.adapter_harness import Driver, Probe, refusal, running_probe
from tests.fakes.processes import poll

SECONDS = 20


class Panic(BaseException):
    """As native libraries raise it: no Exception, and none of Python's own exits."""


def with_tool(name: str, **changes: Any) -> Callable[[Domain], Domain]:
    """The probe domain with one tool declared otherwise."""

    def adapt(domain: Domain) -> Domain:
        return replace(domain, tools=tuple(replace(t, **changes) if t.name == name else t for t in domain.tools))

    return adapt


async def approved_ring(probe: Probe) -> tuple[Driver, tool_pb2.ToolCall]:
    driver = await probe.open()
    await driver.say("ring 2")
    await driver.resolve(approval_pb2.VERDICT_APPROVE)
    return driver, driver.last.call_tool.calls[0]


@pytest.mark.parametrize(
    "error", [StopIteration(), SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), Panic(), KeyError("x")]
)
async def test_whatever_a_tool_raises_ends_the_call_and_not_the_process(tmp_path: Path, error: BaseException) -> None:
    def breaking() -> dict[str, Any]:
        raise error

    async with running_probe(tmp_path, adapt=with_tool("fail", function=breaking)) as probe:
        driver = await probe.open()
        await driver.say("fail")
        outcome = await asyncio.wait_for(driver.execute(driver.last.call_tool.calls[0]), SECONDS)
        assert (outcome.outcome, outcome.failure.code) == (tool_pb2.OUTCOME_FAILED, "tool_failed")


async def test_a_change_that_raises_resource_exhausted_itself_may_have_happened(tmp_path: Path) -> None:
    """Only our own refusal of a thread says that nothing has begun (soundness rule timeout_unknown)."""

    def ringing(count: int) -> dict[str, Any]:
        raise ResourceExhausted("the bell's own quota", reason="TOOL_THREADS_EXHAUSTED")

    async with running_probe(tmp_path, adapt=with_tool("ring", function=ringing)) as probe:
        driver, call = await approved_ring(probe)
        assert (await driver.execute(call)).outcome == tool_pb2.OUTCOME_UNKNOWN


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), Panic()])
async def test_an_asynchronous_tool_that_exits_does_not_end_the_process(tmp_path: Path, error: BaseException) -> None:
    async def leaving() -> dict[str, Any]:
        raise error

    async with running_probe(tmp_path, adapt=with_tool("fail", function=leaving)) as probe:
        driver = await probe.open()
        await driver.say("fail")
        outcome = await asyncio.wait_for(driver.execute(driver.last.call_tool.calls[0]), SECONDS)
        assert (outcome.outcome, outcome.failure.code) == (tool_pb2.OUTCOME_FAILED, "tool_failed")


@pytest.mark.parametrize("error", [TimeoutError(), RuntimeError("broke off")])
async def test_a_change_that_breaks_off_is_unknown_unless_the_tool_itself_reports_a_failure(
    tmp_path: Path, error: Exception
) -> None:
    def ring(count: int) -> dict[str, Any]:
        raise error

    async with running_probe(tmp_path, adapt=with_tool("ring", function=ring)) as probe:
        driver, call = await approved_ring(probe)
        outcome = await driver.execute(call)
        assert (outcome.outcome, outcome.failure.code) == (tool_pb2.OUTCOME_UNKNOWN, "tool_outcome_unknown")
        assert (outcome.failure.source_code, outcome.failure.progress) == ("tool_failed", failure_pb2.PROGRESS_UNKNOWN)


async def test_a_failure_that_a_change_reports_itself_is_a_failure(tmp_path: Path) -> None:
    def ring(count: int) -> dict[str, Any]:
        raise ToolError("tool_failed", Text("The bell is broken.", "Колокол сломан."))

    async with running_probe(tmp_path, adapt=with_tool("ring", function=ring)) as probe:
        driver, call = await approved_ring(probe)
        assert (await driver.execute(call)).outcome == tool_pb2.OUTCOME_FAILED


async def test_an_attempt_that_was_taken_over_records_no_failure(tmp_path: Path) -> None:
    inside, release = threading.Event(), threading.Event()

    def ring(count: int) -> dict[str, Any]:
        inside.set()
        release.wait(SECONDS)
        raise ToolError("tool_failed", Text("The bell is broken.", "Колокол сломан."))

    async with running_probe(tmp_path, adapt=with_tool("ring", function=ring)) as probe:
        driver, call = await approved_ring(probe)
        running = asyncio.create_task(driver.execute(call))
        assert await asyncio.to_thread(inside.wait, SECONDS)
        probe.sql("UPDATE executions SET owner = 'another process', attempt = 2")
        release.set()
        assert (await asyncio.wait_for(refusal(running), SECONDS)).reason == "ATTEMPT_RUNNING"
        assert probe.sql("SELECT state, attempt FROM executions") == [("claimed", 2)]


async def test_a_validator_without_findings_list_fails_at_once(tmp_path: Path) -> None:
    def check_note(note: dict[str, Any], beside: dict[str, Any] | None = None) -> Any:
        return None

    async with running_probe(tmp_path, adapt=with_tool("check_note", function=check_note)) as probe:
        driver = await probe.open()
        await driver.say("write memo at 1 then check")
        failure = (await driver.run()).fail.failure
        assert (failure.code, failure.source_code) == ("tool_failed", "result_unreadable")


async def test_a_callback_that_breaks_after_an_effect_does_not_say_that_nothing_happened(tmp_path: Path) -> None:
    def cites(_result: Any) -> Any:
        raise LookupError

    async with running_probe(tmp_path, adapt=with_tool("ring", cites=cites)) as probe:
        driver, call = await approved_ring(probe)
        outcome = await driver.execute(call)
        assert outcome.outcome == tool_pb2.OUTCOME_SUCCEEDED
        failure = (await driver.finish(outcome)).fail.failure
        assert (failure.code, failure.source_code) == ("plan_invalid", "domain_error")
        assert failure.progress == failure_pb2.PROGRESS_PARTIAL
        assert "nothing" not in failure.explanation


async def test_of_two_calls_that_can_be_mended_none_is_forgotten(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say("fetch -1 then fetch -2 then look Berlin")
    assert len(driver.last.call_tool.calls) == 3
    await driver.run()
    await driver.reply("1")
    await driver.run()
    assert driver.last.ask.prompt.question == "The number must not be negative. Which number?"
    await driver.reply("2")
    answer = (await driver.run()).complete.answer
    assert answer.text == "Number 1.\n\nNumber 2.\n\nBER is Berlin."
    assert not answer.partial


async def test_nothing_is_asked_for_a_request_that_fails_anyway(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say("fetch -1 then fail then look Berlin")
    failure = (await driver.run()).fail.failure
    assert (failure.source_code, failure.progress) == ("source_down", failure_pb2.PROGRESS_PARTIAL)


async def test_an_effect_is_recorded_although_no_thread_is_free_for_its_result(
    probe: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver, call = await approved_ring(probe)
    run, refused = ToolThreads.run, []

    async def short_of_threads(self: ToolThreads, function: Callable[[], Any]) -> Any:
        if probe.world.effects and len(refused) < 2:
            refused.append(True)
            raise NoThreadFree(256)
        return await run(self, function)

    monkeypatch.setattr(ToolThreads, "run", short_of_threads)
    assert (await driver.execute(call)).outcome == tool_pb2.OUTCOME_SUCCEEDED
    assert len(refused) == 2


async def test_a_session_is_explained_although_its_tool_is_gone(tmp_path: Path) -> None:
    async with running_probe(tmp_path) as before:
        driver = await before.open()
        await driver.say("look London")

    def without_look(domain: Domain) -> Domain:
        tools = tuple(tool for tool in domain.tools if tool.name != "look")
        return replace(domain, tools=tools, claims=tuple(c for c in domain.claims if c.tool != "look"))

    async with running_probe(tmp_path, adapt=without_look) as after:
        request = pb2.GetSessionRequest(domain_session_id=driver.session_id, caller=driver.principal())
        assert [task.tool for task in (await after.stub.GetSession(request)).session.plan.tasks] == ["look"]


@pytest.mark.parametrize("part", ["result", "artifact"])
async def test_a_result_beyond_the_limit_fails_with_the_limit_and_its_size(tmp_path: Path, part: str) -> None:
    big = {"title": "memo", "level": "x" * MOST_ARTIFACT_BYTES}

    def write_note(title: str, level: int | None = None) -> dict[str, Any]:
        return big if part == "result" else {"title": title, "level": level}

    def adapt(domain: Domain) -> Domain:
        makes = domain.tool("write_note").makes
        assert makes is not None
        return with_tool("write_note", function=write_note, makes=replace(makes, content=lambda _note: big))(domain)

    async with running_probe(tmp_path, adapt=adapt) as probe:
        driver = await probe.open()
        await driver.say("write memo at 1")
        failure = (await driver.run()).fail.failure
        assert (failure.code, failure.retryable) == ("tool_result_too_large", False)
        size = MOST_ARTIFACT_BYTES + len('{"level":"","title":"memo"}')
        assert failure.explanation == (
            f"Write note: the {part} has {size} bytes; at most {MOST_ARTIFACT_BYTES} bytes are kept."
        )
        assert failure.helpful_action
        assert probe.sql("SELECT count(*) FROM artifacts") == [(0,)]


async def test_an_asynchronous_tool_that_blocks_its_loop_holds_up_neither_the_service_nor_its_domain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool_loops, "STUCK_SECONDS", 0.05)
    begun, release = threading.Event(), threading.Event()

    async def fail() -> dict[str, Any]:
        begun.set()
        release.wait(SECONDS)
        return {}

    async def fetch(number: int) -> dict[str, Any]:
        return {"number": number}

    def adapt(domain: Domain) -> Domain:
        return with_tool("fail", function=fail)(with_tool("fetch", function=fetch)(domain))

    async with running_probe(tmp_path, adapt=adapt) as probe:
        blocking = await probe.open("conv_1")
        await blocking.say("fail")
        blocked = asyncio.create_task(blocking.execute(blocking.last.call_tool.calls[0]))
        assert await asyncio.to_thread(begun.wait, SECONDS)
        other = await probe.open("conv_2")
        await other.say("fetch 7")
        assert (await asyncio.wait_for(other.run(), SECONDS)).complete.answer.text == "Number 7."
        assert not blocked.done()
        release.set()
        assert (await blocked).outcome == tool_pb2.OUTCOME_SUCCEEDED


async def test_an_asynchronous_change_that_goes_on_after_its_time_is_not_settled_before_it_ends(tmp_path: Path) -> None:
    """settle_dead holds for what an event loop still runs, too."""
    begun, release = threading.Event(), threading.Event()

    async def toll(count: int) -> dict[str, Any]:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            release.wait(SECONDS)  # it does not let itself be canceled
        return {"rung": count}

    async with running_probe(tmp_path, adapt=with_tool("toll", function=toll)) as probe:
        driver = await probe.open()
        await driver.say("toll 1")
        await driver.resolve(approval_pb2.VERDICT_APPROVE)
        call = driver.last.call_tool.calls[0]
        assert (await driver.execute(call)).outcome == tool_pb2.OUTCOME_UNKNOWN
        assert begun.is_set()
        settle = pb2.SettleExecutionRequest(
            request_id="req_s",
            domain="probe",
            domain_session_id=driver.session_id,
            interaction_id=driver.interaction_id,
            tool_call_id=call.tool_call_id,
            history_id=driver.history_id,
            outcome=tool_pb2.OUTCOME_SUCCEEDED,
            settled_by="ann",
            locale="en",
        )
        assert (await refusal(probe.stub.SettleExecution(settle))).reason == "ATTEMPT_LIVE"
        release.set()

        async def settled() -> bool:
            try:
                await probe.stub.SettleExecution(settle)
            except grpc.aio.AioRpcError:
                return False
            return True

        await poll(settled, "the end of the function")

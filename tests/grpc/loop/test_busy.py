"""Inputs while the interaction is busy: joining, drain_first, stopping in flight (soundness.md 'Inputs', 'Action')."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import grpc

from handrail.adapter.v1 import domain_adapter_service_pb2 as adapter_pb
from handrail.common.v1 import decision_pb2, failure_pb2, tool_pb2
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from tests.fakes.adapter import Refusal, ask, call, complete, end_with, reply, request_approval
from tests.grpc.loop.driver import LoopDriver, check_runs, last, names, running_loop
from tests.grpc.loop.errors import refused


def tool_then_ask(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
    match request.observation.WhichOneof("kind"):
        case "tool_finished":
            return ask()
        case "user_message" if not request.observation.user_message.begins_interaction:
            return complete(f"went on with {request.observation.user_message.text}")
        case _:
            return call(f"call_{request.interaction_id}")


def tool_then_complete(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
    if request.observation.WhichOneof("kind") == "tool_finished":
        return complete("done")
    if request.observation.user_message.text == "start":
        return call(f"call_{request.interaction_id}")
    return complete(f"answer to {request.observation.user_message.text}")


async def test_a_queued_message_is_announced_once(tmp_path: Path) -> None:
    async with running_loop(tmp_path, tool_then_complete) as driver:
        gate = driver.adapter.hold("tool")
        conversation_id = await driver.create()
        sent = [asyncio.ensure_future(driver.send(conversation_id, "start"))]
        await driver.adapter.until_arrived("tool")
        for count, text in enumerate(("one", "two", "three"), start=1):
            sent.append(asyncio.ensure_future(driver.send(conversation_id, text)))
            await driver.until(partial(_has, driver, conversation_id, "message_accepted", count))
        gate.set()
        await asyncio.gather(*sent)
        assert names(await driver.events(conversation_id)).count("message_accepted") == 3


async def test_a_stop_command_while_busy_is_announced_to_watchers(tmp_path: Path) -> None:
    async with running_loop(tmp_path, tool_then_ask) as driver:
        gate = driver.adapter.hold("tool")
        conversation_id = await driver.create()
        first = asyncio.ensure_future(driver.send(conversation_id, "start"))
        await driver.adapter.until_arrived("tool")
        stopping = asyncio.ensure_future(driver.send(conversation_id, "cancel"))
        await driver.until(lambda: _has(driver, conversation_id, "message_accepted"))
        gate.set()
        assert names(await first)[-1] == "canceled"
        assert names(await stopping)[-1] == "canceled"
        listed = await driver.stub.ListMessages(pb.ListMessagesRequest(conversation_id=conversation_id))
        (stop,) = [m.message_id for m in listed.messages if m.text == "cancel"]
        assert last(await driver.events(conversation_id), "message_accepted").message_id == stop


async def test_unclear_input_brings_the_held_back_question(tmp_path: Path) -> None:
    def script(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        match request.observation.WhichOneof("kind"):
            case "tool_finished":
                return ask("Which place?")
            case "user_message" if not request.observation.user_message.begins_interaction:
                return reply(decision_pb2.REPLY_VERDICT_UNCLEAR)
            case _:
                return call(f"call_{request.interaction_id}")

    async with running_loop(tmp_path, script) as driver:
        gate = driver.adapter.hold("tool")
        conversation_id = await driver.create()
        first = asyncio.ensure_future(driver.send(conversation_id, "start"))
        await driver.adapter.until_arrived("tool")
        second = asyncio.ensure_future(driver.send(conversation_id, "hm"))
        await driver.until(lambda: _has(driver, conversation_id, "message_accepted"))
        gate.set()
        assert last(await first, "clarification_required").prompt.question == "Which place?"
        await second


async def test_cancel_of_an_ended_interaction_names_its_state(tmp_path: Path) -> None:
    async with running_loop(tmp_path, lambda request: complete()) as driver:
        conversation_id = await driver.create()
        events = await driver.send(conversation_id, "x")
        request = pb.CancelInteractionRequest(request_id="c", interaction_id=events[0].interaction_id)
        refusal = await refused(driver.stub.CancelInteraction(request), "FAILED_PRECONDITION")
        assert refusal.metadata["state"] == "completed"
        unknown = pb.CancelInteractionRequest(request_id="d", interaction_id="int_none")
        await refused(driver.stub.CancelInteraction(unknown), "NOT_FOUND")


async def test_unknown_outcome_fails_the_run_and_says_so(tmp_path: Path) -> None:
    def script(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        return call("call_1", effect=tool_pb2.EFFECT_EXTERNAL)

    async with running_loop(tmp_path, script, end_with(tool_pb2.OUTCOME_UNKNOWN)) as driver:
        conversation_id = await driver.create()
        events = await driver.send(conversation_id, "x", metadata=(("accept-language", "ru"),))
        failure = last(events, "failed").failure
        assert failure.code == "tool_outcome_unknown"
        assert failure.progress == failure_pb2.PROGRESS_UNKNOWN
        assert "Неизвестно" in failure.explanation
        check_runs(await driver.events(conversation_id))


async def test_tool_action_limit_names_the_limit_and_the_steps(tmp_path: Path) -> None:
    def script(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        return call(f"call_{request.decision_number}")

    async with running_loop(tmp_path, script, tool_actions=3) as driver:
        conversation_id = await driver.create()
        failure = last(await driver.send(conversation_id, "x"), "failed").failure
        assert failure.code == "tool_action_limit_reached"
        assert "3" in failure.explanation
        assert failure.progress == failure_pb2.PROGRESS_PARTIAL
        assert [s.tool_call_id for s in failure.confirmed_steps] == ["call_1", "call_2", "call_3"]
        assert len(driver.adapter.cancel_requests) == 1


async def test_an_approval_is_requested_only_while_its_call_can_still_be_made(tmp_path: Path) -> None:
    def script(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        return call("draft") if request.decision_number == 1 else request_approval()

    async with running_loop(tmp_path, script, tool_actions=1) as driver:
        conversation_id = await driver.create()
        events = await driver.send(conversation_id, "x")
        assert last(events, "failed").failure.code == "tool_action_limit_reached"
        assert "approval_required" not in names(events)
        check_runs(await driver.events(conversation_id))


async def test_a_domain_that_its_adapter_lacks_is_no_divergence(tmp_path: Path) -> None:
    async with running_loop(tmp_path, lambda request: complete()) as driver:
        driver.adapter.refuse("OpenSession", Refusal(grpc.StatusCode.NOT_FOUND, "DOMAIN_NOT_FOUND"))
        failure = last(await driver.send(await driver.create(), "x"), "failed").failure
        assert (failure.code, failure.source_code) == ("domain_not_served", "DOMAIN_NOT_FOUND")
        assert not failure.retryable


async def test_reads_run_side_by_side_and_are_one_observation(tmp_path: Path) -> None:
    def script(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        if request.observation.WhichOneof("kind") == "tool_finished":
            return complete(",".join(c.tool_call_id for c in request.observation.tool_finished.calls))
        return call("a", "b", "c")

    async with running_loop(tmp_path, script) as driver:
        gate = driver.adapter.hold("tool")
        conversation_id = await driver.create()
        running = asyncio.ensure_future(driver.send(conversation_id, "x"))
        await driver.until(lambda: _dispatched(driver, 3))
        gate.set()
        events = await running
        assert last(events, "completed").answer.text == "a,b,c"
        assert names(events).count("tool_finished") == 3
        assert len(driver.adapter.decide_requests) == 2


async def _has(driver: LoopDriver, conversation_id: str, name: str, count: int = 1) -> bool:
    return names(await driver.events(conversation_id)).count(name) >= count


async def _asked_to_cancel(driver: LoopDriver) -> bool:
    return bool(driver.adapter.cancel_requests)


async def _dispatched(driver: LoopDriver, count: int) -> bool:
    return len(driver.adapter.ledger) >= count

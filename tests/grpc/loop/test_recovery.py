"""Crashes and an Adapter that is away: everything needed to go on is in the database (B2, B3; soundness.md)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import grpc
import pytest

from handrail.adapter.v1 import domain_adapter_service_pb2 as adapter_pb
from handrail.common.v1 import approval_pb2, decision_pb2, failure_pb2, tool_pb2
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from tests.fakes.adapter import Refusal, ask, call, complete, request_approval
from tests.grpc.loop.driver import LoopDriver, check_runs, collect, last, names, running_loop


def one_tool(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
    if request.observation.WhichOneof("kind") == "tool_finished":
        return complete("Done.")
    return call(f"call_{request.interaction_id}", effect=tool_pb2.EFFECT_EXTERNAL)


async def finish(driver: LoopDriver, conversation_id: str) -> list[str]:
    """Wait until the conversation's newest run ended; returns the names of all events."""

    async def ended() -> list[str]:
        stored = await driver.events(conversation_id)
        check_runs(stored)
        found = names(stored)
        return found if found[-1] in ("completed", "failed", "canceled") else []

    found: list[str] = await driver.until(ended)
    return found


async def test_a_dispatched_call_is_sent_again_with_the_next_dispatch_number(tmp_path: Path) -> None:
    async with running_loop(tmp_path, one_tool) as driver:
        gate = driver.adapter.hold("tool")
        conversation_id = await driver.create()
        sending = driver.open_send(conversation_id, "go")
        await driver.adapter.until_arrived("tool")
        await driver.restart()

        async def sent_twice() -> bool:
            return len(driver.adapter.execute_requests) >= 2

        await driver.until(sent_twice)
        gate.set()
        found = await finish(driver, conversation_id)
        assert found.count("tool_started") == found.count("tool_finished") == 1
        assert [r.dispatch_number for r in driver.adapter.execute_requests] == [1, 2]
        assert driver.adapter.executions == 1
        sending.cancel()


async def test_a_waiting_approval_survives_a_restart_and_is_replayed_after_it(tmp_path: Path) -> None:
    def script(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        if request.observation.WhichOneof("kind") == "approval_resolved":
            return complete("Approved.")
        return request_approval()

    async with running_loop(tmp_path, script) as driver:
        conversation_id = await driver.create()
        approval = last(await driver.send(conversation_id, "file"), "approval_required")
        await driver.restart()
        done = await driver.resolve(approval, approval_pb2.VERDICT_APPROVE)
        await driver.restart()
        again = await driver.resolve(approval, approval_pb2.VERDICT_APPROVE)
        assert [e.SerializeToString() for e in again] == [e.SerializeToString() for e in done]
        assert done[0].run_started.resumed_run_id


async def test_adapter_away_for_a_moment_the_run_goes_on(tmp_path: Path) -> None:
    async with running_loop(tmp_path, one_tool) as driver:
        away = [Refusal(grpc.StatusCode.UNAVAILABLE)] * 2
        for method in ("OpenSession", "Decide", "ExecuteTool"):
            driver.adapter.refuse(method, *away)
        conversation_id = await driver.create()
        events = await driver.send(conversation_id, "go")
        assert names(events)[-1] == "completed"
        # Each sending of the call had a number of its own, committed before it.
        assert [r.dispatch_number for r in driver.adapter.execute_requests] == [1, 2, 3]


async def test_adapter_process_away_and_back(tmp_path: Path) -> None:
    async with running_loop(tmp_path, lambda request: complete()) as driver:
        conversation_id = await driver.create()
        await driver.send(conversation_id, "first")
        await driver.adapter.stop()
        sending = asyncio.ensure_future(driver.send(conversation_id, "second"))

        async def accepted() -> bool:
            return names(await driver.events(conversation_id)).count("run_started") == 2

        await driver.until(accepted)
        await driver.adapter.start()
        assert names(await sending)[-1] == "completed"


async def test_adapter_away_for_good_fails_with_the_message_kept(tmp_path: Path) -> None:
    async with running_loop(tmp_path, one_tool, active_time_seconds=0.5) as driver:
        await driver.adapter.stop()
        conversation_id = await driver.create()
        events = await driver.send(conversation_id, "keep me")
        failure = last(events, "failed").failure
        assert failure.code == "adapter_unavailable"
        assert failure.stage == failure_pb2.STAGE_ADAPTER
        assert failure.retryable
        assert failure.progress == failure_pb2.PROGRESS_NOT_EXECUTED
        assert failure.request_id
        listed = await driver.stub.ListMessages(pb.ListMessagesRequest(conversation_id=conversation_id))
        assert [m.text for m in listed.messages] == ["keep me"]
        await driver.adapter.start()

        async def reachable() -> bool:
            return bool((await driver.stub.ListDomains(pb.ListDomainsRequest())).domains[0].available)

        await driver.until(reachable)
        failed = events[0].interaction_id
        again = await driver.send(conversation_id, "again")
        assert again[-1].interaction_id != failed
        # The Adapter was never told of the ending: the next first decision closes what failed.
        assert driver.adapter.decide_requests[0].supersedes_interaction_id == failed


async def test_a_slow_decision_ends_at_the_deadline(tmp_path: Path) -> None:
    async with running_loop(tmp_path, one_tool, active_time_seconds=0.4) as driver:
        driver.adapter.hold("Decide")
        conversation_id = await driver.create()
        failure = last(await driver.send(conversation_id, "go"), "failed").failure
        assert failure.code == "deadline_exceeded"
        assert "0.4" in failure.explanation
        assert len(driver.adapter.cancel_requests) == 1


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (grpc.StatusCode.FAILED_PRECONDITION, "HISTORY_DIVERGED", "session_diverged"),
        (grpc.StatusCode.ABORTED, "DECISION_GAP", "session_diverged"),
        (grpc.StatusCode.NOT_FOUND, "SESSION_NOT_FOUND", "session_diverged"),
        (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", "adapter_failed"),
    ],
)
async def test_diverged_ends_a_refusal_is_never_guessed_about(
    tmp_path: Path, code: grpc.StatusCode, reason: str, expected: str
) -> None:
    async with running_loop(tmp_path, one_tool) as driver:
        driver.adapter.refuse("Decide", Refusal(code, reason))
        conversation_id = await driver.create()
        failure = last(await driver.send(conversation_id, "go"), "failed").failure
        assert failure.code == expected
        assert failure.source_code == reason
        assert driver.adapter.executions == 0


async def test_an_internal_error_of_the_adapter_is_tried_again_then_told(tmp_path: Path) -> None:
    async with running_loop(tmp_path, lambda request: complete()) as driver:
        driver.adapter.refuse("Decide", Refusal(grpc.StatusCode.INTERNAL))
        conversation_id = await driver.create()
        assert names(await driver.send(conversation_id, "go"))[-1] == "completed"
        driver.adapter.refuse("Decide", *[Refusal(grpc.StatusCode.INTERNAL)] * 3)
        failure = last(await driver.send(conversation_id, "go"), "failed").failure
        assert failure.code == "adapter_failed"


async def test_a_question_open_across_a_restart_is_watched_and_answered(tmp_path: Path) -> None:
    def script(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        if request.observation.WhichOneof("kind") == "clarification_reply":
            return complete(request.observation.clarification_reply.text)
        return ask()

    async with running_loop(tmp_path, script) as driver:
        conversation_id = await driver.create()
        await driver.send(conversation_id, "go")
        await driver.restart()
        assert names(await driver.events(conversation_id))[-1] == "clarification_required"
        request = pb.WatchConversationRequest(conversation_id=conversation_id, after_sequence=4, follow=True)
        watching = driver.stub.WatchConversation(request)
        await driver.send(conversation_id, "Zürich")
        seen = []
        async with asyncio.timeout(10):
            async for response in watching:
                seen.append(response.event)
                if response.event.WhichOneof("payload") == "completed":
                    break
        watching.cancel()
        numbers = [e.sequence for e in seen if e.WhichOneof("payload") != "live"]
        assert numbers == list(range(5, 5 + len(numbers)))
        assert await collect(driver.open_send(conversation_id, "more"))

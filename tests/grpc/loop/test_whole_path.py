"""The Loop from a message to an answer, a question and an approved action, over real sockets and a real file."""

from __future__ import annotations

from pathlib import Path

from handrail.adapter.v1 import domain_adapter_service_pb2 as adapter_pb
from handrail.common.v1 import approval_pb2, decision_pb2, tool_pb2
from tests.fakes.adapter import ask, call, complete, request_approval
from tests.grpc.loop.driver import check_runs, last, names, running_loop


def one_tool(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
    if request.observation.WhichOneof("kind") == "tool_finished":
        return complete("It is there.")
    return call(f"call_{request.interaction_id}")


async def test_message_tool_answer(tmp_path: Path) -> None:
    async with running_loop(tmp_path, one_tool) as driver:
        conversation_id = await driver.create()
        events = await driver.send(conversation_id, "look")
        assert names(events) == [
            "run_started",
            "status_changed",
            "decision_made",
            "status_changed",
            "tool_started",
            "tool_finished",
            "artifact_published",
            "status_changed",
            "decision_made",
            "status_changed",
            "content_delta",
            "status_changed",
            "completed",
        ]
        assert last(events, "completed").answer.text == "It is there."
        check_runs(await driver.events(conversation_id))


async def test_question_choice_by_ordinal(tmp_path: Path) -> None:
    def script(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        kind = request.observation.WhichOneof("kind")
        if kind == "clarification_reply":
            return complete(request.observation.clarification_reply.selected_candidate_id)
        return ask(options=[("c1", "Springfield MO"), ("c2", "Springfield IL")])

    async with running_loop(tmp_path, script) as driver:
        conversation_id = await driver.create()
        events = await driver.send(conversation_id, "Springfield")
        assert names(events)[-1] == "clarification_required"
        answered = await driver.send(conversation_id, "the second")
        assert last(answered, "completed").answer.text == "c2"
        check_runs(await driver.events(conversation_id))


async def test_approved_action(tmp_path: Path) -> None:
    def script(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        match request.observation.WhichOneof("kind"):
            case "approval_resolved":
                approval_id = request.observation.approval_resolved.approval_id
                return call("call_1", effect=tool_pb2.EFFECT_EXTERNAL, approval_id=approval_id)
            case "tool_finished":
                return complete("Filed.")
            case _:
                return request_approval()

    async with running_loop(tmp_path, script) as driver:
        conversation_id = await driver.create()
        events = await driver.send(conversation_id, "file")
        approval = last(events, "approval_required")
        done = await driver.resolve(approval, approval_pb2.VERDICT_APPROVE)
        assert last(done, "completed").answer.text == "Filed."
        assert driver.adapter.executions == 1
        check_runs(await driver.events(conversation_id))

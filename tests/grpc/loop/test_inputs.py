"""What may be sent: request ids, limits, replies to questions; each refusal names its field and stores nothing."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp

from handrail.adapter.v1 import domain_adapter_service_pb2 as adapter_pb
from handrail.common.v1 import decision_pb2, fact_pb2
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail_rpc.errors import InvalidArgument
from tests.fakes.adapter import ask, complete, reply
from tests.grpc.loop.driver import LoopDriver, check_runs, collect, last, names, running_loop
from tests.grpc.loop.errors import refused

OPTIONS = [("c1", "Springfield MO"), ("c2", "Springfield IL")]


def asking(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
    """Asks once; the answer tells what came back."""
    if request.observation.WhichOneof("kind") != "clarification_reply":
        return ask(options=OPTIONS)
    answer = request.observation.clarification_reply
    return complete(f"{answer.WhichOneof('response')}:{answer.selected_candidate_id}:{answer.text}")


def answering(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
    return complete(f"You said {request.observation.user_message.text}")


def fact(name: str = "position", source: int = fact_pb2.SOURCE_DEVICE, **value: Any) -> fact_pb2.Fact:
    struct = Struct()
    struct.update(value)
    return fact_pb2.Fact(name=name, value=struct, source=source, scope="session")  # type: ignore[arg-type]


_FAR_FUTURE = fact_pb2.Fact(name="x", source=fact_pb2.SOURCE_USER, observed_time=Timestamp(seconds=400_000_000_000))


async def test_same_request_id_of_another_principal_is_another_request(tmp_path: Path) -> None:
    async with running_loop(tmp_path, answering) as driver:
        mine = await driver.create(request_id="one")
        assert await driver.create(request_id="one") == mine
        other = await driver.create(request_id="one", metadata=(("x-handrail-principal", "ann"),))
        assert other != mine


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"text": ""}, "text"),
        ({"text": "   "}, "text"),
        ({"text": "x" * 8001}, "text"),
        ({"text": "a\0b"}, "text"),
        ({"request_id": ""}, "request_id"),
        ({"conversation_id": ""}, "conversation_id"),
        ({"facts": [fact(lat=1.0, lon=2.0)] * 33}, "facts"),
        ({"facts": [fact(lat=91.0, lon=2.0)]}, "facts[0].value.lat"),
        ({"facts": [fact(lat=9.0, lon=-180.5)]}, "facts[0].value.lon"),
        ({"facts": [fact(lat="north", lon=1.0)]}, "facts[0].value.lat"),
        ({"facts": [fact(source=fact_pb2.SOURCE_UNSPECIFIED, lat=1.0, lon=1.0)]}, "facts[0].source"),
        ({"facts": [fact(name="cost", amount=math.nan)]}, "facts[0].value"),
        ({"facts": [fact(name="cost", amount=2.0**60)]}, "facts[0].value"),
        (
            {"facts": [_FAR_FUTURE]},
            "facts[0].observed_time",
        ),
        ({"text": "", "reply": pb.Reply(selected_candidate_id="c1")}, "reply.clarification_id"),
    ],
)
async def test_wrong_shape_names_the_field(tmp_path: Path, fields: dict[str, Any], field: str) -> None:
    async with running_loop(tmp_path, answering) as driver:
        conversation_id = await driver.create()
        sent = {"conversation_id": conversation_id, "text": "hello", "request_id": "r", **fields}
        call = driver.stub.SendMessage(pb.SendMessageRequest(**sent))
        refusal = await refused(collect(call), "INVALID_ARGUMENT")
        assert isinstance(refusal, InvalidArgument)
        assert field in [v.field for v in refusal.field_violations]
        assert await driver.events(conversation_id) == []


async def test_limits_are_named(tmp_path: Path) -> None:
    async with running_loop(tmp_path, answering) as driver:
        too_long = await refused(driver.create(title="t" * 201), "INVALID_ARGUMENT")
        assert "200" in too_long.message
        same = {"\u00e9": "1", "e\u0301": "2"}
        assert "normalisation" in (await refused(driver.create(labels=same), "INVALID_ARGUMENT")).message
        labels = {f"k{i}": "v" for i in range(17)}
        assert "16" in (await refused(driver.create(labels=labels), "INVALID_ARGUMENT")).message
        assert "test" in (await refused(driver.create(domain="nowhere"), "INVALID_ARGUMENT")).message
        conversation_id = await driver.create()
        text = await refused(driver.send(conversation_id, "x" * 8001), "INVALID_ARGUMENT")
        assert "8000" in text.message


async def test_text_is_normalised_on_entry(tmp_path: Path) -> None:
    async with running_loop(tmp_path, answering) as driver:
        conversation_id = await driver.create()
        events = await driver.send(conversation_id, "Zu\u0308rich")
        assert last(events, "completed").answer.text == "You said Z\u00fcrich"


async def test_click_stores_the_display_name(tmp_path: Path) -> None:
    async with running_loop(tmp_path, asking) as driver:
        conversation_id, question = await _ask(driver)
        events = await driver.send(
            conversation_id,
            reply=pb.Reply(clarification_id=question.clarification_id, selected_candidate_id="c2"),
        )
        assert last(events, "completed").answer.text == "selected_candidate_id:c2:Springfield IL"


async def test_candidate_outside_the_stored_list_is_refused(tmp_path: Path) -> None:
    async with running_loop(tmp_path, asking) as driver:
        conversation_id, question = await _ask(driver)
        head = len(await driver.events(conversation_id))
        call = driver.send(
            conversation_id,
            reply=pb.Reply(clarification_id=question.clarification_id, selected_candidate_id="c9"),
        )
        refusal = await refused(call, "INVALID_ARGUMENT")
        assert isinstance(refusal, InvalidArgument)
        assert refusal.field_violations[0].field == "reply.selected_candidate_id"
        assert len(await driver.events(conversation_id)) == head
        answered = await driver.send(conversation_id, "last")
        assert last(answered, "completed").answer.text.startswith("selected_candidate_id:c2")


async def test_skip_only_where_the_question_is_not_required(tmp_path: Path) -> None:
    async with running_loop(tmp_path, asking) as driver:
        conversation_id, question = await _ask(driver)
        skip = pb.Reply(clarification_id=question.clarification_id, skip=True)
        refusal = await refused(driver.send(conversation_id, reply=skip), "INVALID_ARGUMENT")
        assert isinstance(refusal, InvalidArgument)
        assert refusal.field_violations[0].field == "reply.skip"

    def optional(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        if request.observation.WhichOneof("kind") == "clarification_reply":
            return complete(str(request.observation.clarification_reply.skip))
        return ask(required=False)

    async with running_loop(tmp_path / "optional", optional) as driver:
        conversation_id, question = await _ask(driver)
        skip = pb.Reply(clarification_id=question.clarification_id, skip=True)
        events = await driver.send(conversation_id, reply=skip, metadata=(("accept-language", "ru"),))
        assert last(events, "completed").answer.text == "True"
        listed = await driver.stub.ListMessages(pb.ListMessagesRequest(conversation_id=conversation_id))
        assert "Пропустить" in [m.text for m in listed.messages]


async def test_close_question_a_closed_one_takes_no_answer(tmp_path: Path) -> None:
    async with running_loop(tmp_path, asking) as driver:
        conversation_id, question = await _ask(driver)
        click = pb.Reply(clarification_id=question.clarification_id, selected_candidate_id="c1")
        await driver.send(conversation_id, reply=click)
        refusal = await refused(driver.send(conversation_id, reply=click), "FAILED_PRECONDITION")
        assert refusal.metadata["state"] == "answered"
        unknown = pb.Reply(clarification_id="clr_none", selected_candidate_id="c1")
        await refused(driver.send(conversation_id, reply=unknown), "NOT_FOUND")


async def test_new_request_supersedes_and_the_run_moves_on(tmp_path: Path) -> None:
    def script(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        if request.observation.WhichOneof("kind") == "clarification_reply":
            return reply(decision_pb2.REPLY_VERDICT_NEW_REQUEST)
        if request.observation.user_message.text == "weather instead":
            return complete(f"closed {request.supersedes_interaction_id}")
        return ask()

    async with running_loop(tmp_path, script) as driver:
        conversation_id, _ = await _ask(driver)
        events = await driver.send(conversation_id, "weather instead")
        assert names(events)[-1] == "completed"
        stored = await driver.events(conversation_id)
        check_runs(stored)
        superseded = next(e for e in stored if e.WhichOneof("payload") == "superseded")
        assert superseded.run_id == ""
        assert last(events, "completed").answer.text == f"closed {superseded.interaction_id}"
        assert superseded.superseded.by_interaction_id == events[-1].interaction_id


async def test_cancel_word_ends_a_waiting_interaction(tmp_path: Path) -> None:
    async with running_loop(tmp_path, asking) as driver:
        conversation_id, _ = await _ask(driver)
        events = await driver.send(conversation_id, "Отмена.")
        assert names(events) == ["run_started", "status_changed", "canceled"]
        assert len(driver.adapter.cancel_requests) == 1
        check_runs(await driver.events(conversation_id))


async def test_clarification_rounds_are_bounded(tmp_path: Path) -> None:
    def script(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        return ask()

    async with running_loop(tmp_path, script, clarification_rounds=2) as driver:
        conversation_id, _ = await _ask(driver)
        await driver.send(conversation_id, "one")
        failure = last(await driver.send(conversation_id, "two"), "failed").failure
        assert failure.code == "clarification_limit_reached"
        assert "2" in failure.explanation


async def _ask(driver: LoopDriver) -> tuple[str, Any]:
    conversation_id = await driver.create()
    events = await driver.send(conversation_id, "Springfield")
    return conversation_id, last(events, "clarification_required")

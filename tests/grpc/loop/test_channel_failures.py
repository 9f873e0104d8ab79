"""ReportChannelFailure: a client's own fault is an event of its own, and never the cause of another (G2)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from handrail.adapter.v1 import domain_adapter_service_pb2 as adapter_pb
from handrail.common.v1 import decision_pb2, failure_pb2
from handrail.loop.v1 import event_pb2
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from tests.fakes.adapter import ask, call, complete
from tests.grpc.loop.driver import LoopDriver, check_runs, collect, last, names, running_loop
from tests.grpc.loop.errors import refused

RUSSIAN = (("accept-language", "ru"),)


async def report(driver: LoopDriver, conversation_id: str, metadata: Any = None, **fields: str) -> event_pb2.Event:
    values = {
        "request_id": "report-1",
        "conversation_id": conversation_id,
        "channel": "microphone",
        "code": "audio_input_failed",
        "source_code": "NotAllowedError",
        **fields,
    }
    event: event_pb2.Event = (
        await driver.stub.ReportChannelFailure(pb.ReportChannelFailureRequest(**values), metadata=metadata)
    ).event
    return event


@pytest.mark.parametrize("code", ["audio_input_failed", "audio_output_failed", "socket_closed", "channel_failed"])
async def test_each_code_of_a_channel_is_stored_with_its_texts(tmp_path: Path, code: str) -> None:
    async with running_loop(tmp_path, lambda request: complete()) as driver:
        conversation_id = await driver.create()
        english = await report(driver, conversation_id, code=code)
        failure = english.channel_failed.failure
        assert (failure.code, failure.stage) == (code, failure_pb2.STAGE_CHANNEL)
        assert (failure.source_code, failure.request_id) == ("NotAllowedError", "report-1")
        assert failure.progress == failure_pb2.PROGRESS_UNSPECIFIED
        assert failure.explanation
        assert failure.helpful_action
        russian = await report(driver, conversation_id, RUSSIAN, code=code, request_id="report-2")
        assert set("абвгдежз") & set(russian.channel_failed.failure.explanation.lower())
        assert [event.SerializeToString() for event in await driver.events(conversation_id)] == [
            english.SerializeToString(),
            russian.SerializeToString(),
        ]


async def test_it_belongs_to_no_run_and_changes_none(tmp_path: Path) -> None:
    def script(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        return call("call_1") if request.decision_number == 1 else complete()

    async with running_loop(tmp_path, script) as driver:
        conversation_id = await driver.create()
        gate = driver.adapter.hold("tool")
        watch = pb.WatchConversationRequest(conversation_id=conversation_id, follow=True)
        watching = driver.stub.WatchConversation(watch)
        sending = asyncio.ensure_future(driver.send(conversation_id, "go"))
        await driver.adapter.until_arrived("tool")
        event = await report(driver, conversation_id, channel="socket", code="socket_closed")
        assert (event.run_id, event.interaction_id, event.request_id) == ("", "", "report-1")
        assert event.channel_failed.channel == "socket"
        gate.set()
        events = await sending
        # The run goes on to its own end, and its stream shows nothing of the fault.
        assert names(events)[-1] == "completed"
        assert "channel_failed" not in names(events)
        everything = await driver.events(conversation_id)
        assert names(everything).count("channel_failed") == 1
        check_runs(everything)
        async with asyncio.timeout(10):
            async for response in watching:
                if response.event.HasField("channel_failed"):
                    assert response.event == event
                    break
        run = (await driver.stub.GetRun(pb.GetRunRequest(run_id=events[0].run_id))).run
        assert list(run.codes) == []


async def test_it_is_audited_and_a_waiting_question_stays_open(tmp_path: Path) -> None:
    async with running_loop(tmp_path, lambda request: ask()) as driver:
        conversation_id = await driver.create()
        asked = last(await driver.send(conversation_id, "go"), "clarification_required")
        await report(driver, conversation_id)
        pending = (await driver.stub.ListPending(pb.ListPendingRequest())).items
        assert [item.clarification.clarification_id for item in pending] == [asked.clarification_id]
        rows = (
            await driver.stub.ListAuditEvents(pb.ListAuditEventsRequest(conversation_id=conversation_id))
        ).audit_events
        newest = rows[-1]
        assert (newest.kind, newest.actor, newest.code) == (pb.AUDIT_KIND_CHANNEL_FAILED, "local", "audio_input_failed")
        assert (newest.interaction_id, newest.run_id) == ("", "")
        verified = await driver.stub.VerifyAudit(pb.VerifyAuditRequest(conversation_id=conversation_id))
        assert verified.valid


async def test_the_same_report_is_one_event_and_another_body_is_refused(tmp_path: Path) -> None:
    async with running_loop(tmp_path, lambda request: complete()) as driver:
        conversation_id = await driver.create()
        first = await report(driver, conversation_id)
        await report(driver, conversation_id, request_id="report-2")
        await driver.restart()
        again = await report(driver, conversation_id, RUSSIAN)
        assert again.SerializeToString() == first.SerializeToString()
        assert len(await driver.events(conversation_id)) == 2
        await refused(report(driver, conversation_id, source_code="other"), "ALREADY_EXISTS")
        other = await driver.create()
        await refused(report(driver, other), "ALREADY_EXISTS")


@pytest.mark.parametrize(
    ("fields", "field", "named"),
    [
        ({"code": "tool_failed"}, "code", "audio_input_failed, audio_output_failed, channel_failed, socket_closed"),
        ({"code": ""}, "code", "audio_input_failed"),
        ({"channel": " "}, "channel", "1 to 64"),
        ({"channel": "c" * 65}, "channel", "at most 64"),
        ({"source_code": "c" * 129}, "source_code", "at most 128"),
        ({"request_id": ""}, "request_id", "must not be empty"),
    ],
)
async def test_what_is_accepted_is_named(tmp_path: Path, fields: dict[str, str], field: str, named: str) -> None:
    async with running_loop(tmp_path, lambda request: complete()) as driver:
        conversation_id = await driver.create()
        error: Any = await refused(report(driver, conversation_id, **fields), "INVALID_ARGUMENT")
        assert [each.field for each in error.field_violations] == [field]
        assert named in error.message
        assert await driver.events(conversation_id) == []


async def test_anothers_conversation_is_not_found(tmp_path: Path) -> None:
    async with running_loop(tmp_path, lambda request: complete()) as driver:
        conversation_id = await driver.create()
        await refused(report(driver, conversation_id, (("x-handrail-principal", "eve"),)), "NOT_FOUND")
        await refused(report(driver, "conv_none"), "NOT_FOUND")
        request = pb.WatchConversationRequest(conversation_id=conversation_id)
        assert names(await collect(driver.stub.WatchConversation(request))) == ["live"]

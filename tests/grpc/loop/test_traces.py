"""One trace a run, and a resumed run linked to the one that waited, against a real OTLP receiver."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from handrail.adapter.v1 import domain_adapter_service_pb2 as adapter_pb
from handrail.common.v1 import decision_pb2
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail_rpc import telemetry
from tests.fakes.adapter import ask, complete
from tests.fakes.otlp_receiver import OtlpReceiver
from tests.grpc.loop.driver import names, running_loop


@pytest.fixture
def receiver() -> Iterator[OtlpReceiver]:
    with OtlpReceiver() as running:
        assert telemetry.configure("handrail-loop", running.endpoint)
        try:
            yield running
        finally:
            telemetry.shutdown()


async def test_a_resumed_run_is_linked_to_the_run_that_waited(receiver: OtlpReceiver, tmp_path: Path) -> None:
    def script(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        if request.observation.WhichOneof("kind") == "clarification_reply":
            return complete()
        return ask()

    async with running_loop(tmp_path, script) as driver:
        conversation_id = await driver.create()
        asked = await driver.send(conversation_id, "go")
        answered = await driver.send(conversation_id, "there")
        assert names(answered)[-1] == "completed"
        shown = [
            (await driver.stub.GetRun(pb.GetRunRequest(run_id=events[0].run_id))).run for events in (asked, answered)
        ]
    # Stopping the Loop flushed what it had to send.
    runs = {span.attributes["handrail.run_id"]: span for span in receiver.spans("loop.run")}
    waited, resumed = runs[asked[0].run_id], runs[answered[0].run_id]
    assert waited.trace_id != resumed.trace_id
    assert resumed.links == ((waited.trace_id, waited.span_id),)
    assert [run.trace_id for run in shown] == [waited.trace_id, resumed.trace_id]
    served = [s for s in receiver.spans("handrail.loop.v1.WorkflowLoopService/SendMessage") if s.kind == "server"]
    assert {s.trace_id for s in served} == {waited.trace_id, resumed.trace_id}
    decides = [s for s in receiver.spans("handrail.adapter.v1.DomainAdapterService/Decide") if s.kind == "client"]
    assert {(s.trace_id, s.parent_span_id) for s in decides} == {
        (waited.trace_id, waited.span_id),
        (resumed.trace_id, resumed.span_id),
    }

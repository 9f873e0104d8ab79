"""Traces and metrics against a real OTLP receiver; nothing at all without an endpoint; bounded with a dead one."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from typing import Any

import grpc.aio
import pytest

from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail_rpc import telemetry
from handrail_rpc.errors import NotFound, StartRefused
from tests.fakes.otlp_receiver import OtlpReceiver
from tests.unit.rpc.serving import LOOP, calling, serving


@pytest.fixture
def receiver() -> Iterator[OtlpReceiver]:
    """A receiver that this process exports to until the test ends."""
    with OtlpReceiver() as running:
        assert telemetry.configure("handrail-test", running.endpoint)
        try:
            yield running
        finally:
            telemetry.shutdown()


async def test_one_trace_runs_through_client_server_and_inner_spans(receiver: OtlpReceiver) -> None:
    async def handler(request: object, context: object) -> pb.ListDomainsResponse:
        with telemetry.span("inner", {"handrail.run_id": "run_1"}) as span:
            span.event("step", {"n": 1})
            return pb.ListDomainsResponse(next_page_token=telemetry.current_traceparent())

    async with serving(handler) as server, calling(server.target) as stub:
        with telemetry.root_span("outer"):
            answer = await stub.ListDomains(pb.ListDomainsRequest())
        telemetry.shutdown()

    method = f"{LOOP}/ListDomains"
    outer, inner = receiver.spans("outer")[0], receiver.spans("inner")[0]
    client = next(span for span in receiver.spans(method) if span.kind == "client")
    served = next(span for span in receiver.spans(method) if span.kind == "server")
    assert {span.trace_id for span in (outer, client, served, inner)} == {outer.trace_id}
    assert [client.parent_span_id, served.parent_span_id, inner.parent_span_id] == [
        outer.span_id,
        client.span_id,
        served.span_id,
    ]
    assert outer.parent_span_id == ""
    assert inner.is_named_by(answer.next_page_token)
    assert (inner.attributes, inner.events) == ({"handrail.run_id": "run_1"}, ("step",))
    for span in (client, served):
        assert span.attributes == {
            "rpc.system.name": "grpc",
            "rpc.method": method,
            "rpc.response.status_code": "OK",
        }
    (point,) = receiver.points("rpc.server.call.duration")
    assert point.value == 1
    assert 0 < point.total < 10
    assert point.attributes["rpc.response.status_code"] == "OK"


async def test_a_refusal_is_an_answer_for_the_server_and_a_failure_for_the_client(receiver: OtlpReceiver) -> None:
    async def handler(request: object, context: object) -> pb.ListDomainsResponse:
        raise NotFound.of("conversation", "cnv_1")

    async with serving(handler) as server, calling(server.target) as stub:
        with pytest.raises(grpc.aio.AioRpcError):
            await stub.ListDomains(pb.ListDomainsRequest())
        telemetry.shutdown()
    spans = {span.kind: span for span in receiver.spans(f"{LOOP}/ListDomains")}
    assert spans["server"].attributes["rpc.response.status_code"] == "NOT_FOUND"
    assert spans["client"].attributes["error.type"] == "NOT_FOUND"
    assert (spans["server"].failed, spans["client"].failed) == (False, True)


async def test_a_fault_fails_the_server_span_without_its_text(receiver: OtlpReceiver) -> None:
    async def handler(request: object, context: object) -> pb.ListDomainsResponse:
        with telemetry.span("inner"):
            raise RuntimeError("what a person wrote")

    async with serving(handler) as server, calling(server.target) as stub:
        with pytest.raises(grpc.aio.AioRpcError):
            await stub.ListDomains(pb.ListDomainsRequest())
        telemetry.shutdown()
    served = next(span for span in receiver.spans(f"{LOOP}/ListDomains") if span.kind == "server")
    (inner,) = receiver.spans("inner")
    assert served.failed
    assert served.attributes["error.type"] == "INTERNAL"
    assert inner.attributes["error.type"] == "RuntimeError"
    assert "what a person wrote" not in repr(receiver.spans())


async def test_a_resumed_run_is_a_new_trace_linked_to_the_one_that_waited(receiver: OtlpReceiver) -> None:
    with telemetry.root_span("first run"):
        stored = telemetry.current_traceparent()
    assert telemetry.current_traceparent() == ""
    with telemetry.root_span("second run", link=stored):
        pass
    with telemetry.continued_span("third run", parent=stored):
        pass
    telemetry.shutdown()
    first, second, third = (receiver.spans(f"{name} run")[0] for name in ("first", "second", "third"))
    assert first.is_named_by(stored)
    assert second.trace_id != first.trace_id
    assert second.links == ((first.trace_id, first.span_id),)
    assert second.parent_span_id == ""
    assert (third.trace_id, third.parent_span_id) == (first.trace_id, first.span_id)


@pytest.mark.parametrize("slash", ["", "/"])
async def test_a_subscription_is_a_short_span_and_an_open_stream(receiver: OtlpReceiver, slash: str) -> None:
    started = asyncio.Event()

    async def stream(request: Any, context: Any) -> None:
        await context.write(pb.WatchConversationResponse())
        started.set()
        await asyncio.Event().wait()

    method = f"{LOOP}/WatchConversation"
    async with serving(stream=stream, subscriptions={slash + method}) as server, calling(server.target) as stub:
        call = stub.WatchConversation(pb.WatchConversationRequest())
        await asyncio.wait_for(started.wait(), 10)
        # The stream is still open, its span has ended already.
        served = await asyncio.to_thread(
            receiver.wait_for, lambda: [span for span in receiver.spans(method) if span.kind == "server"]
        )
        assert served[0].attributes["rpc.response.status_code"] == "OK"
        call.cancel()


async def test_spans_of_concurrent_tasks_stay_apart(receiver: OtlpReceiver) -> None:
    async def one(number: int) -> None:
        with telemetry.root_span(f"root {number}"):
            await asyncio.gather(*(asyncio.to_thread(int) for _ in range(2)))
            with telemetry.span(f"child {number}"):
                await asyncio.to_thread(int)

    await asyncio.gather(*(one(n) for n in range(10)))
    telemetry.shutdown()
    for number in range(10):
        (root,), (child,) = receiver.spans(f"root {number}"), receiver.spans(f"child {number}")
        assert child.parent_span_id == root.span_id


def test_counters_gauges_and_histograms_arrive(receiver: OtlpReceiver) -> None:
    telemetry.count("handrail.runs", 2, {"state": "completed"})
    telemetry.count("handrail.runs", 1, {"state": "completed"})
    telemetry.gauge_add("handrail.waiting", 5)
    telemetry.gauge_add("handrail.waiting", -2)
    telemetry.observe("handrail.stage.duration", 0.25, {"stage": "tool"})
    telemetry.shutdown()
    assert [(p.value, p.attributes) for p in receiver.points("handrail.runs")] == [(3, {"state": "completed"})]
    assert [p.value for p in receiver.points("handrail.waiting")] == [3]
    assert [(p.value, p.total) for p in receiver.points("handrail.stage.duration")] == [(1, 0.25)]


def _run(program: str, **environment: str) -> tuple[subprocess.CompletedProcess[str], float]:
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ, **environment},
    )
    return done, time.monotonic() - started


def test_without_an_endpoint_opentelemetry_is_not_even_imported() -> None:
    done, _ = _run(
        """
        import sys
        from handrail_rpc import server, telemetry
        assert telemetry.configure("x") is False
        with telemetry.span("a") as span:
            span.set("k", 1)
        with telemetry.root_span("b", link="00-" + "1" * 32 + "-" + "2" * 16 + "-01"):
            assert telemetry.current_traceparent() == ""
        telemetry.count("c")
        telemetry.observe("d", 1.0)
        telemetry.shutdown()
        print(sorted(name for name in sys.modules if name.startswith("opentelemetry")))
        """,
        HANDRAIL_OTLP_ENDPOINT="",
        OTEL_EXPORTER_OTLP_ENDPOINT="",
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_without_an_endpoint_the_caller_s_traceparent_still_travels_on() -> None:
    from handrail_rpc.context import call_context, outgoing_metadata

    trace = "00-" + "1" * 32 + "-" + "2" * 16 + "-01"
    with call_context(traceparent=trace):
        assert telemetry.current_traceparent() == trace
        assert ("traceparent", trace) in outgoing_metadata()


@pytest.mark.parametrize("dead", ["refuses", "never answers"])
def test_a_dead_collector_neither_blocks_the_exit_nor_floods_the_log(dead: str) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        if dead == "never answers":
            silent.listen()
        done, _ = _run(
            """
            import time
            from handrail_rpc import telemetry
            from handrail_rpc.logging import configure_logging
            configure_logging("x")
            assert telemetry.configure("x")
            for n in range(3000):
                with telemetry.span(f"s{n}"):
                    telemetry.count("c")
            began = time.monotonic()
            telemetry.shutdown()
            print(time.monotonic() - began)
            """,
            HANDRAIL_OTLP_ENDPOINT=f"http://127.0.0.1:{silent.getsockname()[1]}",
        )
    # It gives up after 2 s; the rest is for a loaded machine. Unbounded it takes 7 s and more.
    assert float(done.stdout) < 6
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert len(lines) <= 2, done.stderr


def test_the_process_s_own_variable_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://general:4317")
    assert telemetry.endpoint_from_environment() == "http://general:4317"
    monkeypatch.setenv("HANDRAIL_OTLP_ENDPOINT", "http://ours:4317")
    assert telemetry.endpoint_from_environment() == "http://ours:4317"


@pytest.mark.parametrize("endpoint", ["nonsense here", "ftp://host:1", "http://", "http://host:port/path?x"])
def test_an_endpoint_of_another_form_stops_the_start_by_name(endpoint: str) -> None:
    with pytest.raises(StartRefused, match="HANDRAIL_OTLP_ENDPOINT"):
        telemetry.configure("x", endpoint)

"""The gateway between a real client and a real upstream: bytes, metadata, statuses, deadlines, cancellation."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Any

import grpc
import grpc.aio
import pytest
from google.rpc import error_details_pb2, status_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc

from handrail.loop.v1 import event_pb2
from handrail.loop.v1 import workflow_loop_service_pb2 as loop_pb
from handrail_rpc import telemetry
from tests.fakes.otlp_receiver import OtlpReceiver
from tests.grpc.gateway.upstream import METHODS, STREAM, STREAMING, UNARY, Upstream, gateway_to
from tests.unit.rpc.serving import error_info

WATCH = "/handrail.loop.v1.WorkflowLoopService/WatchConversation"
# No valid message of any kind: whoever parsed it would fail.
RAW = b"\xff\xff\xff\x00 not a protobuf message"


@pytest.mark.parametrize("path", METHODS)
async def test_every_method_is_forwarded_unparsed_both_ways(path: str) -> None:
    async with Upstream().running() as upstream, gateway_to(upstream.target) as (_, channel):
        if path in STREAMING:
            received = [message async for message in channel.unary_stream(path)(RAW)]
        else:
            received = [await channel.unary_unary(path)(RAW)]
    assert received == [RAW]
    assert (upstream.paths, upstream.requests) == ([path], [RAW])


async def test_the_two_services_are_complete() -> None:
    names = {path.rsplit("/", 1)[1] for path in METHODS}
    assert {"SendMessage", "ResolveApproval", "WatchConversation", "ReadArtifact"} <= names
    assert {path.rsplit("/", 1)[1] for path in STREAMING} == {
        "SendMessage",
        "ResolveApproval",
        "WatchConversation",
        "ReadArtifact",
        "ReadWorkspaceFile",
    }


async def test_metadata_is_forwarded_and_credentials_are_not() -> None:
    sent = (
        ("x-request-id", "rq-1"),
        ("x-handrail-principal", "ann"),
        ("x-handrail-tenant", "north"),
        ("x-handrail-roles", "dispatcher,editor"),
        ("accept-language", "ru-RU, en;q=0.3"),
        ("traceparent", "00-" + "1" * 32 + "-" + "2" * 16 + "-01"),
        ("x-custom", "kept"),
        ("x-custom-bin", b"\x00\xff"),
        ("authorization", "Bearer s3cret"),
    )
    async with Upstream().running() as upstream, gateway_to(upstream.target) as (_, channel):
        call = channel.unary_unary(UNARY)(b"", metadata=sent)
        await call
        returned = dict(await call.initial_metadata())
    (seen,) = upstream.metadata
    assert returned["x-request-id"] == "rq-1"
    assert seen["accept-language"] == "ru"
    for key, value in sent:
        if key not in ("authorization", "accept-language"):
            assert seen[key] == value, key
    assert "authorization" not in seen


async def test_a_request_id_is_made_returned_and_forwarded() -> None:
    async with Upstream().running() as upstream, gateway_to(upstream.target) as (_, channel):
        call = channel.unary_stream(STREAM)(b"x")
        assert [message async for message in call][0] == b"x"
        made = dict(await call.trailing_metadata())["x-request-id"]
    assert made.startswith("req_")
    assert upstream.metadata[0]["x-request-id"] == made


async def test_a_header_of_another_form_stops_at_the_gateway() -> None:
    async with Upstream().running() as upstream, gateway_to(upstream.target) as (_, channel):
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await channel.unary_unary(UNARY)(b"", metadata=(("x-handrail-principal", "a b"),))
    assert failed.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert upstream.paths == []


def _details() -> bytes:
    answer = status_pb2.Status(code=9, message="already approved by ann")
    answer.details.add().Pack(
        error_details_pb2.ErrorInfo(reason="APPROVAL_RESOLVED", domain="handrail", metadata={"request_id": "rq-1"})
    )
    answer.details.add().Pack(error_details_pb2.PreconditionFailure())
    return answer.SerializeToString()


@pytest.mark.parametrize("path", [UNARY, STREAM])
async def test_the_peer_s_status_details_and_trailers_pass_unchanged(path: str) -> None:
    details = _details()

    async def refuse(request: bytes, context: Any) -> None:
        await context.abort(
            grpc.StatusCode.FAILED_PRECONDITION,
            "already approved by ann",
            (("grpc-status-details-bin", details), ("x-trailer", "kept")),
        )

    async with Upstream(refuse, refuse).running() as upstream, gateway_to(upstream.target) as (_, channel):
        call = channel.unary_stream(path) if path == STREAM else channel.unary_unary(path)
        started = call(b"", metadata=(("x-request-id", "rq-1"),))
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await (started.read() if path == STREAM else started)
    error = failed.value
    assert (error.code().name, error.details()) == ("FAILED_PRECONDITION", "already approved by ann")
    trailers = dict(error.trailing_metadata())
    assert trailers["grpc-status-details-bin"] == details
    assert trailers["x-trailer"] == "kept"
    assert trailers["x-request-id"] == "rq-1"


@pytest.mark.parametrize("path", [UNARY, STREAM])
async def test_the_trailers_of_a_good_answer_pass_too(path: str) -> None:
    async def answer(request: bytes, context: Any) -> bytes | None:
        context.set_trailing_metadata((("x-trailer", "kept"),))
        if path == STREAM:
            await context.write(b"y")
            return None
        return b"y"

    async with Upstream(answer, answer).running() as upstream, gateway_to(upstream.target) as (_, channel):
        if path == STREAM:
            call: Any = channel.unary_stream(path)(b"")
            assert [message async for message in call] == [b"y"]
        else:
            call = channel.unary_unary(path)(b"")
            assert await call == b"y"
        assert ("x-trailer", "kept") in tuple(await call.trailing_metadata())


async def test_a_peer_s_status_without_details_gets_an_error_info() -> None:
    async def crash(request: bytes, context: Any) -> bytes:
        raise RuntimeError("secret text")

    async with Upstream(crash).running() as upstream, gateway_to(upstream.target) as (_, channel):
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await channel.unary_unary(UNARY)(b"")
    assert failed.value.code() is grpc.StatusCode.INTERNAL
    assert error_info(failed.value).reason == "INTERNAL"
    assert "secret" not in str(failed.value)


@pytest.mark.parametrize("path", [UNARY, STREAM])
async def test_a_peer_that_is_away_is_unavailable_with_a_reason(path: str) -> None:
    upstream = Upstream()
    async with upstream.running():
        pass
    async with gateway_to(upstream.target) as (_, channel):
        call = channel.unary_stream(path)(b"").read() if path == STREAM else channel.unary_unary(path)(b"")
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await call
    assert failed.value.code() is grpc.StatusCode.UNAVAILABLE
    info = error_info(failed.value)
    assert (info.reason, info.domain) == ("LOOP_UNAVAILABLE", "handrail")
    assert info.metadata["request_id"] == dict(failed.value.trailing_metadata())["x-request-id"]


async def test_a_peer_killed_in_mid_stream_is_unavailable_after_what_it_sent() -> None:
    async def hang(request: bytes, context: Any) -> None:
        await context.write(b"first")
        await asyncio.Event().wait()

    upstream = Upstream(stream=hang)
    running = upstream.running()
    await running.__aenter__()
    async with gateway_to(upstream.target) as (_, channel):
        call = channel.unary_stream(STREAM)(b"")
        assert await call.read() == b"first"
        await running.__aexit__(None, None, None)
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await call.read()
    assert failed.value.code() is grpc.StatusCode.UNAVAILABLE
    assert error_info(failed.value).reason == "LOOP_UNAVAILABLE"


async def test_a_restarted_peer_is_found_again() -> None:
    upstream = Upstream()
    async with upstream.running():
        pass
    async with gateway_to(upstream.target) as (_, channel):
        with pytest.raises(grpc.aio.AioRpcError):
            await channel.unary_unary(UNARY)(b"x")
        async with upstream.running():

            async def reached() -> bytes:
                while True:
                    with suppress(grpc.aio.AioRpcError):
                        return await channel.unary_unary(UNARY)(b"x")

            assert await asyncio.wait_for(reached(), 10) == b"x"


async def _never(request: bytes, context: Any) -> bytes:
    await asyncio.Event().wait()
    return b""


async def test_our_deadline_bounds_a_unary_call_and_is_named() -> None:
    async with (
        Upstream(_never).running() as upstream,
        gateway_to(upstream.target, deadline_seconds=0.2) as (_, channel),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await channel.unary_unary(UNARY)(b"", timeout=30)
    assert failed.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    info = error_info(failed.value)
    assert (info.reason, info.metadata["deadline_seconds"]) == ("DEADLINE_EXCEEDED", "0.2")


async def test_a_client_s_shorter_deadline_wins_and_reaches_the_peer() -> None:
    remaining: list[float] = []

    async def note(request: bytes, context: Any) -> bytes:
        remaining.append(context.time_remaining())
        return b""

    async with Upstream(note).running() as upstream, gateway_to(upstream.target) as (_, channel):
        await channel.unary_unary(UNARY)(b"", timeout=5)
        await channel.unary_unary(UNARY)(b"", timeout=500)
        await channel.unary_unary(UNARY)(b"")
    assert 0 < remaining[0] < 6
    # gRPC sends deadlines rounded up a little.
    assert 10 < remaining[1] < 16
    assert 10 < remaining[2] < 16


async def test_a_stream_has_no_deadline_of_ours() -> None:
    remaining: list[float | None] = []

    async def stream(request: bytes, context: Any) -> None:
        remaining.append(context.time_remaining())
        await context.write(b"x")

    async with (
        Upstream(stream=stream).running() as upstream,
        gateway_to(upstream.target, deadline_seconds=0.05) as (_, channel),
    ):
        assert [m async for m in channel.unary_stream(STREAM)(b"")] == [b"x"]
    assert remaining[0] is None or remaining[0] > 10**6


@pytest.mark.parametrize("path", [UNARY, STREAM])
async def test_a_client_that_leaves_cancels_the_peer_s_call(path: str) -> None:
    entered, canceled = asyncio.Event(), asyncio.Event()

    async def wait(request: bytes, context: Any) -> bytes:
        entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            canceled.set()
            raise
        return b""

    async with Upstream(wait, wait).running() as upstream, gateway_to(upstream.target) as (_, channel):
        call = channel.unary_stream(path)(b"") if path == STREAM else channel.unary_unary(path)(b"")
        reading = asyncio.ensure_future(call.read()) if path == STREAM else None
        await asyncio.wait_for(entered.wait(), 10)
        call.cancel()
        await asyncio.wait_for(canceled.wait(), 10)
        if reading is not None:
            reading.cancel()


async def test_a_client_whose_connection_breaks_cancels_the_peer_s_call() -> None:
    canceled = asyncio.Event()

    async def wait(request: bytes, context: Any) -> None:
        await context.write(b"x")
        try:
            await asyncio.Event().wait()
        finally:
            canceled.set()

    async with Upstream(stream=wait).running() as upstream, gateway_to(upstream.target) as (server, _):
        async with grpc.aio.insecure_channel(server.target) as own:
            call = own.unary_stream(STREAM)(b"")
            assert await call.read() == b"x"
        await asyncio.wait_for(canceled.wait(), 10)


async def test_a_drain_ends_open_streams_with_a_way_to_go_on_and_stops_the_peer_s_call() -> None:
    canceled = asyncio.Event()

    async def wait(request: bytes, context: Any) -> None:
        await context.write(b"x")
        try:
            await asyncio.Event().wait()
        finally:
            canceled.set()

    async with (
        Upstream(stream=wait).running() as upstream,
        gateway_to(upstream.target, grace_seconds=30) as (server, channel),
    ):
        call = channel.unary_stream(STREAM)(b"")
        assert await call.read() == b"x"
        began = time.monotonic()
        await server.stop()
        assert time.monotonic() - began < 15
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await call.read()
        await asyncio.wait_for(canceled.wait(), 10)
    assert failed.value.code() is grpc.StatusCode.UNAVAILABLE
    assert error_info(failed.value).reason == "SERVER_DRAINING"
    assert "WatchConversation" in (failed.value.details() or "")


async def test_a_drain_names_the_cursor_of_the_last_event_that_was_forwarded() -> None:
    async def wait(request: bytes, context: Any) -> None:
        for sequence in (6, 7):
            response = loop_pb.WatchConversationResponse(event=event_pb2.Event(sequence=sequence))
            await context.write(response.SerializeToString())
        await asyncio.Event().wait()

    async with (
        Upstream(stream=wait).running() as upstream,
        gateway_to(upstream.target, grace_seconds=30) as (server, channel),
    ):
        call = channel.unary_stream(WATCH)(b"")
        for _ in range(2):
            await call.read()
        await server.stop()
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await call.read()
    assert error_info(failed.value).metadata["cursor"] == "7"


async def test_a_slow_reader_is_not_buffered_without_bound() -> None:
    written = 0

    async def flood(request: bytes, context: Any) -> None:
        nonlocal written
        while True:
            await context.write(b"x" * 65_536)
            written += 1

    async with Upstream(stream=flood).running() as upstream, gateway_to(upstream.target) as (server, channel):
        slow = channel.unary_stream(STREAM)(b"")
        await slow.read()
        # While the slow one is stalled another client is served, many times over.
        for _ in range(200):
            assert await channel.unary_unary(UNARY)(b"y") == b"y"
        assert written < 400
        slow.cancel()


async def test_readiness_reflects_only_the_gateway_itself() -> None:
    async with gateway_to("127.0.0.1:9") as (_, channel):
        health = health_pb2_grpc.HealthStub(channel)
        for service in ("", "handrail.loop.v1.WorkflowLoopService", "handrail.adapter.v1.ArtifactService"):
            assert (await health.Check(health_pb2.HealthCheckRequest(service=service))).status == 1


async def test_one_trace_runs_through_the_gateway() -> None:
    with OtlpReceiver() as receiver:
        telemetry.configure("handrail-gateway", receiver.endpoint)
        try:
            trace = "1" * 32
            async with Upstream().running() as upstream, gateway_to(upstream.target) as (_, channel):
                sent = (("traceparent", f"00-{trace}-{'2' * 16}-01"),)
                assert [m async for m in channel.unary_stream(STREAM)(b"x", metadata=sent)] == [b"x"]
        finally:
            telemetry.shutdown()
        spans = {span.kind: span for span in receiver.spans(STREAM.lstrip("/"))}
    assert {span.trace_id for span in spans.values()} == {trace}
    assert spans["server"].parent_span_id == "2" * 16
    assert spans["client"].parent_span_id == spans["server"].span_id
    assert spans["client"].is_named_by(upstream.metadata[0]["traceparent"])

"""The boundary of every RPC: caller, request id, locale; leaked cancellations; generators closed in time."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import grpc.aio
import pytest
from structlog.testing import capture_logs

from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail_rpc import context
from handrail_rpc.context import Caller, call_context, current_caller, current_request_id
from handrail_rpc.errors import InvalidArgument, Unavailable
from tests.unit.rpc.serving import LOOP, calling, error_info, serving


async def _seen(metadata: tuple[tuple[str, str], ...], **contexts: Any) -> tuple[Caller, str, str]:
    """What a servicer sees of a call with `metadata`, made within `call_context(**contexts)`."""
    seen: list[tuple[Caller, str, str]] = []

    async def handler(request: object, servicer: object) -> pb.ListDomainsResponse:
        seen.append((current_caller(), current_request_id(), context.incoming_traceparent()))
        return pb.ListDomainsResponse()

    async with serving(handler) as server, calling(server.target) as stub:
        with call_context(**contexts):
            await stub.ListDomains(pb.ListDomainsRequest(), metadata=metadata)
    return seen[0]


async def test_without_metadata_the_local_caller_has_every_role() -> None:
    caller, request_id, traceparent = await _seen(())
    assert (caller.principal, caller.tenant, caller.locale) == ("local", "local", "en")
    assert caller.has_role("dispatcher")
    assert request_id.startswith("req_")
    assert traceparent == ""


async def test_metadata_names_the_caller() -> None:
    caller, request_id, _ = await _seen(
        (
            ("x-handrail-principal", "ann@example.org"),
            ("x-handrail-tenant", "north"),
            ("x-handrail-roles", "dispatcher, editor"),
            ("accept-language", "ru-RU,ru;q=0.9,en;q=0.5"),
            ("x-request-id", "rq-1"),
        )
    )
    assert caller == Caller("ann@example.org", "north", frozenset({"dispatcher", "editor"}), "ru")
    assert caller.has_role("editor")
    assert not caller.has_role("admin")
    assert caller.has_role("")
    assert request_id == "rq-1"


async def test_the_request_id_returns_with_the_answer() -> None:
    async def handler(request: object, servicer: object) -> pb.ListDomainsResponse:
        return pb.ListDomainsResponse()

    async def stream(request: Any, servicer: Any) -> Any:
        yield pb.SendMessageResponse()

    sent = (("x-request-id", "rq-9"),)
    async with serving(handler, stream) as server, calling(server.target) as stub:
        unary = stub.ListDomains(pb.ListDomainsRequest(), metadata=sent)
        assert ("x-request-id", "rq-9") in tuple(await unary.initial_metadata())
        assert ("x-request-id", "rq-9") in tuple(await unary.trailing_metadata())
        streamed = stub.SendMessage(pb.SendMessageRequest(), metadata=sent)
        assert ("x-request-id", "rq-9") in tuple(await streamed.initial_metadata())
        assert [response async for response in streamed]
        assert ("x-request-id", "rq-9") in tuple(await streamed.trailing_metadata())


async def test_an_empty_role_list_is_no_role() -> None:
    caller, _, _ = await _seen((("x-handrail-roles", ""),))
    assert caller.roles == frozenset()
    assert not caller.has_role("dispatcher")


async def test_the_context_travels_on_and_metadata_given_by_hand_wins() -> None:
    ann = Caller("ann", "north", frozenset({"dispatcher"}), "ru")
    trace = "00-" + "1" * 32 + "-" + "2" * 16 + "-01"
    assert await _seen((), caller=ann, request_id="rq-2", traceparent=trace) == (ann, "rq-2", trace)
    caller, request_id, _ = await _seen((("x-request-id", "rq-3"),), caller=ann, request_id="rq-2")
    assert (caller, request_id) == (ann, "rq-3")


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("x-handrail-principal", "with space"),
        ("x-handrail-principal", ""),
        ("x-handrail-principal", "p" * 129),
        ("x-handrail-tenant", "a,b"),
        ("x-handrail-roles", "good, b d"),
        ("x-handrail-roles", ",".join(f"r{i}" for i in range(65))),
        ("x-request-id", "r" * 129),
        ("x-request-id", "with space"),
    ],
)
async def test_a_header_of_another_form_is_refused_by_name(header: str, value: str) -> None:
    called = False

    async def handler(request: object, servicer: object) -> pb.ListDomainsResponse:
        nonlocal called
        called = True
        return pb.ListDomainsResponse()

    async with serving(handler) as server, calling(server.target) as stub:
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await stub.ListDomains(pb.ListDomainsRequest(), metadata=((header, value),))
    assert failed.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert header in (failed.value.details() or "")
    assert error_info(failed.value).reason == "INVALID_METADATA"
    assert not called


@pytest.mark.parametrize("data", [b"\xff\xff", b"\x12\x02\xff\xfe"], ids=["wire format", "text that is not UTF-8"])
@pytest.mark.parametrize("method", ["ListDomains", "SendMessage"])
async def test_bytes_that_are_no_request_are_refused_without_the_parser_s_text(method: str, data: bytes) -> None:
    called = False

    async def handler(request: object, servicer: object) -> pb.ListDomainsResponse:
        nonlocal called
        called = True
        return pb.ListDomainsResponse()

    async def stream(request: object, servicer: object) -> Any:
        nonlocal called
        called = True
        yield pb.SendMessageResponse()

    async with serving(handler, stream) as server, grpc.aio.insecure_channel(server.target) as channel:
        path = f"/{LOOP}/{method}"
        call = channel.unary_stream(path)(data) if method == "SendMessage" else channel.unary_unary(path)(data)
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await (call.read() if method == "SendMessage" else call)
    assert failed.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert error_info(failed.value).reason == "MALFORMED_REQUEST"
    assert "pars" not in str(failed.value).lower()
    assert not called


async def test_a_repeated_principal_header_is_refused_not_decided_by_order() -> None:
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await _seen((("x-handrail-principal", "ann"), ("x-handrail-principal", "bob")))
    assert failed.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_malformed_traceparent_is_dropped() -> None:
    _, _, traceparent = await _seen((("traceparent", "not-a-trace"),))
    assert traceparent == ""


@pytest.mark.parametrize(
    ("header", "locale"),
    [
        ("ru", "ru"),
        ("en", "en"),
        ("de, ru;q=0.5", "ru"),
        ("ru;q=0.3, en;q=0.8", "en"),
        ("RU-ru", "ru"),
        ("*", "en"),
        ("fr", "en"),
        ("", "en"),
        ("ru;q=zero", "en"),
        ("ru;q=0", "en"),
    ],
)
def test_locale_of_accept_language(header: str, locale: str) -> None:
    assert context.parse_locale(header) == locale


async def test_a_cancellation_leaked_from_an_inner_task_is_answered_at_once() -> None:
    async def handler(request: object, servicer: object) -> pb.ListDomainsResponse:
        inner = asyncio.ensure_future(asyncio.Event().wait())
        inner.cancel()
        await inner
        return pb.ListDomainsResponse()

    async with serving(handler) as server, calling(server.target) as stub:
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await stub.ListDomains(pb.ListDomainsRequest(), timeout=20)
    assert failed.value.code() is grpc.StatusCode.INTERNAL
    assert error_info(failed.value).reason == "INTERNAL"


async def test_a_stream_whose_client_leaves_closes_its_generator_in_the_same_task() -> None:
    closed: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    async def stream(request: Any, servicer: Any) -> Any:
        task = asyncio.current_task()
        try:
            yield pb.SendMessageResponse()
            await asyncio.Event().wait()
        finally:
            closed.set_result(asyncio.current_task() is task)

    async with serving(stream=stream) as server, calling(server.target) as stub:
        call = stub.SendMessage(pb.SendMessageRequest())
        await call.read()
        call.cancel()
        assert await asyncio.wait_for(closed, 10)


async def test_a_generator_parked_at_its_yield_is_closed_when_a_stalled_client_leaves() -> None:
    closed: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
    parked = asyncio.Event()

    async def stream(request: Any, servicer: Any) -> Any:
        message = pb.SendMessageResponse()
        message.event.content_delta.text = "x" * 200_000
        try:
            while True:
                parked.set()
                yield message
        finally:
            closed.set_result(True)

    async with serving(stream=stream) as server, calling(server.target) as stub:
        with capture_logs() as logs:
            call = stub.SendMessage(pb.SendMessageRequest())
            await call.read()
            await asyncio.wait_for(parked.wait(), 10)
            call.cancel()
            assert await asyncio.wait_for(closed, 10)
            await server.stop()
    # A client that leaves is no failure of ours, and gRPC's error for it would quote the message.
    assert [entry for entry in logs if entry["log_level"] == "error"] == []


async def test_an_error_after_messages_ends_the_stream_with_its_status() -> None:
    async def stream(request: Any, servicer: Any) -> Any:
        yield pb.SendMessageResponse()
        raise Unavailable("draining", reason="SERVER_DRAINING")

    async with serving(stream=stream) as server, calling(server.target) as stub:
        call = stub.SendMessage(pb.SendMessageRequest())
        assert await call.read() == pb.SendMessageResponse()
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await call.read()
    assert error_info(failed.value).reason == "SERVER_DRAINING"


async def test_a_handler_that_writes_works_like_a_generator() -> None:
    async def stream(request: Any, servicer: Any) -> None:
        await servicer.write(pb.WatchConversationResponse())
        raise InvalidArgument.field("after_sequence", "must be at least 0")

    async with serving(stream=stream) as server, calling(server.target) as stub:
        call = stub.WatchConversation(pb.WatchConversationRequest())
        await call.read()
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await call.read()
    assert failed.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_concurrent_calls_do_not_see_each_other_s_caller() -> None:
    async def handler(request: Any, servicer: object) -> pb.ListDomainsResponse:
        await asyncio.gather(*(asyncio.to_thread(int) for _ in range(3)))
        return pb.ListDomainsResponse(next_page_token=current_caller().principal)

    async with serving(handler) as server, calling(server.target) as stub:

        async def one(name: str) -> bool:
            with call_context(caller=Caller(name)):
                return (await stub.ListDomains(pb.ListDomainsRequest())).next_page_token == name

        assert all(await asyncio.gather(*(one(f"p{i}") for i in range(50))))

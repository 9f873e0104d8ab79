"""What `open_channel` promises: retries for named methods only, and a peer found again after its restart."""

from __future__ import annotations

from typing import Any

import grpc
import grpc.aio
import pytest

from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail_rpc.channel import open_channel
from handrail_rpc.errors import Unavailable
from tests.unit.rpc.serving import LOOP, calling, serving


async def _attempts(**options: Any) -> tuple[int, str]:
    """How often a unary method that is away twice was called, and how the call ended."""
    attempts = 0

    async def handler(request: object, context: object) -> pb.ListDomainsResponse:
        nonlocal attempts
        attempts += 1
        if attempts <= 2:
            raise Unavailable("not yet")
        return pb.ListDomainsResponse()

    async with serving(handler) as server, calling(server.target, **options) as stub:
        try:
            await stub.ListDomains(pb.ListDomainsRequest())
        except grpc.aio.AioRpcError as error:
            return attempts, error.code().name
    return attempts, "OK"


async def test_a_method_named_as_safe_is_retried() -> None:
    assert await _attempts(retry_methods=[f"{LOOP}/ListDomains"]) == (3, "OK")


async def test_no_other_method_is_retried() -> None:
    assert await _attempts() == (1, "UNAVAILABLE")
    assert await _attempts(retry_methods=[f"{LOOP}/GetRun"]) == (1, "UNAVAILABLE")


async def test_a_retry_method_of_another_form_is_refused() -> None:
    with pytest.raises(ValueError, match="Service/Method"):
        open_channel("127.0.0.1:1", retry_methods=["ListDomains"])


async def test_an_oversized_message_is_refused_by_the_channel() -> None:
    async def handler(request: object, context: object) -> pb.ListDomainsResponse:
        return pb.ListDomainsResponse(next_page_token="x" * 5000)

    async with serving(handler) as server, calling(server.target, max_message_bytes=1000) as stub:
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await stub.ListDomains(pb.ListDomainsRequest())
    assert failed.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED

"""One table between errors and statuses, both ways, over a real call; and what never reaches the wire."""

from __future__ import annotations

from datetime import timedelta

import grpc
import grpc.aio
import pytest

from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail_rpc import errors, status
from tests.unit.rpc.serving import calling, error_info, serving

CASES = [
    (errors.InvalidArgument.field("text", "must not be empty"), "INVALID_ARGUMENT"),
    (
        errors.InvalidArgument.fields(
            [errors.FieldViolation("a", "must be one"), errors.FieldViolation("b.c", "must be two")]
        ),
        "INVALID_ARGUMENT",
    ),
    (errors.NotFound.of("conversation", "cnv_1"), "NOT_FOUND"),
    (errors.AlreadyExists("request_id was used with another body", reason="REQUEST_ID_REUSED"), "ALREADY_EXISTS"),
    (errors.FailedPrecondition.state("APPROVAL_STATE", "apr_1", "already approved by ann"), "FAILED_PRECONDITION"),
    (errors.Aborted("plan version is 7", reason="STALE_PLAN_VERSION", metadata={"current": "7"}), "ABORTED"),
    (errors.PermissionDenied("role dispatcher is needed"), "PERMISSION_DENIED"),
    (errors.Unauthenticated("no credential"), "UNAUTHENTICATED"),
    (errors.ResourceExhausted("queue is full", retry_after=timedelta(milliseconds=1500)), "RESOURCE_EXHAUSTED"),
    (errors.Unavailable("storage is away", retry_after=timedelta(seconds=2)), "UNAVAILABLE"),
    (errors.OutOfRange("valid cursors are 1 to 9"), "OUT_OF_RANGE"),
]


@pytest.mark.parametrize(("raised", "code"), CASES, ids=[f"{c}-{i}" for i, (_, c) in enumerate(CASES)])
async def test_each_category_survives_the_wire_in_both_directions(raised: errors.HandrailError, code: str) -> None:
    async def handler(request: object, context: object) -> pb.ListDomainsResponse:
        raise raised

    async with serving(handler) as server, calling(server.target) as stub:
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await stub.ListDomains(pb.ListDomainsRequest(), metadata=(("x-request-id", "rq-7"),))
    error = failed.value
    assert error.code().name == code
    info = error_info(error)
    assert (info.reason, info.domain, info.metadata["request_id"]) == (raised.reason, "handrail", "rq-7")
    assert ("x-request-id", "rq-7") in tuple(error.trailing_metadata())

    back = status.from_rpc_error(error)
    assert type(back) is type(raised)
    assert (back.reason, back.message) == (raised.reason, raised.message)
    assert back.metadata == {**raised.metadata, "request_id": "rq-7"}
    for extra in ("field_violations", "violations", "retry_after"):
        assert getattr(back, extra, None) == getattr(raised, extra, None)


async def test_an_unexpected_exception_is_internal_with_a_generic_text() -> None:
    async def handler(request: object, context: object) -> pb.ListDomainsResponse:
        raise RuntimeError("secret text of an exception")

    async with serving(handler) as server, calling(server.target) as stub:
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await stub.ListDomains(pb.ListDomainsRequest())
    error = failed.value
    assert error.code() is grpc.StatusCode.INTERNAL
    assert error.details() == status.INTERNAL_TEXT
    assert all(b"secret" not in (v if isinstance(v, bytes) else v.encode()) for _, v in error.trailing_metadata())
    assert error_info(error).metadata["request_id"] == dict(error.trailing_metadata())["x-request-id"]
    assert isinstance(status.from_rpc_error(error), errors.RemoteFault)


def test_details_are_capped_and_keep_the_error_info() -> None:
    many = errors.InvalidArgument.fields([errors.FieldViolation(f"f{i}", "x" * 500) for i in range(100)])
    answer = status.to_status(many, "rq")
    data = answer.trailing_metadata[0][1]
    assert len(data) <= status.MOST_DETAIL_BYTES
    assert len(answer.text) <= 600
    error = grpc.aio.AioRpcError(
        answer.code, grpc.aio.Metadata(), grpc.aio.Metadata(*answer.trailing_metadata), answer.text
    )
    back = status.from_rpc_error(error)
    assert isinstance(back, errors.InvalidArgument)
    assert 0 < len(back.field_violations) < 100
    assert back.metadata["request_id"] == "rq"


@pytest.mark.parametrize("letter", ["x", "ж", "\U0001f6eb"])
async def test_the_largest_refusal_arrives_whole(letter: str) -> None:
    async def handler(request: object, context: object) -> pb.ListDomainsResponse:
        raise errors.InvalidArgument.fields([errors.FieldViolation(f"f{i}", letter * 5000) for i in range(100)])

    async with serving(handler) as server, calling(server.target) as stub:
        for _ in range(20):
            with pytest.raises(grpc.aio.AioRpcError) as failed:
                await stub.ListDomains(pb.ListDomainsRequest())
            assert failed.value.code() is grpc.StatusCode.INVALID_ARGUMENT
            assert error_info(failed.value).domain == "handrail"


def test_oversized_metadata_is_dropped_before_the_request_id() -> None:
    error = errors.Aborted("m" * 5000, metadata={f"k{i}": "v" * 300 for i in range(60)})
    answer = status.to_status(error, "rq")
    assert len(answer.trailing_metadata[0][1]) <= status.MOST_DETAIL_BYTES
    assert b"rq" in answer.trailing_metadata[0][1]


@pytest.mark.parametrize(("seconds", "named"), [(0.2, "0.2"), (14.98765, "15"), (86_400.0, "86400")])
def test_a_deadline_is_named_in_plain_decimals(seconds: float, named: str) -> None:
    answer = status.deadline_status("rq", seconds)
    assert f"within {named} seconds" in answer.text


def test_a_text_that_utf8_cannot_hold_still_leaves_as_a_refusal() -> None:
    answer = status.to_status(errors.InvalidArgument.field("text", "not \ud800"), "rq")
    assert answer.code is grpc.StatusCode.INVALID_ARGUMENT
    assert answer.text == "text: not ?"


def test_statuses_without_details_map_by_code() -> None:
    def of(code: grpc.StatusCode) -> errors.HandrailError:
        return status.from_rpc_error(grpc.aio.AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(), "text"))

    assert (type(of(grpc.StatusCode.UNAVAILABLE)), of(grpc.StatusCode.UNAVAILABLE).reason) == (
        errors.Unavailable,
        "PEER_UNAVAILABLE",
    )
    assert of(grpc.StatusCode.DEADLINE_EXCEEDED).reason == "DEADLINE_EXCEEDED"
    assert of(grpc.StatusCode.CANCELLED).reason == "CANCELED"
    assert isinstance(of(grpc.StatusCode.UNIMPLEMENTED), errors.RemoteFault)


def test_a_reason_of_another_shape_is_a_programming_error() -> None:
    with pytest.raises(ValueError, match="UPPER_SNAKE"):
        errors.NotFound("x", reason="not found")

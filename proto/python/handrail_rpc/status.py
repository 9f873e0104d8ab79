"""The one table between HandrailError and gRPC statuses, both ways; the only module that names StatusCode.

The server boundary calls `to_status` and `abort`; clients call `from_rpc_error`. Details are google.rpc.Status with
ErrorInfo first, then BadRequest, PreconditionFailure or RetryInfo (contract.md 'Failures'), at most 4 KiB in all:
larger metadata makes gRPC drop the whole stream.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, NamedTuple, NoReturn

import grpc
import grpc.aio
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import DecodeError, Message
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode

from handrail_rpc.context import REQUEST_ID_HEADER, current_request_id
from handrail_rpc.errors import (
    Aborted,
    AlreadyExists,
    FailedPrecondition,
    FieldViolation,
    HandrailError,
    InvalidArgument,
    NotFound,
    OutOfRange,
    PermissionDenied,
    PreconditionViolation,
    RemoteFault,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
)

ERROR_DOMAIN = "handrail"
DETAILS_KEY = "grpc-status-details-bin"
MOST_DETAIL_BYTES = 4096
INTERNAL_TEXT = "an internal error occurred; the cause is logged under the request id"
# With 4 KiB of details in base64 this stays below the 8 KiB where gRPC begins to drop metadata.
_MOST_TEXT = 600
_MOST_METADATA_TEXT = 200

_CODES: tuple[tuple[type[HandrailError], StatusCode], ...] = (
    (InvalidArgument, StatusCode.INVALID_ARGUMENT),
    (NotFound, StatusCode.NOT_FOUND),
    (AlreadyExists, StatusCode.ALREADY_EXISTS),
    (FailedPrecondition, StatusCode.FAILED_PRECONDITION),
    (Aborted, StatusCode.ABORTED),
    (PermissionDenied, StatusCode.PERMISSION_DENIED),
    (Unauthenticated, StatusCode.UNAUTHENTICATED),
    (ResourceExhausted, StatusCode.RESOURCE_EXHAUSTED),
    (Unavailable, StatusCode.UNAVAILABLE),
    (OutOfRange, StatusCode.OUT_OF_RANGE),
)
_BY_NUMBER: dict[int, StatusCode] = {code.value[0]: code for code in StatusCode}


class WireStatus(NamedTuple):
    """What `context.abort` takes: the code, the text, the trailing metadata with the details."""

    code: StatusCode
    text: str
    trailing_metadata: tuple[tuple[str, str | bytes], ...]


def to_status(error: BaseException, request_id: str) -> WireStatus:
    """The status for `error`: its category's, or INTERNAL with a generic text for anything else."""
    code = StatusCode.INTERNAL
    if isinstance(error, HandrailError):
        for category, mapped in _CODES:
            if isinstance(error, category):
                code = mapped
                break
    if code is StatusCode.INTERNAL:
        return build_status(code, INTERNAL_TEXT, reason="INTERNAL", request_id=request_id)
    assert isinstance(error, HandrailError)
    return build_status(
        code,
        error.message,
        reason=error.reason,
        request_id=request_id,
        metadata=error.metadata,
        extra=_category_detail(error),
    )


def deadline_status(request_id: str, seconds: float) -> WireStatus:
    """A deadline that we set ran out: DEADLINE_EXCEEDED with the limit named."""
    limit = f"{seconds:.3g}" if seconds < 1000 else f"{seconds:.0f}"
    return build_status(
        StatusCode.DEADLINE_EXCEEDED,
        f"no answer within {limit} seconds; the request may still take effect: repeat it with its request_id",
        reason="DEADLINE_EXCEEDED",
        request_id=request_id,
        metadata={"deadline_seconds": limit},
    )


def forwarded_status(
    error: grpc.aio.AioRpcError, request_id: str, *, away: Unavailable, deadline_seconds: float
) -> WireStatus:
    """What a proxy answers for a peer's failed call.

    A status with details was made by a peer of ours and passes unchanged, trailing metadata included. One without was
    made by gRPC itself: `away` for a connection that failed or broke, DEADLINE_EXCEEDED with the limit named, INTERNAL
    with the generic text for what has no category; any other keeps its code and gets an ErrorInfo.
    """
    code = error.code()
    if has_details(error):
        return WireStatus(code, error.details() or "", tuple(error.trailing_metadata() or ()))
    match code:
        case StatusCode.DEADLINE_EXCEEDED:
            return deadline_status(request_id, deadline_seconds)
        case StatusCode.UNAVAILABLE | StatusCode.CANCELLED:
            return to_status(away, request_id)
        case StatusCode.INTERNAL | StatusCode.UNKNOWN | StatusCode.DATA_LOSS:
            return to_status(error, request_id)
        case _:
            return build_status(code, error.details() or "", reason=code.name, request_id=request_id)


def build_status(
    code: StatusCode,
    text: str,
    *,
    reason: str,
    request_id: str,
    metadata: dict[str, str] | None = None,
    extra: Message | None = None,
) -> WireStatus:
    """Assemble the status, cutting texts and then dropping violations until the details fit in 4 KiB."""
    text = _cut(text, _MOST_TEXT)
    info = error_details_pb2.ErrorInfo(reason=reason, domain=ERROR_DOMAIN)
    for key, value in (metadata or {}).items():
        info.metadata[key] = _cut(value, _MOST_METADATA_TEXT)
    info.metadata["request_id"] = request_id
    data = _serialise(code, text, info, extra)
    while len(data) > MOST_DETAIL_BYTES:
        if isinstance(extra, error_details_pb2.BadRequest) and extra.field_violations:
            del extra.field_violations[-1]
        elif isinstance(extra, error_details_pb2.PreconditionFailure) and extra.violations:
            del extra.violations[-1]
        else:
            extra = None
            info.metadata.clear()
            info.metadata["request_id"] = request_id
            data = _serialise(code, text, info, None)
            break
        data = _serialise(code, text, info, extra)
    return WireStatus(code, text, ((DETAILS_KEY, data),))


async def abort(context: grpc.aio.ServicerContext[Any, Any], status: WireStatus) -> NoReturn:
    """End the RPC with `status` and the request id as trailers; raises gRPC's AbortError, which must not be caught."""
    trailers = status.trailing_metadata
    request_id = current_request_id()
    if request_id and all(key != REQUEST_ID_HEADER for key, _ in trailers):
        trailers = (*trailers, (REQUEST_ID_HEADER, request_id))
    await context.abort(status.code, status.text, trailers)
    raise AssertionError("abort returned")


def from_rpc_error(error: grpc.aio.AioRpcError) -> HandrailError:
    """The category of a failed call, with reason, metadata and violations where the peer sent them.

    A deadline or a connection that broke is Unavailable (reason DEADLINE_EXCEEDED, PEER_UNAVAILABLE); statuses
    outside the ten categories are RemoteFault.
    """
    code = error.code()
    text = error.details() or ""
    details = _details_of(error)
    info = error_details_pb2.ErrorInfo()
    if details is not None:
        _unpack(details, info)
    reason = info.reason or _default_reason(code)
    metadata = dict(info.metadata)
    match code:
        case StatusCode.INVALID_ARGUMENT:
            return InvalidArgument(text, _field_violations(details), reason=reason, metadata=metadata)
        case StatusCode.FAILED_PRECONDITION:
            return FailedPrecondition(text, _precondition_violations(details), reason=reason, metadata=metadata)
        case StatusCode.RESOURCE_EXHAUSTED:
            return ResourceExhausted(text, reason=reason, retry_after=_retry_after(details), metadata=metadata)
        case StatusCode.UNAVAILABLE | StatusCode.DEADLINE_EXCEEDED | StatusCode.CANCELLED:
            return Unavailable(text, reason=reason, retry_after=_retry_after(details), metadata=metadata)
        case StatusCode.NOT_FOUND:
            return NotFound(text, reason=reason, metadata=metadata)
        case StatusCode.ALREADY_EXISTS:
            return AlreadyExists(text, reason=reason, metadata=metadata)
        case StatusCode.ABORTED:
            return Aborted(text, reason=reason, metadata=metadata)
        case StatusCode.PERMISSION_DENIED:
            return PermissionDenied(text, reason=reason, metadata=metadata)
        case StatusCode.UNAUTHENTICATED:
            return Unauthenticated(text, reason=reason, metadata=metadata)
        case StatusCode.OUT_OF_RANGE:
            return OutOfRange(text, reason=reason, metadata=metadata)
        case _:
            return RemoteFault(text, reason=reason, metadata=metadata)


def code_name(error: BaseException | None) -> str:
    """The status name for metrics and spans: 'OK' for None, 'NOT_FOUND', …, 'INTERNAL'."""
    if error is None:
        return StatusCode.OK.name
    if isinstance(error, grpc.aio.AioRpcError):
        return error.code().name
    return to_status(error, "").code.name


def is_internal(answer: WireStatus) -> bool:
    """Whether the cause has to be logged because the client is not told."""
    return answer.code is StatusCode.INTERNAL


def _default_reason(code: StatusCode) -> str:
    if code is StatusCode.UNAVAILABLE:
        return "PEER_UNAVAILABLE"
    if code is StatusCode.CANCELLED:
        return "CANCELED"
    return code.name


def _serialise(code: StatusCode, text: str, info: error_details_pb2.ErrorInfo, extra: Message | None) -> bytes:
    status = status_pb2.Status(code=code.value[0], message=text)
    status.details.add().Pack(info)
    if extra is not None:
        status.details.add().Pack(extra)
    data: bytes = status.SerializeToString()
    return data


def _category_detail(error: HandrailError) -> Message | None:
    detail: Message | None = None
    if isinstance(error, InvalidArgument) and error.field_violations:
        detail = bad = error_details_pb2.BadRequest()
        for field in error.field_violations:
            bad.field_violations.add(field=field.field, description=_cut(field.description, _MOST_TEXT))
    elif isinstance(error, FailedPrecondition) and error.violations:
        detail = unmet = error_details_pb2.PreconditionFailure()
        for violation in error.violations:
            unmet.violations.add(
                type=violation.type,
                subject=violation.subject,
                description=_cut(violation.description, _MOST_TEXT),
            )
    elif isinstance(error, ResourceExhausted | Unavailable) and error.retry_after is not None:
        delay = Duration()
        delay.FromTimedelta(max(error.retry_after, timedelta(0)))
        detail = error_details_pb2.RetryInfo(retry_delay=delay)
    return detail


def _details_of(error: grpc.aio.AioRpcError) -> status_pb2.Status | None:
    for key, value in error.trailing_metadata() or ():
        if key == DETAILS_KEY and isinstance(value, bytes):
            try:
                return status_pb2.Status.FromString(value)
            except DecodeError:
                return None
    return None


def has_details(error: grpc.aio.AioRpcError) -> bool:
    """Whether a peer of ours made this status (the channel's own statuses carry no details)."""
    return _details_of(error) is not None


def _unpack(details: status_pb2.Status | None, into: Message) -> bool:
    if details is None:
        return False
    for packed in details.details:
        if packed.Is(into.DESCRIPTOR):
            try:
                return bool(packed.Unpack(into))
            except DecodeError:
                return False
    return False


def _field_violations(details: status_pb2.Status | None) -> list[FieldViolation]:
    bad = error_details_pb2.BadRequest()
    _unpack(details, bad)
    return [FieldViolation(v.field, v.description) for v in bad.field_violations]


def _precondition_violations(details: status_pb2.Status | None) -> list[PreconditionViolation]:
    unmet = error_details_pb2.PreconditionFailure()
    _unpack(details, unmet)
    return [PreconditionViolation(v.type, v.subject, v.description) for v in unmet.violations]


def _retry_after(details: status_pb2.Status | None) -> timedelta | None:
    retry = error_details_pb2.RetryInfo()
    if not _unpack(details, retry):
        return None
    delay: timedelta = retry.retry_delay.ToTimedelta()
    return delay


def _cut(text: str, most: int) -> str:
    """`text` within `most` bytes of UTF-8: the status text is percent-encoded on the wire, three for one. What UTF-8
    cannot hold (a lone surrogate) becomes a question mark, or the refusal itself could not be sent."""
    data = text.encode("utf-8", "replace")
    if len(data) <= most:
        return data.decode("utf-8")
    return data[: most - 3].decode("utf-8", "ignore") + "…"

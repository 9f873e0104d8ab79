"""The ten categories of refusal that may cross the wire (contract.md 'Failures'), and start-up refusals.

Every layer raises these; `handrail_rpc.status` alone turns them into gRPC statuses and back. Standard library
only, so that the domain and application layers may import it. A message is read by clients: it names the field,
the accepted form or the limit, and never quotes an exception.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Self

_REASON = re.compile(r"[A-Z][A-Z0-9_]{0,62}")


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """One wrong request field: `field` is its path in the request (`reply.clarification_id`)."""

    field: str
    description: str


@dataclass(frozen=True, slots=True)
class PreconditionViolation:
    """One unmet precondition: what kind (`APPROVAL_STATE`), of what (`apr_01`), and the current state in words."""

    type: str
    subject: str
    description: str


class HandrailError(Exception):
    """A refusal whose text a client may read.

    `reason` is UPPER_SNAKE and stable (ErrorInfo.reason); `metadata` holds short machine-readable facts
    (ErrorInfo.metadata), never credentials or a person's text. Raises ValueError for a reason of another shape.
    """

    def __init__(self, reason: str, message: str, *, metadata: Mapping[str, str] | None = None) -> None:
        if not _REASON.fullmatch(reason):
            raise ValueError(f"reason must be UPPER_SNAKE, at most 63 characters, not {reason!r}")
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.metadata: dict[str, str] = dict(metadata or {})

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}"


class InvalidArgument(HandrailError):
    """The request's shape is wrong, whatever the state; sending it again cannot work."""

    def __init__(
        self,
        message: str = "the request is not valid",
        field_violations: Iterable[FieldViolation] = (),
        *,
        reason: str = "INVALID_ARGUMENT",
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(reason, message, metadata=metadata)
        self.field_violations = tuple(field_violations)

    @classmethod
    def field(cls, field: str, description: str, *, reason: str = "INVALID_ARGUMENT") -> Self:
        """One wrong field: `InvalidArgument.field('text', 'must not be empty')`."""
        return cls(f"{field}: {description}", [FieldViolation(field, description)], reason=reason)

    @classmethod
    def fields(cls, violations: Iterable[FieldViolation], *, reason: str = "INVALID_ARGUMENT") -> Self:
        """Several wrong fields at once; the message joins them."""
        found = tuple(violations)
        return cls("; ".join(f"{v.field}: {v.description}" for v in found), found, reason=reason)


class NotFound(HandrailError):
    """No such thing, or nothing the caller may see (the two are not told apart)."""

    def __init__(self, message: str, *, reason: str = "NOT_FOUND", metadata: Mapping[str, str] | None = None) -> None:
        super().__init__(reason, message, metadata=metadata)

    @classmethod
    def of(cls, kind: str, identifier: str) -> Self:
        """`NotFound.of('conversation', 'cnv_1')`: reason CONVERSATION_NOT_FOUND, the id named in the message."""
        return cls(
            f"{kind} {identifier!r} does not exist or is not visible to the caller",
            reason=f"{kind.upper().replace(' ', '_')}_NOT_FOUND",
        )


class AlreadyExists(HandrailError):
    """The identifier is taken: a request_id was used before with another body."""

    def __init__(
        self, message: str, *, reason: str = "ALREADY_EXISTS", metadata: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(reason, message, metadata=metadata)


class FailedPrecondition(HandrailError):
    """The state forbids it (illegal transition, digest never issued, already resolved); names the current state."""

    def __init__(
        self,
        message: str,
        violations: Iterable[PreconditionViolation] = (),
        *,
        reason: str = "FAILED_PRECONDITION",
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(reason, message, metadata=metadata)
        self.violations = tuple(violations)

    @classmethod
    def state(cls, type: str, subject: str, description: str, *, reason: str | None = None) -> Self:
        """One violation: `.state('APPROVAL_STATE', 'apr_1', 'already approved by ann at 10:02')`."""
        return cls(description, [PreconditionViolation(type, subject, description)], reason=reason or type)


class Aborted(HandrailError):
    """Lost against a concurrent change (stale plan version, lost lease): read the current state and try again."""

    def __init__(self, message: str, *, reason: str = "ABORTED", metadata: Mapping[str, str] | None = None) -> None:
        super().__init__(reason, message, metadata=metadata)


class PermissionDenied(HandrailError):
    """The caller is known and may not do this."""

    def __init__(
        self, message: str, *, reason: str = "PERMISSION_DENIED", metadata: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(reason, message, metadata=metadata)


class Unauthenticated(HandrailError):
    """Who calls is not established."""

    def __init__(
        self, message: str, *, reason: str = "UNAUTHENTICATED", metadata: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(reason, message, metadata=metadata)


class ResourceExhausted(HandrailError):
    """Admission refused for now; `retry_after` says when trying again makes sense (None: unknown)."""

    def __init__(
        self,
        message: str,
        *,
        reason: str = "RESOURCE_EXHAUSTED",
        retry_after: timedelta | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(reason, message, metadata=metadata)
        self.retry_after = retry_after


class Unavailable(HandrailError):
    """A part that is needed is away; the same request may be sent again (`retry_after`, None: unknown)."""

    def __init__(
        self,
        message: str,
        *,
        reason: str = "UNAVAILABLE",
        retry_after: timedelta | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(reason, message, metadata=metadata)
        self.retry_after = retry_after


class OutOfRange(HandrailError):
    """A cursor outside what is stored; the message names the valid range."""

    def __init__(
        self, message: str, *, reason: str = "OUT_OF_RANGE", metadata: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(reason, message, metadata=metadata)


class RemoteFault(HandrailError):
    """A peer answered with a status outside the ten categories (INTERNAL, UNKNOWN, UNIMPLEMENTED, …).

    Made by `status.from_rpc_error` only. Passed on, it becomes INTERNAL with the generic text.
    """

    def __init__(self, message: str, *, reason: str = "INTERNAL", metadata: Mapping[str, str] | None = None) -> None:
        super().__init__(reason, message, metadata=metadata)


class StartRefused(Exception):
    """A process cannot start; the text is for the operator's terminal and names the setting, file or port.

    `handrail_rpc.server.run_process` prints it without a traceback and exits with `exit_code`.
    """

    def __init__(self, message: str, *, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code

"""What belongs to the call being served: request id, caller, trace parent. Read anywhere, set at the boundary.

`interceptors.boundary` sets it for each RPC; a background worker sets it with `call_context`; the client side
(`channel.open_channel`) sends it on. Context variables are inherited by tasks, so one `with` covers a whole run.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal

from handrail_rpc.errors import FieldViolation, InvalidArgument

Locale = Literal["en", "ru"]

REQUEST_ID_HEADER = "x-request-id"
PRINCIPAL_HEADER = "x-handrail-principal"
TENANT_HEADER = "x-handrail-tenant"
ROLES_HEADER = "x-handrail-roles"
LANGUAGE_HEADER = "accept-language"
TRACEPARENT_HEADER = "traceparent"

EVERY_ROLE = "*"
_NAME = re.compile(r"[A-Za-z0-9._@:+/=-]{1,128}")
_REQUEST_ID = re.compile(r"[\x21-\x7e]{1,128}")
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_NAME_FORM = "1 to 128 of the characters A-Z a-z 0-9 . _ @ : + / = -"
_MOST_ROLES = 64
_CALLER_HEADERS = frozenset({PRINCIPAL_HEADER, TENANT_HEADER, ROLES_HEADER, LANGUAGE_HEADER})


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, as the metadata says (contract.md 'Processes'). `roles` of {'*'} means every role."""

    principal: str = "local"
    tenant: str = "local"
    roles: frozenset[str] = field(default_factory=lambda: frozenset({EVERY_ROLE}))
    locale: Locale = "en"

    def has_role(self, role: str) -> bool:
        """True for a role the caller holds; an empty `role` means none is required."""
        return not role or EVERY_ROLE in self.roles or role in self.roles


LOCAL_CALLER = Caller()

_request_id: ContextVar[str] = ContextVar("handrail_request_id", default="")
_caller: ContextVar[Caller] = ContextVar("handrail_caller", default=LOCAL_CALLER)
_traceparent: ContextVar[str] = ContextVar("handrail_traceparent", default="")


def current_request_id() -> str:
    """The x-request-id of the call or run being served; "" outside one."""
    return _request_id.get()


def current_caller() -> Caller:
    """The caller of the RPC being served; outside one, the local caller with every role."""
    return _caller.get()


def incoming_traceparent() -> str:
    """The W3C traceparent to hand on ("" if none). Prefer `telemetry.current_traceparent` in servers."""
    return _traceparent.get()


def new_request_id() -> str:
    return f"req_{secrets.token_hex(12)}"


def set_call(request_id: str, caller: Caller, traceparent: str = "") -> None:
    """Set all three for the current task (the boundary's use: a served RPC has its own task)."""
    _request_id.set(request_id)
    _caller.set(caller)
    _traceparent.set(traceparent)


def set_traceparent(traceparent: str) -> None:
    _traceparent.set(traceparent)


@contextmanager
def call_context(
    *, request_id: str | None = None, caller: Caller | None = None, traceparent: str | None = None
) -> Iterator[None]:
    """Set the given parts for the block (a worker's run, a client program); None leaves a part as it is."""
    before = (_request_id.get(), _caller.get(), _traceparent.get())
    set_call(
        before[0] if request_id is None else request_id,
        before[1] if caller is None else caller,
        before[2] if traceparent is None else traceparent,
    )
    try:
        yield
    finally:
        set_call(*before)


def is_request_id(text: str) -> bool:
    """Whether `text` has the form of an x-request-id."""
    return _REQUEST_ID.fullmatch(text) is not None


def parse_locale(accept_language: str) -> Locale:
    """'ru' if Russian is the best accepted of the two languages we speak, else 'en'. Malformed parts are skipped."""
    best: Locale = "en"
    best_weight = 0.0
    for part in accept_language.split(","):
        tag, _, parameters = part.strip().partition(";")
        language = tag.strip().lower().partition("-")[0]
        if language not in ("en", "ru", "*"):
            continue
        name, _, value = parameters.strip().partition("=")
        try:
            weight = float(value) if name.strip() == "q" else 1.0
        except ValueError:
            continue
        if weight > best_weight:
            best_weight = weight
            best = "ru" if language == "ru" else "en"
    return best


def parse_call(metadata: Mapping[str, str]) -> tuple[str, Caller, str]:
    """Read (request_id, caller, traceparent) from lower-case metadata keys; a missing request id is made.

    Raises InvalidArgument naming each header of another form. A malformed traceparent is dropped, as W3C asks.
    """
    violations: list[FieldViolation] = []
    request_id = metadata.get(REQUEST_ID_HEADER, "")
    if not request_id:
        request_id = new_request_id()
    elif not is_request_id(request_id):
        violations.append(
            FieldViolation(REQUEST_ID_HEADER, "must be 1 to 128 printable ASCII characters without spaces")
        )
    names: dict[str, str] = {}
    for header in (PRINCIPAL_HEADER, TENANT_HEADER):
        names[header] = metadata.get(header, "local")
        if not _NAME.fullmatch(names[header]):
            violations.append(FieldViolation(header, f"must be {_NAME_FORM}"))
    roles = LOCAL_CALLER.roles
    if ROLES_HEADER in metadata:
        roles = frozenset(part.strip() for part in metadata[ROLES_HEADER].split(",") if part.strip())
        if len(roles) > _MOST_ROLES or any(r != EVERY_ROLE and not _NAME.fullmatch(r) for r in roles):
            violations.append(
                FieldViolation(ROLES_HEADER, f"must be at most {_MOST_ROLES} names, comma separated, each {_NAME_FORM}")
            )
    if violations:
        raise InvalidArgument.fields(violations, reason="INVALID_METADATA")
    locale = parse_locale(metadata[LANGUAGE_HEADER]) if LANGUAGE_HEADER in metadata else "en"
    traceparent = metadata.get(TRACEPARENT_HEADER, "")
    if traceparent and not _TRACEPARENT.fullmatch(traceparent):
        traceparent = ""
    if len(metadata.keys() & _CALLER_HEADERS) == 0:
        caller = LOCAL_CALLER
    else:
        caller = Caller(names[PRINCIPAL_HEADER], names[TENANT_HEADER], roles, locale)
    return request_id, caller, traceparent


def outgoing_metadata() -> list[tuple[str, str]]:
    """The metadata that carries the current call on to the next process."""
    caller = _caller.get()
    pairs = [(REQUEST_ID_HEADER, _request_id.get() or new_request_id())]
    if caller is not LOCAL_CALLER:
        pairs += [
            (PRINCIPAL_HEADER, caller.principal),
            (TENANT_HEADER, caller.tenant),
            (ROLES_HEADER, ",".join(sorted(caller.roles))),
            (LANGUAGE_HEADER, caller.locale),
        ]
    traceparent = _traceparent.get()
    if traceparent:
        pairs.append((TRACEPARENT_HEADER, traceparent))
    return pairs

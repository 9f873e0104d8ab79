"""Opaque page tokens: a position in one list, bound to the method and its subject, so that no other list takes it."""

from __future__ import annotations

import base64
import binascii
import json

from handrail_rpc.digest import sha256_hex
from handrail_rpc.errors import InvalidArgument
from loop_service.domain.conversation import DEFAULT_PAGE, MOST_PAGE

_MOST_TOKEN = 512
_MOST_NUMBER = 2**53


def page_size(requested: int) -> int:
    """1 to 200; 0 means 50. Raises InvalidArgument naming the range."""
    if requested < 0 or requested > MOST_PAGE:
        raise InvalidArgument.field("page_size", f"must be 1 to {MOST_PAGE}, or 0 for {DEFAULT_PAGE}")
    return requested or DEFAULT_PAGE


def encode_token(scope: str, position: list[int | str]) -> str:
    """`scope` names the method and what the list is of."""
    data = json.dumps([_mark(scope), *position], separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def decode_token(scope: str, token: str, shape: tuple[type, ...]) -> list[int | str] | None:
    """The position; None for an empty token. Raises InvalidArgument for a token that this list did not give out."""
    if not token:
        return None
    try:
        if len(token) > _MOST_TOKEN:
            raise ValueError("too long")
        data = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        if not isinstance(data, list) or len(data) != len(shape) + 1 or data[0] != _mark(scope):
            raise ValueError("of another list")
        position = data[1:]
        if any(type(value) is not wanted for value, wanted in zip(position, shape, strict=True)):
            raise ValueError("of another shape")
        if any(isinstance(value, int) and not 0 <= value <= _MOST_NUMBER for value in position):
            raise ValueError("no position")
        if any(isinstance(value, str) and not value.isascii() for value in position):
            raise ValueError("no id of ours")
    except (ValueError, binascii.Error) as error:
        raise InvalidArgument.field(
            "page_token", "must be empty or the next_page_token of this same list", reason="PAGE_TOKEN_INVALID"
        ) from error
    return list(position)


def _mark(scope: str) -> str:
    return sha256_hex(scope.encode())[:12]

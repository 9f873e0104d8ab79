"""Content of artifacts: how it is encoded for storing and decoded for tools, by media type."""

from __future__ import annotations

import json
from typing import Any

from handrail_rpc.digest import canonical_json


def is_json(media_type: str) -> bool:
    """Whether content of this type is stored and hashed as RFC 8785 JSON."""
    return media_type == "application/json" or media_type.endswith("+json")


def encode_content(media_type: str, content: Any) -> bytes:
    """Bytes to store. Raises NotCanonical for JSON without a canonical form, TypeError for other content than bytes."""
    if is_json(media_type):
        return canonical_json(content)
    if isinstance(content, str):
        return content.encode("utf-8")
    if isinstance(content, bytes):
        return content
    raise TypeError(f"content of {media_type} must be bytes or text")


def parse_content(media_type: str, data: bytes) -> Any:
    """What a tool's artifact parameter gets: a JSON value, or the bytes."""
    return parse_stored(data) if is_json(media_type) else data


def parse_stored(data: bytes) -> Any:
    """The value of bytes that were made canonical before they were stored: they need no second check."""
    return json.loads(data)

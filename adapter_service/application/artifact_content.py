"""Content of artifacts: how it is encoded for storing and decoded for tools, by media type."""

from __future__ import annotations

import json
from typing import Any

from adapter_service.sdk import Text
from adapter_service.sdk.artifact import is_json
from handrail_rpc.digest import canonical_json


class ContentTooLarge(ValueError):
    """A result or the artifact that it makes is larger than what is kept. `what` is told to people."""

    def __init__(self, what: Text, size: int, limit: int) -> None:
        super().__init__(f"the {what.en} has {size} bytes, more than {limit}")
        self.what, self.size, self.limit = what, size, limit


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

"""Where the parts of a document are written: what the edits work on, for YAML and JSON alike.

Built by json_text.py and yaml_text.py; read by text_edits.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Node:
    """`start` and `end` are character offsets; `end` of a block collection is its last part's, without comments after.

    kind: "scalar", "mapping", "sequence" or "alias". `content` is where the value starts after its anchor and tag.
    `value` is a scalar's; `style` is YAML's: "" plain, "'", '"', "|", ">".
    """

    kind: str
    start: int
    end: int
    flow: bool
    value: Any = None
    entries: list[Entry] = field(default_factory=list)
    style: str = ""
    content: int = -1

    def __post_init__(self) -> None:
        if self.content < 0:
            self.content = self.start


@dataclass(slots=True)
class Entry:
    """A mapping's key with its value, or a sequence's item (`key` None). `start` is of the "-" or the key."""

    key: Node | None
    value: Node
    start: int = -1

    def __post_init__(self) -> None:
        if self.start < 0:
            self.start = self.key.start if self.key else self.value.start


def key_of(entry: Entry) -> str:
    return str(entry.key.value) if entry.key else ""


def plain_value(node: Node) -> Any:
    """The JSON value of a node tree without aliases (JSON's)."""
    if node.kind == "mapping":
        return {key_of(entry): plain_value(entry.value) for entry in node.entries}
    if node.kind == "sequence":
        return [plain_value(entry.value) for entry in node.entries]
    return node.value

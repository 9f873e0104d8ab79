"""JSON with positions: also comments and trailing commas, as configuration files have them.

Called by structured.py where strict JSON fails, and by the edits, which need to know where each value is written.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from .limits import MAX_DEPTH
from .text_nodes import Entry, Node

_SPACE: Final = re.compile(r"(?:[\s\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_WORDS: Final = {"true": True, "false": False, "null": None}


class UnreadableJson(Exception):
    """The text is no JSON, from `line` (from 1) on."""

    def __init__(self, line: int) -> None:
        super().__init__(f"line {line}")
        self.line = line


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def skip(self) -> str:
        """Past spaces and comments; the next character, "" at the end."""
        match = _SPACE.match(self.text, self.position)
        self.position = match.end() if match else self.position
        return self.text[self.position : self.position + 1]

    def fail(self) -> UnreadableJson:
        return UnreadableJson(self.text.count("\n", 0, self.position) + 1)

    def expect(self, mark: str) -> None:
        if self.skip() != mark:
            raise self.fail()
        self.position += 1

    def node(self, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise self.fail()
        mark = self.skip()
        start = self.position
        if mark == "{":
            return self._collection(start, "mapping", "}", depth)
        if mark == "[":
            return self._collection(start, "sequence", "]", depth)
        for pattern in (_STRING, _NUMBER):
            match = pattern.match(self.text, start)
            if match:
                self.position = match.end()
                return Node("scalar", start, self.position, flow=True, value=self._scalar(match.group()))
        for word, value in _WORDS.items():
            if self.text.startswith(word, start):
                self.position += len(word)
                return Node("scalar", start, self.position, flow=True, value=value)
        raise self.fail()

    def _scalar(self, text: str) -> Any:
        try:
            return json.loads(text)
        except ValueError:
            raise self.fail() from None

    def _collection(self, start: int, kind: str, closing: str, depth: int) -> Node:
        self.position += 1
        entries: list[Entry] = []
        while self.skip() != closing:
            if entries:
                self.expect(",")
                if self.skip() == closing:
                    break
            key = None
            if kind == "mapping":
                key = self.node(depth + 1)
                if not isinstance(key.value, str):
                    raise self.fail()
                self.expect(":")
            value = self.node(depth + 1)
            entries.append(Entry(key, value))
        self.position += 1
        return Node(kind, start, self.position, flow=True, entries=entries)


def read_json(text: str) -> Node:
    """The root node with the positions of every part. Raises UnreadableJson."""
    reader = _Reader(text)
    node = reader.node(0)
    if reader.skip():
        raise reader.fail()
    return node

"""YAML text to plain JSON values, tolerant: YAML 1.2's core schema, unknown tags, anchors, merge keys, duplicate keys.

Called by structured.py for every YAML file of a workspace, so it is the part whose speed decides how fast a workspace
opens: libyaml composes the nodes, and the conversion below is one pass over them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import yaml

from .errors import quoted
from .findings import Finding, at, finding
from .limits import MAX_DEPTH, MAX_DOCUMENT_NODES, MOST_DUPLICATES
from .pointers import to_pointer

# YAML 1.2.2, section 10.3.2 (core schema). Dates stay text: JSON has none, and a changed spelling would be a change.
_NULL: Final = frozenset(["", "~", "null", "Null", "NULL"])
_TRUE: Final = frozenset(["true", "True", "TRUE"])
_FALSE: Final = frozenset(["false", "False", "FALSE"])
_INT: Final = re.compile(r"[-+]?[0-9]+")
_OCTAL: Final = re.compile(r"0o[0-7]+")
_HEX: Final = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
# A number of more digits stays text: Python refuses to print it, and no program means it as a number.
_MOST_DIGITS: Final = 400
_DEFAULT: Final = "?"
_STANDARD: Final = "tag:yaml.org,2002:"
# No text of a file can be this key: even U+0000 can be written, as "\\0".
MERGED: Final[Any] = object()
# A text counts as one value for each of this many characters: an alias to a long text is as large as the text.
_TEXT_OF_A_VALUE: Final = 64


class UnreadableYaml(Exception):
    """The text is no YAML that has a value: `line` from 1, or 0 where the whole document is meant."""

    def __init__(self, line: int, en: str, ru: str) -> None:
        super().__init__(en)
        self.line = line
        self.en = en
        self.ru = ru


class _Nodes(yaml.CSafeLoader):
    """libyaml's composer without PyYAML's tag guessing, which follows YAML 1.1 and takes half of the time."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:
        return _DEFAULT

    def descend_resolver(self, current_node: Any, current_index: Any) -> None:
        return None

    def ascend_resolver(self) -> None:
        return None


@lru_cache(maxsize=65536)
def plain_scalar(text: str) -> Any:
    """The value of an unquoted scalar by the core schema."""
    first = text[:1]
    if first.isalpha() and first not in "nNtTfF":
        return text
    if text in _NULL:
        return None
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    if len(text) <= _MOST_DIGITS:
        if _INT.fullmatch(text):
            return int(text)
        if _OCTAL.fullmatch(text):
            return int(text[2:], 8)
        if _HEX.fullmatch(text):
            return int(text[2:], 16)
        if _FLOAT.fullmatch(text):
            number = float(text)
            # JSON has no infinity: "1e999" stays what the file says.
            return number if abs(number) != float("inf") else text
    return text


def compose_documents(text: str) -> list[Any]:
    """The root node of each document of a file. Raises UnreadableYaml."""
    loader = _Nodes(text)
    documents = []
    try:
        while loader.check_node():
            documents.append(loader.get_node())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _unreadable(mark.line + 1 if mark else 0) from None
    except yaml.YAMLError:
        raise _unreadable(0) from None
    finally:
        loader.dispose()
    return documents


def _unreadable(line: int) -> UnreadableYaml:
    where_en, where_ru = (f" (line {line})", f" (строка {line})") if line else ("", "")
    return UnreadableYaml(
        line,
        f"The file is no readable YAML{where_en}. It is shown as text only.",
        f"Файл не читается как YAML{where_ru}. Он показан только как текст.",
    )


class Converter:
    """One document's nodes to values; what was odd is in `findings`. An anchor's value is one object at every alias.

    With `keep_merges` a mapping has its merged mappings under the key MERGED, for `expanded`.
    """

    def __init__(self, path: str, keep_merges: bool = False) -> None:
        self.path = path
        self._keep_merges = keep_merges
        self.findings: list[Finding] = []
        self._seen: dict[int, Any] = {}
        self._sizes: dict[int, int] = {}
        self._open: set[int] = set()
        self._merged = 0

    def value(self, node: Any) -> Any:
        """Raises UnreadableYaml for an anchor within itself, too deep or too large a document."""
        if node is None:
            return None
        value, size = self._convert(node, ())
        _checked(size)
        return value

    def _convert(self, node: Any, steps: tuple[str | int, ...]) -> tuple[Any, int]:
        if node.__class__ is yaml.ScalarNode:
            return _scalar(node), _weight(node.value)
        identity = id(node)
        if identity in self._seen:
            return self._seen[identity], self._sizes[identity]
        if identity in self._open or len(steps) > MAX_DEPTH:
            raise UnreadableYaml(
                node.start_mark.line + 1,
                f"The document contains itself through an anchor, or is nested deeper than {MAX_DEPTH} levels. "
                "It is shown as text only.",
                f"Документ содержит сам себя через якорь или вложен глубже {MAX_DEPTH} уровней. "
                "Он показан только как текст.",
            )
        self._open.add(identity)
        value, size = (self._sequence if node.__class__ is yaml.SequenceNode else self._mapping)(node, steps)
        self._open.discard(identity)
        _checked(size)
        self._seen[identity] = value
        self._sizes[identity] = size
        return value, size

    def _sequence(self, node: Any, steps: tuple[str | int, ...]) -> tuple[list[Any], int]:
        items = []
        size = 1
        for number, item in enumerate(node.value):
            if item.__class__ is yaml.ScalarNode:
                items.append(_scalar(item))
                size += _weight(item.value)
            else:
                value, inner = self._convert(item, (*steps, number))
                items.append(value)
                size += inner
        return items, size

    def _mapping(self, node: Any, steps: tuple[str | int, ...]) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        merged: list[Any] = []
        size = 1
        scalar_node = yaml.ScalarNode
        for key_node, value_node in node.value:
            scalar_key = key_node.__class__ is scalar_node
            key = key_node.value if scalar_key else key_text(key_node, self._convert, steps)
            size += len(key) // _TEXT_OF_A_VALUE
            if not scalar_key:
                _checked(size)
            if key == "<<" and scalar_key and not key_node.style:
                merged.append(value_node)
                continue
            if key in found:
                self._duplicate(key, (*steps, key), key_node.start_mark.line + 1)
            if value_node.__class__ is scalar_node:
                if value_node.tag == _DEFAULT:
                    found[key] = value_node.value if value_node.style else plain_scalar(value_node.value)
                else:
                    found[key] = _scalar(value_node)
                size += _weight(value_node.value)
            else:
                found[key], inner = self._convert(value_node, (*steps, key))
                size += inner
        for value_node in merged:
            value, inner = self._convert(value_node, (*steps, "<<"))
            size += inner
            sources = value if isinstance(value, list) else [value]
            if self._keep_merges:
                found.setdefault(MERGED, []).extend(sources)
                continue
            for source in sources:
                if isinstance(source, dict):
                    # Unlike an alias, a merge makes the entries anew.
                    self._merged = _checked(self._merged + len(source))
                    for key, item in source.items():
                        found.setdefault(key, item)
        return found, size

    def _duplicate(self, key: str, steps: tuple[str | int, ...], line: int) -> None:
        if len(self.findings) >= MOST_DUPLICATES:
            return
        self.findings.append(
            finding(
                "warning",
                at(self.path, to_pointer(steps)),
                "duplicate_key",
                f"The key {quoted(key)} is there twice (again in line {line}); the last one counts.",
                f"Ключ {quoted(key)} указан дважды (снова в строке {line}); действует последний.",
            )
        )


def _weight(text: str) -> int:
    return 1 + len(text) // _TEXT_OF_A_VALUE


def _checked(size: int) -> int:
    """The size, in values. Raises UnreadableYaml for one that only anchors that repeat each other come to."""
    if size > MAX_DOCUMENT_NODES:
        raise UnreadableYaml(
            0,
            f"The document has more than {MAX_DOCUMENT_NODES} values once its anchors are expanded. "
            "It is shown as text only.",
            f"В документе больше {MAX_DOCUMENT_NODES} значений после раскрытия якорей. Он показан только как текст.",
        )
    return size


def _scalar(node: Any) -> Any:
    tag = node.tag
    if tag == _DEFAULT:
        return node.value if node.style else plain_scalar(node.value)
    if tag.startswith(_STANDARD) and tag[len(_STANDARD) :] in ("int", "float", "bool", "null"):
        return plain_scalar(node.value)
    return node.value


def key_text(
    node: Any, convert: Callable[[Any, tuple[str | int, ...]], tuple[Any, int]], steps: tuple[str | int, ...]
) -> str:
    """A key that is a collection, as its JSON text: JSON has no other keys than texts."""
    return json.dumps(convert(node, steps)[0], ensure_ascii=False)


def expanded(value: Any, seen: dict[int, Any] | None = None) -> Any:
    """The values of a tree with kept merges: a merged mapping's keys where the mapping has none of its own."""
    done = {} if seen is None else seen
    if not isinstance(value, dict | list):
        return value
    if id(value) in done:
        return done[id(value)]
    result: Any
    if isinstance(value, list):
        result = [expanded(item, done) for item in value]
    else:
        result = {key: expanded(item, done) for key, item in value.items() if key != MERGED}
        for source in value.get(MERGED, ()):
            for key, item in expanded(source, done).items() if isinstance(source, dict) else ():
                result.setdefault(key, item)
    done[id(value)] = result
    return result


def place_in_merged(tree: Any, steps: tuple[str | int, ...]) -> Any:
    """The collection at `steps` of a tree with kept merges. Raises KeyError or IndexError."""
    for step in steps:
        tree = _child(tree, step)
    return tree


def _child(tree: Any, step: str | int) -> Any:
    if isinstance(tree, dict) and step not in tree:
        for source in tree.get(MERGED, ()):
            try:
                return _child(source, step)
            except (KeyError, TypeError):
                continue
    return tree[step]

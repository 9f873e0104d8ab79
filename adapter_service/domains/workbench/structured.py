"""A YAML, JSON or TOML file as documents: plain JSON values with their place in the text, and findings.

Called by the index for every new file, and by the edits and the validation for a changed text. Never raises for what
a file contains: what cannot be read becomes a text-only document with a finding.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from datetime import date, datetime, time
from typing import Any, Final

from .findings import Finding, finding
from .json_text import UnreadableJson, read_json
from .limits import MAX_DEPTH, MOST_DUPLICATES
from .text_nodes import plain_value
from .yaml_values import Converter, UnreadableYaml, compose_documents

_TEMPLATE_MARKS: Final = (("{{", "}}"), ("{%", "%}"))
_TOML_STRING: Final = re.compile(r"\"[^\"]*\"|'[^']*'")
_LONG_KEY: Final = re.compile(rf"(?<![\w-])(?:[\w-]*[ \t]*\.[ \t]*){{{MAX_DEPTH}}}")
_SEPARATOR: Final = re.compile(r"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """`value` is None and `text_only` True where the text could not be read; `start` and `end` are offsets."""

    value: Any
    start: int
    end: int
    text_only: bool = False


@dataclass(frozen=True, slots=True)
class ParsedFile:
    documents: list[ParsedDocument]
    findings: list[Finding] = field(default_factory=list)


def parse_file(path: str, file_format: str, text: str) -> ParsedFile:
    """The documents of a text. A file without content has none; several only in YAML ("---")."""
    body = text.removeprefix("\ufeff")
    shift = len(text) - len(body)
    parsed = _PARSERS[file_format](path, body)
    if not shift:
        return parsed
    moved = [
        ParsedDocument(each.value, each.start + shift, each.end + shift, each.text_only) for each in parsed.documents
    ]
    return ParsedFile([*moved], parsed.findings)


def _yaml(path: str, text: str) -> ParsedFile:
    findings: list[Finding] = []
    documents: list[ParsedDocument] = []
    try:
        nodes = compose_documents(text)
        spans = document_spans(text, len(nodes))
        for node, (start, end) in zip(nodes, spans, strict=True):
            converter = Converter(path)
            value = converter.value(node)
            findings += converter.findings
            documents.append(ParsedDocument(value, start, end))
    except (UnreadableYaml, RecursionError) as error:
        return _text_only(path, text, _yaml_finding(path, text, error))
    # An empty document between separators says nothing; its number stays counted, so that the others keep theirs.
    if all(each.value is None for each in documents):
        return ParsedFile([], findings)
    return ParsedFile(documents, findings)


def _yaml_finding(path: str, text: str, error: Exception) -> Finding:
    if any(opening in text and closing in text[text.find(opening) :] for opening, closing in _TEMPLATE_MARKS):
        return finding(
            "info",
            path,
            "template",
            "The file is a template ({{ … }}), so it has no fixed values. It is shown as text only.",
            "Файл — шаблон ({{ … }}), постоянных значений в нём нет. Он показан только как текст.",
        )
    if isinstance(error, UnreadableYaml):
        return finding("error", path, "yaml_unreadable", error.en, error.ru)
    return _too_deep(path)


def document_spans(text: str, count: int) -> list[tuple[int, int]]:
    """Where each of `count` YAML documents lies between the "---" lines; the first begins at the text's start."""
    if count <= 1:
        return [(0, len(text))] * count
    marks = [match.start() for match in _SEPARATOR.finditer(text)]
    starts = marks[-count:] if len(marks) >= count else [0, *marks][-count:]
    if len(starts) < count:
        return [(0, len(text))] * count
    starts = [0, *starts[1:]]
    return list(zip(starts, [*starts[1:], len(text)], strict=True))


def _too_deep(path: str) -> Finding:
    return finding(
        "error",
        path,
        "too_deep",
        f"The file is nested deeper than {MAX_DEPTH} levels. It is shown as text only.",
        f"Файл вложен глубже {MAX_DEPTH} уровней. Он показан только как текст.",
    )


def _deeper(text: str, value: Any) -> bool:
    """Whether a value is nested deeper than MAX_DEPTH levels; what later walks through it may recurse."""
    if text.count("{") + text.count("[") + text.count(".") <= MAX_DEPTH:
        return False
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH + 1):
        level = [
            item
            for each in level
            for item in (each.values() if isinstance(each, dict) else each)
            if isinstance(item, dict | list)
        ]
        if not level:
            return False
    return True


def _text_only(path: str, text: str, problem: Finding) -> ParsedFile:
    return ParsedFile([ParsedDocument(None, 0, len(text), text_only=True)], [problem])


def _json(path: str, text: str) -> ParsedFile:
    if not text.strip():
        return ParsedFile([])
    duplicates: list[str] = []

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(found)
        if len(value) != len(found):
            counts = Counter(key for key, _value in found)
            duplicates.extend(key for key, count in counts.items() if count > 1)
        return value

    try:
        value = json.loads(text, object_pairs_hook=pairs, parse_constant=str, parse_float=_json_float)
    except RecursionError:
        return _text_only(path, text, _too_deep(path))
    except ValueError:
        try:
            value = plain_value(read_json(text))
        except UnreadableJson as error:
            return _text_only(
                path,
                text,
                finding(
                    "error",
                    path,
                    "json_unreadable",
                    f"The file is no readable JSON (line {error.line}). It is shown as text only.",
                    f"Файл не читается как JSON (строка {error.line}). Он показан только как текст.",
                ),
            )
    findings = [
        finding(
            "warning",
            path,
            "duplicate_key",
            f"The key “{key}” is there twice in one object; the last one counts.",
            f"Ключ «{key}» указан дважды в одном объекте; действует последний.",
        )
        for key in duplicates[:MOST_DUPLICATES]
    ]
    if _deeper(text, value):
        return _text_only(path, text, _too_deep(path))
    return ParsedFile([ParsedDocument(value, 0, len(text))], findings)


def _json_float(text: str) -> float | str:
    number = float(text)
    return number if abs(number) != float("inf") else text


def _toml(path: str, text: str) -> ParsedFile:
    if not text.strip():
        return ParsedFile([])
    if any(line.count(".") > MAX_DEPTH and _LONG_KEY.search(_TOML_STRING.sub("", line)) for line in text.splitlines()):
        # The parser's memory grows with the square of a key's parts.
        return _text_only(path, text, _too_deep(path))
    try:
        value = tomllib.loads(text)
    except RecursionError:
        return _text_only(path, text, _too_deep(path))
    except ValueError as error:  # a TOMLDecodeError, or a number of thousands of digits
        place = re.search(r"line (\d+)", str(error))
        where_en, where_ru = (f" (line {place[1]})", f" (строка {place[1]})") if place else ("", "")
        return _text_only(
            path,
            text,
            finding(
                "error",
                path,
                "toml_unreadable",
                f"The file is no readable TOML{where_en}. It is shown as text only.",
                f"Файл не читается как TOML{where_ru}. Он показан только как текст.",
            ),
        )
    if _deeper(text, value):
        return _text_only(path, text, _too_deep(path))
    return ParsedFile([ParsedDocument(toml_value(value), 0, len(text))])


def toml_value(value: Any) -> Any:
    """TOML's value as JSON: dates and times as the text that ISO 8601 gives them, inf and nan as text."""
    if isinstance(value, dict):
        return {str(key): toml_value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [toml_value(item) for item in value]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return str(value)
    return value


_PARSERS: Final = {"yaml": _yaml, "json": _json, "toml": _toml}

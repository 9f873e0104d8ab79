"""The declared mapping: a file handrail-workbench.yaml (.yml, .json, .toml) at the workspace's root.

    types:
      service:
        files: services/*.yaml              # a pattern or a list of them
        identity: /metadata/name            # a JSON pointer; without it the file's name
        title: /metadata/title
        schema: schemas/service.json
        references:
          - {path: /dependsOn/*, type: service}
    documentation: ["docs/**/*.md"]         # without it every Markdown file
    others: detect                          # or ignore: files that no type names are no documents

Read by the index whenever the file changes. A wrong entry is a finding that names it and the accepted form; the rest
of the mapping still works.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, Final

from .errors import quoted
from .findings import Finding, at, finding
from .globs import matches
from .pointers import parse_pointer, to_pointer

MAPPING_FILES: Final = (
    "handrail-workbench.yaml",
    "handrail-workbench.yml",
    "handrail-workbench.json",
    "handrail-workbench.toml",
)
# Part of the key of what is kept about a file: a release that detects otherwise reads its cache as out of date.
DETECTION_RELEASE: Final = "1"


@dataclass(frozen=True, slots=True)
class ReferenceRule:
    """Where a type's documents name others: a pointer with "*" steps, and the type that is named."""

    path: tuple[str, ...]
    type: str


@dataclass(frozen=True, slots=True)
class TypeRule:
    """One declared type. `identity` and `title` are pointers; "" where they are not declared."""

    name: str
    files: tuple[str, ...]
    identity: str = ""
    title: str = ""
    schema: str = ""
    references: tuple[ReferenceRule, ...] = ()


@dataclass(frozen=True, slots=True)
class MappingRules:
    """What the mapping says; `declared` is False without a file. `key` changes with the content."""

    path: str = ""
    types: tuple[TypeRule, ...] = ()
    documentation: tuple[str, ...] = ()
    detect_others: bool = True
    key: str = DETECTION_RELEASE
    findings: tuple[Finding, ...] = field(default=())

    @property
    def declared(self) -> bool:
        return bool(self.path)

    def rule_of(self, path: str) -> TypeRule | None:
        """The first declared type whose patterns have this path."""
        return next((rule for rule in self.types if any(matches(glob, path) for glob in rule.files)), None)

    def type_rule(self, name: str) -> TypeRule | None:
        return next((rule for rule in self.types if rule.name == name), None)

    def is_documentation(self, path: str, markdown: bool) -> bool:
        if self.documentation:
            return any(matches(glob, path) for glob in self.documentation)
        return markdown


class _Reader:
    def __init__(self, path: str) -> None:
        self.path = path
        self.findings: list[Finding] = []

    def wrong(self, steps: tuple[str | int, ...], accepted_en: str, accepted_ru: str, value: Any) -> None:
        name = to_pointer(steps)
        got = json.dumps(value, ensure_ascii=False, default=str)
        self.findings.append(
            finding(
                "error",
                at(self.path, name),
                "mapping_invalid",
                f"{name or 'The mapping'}: accepted is {accepted_en}, got {quoted(got)}. The entry is ignored.",
                f"{name or 'Описание'}: принимается {accepted_ru}, получено {quoted(got)}. Запись не учтена.",
            )
        )

    def text(self, entry: dict[str, Any], key: str, steps: tuple[str | int, ...]) -> str:
        value = entry.get(key, "")
        if isinstance(value, str):
            return value
        self.wrong((*steps, key), "a text", "текст", value)
        return ""

    def pointer(self, entry: dict[str, Any], key: str, steps: tuple[str | int, ...]) -> str:
        value = self.text(entry, key, steps)
        if value and not value.startswith("/"):
            self.wrong(
                (*steps, key), "a JSON pointer such as /metadata/name", "указатель JSON, например /metadata/name", value
            )
            return ""
        return value

    def texts(self, value: Any, steps: tuple[str | int, ...], accepted: tuple[str, str]) -> tuple[str, ...]:
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, list) or not found or not all(isinstance(each, str) and each for each in found):
            self.wrong(steps, *accepted, value)
            return ()
        return tuple(found)

    def unknown_keys(self, entry: dict[str, Any], known: tuple[str, ...], steps: tuple[str | int, ...]) -> None:
        for key in entry:
            if key not in known:
                names = ", ".join(known)
                self.wrong((*steps, key), f"one of the keys {names}", f"один из ключей {names}", key)


_PATTERNS: Final = (
    'a file pattern such as "services/*.yaml", or a list of them',
    "шаблон файлов, например «services/*.yaml», или список шаблонов",
)


def read_mapping(path: str, value: Any) -> MappingRules:
    """The rules of a mapping file's value (None where it could not be read: its own finding says so)."""
    key = hashlib.sha256(json.dumps([DETECTION_RELEASE, value], sort_keys=True, default=str).encode()).hexdigest()
    reader = _Reader(path)
    if value is None:
        return MappingRules(path=path, key=key)
    if not isinstance(value, dict):
        reader.wrong((), "an object with types and documentation", "объект с types и documentation", value)
        return MappingRules(path=path, key=key, findings=tuple(reader.findings))
    reader.unknown_keys(value, ("types", "documentation", "others"), ())
    documentation = value.get("documentation")
    others = value.get("others", "detect")
    if others not in ("detect", "ignore"):
        reader.wrong(("others",), "detect or ignore", "detect или ignore", others)
    return MappingRules(
        path=path,
        types=_types(reader, value.get("types")),
        documentation=() if documentation is None else reader.texts(documentation, ("documentation",), _PATTERNS),
        detect_others=others != "ignore",
        key=key,
        findings=tuple(reader.findings),
    )


def _types(reader: _Reader, value: Any) -> tuple[TypeRule, ...]:
    if value is None:
        return ()
    if not isinstance(value, dict):
        reader.wrong(
            ("types",), "an object: the name of a type, then its entry", "объект: имя типа, затем его описание", value
        )
        return ()
    rules = []
    for name, entry in value.items():
        steps = ("types", str(name))
        if not str(name).strip():
            reader.wrong(steps, "a name for the type", "имя типа", name)
            continue
        if not isinstance(entry, dict) or "files" not in entry:
            reader.wrong(steps, 'an object with "files"', "объект с «files»", entry)
            continue
        reader.unknown_keys(entry, ("files", "identity", "title", "schema", "references"), steps)
        files = reader.texts(entry["files"], (*steps, "files"), _PATTERNS)
        if not files:
            continue
        rules.append(
            TypeRule(
                str(name),
                files,
                reader.pointer(entry, "identity", steps),
                reader.pointer(entry, "title", steps),
                reader.text(entry, "schema", steps).removeprefix("./"),
                _references(reader, entry.get("references"), steps),
            )
        )
    names = {rule.name for rule in rules}
    for rule in rules:
        for number, reference in enumerate(rule.references):
            if reference.type not in names:
                reader.wrong(
                    ("types", rule.name, "references", number, "type"),
                    f"a declared type ({', '.join(sorted(names))})",
                    f"описанный тип ({', '.join(sorted(names))})",
                    reference.type,
                )
    return tuple(rules)


def _references(reader: _Reader, value: Any, steps: tuple[str | int, ...]) -> tuple[ReferenceRule, ...]:
    if value is None:
        return ()
    accepted = ("a list of {path: /dependsOn/*, type: service}", "список вида {path: /dependsOn/*, type: service}")
    if not isinstance(value, list):
        reader.wrong((*steps, "references"), *accepted, value)
        return ()
    rules = []
    for number, entry in enumerate(value):
        path = entry.get("path") if isinstance(entry, dict) else None
        kind = entry.get("type") if isinstance(entry, dict) else None
        if not (isinstance(path, str) and path.startswith("/") and isinstance(kind, str) and kind):
            reader.wrong((*steps, "references", number), *accepted, entry)
            continue
        rules.append(ReferenceRule(parse_pointer(path), kind))
    return tuple(rules)

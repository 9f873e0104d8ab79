"""Drafts of new documents and of documentation sections. Called by the domain's tools."""

from __future__ import annotations

import json
import re
from typing import Any

import tomlkit

from . import yaml_writing
from .change_form import Change, too_large
from .compare import changes, unified_diff
from .detection import Detected, detect
from .documentation_search import section as section_of
from .errors import WorkbenchError, quoted
from .file_formats import MEDIA_TYPES, format_of
from .limits import MAX_DOCUMENT_BYTES
from .pointers import parse_pointer, to_dotted
from .round_trip import refuse_null
from .sections import split_sections
from .terms import fold
from .view import View


def draft_new_document(view: View, type: str, identity: str, content: dict[str, Any], path: str = "") -> Change:
    """A new file with one document. Without `path` it lies beside the type's others and is named as they are.

    The identity is written into the content where the type's others have theirs. Raises WorkbenchError
    type_unknown, document_exists, path_invalid, value_invalid or too_large.
    """
    key = f"{type}/{identity}"
    if view.find(key) is not None or any(each.type == type and each.identity == identity for each in view.documents()):
        raise WorkbenchError(
            "document_exists",
            "identity",
            f"identity: {quoted(key)} is there already; draft a change of it instead.",
            f"Документ {quoted(key)} уже есть; составьте его изменение.",
        )
    if not path:
        path = _proposed_path(view, type, identity)
    file_format = format_of(path)
    if file_format not in ("yaml", "json", "toml") or path.startswith("/") or ".." in path.split("/"):
        raise WorkbenchError(
            "path_invalid",
            "path",
            f"path: accepted is a relative path that ends in .yaml, .json or .toml, got {quoted(path)}.",
            f"Путь: принимается относительный путь с окончанием .yaml, .json или .toml, получено {quoted(path)}.",
        )
    if path in view.files:
        raise WorkbenchError(
            "document_exists",
            "path",
            f"path: the file {quoted(path)} is there already; name another one.",
            f"Файл {quoted(path)} уже есть; укажите другой путь.",
        )
    full = _with_identity(view, type, identity, path, content)
    text = _written(file_format, full)
    if len(text.encode()) > MAX_DOCUMENT_BYTES:
        raise too_large(path, len(text.encode()))
    return {
        "path": path,
        "key": key,
        "type": type,
        "identity": identity,
        "media_type": MEDIA_TYPES[file_format],
        "document_index": 0,
        "base_sha256": "",
        "base_text": "",
        "base_content": None,
        "text": text,
        "new_text": text,
        "operations": [],
        "changed_paths": [each["path"] for each in changes({}, full)],
        "unified_diff": unified_diff("", text, "/dev/null", f"b/{path}"),
        "content": full,
        "generated": "text",
    }


def _proposed_path(view: View, type: str, identity: str) -> str:
    others = [each.path for each in view.documents() if each.type == type and each.document_index == 0]
    name = re.sub(r"[^\w.-]+", "-", fold(identity)).strip("-.") or "document"
    rule = view.rules.type_rule(type)
    if others:
        folder, _, file_name = others[-1].rpartition("/")
        ending = file_name[file_name.rfind(".") :]
        return f"{folder}/{name}{ending}" if folder else f"{name}{ending}"
    if rule is not None:
        glob = rule.files[0]
        folder = glob.rpartition("/")[0]
        ending = glob[glob.rfind(".") :] if format_of(glob) else ".yaml"
        return f"{folder}/{name}{ending}" if "*" not in folder and folder else f"{name}{ending}"
    names = ", ".join(list(view.type_counts)[:12])
    raise WorkbenchError(
        "type_unknown",
        "type",
        f"type: there are no documents of type {quoted(type)} yet, so name the new file's path; types are: {names}.",
        f"Документов типа {quoted(type)} ещё нет, укажите путь нового файла; есть типы: {names}.",
    )


def _with_identity(view: View, type: str, identity: str, path: str, content: dict[str, Any]) -> dict[str, Any]:
    pointers = [row.identity_path for row in view.rows if row.document.type == type]
    rule = view.rules.type_rule(type)
    pointer = rule.identity if rule else max(set(pointers), key=pointers.count) if pointers else ""
    full: dict[str, Any] = json.loads(json.dumps(content))
    if not pointer and not rule:
        found: Detected = detect(path, full, 0)
        pointer = found.identity_path
    if not pointer or "*" in pointer:
        return full
    steps = parse_pointer(pointer)
    inner = full
    for step in steps[:-1]:
        inner = inner.setdefault(step, {})
        if not isinstance(inner, dict):
            raise WorkbenchError(
                "value_invalid",
                "content",
                f"content: {to_dotted(steps[:-1])} has to be an object, the identity of type {type} is in it.",
                f"Содержимое: {to_dotted(steps[:-1])} должно быть объектом, в нём имя документа типа {type}.",
            )
    inner.setdefault(steps[-1], identity)
    # What names a document is the first thing that is read of it.
    return {steps[0]: full.pop(steps[0]), **full}


def _written(file_format: str, content: dict[str, Any]) -> str:
    if file_format == "json":
        return json.dumps(content, ensure_ascii=False, indent=2) + "\n"
    if file_format == "toml":
        refuse_null(content)
        return tomlkit.dumps(content)
    return yaml_writing.block(content, indented=True) + "\n"


def draft_section_change(view: View, path: str, anchor: str, text: str) -> Change:
    """Another text below a section's heading; the heading and the other sections stay.

    Raises WorkbenchError section_unknown or too_large.
    """
    found = section_of(view, path, anchor)
    before = view.file_text(path)
    place = next(each for each in split_sections(before) if each.anchor == found["anchor"])
    newline = "\r\n" if "\r\n" in before else "\n"
    lines = text.strip("\r\n").replace("\r\n", "\n").replace("\n", newline)
    heading = before[: place.body]
    lead = "" if not heading or heading.endswith("\n\n") else newline if heading.endswith("\n") else newline * 2
    rest = before[place.end :]
    after = heading + (lead if place.level else "") + lines + newline + (newline if rest else "") + rest
    if len(after.encode()) > MAX_DOCUMENT_BYTES:
        raise too_large(path, len(after.encode()))
    name = f"{path}#{found['anchor']}"
    return {
        "path": path,
        "key": f"documentation/{name}",
        "type": "documentation",
        "identity": name,
        "section": found["anchor"],
        "media_type": MEDIA_TYPES["markdown"],
        "document_index": 0,
        "base_sha256": found["sha256"],
        "base_text": before,
        "base_content": None,
        "text": after,
        "operations": [{"op": "set", "path": f"#{found['anchor']}", "value": text}],
        "changed_paths": [f"#{found['anchor']}"],
        "unified_diff": unified_diff(before, after, f"a/{path}", f"b/{path}"),
        "content": None,
        "generated": "text",
    }

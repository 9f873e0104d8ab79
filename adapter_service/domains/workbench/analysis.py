"""From a file's bytes to what the store keeps of it, and from the rules to typed documents. Called by the index."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from .detection import Detected, detect, file_stem, identity_text, singular, title_of
from .file_formats import MEDIA_TYPES, decode
from .findings import Finding, finding
from .limits import MAX_DOCUMENT_BYTES, SECTION_TEXT_CHARS
from .mapping import MappingRules, TypeRule
from .pointers import parse_pointer, select, to_pointer, walk
from .records import Content, Document, DocumentRow, Fragment, NamedValue
from .sections import bounded_parts, split_sections
from .structured import ParsedFile, parse_file

_MODELINE: Final = re.compile(r"^#\s*yaml-language-server:\s*\$schema=(\S+)", re.MULTILINE)
_MODELINE_WITHIN: Final = 2_000
_REFERENCE_KEY: Final = re.compile(
    r"(?:(?i:(?:^|[a-z_-])(?:ref|refs|reference|references|depends_?-?on|requires|extends|parent))|(?<=[a-z])Name|_name)$"
)
_REFERENCE_MARKS: Final = (
    "Ref",
    "ref:",
    'ref"',
    "refs",
    "eference",
    "epends",
    "epend_on",
    "equires",
    "Name",
    "_name",
    "parent",
    "extends",
)
_DEPENDENCY_KEY: Final = re.compile(r"depends_?-?on|requires|refs?|references?|extends|parent", re.IGNORECASE)
_MOST_NAMES: Final = 200
_LONGEST_NAME: Final = 200


def analyse(sha256: str, file_format: str, data: bytes) -> Content:
    """A file's content in a format of file_formats. Never raises for what the bytes are."""
    if len(data) > MAX_DOCUMENT_BYTES:
        return Content(sha256, file_format, "", (), (_too_large(len(data)),))
    text = decode("", data)
    if not isinstance(text, str):
        return Content(sha256, file_format, "", (), (text,))
    if file_format == "markdown":
        return Content(sha256, file_format, text, _section_fragments(text), ())
    parsed: ParsedFile = parse_file("", file_format, text)
    # An empty document between separators is none, but its number counts.
    documents = [
        (ordinal, each) for ordinal, each in enumerate(parsed.documents) if each.text_only or each.value is not None
    ]
    fragments = tuple(
        Fragment(
            ordinal,
            False,
            each.start,
            each.end,
            "" if each.text_only else json.dumps(each.value, separators=(",", ":")),
        )
        for ordinal, each in documents
    )
    values = tuple(each.value for _, each in documents)
    return Content(sha256, file_format, text, fragments, tuple(parsed.findings), values)


def _section_fragments(text: str) -> tuple[Fragment, ...]:
    fragments: list[Fragment] = []
    for section in split_sections(text):
        heading = json.dumps([section.anchor, section.title, section.heading_path])
        name = " ".join(section.heading_path[-2:])
        for start, end in bounded_parts(text[section.start : section.end], SECTION_TEXT_CHARS):
            fragments.append(Fragment(len(fragments), True, section.start + start, section.start + end, heading, name))
    return tuple(fragments)


def _too_large(size: int) -> Finding:
    return finding(
        "warning",
        "",
        "file_too_large",
        f"The file has {size} bytes, more than {MAX_DOCUMENT_BYTES}, and was skipped.",
        f"Размер файла {size} байт больше предела {MAX_DOCUMENT_BYTES}, файл пропущен.",
    )


def name_documents(
    rules: MappingRules, path: str, content: tuple[str, str], fragments: list[tuple[int, int, bool, Any]], text: str
) -> tuple[list[DocumentRow], list[Finding]]:
    """The typed documents of a file: `content` is (sha256, format), `fragments` (id, ordinal, text only, value).

    `text` is the file's: a comment at its beginning may name its schema.
    """
    rule = rules.rule_of(path)
    if path == rules.path or (rule is None and not rules.detect_others):
        return [], []
    rows: list[DocumentRow] = []
    findings: list[Finding] = []
    modeline = _MODELINE.search(text[:_MODELINE_WITHIN])
    # Most files have no such key at all, and a walk through all values costs more than a look at the text.
    may_refer = any(mark in text for mark in _REFERENCE_MARKS)
    for fragment, ordinal, text_only, value in fragments:
        if rule is not None:
            detected = _declared(rule, path, value, ordinal, findings)
        elif any(path == each.schema for each in rules.types):
            detected = Detected(
                "json-schema", file_stem(path.rpartition("/")[2]).removesuffix(".schema"), title_of(value)
            )
        else:
            detected = detect(path, value, ordinal)
        hint = value.get("$schema") if isinstance(value, dict) else None
        document = Document(
            key=f"{detected.type}/{detected.identity}",
            type=detected.type,
            identity=detected.identity,
            title=detected.title,
            path=path,
            sha256=content[0],
            media_type=MEDIA_TYPES[content[1]],
            document_index=ordinal,
            text_only=text_only,
        )
        schema_hint = hint if isinstance(hint, str) else modeline.group(1) if modeline else ""
        names = () if text_only else _names(rule, value, may_refer)
        rows.append(DocumentRow(document, fragment, detected.identity_path, schema_hint, names))
    return rows, findings


def _declared(rule: TypeRule, path: str, value: Any, ordinal: int, findings: list[Finding]) -> Detected:
    stem = file_stem(path.rpartition("/")[2])
    fallback = stem if ordinal == 0 else f"{stem}-{ordinal + 1}"
    identity = ""
    if rule.identity and value is not None:
        identity = next((identity_text(found) for _, found in select(value, parse_pointer(rule.identity))), "")
        if not identity:
            findings.append(
                finding(
                    "error",
                    f"{path}#{rule.identity}",
                    "identity_missing",
                    f"The mapping takes the identity of type {rule.name} from {rule.identity}, where there is no text; "
                    f"the file's name {fallback} is used.",
                    f"По описанию имя для типа {rule.name} берётся из {rule.identity}, но там нет текста; "
                    f"взято имя файла {fallback}.",
                )
            )
    title = title_of(value)
    if rule.title and value is not None:
        title = next(
            (str(found) for _, found in select(value, parse_pointer(rule.title)) if isinstance(found, str)), title
        )
    return Detected(rule.name, identity or fallback, title, rule.identity if identity else "")


def _names(rule: TypeRule | None, value: Any, may_refer: bool) -> tuple[NamedValue, ...]:
    """The texts that name other documents: where the mapping says so, else by the usual names of such keys."""
    if rule is not None and rule.references:
        return tuple(
            NamedValue(to_pointer(steps), str(found), reference.type)
            for reference in rule.references
            for steps, found in select(value, reference.path)
            if identity_text(found)
        )
    found_names: list[NamedValue] = []
    for steps, found in walk(value) if may_refer else ():
        if not isinstance(found, str) or not found or len(found) > _LONGEST_NAME:
            continue
        key = next((step for step in reversed(steps) if isinstance(step, str)), "")
        above = next((step for step in reversed(steps[:-1]) if isinstance(step, str)), "")
        if not _REFERENCE_KEY.search(key) and not (key == "name" and _REFERENCE_KEY.search(above)):
            continue
        name = above if key == "name" else key
        kind = re.sub(r"[-_]?(refs?|references?|name)$", "", name, flags=re.IGNORECASE)
        same_type = _DEPENDENCY_KEY.fullmatch(name) is not None
        found_names.append(NamedValue(to_pointer(steps), found, "", singular(kind.lower()), same_type))
        if len(found_names) == _MOST_NAMES:
            break
    return tuple(found_names)

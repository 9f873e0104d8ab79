"""Drafts of changes: operations by path on a document's text, so that comments and formatting survive.

Called by the domain's tools. A change is plain JSON data, stored as an artifact's version; publishing writes
`change_bytes` if the file still has `base_sha256`. Every edit is proved: the edited text is read again and has to say
exactly what the operations mean; else a round-trip library tries, and else the change is refused.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from . import text_edits
from .change_form import Change, too_large
from .compare import changes, unified_diff
from .errors import WorkbenchError
from .file_formats import format_of
from .json_text import UnreadableJson, read_json
from .limits import MAX_DOCUMENT_BYTES, MAX_OPERATIONS
from .new_documents import draft_new_document, draft_section_change
from .operations import Step, apply, checked_operations, equal, parse_value, planned
from .pointers import get
from .round_trip import edit_toml, edit_yaml, not_editable
from .structured import parse_file
from .text_edits import Place, Unplaced
from .text_nodes import Node
from .view import View
from .yaml_text import YamlText, unreadable
from .yaml_values import Converter, compose_documents, expanded, place_in_merged

__all__ = [
    "Change",
    "change_bytes",
    "content_sha256",
    "draft_change",
    "draft_new_document",
    "draft_section_change",
    "parse_value",
    "rebase_change",
    "revise_change",
]


def draft_change(view: View, key: str, operations: Sequence[Mapping[str, Any]]) -> Change:
    """A change of one document by operations {op: set, remove or add; path; value}.

    Raises WorkbenchError document_unknown, not_editable, operation_invalid, path_invalid, path_unknown (which says
    what is there), value_invalid or too_large.
    """
    document = view.document(key)
    if document.text_only:
        raise unreadable()
    base_text = view.file_text(document.path)
    base: Change = {
        "path": document.path,
        "key": key,
        "type": document.type,
        "identity": document.identity,
        "media_type": document.media_type,
        "document_index": document.document_index,
        "base_sha256": document.sha256,
        "base_text": base_text,
        "base_content": _content(document.path, base_text, document.document_index),
    }
    return _drafted(base, checked_operations(operations))


def revise_change(change: Change, operations: Sequence[Mapping[str, Any]], view: View | None = None) -> Change:
    """The change with more operations. One on a path that was set before replaces the earlier one.

    With `view` the revision is made on the file as it is now.
    """
    added = checked_operations(operations)
    if "section" in change:
        raise _invalid_for_section()
    paths = {each["path"] for each in added if each["op"] == "set"}
    kept = [each for each in change["operations"] if not (each["op"] == "set" and each["path"] in paths)]
    if len(kept) + len(added) > MAX_OPERATIONS:
        raise WorkbenchError(
            "operation_invalid",
            "operations",
            f"operations: a change has at most {MAX_OPERATIONS} operations, "
            f"this one would have {len(kept) + len(added)}.",
            f"Операции: в одном изменении не больше {MAX_OPERATIONS} операций, здесь было бы {len(kept) + len(added)}.",
        )
    base = change
    if view is not None and change["base_sha256"]:
        document = view.document(change["key"])
        if document.sha256 != change["base_sha256"]:
            text = view.file_text(document.path)
            content = _content(document.path, text, document.document_index)
            base = {
                **change,
                "path": document.path,
                "base_sha256": document.sha256,
                "base_text": text,
                "base_content": content,
            }
    if not change["base_sha256"]:
        # A new document has no operations of its own: they are made on the text that was drafted.
        return _drafted({**base, "new_text": change.get("new_text", change["text"])}, [*kept, *added])
    return _drafted(base, [*kept, *added])


def rebase_change(view: View, change: Change) -> Change:
    """The same change on the file as it is now. Raises what draft_change raises, where it does not fit any more."""
    if "section" in change:
        return draft_section_change(view, change["path"], change["section"], change["operations"][0]["value"])
    if not change["base_sha256"]:
        return change
    return draft_change(view, change["key"], change["operations"])


def _drafted(base: Change, operations: list[dict[str, Any]]) -> Change:
    text: str = base["new_text"] if "new_text" in base else base["base_text"]
    generated = "text"
    for operation in operations:
        text, way = _edited(base["path"], text, base["document_index"], operation)
        generated = way if way == "round_trip" else generated
    size = len(text.encode("utf-8", errors="surrogatepass"))
    if size > MAX_DOCUMENT_BYTES:
        raise too_large(base["path"], size)
    content = _content(base["path"], text, base["document_index"])
    found = changes(base["base_content"], content)
    return {
        **base,
        "text": text,
        "operations": operations,
        "changed_paths": [each["path"] for each in found],
        "unified_diff": unified_diff(base["base_text"], text, f"a/{base['path']}", f"b/{base['path']}"),
        "content": content,
        "generated": generated,
    }


def _invalid_for_section() -> WorkbenchError:
    return WorkbenchError(
        "operation_invalid",
        "operations",
        "operations: the change of a documentation section is drafted anew with its whole text.",
        "Операции: изменение раздела документации составляется заново с полным текстом.",
    )


def _content(path: str, text: str, document_index: int) -> Any:
    documents = parse_file(path, format_of(path), text).documents
    if not documents and document_index == 0 and format_of(path) == "toml":
        # The last table is gone; an empty TOML file is an empty document.
        return {}
    if document_index >= len(documents) or documents[document_index].text_only:
        raise unreadable()
    return copy.deepcopy(documents[document_index].value)


def _expected(file_format: str, path: str, text: str, document_index: int, step: Step) -> Any:
    """The values after a step; in YAML a value that an anchor shares changes at each of its places."""
    if file_format != "yaml":
        content = _content(path, text, document_index)
        apply(get(content, step.steps[:-1]), step)
        return content
    nodes = compose_documents(text.removeprefix("\ufeff"))
    tree = Converter(path, keep_merges=True).value(nodes[document_index])
    parent = place_in_merged(tree, step.steps[:-1])
    if step.kind == "remove" and isinstance(parent, dict) and step.steps[-1] not in parent:
        # The key comes from another mapping, and is not here to be removed.
        raise Unplaced
    apply(parent, step)
    return expanded(tree)


def _edited(path: str, text: str, document_index: int, operation: dict[str, Any]) -> tuple[str, str]:
    """The text after one operation, and how it was made."""
    file_format = format_of(path)
    step = planned(_content(path, text, document_index), operation)
    try:
        expected = _expected(file_format, path, text, document_index, step)
    except Unplaced:
        raise not_editable(operation["path"]) from None
    before = [each.value for each in parse_file(path, file_format, text).documents]
    accepted = [expected]
    if file_format == "toml" and step.kind == "remove":
        # TOML has no place for a table that only other tables were in: it goes with the last of them.
        accepted.append(_without_empty(expected, step.steps[:-1]))

    def proved(candidate: str) -> bool:
        parsed = parse_file(path, file_format, candidate)
        if not parsed.documents and file_format == "toml":
            return {} in accepted
        values = [each.value for each in parsed.documents if not each.text_only]
        return len(values) == len(before) and all(
            any(equal(value, each) for each in accepted) if number == document_index else equal(value, before[number])
            for number, value in enumerate(values)
        )

    for way in ("text", "round_trip"):
        try:
            candidate = _candidate(file_format, text, document_index, step, way)
        except Unplaced:
            continue
        if proved(candidate):
            return candidate, "text" if file_format == "toml" else way
    raise not_editable(operation["path"])


def _without_empty(content: Any, steps: tuple[str | int, ...]) -> Any:
    pruned = copy.deepcopy(content)
    for length in range(len(steps), 0, -1):
        parent = get(pruned, steps[: length - 1])
        if isinstance(parent, dict) and parent[str(steps[length - 1])] == {}:
            del parent[str(steps[length - 1])]
    return pruned


def _candidate(file_format: str, text: str, document_index: int, step: Step, way: str) -> str:
    if file_format == "toml":
        return edit_toml(text, step)
    if way == "round_trip":
        if file_format == "json":
            raise Unplaced
        return edit_yaml(text, document_index, step, _style(text)[0])
    return edit_text(_place(file_format, text, document_index), step)


def edit_text(place: Place, step: Step) -> str:
    try:
        if step.kind == "set":
            return text_edits.set_value(place, step.steps, step.value)
        if step.kind == "insert":
            return text_edits.insert_item(place, step.steps[:-1], int(step.steps[-1]), step.value)
        return text_edits.remove_entry(place, step.steps)
    except (KeyError, IndexError, ValueError):
        # A key in a form that has no place of its own, such as a merged one.
        raise Unplaced from None


def _place(file_format: str, text: str, document_index: int) -> Place:
    indented, step = _style(text)
    if file_format == "json":
        try:
            return Place(text, read_json(text), {}, is_json=True, step=_json_step(text))
        except UnreadableJson:
            raise Unplaced from None
    try:
        nodes = YamlText(text, document_index)
    except WorkbenchError:
        raise Unplaced from None
    return Place(text, nodes.root, nodes.anchors, False, _indented(text, nodes.root, indented), step)


def _style(text: str) -> tuple[bool, int]:
    """How a YAML text indents: whether sequences are indented under their key, and by how much mappings are."""
    step = 0
    indented: bool | None = None
    above = ""
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        column = len(line) - len(line.lstrip(" "))
        above_column = len(above) - len(above.lstrip(" "))
        if above.rstrip().endswith(":"):
            if stripped.startswith("- ") and not above.lstrip().startswith("- ") and indented is None:
                indented = column > above_column
            elif column > above_column and not step and not stripped.startswith("-"):
                step = column - above_column
        above = line
        if step and indented is not None:
            break
    return bool(indented), step if 1 <= step <= 8 else 2


def _indented(text: str, root: Node, guess: bool) -> bool:
    """The first block sequence under a key says it for certain."""
    pending = [root]
    while pending:
        node = pending.pop()
        for entry in node.entries:
            value = entry.value
            if entry.key and value.kind == "sequence" and not value.flow and value.entries:
                key_column = entry.start - text.rfind("\n", 0, entry.start) - 1
                dash_column = value.entries[0].start - text.rfind("\n", 0, value.entries[0].start) - 1
                return dash_column > key_column
            pending.append(value)
    return guess


def _json_step(text: str) -> int:
    for line in text.splitlines()[1:]:
        if line.strip():
            column = len(line) - len(line.lstrip(" "))
            return column if 1 <= column <= 8 else 2
    return 2


def change_bytes(change: Change) -> bytes:
    """The bytes to publish: byte order mark and line endings are in the text as the file had them."""
    return str(change["text"]).encode("utf-8")


def content_sha256(data: bytes) -> str:
    """The hash by which a workspace knows a file: lower-case hex SHA-256."""
    return hashlib.sha256(data).hexdigest()

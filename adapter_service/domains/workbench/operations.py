"""The operations of a change: their form, and what they do to a document's values.

Called by the edits: what the values become here is what the edited text has to say when it is read again.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from .errors import WorkbenchError, quoted
from .limits import MAX_OPERATIONS
from .pointers import Steps, get, locate, path_unknown, resolve_steps, scalar_text, to_dotted, to_pointer, what_is_there
from .yaml_values import Converter, UnreadableYaml, compose_documents, plain_scalar

Kind = Literal["set", "insert", "remove"]
_OPS: Final = ("set", "remove", "add")
_FORM_EN: Final = '{"op": "set", "path": "spec.replicas", "value": 3} with op set, remove or add'
_FORM_RU: Final = '{"op": "set", "path": "spec.replicas", "value": 3}, где op — set, remove или add'


@dataclass(frozen=True, slots=True)
class Step:
    """One operation on one document: `kind` "set" also makes new keys, "insert" is into the list at steps[:-1]."""

    kind: Kind
    steps: Steps
    value: Any = None


def checked_operations(operations: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The operations in their plain form. Raises WorkbenchError operation_invalid or value_invalid."""
    if not 1 <= len(operations) <= MAX_OPERATIONS:
        raise _invalid(
            "operations", f"1 to {MAX_OPERATIONS} operations", f"от 1 до {MAX_OPERATIONS} операций", len(operations)
        )
    found = []
    for number, operation in enumerate(operations):
        name = f"operations[{number}]"
        op = operation.get("op")
        path = operation.get("path")
        if op not in _OPS or not isinstance(path, str) or not path.strip():
            raise _invalid(name, _FORM_EN, _FORM_RU, dict(operation))
        plain = {"op": op, "path": path.strip()}
        if "value" in operation:
            plain["value"] = _plain_value(operation["value"], f"{name}.value")
        elif op != "remove":
            raise _invalid(name, f"{op} with a value", f"{op} со значением value", dict(operation))
        found.append(plain)
    return found


def _plain_value(value: Any, name: str) -> Any:
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise WorkbenchError(
            "value_invalid",
            name,
            f"{name}: accepted is a JSON value (text, number, true, false, null, list, object).",
            f"{name}: принимается значение JSON (текст, число, true, false, null, список, объект).",
        ) from None


def _invalid(name: str, en: str, ru: str, got: Any) -> WorkbenchError:
    shown = quoted(json.dumps(got, ensure_ascii=False, default=str))
    return WorkbenchError(
        "operation_invalid",
        name,
        f"{name}: accepted is {en}, got {shown}.",
        f"{name}: принимается {ru}, получено {shown}.",
    )


def planned(content: Any, operation: Mapping[str, Any]) -> Step:
    """What an operation means for these values. Raises path_unknown (with what is there) or operation_invalid."""
    path = operation["path"]
    if operation["op"] == "remove":
        return _removal(content, operation)
    steps = resolve_steps(content, path)
    if not steps:
        raise _invalid("path", "a path below the document's root", "путь внутри документа", path)
    try:
        parent_steps = locate(content, to_pointer(steps[:-1]))
    except WorkbenchError:
        # The message is about the path that was asked for, not about its beginning.
        raise _missing_parent(content, path, steps) from None
    parent = get(content, parent_steps)
    last = steps[-1]
    value = operation["value"]
    if parent is None and isinstance(last, str):
        # "labels:" with nothing below it becomes a mapping.
        return Step("set", steps[:-1], {last: value}) if len(steps) > 1 else Step("set", steps, value)
    if operation["op"] == "add":
        return _addition(content, path, steps, parent, value)
    if isinstance(parent, dict) and isinstance(last, str):
        return Step("set", steps, value)
    if isinstance(parent, list) and isinstance(last, int) and 0 <= last < len(parent):
        return Step("set", steps, value)
    raise path_unknown(path, steps[:-1], parent)


def _missing_parent(content: Any, path: str, steps: Steps) -> WorkbenchError:
    current = content
    for position, step in enumerate(steps[:-1]):
        inside = isinstance(current, dict) and step in current
        inside = inside or (isinstance(current, list) and isinstance(step, int) and 0 <= step < len(current))
        if not inside:
            return path_unknown(path, steps[:position], current)
        current = current[step]
    return path_unknown(path, steps[:-1], current)


def _addition(content: Any, path: str, steps: Steps, parent: Any, value: Any) -> Step:
    last = steps[-1]
    if isinstance(parent, list):
        if last == "-":
            return Step("insert", (*steps[:-1], len(parent)), value)
        if isinstance(last, int) and 0 <= last < len(parent) and not isinstance(parent[last], list):
            return Step("insert", steps, value)
        if isinstance(last, int) and last == len(parent):
            return Step("insert", steps, value)
    if isinstance(parent, dict) and isinstance(last, str) and last not in parent:
        return Step("set", steps, value)
    there = get(content, locate(content, path))
    if isinstance(there, list):
        return Step("insert", (*steps, len(there)), value)
    en, ru = what_is_there(there)
    raise WorkbenchError(
        "operation_invalid",
        "path",
        f"path: add takes a list or a new key; {quoted(path)} is there already and {en}. Use set to change it.",
        f"Путь: add принимает список или новый ключ; {quoted(path)} уже есть: {ru}. Чтобы изменить, используйте set.",
    )


def _removal(content: Any, operation: Mapping[str, Any]) -> Step:
    path = operation["path"]
    steps = locate(content, path)
    if "value" not in operation:
        if not steps:
            raise _invalid("path", "a path below the document's root", "путь внутри документа", path)
        return Step("remove", steps)
    there = get(content, steps)
    wanted = operation["value"]
    if isinstance(there, list):
        for number, item in enumerate(there):
            if equal(item, wanted) or (
                _is_scalar(item) and _is_scalar(wanted) and scalar_text(item) == scalar_text(wanted)
            ):
                return Step("remove", (*steps, number))
    en, ru = what_is_there(there)
    shown = quoted(json.dumps(wanted, ensure_ascii=False))
    items = ", ".join(scalar_text(each) for each in there[:12] if _is_scalar(each)) if isinstance(there, list) else ""
    raise WorkbenchError(
        "path_unknown",
        "value",
        f"value: {shown} is not an item of {to_dotted(steps) or 'the document'}, which {en}"
        + (f": {items}." if items else "."),
        f"Элемента {shown} в {to_dotted(steps) or 'документе'} нет ({ru})" + (f": {items}." if items else "."),
    )


def _is_scalar(value: Any) -> bool:
    return not isinstance(value, dict | list)


def apply(parent: Any, step: Step) -> None:
    """Changes the collection that holds the step's place."""
    last: Any = step.steps[-1]
    if step.kind == "set":
        parent[last] = copy.deepcopy(step.value)
    elif step.kind == "insert":
        parent.insert(last, copy.deepcopy(step.value))
    else:
        del parent[last]


def equal(one: Any, other: Any) -> bool:
    """Equal as JSON: 1 is not true, and the order of keys does not count."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def parse_value(text: str) -> Any:
    """What a person writes as a value: 3, true, null, "quoted text", [a, b], {a: 1}; anything else is the text itself.

    A list or an object is read as YAML's flow style, so that quotes are not needed.
    """

    stripped = text.strip()
    if stripped[:1] in ('"', "'", "[", "{"):
        try:
            documents = compose_documents(stripped)
            if len(documents) == 1:
                return Converter("").value(documents[0])
        except UnreadableYaml:
            return stripped
    return plain_scalar(stripped) if stripped else ""

"""Paths into a document: JSON pointers (RFC 6901) and what people write ("spec.ports[0].name").

Called by the view (reading, field search), the mapping (identity, references) and the edits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .errors import WorkbenchError, quoted, some_of

Steps = tuple[str | int, ...]

_DOTTED = re.compile(r"""\[\s*(-?\d+)\s*\]|\[\s*"([^"]*)"\s*\]|\[\s*'([^']*)'\s*\]|"([^"]+)"|([^.\[\]"]+)""")
_INDEX = re.compile(r"-?\d+")


def parse_pointer(pointer: str) -> tuple[str, ...]:
    """The steps of a JSON pointer. Raises WorkbenchError path_invalid where it is not "" and starts with no "/"."""
    if pointer == "":
        return ()
    if not pointer.startswith("/"):
        raise path_invalid(pointer)
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/"))


def to_pointer(steps: Sequence[str | int]) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def to_dotted(steps: Sequence[str | int]) -> str:
    """As a person writes it: "spec.ports[0].name"; a key with other characters in quotes."""
    parts: list[str] = []
    for step in steps:
        if isinstance(step, int):
            parts.append(f"[{step}]")
            continue
        plain = step and not re.search(r"""[.\[\]"\s]""", step)
        parts.append(("." if parts else "") + (step if plain else f'"{step}"'))
    return "".join(parts)


def path_invalid(path: str) -> WorkbenchError:
    return WorkbenchError(
        "path_invalid",
        "path",
        f"path: accepted is a JSON pointer such as /spec/replicas or a dotted path such as spec.ports[0].name, "
        f"got {quoted(path)}.",
        f"Путь: принимается указатель JSON, например /spec/replicas, или путь через точки, например "
        f"spec.ports[0].name; получено {quoted(path)}.",
    )


def parse_path(path: str) -> tuple[str, ...]:
    """The steps of either form; an index of the dotted form is a step of digits. Raises path_invalid."""
    text = path.strip()
    if text.startswith("$"):
        text = text[1:].lstrip(".")
    if text == "" or text.startswith("/"):
        return parse_pointer(text)
    steps: list[str] = []
    position = 0
    for match in _DOTTED.finditer(text):
        between = text[position : match.start()]
        if between not in ("", "."):
            raise path_invalid(path)
        index, double, single, bare_quoted, plain = match.groups()
        steps.append(next(part for part in (index, double, single, bare_quoted, plain) if part is not None).strip())
        position = match.end()
    if position != len(text) or not steps:
        raise path_invalid(path)
    return tuple(steps)


def locate(value: Any, path: str) -> Steps:
    """The steps to an existing place of `value`. Raises path_unknown, which says what is there instead."""
    steps = resolve_steps(value, path)
    current = value
    for position, step in enumerate(steps):
        if not _has(current, step):
            raise path_unknown(path, steps[:position], current)
        current = current[step]
    return steps


def resolve_steps(value: Any, path: str) -> Steps:
    """As `locate`, but the place need not exist: indexes become numbers where `value` has a list.

    A dotted path also finds keys that contain dots ("labels.app.kubernetes.io/name").
    """
    remaining = list(parse_path(path))
    dotted = not path.strip().startswith("/")
    done: list[str | int] = []
    current = value
    while remaining:
        taken = 1
        step: str | int = remaining[0]
        if isinstance(current, dict):
            if dotted and step not in current:
                taken = next((n for n in range(len(remaining), 1, -1) if ".".join(remaining[:n]) in current), 1)
                step = ".".join(remaining[:taken])
        elif isinstance(current, list) and isinstance(step, str) and _INDEX.fullmatch(step):
            number = int(step)
            step = number + len(current) if number < 0 else number
        done.append(step)
        del remaining[:taken]
        current = current[step] if _has(current, step) else None
    return tuple(done)


def _has(value: Any, step: str | int) -> bool:
    if isinstance(value, dict):
        return step in value
    return isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value)


def get(value: Any, steps: Sequence[str | int]) -> Any:
    for step in steps:
        value = value[step]
    return value


def what_is_there(value: Any) -> tuple[str, str]:
    """One clause on a value, English and Russian: "has the keys replicas, image"."""
    if isinstance(value, dict):
        names = some_of([str(key) for key in value])
        return (f"has the keys: {names}", f"содержит ключи: {names}") if value else ("is empty", "пусто")
    if isinstance(value, list):
        if not value:
            return "is an empty list", "пустой список"
        return f"is a list of {len(value)}, indexes 0 to {len(value) - 1}", f"список, индексы от 0 до {len(value) - 1}"
    return f"is the value {quoted(scalar_text(value))}", f"значение {quoted(scalar_text(value))}"


def path_unknown(path: str, found: Sequence[str | int], there: Any) -> WorkbenchError:
    place = to_dotted(found)
    en, ru = what_is_there(there)
    return WorkbenchError(
        "path_unknown",
        "path",
        f"path: {quoted(path)} is not in the document; {place or 'the document'} {en}.",
        f"Путь {quoted(path)} в документе не найден; {place or 'документ'}: {ru}.",
    )


def select(value: Any, steps: Sequence[str]) -> Iterator[tuple[Steps, Any]]:
    """Every place that a pointer with "*" steps (any key or item) names, with its value."""
    if not steps:
        yield (), value
        return
    step, rest = steps[0], steps[1:]
    inner: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items()) if step == "*" else [(step, value[step])] if step in value else []
    elif isinstance(value, list):
        if step == "*":
            inner = list(enumerate(value))
        elif step.isdigit() and int(step) < len(value):
            inner = [(int(step), value[int(step)])]
    for key, item in inner:
        for found, leaf in select(item, rest):
            yield (key, *found), leaf


def walk(value: Any) -> Iterator[tuple[Steps, Any]]:
    """Every place below the root, in document order, parents first."""
    items: Iterator[tuple[str | int, Any]]
    if isinstance(value, Mapping):
        items = iter(value.items())
    elif isinstance(value, list):
        items = iter(enumerate(value))
    else:
        return
    for key, item in items:
        yield (key,), item
        for steps, leaf in walk(item):
            yield (key, *steps), leaf


def scalar_text(value: Any) -> str:
    """A scalar as its file would show it: true, null, 3, text."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)

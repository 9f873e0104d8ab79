"""Edits through round-trip libraries: TOML by tomlkit always, YAML by ruamel.yaml where the text has an unusual form.

Called by edits.py, which reads the result again and compares it with what was meant.
"""

from __future__ import annotations

import io
import re
from typing import Any

import tomlkit
import tomlkit.exceptions
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from .errors import WorkbenchError, quoted
from .operations import Step
from .text_edits import Unplaced


def edit_toml(text: str, step: Step) -> str:
    """The text after one operation. Raises WorkbenchError value_invalid for what TOML cannot say (null)."""
    refuse_null(step.value if step.kind != "remove" else 0)
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    try:
        document = tomlkit.parse(text.removeprefix("\ufeff"))
        container: Any = document
        for each in step.steps[:-1]:
            container = container[each]
        last: Any = step.steps[-1]
        if step.kind == "remove":
            del container[last]
        elif step.kind == "insert":
            if isinstance(container, tomlkit.items.Array) and last == len(container):
                _append(container, step.value)
            else:
                container.insert(last, _toml_item(container, step.value))
        else:
            container[last] = _toml_item(container, step.value)
        result = tomlkit.dumps(document)
        # The library ends the lines that it adds with a line feed alone.
        return mark + (re.sub(r"(?<!\r)\n", "\r\n", result) if "\r\n" in text else result)
    except (tomlkit.exceptions.TOMLKitError, KeyError, IndexError, TypeError, ValueError, AttributeError):
        raise Unplaced from None


def _append(array: Any, value: Any) -> None:
    """A new last item, on a line of its own where the others are."""
    lines = array.as_string().split("\n")
    indents = [re.match(r"[ \t]*", line).group() for line in lines[1:-1] if line.strip()]  # type: ignore[union-attr]
    if indents:
        array.add_line(value, indent=indents[-1], newline=True)
    else:
        array.append(value)


def _toml_item(container: Any, value: Any) -> Any:
    if isinstance(value, dict) and isinstance(container, tomlkit.items.InlineTable | tomlkit.items.Array):
        table = tomlkit.inline_table()
        table.update(value)
        return table
    return value


def refuse_null(value: Any) -> None:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if value is None:
        raise WorkbenchError(
            "value_invalid",
            "value",
            "value: TOML has no null; remove the key instead.",
            "Значение: в TOML нет null; удалите ключ.",
        )
    for each in inner:
        refuse_null(each)


def edit_yaml(text: str, document_index: int, step: Step, indented: bool) -> str:
    """The text after one operation, by ruamel.yaml: comments stay, line breaks and spacing mostly."""
    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = 1 << 30
    yaml.allow_duplicate_keys = True
    yaml.indent(mapping=2, sequence=4 if indented else 2, offset=2 if indented else 0)
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    body = text.removeprefix("\ufeff")
    try:
        documents = list(yaml.load_all(body))
        container: Any = documents[document_index]
        for each in step.steps[:-1]:
            container = container[_own_key(container, each)]
        last = _own_key(container, step.steps[-1]) if step.kind != "insert" else step.steps[-1]
        if step.kind == "remove":
            del container[last]
        elif step.kind == "insert":
            container.insert(last, step.value)
        else:
            container[last] = step.value
        if body.startswith("---"):
            yaml.explicit_start = True
        out = io.StringIO()
        yaml.dump_all(documents, out)
    except (YAMLError, KeyError, IndexError, TypeError, ValueError, AttributeError, NotImplementedError):
        raise Unplaced from None
    result = out.getvalue()
    return mark + (result.replace("\n", "\r\n") if "\r\n" in body else result)


def _own_key(container: Any, step: str | int) -> Any:
    """ruamel.yaml's key for ours, which is always text: 8080 for "8080"."""
    if isinstance(container, dict) and step not in container:
        return next((key for key in container if str(key) == step), step)
    return step


def not_editable(path: str) -> WorkbenchError:
    return WorkbenchError(
        "not_editable",
        "path",
        f"path: {quoted(path)} is written in a form that cannot be changed without touching other lines "
        "(an anchor in use elsewhere, a merged key, a TOML table); change it where it is defined.",
        f"Путь: {quoted(path)} записан так, что его нельзя изменить, не затронув другие строки "
        "(якорь, который используется в другом месте, слитый ключ или таблица TOML); измените его там, где он задан.",
    )

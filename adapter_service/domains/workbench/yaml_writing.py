"""New values as YAML text: scalars quoted as little as possible, collections in block or flow style.

Called by text_edits.py for what is set or added, and by edits.py for new documents.
"""

from __future__ import annotations

import json
from typing import Any, Final

import yaml

from .yaml_values import plain_scalar

_UNBOUNDED: Final = 1 << 30


class _Dumper(yaml.SafeDumper):
    """Block style; sequences within mappings are indented only where `indented` says so. No aliases."""

    indented = False

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> Any:
        return super().increase_indent(flow, indentless and not self.indented)

    def ignore_aliases(self, data: Any) -> bool:
        return True


class _IndentedDumper(_Dumper):
    indented = True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    if "\n" in value and all(line == line.rstrip() for line in value.split("\n")) and not value.startswith((" ", "\n")):
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|")
    # PyYAML quotes what YAML 1.1 would misread; YAML 1.2 has other numbers, such as 1e3.
    style = '"' if not isinstance(plain_scalar(value), str) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def block(value: Any, indented: bool, step: int = 2) -> str:
    """Lines without indentation and without a last line break, for a collection or a scalar."""
    text: str = yaml.dump(
        value,
        Dumper=_IndentedDumper if indented else _Dumper,
        default_flow_style=False,
        sort_keys=False,
        allow_unicode=True,
        width=_UNBOUNDED,
        indent=step,
    )
    return text.removesuffix("\n...\n").rstrip("\n")


def inline(value: Any, style: str = "") -> str:
    """On one line, also within a flow collection. `style`: the quotes that the value before had."""
    if isinstance(value, str) and "\n" not in value:
        if style == '"':
            return json.dumps(value, ensure_ascii=False)
        if style == "'" and value.isprintable():
            return "'" + value.replace("'", "''") + "'"
    if isinstance(value, str) and not value.isprintable():
        return json.dumps(value, ensure_ascii=False)
    text: str = yaml.dump(
        [value], Dumper=_Dumper, default_flow_style=True, sort_keys=False, allow_unicode=True, width=_UNBOUNDED
    )
    inner = text.strip()[1:-1]
    if isinstance(value, str) and _reads_otherwise(inner, value):
        return json.dumps(value, ensure_ascii=False)
    return inner


def on_line(value: Any, style: str = "") -> str:
    """As `inline`, for a place in a block collection: there a text needs no quotes for a ":" or "," within it."""
    if isinstance(value, str) and not style and "\n" not in value and value.isprintable():
        return block({"k": value}, indented=False).removeprefix("k: ")
    return inline(value, style)


def _reads_otherwise(text: str, value: str) -> bool:
    """Whether a plain text would not be read back as this string."""
    return text == value and plain_scalar(text) != value

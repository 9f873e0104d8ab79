"""One operation on a document's text: only the lines that the operation is about change.

Called by edits.py, which proves each result by reading it again. Works on the nodes of YAML and JSON alike; what it
cannot place (explicit keys, nested one-line sequences) raises Unplaced, and the caller goes another way.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from . import yaml_writing
from .text_nodes import Entry, Node, key_of

_COMMENT_OR_END: Final = re.compile(r"[^\S\n]*(?:#[^\n]*)?")
_AFTER_VALUE: Final = re.compile(r"(?:[\s]+|//[^\n]*|/\*.*?\*/|#[^\n]*)*", re.DOTALL)


class Unplaced(Exception):
    """The text has a form that this module does not edit."""


@dataclass(frozen=True, slots=True)
class Place:
    """A text with its nodes. `is_json`: values are written as JSON; `indented`: sequences are, under their key."""

    text: str
    root: Node
    anchors: dict[str, Node]
    is_json: bool
    indented: bool = False
    step: int = 2

    @property
    def newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    def resolve(self, node: Node) -> Node:
        """The node that is really written: an alias's anchor."""
        for _ in range(100):
            if node.kind != "alias":
                return node
            node = self.anchors[node.value]
        raise Unplaced

    def node_at(self, steps: tuple[str | int, ...]) -> Node:
        node = self.resolve(self.root)
        for step in steps:
            node = self.resolve(self.child(node, step).value)
        return node

    def child(self, node: Node, step: str | int) -> Entry:
        """The entry of a key or an index, also one that a merge key brings."""
        if node.kind == "sequence" and isinstance(step, int) and step < len(node.entries):
            return node.entries[step]
        if node.kind == "mapping":
            entry = self.own_entry(node, step)
            if entry is not None:
                return entry
            for merged in self._merged(node):
                try:
                    return self.child(merged, step)
                except Unplaced:
                    continue
        raise Unplaced

    def own_entry(self, node: Node, step: str | int) -> Entry | None:
        # The last of equal keys is the one that counts.
        return next((entry for entry in reversed(node.entries) if entry.key and key_of(entry) == str(step)), None)

    def _merged(self, node: Node) -> list[Node]:
        found: list[Node] = []
        for entry in node.entries:
            if key_of(entry) == "<<" and not self.is_json:
                source = self.resolve(entry.value)
                found += (
                    [self.resolve(each.value) for each in source.entries] if source.kind == "sequence" else [source]
                )
        return found

    # Lines.

    def line_start(self, position: int) -> int:
        return self.text.rfind("\n", 0, position) + 1

    def line_end(self, position: int) -> int:
        """The offset of the line break, or of the text's end."""
        end = self.text.find("\n", position)
        if end < 0:
            return len(self.text)
        return end - 1 if end and self.text[end - 1] == "\r" else end

    def column(self, position: int) -> int:
        start = self.line_start(position)
        return position - start - (1 if self.text[start : start + 1] == "\ufeff" else 0)

    def begins_line(self, position: int) -> bool:
        return not self.text[self.line_start(position) : position].strip(" \t\ufeff")

    def splice(self, start: int, end: int, new: str) -> str:
        return self.text[:start] + new + self.text[end:]

    # Writing values.

    def inline(self, value: Any, style: str = "") -> str:
        return json.dumps(value, ensure_ascii=False) if self.is_json else yaml_writing.inline(value, style)

    def flow(self, value: Any, indent: str, many_lines: bool) -> str:
        """A value within a flow collection; JSON's collections over several lines where their neighbours are."""
        if self.is_json and many_lines and isinstance(value, dict | list) and value:
            lines = json.dumps(value, ensure_ascii=False, indent=self.step).split("\n")
            return (self.newline + indent).join(lines)
        return self.inline(value)

    def block_lines(self, value: Any, indent: int) -> str:
        """The lines of a collection at an indentation, the first one too."""
        lines = yaml_writing.block(value, self.indented, self.step).split("\n")
        return self.newline.join(" " * indent + line if line else line for line in lines)


def set_value(place: Place, steps: tuple[str | int, ...], value: Any) -> str:
    """The text with the value at `steps` replaced, or with a new key of an existing mapping."""
    parent = place.node_at(steps[:-1])
    if parent.kind == "mapping":
        entry = place.own_entry(parent, steps[-1])
        if entry is None:
            return add_key(place, steps[:-1], str(steps[-1]), value)
    else:
        entry = place.child(parent, steps[-1])
    if parent.flow or place.is_json:
        node = entry.value
        indent = " " * (place.column(entry.start)) if place.begins_line(entry.start) else ""
        return place.splice(node.content, node.end, _flow_replacement(place, node, value, indent))
    return _set_in_block(place, parent, entry, value)


def _flow_replacement(place: Place, node: Node, value: Any, indent: str) -> str:
    if isinstance(value, dict | list):
        many_lines = "\n" in place.text[node.start : node.end] or "\n" in place.text[: node.start]
        return place.flow(value, indent, many_lines and place.is_json)
    return place.inline(value, node.style)


def _set_in_block(place: Place, parent: Node, entry: Entry, value: Any) -> str:
    node = entry.value
    block_before = node.kind in ("mapping", "sequence") and not node.flow
    key_column = place.column(entry.start)
    if isinstance(value, dict | list) and value:
        indent = key_column + place.step
        if isinstance(value, list) and parent.kind == "mapping" and not place.indented:
            indent = key_column
        if block_before:
            if not place.begins_line(node.content):
                return _item_lines(place, entry, node, value)
            indent = place.column(node.content) if type_of(node) is type(value) else indent
            return place.splice(place.line_start(node.content), node.end, place.block_lines(value, indent))
        if parent.kind == "sequence":
            return _item_lines(place, entry, node, value)
        return _to_lines(place, node, place.block_lines(value, indent))
    if isinstance(value, str) and "\n" in value and not block_before:
        literal = yaml_writing.block({"k": value}, place.indented, place.step)
        if literal.startswith("k: |"):
            head, *rest = literal[3:].split("\n")
            lines = [head, *(" " * (key_column) + line if line else line for line in rest)]
            return _replace_scalar(place, node, place.newline.join(lines))
    return _replace_scalar(place, node, yaml_writing.on_line(value, node.style), keep_tag=isinstance(value, str))


def type_of(node: Node) -> type | None:
    return {"mapping": dict, "sequence": list}.get(node.kind)


def _replace_scalar(place: Place, node: Node, text: str, keep_tag: bool = True) -> str:
    if node.kind in ("mapping", "sequence") and not node.flow:
        # The value moves up to its key; comments between the two stay.
        if place.begins_line(node.content):
            head = place.line_end(_end_of_head(place, node))
            position = _value_position(place, node, head)
            between = place.text[position : place.line_start(node.content)].removesuffix("\n").removesuffix("\r")
            return place.text[:position] + " " + text + between + place.text[node.end :]
        return place.splice(node.content, node.end, text)
    if node.start == node.end:
        return place.splice(node.start, node.end, " " + text)
    if not keep_tag:
        # "!Ref name" is a text; a number in its place is no reference any more. An anchor stays.
        properties = re.sub(r"!\S*\s*", "", place.text[node.start : node.content])
        return place.splice(node.start, node.end, properties + text)
    return place.splice(node.content, node.end, text)


def _end_of_head(place: Place, node: Node) -> int:
    """An offset in the line of the key or "-" that a block collection belongs to."""
    position = node.start if node.start < node.content else node.content
    line = place.line_start(position)
    while line > 0:
        line = place.line_start(line - 1)
        stripped = place.text[line : place.line_end(line)].strip()
        if stripped and not stripped.startswith("#"):
            return line
    raise Unplaced


def _value_position(place: Place, node: Node, head_end: int) -> int:
    """After the ":" or "-" of the line that ends at `head_end`, before its comment."""
    start = place.line_start(head_end)
    match = re.match(r"(.*?[:\-])(?=[ \t]*(?:[&!]\S*[ \t]*)*(?:#.*)?$)", place.text[start:head_end])
    if match is None:
        raise Unplaced
    return start + match.end()


def _to_lines(place: Place, node: Node, lines: str) -> str:
    """A scalar or flow value gives way to lines below its key; a comment after it stays on the key's line."""
    end = place.line_end(node.end)
    comment = place.text[node.end : end].strip()
    if comment and not comment.startswith("#"):
        raise Unplaced
    head = place.text[: node.content].rstrip(" \t")
    rest = f" {comment}" if comment else ""
    return head + rest + place.newline + lines + place.text[end:]


def _item_lines(place: Place, entry: Entry, node: Node, value: Any) -> str:
    """A sequence's item becomes a collection right after its "-"."""
    column = place.column(node.content if node.start != node.end else entry.start + 2)
    lines = place.block_lines(value, column).lstrip(" ")
    lead = " " if node.start == node.end else ""
    return place.splice(node.content, node.end, lead + lines)


def add_key(place: Place, steps: tuple[str | int, ...], key: str, value: Any) -> str:
    """The text with a new last key in the mapping at `steps`."""
    node = place.node_at(steps)
    if node.kind != "mapping":
        raise Unplaced
    written = json.dumps(key, ensure_ascii=False) if place.is_json else yaml_writing.inline(key)
    if node.flow or place.is_json:
        return _add_flow(
            place, node, len(node.entries), lambda indent, many: f"{written}: {place.flow(value, indent, many)}"
        )
    first = node.entries[0]
    column = place.column(first.start)
    return _insert_after(place, node.entries[-1].value.end, _entry_lines(place, written, value, column))


def _entry_lines(place: Place, written: str, value: Any, column: int) -> str:
    pad = " " * column
    if isinstance(value, dict | list) and value:
        indented = isinstance(value, dict) or place.indented
        return f"{pad}{written}:{place.newline}{place.block_lines(value, column + (place.step if indented else 0))}"
    if isinstance(value, str) and "\n" in value:
        lines = yaml_writing.block({"k": value}, place.indented, place.step)[1:].split("\n")
        return place.newline.join([f"{pad}{written}{lines[0]}", *(pad + line if line else line for line in lines[1:])])
    return f"{pad}{written}: {yaml_writing.on_line(value)}"


def _insert_after(place: Place, position: int, lines: str) -> str:
    """New lines after the line that a value ends in, with its comment."""
    end = place.line_end(position)
    rest = place.text[position:end]
    if rest.strip() and not rest.lstrip().startswith("#"):
        raise Unplaced
    return place.splice(end, end, place.newline + lines)


def insert_item(place: Place, steps: tuple[str | int, ...], index: int, value: Any) -> str:
    """The text with a new item before `index` of the sequence at `steps` (its length: at the end)."""
    node = place.node_at(steps)
    if node.kind != "sequence":
        raise Unplaced
    if node.flow or place.is_json:
        return _add_flow(place, node, index, lambda indent, many: place.flow(value, indent, many))
    model = node.entries[min(index, len(node.entries) - 1)]
    column = place.column(model.start)
    gap = max(1, model.value.content - model.start - 1) if model.value.start != model.value.end else 1
    if model.value.flow is False and "\n" in place.text[model.start : model.value.content]:
        gap = 1
    if isinstance(value, dict | list) and value:
        lines = place.block_lines(value, column + 1 + gap)
        lines = " " * column + "-" + lines[column + 1 :]
    elif isinstance(value, str) and "\n" in value:
        lines = _entry_lines(place, "-", value, column).replace("-:", "-", 1)
    else:
        lines = " " * column + "-" + " " * gap + yaml_writing.on_line(value, _common_style(node))
    if index >= len(node.entries):
        return _insert_after(place, node.entries[-1].value.end, lines)
    if not place.begins_line(model.start):
        raise Unplaced
    start = place.line_start(model.start)
    return place.splice(start, start, lines + place.newline)


def _common_style(node: Node) -> str:
    """The quotes that all items have, "" where they differ."""
    styles = {entry.value.style for entry in node.entries}
    return styles.pop() if len(styles) == 1 and styles <= {'"', "'"} else ""


def _add_flow(place: Place, node: Node, index: int, write: Any) -> str:
    entries = node.entries
    if not entries:
        inner = place.text[node.content + 1 : node.end - 1]
        if inner.strip():
            raise Unplaced
        root_of_lines = place.is_json and node is place.root and "\n" in place.text
        if root_of_lines or "\n" in inner:
            outer = " " * _indent_of_line(place, node.content)
            pad = outer + " " * place.step
            new = place.newline + pad + write(pad, True) + place.newline + outer
        else:
            new = write("", False)
        return place.splice(node.content + 1, node.end - 1, new)
    model = entries[min(index, len(entries) - 1)]
    many_lines = place.begins_line(model.start)
    indent = place.text[place.line_start(model.start) : model.start] if many_lines else ""
    if index < len(entries):
        between = place.newline + indent if many_lines else " "
        return place.splice(model.start, model.start, write(indent, many_lines) + "," + between)
    end = model.value.end
    new = (place.newline + indent if many_lines else " ") + write(indent, many_lines)
    comma = _comma_after(place, end)
    if comma is not None:
        # A trailing comma is this file's habit: the new entry gets one too.
        return place.splice(comma + 1, comma + 1, new + ",")
    # A comment after the last entry stays beside it.
    rest = place.text[end : place.line_end(end)]
    tail = rest if many_lines and rest.strip().startswith(("//", "#", "/*")) else ""
    return place.splice(end, end + len(tail), "," + tail + new)


def _comma_after(place: Place, position: int) -> int | None:
    match = _AFTER_VALUE.match(place.text, position)
    found = match.end() if match else position
    return found if place.text[found : found + 1] == "," else None


def _indent_of_line(place: Place, position: int) -> int:
    start = place.line_start(position)
    line = place.text[start : place.line_end(position)]
    return len(line) - len(line.lstrip(" "))


def remove_entry(place: Place, steps: tuple[str | int, ...]) -> str:
    """The text without the key or item at `steps`; an emptied collection is written as {} or []."""
    node = place.node_at(steps[:-1])
    entry = place.own_entry(node, steps[-1]) if node.kind == "mapping" else place.child(node, steps[-1])
    if entry is None:
        raise Unplaced
    number = node.entries.index(entry)
    if node.flow or place.is_json:
        return _remove_flow(place, node, number)
    if len(node.entries) == 1:
        empty = "{}" if node.kind == "mapping" else "[]"
        if len(steps) == 1:
            return place.splice(node.content, node.end, empty)
        return _replace_scalar(place, node, empty)
    end = max(entry.value.end, entry.key.end if entry.key else 0)
    if place.begins_line(entry.start):
        start = place.line_start(entry.start)
        stop = place.line_end(end)
        rest = place.text[end:stop]
        if rest.strip() and not rest.lstrip().startswith("#"):
            raise Unplaced
        if stop < len(place.text):
            stop += 2 if place.text[stop] == "\r" else 1
        elif start > 0 and not place.text.endswith("\n"):
            start = place.line_end(start - 1) if place.text[start - 1] == "\n" else start
            start -= 1 if place.text[start : start + 1] == "\n" and place.text[start - 1 : start] == "\r" else 0
        return place.splice(start, stop, "\ufeff" if place.text[start : start + 1] == "\ufeff" else "")
    if number + 1 < len(node.entries):
        # The first key of "- name: a": the next one takes its place after the "-".
        return place.splice(entry.start, node.entries[number + 1].start, "")
    raise Unplaced


def _remove_flow(place: Place, node: Node, number: int) -> str:
    entries = node.entries
    entry = entries[number]
    if len(entries) == 1:
        comma = _comma_after(place, entry.value.end)
        end = entry.value.end if comma is None else comma + 1
        inner_start, inner_end = node.content + 1, node.end - 1
        around = place.text[inner_start : entry.start] + place.text[end:inner_end]
        return place.splice(inner_start, inner_end, "" if not around.strip() else around)
    if number + 1 < len(entries):
        return place.splice(entry.start, entries[number + 1].start, "")
    before = entries[number - 1].value.end
    comma = _comma_after(place, before)
    if comma is None:
        raise Unplaced
    own_comma = _comma_after(place, entry.value.end)
    end = entry.value.end if own_comma is None else own_comma + 1
    between = place.text[comma + 1 : entry.start]
    if not between.strip():
        return place.text[: comma + (1 if own_comma is not None else 0)] + place.text[end:]
    # A comment between the two stays.
    without = place.text[: entry.start].rstrip(" \t\r\n") + place.text[end:]
    return without if own_comma is not None else without[:comma] + without[comma + 1 :]

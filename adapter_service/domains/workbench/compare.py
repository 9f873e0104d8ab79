"""Two documents or two texts beside each other: unified diff and JSON Patch (RFC 6902). For the view and edits."""

from __future__ import annotations

import difflib
from typing import Any

import jsonpatch


def unified_diff(before: str, after: str, before_name: str, after_name: str) -> str:
    """The lines that differ, three lines of context; "" for equal texts. Line endings are not shown."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), before_name, after_name, lineterm="")
    return "\n".join(lines)


def json_patch(before: Any, after: Any) -> list[dict[str, Any]]:
    """The operations that make `after` of `before`."""
    return list(jsonpatch.make_patch(before, after).patch)


def changes(before: Any, after: Any, pointer: str = "") -> list[dict[str, Any]]:
    """Each place that differs, in document order: {path, op: added, removed or changed, a, b}. Lists by position."""
    if isinstance(before, dict) and isinstance(after, dict):
        found = []
        for key in [*before, *(key for key in after if key not in before)]:
            inner = pointer + "/" + str(key).replace("~", "~0").replace("/", "~1")
            if key not in after:
                found.append({"path": inner, "op": "removed", "a": before[key], "b": None})
            elif key not in before:
                found.append({"path": inner, "op": "added", "a": None, "b": after[key]})
            else:
                found += changes(before[key], after[key], inner)
        return found
    if isinstance(before, list) and isinstance(after, list):
        found = []
        for number in range(max(len(before), len(after))):
            inner = f"{pointer}/{number}"
            if number >= len(after):
                found.append({"path": inner, "op": "removed", "a": before[number], "b": None})
            elif number >= len(before):
                found.append({"path": inner, "op": "added", "a": None, "b": after[number]})
            else:
                found += changes(before[number], after[number], inner)
        return found
    same = before == after and (isinstance(before, bool) == isinstance(after, bool))
    return [] if same else [{"path": pointer, "op": "changed", "a": before, "b": after}]

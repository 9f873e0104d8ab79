"""Unified diffs of texts, bounded in size. Called by diff_artifact; applied to `before` a diff gives exactly `after`.

Lines end at "\\n" only, so that a carriage return is part of its line; a missing end of the last line is told as usual.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

MOST_CHANGED_LINES = 4000  # between the first and the last difference; comparing costs their product at worst
MOST_DIFF_BYTES = 1024 * 1024

_Opcode = tuple[str, int, int, int, int]


@dataclass(frozen=True, slots=True)
class UnifiedDiff:
    """`limit` says which limit was exceeded and by how much; then `text` is empty."""

    text: str = ""
    added_lines: int = 0
    removed_lines: int = 0
    limit: str = ""


def unified_diff(before: str, after: str, *, from_name: str, to_name: str, context: int) -> UnifiedDiff:
    """The difference with `context` unchanged lines around each change; empty where there is none."""
    old, new = _lines(before), _lines(after)
    head, tail = _equal_ends(old, new)
    middle = (old[head : len(old) - tail], new[head : len(new) - tail])
    most = max(map(len, middle))
    if most > MOST_CHANGED_LINES:
        return UnifiedDiff(
            limit=f"unified_diff: at most {MOST_CHANGED_LINES} lines between the first and the last difference are "
            f"compared, here are {most}"
        )
    opcodes: list[_Opcode] = [
        (tag, i1 + head, i2 + head, j1 + head, j2 + head)
        for tag, i1, i2, j1, j2 in SequenceMatcher(None, *middle).get_opcodes()
    ]
    changes = [opcode for opcode in opcodes if opcode[0] != "equal"]
    if not changes:
        return UnifiedDiff()
    text = "".join((f"--- {from_name}\n+++ {to_name}\n", *_hunks(changes, old, new, context)))
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MOST_DIFF_BYTES:
        return UnifiedDiff(limit=f"unified_diff: at most {MOST_DIFF_BYTES} bytes, it would have {size}")
    return UnifiedDiff(
        text,
        added_lines=sum(j2 - j1 for _, _, _, j1, j2 in changes),
        removed_lines=sum(i2 - i1 for _, i1, i2, _, _ in changes),
    )


def _lines(text: str) -> list[str]:
    """With their ends, so that only equal ends are equal lines."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _equal_ends(old: list[str], new: list[str]) -> tuple[int, int]:
    """How many lines are equal at the beginning, and of the others at the end."""
    most = min(len(old), len(new))
    head = next((at for at in range(most) if old[at] != new[at]), most)
    tail = next((at for at in range(most - head) if old[-1 - at] != new[-1 - at]), most - head)
    return head, tail


def _hunks(changes: list[_Opcode], old: list[str], new: list[str], context: int) -> Iterator[str]:
    group: list[_Opcode] = []
    for change in changes:
        if group and change[1] - group[-1][2] > 2 * context:
            yield from _hunk(group, old, new, context)
            group = []
        group.append(change)
    yield from _hunk(group, old, new, context)


def _hunk(group: list[_Opcode], old: list[str], new: list[str], context: int) -> Iterator[str]:
    first, last = group[0], group[-1]
    before = min(context, first[1])
    after = min(context, len(old) - last[2])
    i1, i2, j1, j2 = first[1] - before, last[2] + after, first[3] - before, last[4] + after
    yield f"@@ -{_range(i1, i2)} +{_range(j1, j2)} @@\n"
    at = i1
    for _, start, end, new_start, new_end in group:
        yield from _marked(" ", old[at:start])
        yield from _marked("-", old[start:end])
        yield from _marked("+", new[new_start:new_end])
        at = end
    yield from _marked(" ", old[at:i2])


def _range(start: int, end: int) -> str:
    """Counted from 1; an empty range names the line before it."""
    length = end - start
    return f"{start + 1}" if length == 1 else f"{start + (length > 0)},{length}"


def _marked(mark: str, lines: list[str]) -> Iterator[str]:
    for line in lines:
        yield f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n"

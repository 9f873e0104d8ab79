"""File patterns of the declared mapping: "services/*.yaml", "docs/**/*.md"."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from .linear_patterns import searcher


@lru_cache(maxsize=1024)
def pattern(glob: str) -> Callable[[str], bool]:
    """ "*" and "?" stay within a name, "**" crosses folders, "[abc]" is one of the characters."""
    parts: list[str] = []
    position = 0
    while position < len(glob):
        if glob.startswith("**/", position):
            parts.append("(?:[^/]+/)*")
            position += 3
        elif glob.startswith("**", position):
            parts.append(".*")
            position += 2
        elif glob[position] == "*":
            parts.append("[^/]*")
            position += 1
        elif glob[position] == "?":
            parts.append("[^/]")
            position += 1
        elif glob[position] == "[" and "]" in glob[position:]:
            end = glob.index("]", position)
            inner = glob[position + 1 : end].replace("\\", "\\\\")
            parts.append(f"[{'^' + inner[1:] if inner.startswith('!') else inner}]" if inner else re.escape("[]"))
            position = end + 1
        else:
            parts.append(re.escape(glob[position]))
            position += 1
    # A class such as [z-a] is no pattern: then only the very name is meant.
    return searcher(rf"\A(?s:{''.join(parts)})\z") or glob.__eq__


def matches(glob: str, path: str) -> bool:
    return pattern(glob.removeprefix("./"))(path)

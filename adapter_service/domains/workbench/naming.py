"""How an answer names things, and how the checks find the names again in a text (requirement F4).

A document is named by its key in backquotes, a fragment of documentation as path#anchor. Called by answers and
domain.py.
"""

from __future__ import annotations

import re
from typing import Final

_KEY: Final = re.compile(r"`([^`\s\"\\]+/[^`\s\"\\]+)`")
_FRAGMENT: Final = re.compile(r"[\w./-]+\.(?:md|markdown|mdx)#[\w-]+")
_SAFE: Final = re.compile(r"[^`\s\"\\]+")


def named(key: str) -> str:
    """A document's key as answers write it; one that has spaces or quotes stands in quotation marks."""
    return f"`{key}`" if _SAFE.fullmatch(key) else f"“{key}”"


def source_name(path: str, anchor: str) -> str:
    """A fragment as answers cite it."""
    return f"{path}#{anchor}" if anchor else path


def identities(text: str) -> frozenset[str]:
    """The document keys that a text names."""
    return frozenset(_KEY.findall(text))


def fragments(text: str) -> frozenset[str]:
    """The documentation fragments that a text cites."""
    return frozenset(_FRAGMENT.findall(text))

"""Quoted parts of a message are one word for the grammar, whatever they contain. Called by the planner's reading.

"set title to “In and out”" names a value, no second command.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

_QUOTED: Final = re.compile(r"“[^”\n]*”|«[^»\n]*»|„[^“”\n]*[“”]|(?<!\w)\"[^\"\n]*\"|`[^`\n]*`|(?<!\w)'[^'\n]*'(?!\w)")
# JSON values are one word, too.
_BRACKETED: Final = re.compile(r"(?<![\w.\]])[\[{][^\[\]{}\n]*[\]}]")
MARK: Final = re.compile("\ue000(\\d+)\ue001")


@dataclass
class Quotes:
    """The quoted parts taken out of one message."""

    parts: list[str] = field(default_factory=list)

    def hide(self, text: str) -> str:
        """The text with a mark in place of each quoted part."""
        text = text.replace("\ue000", "").replace("\ue001", "")
        for pattern in (_QUOTED, _BRACKETED):
            text = pattern.sub(self._mark, text)
        return text

    def _mark(self, match: re.Match[str]) -> str:
        self.parts.append(match.group())
        return f"\ue000{len(self.parts) - 1}\ue001"

    def show(self, text: str) -> str:
        """The text with the quoted parts back in their places."""
        while MARK.search(text):
            text = MARK.sub(lambda match: self.parts[int(match.group(1))], text)
        return text


def is_marked(word: str) -> bool:
    """Does the word stand for a quoted part?"""
    return MARK.fullmatch(word) is not None

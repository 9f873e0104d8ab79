"""Markdown split at its headings, each section with the anchor that GitHub gives it.

Called by the index for every documentation file and by the section edits. markdown-it-py says which lines are
headings (CommonMark: fences, comments, setext and indented code are its business).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

_FRONT_MATTER: Final = re.compile(r"\A---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_FRONT_TITLE: Final = re.compile(r"^title:[ \t]*(.+?)[ \t]*$", re.MULTILINE)
# Only blocks: the words within them are parsed for headings alone.
_MARKDOWN: Final = MarkdownIt("commonmark").disable(["inline", "text_join"])
_INLINE: Final = MarkdownIt("commonmark")
# GitHub keeps letters, digits, marks, connectors, "-" and spaces of a heading, and nothing else.
_DROPPED: Final = re.compile(r"[^\w\- ]")
# Without one of these a heading is its own plain text. A heading longer than this is no heading of a person's.
_MARKED: Final = re.compile(r"[\\`*_\[\]<>&!]")
_LONGEST_HEADING: Final = 1_000
_EXPLICIT_ANCHOR: Final = re.compile(r"\s*\{#([\w.:-]+)\}\s*$")


@dataclass(frozen=True, slots=True)
class Section:
    """`start` is the heading's offset, `body` the first after it, `end` the next heading's; level 0 is before any."""

    anchor: str
    title: str
    heading_path: tuple[str, ...]
    level: int
    start: int
    body: int
    end: int


def slug(title: str) -> str:
    """GitHub's anchor of a heading: lower case, punctuation dropped, spaces as hyphens."""
    return _DROPPED.sub("", title.strip().lower()).replace(" ", "-")


def _plain(heading: str) -> str:
    """The words of a heading as they are read: no emphasis marks, no link targets, code without its ticks."""
    if not _MARKED.search(heading):
        return " ".join(heading.split())
    parts = []
    for child in _INLINE.parseInline(heading)[0].children or []:
        if child.type in ("text", "code_inline"):
            parts.append(child.content)
        elif child.type in ("softbreak", "hardbreak"):
            parts.append(" ")
        elif child.type == "image":
            parts.append(child.content)
    return " ".join("".join(parts).split())


def split_sections(text: str) -> list[Section]:
    """The sections of a file in order. Text before the first heading is a section with the anchor ""."""
    body = text.removeprefix("\ufeff")
    shift = len(text) - len(body)
    # The parser counts lines by "\n"; the same number of characters keeps every offset.
    plain = body.replace("\r\n", " \n").replace("\r", "\n").replace("\u0000", " ")
    front = _FRONT_MATTER.match(plain)
    skipped = front.end() if front else 0
    title = _FRONT_TITLE.search(front.group(1)) if front else None
    offsets = [0]
    for line in plain.split("\n"):
        offsets.append(offsets[-1] + len(line) + 1)
    offsets[-1] = len(plain)
    first_line = plain.count("\n", 0, skipped)
    found: list[tuple[int, int, int, str]] = []
    tokens = _block_tokens(plain[skipped:])
    for number, token in enumerate(tokens):
        if token.type == "heading_open" and token.map and token.level == 0:
            start, end = (offsets[min(line + first_line, len(offsets) - 1)] for line in token.map)
            found.append((start, end, int(token.tag[1:]), _plain(tokens[number + 1].content[:_LONGEST_HEADING])))
    return _sections(found, len(plain), skipped, title.group(1).strip("\"'") if title else "", plain, shift)


def _block_tokens(text: str) -> list[Token]:
    try:
        return _MARKDOWN.parse(text)
    except RecursionError:
        # Quotes nested hundreds of levels deep: the file stays one section.
        return []


def _sections(
    found: list[tuple[int, int, int, str]], length: int, skipped: int, front_title: str, text: str, shift: int
) -> list[Section]:
    sections: list[Section] = []
    used: dict[str, int] = {}
    open_titles: list[tuple[int, str]] = [(0, front_title)] if front_title else []
    first = found[0][0] if found else length
    if text[skipped:first].strip() or (front_title and not found):
        path: tuple[str, ...] = (front_title,) if front_title else ()
        sections.append(Section("", front_title, path, 0, shift, shift + skipped, shift + first))
    for number, (start, body, level, words) in enumerate(found):
        end = found[number + 1][0] if number + 1 < len(found) else length
        explicit = _EXPLICIT_ANCHOR.search(words)
        title = words[: explicit.start()] if explicit else words
        open_titles = [each for each in open_titles if each[0] < level]
        if not (open_titles and open_titles[-1][1] == title):
            open_titles.append((level, title))
        path = tuple(name for _level, name in open_titles)
        anchor = explicit.group(1) if explicit else _unique(slug(title), used)
        sections.append(Section(anchor, title, path, level, shift + start, shift + body, shift + end))
    return sections


def _unique(anchor: str, used: dict[str, int]) -> str:
    """GitHub's rule for repeated headings: -1, -2 in order, skipping an anchor that a heading has by itself."""
    candidate = anchor
    while candidate in used:
        used[anchor] += 1
        candidate = f"{anchor}-{used[anchor]}"
    used[candidate] = 0
    return candidate


def bounded_parts(text: str, limit: int) -> list[tuple[int, int]]:
    """A long section in parts of at most `limit` characters, cut at blank lines where there are any, else at lines."""
    parts: list[tuple[int, int]] = []
    start = 0
    while len(text) - start > limit:
        window_end = start + limit
        least = start + limit // 3
        cut = text.rfind("\n\n", least, window_end)
        cut = cut + 2 if cut >= 0 else text.rfind("\n", least, window_end) + 1
        if cut <= least:
            cut = window_end
        parts.append((start, cut))
        start = cut
    parts.append((start, len(text)))
    return parts

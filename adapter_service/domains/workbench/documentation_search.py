"""Searching the documentation: sections that have the words of a question, with what they say verbatim.

Called by the view. A fragment is cited by its file, its anchor and the file's hash, and quotes the file's own text.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from .document_search import check_page
from .errors import WorkbenchError, quoted, some_of
from .full_text import fragments_with, meant_words, relevance
from .limits import QUOTE_CHARS, SECTION_TEXT_CHARS
from .records import FileRecord, SectionRow
from .terms import WORD, fold, query_terms, stem, words

if TYPE_CHECKING:
    from .view import View

# Ends of sentences, and ends of lines where a paragraph's line does not go on.
_SENTENCE: Final = re.compile(r"(?<=[.!?…])\s+|\n\s*\n|\n(?=\s*(?:[-*+>|#]|\d+[.)]))")
_HEADING: Final = re.compile(r"\A\s*#{1,6}[^\n]*\n|\A[^\n]+\n(?:=+|-+)[ \t]*\n")
_MOST_QUOTED: Final = 3
_FRONT_MATTER: Final = re.compile(r"\A\ufeff?---[ \t]*\r?\n.*?^(?:---|\.\.\.)[ \t]*\r?\n", re.DOTALL | re.MULTILINE)
# A section is about what its heading says; BM25 alone prefers any short section that has the word once.
_HEADING_BONUS: Final = 4.0
_FILE_BONUS: Final = 2.0


def search_documentation(view: View, query: str, limit: int, offset: int) -> dict[str, Any]:
    """See View.search_documentation."""
    check_page(limit, offset)
    terms = query_terms(query)
    counts: Counter[int] = Counter()
    scores: dict[int, float] = {}
    everything: set[str] = set()
    for term in terms:
        meant = meant_words(view.store, term)
        everything.update(meant)
        headed = fragments_with(view.store, meant, "name")
        for fragment, score in relevance(view.store, meant).items():
            where = view.section_places.get(fragment)
            if where:
                counts[fragment] += 1
                bonus = _HEADING_BONUS * (fragment in headed) + _FILE_BONUS * (
                    stem(term) in _file_stems(where[0][0].path)
                )
                scores[fragment] = scores.get(fragment, 0.0) + score + bonus
    complete = [fragment for fragment, count in counts.items() if count == len(terms)]
    chosen = complete or list(counts)
    chosen.sort(key=lambda each: (-counts[each], -scores[each], each))
    places = _distinct(view, chosen)
    page = places[offset : offset + limit]
    return {
        "fragments": [
            {
                **fragment_of(view, record, rows),
                "quote": quote(_text(view, record, [best]), everything),
                "score": round(scores[best.fragment], 3),
            }
            for record, rows, best in page
        ],
        "total": len(places),
        "matched": "all" if complete or not chosen else "any",
    }


@lru_cache(maxsize=4096)
def _file_stems(path: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words(path.rpartition("/")[2].rpartition(".")[0]))


def _distinct(view: View, fragments: list[int]) -> list[tuple[FileRecord, list[SectionRow], SectionRow]]:
    """The sections of these fragments, each once: its file, its parts, and the part that fits best."""
    seen: set[tuple[str, str]] = set()
    found = []
    for fragment in fragments:
        for record, row in view.section_places[fragment]:
            if (record.path, row.anchor) not in seen:
                seen.add((record.path, row.anchor))
                found.append((record, _parts(record, row.anchor), row))
    return found


def _parts(record: FileRecord, anchor: str) -> list[SectionRow]:
    return [row for row in record.sections if row.anchor == anchor]


def _text(view: View, record: FileRecord, rows: list[SectionRow]) -> str:
    return view.store.text(record.content_id)[rows[0].start : rows[-1].end]


def fragment_of(view: View, record: FileRecord, rows: list[SectionRow]) -> dict[str, Any]:
    """A section as it is shown and cited; a long one's text is cut at SECTION_TEXT_CHARS characters."""
    text = _text(view, record, rows).strip("\r\n")
    shown = text if len(text) <= SECTION_TEXT_CHARS else text[:SECTION_TEXT_CHARS].rstrip() + "…"
    return {
        "path": record.path,
        "anchor": rows[0].anchor,
        "title": rows[0].title or record.path.rpartition("/")[2],
        "heading_path": list(rows[0].heading_path),
        "text": shown,
        "sha256": record.sha256,
    }


def quote(text: str, meant: set[str]) -> str:
    """The sentences that have most of the words, in their order, verbatim; at most QUOTE_CHARS characters."""
    body = _HEADING.sub("", _FRONT_MATTER.sub("", text, count=1), count=1)
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _SENTENCE.finditer(body):
        spans.append((start, match.start()))
        start = match.end()
    spans.append((start, len(body)))
    spans = [span for span in spans if WORD.search(body, *span)]
    if not spans:
        return text.strip()[:QUOTE_CHARS]
    counts = [len(meant.intersection(WORD.findall(fold(body[begin:end])))) for begin, end in spans]
    first = max(range(len(spans)), key=lambda number: (counts[number], -number))
    last = first
    # What follows belongs to it as long as it fits: one quote is one piece of the file.
    while (
        last + 1 < len(spans)
        and last + 1 - first < _MOST_QUOTED
        and spans[last + 1][1] - spans[first][0] <= QUOTE_CHARS
    ):
        last += 1
    chosen = body[spans[first][0] : spans[last][1]].strip()
    return chosen if len(chosen) <= QUOTE_CHARS else chosen[: QUOTE_CHARS - 1].rstrip() + "…"


def section(view: View, path: str, anchor: str) -> dict[str, Any]:
    """See View.section."""
    record = view.files.get(path)
    if record is None or not record.sections:
        names = some_of([each.path for each in view.files.values() if each.sections])
        raise WorkbenchError(
            "section_unknown",
            "path",
            f"path: {quoted(path)} is no documentation file; there are: {names or 'none'}.",
            f"Файла документации {quoted(path)} нет; есть: {names or 'ни одного'}.",
        )
    wanted = anchor.removeprefix("#")
    rows = _parts(record, wanted)
    if not rows and wanted == "":
        rows = list(record.sections)[:1]
    if not rows:
        names = some_of([f"#{each}" for each in dict.fromkeys(row.anchor for row in record.sections) if each])
        raise WorkbenchError(
            "section_unknown",
            "anchor",
            f"anchor: {path} has no section {quoted(anchor)}; there are: {names}.",
            f"В {path} нет раздела {quoted(anchor)}; есть: {names}.",
        )
    return fragment_of(view, record, rows)

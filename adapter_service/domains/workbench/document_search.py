"""Finding documents: by type, identity, path, field values and words, and by what a person calls them.

Called by the view.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from rapidfuzz import fuzz, process

from .errors import WorkbenchError, quoted
from .full_text import fragments_with, meant_words, relevance
from .globs import matches
from .limits import MAX_LIMIT, SNIPPET_CHARS
from .pointers import parse_path, scalar_text, select, walk
from .records import DocumentRow, Match
from .spelling import latin
from .terms import WORD, fold, name_words, query_terms, stem

if TYPE_CHECKING:
    from .view import View

_SORTS: Final = ("key", "path", "type", "relevance")
_LEAST_SCORE: Final = 60.0
_MOST_NEAR: Final = 200


def check_page(limit: int, offset: int) -> None:
    """Raises WorkbenchError limit_invalid, which names the accepted numbers."""
    if not 1 <= limit <= MAX_LIMIT:
        raise WorkbenchError(
            "limit_invalid",
            "limit",
            f"limit: accepted is 1 to {MAX_LIMIT}, got {limit}.",
            f"Количество: принимается от 1 до {MAX_LIMIT}, получено {limit}.",
        )
    if offset < 0:
        raise WorkbenchError(
            "limit_invalid",
            "offset",
            f"offset: accepted is 0 or more, got {offset}.",
            f"Смещение: принимается 0 или больше, получено {offset}.",
        )


def find_documents(
    view: View,
    text: str = "",
    type: str = "",
    identity: str = "",
    path: str = "",
    where: Mapping[str, Any] | None = None,
    sort: str = "",
    limit: int = 20,
    offset: int = 0,
) -> dict[str, Any]:
    """See View.find_documents."""
    check_page(limit, offset)
    if sort and sort not in _SORTS:
        names = ", ".join(_SORTS)
        raise WorkbenchError(
            "operation_invalid",
            "sort",
            f"sort: accepted is one of {names}, got {quoted(sort)}.",
            f"Порядок: принимается {names}, получено {quoted(sort)}.",
        )
    rows = [row for row in view.rows if _named(row, type, identity, path)]
    for pointer, value in (where or {}).items():
        rows = _where(view, rows, pointer, value)
    terms = query_terms(text)
    matched = "all"
    scores: dict[str, float] = {}
    words_meant: list[str] = []
    if terms:
        rows, matched, scores, words_meant = _with_words(view, rows, terms)
    order = sort or ("relevance" if terms else "key")
    rows = _sorted(rows, order, scores)
    page = rows[offset : offset + limit]
    texts = view.store.slices([row.fragment for row in page])
    fields = {} if terms or not where else view.store.bodies(row.fragment for row in page)
    return {
        "documents": [
            {
                "key": row.document.key,
                "type": row.document.type,
                "identity": row.document.identity,
                "path": row.document.path,
                "title": row.document.title,
                "snippet": (
                    field_line(texts.get(row.fragment, ""), fields[row.fragment], where)
                    if where and row.fragment in fields
                    else snippet(texts.get(row.fragment, ""), words_meant)
                ),
            }
            for row in page
        ],
        "total": len(rows),
        "limit": limit,
        "offset": offset,
        "matched": matched,
    }


def _named(row: DocumentRow, type: str, identity: str, path: str) -> bool:
    document = row.document
    if type and document.type != type and fold(document.type) != fold(type):
        return False
    if identity and fold(document.identity) != fold(identity):
        return False
    return (
        not path
        or document.path == path
        or matches(path, document.path)
        or document.path.startswith(path.rstrip("/") + "/")
    )


def _where(view: View, rows: list[DocumentRow], pointer: str, value: Any) -> list[DocumentRow]:
    if isinstance(value, dict | list):
        raise WorkbenchError(
            "where_invalid",
            "where",
            f"where {quoted(pointer)}: accepted is a text, a number, true, false, or null for any value.",
            f"Условие {quoted(pointer)}: принимается текст, число, true, false или null для любого значения.",
        )
    steps = parse_path(pointer)
    anywhere = len(steps) == 1 and not pointer.startswith("/")
    wanted = None if value is None else fold(scalar_text(value))
    # The words of the value and of the last name have to be in the text: only those documents are read.
    needed = WORD.findall(wanted or "") + ([] if steps[-1:] in ((), ("*",)) else WORD.findall(fold(steps[-1])))
    candidates = rows
    for word in needed:
        having = fragments_with(view.store, [word])
        candidates = [row for row in candidates if row.fragment in having]
    found: list[DocumentRow] = []
    for start in range(0, len(candidates), 500):
        chunk = candidates[start : start + 500]
        bodies = view.store.bodies(row.fragment for row in chunk)
        found += [
            row for row in chunk if row.fragment in bodies and _has(bodies[row.fragment], steps, anywhere, wanted)
        ]
    return found


def _has(body: Any, steps: tuple[str, ...], anywhere: bool, wanted: str | None) -> bool:
    return _place_of(body, steps, anywhere, wanted) is not None


def _place_of(body: Any, steps: tuple[str, ...], anywhere: bool, wanted: str | None) -> tuple[Any, Any] | None:
    """The first field that a condition is true of: its path and value."""
    places = (
        ((path, leaf) for path, leaf in walk(body) if str(path[-1]) == steps[0]) if anywhere else select(body, steps)
    )
    for path, leaf in places:
        leaves = leaf if isinstance(leaf, list) else [leaf]
        if wanted is None or any(
            not isinstance(each, dict | list) and fold(scalar_text(each)) == wanted for each in leaves
        ):
            return path, leaf
    return None


def field_line(text: str, body: Any, where: Mapping[str, Any]) -> str:
    """The line of the field that the first condition is about; where it has none of its own, its path and value."""
    pointer, value = next(iter(where.items()))
    steps = parse_path(pointer)
    anywhere = len(steps) == 1 and not pointer.startswith("/")
    place = _place_of(body, steps, anywhere, None if value is None else fold(scalar_text(value)))
    if place is None:
        return snippet(text, [])
    path, leaf = place
    names = [str(each) for each in path if not isinstance(each, int)]
    if not isinstance(leaf, dict | list) and names:
        name, shown = re.escape(names[-1]), fold(scalar_text(leaf))
        for line in text.splitlines():
            found = re.match(rf"\s*(?:[-{{,]\s*)*[\"']?{name}[\"']?\s*[:=]\s*(?P<value>.+)", line)
            if found is not None and shown in fold(found["value"]):
                return _short(line.strip())
    written = scalar_text(leaf) if not isinstance(leaf, dict | list) else json.dumps(leaf, ensure_ascii=False)
    return _short(f"{'.'.join(str(each) for each in path)}: {written}")


def _short(line: str) -> str:
    return line if len(line) <= SNIPPET_CHARS else line[: SNIPPET_CHARS - 1] + "…"


def _with_words(
    view: View, rows: list[DocumentRow], terms: list[str]
) -> tuple[list[DocumentRow], str, dict[str, float], list[str]]:
    """The rows with all of the words, or, where none has, with any; a word may be in the text or the names."""
    counts: dict[str, int] = {}
    scores: dict[str, float] = {}
    everything: list[str] = []
    for term in terms:
        meant = meant_words(view.store, term)
        everything += meant
        fits = relevance(view.store, meant)
        named = view.named_with(term)
        for row in rows:
            key = row.document.key
            fit = fits.get(row.fragment)
            in_name = named.get(key, 0.0)
            if fit is None and not in_name:
                continue
            counts[key] = counts.get(key, 0) + 1
            scores[key] = scores.get(key, 0.0) + (fit or 0.0) + in_name
    complete = [row for row in rows if counts.get(row.document.key) == len(terms)]
    if complete:
        return complete, "all", scores, everything
    some = [row for row in rows if row.document.key in counts]
    scores = {key: score + 100.0 * counts[key] for key, score in scores.items()}
    return some, "any" if some else "all", scores, everything


def _sorted(rows: list[DocumentRow], order: str, scores: Mapping[str, float]) -> list[DocumentRow]:
    if order == "relevance":
        return sorted(rows, key=lambda row: (-scores.get(row.document.key, 0.0), row.document.key))
    if order == "path":
        return sorted(rows, key=lambda row: (row.document.path, row.document.document_index))
    if order == "type":
        return sorted(rows, key=lambda row: (row.document.type, row.document.key))
    return sorted(rows, key=lambda row: row.document.key)


def snippet(text: str, meant: list[str]) -> str:
    """The line that has most of these words, else the first with content; at most SNIPPET_CHARS characters."""
    wanted = set(meant)
    # Most lines have none of the words, and a look for their letters is cheap.
    letters = re.compile("|".join(re.escape(word) for word in wanted))
    best, best_count = "", -1
    for line in text.splitlines():
        plain = line.strip()
        if not plain or plain in ("---", "{", "}", "["):
            continue
        folded = plain.lower() if plain.isascii() else fold(plain)
        count = len(wanted.intersection(WORD.findall(folded))) if wanted and letters.search(folded) else 0
        if count > best_count:
            best, best_count = plain, count
            if not wanted:
                break
    return _short(best)


def match_documents(view: View, text: str, limit: int, type: str) -> list[Match]:
    """See View.match_documents."""
    wanted = fold(text).strip()
    if not wanted:
        return []
    exact = [
        row
        for row in view.rows
        if (not type or row.document.type == type) and wanted in (fold(row.document.key), fold(row.document.path))
    ]
    if exact:
        return [Match(key=row.document.key, score=100.0, document=row.document) for row in exact[:limit]]
    spellings = list(dict.fromkeys([_spaced(wanted), _spaced(latin(wanted))]))
    best: dict[str, float] = {}
    for spelling in spellings:
        for name in _near_names(view, spelling):
            score = _similarity(spelling, name)
            for row, worth in view.names[name]:
                if not type or row.document.type == type:
                    best[row.document.key] = max(best.get(row.document.key, 0.0), score * worth)
    order = sorted(best.items(), key=lambda each: (-each[1], each[0]))[:limit]
    return [
        Match(key=key, score=round(score, 1), document=view.document(key))
        for key, score in order
        if score >= _LEAST_SCORE
    ]


def _near_names(view: View, spelling: str) -> set[str]:
    """The names that may be meant: alike in letters, in any order of words, or having all of the words."""
    near: set[str] = set()
    for scorer in (fuzz.ratio, fuzz.token_sort_ratio):
        found = process.extract(spelling, view.names.keys(), scorer=scorer, score_cutoff=_LEAST_SCORE, limit=_MOST_NEAR)
        near.update(name for name, _, _ in found)
    words_of = [view.names_with_word.get(word, frozenset()) for word in spelling.split()]
    if words_of:
        near.update(frozenset.intersection(*words_of))
    return near


def _similarity(one: str, other: str) -> float:
    """Equal names 100; all words of one within the other up to 92; else how alike the letters are."""
    if one == other:
        return 100.0
    whole = float(fuzz.ratio(one, other))
    if set(one.split()) <= set(other.split()):
        return max(whole, 80.0 + 12.0 * len(one) / len(other))
    ordered = float(fuzz.token_sort_ratio(one, other))
    return max(whole, ordered - 1.0)


def _spaced(text: str) -> str:
    return " ".join(WORD.findall(text))


def name_keys(row: DocumentRow) -> dict[str, float]:
    """What a document may be called, each with what such a name is worth against the others."""
    document = row.document
    stem_name = document.path.rpartition("/")[2].partition(".")[0]
    called = (
        (document.identity, 1.0),
        (f"{document.type} {document.identity}", 1.0),
        (f"{document.identity} {document.type}", 1.0),
        (re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", document.identity), 0.99),
        (document.title, 0.98),
        (stem_name, 0.97),
        (document.path, 0.97),
    )
    keys: dict[str, float] = {}
    for text, worth in called:
        name = _spaced(fold(text))
        if name:
            keys.setdefault(name, worth)
    return keys


def name_postings(rows: tuple[DocumentRow, ...]) -> dict[str, dict[str, float]]:
    """The stems of names to the documents that have them, with how much that says: identity, title, path, type."""
    postings: dict[str, dict[str, float]] = {}
    for row in rows:
        document = row.document
        for text, worth in (
            (document.type, 2.0),
            (document.path, 3.0),
            (document.title, 6.0),
            (document.identity, 10.0),
        ):
            for word in name_words(text):
                found = postings.setdefault(stem(word), {})
                found[document.key] = max(found.get(document.key, 0.0), worth)
    return postings


def match_types(view: View, text: str, limit: int) -> list[tuple[str, float]]:
    """See View.match_types."""
    wanted = " ".join(stem(word) for word in WORD.findall(fold(text)))
    spellings = [wanted, " ".join(stem(word) for word in WORD.findall(latin(fold(text))))]
    names = {kind: " ".join(stem(word) for word in name_words(kind)) for kind in view.type_counts}
    found = {
        kind: max(100.0 if spelling == name else float(fuzz.ratio(spelling, name)) for spelling in spellings)
        for kind, name in names.items()
        if wanted
    }
    order = sorted(found.items(), key=lambda each: (-each[1], each[0]))
    return [(kind, round(score, 1)) for kind, score in order[:limit] if score >= 75.0]

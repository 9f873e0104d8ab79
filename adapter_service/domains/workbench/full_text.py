"""The words of a question in the full-text index: which fragments have which of them, and how well they fit.

Called by document_search.py and documentation_search.py. A word of a question meets the words of the index that have
its stem, are continuations of it, or, where there are none, look like it. Only words that the index has are ever put
into a query, so a person's text is never query syntax.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rapidfuzz import fuzz, process

from .store import Store
from .terms import fold, stem

_MOST_WORDS: Final = 48
# A shorter word begins too many others: "port" is not meant by "portal".
_PREFIX_FROM: Final = 5
_SIMILAR_FROM: Final = 5
_SIMILARITY: Final = 80
_VOCABULARY_LIMIT: Final = 5_000


def meant_words(store: Store, term: str) -> list[str]:
    """The index's words that a folded word of a question means."""
    wanted = stem(term)
    prefix = wanted[:-1] if len(wanted) > 3 else wanted
    found = _words_from(store, prefix)
    same = [word for word in found if stem(fold(word)) == wanted]
    continued = [word for word in found if word.startswith(term)]
    meant = same if same and len(term) < _PREFIX_FROM else list(dict.fromkeys([*same, *continued]))
    if not meant and len(term) >= _SIMILAR_FROM and term.isalpha():
        near = _words_from(store, term[:2])
        meant = [
            word for word, _, _ in process.extract(term, near, scorer=fuzz.ratio, score_cutoff=_SIMILARITY, limit=3)
        ]
    return meant[:_MOST_WORDS]


def _words_from(store: Store, prefix: str) -> list[str]:
    rows = store.rows(
        "SELECT term FROM vocabulary WHERE term >= ? AND term < ? LIMIT ?",
        (prefix, prefix + "\U0010ffff", _VOCABULARY_LIMIT),
    )
    return [word for (word,) in rows]


def expression(meant: Sequence[str]) -> str:
    """An FTS5 expression: any of these words, each as a quoted string."""
    return " OR ".join(f'"{word}"' for word in meant)


def fragments_with(store: Store, meant: Sequence[str], column: str = "") -> set[int]:
    """The fragments that have any of these words of the index; with `column` "name" those whose heading has."""
    if not meant:
        return set()
    wanted = f"{column} : ({expression(meant)})" if column else expression(meant)
    return {number for (number,) in store.rows("SELECT rowid FROM words WHERE words MATCH ?", (wanted,))}


def relevance(store: Store, meant: Sequence[str]) -> dict[int, float]:
    """How well each fragment with any of these words fits (BM25, a heading's words five times); higher is better."""
    if not meant:
        return {}
    rows = store.rows("SELECT rowid, -bm25(words, 5.0, 1.0) FROM words WHERE words MATCH ?", (expression(meant),))
    return dict(rows)

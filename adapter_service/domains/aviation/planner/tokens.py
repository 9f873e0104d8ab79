"""Words, numbers and marks of a message, with their stems and places in the text.

Called by every other module of the planner. Knows writing, no aviation.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

import snowballstemmer

# Words keep their hyphens and apostrophes ("Ростов-на-Дону", "what's"), short forms their full stop ("St. John's"),
# and letters with digits stay together ("FL350", "14:00", "52.5").
_TOKEN = re.compile(
    r"(?P<abbreviation>\b(?:St|Ste|Mt|Ft|Dr|г|ст)\.(?=\s?\w))"
    r"|(?P<number>\d+(?:[.,:]\d+)*(?![^\W_]))"
    r"|(?P<word>[^\W_]+(?:[-‑'’.·/][^\W_]+)*)"
    r"|(?P<mark>[^\w\s])",
    re.UNICODE,
)
_CYRILLIC = re.compile(r"[а-яё]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Token:
    """One word, number or mark. `lower` is case-folded with ё as е; `stem` is its snowball stem."""

    text: str
    lower: str
    stem: str
    kind: str  # word, number, mark, measure
    start: int
    end: int

    @property
    def capitalised(self) -> bool:
        """Does it begin with a capital letter, as names do?"""
        return self.text[:1].isupper()

    @property
    def is_code(self) -> bool:
        """Is it written like an IATA or ICAO code: three or four capitals (digits allowed after the first)?"""
        return re.fullmatch(r"[A-Z][A-Z0-9]{2,3}", self.text) is not None and self.kind == "word"


def normalise(text: str) -> str:
    """NFC, control characters as spaces, runs of spaces and tabs as one; line breaks stay."""
    text = unicodedata.normalize("NFC", text)
    text = "".join(char if char == "\n" or unicodedata.category(char)[0] != "C" else " " for char in text)
    return re.sub(r"[^\S\n]+", " ", text).strip()


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """The snowball stem of a folded word, by its script. A stemmer is made per call: they are not thread-safe."""
    word = word.casefold().replace("ё", "е").replace("’", "'")
    language = "russian" if _CYRILLIC.search(word) else "english"
    return str(snowballstemmer.stemmer(language).stemWord(word))


def tokenise(text: str) -> list[Token]:
    """The tokens of a normalised text, in order."""
    tokens = []
    for match in _TOKEN.finditer(text):
        surface = match.group()
        lower = surface.casefold().replace("ё", "е").replace("’", "'")
        kind = "word" if match.lastgroup == "abbreviation" else str(match.lastgroup)
        tokens.append(Token(surface, lower, stem(lower) if kind == "word" else lower, kind, match.start(), match.end()))
    return tokens

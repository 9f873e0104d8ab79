"""Folding of place texts: what two spellings must share to count as the same words.

Called by the matching, the gazetteer and the search. Only general rules of writing live here, no place.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

# Letters that Unicode does not decompose into a base letter and a mark.
_LETTERS: Final = str.maketrans(
    {
        "ß": "ss",
        "æ": "ae",
        "œ": "oe",
        "ø": "o",
        "ð": "d",
        "đ": "d",
        "þ": "th",
        "ł": "l",
        "ħ": "h",
        "ı": "i",
        "ŋ": "n",
        "ə": "a",
        "ʻ": "",
        "ʼ": "",
        "'": "",
        "’": "",
        "‘": "",
        "`": "",
        "´": "",
    }
)
_COMBINING_MARKS: Final = re.compile("[\u0300-\u036f\u0483-\u0489]+")
# Stands for й while marks are taken off many texts at once; a private character, so in no name.
_SHORT_I: Final = "\ue000"
_OTHER_LETTERS: Final = re.compile("[" + "".join(map(chr, _LETTERS)) + "]")
_GAPS: Final = re.compile(r"(?:[^\w\n]|_)+")
_COMBINING_BREVE: Final = "\u0306"
_SEPARATORS: Final = re.compile(r"[\W_]+")
_CYRILLIC: Final = re.compile(r"[\u0400-\u04ff]")

# Words that say "this is an airport" and distinguish nothing; the Russian ones as stems of their case forms.
_GENERIC: Final = frozenset(
    [
        "airport",
        "airports",
        "airfield",
        "aerodrome",
        "airbase",
        "airpark",
        "airstrip",
        "airdrome",
        "intl",
        "international",
        "ntl",
        "the",
        "of",
    ]
)
_GENERIC_RU: Final = re.compile(r"(аэропорт|аэродром|авиабаз|международн)[а-я]*|аэровокзал[а-я]*|город(а|у|ом|е)?|г")

# Short forms and common translated parts of place names, both ways of writing folded to one.
_EXPANSIONS: Final = {
    "st": "saint",
    "ste": "saint",
    "sankt": "saint",
    "sainte": "saint",
    "mt": "mount",
    "ft": "fort",
}
_REWRITTEN: Final = _GENERIC.union(_EXPANSIONS)


@lru_cache(maxsize=65_536)
def fold(text: str) -> str:
    """Lower case, no accents, no punctuation, single spaces: "Zürich–Kloten" → "zurich kloten".

    Cyrillic letters stay Cyrillic; й stays a letter of its own, ё becomes е.
    """
    kept: list[str] = []
    previous = ""
    for char in unicodedata.normalize("NFKD", text.casefold()):
        if unicodedata.combining(char):
            # й is и with a breve: another sound, so another letter. Every other mark only colours its letter.
            if char == _COMBINING_BREVE and previous == "и":
                kept[-1] = "й"
        else:
            kept.append(char)
        previous = char
    return _SEPARATORS.sub(" ", "".join(kept).translate(_LETTERS)).strip()


def words(text: str) -> tuple[str, ...]:
    """The folded words of a text."""
    return tuple(fold(text).split())


def is_generic(word: str) -> bool:
    """Does this folded word only say that an airport is meant?"""
    return word in _GENERIC or _GENERIC_RU.fullmatch(word) is not None


@lru_cache(maxsize=65_536)
def core(text: str) -> str:
    """The folded text without generic words, short forms expanded; never empty for a text that has words."""
    return _core_of(words(text))


def _core_of(everything: Sequence[str]) -> str:
    kept = [word for word in everything if not is_generic(word)] or everything
    return " ".join([_EXPANSIONS.get(word, word) for word in kept])


def folds(texts: Sequence[str]) -> list[str]:
    """`fold` of many texts in Latin, Greek or Cyrillic letters, none with a line break in it, in one go."""
    text = "\n".join(texts).casefold().replace("й", _SHORT_I)
    text = _COMBINING_MARKS.sub("", unicodedata.normalize("NFKD", text)).replace(_SHORT_I, "й")
    text = _OTHER_LETTERS.sub(lambda letter: letter[0].translate(_LETTERS), text)
    return [line.strip() for line in _GAPS.sub(" ", text).split("\n")]


def cores(texts: Sequence[str]) -> list[str]:
    """`core` of many texts, as `folds` takes them: the indexes hold a quarter of a million names."""
    return [_core_of(line.split()) if _is_rewritten(line) else line for line in folds(texts)]


def _is_rewritten(folded: str) -> bool:
    everything = folded.split()
    if not _REWRITTEN.isdisjoint(everything):
        return True
    if folded.isascii():
        return False
    return is_cyrillic(folded) and any(map(is_generic, everything))


def is_cyrillic(text: str) -> bool:
    """Is any letter of the text Cyrillic?"""
    return _CYRILLIC.search(text) is not None

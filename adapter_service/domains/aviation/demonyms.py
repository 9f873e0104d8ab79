"""Adjectives of countries ("German", "Brazilian", «японские») to ISO 3166-1 alpha-2 codes.

Called by the planner for what stands before "airports". Rules of word formation over the CLDR names of countries and
languages; only forms that no rule gives are listed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from babel import Locale
from babel.core import get_global

from .countries import country_names
from .folding import fold, is_cyrillic

# What an adjective adds to the root that it shares with its country's name, and what the name itself adds.
_SUFFIXES_EN: Final = (
    *("nian", "vian", "uese", "egian", "ian", "ean", "ese", "ish", "iot", "an", "en", "i", "n", "er"),
    "",
)
_TAILS_EN: Final = frozenset(
    (
        *(
            "",
            "a",
            "e",
            "i",
            "o",
            "y",
            "ia",
            "ea",
            "land",
            "lands",
            "istan",
            "stan",
            "us",
            "es",
            "ey",
            "al",
            "on",
            "um",
        ),
        *("um", "ay", "ain", "arabia", "republic"),
    )
)
# An adjective without a suffix ("Thai", "Afghan") needs a country that adds one of these.
_LONG_TAILS_EN: Final = frozenset({"land", "istan", "stan", "y", "arabia"})
_SUFFIXES_RU: Final = ("", "иан", "ьян", "ан", "ян", "ен", "ин", "ь", "й", "ов", "им")
_TAILS_RU: Final = frozenset({"", "а", "о", "я", "ия", "и", "ы", "й", "ь", "ет", "ова", "истан"})
_ADJECTIVE_RU: Final = re.compile(
    r"(?P<root>\w{2,}?)(?P<mark>ск|цк)(?:ий|ая|ое|ие|ого|ой|ому|ую|им|ом|их|ими|ою)", re.IGNORECASE
)
# Formed irregularly, or from another name than today's.
_IRREGULAR: Final[Mapping[str, str]] = {
    "swiss": "CH",
    "dutch": "NL",
    "philippine": "PH",
    "filipino": "PH",
    "british": "GB",
    "english": "GB",
    "dominican": "DO",
    "monegasque": "MC",
    "argentine": "AR",
    "north korean": "KP",
    "south korean": "KR",
    "south african": "ZA",
    "new zealand": "NZ",
    "новозеланд": "NZ",
    "южноафрикан": "ZA",
    "южнокорей": "KR",
    "севернокорей": "KP",
    "саудов": "SA",
    "англий": "GB",
    "голланд": "NL",
}
# Languages of many countries name none.
_SHARED_LANGUAGES: Final = frozenset({"ar", "en", "sw", "es-419", "la", "eo", "yue"})


@lru_cache(maxsize=1)
def _languages() -> Mapping[str, str]:
    """Folded language names to the country where CLDR expects the language: "japanese" -> JP."""
    likely = get_global("likely_subtags")
    codes: dict[str, str] = {}
    for locale in ("en", "ru"):
        for language, name in Locale(locale).languages.items():
            full = likely.get(language, "").split("_")
            if language not in _SHARED_LANGUAGES and len(language) == 2 and len(full) == 3:
                key = fold(name)
                adjective = _ADJECTIVE_RU.fullmatch(key)
                codes.setdefault(adjective["root"] + adjective["mark"] if adjective else key, full[2])
    return codes


@lru_cache(maxsize=1024)
def country_of_adjective(text: str) -> str | None:
    """The country of an adjective in English or (any case form) Russian; None where it is no country's adjective."""
    folded = fold(text)
    if len(folded) < 4:
        return None
    if is_cyrillic(folded):
        adjective = _ADJECTIVE_RU.fullmatch(folded)
        if adjective is None:
            return None
        root = adjective["root"]
        named = _IRREGULAR.get(root) or _by_root(root, _SUFFIXES_RU, _TAILS_RU, _TAILS_RU)
        return named or _languages().get(root + adjective["mark"])
    named = _IRREGULAR.get(folded) or _by_root(folded, _SUFFIXES_EN, _TAILS_EN, _LONG_TAILS_EN)
    return named or _languages().get(folded)


def _by_root(word: str, suffixes: tuple[str, ...], tails: frozenset[str], bare_tails: frozenset[str]) -> str | None:
    """The one country whose name shares the longest root with the word."""
    best: dict[int, set[str]] = {}
    for suffix in suffixes:
        root = word.removesuffix(suffix) if suffix else word
        if (suffix and root == word) or len(root) < 3:
            continue
        allowed = tails if suffix else bare_tails
        for name, code in country_names().items():
            if name.startswith(root) and name[len(root) :].strip() in allowed:
                best.setdefault(len(root), set()).add(code)
    codes = best[max(best)] if best else set()
    return codes.pop() if len(codes) == 1 else None

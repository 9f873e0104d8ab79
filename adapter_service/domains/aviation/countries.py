"""Country names in English and Russian, from CLDR, to ISO 3166-1 alpha-2 codes and back.

Called by the matching ("Berlin, Germany"), the search filter and the planner. Russian names may stand in any case.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from babel import Locale

from .declension import nominative_texts
from .folding import fold, is_cyrillic

_LOCALES: Final = ("en", "ru")
# Everyday names that CLDR does not list as a territory's name.
_EVERYDAY: Final = {
    "usa": "US",
    "america": "US",
    "united states of america": "US",
    "америка": "US",
    "сша": "US",
    "uk": "GB",
    "great britain": "GB",
    "england": "GB",
    "англия": "GB",
    "британия": "GB",
    "uae": "AE",
    "emirates": "AE",
    "эмираты": "AE",
    "оаэ": "AE",
    "holland": "NL",
    "голландия": "NL",
    "czech republic": "CZ",
    "turkey": "TR",
    "белоруссия": "BY",
    "киргизия": "KG",
    "молдавия": "MD",
    "южная корея": "KR",
    "северная корея": "KP",
    "macedonia": "MK",
    "burma": "MM",
    "бирма": "MM",
    "ivory coast": "CI",
    "russian federation": "RU",
    "российская федерация": "RU",
}


def _variants(name: str) -> tuple[str, ...]:
    """A CLDR name with and without its remark: "Гонконг (САР)", "Myanmar (Burma)"."""
    bare = name.split("(")[0].strip()
    return (name, bare) if bare != name else (name,)


@lru_cache(maxsize=1)
def _codes_by_name() -> Mapping[str, str]:
    names: dict[str, str] = {}
    for locale in _LOCALES:
        for code, name in Locale(locale).territories.items():
            if len(code) == 2 and code.isalpha():
                for variant in _variants(name):
                    names.setdefault(fold(variant).replace(" and ", " "), code)
    return {**names, **_EVERYDAY}


def country_names() -> Mapping[str, str]:
    """Every folded name that is known, in English and Russian, to its ISO 3166-1 alpha-2 code."""
    return _codes_by_name()


@lru_cache(maxsize=4096)
def country_code(text: str) -> str | None:
    """ISO 3166-1 alpha-2 code of a country named in English or Russian (any case form), or None.

    Two capital letters that are such a code stand for themselves.
    """
    stripped = text.strip()
    if len(stripped) == 2 and stripped.isupper() and stripped in Locale("en").territories:
        return stripped
    names = _codes_by_name()
    folded = fold(stripped).replace(" and ", " ").removeprefix("the ")
    if not folded:
        return None
    if folded in names:
        return names[folded]
    if not is_cyrillic(folded):
        return None
    # The cheapest guess about the case ending that is a country's name; equal guesses are settled by their text.
    guesses = ((price, form) for form, price in nominative_texts(folded).items() if form in names)
    best = min(guesses, default=None)
    return None if best is None else names[best[1]]


def country_name(code: str, locale: str = "en") -> str:
    """The country's name in the language of `locale` ("en", "ru"); the code itself where CLDR has no name."""
    language = "ru" if locale.lower().startswith("ru") else "en"
    return str(Locale(language).territories.get(code.upper(), code.upper()))

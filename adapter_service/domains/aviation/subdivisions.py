"""States, provinces and regions as the catalogue writes them, found by their names in English or Russian.

Called by the search filter and the planner ("airports in Texas", «аэропорты Краснодарского края»).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from .catalogue import airports
from .declension import nominative_texts
from .folding import fold, is_cyrillic
from .match_ladder import LONGEST_TEXT, READS_AS
from .transliteration import NameIndex

# (country, subdivision as the catalogue writes it)
Area = tuple[str, str]

# The kind of a subdivision in either spelling distinguishes nothing: "Altai-Krai", "Leningradskaya-Oblast'".
_KINDS: Final = re.compile(
    r"(?<!\w)(?:the|state of|state|province of|province|region of|region|republic of|republic|respublika|oblast of|"
    r"oblast|oblysy|krai|kray|territory|department|county|prefecture|comunidad(?: foral)?(?: de| of)?|"
    r"штат\w*|провинци\w+|регион\w*|област\w+|кра(?:й|я|е|ю|ем)|республик\w*|земл\w+|префектур\w+|округ\w*)(?!\w)"
)
# Everyday names in another language than the catalogue's own spelling.
_EVERYDAY: Final[Mapping[str, str]] = {
    "bavaria": "bayern",
    "бавария": "bayern",
    "lower saxony": "niedersachsen",
    "нижняя саксония": "niedersachsen",
    "saxony anhalt": "sachsen anhalt",
    "north rhine westphalia": "nordrhein westfalen",
    "rhineland palatinate": "rheinland pfalz",
    "саксония": "saxony",
    "тюрингия": "thuringia",
    "catalonia": "cataluna",
    "каталония": "cataluna",
    "andalusia": "andalucia",
    "андалусия": "andalucia",
    "basque country": "pais vasco",
    "страна басков": "pais vasco",
    "balearic islands": "islas baleares",
    "балеарские острова": "islas baleares",
    "канарские острова": "canary islands",
    "тоскана": "tuscany",
    "сицилия": "sicily",
    "сардиния": "sardinia",
    "пьемонт": "piedmont",
    "ломбардия": "lombardy",
    "апулия": "apulia",
    "шотландия": "scotland",
    "уэльс": "wales",
    "северная ирландия": "northern ireland",
    "прованс": "provence alpes cote dazur",
    "provence": "provence alpes cote dazur",
    "бретань": "brittany",
    "нормандия": "normandy",
    "корсика": "corsica",
    "северная каролина": "north carolina",
    "южная каролина": "south carolina",
    "северная дакота": "north dakota",
    "южная дакота": "south dakota",
    "западная виргиния": "west virginia",
    "гавайи": "hawaii",
    "крым": "crimea",
    "британская колумбия": "british columbia",
    "новая шотландия": "nova scotia",
    "западная австралия": "western australia",
    "южная австралия": "south australia",
    "новый южный уэльс": "new south wales",
    "внутренняя монголия": "inner mongolia",
    "тибет": "tibet",
    "якутия": "sakha",
    "yakutia": "sakha",
    "татарстан": "tatarstan",
}
_ADJECTIVE_RU: Final = re.compile(r"(?P<root>\w{2,}?)ск(?:ая|ой|ую|ий|ого|ому|ом|им|ое)")


def says_kind(text: str) -> bool:
    """Does the text name the kind of a subdivision, as in "the state of New York"?"""
    return _KINDS.search(fold(text).removeprefix("the ")) is not None


@lru_cache(maxsize=1)
def _areas() -> Mapping[str, tuple[Area, ...]]:
    counts = Counter((a.country, a.subdivision) for a in airports().values() if a.subdivision)
    found: dict[str, list[Area]] = {}
    for (country, name), _ in counts.most_common():
        folded = fold(name)
        for key in {folded, _without_kind(folded)}:
            found.setdefault(key, []).append((country, name))
    return {key: tuple(areas) for key, areas in found.items()}


@lru_cache(maxsize=1)
def _index() -> NameIndex:
    return NameIndex(_areas())


def _without_kind(folded: str) -> str:
    return " ".join(_KINDS.sub(" ", folded).split()) or folded


@lru_cache(maxsize=2048)
def subdivisions(text: str) -> tuple[Area, ...]:
    """The subdivisions that a text names, all countries' namesakes together; () where it names none.

    Russian names may stand in any case; "Texas", «Техаса», "the state of Bavaria", «Краснодарский край».
    """
    folded = fold(text).removeprefix("the ")
    if not folded or len(text) > LONGEST_TEXT:
        return ()
    known = _areas()
    bare = _without_kind(folded)
    for key in (folded, bare):
        areas = known.get(_EVERYDAY.get(key, key), ())
        if areas:
            return areas
    return _read_russian(bare) if is_cyrillic(bare) else ()


def _read_russian(folded: str) -> tuple[Area, ...]:
    forms = nominative_texts(folded)
    everyday = min(((price, form) for form, price in forms.items() if form in _EVERYDAY), default=None)
    if everyday is not None:
        return _areas().get(_EVERYDAY[everyday[1]], ())
    adjective = _ADJECTIVE_RU.fullmatch(folded)
    if adjective:
        # «Иркутская» is of Irkutsk, «Вологодская» of Vologda, «Ростовская» of Rostov.
        root = adjective["root"]
        forms = {**forms, root: 1.0, root + "ск": 1.0, root + "а": 1.0, root + "ский": 0.0, root + "ская": 0.0}
    scores = _index().search(forms, READS_AS)
    if not scores:
        return ()
    top = max(scores.values())
    areas = _areas()
    return tuple(dict.fromkeys(area for name, score in sorted(scores.items()) if score == top for area in areas[name]))

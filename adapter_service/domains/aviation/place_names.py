"""The words under which airports can be found: indexes over the catalogue.

Called by the matching, its ladder and the gazetteer. Everything is built once, on first use, and immutable
from then on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from .catalogue import Airport, airports, metropolitan_areas
from .folding import core, cores, words
from .transliteration import NameIndex

# A shorter word of a name ("San", "Del", "Air") stands for no place by itself.
_SHORTEST_WORD: Final = 4

Index = Mapping[str, tuple[str, ...]]


def _freeze(index: dict[str, list[str]]) -> Index:
    return {key: tuple(dict.fromkeys(icaos)) for key, icaos in index.items()}


def squash(folded: str) -> str:
    """Without spaces: "la guardia" and "laguardia" are one name."""
    return folded.replace(" ", "")


@lru_cache(maxsize=1)
def _cores() -> Mapping[str, str]:
    """`core` of every name and every city field of the catalogue, and of the parts of the latter."""
    texts: dict[str, None] = {}
    for airport in airports().values():
        texts[airport.name] = None
        texts.update(dict.fromkeys((airport.city, *airport.city.split("/"))))
    return dict(zip(texts, cores(tuple(texts)), strict=True))


@lru_cache(maxsize=32_768)
def city_keys(city: str) -> tuple[str, ...]:
    """The keys of an airport's city field; "Toulouse/Blagnac" names two places."""
    known = _cores()
    return tuple(dict.fromkeys(squash(known[part]) for part in (city, *city.split("/")) if known[part]))


def name_words(airport: Airport) -> tuple[str, ...]:
    """The folded words of an airport's name, those that only say "airport" left out."""
    return tuple(_cores()[airport.name].split())


def name_key(airport: Airport) -> str:
    """The squashed airport name without "airport", "international" and the like."""
    return squash(_cores()[airport.name])


def city_words(airport: Airport) -> tuple[str, ...]:
    """The folded words of an airport's city field."""
    return tuple(_cores()[airport.city].split())


@lru_cache(maxsize=1)
def by_city() -> Index:
    """ICAO codes by squashed city name; a metropolitan area's airports stand under its name too."""
    index: dict[str, list[str]] = {}
    for area in metropolitan_areas().values():
        index.setdefault(squash(core(area.name)), []).extend(area.icaos)
    for airport in airports().values():
        for key in city_keys(airport.city):
            index.setdefault(key, []).append(airport.icao)
    return _freeze(index)


@lru_cache(maxsize=1)
def by_name() -> Index:
    """ICAO codes by name_key."""
    index: dict[str, list[str]] = {}
    for airport in airports().values():
        index.setdefault(name_key(airport), []).append(airport.icao)
    return _freeze(index)


@lru_cache(maxsize=1)
def by_word() -> Index:
    """ICAO codes by a single word of name or city."""
    index: dict[str, list[str]] = {}
    for airport in airports().values():
        for word in (*city_words(airport), *name_words(airport)):
            index.setdefault(word, []).append(airport.icao)
    return _freeze(index)


@lru_cache(maxsize=1024)
def _zone_city(tz: str) -> str:
    """The city that a time zone is named after: "Europe/Berlin"."""
    return tz.rsplit("/", 1)[-1].replace("_", " ")


@lru_cache(maxsize=1)
def metropolitan_members() -> Mapping[str, str]:
    """Squashed area name by the ICAO code of each member of a metropolitan area that has several in the catalogue."""
    areas = (area for area in metropolitan_areas().values() if len(area.icaos) > 1)
    return {icao: squash(core(area.name)) for area in areas for icao in area.icaos}


@lru_cache(maxsize=40_000)
def prominence(airport: Airport) -> int:
    """How likely a person means this airport among equals of one name; only orders lists, decides nothing.

    The catalogue counts no passengers, so what it does tell is used: an IATA code, membership of a metropolitan
    area, a city that a time zone is named after, a code made from the city's name (the main airport usually has
    it), "International" in the name.
    """
    cities = city_keys(airport.city)
    return (
        16 * bool(airport.iata)
        + 8 * (airport.icao in metropolitan_members())
        + 4 * (squash(core(_zone_city(airport.tz))) in cities)
        + 2 * (bool(airport.iata) and any(city.startswith(airport.iata.lower()) for city in cities))
        + ("international" in words(airport.name))
    )


def _spellings(chosen: Iterable[Airport]) -> Index:
    """ICAO codes of the chosen airports by every spaced spelling of city, area and name, and by single words."""
    spellings: dict[str, list[str]] = {}
    areas = {icao: area.name for area in metropolitan_areas().values() for icao in area.icaos}
    known = _cores()
    for airport in chosen:
        parts = [known[part] for part in (airport.city, *airport.city.split("/"), airport.name)]
        for part in (*parts, core(areas.get(airport.icao, ""))):
            if part:
                spellings.setdefault(part, []).append(airport.icao)
        for word in (*city_words(airport), *name_words(airport)):
            if len(word) >= _SHORTEST_WORD and not word.isdigit():
                spellings.setdefault(word, []).append(airport.icao)
    return _freeze(spellings)


@lru_cache(maxsize=2)
def spellings(with_iata_only: bool) -> Index:
    """ICAO codes by every spaced spelling (city, name, single word) that a text may be compared with."""
    return _spellings(a for a in airports().values() if a.iata or not with_iata_only)


@lru_cache(maxsize=2)
def spelling_index(with_iata_only: bool) -> NameIndex:
    """The same spellings, ready to be searched by Russian ones."""
    return NameIndex(spellings(with_iata_only))

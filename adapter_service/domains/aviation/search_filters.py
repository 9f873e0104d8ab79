"""Which airports pass the filters of a search: by text, by countries and areas, by kind. Called by the search.

What does not depend on the text is kept ready: the airports of a choice of countries, as points of a distance index.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from . import place_names
from .catalogue import Airport, airports, find_airport, metropolitan_areas
from .countries import country_code
from .distance_index import DistanceIndex, Point, point_of
from .errors import InputInvalid
from .folding import core, cores, fold, folds
from .match_ladder import LONGEST_TEXT, READS_AS, Match
from .matching import city_icaos, match_airports
from .subdivisions import Area, subdivisions

# The catalogue does not tell which airports are international; that kind is the one with IATA codes, and says so.
Kind = Literal["with_iata_code", "international", "any"]
Countries = frozenset[str]

MOST_COUNTRIES: Final = 20
_MOST_MATCHES: Final = 100
_RESEMBLING: Final = ("similar", "transliteration", "partial")
# Between the lines of the searched text, so that no match runs over two airports.
_LINE: Final = "\n"


@lru_cache(maxsize=1)
def points() -> dict[str, Point]:
    """Every airport as a point, by ICAO code, in the catalogue's order."""
    return {icao: point_of(airport) for icao, airport in airports().items()}


@lru_cache(maxsize=1)
def _by_country() -> dict[str, tuple[Point, ...]]:
    grouped: dict[str, list[Point]] = {}
    for point in points().values():
        grouped.setdefault(point[3].country, []).append(point)
    return {country: tuple(members) for country, members in grouped.items()}


@lru_cache(maxsize=48)
def pool(kind: Kind, only: Countries, without: Countries) -> DistanceIndex:
    """The airports of a kind in some countries (none given: in all) but not in others, ready for distances."""
    by_country = _by_country()
    chosen = [country for country in by_country if (not only or country in only) and country not in without]
    if not only and not without:
        members: Iterable[Point] = points().values()
    else:
        members = (point for country in chosen for point in by_country[country])
    return DistanceIndex(tuple(point for point in members if kind == "any" or point[3].iata))


@dataclass(frozen=True, slots=True)
class Chosen:
    """Airports by text, in order of relevance. `similar`: nothing is called so, they only resemble what was written."""

    points: list[Point]
    similar: bool


def chosen_by_text(
    name: str | None, city: str | None, code: str | None, subdivision: str | None, only: Countries, without: Countries
) -> Chosen | None:
    """The airports that pass the filters by text and by country; None without any text."""
    given = {"name": name, "city": city, "code": code, "subdivision": subdivision}
    for field, text in given.items():
        if text is not None:
            _check_text(field, text)
    chosen: list[str] | None = None
    similar = False
    readers: tuple[tuple[str | None, Callable[[str], tuple[list[str], bool]]], ...] = (
        (code, _by_code),
        (name, _by_name),
        (city, _by_city),
    )
    for text, read in readers:
        if text is not None:
            icaos, resembling = read(text)
            similar = similar or resembling
            kept = set(icaos)
            chosen = list(dict.fromkeys(icaos)) if chosen is None else [icao for icao in chosen if icao in kept]
    if chosen is None and subdivision is None:
        return None
    areas = None if subdivision is None else _areas(subdivision)
    pooled = points()
    found = pool("any", only, without).points if chosen is None else [pooled[icao] for icao in chosen]
    return Chosen([point for point in found if _passes(point[3], only, without, areas)], similar)


def _passes(airport: Airport, only: Countries, without: Countries, areas: frozenset[Area] | None) -> bool:
    return (
        (not only or airport.country in only)
        and airport.country not in without
        and (areas is None or (airport.country, airport.subdivision) in areas)
    )


def _check_text(field: str, text: str) -> None:
    if not fold(text):
        raise InputInvalid(field, "a text with letters or digits", text, accepted_ru="текст с буквами или цифрами")
    if len(text) > LONGEST_TEXT:
        raise InputInvalid(
            field,
            f"a text of at most {LONGEST_TEXT} characters",
            text,
            accepted_ru=f"текст не длиннее {LONGEST_TEXT} знаков",
        )


def countries(field: str, given: str | list[str] | None) -> Countries:
    """The codes of one or several countries, given as codes or names. Raises InputInvalid naming `field`."""
    names = [] if given is None else [given] if isinstance(given, str) else given
    if len(names) > MOST_COUNTRIES:
        raise InputInvalid(
            field, f"at most {MOST_COUNTRIES} countries", None, accepted_ru=f"не больше {MOST_COUNTRIES} стран"
        )
    return frozenset(_country(field, name) for name in names)


def _country(field: str, text: str) -> str:
    _check_text(field, text)
    code = country_code(text.upper() if len(text.strip()) == 2 else text)
    if code is None:
        raise InputInvalid(
            field,
            "an ISO 3166-1 alpha-2 code or a country's name in English or Russian",
            text,
            accepted_ru="двухбуквенный код или название страны",
        )
    return code


def _areas(text: str) -> frozenset[Area]:
    areas = subdivisions(text)
    if not areas:
        raise InputInvalid(
            "subdivision",
            "a state, province or region that the catalogue has, for example Texas",
            text,
            accepted_ru="штат, провинция или регион из каталога, например Texas",
        )
    return frozenset(areas)


def _by_code(code: str) -> tuple[list[str], bool]:
    wanted = code.strip().upper()
    airport = find_airport(wanted)
    found = [] if airport is None else [airport.icao]
    found += [match.airport.icao for match in match_airports(wanted) if match.how == "iata_code"]
    area = metropolitan_areas().get(wanted)
    return found + list(area.icaos if area else ()), False


@lru_cache(maxsize=1)
def _names() -> tuple[str, tuple[int, ...], tuple[str, ...]]:
    """All names in one text, a line an airport with both forms of its name; where the lines begin; their ICAO codes."""
    texts = [airport.name for airport in airports().values()]
    lines = [f"{short}\t{full}" for short, full in zip(cores(texts), folds(texts), strict=True)]
    starts, position = [], 0
    for line in lines:
        starts.append(position)
        position += len(line) + len(_LINE)
    return _LINE.join(lines), tuple(starts), tuple(airports())


def _containing(wanted: str) -> list[str]:
    """ICAO codes of the airports in whose folded name the text stands, in the catalogue's order."""
    text, starts, icaos = _names()
    found: list[str] = []
    position = text.find(wanted)
    while position >= 0:
        line = bisect_right(starts, position) - 1
        found.append(icaos[line])
        position = text.find(wanted, starts[line + 1]) if line + 1 < len(starts) else -1
    return found


def _by_name(name: str) -> tuple[list[str], bool]:
    """Airports whose names contain the text, those with an IATA code first; else what the matching takes it for."""
    wanted = core(name)
    containing = _containing(wanted)
    if not containing:
        matches = match_airports(name, limit=_MOST_MATCHES)
        return [match.airport.icao for match in matches], _resembles(matches)

    def relevance(icao: str) -> tuple[bool, bool, int, str]:
        airport = airports()[icao]
        return not airport.iata, core(airport.name) != wanted, *_by_prominence(icao)

    return sorted(containing, key=relevance), False


def _resembles(matches: list[Match]) -> bool:
    return bool(matches) and matches[0].score < READS_AS and matches[0].how in ("similar", "transliteration")


def _by_city(city: str) -> tuple[list[str], bool]:
    found, similar = city_icaos(city), False
    if not found:
        # "Portland, Oregon", «Лондон в Канаде»: a city told apart from its namesakes.
        best = match_airports(city, limit=_MOST_MATCHES)
        found = tuple(match.airport.icao for match in best if match.how == "city")
        # No such city by that spelling: the city of the airport that the text resembles.
        if best and not found and best[0].airport.city and best[0].how in _RESEMBLING:
            found, similar = city_icaos(best[0].airport.city), _resembles(best)
    return sorted(found, key=_by_prominence), similar


def _by_prominence(icao: str) -> tuple[int, str]:
    return -place_names.prominence(airports()[icao]), icao

"""Which airport does a text name? Codes, cities and names, in Latin letters or Russian, with forgiveness for spelling.

Called by the search filters and by the planner's slots. Nothing here guesses between equals: `resolve_airport`
either finds that one candidate wins outright, or returns the closed list of those that are equal (C5, C11). The
ladder, from the top; a rung is looked at only when the ones above gave nothing:

1. a code: ICAO, IATA, or an IATA metropolitan area;
2. exactly a city's name in any language that the gazetteer has, or an airport's name; the city's airports are meant, or
   those near a larger city that has none (city_readings.py says which namesakes are equals); where no city of that name
   has an airport, a part of an airport's name or a Russian spelling that reads as one;
3. all words of the text stand in one airport's name and city ("London Heathrow", "Москва Шереметьево");
4. the text with a country or a subdivision at its end ("Berlin, Germany", "Лондон в Канаде", "Portland, ME");
5. a similar spelling, unless the gazetteer knows the text as a city's name.

A country's name is no airport's: "Lebanon" is not the one in New Hampshire, unless that is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from . import place_names
from .catalogue import Airport
from .city_readings import read_cities
from .countries import country_code, country_name
from .declension import NOUN_PRICE
from .folding import core, is_cyrillic
from .match_ladder import EXACT, EXACT_MARGIN, READS_AS, RESEMBLANCE_MARGIN, Match, forms_of, ladder
from .place_names import squash

MOST_CANDIDATES: Final = 10
# How far the next candidate must be behind for the first to win; a reading is finer than a resemblance.
_READING_MARGIN: Final = 1.6
# A mere resemblance is taken without asking only when it is this close: one wrong letter in seven of a Latin
# spelling, less of a Russian one, which is no spelling of this name at all but a reading.
_TAKEN: Final = {"similar": 85.0, "transliteration": 91.0}
# A city of this weight (gazetteer.City) may be meant by a country's name as well.
_GREAT_CITY: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a text names: one airport, a closed list of at most MOST_CANDIDATES equals, or nothing.

    `exact` is False where the spelling only resembles the name; an answer should then say what it took the text for.
    """

    status: Literal["found", "ambiguous", "not_found"]
    airport: Airport | None
    candidates: tuple[Match, ...]
    how: str
    exact: bool


_NOTHING: Final = Resolution("not_found", None, (), "", False)


def match_airports(text: str, country: str | None = None, limit: int = MOST_CANDIDATES) -> list[Match]:
    """The airports that `text` may mean, best first, the order deterministic; [] when nothing resembles it.

    `country` (ISO 3166-1 alpha-2) keeps only that country's airports.
    """
    return list(ladder(text.strip(), country)[:limit])


def resolve_airport(text: str, country: str | None = None) -> Resolution:
    """One airport if one wins outright, else the closed list of equals, else nothing. See the module's text."""
    contenders = _contenders(ladder(text.strip(), country))
    if not contenders or (country is None and _is_other_country(text, contenders)):
        return _NOTHING
    first = contenders[0]
    exact = first.score >= READS_AS or first.how == "partial"
    if len(contenders) > 1:
        home = _home_airport(contenders)
        if home is None:
            return Resolution("ambiguous", None, _closed_list(text, contenders, country), first.how, exact)
        first = home
    elif not (exact or _is_taken(first)):
        # One candidate, but a weak one: a list of one asks "did you mean …?".
        return Resolution("ambiguous", None, (first,), first.how, exact)
    return Resolution("found", first.airport, (first,), first.how, exact)


def _is_other_country(text: str, contenders: list[Match]) -> bool:
    """Is the text the name of a country, and every contender a lesser place elsewhere? "Сальвадор" is a great city."""
    code = country_code(text)
    return code is not None and all(
        match.airport.country != code and match.weight < _GREAT_CITY and not match.how.endswith("_code")
        for match in contenders
    )


def looks_like_place(text: str) -> bool:
    """Does the text name an airport closely enough to be taken for a place at all?"""
    best = match_airports(text, limit=1)
    return bool(best) and (best[0].score >= READS_AS or _is_taken(best[0]))


def _is_taken(match: Match) -> bool:
    return bool(match.airport.iata) and match.score >= _TAKEN.get(match.how, 0.0)


def warm_up() -> None:
    """Build every index now, so that no first request pays for it (about two seconds)."""
    for text in ("Heathrow", "Хитроу", "Helsinkj", "xyzzyqq", "абракадабра", "Berlin, Germany"):
        resolve_airport(text)


def city_icaos(text: str) -> tuple[str, ...]:
    """ICAO codes of the airports of the cities (or the metropolitan area) that `text` names in any language.

    Where such a city has no airport of its own, those near it.
    """
    folded = core(text)
    read = read_cities(forms_of(folded), folded, NOUN_PRICE, None)
    found = {reading.icao for reading in (*read.equals, *read.behind) if reading.how == "city"}
    if found or not is_cyrillic(folded):
        return tuple(sorted(found or {reading.icao for reading in read.equals}))
    spelt = place_names.spelling_index(False).search(forms_of(folded), READS_AS)
    top = max(spelt.values(), default=0.0)
    keys = {squash(name) for name, score in spelt.items() if score >= top - _READING_MARGIN}
    index = place_names.by_city()
    found = {icao for key in keys for icao in index.get(key, ())}
    return tuple(sorted(found or {reading.icao for reading in read.equals}))


def _closed_list(text: str, contenders: list[Match], country: str | None) -> tuple[Match, ...]:
    """The contenders, and behind them what the ladder found besides, since the list is shown anyway."""
    listed = list(contenders)
    if contenders[0].how not in ("similar", "partial"):
        known = {match.airport.icao for match in contenders}
        rest = (match for match in ladder(text.strip(), country) if match.airport.icao not in known)
        listed.extend(match for match in rest if match.airport.iata)
    return tuple(listed[:MOST_CANDIDATES])


def _contenders(matches: tuple[Match, ...]) -> list[Match]:
    """The matches that no rule puts behind the first: close in score, and with an IATA code if any of them has one."""
    if not matches:
        return []
    top = matches[0].score
    if top >= EXACT - EXACT_MARGIN or matches[0].how == "partial":
        margin = EXACT_MARGIN
    else:
        margin = _READING_MARGIN if top >= READS_AS else RESEMBLANCE_MARGIN
    close = [match for match in matches if match.score >= top - margin]
    coded = [match for match in close if match.airport.iata]
    return coded or close


def _home_airport(contenders: list[Match]) -> Match | None:
    """The one airport that bears the city's own name, if all contenders serve that same city and none shares its
    traffic.

    "Hamburg" is Hamburg Airport, not Hamburg-Finkenwerder; but London, Berlin and Tokyo stay questions: other
    countries have one too, or the city has several airports of one metropolitan area.
    """
    cities = {(squash(core(match.airport.city)), match.airport.country, match.weight) for match in contenders}
    members = place_names.metropolitan_members()
    if len(cities) != 1 or sum(match.airport.icao in members for match in contenders) > 1:
        return None
    city, _, _ = next(iter(cities))
    named = [match for match in contenders if place_names.name_key(match.airport) == city]
    return named[0] if city and len(named) == 1 else None


__all__ = [
    "MOST_CANDIDATES",
    "Match",
    "Resolution",
    "city_icaos",
    "country_code",
    "country_name",
    "looks_like_place",
    "match_airports",
    "resolve_airport",
    "warm_up",
]

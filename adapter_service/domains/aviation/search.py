"""The airport search as one data operation: scope (place, countries, kind, text), order either way, and page (I1, H4).

A tool by itself, and the planner's way to "nearest", "farthest", "highest", "how many" and "show more". The answer
names the data that it searched and what it left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from heapq import nsmallest
from typing import Any, Final, Literal

from .catalogue import Airport, airports, data_scope, require_airport
from .distance_index import Centre, DistanceIndex
from .errors import InputInvalid
from .folding import folds
from .search_filters import Kind, chosen_by_text, countries, points, pool

Sort = Literal[
    "relevance",
    "distance",
    "distance_desc",
    "name",
    "name_desc",
    "elevation",
    "elevation_desc",
    "latitude",
    "latitude_desc",
    "longitude",
    "longitude_desc",
]

MOST_RESULTS: Final = 100
# Half the circumference, rounded up: no two points of the Earth are farther apart (metres, then kilometres).
FARTHEST_KM: Final = 20_040.0
_METRES_IN_KM: Final = 1000.0

_KIND_NOTES: Final = {
    "with_iata_code": (
        "Only airports with an IATA code (those that take part in scheduled or charter traffic) were considered.",
        "Учтены только аэропорты с кодом IATA (то есть участвующие в регулярных или чартерных перевозках).",
    ),
    "international": (
        "The catalogue does not tell which airports are international, so all with an IATA code were considered.",
        "Каталог не сообщает, какие аэропорты международные, поэтому учтены все с кодом IATA.",
    ),
    "any": (
        "Every airfield of the catalogue was considered, private strips included.",
        "Учтены все аэродромы каталога, включая частные площадки.",
    ),
}


def search_airports(
    name: str | None = None,
    city: str | None = None,
    code: str | None = None,
    country: str | list[str] | None = None,
    except_country: str | list[str] | None = None,
    subdivision: str | None = None,
    center_lat_deg: float | None = None,
    center_lon_deg: float | None = None,
    center_icao: str | None = None,
    include_center: bool = False,
    radius_km: float | None = None,
    min_distance_km: float | None = None,
    sort: Sort | None = None,
    kind: Kind | None = None,
    limit: int = 10,
    offset: int = 0,
    count_only: bool = False,
) -> dict[str, Any]:
    """Airports that pass every given filter, one page of them in the given order.

    name: an airport's name or a part of it; city: a city, in any language that the matching understands; code: an
    ICAO, IATA or metropolitan area code. country, except_country: one or several, in which an airport must or must not
    be, as ISO 3166-1 alpha-2 codes or names in English or Russian. subdivision: a state, province or region. The
    centre is either a position in degrees or `center_icao`, which is itself left out unless `include_center`.
    radius_km, min_distance_km: greatest and least geodesic distance from the centre. sort: by default "distance" with
    a centre, "relevance" with a name, city or code, else "name"; "…_desc" is the other way round; longitudes are
    counted eastwards from the widest gap without airports, so that "longitude" begins with the westernmost. kind: by
    default "any" when a name or a code is asked for (that one is meant, whatever it is), else "with_iata_code": a
    person who asks for the nearest airport means one to fly from, not a private strip. limit: 1..100; offset: from 0.
    count_only: no airports, only how many there are.

    Returns {airports: [summary, distance_km with a centre], total, limit, offset, sort, similar, center, query, scope};
    `similar`: nothing is called so, what was found only resembles it; `query` is what was asked, without the page;
    `scope` says source, version, kind and how many matches that kind left out.
    Raises InputInvalid naming the parameter, EntityNotFound for `center_icao`.
    """
    center, own = _center(center_lat_deg, center_lon_deg, center_icao)
    _check_page(limit, offset)
    order = _order(sort, center, asked_by_text=any((name, city, code)))
    _check_distances(center, radius_km, min_distance_km)
    only, without = countries("country", country), countries("except_country", except_country)
    chosen_kind: Kind = kind or ("any" if name or code else "with_iata_code")

    texts = chosen_by_text(name, city, code, subdivision, only, without)
    every = pool("any", only, without) if texts is None else DistanceIndex(texts.points)
    ringed = radius_km is not None or min_distance_km is not None
    if center is not None and ringed:
        most_km = FARTHEST_KM if radius_km is None else radius_km
        every = DistanceIndex(every.within(center, most_km * _METRES_IN_KM, (min_distance_km or 0.0) * _METRES_IN_KM))
    left_out = None if include_center else own
    if chosen_kind == "any":
        kept = every
    elif texts is None and not ringed:
        kept = pool(chosen_kind, only, without)
    else:
        kept = DistanceIndex([point for point in every.points if point[3].iata])
    page = [] if count_only else _page(kept, center, order, limit, offset, left_out)
    total = _count(kept, left_out)
    note_en, note_ru = _KIND_NOTES[chosen_kind]
    scope = data_scope()
    return {
        "airports": [
            airport.summary() if distance is None else {**airport.summary(), "distance_km": distance}
            for airport, distance in page
        ],
        "total": total,
        "limit": limit,
        "offset": offset,
        "sort": order,
        "similar": texts is not None and texts.similar,
        "center": None if center is None else _shown_center(center, own),
        "query": _stated(
            name=name,
            city=city,
            code=code,
            country=sorted(only),
            except_country=sorted(without),
            subdivision=subdivision,
            center_lat_deg=center_lat_deg,
            center_lon_deg=center_lon_deg,
            center_icao=own.icao if own is not None else None,
            include_center=include_center,
            radius_km=radius_km,
            min_distance_km=min_distance_km,
            sort=order,
            kind=chosen_kind,
            count_only=count_only,
        ),
        "scope": {
            **scope,
            "kind": chosen_kind,
            "left_out_by_kind": _count(every, left_out) - total,
            "note_en": f"{note_en} {scope['note_en']}",
            "note_ru": f"{note_ru} {scope['note_ru']}",
        },
    }


def _stated(**parts: Any) -> dict[str, Any]:
    return {key: value for key, value in parts.items() if value not in (None, [], False)}


def _shown_center(center: Centre, own: Airport | None) -> dict[str, Any]:
    position = {"latitude_deg": center.latitude_deg, "longitude_deg": center.longitude_deg}
    return position if own is None else {**position, "icao": own.icao, "name": own.name, "city": own.city}


def _center(lat: float | None, lon: float | None, icao: str | None) -> tuple[Centre | None, Airport | None]:
    if icao is not None:
        if lat is not None or lon is not None:
            raise InputInvalid("center_icao", "given without a latitude and a longitude", icao)
        airport = require_airport(icao, "center_icao")
        return Centre(airport.latitude_deg, airport.longitude_deg), airport
    if lat is None and lon is None:
        return None, None
    if lat is None or not -90.0 <= lat <= 90.0:
        raise InputInvalid("center_lat_deg", "a latitude from -90 to 90 degrees, together with a longitude", lat)
    if lon is None or not -180.0 <= lon <= 180.0:
        raise InputInvalid("center_lon_deg", "a longitude from -180 to 180 degrees, together with a latitude", lon)
    return Centre(lat, lon), None


def _check_page(limit: int, offset: int) -> None:
    if not 1 <= limit <= MOST_RESULTS:
        raise InputInvalid("limit", f"a whole number from 1 to {MOST_RESULTS}", limit)
    if offset < 0:
        raise InputInvalid("offset", "a whole number from 0", offset)


def _check_distances(center: Centre | None, radius_km: float | None, min_distance_km: float | None) -> None:
    for field, km in (("radius_km", radius_km), ("min_distance_km", min_distance_km)):
        if km is None:
            continue
        if center is None:
            raise InputInvalid(
                field,
                "given together with a place to measure from",
                accepted_ru="только вместе с местом, вокруг которого искать",
            )
        if not 0.0 < km <= FARTHEST_KM:
            raise InputInvalid(
                field,
                f"more than 0 and at most {FARTHEST_KM:.0f} kilometres",
                km,
                accepted_ru=f"больше 0 и не больше {FARTHEST_KM:.0f} километров",
            )
    if radius_km is not None and min_distance_km is not None and min_distance_km > radius_km:
        raise InputInvalid(
            "min_distance_km",
            f"at most the greatest distance, {radius_km:g} kilometres",
            min_distance_km,
            accepted_ru=f"не больше наибольшего расстояния, {radius_km:g} км",
        )


def _order(sort: Sort | None, center: Centre | None, asked_by_text: bool) -> Sort:
    if sort is None:
        if center is not None:
            return "distance"
        return "relevance" if asked_by_text else "name"
    if sort in ("distance", "distance_desc") and center is None:
        raise InputInvalid(
            "sort",
            "by distance only with a place to measure from",
            sort,
            accepted_ru="по расстоянию только от названного места",
        )
    return sort


def _count(index: DistanceIndex, left_out: Airport | None) -> int:
    return len(index.points) - (left_out is not None and points()[left_out.icao] in index.points)


def _page(
    kept: DistanceIndex, center: Centre | None, order: Sort, limit: int, offset: int, left_out: Airport | None
) -> list[tuple[Airport, float | None]]:
    """One page in the given order, with distances in kilometres (one metre exact) where there is a centre."""
    if center is not None and order in ("distance", "distance_desc"):
        ranked = kept.by_distance(center, offset, offset + limit, farthest=order == "distance_desc", left_out=left_out)
        return [(airport, round(metres / _METRES_IN_KM, 3)) for metres, airport in ranked]
    there = [point[3] for point in kept.points if point[3] is not left_out]
    shown = _ordered(there, order, offset + limit)[offset:]
    if center is None:
        return [(airport, None) for airport in shown]
    return [(airport, round(center.distance_m(airport) / _METRES_IN_KM, 3)) for airport in shown]


def _ordered(there: Sequence[Airport], order: Sort, count: int) -> Sequence[Airport]:
    """The first `count` in an order that is not by distance; equals by ICAO code."""
    what, _, reverse = order.partition("_")
    if what == "relevance":
        return there[:count]
    measure = _MEASURES[what](there)
    sign = -1.0 if reverse else 1.0
    return nsmallest(count, there, key=lambda airport: (sign * measure(airport), airport.icao))


@lru_cache(maxsize=1)
def _name_ranks() -> dict[str, float]:
    """The place of each airport in the order of names; those of one name share it."""
    folded = dict(zip(airports(), folds([airport.name for airport in airports().values()]), strict=True))
    places = {name: float(place) for place, name in enumerate(sorted(set(folded.values())))}
    return {icao: places[name] for icao, name in folded.items()}


def _by_name(_there: Sequence[Airport]) -> Callable[[Airport], float]:
    ranks = _name_ranks()
    return lambda airport: ranks[airport.icao]


def _by_longitude(there: Sequence[Airport]) -> Callable[[Airport], float]:
    """Degrees eastwards from the widest gap without an airport: the westernmost of Russia is not in Chukotka."""
    longitudes = sorted({airport.longitude_deg for airport in there})
    behind = [*longitudes[1:], longitudes[0] + 360.0] if longitudes else []
    gaps = ((following - before, following) for before, following in zip(longitudes, behind, strict=True))
    start = max(gaps, default=(0.0, -180.0))[1]
    return lambda airport: (airport.longitude_deg - start) % 360.0


_MEASURES: Final[dict[str, Callable[[Sequence[Airport]], Callable[[Airport], float]]]] = {
    "name": _by_name,
    "elevation": lambda _there: lambda airport: airport.elevation_ft,
    "latitude": lambda _there: lambda airport: airport.latitude_deg,
    "longitude": _by_longitude,
}

__all__ = ["FARTHEST_KM", "MOST_RESULTS", "Kind", "Sort", "search_airports"]

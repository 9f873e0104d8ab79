"""The search: exact nearest and farthest, filters, kinds, paging and refusals (I1, H4)."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adapter_service.domains.aviation.catalogue import airports, data_scope, get_airport
from adapter_service.domains.aviation.errors import EntityNotFound, InputInvalid
from adapter_service.domains.aviation.geodesy import inverse
from adapter_service.domains.aviation.search import search_airports


def _icaos(found: dict[str, Any]) -> list[str]:
    return [airport["icao"] for airport in found["airports"]]


def test_nearest_means_an_airport_to_fly_from_and_says_so() -> None:
    found = search_airports(center_lat_deg=52.52, center_lon_deg=13.405)
    assert found["sort"] == "distance"
    assert {"EDDB", "EDDT"} == set(_icaos(found)[:2])
    assert all(airport["iata"] for airport in found["airports"])
    assert found["scope"]["kind"] == "with_iata_code"
    assert found["scope"]["left_out_by_kind"] > 20_000
    assert "IATA" in found["scope"]["note_en"]
    assert "IATA" in found["scope"]["note_ru"]
    anything = search_airports(center_lat_deg=52.52, center_lon_deg=13.405, kind="any", limit=1)
    assert anything["airports"][0]["distance_km"] <= found["airports"][0]["distance_km"]


@settings(max_examples=8)
@given(st.floats(-90, 90), st.floats(-180, 180), st.sampled_from(["distance", "distance_desc"]))
@example(90.0, 0.0, "distance")
@example(-17.0, 179.99, "distance")
@example(0.0, 0.0, "distance_desc")
def test_the_pre_filter_loses_nothing(lat: float, lon: float, sort: Any) -> None:
    """Against every distance in the catalogue of one large country, computed the slow way."""
    exact = sorted(
        (inverse(lat, lon, a.latitude_deg, a.longitude_deg)[0], a.icao)
        for a in airports().values()
        if a.country == "RU"
    )
    if sort == "distance_desc":
        exact = sorted(exact, key=lambda pair: (-pair[0], pair[1]))
    found = search_airports(country="RU", center_lat_deg=lat, center_lon_deg=lon, sort=sort, kind="any", limit=20)
    assert _icaos(found) == [icao for _, icao in exact[:20]]
    assert [a["distance_km"] for a in found["airports"]] == [round(m / 1000, 3) for m, _ in exact[:20]]


@pytest.mark.parametrize("radius_km", [50.0, 300.0, 5000.0])
def test_radius_is_exact(radius_km: float) -> None:
    inside = {
        a.icao
        for a in airports().values()
        if a.country == "FR" and inverse(48.85, 2.35, a.latitude_deg, a.longitude_deg)[0] <= radius_km * 1000
    }
    found = search_airports(
        country="France", center_lat_deg=48.85, center_lon_deg=2.35, radius_km=radius_km, kind="any", limit=100
    )
    assert found["total"] == len(inside)
    assert set(_icaos(found)) <= inside


def test_nearest_is_fast() -> None:
    search_airports(center_lat_deg=1.0, center_lon_deg=1.0, kind="any")
    best = min(_timed(lat) for lat in (10.0, 20.0, 30.0, 40.0, 50.0))
    assert best < 0.25


def _timed(lat: float) -> float:
    start = time.perf_counter()
    search_airports(center_lat_deg=lat, center_lon_deg=30.0, kind="any")
    return time.perf_counter() - start


@pytest.mark.parametrize(
    ("filters", "first", "total"),
    [
        ({"code": "ber"}, "EDDB", 1),
        ({"code": "EDDB"}, "EDDB", 1),
        ({"name": "heathrow"}, "EGLL", None),
        ({"name": "Хитроу"}, "EGLL", None),
        ({"city": "Лондон", "country": "GB"}, None, 7),
        ({"city": "London", "country": "Канада"}, "CYXU", 1),
        ({"city": "Helsinky"}, "EFHK", None),
        ({"city": "Нарния"}, None, 0),
        ({"name": "berlin", "country": "US"}, "KBML", None),
    ],
)
def test_filters(filters: dict[str, Any], first: str | None, total: int | None) -> None:
    found = search_airports(**filters)
    if first is not None:
        assert _icaos(found)[0] == first
    if total is not None:
        assert found["total"] == total


def test_sorting_by_name_both_ways_and_paging() -> None:
    up = search_airports(country="Германии", sort="name", limit=100)
    down = search_airports(country="DE", sort="name_desc", limit=100)
    assert _icaos(down) == list(reversed(_icaos(up)))
    paged = [
        icao for offset in range(0, 90, 30) for icao in _icaos(search_airports(country="DE", limit=30, offset=offset))
    ]
    assert paged == _icaos(up)[:90]
    near = {"center_icao": "EDDF", "sort": "distance"}
    assert _icaos(search_airports(**near, limit=10))[5:] == _icaos(search_airports(**near, limit=5, offset=5))


def test_a_centre_airport_is_left_out() -> None:
    found = search_airports(center_icao="EDDB", radius_km=100)
    assert "EDDB" not in _icaos(found)
    assert _icaos(found)[0] == "EDDT"


@pytest.mark.parametrize(
    ("filters", "field"),
    [
        ({"radius_km": 10.0}, "radius_km"),
        ({"center_lat_deg": 1.0, "center_lon_deg": 1.0, "radius_km": 0.0}, "radius_km"),
        ({"center_lat_deg": 1.0, "center_lon_deg": 1.0, "radius_km": float("nan")}, "radius_km"),
        ({"center_lat_deg": 91.0, "center_lon_deg": 1.0}, "center_lat_deg"),
        ({"center_lat_deg": float("nan"), "center_lon_deg": 1.0}, "center_lat_deg"),
        ({"center_lon_deg": 1.0}, "center_lat_deg"),
        ({"center_lat_deg": 1.0}, "center_lon_deg"),
        ({"center_lat_deg": 1.0, "center_lon_deg": 1.0, "center_icao": "EDDB"}, "center_icao"),
        ({"sort": "distance"}, "sort"),
        ({"limit": 0}, "limit"),
        ({"limit": 101}, "limit"),
        ({"offset": -1}, "offset"),
        ({"country": "Нарния"}, "country"),
        ({"name": "?"}, "name"),
        ({"city": "x" * 500}, "city"),
    ],
)
def test_refusals_name_the_parameter(filters: dict[str, Any], field: str) -> None:
    with pytest.raises(InputInvalid) as refused:
        search_airports(**filters)
    assert refused.value.field == field
    assert refused.value.accepted


def test_get_airport() -> None:
    airport = get_airport("eddb")
    assert airport["iata"] == "BER"
    assert airport["tz"] == "Europe/Berlin"
    assert data_scope()["airport_count"] == len(airports()) > 28_000
    with pytest.raises(EntityNotFound):
        get_airport("XXXX")
    with pytest.raises(EntityNotFound) as unknown:
        search_airports(center_icao="XXXX")
    assert unknown.value.field == "center_icao"

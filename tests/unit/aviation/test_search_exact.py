"""Every page of every order equals that of a plain scan with the exact geodesic (I1)."""

from __future__ import annotations

from typing import Any

import pytest
from geographiclib.geodesic import Geodesic
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adapter_service.domains.aviation import distance_index
from adapter_service.domains.aviation.catalogue import Airport, airports
from adapter_service.domains.aviation.geodesy import inverse
from adapter_service.domains.aviation.search import search_airports

# Countries on both sides of the antimeridian, at a pole, tiny ones, and one with more than the index looks at singly.
COUNTRIES = ("RU", "FJ", "AQ", "NZ", "IS", "DE", "SM", "CA")
latitudes = st.floats(-90, 90, allow_nan=False)
longitudes = st.floats(-180, 180, allow_nan=False)
countries = st.lists(st.sampled_from(COUNTRIES), min_size=1, max_size=3, unique=True)


def _icaos(found: dict[str, Any]) -> list[str]:
    return [airport["icao"] for airport in found["airports"]]


def _scan(lat: float, lon: float, chosen: list[Airport], *, farthest: bool) -> list[tuple[float, str]]:
    distances = [
        (Geodesic.WGS84.Inverse(lat, lon, a.latitude_deg, a.longitude_deg, Geodesic.DISTANCE)["s12"], a.icao)
        for a in chosen
    ]
    return sorted(distances, key=lambda pair: (-pair[0] if farthest else pair[0], pair[1]))


def _airports(only: list[str], kind: str) -> list[Airport]:
    return [a for a in airports().values() if a.country in only and (kind == "any" or a.iata)]


@settings(max_examples=25)
@given(
    latitudes,
    longitudes,
    countries,
    st.sampled_from(["distance", "distance_desc"]),
    st.sampled_from(["any", "with_iata_code"]),
    st.integers(0, 60),
    st.integers(1, 40),
)
@example(90.0, 0.0, ["RU", "CA"], "distance", "any", 0, 20)
@example(-90.0, 12.0, ["AQ", "NZ"], "distance", "any", 5, 20)
@example(-17.0, 180.0, ["FJ", "NZ"], "distance", "any", 0, 30)
@example(-17.0, -180.0, ["FJ", "RU"], "distance_desc", "any", 3, 30)
@example(0.0, 0.0, ["SM"], "distance", "any", 0, 10)
def test_order_by_distance_is_that_of_a_scan(
    lat: float, lon: float, only: list[str], sort: Any, kind: Any, offset: int, limit: int
) -> None:
    chosen = _airports(only, kind)
    exact = _scan(lat, lon, chosen, farthest=sort == "distance_desc")
    found = search_airports(
        country=only, center_lat_deg=lat, center_lon_deg=lon, sort=sort, kind=kind, offset=offset, limit=limit
    )
    page = exact[offset : offset + limit]
    assert _icaos(found) == [icao for _, icao in page]
    assert [a["distance_km"] for a in found["airports"]] == [round(metres / 1000, 3) for metres, _ in page]
    assert found["total"] == len(chosen)


@settings(max_examples=25)
@given(latitudes, longitudes, countries, st.floats(1.0, 20_000.0), st.floats(0.0, 1.0))
@example(-17.0, 179.99, ["FJ"], 300.0, 0.3)
@example(89.9, 0.0, ["RU", "CA"], 2000.0, 0.5)
@example(-40.0, -10.0, ["NZ"], 19_990.0, 0.99)
def test_a_ring_is_that_of_a_scan(lat: float, lon: float, only: list[str], most_km: float, share: float) -> None:
    least_km = max(0.001, most_km * share)
    inside = [
        icao
        for metres, icao in _scan(lat, lon, _airports(only, "any"), farthest=False)
        if least_km * 1000 <= metres <= most_km * 1000
    ]
    found = search_airports(
        country=only,
        center_lat_deg=lat,
        center_lon_deg=lon,
        radius_km=most_km,
        min_distance_km=least_km,
        kind="any",
        limit=100,
    )
    assert found["total"] == len(inside)
    assert _icaos(found) == inside[:100]


@pytest.mark.parametrize(("lat", "lon", "farthest"), [(39.0, -95.0, False), (-17.7, 179.999, True)])
def test_order_over_the_whole_catalogue(lat: float, lon: float, farthest: bool) -> None:
    exact = _scan(lat, lon, list(airports().values()), farthest=farthest)
    # Many small pages: where airports all around are about as far, the sphere's order is not the ellipsoid's.
    for offset in (*range(2_000, 2_120, 4), len(exact) - 2):
        found = search_airports(
            center_lat_deg=lat,
            center_lon_deg=lon,
            sort="distance_desc" if farthest else "distance",
            kind="any",
            offset=offset,
            limit=4,
        )
        assert _icaos(found) == [icao for _, icao in exact[offset : offset + 4]]


def test_pages_around_an_airport_leave_it_out_wherever_it_stands() -> None:
    whole = search_airports(center_icao="NZAA", country=["NZ", "FJ"], limit=100)
    parts = [
        icao
        for offset in range(0, 100, 7)
        for icao in _icaos(search_airports(center_icao="NZAA", country=["NZ", "FJ"], limit=7, offset=offset))
    ]
    assert parts == _icaos(whole)
    assert "NZAA" not in parts
    assert whole["total"] == len(_airports(["NZ", "FJ"], "with_iata_code")) - 1
    with_it = search_airports(center_icao="NZAA", include_center=True, country=["NZ", "FJ"], limit=1)
    assert (_icaos(with_it), with_it["total"]) == (["NZAA"], whole["total"] + 1)


def test_few_exact_distances_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    """The geodesic is dear: it is asked about a page and its neighbourhood, not about the catalogue."""
    asked = 0

    def counting(*ends: float) -> tuple[float, float]:
        nonlocal asked
        asked += 1
        return inverse(*ends)

    monkeypatch.setattr(distance_index, "inverse", counting)
    search_airports(center_lat_deg=50.0, center_lon_deg=10.0, kind="any", limit=10)
    assert 10 <= asked <= 12
    asked = 0
    search_airports(center_lat_deg=50.0, center_lon_deg=10.0, kind="any", radius_km=2000.0, limit=10)
    assert 10 <= asked <= 60

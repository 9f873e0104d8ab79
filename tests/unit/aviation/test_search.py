"""The search: exact nearest and farthest, filters, kinds, paging and refusals (I1, H4)."""

from __future__ import annotations

from typing import Any

import pytest

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
    near: dict[str, Any] = {"center_icao": "EDDF", "sort": "distance"}
    assert _icaos(search_airports(**near, limit=10))[5:] == _icaos(search_airports(**near, limit=5, offset=5))


@pytest.mark.parametrize("country", ["NP", "NO", "NL", "IN", "PT"])
@pytest.mark.parametrize("measure", ["elevation_ft", "latitude_deg", "longitude_deg"])
def test_extremes_are_those_of_a_scan(country: str, measure: str) -> None:
    there = [a for a in airports().values() if a.iata and a.country == country]
    what = measure.split("_")[0]
    for sort, sign in ((what, 1.0), (f"{what}_desc", -1.0)):
        expected = sorted(there, key=lambda a: (sign * getattr(a, measure), a.icao))
        order: Any = sort
        found = search_airports(country=country, sort=order, limit=5)
        assert _icaos(found) == [a.icao for a in expected[:5]]


def test_the_highest_airport_of_all() -> None:
    assert _icaos(search_airports(sort="elevation_desc", limit=1)) == ["ZUDC"]  # Daocheng Yading, 4,411 m


def test_the_westernmost_is_told_across_the_antimeridian() -> None:
    west, east = (search_airports(country="RU", sort=sort, limit=1) for sort in ("longitude", "longitude_desc"))
    assert _icaos(west) == ["UMKK"]  # Kaliningrad, not Chukotka beyond 180 degrees
    assert east["airports"][0]["longitude_deg"] < -170.0
    assert _icaos(search_airports(country="FJ", sort="longitude", limit=1)) != _icaos(
        search_airports(country="FJ", sort="longitude_desc", limit=1)
    )


def test_several_countries_and_all_but_some() -> None:
    both = search_airports(country=["DE", "Польша"], count_only=True)
    assert both["total"] == sum(search_airports(country=code, count_only=True)["total"] for code in ("DE", "PL"))
    assert both["airports"] == []
    rest = search_airports(except_country="Germany", count_only=True)
    assert rest["total"] == search_airports(count_only=True)["total"] - search_airports(country="DE")["total"]
    near = search_airports(center_lat_deg=52.52, center_lon_deg=13.405, except_country=["DE"], limit=20)
    assert {airport["country"] for airport in near["airports"]} & {"PL", "CZ"}
    assert "DE" not in {airport["country"] for airport in near["airports"]}
    assert search_airports(city="London", except_country="GB")["airports"][0]["country"] != "GB"


def test_what_was_asked_is_in_the_result_and_asks_the_same_again() -> None:
    asked: dict[str, Any] = {"center_icao": "EDDB", "country": ["Poland"], "radius_km": 400, "min_distance_km": 50}
    found = search_airports(**asked, limit=3)
    assert found["query"] == {
        "center_icao": "EDDB",
        "country": ["PL"],
        "radius_km": 400,
        "min_distance_km": 50,
        "sort": "distance",
        "kind": "with_iata_code",
    }
    assert search_airports(**found["query"], limit=3) == found


def test_a_centre_airport_is_left_out() -> None:
    found = search_airports(center_icao="EDDB", radius_km=100)
    assert "EDDB" not in _icaos(found)
    assert _icaos(found)[0] == "EDDT"


@pytest.mark.parametrize(
    ("filters", "field"),
    [
        ({"radius_km": 10.0}, "radius_km"),
        ({"min_distance_km": 10.0}, "min_distance_km"),
        ({"center_icao": "EDDB", "radius_km": 10.0, "min_distance_km": 11.0}, "min_distance_km"),
        ({"except_country": "Нарния"}, "except_country"),
        ({"country": ["DE"] * 21}, "country"),
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


@pytest.mark.parametrize(
    ("filters", "similar"),
    [
        ({"name": "Heathrw"}, True),
        ({"name": "Heathrow"}, False),
        ({"name": "Хитроу"}, False),
        ({"city": "Frankfrut"}, True),
        ({"city": "Helsinki"}, False),
        ({"city": "Portland, Oregon"}, False),
        ({"city": "Мюнхин"}, True),
        ({"code": "BER"}, False),
    ],
)
def test_what_only_resembles_the_text_is_told_apart(filters: dict[str, Any], similar: bool) -> None:
    found = search_airports(**filters)
    assert found["total"] >= 1
    assert found["similar"] is similar


def test_a_city_is_told_apart_from_its_namesakes() -> None:
    oregon = search_airports(city="Portland, Oregon")
    assert {airport["icao"] for airport in oregon["airports"]} >= {"KPDX", "KHIO"}
    assert {a["country"] for a in search_airports(city="Лондон в Канаде")["airports"]} == {"CA"}

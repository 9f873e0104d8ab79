"""Geodesics and routes: exact ends, even steps, the antimeridian and the poles (I1, RFC 7946 §3.1.9)."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import pytest
from geographiclib.geodesic import Geodesic
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adapter_service.domains.aviation.errors import EntityNotFound, InputInvalid
from adapter_service.domains.aviation.geodesy import (
    LOWER_FACTOR,
    UPPER_FACTOR,
    great_circle_points,
    inverse,
    sphere_distance_m,
    unit_vector,
)
from adapter_service.domains.aviation.route import build_route, route_geometry, route_view

latitudes = st.floats(-90, 90, allow_nan=False)
longitudes = st.floats(-180, 180, allow_nan=False)


def _lines(geometry: dict[str, Any]) -> list[list[list[float]]]:
    lines = geometry["coordinates"] if geometry["type"] == "MultiLineString" else [geometry["coordinates"]]
    return list(lines)


def test_inverse_agrees_with_published_values() -> None:
    """The example of GeographicLib's GeodSolve manual: JFK to Singapore, 15347628 m, initial course 3°18'29.9"."""
    jfk = (40 + 38 / 60 + 23 / 3600, -(73 + 46 / 60 + 44 / 3600))
    singapore = (1 + 21 / 60 + 33 / 3600, 103 + 59 / 60 + 22 / 3600)
    distance, course = inverse(*jfk, *singapore)
    assert distance == pytest.approx(15347628, abs=1)
    assert course == pytest.approx(3 + 18 / 60 + 29.9 / 3600, abs=1e-4)


@given(latitudes, longitudes, latitudes, longitudes)
@example(0.0, 0.0, 0.0, 180.0)
@example(0.5, 0.0, -0.5, 179.7)
@example(90.0, 10.0, -90.0, 20.0)
def test_cheap_bounds_hold(lat1: float, lon1: float, lat2: float, lon2: float) -> None:
    exact, course = inverse(lat1, lon1, lat2, lon2)
    sphere = sphere_distance_m(unit_vector(lat1, lon1), unit_vector(lat2, lon2))
    assert sphere * LOWER_FACTOR <= exact + 0.01
    assert exact <= sphere * UPPER_FACTOR + 0.01
    assert 0.0 <= course < 360.0


@settings(max_examples=60)
@given(latitudes, longitudes, latitudes, longitudes)
@example(60.0, 0.0, 70.0, 180.0)  # over the pole
@example(-90.0, 0.0, -36.0, 174.8)  # from the pole
@example(52.0, -180.0, 51.0, 180.0)
@example(89.99, 10.0, 89.99, -170.001)
def test_points_lie_on_the_geodesic(lat1: float, lon1: float, lat2: float, lon2: float) -> None:
    points = great_circle_points(lat1, lon1, lat2, lon2, max_step_m=500_000.0)
    assert points[0] == (lat1, lon1)
    assert points[-1][0] == lat2
    assert math.remainder(points[-1][1] - lon2, 360.0) == pytest.approx(0.0, abs=1e-9)
    total = inverse(lat1, lon1, lat2, lon2)[0]
    steps = [inverse(*a, *b)[0] for a, b in itertools.pairwise(points)]
    assert sum(steps) == pytest.approx(total, rel=1e-9, abs=0.01)
    assert max(steps) <= 500_000.0 + 0.01


@settings(max_examples=100)
@given(latitudes, longitudes, latitudes, longitudes)
@example(10.0, 170.0, 10.0, -170.0)
@example(10.0, 180.0, 20.0, 170.0)
@example(10.0, 180.0, 20.0, -170.0)
@example(10.0, -180.0, 20.0, 170.0)
@example(60.0, 30.0, 60.0, -150.0)
@example(0.0, 0.0, 0.0, 180.0)
@example(90.0, 0.0, 10.0, 179.9)
def test_geometry_is_cut_and_stays_on_the_geodesic(lat1: float, lon1: float, lat2: float, lon2: float) -> None:
    if inverse(lat1, lon1, lat2, lon2)[0] < 1000.0:
        return
    geometry = route_geometry(great_circle_points(lat1, lon1, lat2, lon2))
    lines = _lines(geometry)
    json.dumps(geometry, allow_nan=False)
    assert (geometry["type"] == "MultiLineString") == (len(lines) > 1)
    for line in lines:
        assert len(line) >= 2
        for lon, lat in line:
            assert -180.0 <= lon <= 180.0
            assert -90.0 <= lat <= 90.0
        for (alon, alat), (blon, blat) in itertools.pairwise(line):
            # Within a part nothing jumps across the map, except along the pole's own edge.
            assert abs(alon - blon) <= 10.1 or abs(alat) == abs(blat) == 90.0 or min(abs(alat), abs(blat)) > 89.99
    for before, after in itertools.pairwise(lines):
        assert abs(before[-1][0]) == 180.0
        assert after[0] == [-before[-1][0], before[-1][1]]
    first, last = lines[0][0], lines[-1][-1]
    assert inverse(lat1, lon1, first[1], first[0])[0] < 0.2
    assert inverse(lat2, lon2, last[1], last[0])[0] < 0.2


def test_the_map_line_follows_the_path_even_near_the_pole() -> None:
    """Halfway between two neighbouring positions, in degrees, the true path must be near."""
    ends = (88.0, 0.0, 88.0, 175.0)
    line = Geodesic.WGS84.InverseLine(*ends)
    (positions,) = _lines(route_geometry(great_circle_points(*ends)))
    for (alon, alat), (blon, blat) in itertools.pairwise(positions):
        middle = ((alat + blat) / 2, (alon + blon) / 2)
        nearest = min(
            inverse(*middle, at["lat2"], at["lon2"])[0]
            for at in (line.Position(line.s13 * share / 400) for share in range(401))
        )
        assert nearest < 1500.0


@pytest.mark.parametrize(
    ("departure", "destination", "kind"),
    [
        ("EDDB", "EDDM", "LineString"),
        ("RJTT", "KLAX", "MultiLineString"),
        ("UHMA", "PAOM", "MultiLineString"),
        ("NFFN", "PHNL", "MultiLineString"),
        ("NZSP", "NZAA", "LineString"),
        ("NZSP", "SCEL", "LineString"),
    ],
)
def test_routes_between_airports(departure: str, destination: str, kind: str) -> None:
    route = build_route(departure, destination)
    properties = route["properties"]
    assert route["type"] == "Feature"
    assert route["geometry"]["type"] == kind
    assert properties["point_count"] == sum(map(len, _lines(route["geometry"])))
    assert 0.0 <= properties["initial_course_deg"] < 360.0
    back = build_route(destination, departure)["properties"]
    assert back["distance_km"] == properties["distance_km"]
    assert (back["departure"], back["destination"]) == (properties["destination"], properties["departure"])


def test_route_values_and_view() -> None:
    route = build_route("eddb", "EDDM")
    view = route_view(route)
    assert view["distance_km"] == pytest.approx(462.2, abs=0.05)
    assert view["initial_course_deg"] == pytest.approx(196.0, abs=0.05)
    assert view["departure"]["icao"] == "EDDB"
    assert set(view) == {"departure", "destination", "distance_km", "initial_course_deg", "point_count"}
    assert len(json.dumps(view)) < 600


def test_bad_ends_are_named() -> None:
    with pytest.raises(EntityNotFound) as unknown:
        build_route("EDDB", "XXXX")
    assert (unknown.value.field, unknown.value.code) == ("destination_icao", "entity_not_found")
    with pytest.raises(InputInvalid) as same:
        build_route("EDDB", "eddb")
    assert same.value.field == "destination_icao"

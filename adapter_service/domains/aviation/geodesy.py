"""Geodesics on the WGS 84 ellipsoid. Called by the search and by the route builder.

Exact values come from geographiclib (C. F. F. Karney, "Algorithms for geodesics", J. Geodesy 87, 2013). The cheap
bounds serve to ask it only about the few airports that can matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from geographiclib.geodesic import Geodesic

_WGS84: Final = Geodesic.WGS84

# The map "same reduced latitude and longitude" from the ellipsoid to the unit sphere: along a parallel a length is
# exactly a times that on the sphere, along a meridian sqrt(a² sin² + b² cos²) times, which is between b and a. A
# shortest path on one surface is a path on the other, so b and a bound distances too, antipodes included.
EQUATOR_RADIUS_M: Final = float(_WGS84.a)
POLE_RADIUS_M: Final = EQUATOR_RADIUS_M * (1.0 - float(_WGS84.f))
# The comparison sphere: the mean radius, for distances that need no more than its bounds.
SPHERE_RADIUS_M: Final = 6_371_008.8
LOWER_FACTOR: Final = POLE_RADIUS_M / SPHERE_RADIUS_M
UPPER_FACTOR: Final = EQUATOR_RADIUS_M / SPHERE_RADIUS_M

UnitVector = tuple[float, float, float]
# Distance from the start in metres, latitude, longitude.
_Position = tuple[float, float, float]
_SHORTEST_STEP_M: Final = 1.0


def inverse(lat1: float, lon1: float, lat2: float, lon2: float) -> tuple[float, float]:
    """Distance in metres and initial course in degrees [0, 360) of the shortest path from point 1 to point 2.

    Of the course from a pole the convention of geographiclib holds: it is counted from the point's own meridian.
    """
    line = _WGS84.Inverse(lat1, lon1, lat2, lon2, Geodesic.DISTANCE | Geodesic.AZIMUTH)
    course = math.fmod(float(line["azi1"]) + 360.0, 360.0)
    return float(line["s12"]), course


def great_circle_points(
    lat1: float,
    lon1: float,
    lat2: float,
    lon2: float,
    max_step_m: float = 50_000.0,
    max_turn_deg: float = 10.0,
) -> list[tuple[float, float]]:
    """Points (latitude, longitude) along the shortest path, at most `max_step_m` metres apart.

    Near a pole, where a short step can turn through many meridians and a straight line on the map would be far off,
    points are closer: a step turns at most `max_turn_deg`, unless it is shorter than a metre. The ends are exactly
    the given ones. Longitudes run on without a jump where the path crosses the antimeridian (they may leave [-180,
    180]); cutting is the route builder's work.
    """
    if max_step_m <= 0 or max_turn_deg <= 0:
        raise ValueError("max_step_m and max_turn_deg must be positive")
    line = _WGS84.InverseLine(lat1, lon1, lat2, lon2, Geodesic.LATITUDE | Geodesic.LONGITUDE | Geodesic.DISTANCE_IN)

    def position(distance_m: float) -> _Position:
        at = line.Position(distance_m, Geodesic.LATITUDE | Geodesic.LONGITUDE | Geodesic.LONG_UNROLL)
        return distance_m, float(at["lat2"]), float(at["lon2"])

    steps = max(1, math.ceil(line.s13 / max_step_m))
    points = [position(0.0)]
    for index in range(1, steps + 1):
        target = position(line.s13 * index / steps)
        points += _between(points[-1], target, position, max_turn_deg)
        points.append(target)
    # The ends are the given ones, the last written on the turn that the unrolled line arrived on.
    turns = round((points[-1][2] - lon2) / 360.0)
    inner = [(lat, lon) for _, lat, lon in points[1:-1]]
    return [(lat1, lon1), *inner, (lat2, lon2 + 360.0 * turns)]


def _between(
    start: _Position, end: _Position, position: Callable[[float], _Position], max_turn_deg: float
) -> list[_Position]:
    """The points to put between two: halves until a step turns little or is short."""
    if abs(end[2] - start[2]) <= max_turn_deg or end[0] - start[0] <= _SHORTEST_STEP_M:
        return []
    middle = position((start[0] + end[0]) / 2.0)
    return [
        *_between(start, middle, position, max_turn_deg),
        middle,
        *_between(middle, end, position, max_turn_deg),
    ]


def unit_vector(lat: float, lon: float) -> UnitVector:
    """The direction of a point on the comparison sphere: that of its reduced latitude (tan u = b/a tan lat)."""
    phi, lam = math.radians(lat), math.radians(lon)
    across, up = math.cos(phi), (POLE_RADIUS_M / EQUATOR_RADIUS_M) * math.sin(phi)
    norm = math.hypot(across, up)
    across /= norm
    return across * math.cos(lam), across * math.sin(lam), up / norm


def sphere_distance_m(a: UnitVector, b: UnitVector) -> float:
    """Distance on the comparison sphere, accurate at every range (atan2 of chord and its complement).

    The geodesic distance d of the same points satisfies LOWER_FACTOR * s <= d <= UPPER_FACTOR * s.
    """
    dx, dy, dz = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    sx, sy, sz = a[0] + b[0], a[1] + b[1], a[2] + b[2]
    return (
        2.0
        * SPHERE_RADIUS_M
        * math.atan2(math.sqrt(dx * dx + dy * dy + dz * dz), math.sqrt(sx * sx + sy * sy + sz * sz))
    )

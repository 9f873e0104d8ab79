"""The great-circle route between two airports as a GeoJSON Feature, and the little of it that later context keeps
(I1, H1).

A tool by itself; its result is stored as an artifact.
"""

from __future__ import annotations

from typing import Any, Final

from .catalogue import require_airport
from .errors import InputInvalid
from .geodesy import great_circle_points, inverse

# One point for at most this many metres.
_STEP_M: Final = 50_000.0
_COORDINATE_DECIMALS: Final = 6
_POLE_DEG: Final = 90.0
# A step that turns this far is one of the metre-long steps over the pole itself; see great_circle_points.
_THROUGH_POLE_DEG: Final = 179.0

Point = tuple[float, float]


def build_route(departure_icao: str, destination_icao: str) -> dict[str, Any]:
    """The shortest path between two airports on the WGS 84 ellipsoid, as a GeoJSON Feature (RFC 7946).

    The geometry is a LineString, or a MultiLineString where the path crosses the antimeridian and must be cut
    (§3.1.9). Positions are [longitude, latitude] to six decimals. Properties: departure, destination, distance_km
    (0.1 km), initial_course_deg (0.1°, at a pole counted from the pole's catalogued meridian), point_count. Raises
    EntityNotFound("departure_icao" or "destination_icao") and InputInvalid("destination_icao") where both ends are
    one airport.
    """
    departure = require_airport(departure_icao, "departure_icao")
    destination = require_airport(destination_icao, "destination_icao")
    if departure.icao == destination.icao:
        raise InputInvalid(
            "destination_icao",
            "an airport other than the departure",
            destination.icao,
            accepted_ru="аэропорт, отличный от аэропорта вылета",
        )
    ends = (
        departure.latitude_deg,
        departure.longitude_deg,
        destination.latitude_deg,
        destination.longitude_deg,
    )
    distance_m, course = inverse(*ends)
    geometry = route_geometry(great_circle_points(*ends, max_step_m=_STEP_M))
    lines = geometry["coordinates"] if geometry["type"] == "MultiLineString" else [geometry["coordinates"]]
    return {
        "type": "Feature",
        "geometry": geometry,
        "properties": {
            "departure": departure.end(),
            "destination": destination.end(),
            "distance_km": round(distance_m / 1000.0, 1),
            "initial_course_deg": round(course, 1) % 360.0,
            "point_count": sum(len(line) for line in lines),
        },
    }


def route_view(route: dict[str, Any]) -> dict[str, Any]:
    """What later context keeps of a route (H1): its ends, distance, initial course and number of points."""
    properties = route["properties"]
    return {
        key: properties[key] for key in ("departure", "destination", "distance_km", "initial_course_deg", "point_count")
    }


def route_geometry(points: list[Point]) -> dict[str, Any]:
    """GeoJSON geometry of points (latitude, longitude) whose longitudes run on without jumps.

    Every part lies within [-180, 180]; a part that ends at the antimeridian has its last point exactly on it, and
    the next part begins there with the other sign.
    """
    parts = [_rounded(part) for part in _cut(_with_pole_corners(points))]
    lines = [part for part in parts if len(part) > 1]
    if len(lines) == 1:
        return {"type": "LineString", "coordinates": lines[0]}
    return {"type": "MultiLineString", "coordinates": lines}


def _with_pole_corners(points: list[Point]) -> list[Point]:
    """A path through a pole turns there: the pole belongs to both meridians, so it is written once for each.

    Without this a straight line on the map would leave the meridian long before the pole.
    """
    cornered = [points[0]]
    for (lat1, lon1), (lat2, lon2) in zip(points, points[1:], strict=False):
        turned = abs(lon2 - lon1)
        at_pole = _POLE_DEG in (abs(lat1), abs(lat2))
        if turned > 0 and at_pole:
            # One of the two is the pole itself, whose longitude means nothing: it takes the other's meridian.
            cornered.append((lat1, lon2) if abs(lat1) == _POLE_DEG else (lat2, lon1))
        elif turned > _THROUGH_POLE_DEG:
            pole = _POLE_DEG if lat1 + lat2 > 0 else -_POLE_DEG
            cornered += [(pole, lon1), (pole, lon2)]
        cornered.append((lat2, lon2))
    return cornered


def _cut(points: list[Point]) -> list[list[Point]]:
    """Cut an unrolled line at every odd multiple of 180° and bring each part into [-180, 180]."""
    parts: list[list[Point]] = []
    turn = _turn(points)
    part = [(points[0][0], points[0][1] - 360.0 * turn)]
    for (lat1, lon1), (lat2, lon2) in zip(points, points[1:], strict=False):
        while not -180.0 <= lon2 - 360.0 * turn <= 180.0:
            side = 1.0 if lon2 > lon1 else -1.0
            border = 360.0 * turn + 180.0 * side
            share = (border - lon1) / (lon2 - lon1)
            latitude = lat1 + (lat2 - lat1) * min(1.0, max(0.0, share))
            part.append((latitude, 180.0 * side))
            parts.append(part)
            turn += int(side)
            part = [(latitude, -180.0 * side)]
        part.append((lat2, lon2 - 360.0 * turn))
    return [*parts, part]


def _turn(points: list[Point]) -> int:
    """On which turn around the Earth the line begins; a start on the antimeridian belongs to the side it leaves to."""
    first = points[0][1]
    turn = round(first / 360.0)
    ahead = next((lon for _, lon in points if lon != first), first)
    local = first - 360.0 * turn
    if local == 180.0 and ahead > first:
        return turn + 1
    if local == -180.0 and ahead < first:
        return turn - 1
    return turn


def _rounded(part: list[Point]) -> list[list[float]]:
    """GeoJSON positions, neighbours that rounding made equal written once."""
    positions: list[list[float]] = []
    for latitude, longitude in part:
        position = [round(longitude, _COORDINATE_DECIMALS) + 0.0, round(latitude, _COORDINATE_DECIMALS) + 0.0]
        if not positions or positions[-1] != position:
            positions.append(position)
    return positions

"""Nearest, farthest and "within" over thousands of airports, exactly, in about a millisecond (I1).

Called by the search. Airports stand as points of a sphere in cells; whole cells are taken or left by one comparison,
and the exact geodesic is asked only where the bounds of the cheap distance leave the order open.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import nsmallest
from typing import Final

from .catalogue import Airport
from .geodesy import EQUATOR_RADIUS_M, POLE_RADIUS_M, UnitVector, inverse, unit_vector

# x, y, z of geodesy.unit_vector, and what stands there.
Point = tuple[float, float, float, Airport]

# Side of a cell in degrees: of 2 to 8, this one makes the fewest comparisons of cells and points together.
_CELL_DEG: Final = 4.0
# Fewer points than this are looked at one by one.
_LEAST_CELLED: Final = 400
# Rounding of the cheap distance is far below a metre; the bounds are this much wider (radians, about one metre).
_SLACK_RAD: Final = 1.6e-7


@dataclass(frozen=True, slots=True)
class _Cell:
    """Points near each other: all within `radius` (radians) of the centre's direction."""

    centre: UnitVector
    radius: float
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Centre:
    """Where distances are measured from (WGS 84 degrees)."""

    latitude_deg: float
    longitude_deg: float

    @property
    def vector(self) -> UnitVector:
        """Its direction."""
        return unit_vector(self.latitude_deg, self.longitude_deg)

    def distance_m(self, airport: Airport) -> float:
        """The geodesic distance of an airport in metres."""
        return inverse(self.latitude_deg, self.longitude_deg, airport.latitude_deg, airport.longitude_deg)[0]


def point_of(airport: Airport) -> Point:
    """The airport as a point of an index."""
    return (*unit_vector(airport.latitude_deg, airport.longitude_deg), airport)


@dataclass(frozen=True)
class DistanceIndex:
    """A fixed set of points, asked for distances. Immutable; the first question makes the cells."""

    points: Sequence[Point]

    @cached_property
    def _cells(self) -> tuple[_Cell, ...]:
        if len(self.points) < _LEAST_CELLED:
            return tuple(_cells([self.points]))
        groups: dict[tuple[int, int], list[Point]] = {}
        for point in self.points:
            airport = point[3]
            band = math.floor(airport.latitude_deg / _CELL_DEG)
            width = _CELL_DEG / max(0.05, math.cos(math.radians((band + 0.5) * _CELL_DEG)))
            groups.setdefault((band, math.floor(airport.longitude_deg / width)), []).append(point)
        return tuple(_cells(groups.values()))

    def by_distance(
        self, centre: Centre, first: int, end: int, *, farthest: bool = False, left_out: Airport | None = None
    ) -> list[tuple[float, Airport]]:
        """Ranks `first` (from 0) to before `end` of all points but one: (metres, airport), exactly ordered, equals by
        ICAO code.

        Where b and a are the radii of pole and equator, an angle s bounds the geodesic by b*s and a*s; so the distance
        of rank r lies within the bounds of the r-th smallest (or greatest) angle, and only points whose bounds overlap
        those of the page can be on it.
        """
        x, y, z = centre.vector
        # The farthest are those nearest to the opposite point of the sphere.
        here = (-x, -y, -z) if farthest else (x, y, z)
        found = self._at_least(here, end + (left_out is not None), farthest)
        if left_out is not None:
            found = [(square, airport) for square, airport in found if airport is not left_out]
        squares = sorted([square for square, _ in found])
        end = min(end, len(squares))
        if first >= end:
            return []
        least, most = _limits(_angle(squares[first]), _angle(squares[end - 1]), farthest)
        low, high = _square(least), _square(most)
        exact = [(centre.distance_m(airport), airport) for square, airport in found if low <= square <= high]
        exact.sort(key=lambda pair: (-pair[0] if farthest else pair[0], pair[1].icao))
        before = bisect_left(squares, low)
        return exact[first - before : end - before]

    def _at_least(self, here: UnitVector, count: int, farthest: bool) -> list[tuple[float, Airport]]:
        """(squared chord, airport) of every point that can be among the `count` nearest to a direction, and others."""
        cells = sorted([(_angle_between(here, cell.centre) - cell.radius, n) for n, cell in enumerate(self._cells)])
        found: list[tuple[float, Airport]] = []
        reach = math.inf
        for nearest_possible, number in cells:
            if nearest_possible > reach:
                break
            found += _squares(here, self._cells[number].points)
            if reach == math.inf and len(found) >= count:
                edge = nsmallest(count, [square for square, _ in found])[-1]
                reach = _limits(0.0, _angle(edge), farthest)[1]
        return found

    def within(self, centre: Centre, most_m: float, least_m: float = 0.0) -> list[Point]:
        """The points from `least_m` to `most_m` metres away, both included; in the order of the index's cells."""
        here = centre.vector
        # Surely inside and surely outside, as angles.
        inner_most, outer_most = most_m / EQUATOR_RADIUS_M - _SLACK_RAD, most_m / POLE_RADIUS_M + _SLACK_RAD
        outer_least, inner_least = least_m / EQUATOR_RADIUS_M - _SLACK_RAD, least_m / POLE_RADIUS_M + _SLACK_RAD
        if least_m <= 0.0:
            outer_least = inner_least = -1.0
        found: list[Point] = []
        for cell in self._cells:
            angle = _angle_between(here, cell.centre)
            nearest, farthest = angle - cell.radius - _SLACK_RAD, angle + cell.radius + _SLACK_RAD
            if nearest > outer_most or farthest < outer_least:
                continue
            if farthest <= inner_most and nearest >= inner_least:
                found += cell.points
                continue
            low, high = _square(outer_least), _square(outer_most)
            sure_low, sure_high = _square(inner_least), _square(inner_most)
            for point, (square, airport) in zip(cell.points, _squares(here, cell.points), strict=True):
                if not (outer_least < 0.0 or square >= low) or square > high:
                    continue
                sure = square <= sure_high and (inner_least < 0.0 or square >= sure_low)
                if sure or least_m <= centre.distance_m(airport) <= most_m:
                    found.append(point)
        return found


def _cells(groups: Iterable[Sequence[Point]]) -> Iterable[_Cell]:
    for points in groups:
        if not points:
            continue
        sums = [sum(axis) for axis in zip(*((p[0], p[1], p[2]) for p in points), strict=True)]
        norm = math.hypot(*sums)
        # Points that cancel out have no middle: any direction serves, with all of the sphere around it.
        centre = (sums[0] / norm, sums[1] / norm, sums[2] / norm) if norm > 1e-9 else (1.0, 0.0, 0.0)
        radius = max(_angle_between(centre, (p[0], p[1], p[2])) for p in points) + _SLACK_RAD
        yield _Cell(centre, radius, tuple(points))


def _squares(here: UnitVector, points: Iterable[Point]) -> list[tuple[float, Airport]]:
    hx, hy, hz = here
    return [((hx - x) * (hx - x) + (hy - y) * (hy - y) + (hz - z) * (hz - z), airport) for x, y, z, airport in points]


def _angle(square: float) -> float:
    """The angle of a squared chord of the unit sphere."""
    return 2.0 * math.asin(min(1.0, math.sqrt(square) / 2.0))


def _square(angle: float) -> float:
    """The squared chord of an angle; of one below 0 that of 0."""
    if angle >= math.pi:
        return math.inf  # a rounded chord may be longer than the diameter
    half = math.sin(max(angle, 0.0) / 2.0)
    return 4.0 * half * half


def _angle_between(a: UnitVector, b: UnitVector) -> float:
    dx, dy, dz = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    return _angle(dx * dx + dy * dy + dz * dz)


_FLATTER: Final = POLE_RADIUS_M / EQUATOR_RADIUS_M


def _limits(first: float, last: float, farthest: bool) -> tuple[float, float]:
    """The angles between which a point of a page can lie, from the angles of the page's first and last rank.

    For the farthest, angles are counted from the opposite point: an angle t there is pi - t here.
    """
    if farthest:
        least, most = math.pi - (math.pi - first) / _FLATTER, math.pi - (math.pi - last) * _FLATTER
    else:
        least, most = first * _FLATTER, last / _FLATTER
    return least - _SLACK_RAD, most + _SLACK_RAD

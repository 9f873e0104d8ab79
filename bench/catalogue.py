"""`python -m bench.catalogue`: what a search of the airport catalogue costs, beside a bare scan of it in the same run.

The scan is what a query costs without an index: the great-circle distance of every airport, and the ten smallest. Only
the ratios mean something on another machine.
"""

from __future__ import annotations

import json
import math
import platform
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from heapq import nsmallest
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Table

from adapter_service.domains.aviation.catalogue import Airport, airports
from adapter_service.domains.aviation.matching import match_airports
from adapter_service.domains.aviation.search import search_airports
from bench.figures import percentile

_PAGE: Final = 10
_SEED: Final = 4
_SCAN: Final = "bare scan"
_SPELLINGS: Final = ("Frankfrut", "Munchen", "Zuerich", "sao paulo", "Шереметево", "Копенгагин", "Reykjavk", "Lisabon")

Query = Callable[[float, float, int], Any]

QUERIES: Final[dict[str, Query]] = {
    "nearest, every airfield": lambda lat, lon, _: _around(lat, lon, kind="any"),
    "nearest with an IATA code": lambda lat, lon, _: _around(lat, lon),
    "farthest, every airfield": lambda lat, lon, _: _around(lat, lon, kind="any", sort="distance_desc"),
    "nearest, page 100": lambda lat, lon, _: _around(lat, lon, kind="any", offset=99 * _PAGE),
    "within 500 km": lambda lat, lon, _: _around(lat, lon, kind="any", radius_km=500.0),
    "within 5,000 km": lambda lat, lon, _: _around(lat, lon, kind="any", radius_km=5000.0),
    "between 100 and 300 km": lambda lat, lon, _: _around(lat, lon, min_distance_km=100.0, radius_km=300.0),
    "nearest in the USA": lambda lat, lon, _: _around(lat, lon, kind="any", country="US"),
    "nearest outside the USA": lambda lat, lon, _: _around(lat, lon, kind="any", except_country="US"),
    "nearest in France or Spain": lambda lat, lon, _: _around(lat, lon, country=["FR", "ES"]),
    "highest of all": lambda _lat, _lon, _: search_airports(kind="any", sort="elevation_desc"),
    "by name, Brazil": lambda _lat, _lon, _: search_airports(country="BR", kind="any"),
    "how many in Norway": lambda _lat, _lon, _: search_airports(country="NO", count_only=True),
    "name contains": lambda _lat, _lon, turn: search_airports(name=("lake", "valley", "saint", "north")[turn % 4]),
    "a misspelt place": lambda _lat, _lon, turn: match_airports(_misspelt(turn)),
}


def _around(lat: float, lon: float, **filters: Any) -> Any:
    return search_airports(center_lat_deg=lat, center_lon_deg=lon, limit=_PAGE, **filters)


def _misspelt(turn: int) -> str:
    """A spelling that no cache has: one of the misspelt names with two letters swapped."""
    name = _SPELLINGS[turn % len(_SPELLINGS)]
    at = turn // len(_SPELLINGS) % (len(name) - 1)
    return f"{name[:at]}{name[at + 1]}{name[at]}{name[at + 2 :]} {turn:x}"[:-1].strip()


def scan(lat: float, lon: float) -> list[tuple[float, str]]:
    """The ten nearest of all airports by the haversine formula, one airport after the other."""
    phi, lam = math.radians(lat), math.radians(lon)

    def distance(airport: Airport) -> float:
        other = math.radians(airport.latitude_deg)
        across = math.sin((math.radians(airport.longitude_deg) - lam) / 2.0) ** 2
        root = math.sin((other - phi) / 2.0) ** 2 + math.cos(phi) * math.cos(other) * across
        return 2.0 * 6_371_008.8 * math.asin(min(1.0, math.sqrt(root)))

    return nsmallest(_PAGE, ((distance(airport), airport.icao) for airport in airports().values()))


@dataclass(frozen=True, slots=True)
class Figure:
    """One query: seconds, and its median over that of the bare scan."""

    query: str
    repetitions: int
    first: float
    p50: float
    p99: float
    scans: float


def measure(repetitions: int) -> list[Figure]:
    """The bare scan, then every query at the same places; the first call, which builds what it needs, told apart."""
    scans = _timed(lambda lat, lon, _turn: scan(lat, lon), min(repetitions, 30))
    base = percentile(scans, 0.5)
    figures = [Figure(_SCAN, len(scans), scans[0], base, percentile(scans, 0.99), 1.0)]
    for name, query in QUERIES.items():
        first, *samples = _timed(query, repetitions + 1)
        middle = percentile(samples, 0.5)
        figures.append(Figure(name, len(samples), first, middle, percentile(samples, 0.99), middle / base))
    return figures


def _timed(query: Query, repetitions: int) -> list[float]:
    samples = []
    for turn, (lat, lon) in zip(range(repetitions), _places(), strict=False):
        began = time.perf_counter()
        query(lat, lon, turn)
        samples.append(time.perf_counter() - began)
    return samples


def _places() -> Iterator[tuple[float, float]]:
    """Places evenly over the sphere, the same in every run."""
    source = random.Random(_SEED)
    while True:
        yield math.degrees(math.asin(source.uniform(-1.0, 1.0))), source.uniform(-180.0, 180.0)


def main(
    repetitions: Annotated[int, typer.Option(min=3, max=100_000, help="Calls of each query.")] = 300,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the figures to this file, too.")] = None,
) -> None:
    """Measure nearest, farthest, filtered and named queries over the whole catalogue."""
    count = len(airports())
    figures = measure(repetitions)
    console = Console()
    table = Table(title=f"{count:,} airports, Python {platform.python_version()}; milliseconds")
    for heading in ("query", "first", "p50", "p99", "scans"):
        table.add_column(heading, justify="left" if heading == "query" else "right")
    for figure in figures:
        times = [f"{seconds * 1000:.2f}" for seconds in (figure.first, figure.p50, figure.p99)]
        table.add_row(figure.query, *times, f"{figure.scans:.3f}")
    console.print(table)
    if json_file is not None:
        data = {"airports": count, "queries": [asdict(figure) for figure in figures]}
        json_file.write_text(json.dumps(data, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    typer.run(main)

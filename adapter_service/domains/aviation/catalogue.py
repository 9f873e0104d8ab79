"""The airport catalogue: every airport of the open `airportsdata` set, immutable, loaded once on first use (I1, H4).

Called by the search, matching, route, weather and flight plan modules; `get_airport` is a tool by itself.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from types import MappingProxyType
from typing import Any

import airportsdata

from .errors import EntityNotFound


@dataclass(frozen=True, slots=True)
class Airport:
    """One airport. `icao` is the catalogue's key: an ICAO location indicator or, for small fields, a national code.

    `iata` and `city` are empty where the catalogue has none. Latitude and longitude are WGS 84 degrees.
    """

    icao: str
    iata: str
    name: str
    city: str
    country: str
    subdivision: str
    elevation_ft: float
    latitude_deg: float
    longitude_deg: float
    tz: str

    def summary(self) -> dict[str, Any]:
        """The short form that every listing shows."""
        return {
            "icao": self.icao,
            "iata": self.iata,
            "name": self.name,
            "city": self.city,
            "country": self.country,
            "latitude_deg": self.latitude_deg,
            "longitude_deg": self.longitude_deg,
            "elevation_ft": self.elevation_ft,
        }

    def end(self) -> dict[str, Any]:
        """What a route or a plan keeps of its ends."""
        return {key: value for key, value in self.summary().items() if key not in ("iata", "elevation_ft")}


@lru_cache(maxsize=1)
def airports() -> Mapping[str, Airport]:
    """All airports by ICAO code, in the catalogue's own stable order."""
    return MappingProxyType(
        {
            icao: Airport(
                icao=icao,
                iata=row["iata"],
                name=row["name"],
                city=row["city"],
                country=row["country"],
                subdivision=row["subd"],
                elevation_ft=float(row["elevation"]),
                latitude_deg=float(row["lat"]),
                longitude_deg=float(row["lon"]),
                tz=row["tz"],
            )
            for icao, row in airportsdata.load("ICAO").items()
        }
    )


@lru_cache(maxsize=1)
def airports_by_iata() -> Mapping[str, Airport]:
    """Airports that have an IATA code, by that code (unique in the catalogue)."""
    return MappingProxyType({airport.iata: airport for airport in airports().values() if airport.iata})


@dataclass(frozen=True, slots=True)
class MetropolitanArea:
    """An IATA metropolitan area: one code for a city's several airports (LON, MOW, PAR)."""

    code: str
    name: str
    country: str
    icaos: tuple[str, ...]


@lru_cache(maxsize=1)
def metropolitan_areas() -> Mapping[str, MetropolitanArea]:
    """The metropolitan areas by code; only airports of this catalogue are members."""
    by_iata = airports_by_iata()
    areas: dict[str, tuple[str, str, list[str]]] = {}
    # airportsdata.load_iata_macs() would read the whole catalogue a second time, which no request should wait for.
    with resources.files(airportsdata).joinpath("iata_macs.csv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            area = areas.setdefault(row["City Code"], (row["City Name"], row["Country"], []))
            if row["Airport Code"] in by_iata:
                area[2].append(by_iata[row["Airport Code"]].icao)
    return MappingProxyType(
        {
            code: MetropolitanArea(code=code, name=name, country=country, icaos=tuple(sorted(icaos)))
            for code, (name, country, icaos) in areas.items()
        }
    )


def find_airport(icao: str) -> Airport | None:
    """The airport of an ICAO code in any case, or None."""
    return airports().get(icao.strip().upper())


def require_airport(icao: str, field: str = "icao") -> Airport:
    """The airport of an ICAO code in any case. Raises EntityNotFound naming `field`."""
    airport = find_airport(icao)
    if airport is None:
        raise EntityNotFound(field, icao)
    return airport


def get_airport(icao: str) -> dict[str, Any]:
    """One airport by its ICAO code (any case): the summary with subdivision and IANA time zone.

    Raises EntityNotFound("icao").
    """
    airport = require_airport(icao)
    return {**airport.summary(), "subdivision": airport.subdivision, "tz": airport.tz}


@lru_cache(maxsize=1)
def _scope() -> Mapping[str, Any]:
    count = len(airports())
    version = str(airportsdata.__version__)
    return MappingProxyType(
        {
            "source": "airportsdata",
            "version": version,
            "licence": "MIT",
            "airport_count": count,
            "note_en": f"airportsdata {version}, {count} airports; whether an airport is open today is not known.",
            "note_ru": f"airportsdata {version}, аэропортов: {count}; открыт ли аэропорт сегодня, неизвестно.",
        }
    )


def data_scope() -> dict[str, Any]:
    """Where the answers come from and how far they reach (H4): source, version, licence, count, notes."""
    return dict(_scope())

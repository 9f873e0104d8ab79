"""Coordinates as people write them: decimal degrees, hemisphere letters, degrees with minutes and seconds.

Called by the position resolver (a whole answer) and by the planner (a part of a sentence). WGS 84 degrees.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_DECIMAL = r"[-+−]?\d{1,3}(?:\.\d+)?"
_DMS = r"\d{1,3}\s*[°º]\s*\d{1,2}(?:\.\d+)?\s*[′'’]\s*(?:\d{1,2}(?:\.\d+)?\s*(?:″|\"|”|''))?"
_NORTH_SOUTH = r"(?:с\.?\s*ш\.?|ю\.?\s*ш\.?|[NSns](?:orth|outh)?)(?![A-Za-zА-Яа-яЁё])"
_EAST_WEST = r"(?:в\.?\s*д\.?|з\.?\s*д\.?|[EWew](?:ast|est)?)(?![A-Za-zА-Яа-яЁё])"
_BETWEEN = r"\s*[,;/]?\s*"

# Each pattern has the groups lat, lat_sign, lon, lon_sign. The bare one demands decimals: "5, 10" is not a position.
_PATTERNS = (
    re.compile(
        rf"(?P<lat>{_DMS})\s*(?P<lat_sign>{_NORTH_SOUTH}){_BETWEEN}(?P<lon>{_DMS})\s*(?P<lon_sign>{_EAST_WEST})"
    ),
    re.compile(
        rf"(?P<lat>{_DECIMAL})\s*[°º]?\s*(?P<lat_sign>{_NORTH_SOUTH}){_BETWEEN}"
        rf"(?P<lon>{_DECIMAL})\s*[°º]?\s*(?P<lon_sign>{_EAST_WEST})"
    ),
    re.compile(
        rf"(?P<lat_sign>\b[NS])\s*(?P<lat>\d{{1,2}}(?:\.\d+)?)\s*[°º]?{_BETWEEN}"
        r"(?P<lon_sign>[EW])\s*(?P<lon>\d{1,3}(?:\.\d+)?)\s*[°º]?"
    ),
    re.compile(
        r"(?<![\w.])(?P<lat>[-+−]?\d{1,2}\.\d+)\s*[°º]?(?P<lat_sign>)\s*[,;/ ]\s*"
        r"(?P<lon>[-+−]?\d{1,3}\.\d+)\s*[°º]?(?P<lon_sign>)(?![\w])"
    ),
)
# Whole degrees are accepted where the text is nothing but a position, for example "52, 13".
_WHOLE = re.compile(
    r"\s*(?P<lat>[-+−]?\d{1,2}(?:\.\d+)?)\s*[°º]?(?P<lat_sign>)\s*[,;/ ]\s*"
    r"(?P<lon>[-+−]?\d{1,3}(?:\.\d+)?)\s*[°º]?(?P<lon_sign>)\s*"
)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
# Decimal commas with another separator, as Russian and German texts have them: "52,52; 13,40" or "52,52 13,40".
_DECIMAL_COMMAS = re.compile(r"(?<![\d,.])(\d{1,3}),(\d+)(\s*[°º]?\s*[;/ ]\s*)(-?\d{1,3}),(\d+)(?![\d,.])")


@dataclass(frozen=True, slots=True)
class FoundCoordinates:
    """A position in a text: WGS 84 degrees, and where it stands (character offsets)."""

    latitude_deg: float
    longitude_deg: float
    start: int
    end: int


def find_coordinates(text: str) -> FoundCoordinates | None:
    """The first position that is written in the text, or None. Values out of range are no position."""
    # Same length as the original, so that offsets stay true.
    text = _DECIMAL_COMMAS.sub(r"\1.\2\3\4.\5", text)
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            found = _read(match)
            if found is not None:
                return found
    return None


def parse_coordinates(text: str) -> tuple[float, float] | None:
    """(latitude, longitude) of a text that is a position and nothing else, or None."""
    text = _DECIMAL_COMMAS.sub(r"\1.\2\3\4.\5", text.strip().strip("().;"))
    whole = _WHOLE.fullmatch(text)
    found = _read(whole) if whole else find_coordinates(text)
    return (found.latitude_deg, found.longitude_deg) if found else None


def _read(match: re.Match[str]) -> FoundCoordinates | None:
    latitude = _degrees(match["lat"], match["lat_sign"])
    longitude = _degrees(match["lon"], match["lon_sign"])
    if abs(latitude) > 90.0 or abs(longitude) > 180.0:
        return None
    return FoundCoordinates(latitude, longitude, match.start(), match.end())


def _degrees(number: str, sign: str) -> float:
    parts = [float(part) for part in _NUMBER.findall(number)]
    value = sum(part / 60.0**index for index, part in enumerate(parts))
    negative = number.lstrip()[:1] in "-−" if number.strip() else False
    if sign and sign[0].casefold() in "swюз":
        negative = True
    return round(-value if negative else value, 6)


def in_range(latitude: object, longitude: object) -> bool:
    """Are these a latitude and a longitude in degrees?"""
    if isinstance(latitude, bool) or isinstance(longitude, bool):
        return False
    if not isinstance(latitude, int | float) or not isinstance(longitude, int | float):
        return False
    return -90.0 <= latitude <= 90.0 and -180.0 <= longitude <= 180.0

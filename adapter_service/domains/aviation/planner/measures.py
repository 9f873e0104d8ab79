"""Quantities inside a sentence that are no words any more: distances with their units and positions in degrees.

Called by the clause reader, which puts each of them into the token list as one token of kind "measure".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from adapter_service.domains.aviation.coordinates import find_coordinates
from adapter_service.domains.aviation.planner.lexicon import NUMBER_WORDS
from adapter_service.domains.aviation.planner.tokens import Token

# Kilometres in one unit; the nautical mile is 1852 m, the statute mile 1609.344 m (both by definition).
_UNITS: Final = (
    (r"nautical\s+miles?|nmi?\b|морск\w+\s+мил\w+|м\.\s?миль", 1.852),
    (r"kilomet\w+|kms?\b|км\b|километ\w+", 1.0),
    (r"miles?\b|mi\b|мил[яьией]\w*", 1.609344),
    (r"met(?:re|er)s?\b|метр\w*", 0.001),
)
_AMOUNT: Final = (
    r"(?:\d+(?:[ \u00a0]\d{3})+|\d+(?:[.,]\d+)?|" + "|".join(sorted(NUMBER_WORDS, key=len, reverse=True)) + r")"
)
_DISTANCES: Final = tuple(
    (re.compile(rf"(?<![\w.,])({_AMOUNT})\s*-?(?:{unit})", re.IGNORECASE), factor) for unit, factor in _UNITS
)


@dataclass(frozen=True, slots=True)
class Measure:
    """A distance (`km`) or a position (`latitude_deg`, `longitude_deg`, WGS 84), at character offsets of the clause."""

    start: int
    end: int
    km: float | None = None
    latitude_deg: float = 0.0
    longitude_deg: float = 0.0


def _amount(text: str) -> float:
    lower = text.casefold()
    if lower in NUMBER_WORDS:
        return float(NUMBER_WORDS[lower])
    return float(re.sub(r"\s", "", lower).replace(",", "."))


def find_measures(text: str) -> list[Measure]:
    """Every position and distance of the text, in order, without overlaps."""
    found: list[Measure] = []
    place = find_coordinates(text)
    if place is not None:
        found.append(
            Measure(
                place.start,
                place.end,
                latitude_deg=place.latitude_deg,
                longitude_deg=place.longitude_deg,
            )
        )
    for pattern, factor in _DISTANCES:
        for match in pattern.finditer(text):
            if all(match.end() <= other.start or match.start() >= other.end for other in found):
                found.append(Measure(match.start(), match.end(), km=round(_amount(match[1]) * factor, 3)))
    return sorted(found, key=lambda measure: measure.start)


def merge(tokens: list[Token], measures: list[Measure], text: str) -> tuple[list[Token], dict[int, Measure]]:
    """The tokens with each measure as one token of kind "measure", and the measures by that token's start."""
    merged = [token for token in tokens if not any(m.start < token.end and token.start < m.end for m in measures)]
    merged += [
        Token(text[m.start : m.end], text[m.start : m.end].casefold(), "", "measure", m.start, m.end) for m in measures
    ]
    return sorted(merged, key=lambda token: token.start), {measure.start: measure for measure in measures}

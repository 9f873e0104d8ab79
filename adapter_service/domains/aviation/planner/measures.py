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
# "between 100 and 300 km", «от 100 до 300 км», "100-300 km".
_RANGES: Final = tuple(
    (
        re.compile(
            rf"(?<![\w.,])(?:(?:between|from|от|с|между)\s+)?({_AMOUNT})\s*(?:{unit})?\s*"
            rf"(?:(?<=\s)(?:and|to|до|и|по)(?=\s)|[-–—])\s*({_AMOUNT})\s*-?(?:{unit})",
            re.IGNORECASE,
        ),
        factor,
    )
    for unit, factor in _UNITS
)
# "at least 100 km", «дальше 100 км»; with a negation before it, the greatest distance: "not farther than 100 km".
_BEYOND: Final = (
    r"at\s+least|no\s+less\s+than|not\s+less\s+than|(?:no|not)\s+(?:closer|nearer)\s+than|"
    r"(?:more|farther|further|greater)\s+(?:away\s+)?than|over|beyond|"
    r"not\s+within(?:\s+a\s+radius\s+of)?|outside(?:\s+a\s+radius\s+of)?|не\s+в\s+(?:радиусе|пределах)|за\s+пределами|"
    r"не\s+ближе(?:\s+чем)?|не\s+менее(?:\s+чем)?|не\s+меньше(?:\s+чем)?|как\s+минимум|минимум|"
    r"(?:дальше|далее|более|больше|свыше)(?:\s+чем)?(?:\s+(?:на|в))?"
)
_LEAST: Final = tuple(
    (
        re.compile(rf"(?<![\w.,])(not?\s+|не\s+)?(?:{_BEYOND})\s+({_AMOUNT})\s*-?(?:{unit})", re.IGNORECASE),
        factor,
    )
    for unit, factor in _UNITS
)


@dataclass(frozen=True, slots=True)
class Measure:
    """A distance or a position (`latitude_deg`, `longitude_deg`, WGS 84), at character offsets of the clause.

    A distance has a greatest (`km`) or a least value (`least_km`), or both.
    """

    start: int
    end: int
    km: float | None = None
    least_km: float | None = None
    latitude_deg: float = 0.0
    longitude_deg: float = 0.0

    @property
    def is_distance(self) -> bool:
        """Is it a distance, not a position?"""
        return self.km is not None or self.least_km is not None


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
    for pattern, factor in _RANGES:
        for match in pattern.finditer(text):
            least, most = sorted((_km(match[1], factor), _km(match[2], factor)))
            _keep(found, Measure(match.start(), match.end(), km=most, least_km=least))
    for pattern, factor in _LEAST:
        for match in pattern.finditer(text):
            km = _km(match[2], factor)
            bound = Measure(match.start(), match.end(), km=km) if match[1] else None
            _keep(found, bound or Measure(match.start(), match.end(), least_km=km))
    for pattern, factor in _DISTANCES:
        for match in pattern.finditer(text):
            _keep(found, Measure(match.start(), match.end(), km=_km(match[1], factor)))
    return sorted(found, key=lambda measure: measure.start)


def _km(amount: str, factor: float) -> float:
    return round(_amount(amount) * factor, 3)


def _keep(found: list[Measure], measure: Measure) -> None:
    """What was found first, being the longer reading, stays."""
    if all(measure.end <= other.start or measure.start >= other.end for other in found):
        found.append(measure)


def merge(tokens: list[Token], measures: list[Measure], text: str) -> tuple[list[Token], dict[int, Measure]]:
    """The tokens with each measure as one token of kind "measure", and the measures by that token's start."""
    merged = [token for token in tokens if not any(m.start < token.end and token.start < m.end for m in measures)]
    merged += [
        Token(text[m.start : m.end], text[m.start : m.end].casefold(), "", "measure", m.start, m.end) for m in measures
    ]
    return sorted(merged, key=lambda token: token.start), {measure.start: measure for measure in measures}

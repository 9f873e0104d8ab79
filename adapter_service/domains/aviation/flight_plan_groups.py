"""The coded groups of the ICAO flight plan (Doc 4444, Appendix 2): their letters, limits and order, in one place.

Called by the field parsers, the validation and the message text.
"""

from __future__ import annotations

import math
import re
from typing import Final, Literal

FlightRules = Literal["I", "V", "Y", "Z"]
FlightType = Literal["S", "N", "G", "M", "X"]
WakeCategory = Literal["L", "M", "H", "J"]

# Item 15(a): letter → digits, least, greatest. Limits are those of aircraft that fly, so that a slip of a digit is
# noticed.
SPEED_LIMITS: Final = {"N": (4, 30, 999), "K": (4, 50, 1850), "M": (3, 10, 250)}
# Item 15(b): letter → digits, least, greatest: flight levels, altitudes in hundreds of feet, and both in tens of
# metres.
LEVEL_LIMITS: Final = {"F": (3, 10, 600), "A": (3, 5, 600), "S": (4, 30, 1830), "M": (4, 15, 1830)}

# Item 18 indicators in the order that Doc 4444 asks for.
OTHER_INDICATORS: Final = [
    "STS",
    "PBN",
    "NAV",
    "COM",
    "DAT",
    "SUR",
    "DEP",
    "DEST",
    "DOF",
    "REG",
    "EET",
    "SEL",
    "TYP",
    "CODE",
    "DLE",
    "OPR",
    "ORGN",
    "PER",
    "ALTN",
    "RALT",
    "TALT",
    "RIF",
    "RMK",
]
# Written by the message itself from the plan's own fields; a second one would contradict it.
OWN_INDICATORS: Final = frozenset({"DEP", "DEST", "DOF", "ALTN"})
LONGEST_OTHER: Final = 600
# A line of the message is broken between words only; one with its indicator and hyphen must fit.
_LONGEST_WORD: Final = 60
_PBN: Final = re.compile(r"PBN/(?:[A-Z]\d){1,8}")


# Item 10: N alone, or these descriptors, each at most once. 64 and 20 characters are the limits of the ATS message;
# both together must also fit one line of it, behind its hyphen.
_EQUIPMENT: Final = re.compile(r"[A-DF-IKLORS-Z]|E[1-3]|J[1-7]|M[1-3]|P[1-9]")
_SURVEILLANCE: Final = re.compile(r"[ACEHILPSX]|B[12]|U[12]|V[12]|D1|G1")
LONGEST_LINE: Final = 69
_LONGEST_EQUIPMENT: Final = LONGEST_LINE - 1
# Levels between which only approved aircraft fly (ICAO Annex 6, Part I, 7.2.6): flight levels, and metric ones.
RVSM_LEVELS: Final = {"F": (290, 410), "S": (890, 1250)}


def equipment_codes(group: str) -> tuple[list[str], list[str]] | None:
    """The descriptors of item 10a and 10b, or None where the group is malformed."""
    radio, solidus, surveillance = group.partition("/")
    if not solidus or len(group) > _LONGEST_EQUIPMENT or len(radio) > 64 or len(surveillance) > 20:
        return None
    parts = []
    for text, pattern in ((radio, _EQUIPMENT), (surveillance, _SURVEILLANCE)):
        codes = ["N"] if text == "N" else pattern.findall(text)
        if not codes or "".join(codes) != text or len(set(codes)) != len(codes):
            return None
        parts.append(codes)
    return parts[0], parts[1]


def in_rvsm_airspace(level: str) -> bool:
    """Is a good level group one of those with reduced vertical separation?"""
    least, greatest = RVSM_LEVELS.get(level[:1], (1, 0))
    return level != "VFR" and level[:1] in RVSM_LEVELS and least <= int(level[1:]) <= greatest


def folded(line: str) -> list[str]:
    """A line of an ATS message, broken at spaces so that no part is longer than LONGEST_LINE."""
    lines = [""]
    for word in line.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if len(longer) <= LONGEST_LINE:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _group_problem(group: str, limits: dict[str, tuple[int, int, int]]) -> str | None:
    letter, number = group[:1], group[1:]
    if letter not in limits:
        return "shape"
    digits, least, greatest = limits[letter]
    if not re.fullmatch(rf"\d{{{digits}}}", number, re.ASCII):
        return "shape"
    return None if least <= int(number) <= greatest else "range"


def speed_problem(group: str) -> str | None:
    """None for a good item 15(a) group, else "shape" or "range"."""
    return _group_problem(group, SPEED_LIMITS)


def level_problem(group: str) -> str | None:
    """None for a good item 15(b) group, else "shape" or "range"."""
    return None if group == "VFR" else _group_problem(group, LEVEL_LIMITS)


def speed_kt(group: str, level: str | None) -> float:
    """True airspeed in knots of a good speed group; Mach is taken at the level's standard temperature."""
    number = int(group[1:])
    if group[0] == "N":
        return float(number)
    if group[0] == "K":
        return number / 1.852
    # Speed of sound in knots: 38.967854 * sqrt(T), T in kelvin (ICAO Standard Atmosphere, Doc 7488).
    return number / 100.0 * 38.967854 * math.sqrt(_temperature_k(level_ft(level)))


def _temperature_k(height_ft: float) -> float:
    """ICAO Standard Atmosphere: 288.15 K less 1.9812 K per 1000 ft, 216.65 K from the tropopause on."""
    return max(216.65, 288.15 - 1.9812 * height_ft / 1000.0)


def level_ft(level: str | None) -> float:
    """Height in feet of a good level group; VFR or no level counts as low."""
    if level is None or level == "VFR":
        return 0.0
    number = int(level[1:])
    return number * 100.0 if level[0] in "FA" else number * 10.0 / 0.3048


def hhmm(minutes: int) -> str:
    """Minutes as the four digits of items 16 and 19."""
    return f"{minutes // 60:02d}{minutes % 60:02d}"


def arrange_other_information(text: str) -> str | None:
    """Item 18 groups in the order of Doc 4444, or None where nothing is said that is not written anyway.

    A text without an indicator is a remark. Groups that the message writes itself are left out.
    """
    if not text or len(text) > LONGEST_OTHER or not re.fullmatch(r"[A-Z0-9/.,?+' ]+", text, re.ASCII):
        return None
    starts = list(re.finditer(r"(?:^|(?<= ))([A-Z]{3,4})/", text))
    if not starts:
        return None if "/" in text or any(len(word) > _LONGEST_WORD for word in text.split()) else f"RMK/{text}"
    if starts[0].start() != 0 or any(start.group(1) not in OTHER_INDICATORS for start in starts):
        return None
    ends = [start.start() for start in starts[1:]] + [len(text)]
    groups = [(start.group(1), text[start.start() : end].strip()) for start, end in zip(starts, ends, strict=True)]
    if any("/" in group.split("/", 1)[1] or group.endswith("/") for _, group in groups):
        return None
    indicators = [indicator for indicator, _ in groups]
    if len(set(indicators)) != len(indicators) or any(len(word) > _LONGEST_WORD for word in text.split()):
        return None
    if any(indicator == "PBN" and not _PBN.fullmatch(group) for indicator, group in groups):
        return None
    groups.sort(key=lambda pair: OTHER_INDICATORS.index(pair[0]))
    return " ".join(group for indicator, group in groups if indicator not in OWN_INDICATORS) or None

"""The wake turbulence category of common aircraft types (item 9). Called by the drafting and the validation of plans.

ICAO Doc 8643 lists every type; here are those that fly most, by the limits of Doc 4444, 4.9.1.1: heavy from 136 000 kg
of maximum take-off mass, light up to 7 000 kg, medium between, and super by name. A type that is not here has none.
"""

from __future__ import annotations

from typing import Final, Literal

Category = Literal["L", "M", "H", "J"]

_TYPES: Final[dict[Category, str]] = {
    "J": "A388",
    "H": """
        A124 A306 A30B A310 A332 A333 A337 A338 A339 A342 A343 A345 A346 A359 A35K A3ST B52 B703 B741 B742 B743 B744
        B748 B74D B74S B762 B763 B764 B772 B773 B77L B77W B788 B789 B78X C17 DC10 IL62 IL76 IL86 IL96 K35R L101 MD11
    """,
    "M": """
        A318 A319 A320 A321 A19N A20N A21N AN12 AN24 AN26 AN72 AT43 AT45 AT72 AT75 AT76 B37M B38M B39M B461 B462 B463
        B712 B721 B722 B732 B733 B734 B735 B736 B737 B738 B739 B752 B753 BCS1 BCS3 C130 C30J C680 C750 CL30 CL60 CRJ1
        CRJ2 CRJ7 CRJ9 CRJX DH8A DH8B DH8C DH8D E135 E145 E170 E190 E195 E290 E295 E75L E75S F100 F2TH F50 F70 F900
        FA7X FA8X GL5T GL7T GLEX GLF4 GLF5 GLF6 IL18 J328 MD81 MD82 MD83 MD87 MD88 MD90 RJ85 SB20 SF34 SU95 T134 T154
        T204 YK40 YK42
    """,
    "L": """
        AA5 AN2 B350 BE20 BE33 BE35 BE36 BE55 BE58 BE76 BE9L C150 C152 C170 C172 C177 C180 C182 C185 C206 C208 C210
        C25A C25B C310 C340 C402 C414 C421 C510 C525 C72R C82R DA20 DA40 DA42 DA62 DHC6 DV20 E50P GLID L410 M20P M20T
        P28A P28R P32R P46T PA18 PA34 PA44 PA46 PC12 R22 R44 R66 SF50 SR20 SR22 TB20 TBM7 TBM8 TBM9 TOBA
    """,
}
_BY_TYPE: Final[dict[str, Category]] = {name: letter for letter, names in _TYPES.items() for name in names.split()}


def wake_category_of(aircraft_type: str | None) -> Category | None:
    """The category of a type designator; None where the type is not one of those known here."""
    return _BY_TYPE.get(aircraft_type or "")

"""METAR and TAF texts decoded into plain values with metar-taf-parser-mivek; what it cannot read is named, not guessed.

Called by observed_weather.py. The library reads loosely (a wind without a unit becomes knots), so every group is
checked for its form (WMO No. 306, FM 15 and FM 51) before the library gets it; the others are returned as `undecoded`.
Raises Unreadable for a text that is no report.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any, Final

from metar_taf_parser.model.model import AbstractWeatherContainer, Metar, Visibility, WeatherCondition, Wind
from metar_taf_parser.parser.parser import MetarParser, TAFParser

from .weather_reports import nearest_time

METRES_IN_STATUTE_MILE: Final = 1609.344
KNOTS_IN_METRE_PER_SECOND: Final = 3600 / 1852

_METAR: Final = re.compile(
    r"(?:(?:METAR|SPECI|COR)\s+)*(?P<station>[A-Z][A-Z0-9]{3})\s+(?P<time>\d{6}Z)(?P<rest>(?:\s.*)?)"
)
_TAF: Final = re.compile(
    r"(?:TAF\s+)*(?P<flag>(?:(?:AMD|COR)\s+)*)(?P<station>[A-Z][A-Z0-9]{3})\s+(?:(?P<time>\d{6}Z)\s+)?"
    r"(?P<validity>\d{4}/\d{4}|NIL)(?P<rest>(?:\s.*)?)"
)
_WIND: Final = re.compile(r"(?:VRB|[0-2]\d0|3[0-6]0)\d{2}(?:G\d{2,3})?(?:KT|MPS)")
_CUT_WIND: Final = re.compile(r"(?:[0-2]\d|3[0-6])0\d")
_VARIATION: Final = re.compile(r"\d{3}V\d{3}")
_VISIBILITY: Final = re.compile(r"\d{4}(?:NDV|N|NE|E|SE|S|SW|W|NW)?|[PM]?(?:\d{1,2}|(?:\d{1,2} )?[1-9]/[1-9])SM")
_CLOUD: Final = re.compile(r"(?:FEW|SCT|BKN|OVC)(?:\d{3}|///)(?:CB|TCU|///)?|SKC|CLR|NSC|NCD")
_TEMPERATURE: Final = re.compile(r"(M?)(\d{2})/(M?)(\d{2})")
_PRESSURE: Final = re.compile(r"Q(0[89]\d{2}|10\d{2})|A(2[5-9]\d{2}|3[0-2]\d{2})")
_RUNWAY: Final = re.compile(r"R\d{2}[LCR]?/[PM]?\d{4}(?:V[PM]?\d{4})?(?:FT)?[UDN]?")
_EXTREME: Final = re.compile(r"T[XN]M?\d{2}/\d{4}Z")
_NOT_MEASURED: Final = re.compile(r"[QR]?/{2,}(?:KT|MPS|SM|CB|TCU)?|M?\d{2}///?|///?/M?\d{2}")
_TREND_TIME: Final = re.compile(r"(?:FM|TL|AT)\d{4}")
_PERIOD: Final = re.compile(r"\d{4}/\d{4}")
_GROUP: Final = re.compile(r"(?:PROB\d{2}(?: TEMPO)?|TEMPO|INTER|BECMG|FM\d{6})(?!\S)")
_NO_CLOUDS: Final = frozenset({"SKC", "CLR", "NSC", "NCD"})
# Showers in the vicinity: the library knows no descriptor without a phenomenon but "TS".
_SHOWERS_NEAR: Final = "VCSH"
_SET_WORDS: Final = frozenset({"CAVOK", "NSW", "NOSIG", "AUTO", "COR", "AMD", _SHOWERS_NEAR})


class Unreadable(ValueError):
    """The text is no report of its kind, or nothing in it could be decoded."""


def decode_metar(text: str) -> dict[str, Any]:
    """The values of a METAR or SPECI: conditions (see `_conditions`) and temperature, pressure, runways, trends, flags.

    Temperatures in °C, pressure_hpa, pressure_inhg (where it was given so), heights in feet above the aerodrome.
    Raises Unreadable.
    """
    head = _METAR.fullmatch(text)
    if head is None:
        raise Unreadable("no station and time")
    body, _, remark = f"{head['rest']} ".partition(" RMK ")
    parser = MetarParser()
    tokens = _tokens(parser, body)
    if "NIL" in tokens:
        return {"nil": True, "remark": remark.strip()}
    if len(tokens) == 1 and _CUT_WIND.fullmatch(tokens[0]):
        raise Unreadable("cut off within its wind, the beginning of which would pass for a visibility")
    main, trends = _split_trends(tokens)
    kept, undecoded = _sift(parser, main, metar=True)
    trend_tokens: list[str] = []
    for trend in trends:
        good, bad = _sift(parser, trend[1:], metar=False, times=True)
        trend_tokens += [trend[0], *good]
        undecoded += bad
    try:
        metar = parser.parse(" ".join([head["station"], head["time"], *kept, *trend_tokens]))
    except (ValueError, LookupError, AttributeError, TypeError) as error:
        raise Unreadable("the parser refuses it") from error
    conditions = _conditions(metar, kept)
    decoded = {
        **conditions,
        "temperature_c": metar.temperature,
        "dewpoint_c": metar.dew_point,
        "pressure_hpa": metar.altimeter,
        "pressure_inhg": next((int(token[1:]) / 100 for token in kept if re.fullmatch(r"A\d{4}", token)), None),
        "runways": [
            {"name": runway.name, "from": runway.min_range, "to": runway.max_range or None, "unit": str(runway.unit)}
            for runway in metar.runways_info
            if runway.min_range is not None
        ],
        "trends": [
            {
                "change": trend.type.value,
                "times": [{"at": time.type.value, "time": f"{time.time:%H:%M}"} for time in trend.times],
                **_conditions(trend, tokens_of[1:]),
            }
            for trend, tokens_of in zip(metar.trends, trends, strict=False)
        ],
        "nosig": metar.nosig,
        "auto": metar.auto,
        "remark": remark.strip(),
        "undecoded": undecoded,
    }
    if not _says_anything(decoded) and metar.temperature is None and metar.altimeter is None:
        raise Unreadable("no group of it could be decoded")
    return decoded


def decode_taf(text: str, near: datetime) -> dict[str, Any]:
    """The values of a TAF; days become dates near `near` (its issue, or now).

    {valid_from, valid_to (datetimes, UTC), amended, canceled, prevailing: conditions, groups: [{change
    (FM, BECMG, TEMPO, INTER, PROB), probability, from, to, conditions}], highest, lowest: {temperature_c, time},
    remark, undecoded}. Raises Unreadable.
    """
    head = _TAF.fullmatch(text)
    if head is None:
        raise Unreadable("no station and period")
    if head["validity"] == "NIL":
        return {"nil": True, "remark": ""}
    start, end = _period(head["validity"], near)
    body, _, remark = f"{head['rest']} ".partition(" RMK ")
    parser = TAFParser()
    undecoded: list[str] = []
    parts: list[str] = []
    groups: list[tuple[str, list[str]]] = []
    for lead, tokens in _taf_groups(parser, body):
        good, bad = _sift(parser, tokens, metar=False, periods=True)
        undecoded += bad
        groups.append((lead, good))
        parts += [*lead.split(), *good]
    canceled = "CNL" in head["rest"].split()
    try:
        taf = parser.parse(" ".join(["TAF", head["station"], head["validity"], *parts]))
    except (ValueError, LookupError, AttributeError, TypeError) as error:
        raise Unreadable("the parser refuses it") from error
    extremes = {
        name: None
        if found is None
        else {"temperature_c": found.temperature, "time": _moment(found.day, found.hour, start)}
        for name, found in (("highest", taf.max_temperature), ("lowest", taf.min_temperature))
    }
    prevailing = _conditions(taf, groups[0][1])
    if not canceled and not _says_anything(prevailing):
        raise Unreadable("no group of it could be decoded")
    return {
        "valid_from": start,
        "valid_to": end,
        "amended": bool(head["flag"].strip()),
        "canceled": canceled,
        "prevailing": prevailing,
        "groups": [
            {
                "change": trend.type.value,
                "probability": getattr(trend, "probability", None),
                **_group_period(lead, tokens, start, end),
                "conditions": _conditions(trend, tokens),
            }
            for trend, (lead, tokens) in zip(taf.trends, groups[1:], strict=True)
        ],
        **extremes,
        "remark": remark.strip(),
        "undecoded": [token for token in undecoded if token != "CNL"],
    }


def overlaid(base: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """Conditions after a change: what it names is new, the rest stays."""
    told = {key: value for key, value in change.items() if value not in (None, [], False, "")}
    if told.get("cavok"):
        base = {
            **base,
            "visibility": None,
            "weather": [],
            "clouds": [],
            "no_clouds": "",
            "vertical_visibility_ft": None,
        }
    elif told.keys() & {"visibility", "weather", "clouds"}:
        base = {**base, "cavok": False}
    if told.get("clouds") or told.get("vertical_visibility_ft"):
        base = {**base, "no_clouds": "", "clouds": [], "vertical_visibility_ft": None}
    if told.get("no_clouds"):
        base = {**base, "clouds": [], "vertical_visibility_ft": None}
    if told.get("no_weather"):
        base = {**base, "weather": []}
    return {**base, **told}


def _tokens(parser: MetarParser | TAFParser, text: str) -> list[str]:
    """The library's own groups: it keeps "1 1/2SM" together, but only behind another group."""
    return list(parser.tokenize(f"_ {text.strip()}"))[1:]


def _split_trends(tokens: list[str]) -> tuple[list[str], list[list[str]]]:
    main: list[str] = []
    trends: list[list[str]] = []
    for token in tokens:
        if token in ("TEMPO", "BECMG"):
            trends.append([token])
        elif trends:
            trends[-1].append(token)
        else:
            main.append(token)
    return main, trends


def _taf_groups(parser: TAFParser, body: str) -> Iterable[tuple[str, list[str]]]:
    """The prevailing group ("" as its lead), then each change group with its lead ("TEMPO", "PROB30 TEMPO", "FM…")."""
    text = " ".join(body.split())
    starts = list(_GROUP.finditer(text))
    bounds = [*(start.start() for start in starts), len(text)]
    yield "", _tokens(parser, text[: bounds[0]])
    for start, end in zip(starts, bounds[1:], strict=True):
        yield start.group(), _tokens(parser, text[start.end() : end])


def _sift(
    parser: MetarParser | TAFParser, tokens: list[str], *, metar: bool, times: bool = False, periods: bool = False
) -> tuple[list[str], list[str]]:
    """The groups that the library reads as they are meant, and the others; what was not measured is neither."""
    kept: list[str] = []
    undecoded: list[str] = []
    for token in tokens:
        if _CLOUD.fullmatch(token) or not _NOT_MEASURED.fullmatch(token):
            good = _is_known(parser, token, kept, metar=metar, times=times, periods=periods)
            (kept if good else undecoded).append(token)
    return kept, undecoded


def _is_known(
    parser: MetarParser | TAFParser, token: str, before: list[str], *, metar: bool, times: bool, periods: bool
) -> bool:
    if re.fullmatch(r"\d{4}[NESW]{1,2}", token) and any(earlier.endswith("SM") for earlier in before):
        return False  # the library would take the miles for metres
    if _WIND.fullmatch(token) or _VISIBILITY.fullmatch(token) or _CLOUD.fullmatch(token) or token in _SET_WORDS:
        return True
    if _VARIATION.fullmatch(token):
        return any(_WIND.fullmatch(earlier) for earlier in before)
    if metar and (_TEMPERATURE.fullmatch(token) or _PRESSURE.fullmatch(token) or _RUNWAY.fullmatch(token)):
        return True
    if (times and _TREND_TIME.fullmatch(token)) or (
        periods and (_PERIOD.fullmatch(token) or _EXTREME.fullmatch(token))
    ):
        return True
    if re.fullmatch(r"VV\d{3}|WS\d{3}/\d{5}(?:G\d{2})?KT", token):
        return True
    scratch = Metar()
    parser.general_parse(scratch, token)
    return [_weather_code(found) for found in scratch.weather_conditions] == [token]


def _weather_code(condition: WeatherCondition) -> str:
    parts = [condition.intensity, condition.descriptive, *condition.phenomenons]
    return "".join(part.value for part in parts if part is not None)


def _conditions(container: AbstractWeatherContainer, tokens: list[str]) -> dict[str, Any]:
    """Wind, visibility, weather and clouds of a report or of one group of it."""
    return {
        "wind": None if container.wind is None else _wind(container.wind),
        "cavok": bool(container.cavok),
        "visibility": None if container.visibility is None or container.cavok else _visibility(container.visibility),
        "weather": [
            {
                "code": _weather_code(found),
                "intensity": found.intensity.value if found.intensity else "",
                "descriptor": found.descriptive.value if found.descriptive else "",
                "phenomena": [phenomenon.value for phenomenon in found.phenomenons],
            }
            for found in container.weather_conditions
        ]
        + [
            {"code": token, "intensity": "VC", "descriptor": "SH", "phenomena": []}
            for token in tokens
            if token == _SHOWERS_NEAR
        ],
        "no_weather": "NSW" in tokens,
        "clouds": [
            {
                "cover": cloud.quantity.value,
                "base_ft": cloud.height,
                "type": cloud.type.value if cloud.type else "",
            }
            for cloud in container.clouds
            if cloud.quantity.value not in _NO_CLOUDS
        ],
        "no_clouds": next((token for token in tokens if token in _NO_CLOUDS), ""),
        "vertical_visibility_ft": container.vertical_visibility,
        "wind_shear": None
        if container.wind_shear is None
        else {**_wind(container.wind_shear), "height_ft": container.wind_shear.height},
    }


def _says_anything(conditions: Mapping[str, Any]) -> bool:
    return any(conditions[key] for key in ("wind", "cavok", "visibility", "clouds", "no_clouds", "weather"))


def _wind(wind: Wind) -> dict[str, Any]:
    factor = KNOTS_IN_METRE_PER_SECOND if wind.unit == "MPS" else 1.0
    return {
        "direction_deg": None if wind.speed == 0 else wind.degrees,
        "speed_kt": round(wind.speed * factor),
        "gust_kt": None if wind.gust is None else round(wind.gust * factor),
        "from_deg": wind.min_variation,
        "to_deg": wind.max_variation,
        "speed_mps": wind.speed if wind.unit == "MPS" else None,
        "gust_mps": wind.gust if wind.unit == "MPS" else None,
    }


def _visibility(seen: Visibility) -> dict[str, Any]:
    """Metres, and statute miles where they were given; `bound`: "more" for 9999 and P6SM, "less" for M1/4SM."""
    distance = str(seen.distance or "")
    lowest = {"lowest_m": seen.min_distance, "lowest_towards": seen.min_direction or ""}
    if str(seen.unit) == "SM":
        bound = {"P": "more", "M": "less"}.get(distance[:1], "")
        miles = float(sum(Fraction(part) for part in distance.strip("PM").split()))
        return {"metres": round(miles * METRES_IN_STATUTE_MILE), "statute_miles": miles, "bound": bound, **lowest}
    more = distance.startswith(">")
    metres = None if not distance else int(distance.strip(">"))
    return {"metres": metres, "statute_miles": None, "bound": "more" if more else "", **lowest}


def _moment(day: int, hour: int, near: datetime) -> datetime:
    """Hour 24 is the end of the day."""
    found = nearest_time(day, hour % 24, 0, near)
    if found is None or hour > 24:
        raise Unreadable("a day or hour that no calendar has")
    return found + timedelta(days=hour // 24)


def _period(text: str, near: datetime) -> tuple[datetime, datetime]:
    start = _moment(int(text[:2]), int(text[2:4]), near)
    end = _moment(int(text[5:7]), int(text[7:9]), start)
    if not start < end <= start + timedelta(hours=48):
        raise Unreadable("a period that ends before it begins")
    return start, end


def _group_period(lead: str, tokens: list[str], start: datetime, end: datetime) -> dict[str, datetime]:
    if lead.startswith("FM"):
        begins = nearest_time(int(lead[2:4]), int(lead[4:6]), int(lead[6:8]), start)
        if begins is None:
            raise Unreadable("a time that no calendar has")
        return {"from": begins, "to": end}
    period = next((token for token in tokens if _PERIOD.fullmatch(token)), "")
    begins, ends = _period(period, start) if period else (start, end)
    return {"from": begins, "to": ends}

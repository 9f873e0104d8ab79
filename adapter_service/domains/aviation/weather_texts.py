"""Sentences about decoded weather, in English and Russian: wind, visibility, weather, clouds, trends, forecast groups.

Called by observed_weather.py with the values of weather_decoding.py. Terms follow WMO No. 306 (code table 4678) in both
languages.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from .answers import plural_ru

# Russian nouns by code: (nominative, instrumental, gender m/f/n/p), for "слабый дождь" and «гроза с дождём».
_PHENOMENA: Final[Mapping[str, tuple[str, str, str, str]]] = {
    "RA": ("rain", "дождь", "дождём", "m"),
    "DZ": ("drizzle", "морось", "моросью", "f"),
    "SN": ("snow", "снег", "снегом", "m"),
    "SG": ("snow grains", "снежные зёрна", "снежными зёрнами", "p"),
    "PL": ("ice pellets", "ледяной дождь", "ледяным дождём", "m"),
    "IC": ("ice crystals", "ледяные кристаллы", "ледяными кристаллами", "p"),
    "GR": ("hail", "град", "градом", "m"),
    "GS": ("small hail", "мелкий град", "мелким градом", "m"),
    "UP": ("unknown precipitation", "неизвестные осадки", "неизвестными осадками", "p"),
    "FG": ("fog", "туман", "туманом", "m"),
    "VA": ("volcanic ash", "вулканический пепел", "вулканическим пеплом", "m"),
    "BR": ("mist", "дымка", "дымкой", "f"),
    "HZ": ("haze", "мгла", "мглой", "f"),
    "DU": ("widespread dust", "пыль", "пылью", "f"),
    "FU": ("smoke", "дым", "дымом", "m"),
    "SA": ("sand", "песок", "песком", "m"),
    "PY": ("spray", "водяная пыль", "водяной пылью", "f"),
    "SQ": ("squall", "шквал", "шквалом", "m"),
    "PO": ("dust whirls", "пыльные вихри", "пыльными вихрями", "p"),
    "DS": ("dust storm", "пыльная буря", "пыльной бурей", "f"),
    "SS": ("sandstorm", "песчаная буря", "песчаной бурей", "f"),
    "FC": ("funnel cloud", "воронкообразное облако", "воронкообразным облаком", "n"),
}
# Descriptor: (English before the phenomenon, Russian adjective by gender).
_DESCRIPTORS: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "MI": ("shallow", {"m": "поземный", "f": "поземная", "n": "поземное", "p": "поземные"}),
    "BC": ("patches of", dict.fromkeys("mfnp", "местами")),
    "PR": ("partial", {"m": "частичный", "f": "частичная", "n": "частичное", "p": "частичные"}),
    "DR": ("low drifting", {"m": "низовой", "f": "низовая", "n": "низовое", "p": "низовые"}),
    "BL": ("blowing", dict.fromkeys("mfnp", "поднятый ветром")),
    "FZ": (
        "freezing",
        {"m": "переохлаждённый", "f": "переохлаждённая", "n": "переохлаждённое", "p": "переохлаждённые"},
    ),
    "SH": ("showers of", {"m": "ливневой", "f": "ливневая", "n": "ливневое", "p": "ливневые"}),
}
_LIGHT: Final = {"m": "слабый", "f": "слабая", "n": "слабое", "p": "слабые"}
_HEAVY: Final = {"m": "сильный", "f": "сильная", "n": "сильное", "p": "сильные"}
_COVERS: Final = {
    "FEW": ("few", "малая"),
    "SCT": ("scattered", "рассеянная"),
    "BKN": ("broken", "значительная"),
    "OVC": ("overcast", "сплошная"),
}
_CLOUD_TYPES: Final = {
    "CB": ("cumulonimbus", "кучево-дождевая"),
    "TCU": ("towering cumulus", "мощно-кучевая"),
}
_NO_CLOUDS: Final = {
    "SKC": ("sky clear", "ясно"),
    "CLR": ("no clouds detected", "облака не обнаружены"),
    "NCD": ("no clouds detected", "облака не обнаружены"),
    "NSC": ("no significant clouds", "без существенной облачности"),
}
_TOWARDS_RU: Final = {
    "N": "севере",
    "NE": "северо-востоке",
    "E": "востоке",
    "SE": "юго-востоке",
    "S": "юге",
    "SW": "юго-западе",
    "W": "западе",
    "NW": "северо-западе",
}
_CHANGES: Final = {
    "BECMG": ("becoming", "постепенно"),
    "TEMPO": ("temporarily", "временами"),
    "INTER": ("intermittently", "с перерывами"),
    "PROB": ("possibly", "возможно"),
    "FM": ("from", "с"),
}
_TREND_TIMES: Final = {"FM": ("from", "с"), "TL": ("until", "до"), "AT": ("at", "в")}


def conditions_text(values: Mapping[str, Any], *, russian: bool) -> str:
    """Wind, visibility, weather and clouds in one phrase, parts by commas; "" where none is told."""
    parts = [
        _wind(values["wind"], russian) if values["wind"] else "",
        _cavok(russian) if values["cavok"] else "",
        _visibility(values["visibility"], russian) if values["visibility"] else "",
        *(_weather(item, russian) for item in values["weather"]),
        (("no significant weather", "без особых явлений")[russian] if values["no_weather"] else ""),
        *(_cloud(cloud, russian) for cloud in values["clouds"]),
        _NO_CLOUDS[values["no_clouds"]][russian] if values["no_clouds"] else "",
        _vertical(values["vertical_visibility_ft"], russian) if values["vertical_visibility_ft"] is not None else "",
        _shear(values["wind_shear"], russian) if values["wind_shear"] else "",
    ]
    return ", ".join(part for part in parts if part)


def metar_text(values: Mapping[str, Any], *, russian: bool) -> str:
    """A whole METAR: conditions, runways, temperature, pressure, then the trend as a sentence of its own."""
    parts = [
        conditions_text(values, russian=russian),
        *(_runway(runway, russian) for runway in values["runways"]),
        _temperature(values["temperature_c"], values["dewpoint_c"], russian),
        pressure_text(values["pressure_hpa"], values["pressure_inhg"], russian=russian),
    ]
    text = ", ".join(part for part in parts if part)
    trends = [_trend(trend, russian) for trend in values["trends"]]
    if values["nosig"]:
        trends.append(("No significant change is expected", "Существенных изменений не ожидается")[russian])
    return ". ".join([text, *trends])


def pressure_text(hpa: int | None, inhg: float | None, *, russian: bool) -> str:
    """ "QNH 1013 hPa", or "QNH 29.92 inHg (1013 hPa)" where it was given so; "" for none."""
    if hpa is None:
        return ""
    unit = "гПа" if russian else "hPa"
    if inhg is None:
        return f"QNH {hpa} {unit}"
    given = f"{inhg:.2f}".replace(".", ",") + " дюйма рт. ст." if russian else f"{inhg:.2f} inHg"
    return f"QNH {given} ({hpa} {unit})"


def group_text(
    change: str, probability: int | None, begins: datetime, ends: datetime, told: str, *, russian: bool
) -> str:
    """A change group of a TAF: "temporarily 2 Jan 14:00–18:00 UTC (probability 30 %): …"."""
    word = _CHANGES[change][russian]
    likely = f" ({('probability', 'вероятность')[russian]} {probability} %)" if probability else ""
    period = moment_text(begins) if change == "FM" else period_text(begins, ends)
    return f"{word[:1].upper()}{word[1:]} {period} UTC{likely}: {told}"


def moment_text(moment: datetime) -> str:
    """To the minute, without the zone: "2030-01-02 14:00"."""
    return f"{moment:%Y-%m-%d %H:%M}"


def period_text(begins: datetime, ends: datetime) -> str:
    """ "2030-01-02 14:00–18:00", or with both dates."""
    same_day = begins.date() == ends.date()
    return f"{moment_text(begins)}–{ends:%H:%M}" if same_day else f"{moment_text(begins)} – {moment_text(ends)}"


def _wind(wind: Mapping[str, Any], russian: bool) -> str:
    if wind["speed_kt"] == 0 and not wind["gust_kt"]:
        return ("calm", "штиль")[russian]
    direction = wind["direction_deg"]
    shown = ("variable", "переменный")[russian] if direction is None else f"{direction:03d}°"
    text = f"{('wind', 'ветер')[russian]} {shown} {_speed(wind['speed_kt'], wind['speed_mps'], russian)}"
    if wind["gust_kt"]:
        text += f"{(', gusts ', ', порывы ')[russian]}{_speed(wind['gust_kt'], wind['gust_mps'], russian)}"
    if wind["from_deg"] is not None:
        text += f" ({('from', 'от')[russian]} {wind['from_deg']:03d}° {('to', 'до')[russian]} {wind['to_deg']:03d}°)"
    return text


def _speed(knots: int, metres_per_second: int | None, russian: bool) -> str:
    in_knots = f"{knots} {('kt', 'уз')[russian]}"
    return in_knots if metres_per_second is None else f"{metres_per_second} {('m/s', 'м/с')[russian]} ({in_knots})"


def _cavok(russian: bool) -> str:
    return (
        "CAVOK (visibility 10 km or more, no cloud below 5,000 ft, no significant weather)",
        "CAVOK (видимость 10 км и более, нет облаков ниже 5000 футов и особых явлений)",
    )[russian]


def _visibility(seen: Mapping[str, Any], russian: bool) -> str:
    head = ("visibility", "видимость")[russian]
    lowest = ""
    if seen["lowest_m"] is not None:
        towards = f"on the {seen['lowest_towards']}" if not russian else f"на {_TOWARDS_RU[seen['lowest_towards']]}"
        lowest = f"{seen['lowest_m']} {('m', 'м')[russian]} {towards}"
    if seen["metres"] is None:
        return f"{head} {lowest}"
    return f"{head} {_distance(seen, russian)}" + (f" ({lowest})" if lowest else "")


def _distance(seen: Mapping[str, Any], russian: bool) -> str:
    bound = {"more": ("more than ", "более "), "less": ("less than ", "менее "), "": ("", "")}[seen["bound"]][russian]
    if seen["statute_miles"] is not None:
        miles, km = f"{seen['statute_miles']:g}", f"{seen['metres'] / 1000:.1f}"
        if russian:
            return f"{bound}{miles.replace('.', ',')} {_miles_ru(seen)} ({km.replace('.', ',')} км)"
        return f"{bound}{miles} SM ({km} km)"
    if seen["bound"] == "more":
        return ("10 km or more", "10 км и более")[russian]
    return f"{seen['metres']} {('m', 'м')[russian]}"


def _miles_ru(seen: Mapping[str, Any]) -> str:
    """The noun's form after the number: a fraction takes the genitive, as does what stands after "более", "менее"."""
    miles = seen["statute_miles"]
    if miles != int(miles):
        return "сухопутной мили"
    if seen["bound"]:
        return plural_ru(int(miles), "сухопутной мили", "сухопутных миль", "сухопутных миль")
    return plural_ru(int(miles), "сухопутная миля", "сухопутные мили", "сухопутных миль")


def _weather(item: Mapping[str, Any], russian: bool) -> str:
    return _weather_ru(item) if russian else _weather_en(item)


def _weather_en(item: Mapping[str, Any]) -> str:
    names = " and ".join(_PHENOMENA[code][0] for code in item["phenomena"])
    descriptor = item["descriptor"]
    if descriptor == "TS":
        names = f"thunderstorm with {names}" if names else "thunderstorm"
    elif descriptor:
        names = f"{_DESCRIPTORS[descriptor][0]} {names}" if names else "showers"
    strength = {"-": "light ", "+": "heavy ", "VC": "", "RE": "recent ", "": ""}[item["intensity"]]
    return f"{strength}{names}{' in the vicinity' if item['intensity'] == 'VC' else ''}"


def _weather_ru(item: Mapping[str, Any]) -> str:
    codes, descriptor, intensity = item["phenomena"], item["descriptor"], item["intensity"]
    if descriptor == "TS":
        gender, names = "f", "гроза" + (" с " + " и ".join(_PHENOMENA[code][2] for code in codes) if codes else "")
    elif codes:
        gender = _PHENOMENA[codes[0]][3] if len(codes) == 1 else "p"
        names = " и ".join(_PHENOMENA[code][1] for code in codes)
        if descriptor:
            names = f"{_DESCRIPTORS[descriptor][1][gender]} {names}"
    else:
        gender, names = "m", "ливневые осадки"
    match intensity:
        case "-":
            return f"{_LIGHT['p' if names == 'ливневые осадки' else gender]} {names}"
        case "+":
            return f"{_HEAVY['p' if names == 'ливневые осадки' else gender]} {names}"
        case "VC":
            return f"{names} в окрестностях"
        case "RE":
            return f"недавно {names}"
        case _:
            return names


def _cloud(cloud: Mapping[str, Any], russian: bool) -> str:
    cover = _COVERS[cloud["cover"]][russian]
    kind = f" {_CLOUD_TYPES[cloud['type']][russian]}" if cloud["type"] in _CLOUD_TYPES else ""
    if russian:
        height = f" на высоте {cloud['base_ft']} футов" if cloud["base_ft"] is not None else ", высота неизвестна"
        return f"облачность {cover}{kind}{height}"
    height = f" at {cloud['base_ft']} ft" if cloud["base_ft"] is not None else " at an unknown height"
    return f"{cover}{kind}{height}"


def _vertical(feet: int, russian: bool) -> str:
    return (f"vertical visibility {feet} ft", f"вертикальная видимость {feet} футов")[russian]


def _shear(shear: Mapping[str, Any], russian: bool) -> str:
    wind = _wind(shear, russian)
    return (
        f"wind shear at {shear['height_ft']} ft: {wind}",
        f"сдвиг ветра на высоте {shear['height_ft']} футов: {wind}",
    )[russian]


def _runway(runway: Mapping[str, Any], russian: bool) -> str:
    unit = {"M": ("m", "м"), "FT": ("ft", "футов")}[runway["unit"]][russian]
    seen = f"{runway['from']}" if runway["to"] is None else f"{runway['from']}–{runway['to']}"
    return (
        f"runway {runway['name']} visual range {seen} {unit}",
        f"дальность видимости на ВПП {runway['name']} {seen} {unit}",
    )[russian]


def _temperature(temperature: int | None, dewpoint: int | None, russian: bool) -> str:
    if temperature is None:
        return ""
    dew = "" if dewpoint is None else f", {('dew point', 'точка росы')[russian]} {dewpoint} °C"
    return f"{temperature} °C{dew}"


def _trend(trend: Mapping[str, Any], russian: bool) -> str:
    word = _CHANGES[trend["change"]][russian]
    times = "".join(f" {_TREND_TIMES[time['at']][russian]} {time['time']} UTC" for time in trend["times"])
    return f"{word[:1].upper()}{word[1:]}{times}: {conditions_text(trend, russian=russian)}"

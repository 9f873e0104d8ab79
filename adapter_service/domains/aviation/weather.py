"""Weather at an airport: the port a real source plugs into, and the built-in synthetic one that says so (I1).

A tool by itself. Synthetic values are made up, but always the same for one station and UTC hour, and plausible for
latitude, season and elevation; every result carries `synthetic` and a label, so that no answer can pass them off as
a report.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal, Protocol

from .catalogue import Airport, require_airport
from .errors import InputInvalid

Cover = Literal["FEW", "SCT", "BKN", "OVC"]


@dataclass(frozen=True, slots=True)
class Cloud:
    """One layer: amount as in a METAR, height of its base above the airport in feet."""

    cover: Cover
    base_ft: int


@dataclass(frozen=True, slots=True)
class Observation:
    """What a source reports. Wind direction is where the wind comes from, degrees true, None when calm or variable."""

    observed_time: datetime
    wind_direction_deg: int | None
    wind_speed_kt: int
    visibility_m: int
    temperature_c: int
    dewpoint_c: int
    pressure_hpa: int
    clouds: tuple[Cloud, ...]


class WeatherSource(Protocol):
    """Where weather comes from. `synthetic` is True for a source that reports nothing real."""

    @property
    def name(self) -> str: ...

    @property
    def synthetic(self) -> bool: ...

    def observe(self, airport: Airport, time: datetime) -> Observation:
        """The newest observation at or before `time` (UTC)."""
        ...


class SyntheticWeather:
    """Made-up weather, a pure function of station and UTC hour."""

    name = "synthetic"
    synthetic = True

    def observe(self, airport: Airport, time: datetime) -> Observation:
        """Values for the hour that `time` lies in. See the helpers for the climate they are drawn from."""
        hour = time.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        draw = _Draws(airport.icao, hour)
        temperature = _mean_temperature_c(airport, hour) + 8.0 * (draw.unit("temperature") - 0.5)
        spread = 1.0 + 14.0 * draw.unit("spread") ** 2
        speed = round(22.0 * draw.unit("wind speed") ** 1.5)
        fog = spread < 2.0
        return Observation(
            observed_time=hour,
            wind_direction_deg=None if speed < 2 else 10 * (1 + int(36 * draw.unit("wind direction"))),
            wind_speed_kt=0 if speed < 2 else speed,
            visibility_m=100 * round(3 + 27 * draw.unit("fog")) if fog else _visibility_m(draw.unit("visibility")),
            temperature_c=round(temperature),
            dewpoint_c=min(round(temperature), round(temperature - spread)),
            pressure_hpa=round(1013 + 30.0 * (draw.unit("pressure") - 0.5)),
            clouds=_clouds(draw, spread),
        )


class _Draws:
    """Independent numbers in [0, 1), each fixed by station, hour and what it is for."""

    def __init__(self, icao: str, hour: datetime) -> None:
        self._seed = f"{icao}|{hour.isoformat()}"

    def unit(self, purpose: str) -> float:
        digest = hashlib.sha256(f"{self._seed}|{purpose}".encode()).digest()
        return int.from_bytes(digest[:7], "big") / float(1 << 56)


def _mean_temperature_c(airport: Airport, hour: datetime) -> float:
    """A smooth climate: a sea level mean by latitude, a season that lags the sun, the hour, 2 °C per 1000 ft.

    Rough, and meant to be: it only has to look like weather of the place and season.
    """
    latitude = math.radians(airport.latitude_deg)
    mean = 27.0 - 32.0 * math.sin(latitude) ** 2
    season = 13.0 * math.sin(latitude) * math.cos(2.0 * math.pi * (hour.timetuple().tm_yday - 200) / 365.25)
    solar_hour = hour.hour + airport.longitude_deg / 15.0
    daily = 4.0 * math.cos(2.0 * math.pi * (solar_hour - 15.0) / 24.0) * math.cos(latitude)
    return mean + season + daily - 2.0 * airport.elevation_ft / 1000.0


def _visibility_m(unit: float) -> int:
    """10 km or more most of the time, as stations report it (9999), else haze."""
    return 9999 if unit > 0.25 else 1000 * round(4 + 5 * unit / 0.25)


def _clouds(draw: _Draws, spread: float) -> tuple[Cloud, ...]:
    """The lowest base is where rising air reaches its dew point: about 400 ft per degree of spread."""
    amount = draw.unit("cloud")
    if amount < 0.3:
        return ()
    base = max(100, int(400 * spread // 100) * 100)
    covers: tuple[Cover, ...] = ("FEW", "SCT", "BKN", "OVC")
    lowest = Cloud(covers[min(3, int((amount - 0.3) / 0.7 * 4))], base)
    if draw.unit("second layer") < 0.5 or lowest.cover == "OVC":
        return (lowest,)
    return lowest, Cloud("BKN", base + 3000 + 1000 * int(5 * draw.unit("second base")))


_SYNTHETIC: Final = SyntheticWeather()
_LABEL_EN: Final = "Synthetic weather: made up for demonstration, not a report. Never use it for flight."
_LABEL_RU: Final = "Синтетическая погода: придумана для демонстрации, это не сводка. Не используйте её для полётов."


def get_weather(icao: str, source: WeatherSource | None = None, now: datetime | None = None) -> dict[str, Any]:
    """The weather at an airport now, from `source` (the synthetic one by default).

    `now` must be aware of its zone. Returns station, values with their units in the names, `synthetic`, `source`, a
    label where the values are synthetic, and a one-line summary in English and Russian. Raises
    EntityNotFound("icao").
    """
    airport = require_airport(icao)
    time = datetime.now(UTC) if now is None else now
    if time.tzinfo is None:
        raise InputInvalid("now", "a time with its zone", time)
    chosen: WeatherSource = _SYNTHETIC if source is None else source
    seen = chosen.observe(airport, time)
    summary_en, summary_ru = _summary(airport, seen, chosen.synthetic)
    return {
        "icao": airport.icao,
        "name": airport.name,
        "observed_time": seen.observed_time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "wind_direction_deg": seen.wind_direction_deg,
        "wind_speed_kt": seen.wind_speed_kt,
        "visibility_m": seen.visibility_m,
        "temperature_c": seen.temperature_c,
        "dewpoint_c": seen.dewpoint_c,
        "pressure_hpa": seen.pressure_hpa,
        "clouds": [{"cover": cloud.cover, "base_ft": cloud.base_ft} for cloud in seen.clouds],
        "synthetic": chosen.synthetic,
        "source": chosen.name,
        "label_en": _LABEL_EN if chosen.synthetic else "",
        "label_ru": _LABEL_RU if chosen.synthetic else "",
        "summary_en": summary_en,
        "summary_ru": summary_ru,
    }


_COVERS_RU: Final = {"FEW": "малая", "SCT": "рассеянная", "BKN": "значительная", "OVC": "сплошная"}
_COVERS_EN: Final = {"FEW": "few", "SCT": "scattered", "BKN": "broken", "OVC": "overcast"}


def _summary(airport: Airport, seen: Observation, synthetic: bool) -> tuple[str, str]:
    time = f"{seen.observed_time.astimezone(UTC):%H:%M} UTC"
    if seen.wind_speed_kt == 0:
        wind_en, wind_ru = "calm", "штиль"
    else:
        direction_en = "variable" if seen.wind_direction_deg is None else f"{seen.wind_direction_deg:03d}°"
        direction_ru = "переменный" if seen.wind_direction_deg is None else f"{seen.wind_direction_deg:03d}°"
        wind_en = f"wind {direction_en} {seen.wind_speed_kt} kt"
        wind_ru = f"ветер {direction_ru} {seen.wind_speed_kt} уз"
    visible_en = "10 km or more" if seen.visibility_m >= 9999 else f"{seen.visibility_m} m"
    visible_ru = "10 км и более" if seen.visibility_m >= 9999 else f"{seen.visibility_m} м"
    clouds_en = ", ".join(f"{_COVERS_EN[c.cover]} at {c.base_ft} ft" for c in seen.clouds) or "no clouds"
    layers_ru = ", ".join(f"{_COVERS_RU[c.cover]} на высоте {c.base_ft} футов" for c in seen.clouds)
    clouds_ru = f"облачность {layers_ru}" if layers_ru else "облаков нет"
    mark_en, mark_ru = (" (synthetic)", " (синтетические данные)") if synthetic else ("", "")
    return (
        f"{airport.icao} at {time}{mark_en}: {wind_en}, visibility {visible_en}, {clouds_en}, "
        f"{seen.temperature_c} °C, dew point {seen.dewpoint_c} °C, {seen.pressure_hpa} hPa.",
        f"{airport.icao} на {time}{mark_ru}: {wind_ru}, видимость {visible_ru}, {clouds_ru}, "
        f"{seen.temperature_c} °C, точка росы {seen.dewpoint_c} °C, {seen.pressure_hpa} гПа.",
    )

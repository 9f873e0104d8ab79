"""Weather: the synthetic source is deterministic, plausible and labelled; another source can take its place (I1)."""

from __future__ import annotations

import statistics
from datetime import UTC, datetime, timedelta

import pytest

from adapter_service.domains.aviation.catalogue import Airport, airports
from adapter_service.domains.aviation.errors import EntityNotFound, InputInvalid
from adapter_service.domains.aviation.weather import Cloud, Observation, get_weather

NOW = datetime(2030, 1, 2, 9, 40, tzinfo=UTC)


def test_one_station_and_hour_always_give_the_same() -> None:
    first = get_weather("EDDB", now=NOW)
    assert first == get_weather("eddb", now=NOW.replace(minute=1))
    assert first["observed_time"] == "2030-01-02T09:00:00Z"
    assert first != get_weather("EDDB", now=NOW + timedelta(hours=1))
    assert first != get_weather("EDDM", now=NOW)


def test_it_says_that_it_is_synthetic() -> None:
    weather = get_weather("EDDB", now=NOW)
    assert weather["synthetic"] is True
    assert weather["source"] == "synthetic"
    assert "not a report" in weather["label_en"]
    assert "synthetic" in weather["summary_en"]
    assert "синтетич" in weather["label_ru"].lower()
    assert "синтетич" in weather["summary_ru"]


def test_values_are_plausible_everywhere() -> None:
    for icao in list(airports())[::400]:
        for month in (1, 4, 7, 10):
            weather = get_weather(icao, now=datetime(2030, month, 15, 12, tzinfo=UTC))
            assert -80 <= weather["temperature_c"] <= 50
            assert weather["dewpoint_c"] <= weather["temperature_c"]
            assert 980 <= weather["pressure_hpa"] <= 1045
            assert 0 <= weather["visibility_m"] <= 9999
            direction = weather["wind_direction_deg"]
            assert (direction is None) == (weather["wind_speed_kt"] == 0)
            assert direction is None or direction in range(10, 361, 10)


def _mean_temperature(icao: str, month: int) -> float:
    start = datetime(2030, month, 1, tzinfo=UTC)
    return statistics.mean(
        get_weather(icao, now=start + timedelta(hours=7 * step))["temperature_c"] for step in range(100)
    )


def test_latitude_and_season_show() -> None:
    assert _mean_temperature("WSSS", 1) > _mean_temperature("EDDB", 1) > _mean_temperature("UEEE", 1)
    assert _mean_temperature("EDDB", 7) > _mean_temperature("EDDB", 1) + 10
    assert _mean_temperature("NZAA", 1) > _mean_temperature("NZAA", 7)


@pytest.mark.parametrize(
    ("icao", "january", "july"),
    [("EGLL", 5, 19), ("UUEE", -7, 19), ("KJFK", 0, 25), ("RJTT", 6, 26), ("YSSY", 23, 13), ("HECA", 14, 29)],
)
def test_the_mean_is_near_the_real_climate(icao: str, january: int, july: int) -> None:
    """Long-term means of the stations; the model is rough, but Paris has no arctic November."""
    assert abs(_mean_temperature(icao, 1) - january) < 10
    assert abs(_mean_temperature(icao, 7) - july) < 10


class _Station:
    name = "station"
    synthetic = False

    def observe(self, airport: Airport, time: datetime) -> Observation:
        return Observation(time, 240, 12, 9999, 7, 3, 1009, (Cloud("BKN", 2400),))


def test_a_real_source_carries_no_synthetic_label() -> None:
    weather = get_weather("EDDB", source=_Station(), now=NOW)
    assert (weather["synthetic"], weather["source"], weather["label_en"], weather["label_ru"]) == (
        False,
        "station",
        "",
        "",
    )
    assert "240°" in weather["summary_en"]
    assert "synthetic" not in weather["summary_en"]


def test_refusals() -> None:
    with pytest.raises(EntityNotFound):
        get_weather("XXXX", now=NOW)
    with pytest.raises(InputInvalid) as refused:
        get_weather("EDDB", now=NOW.replace(tzinfo=None))
    assert refused.value.field == "now"

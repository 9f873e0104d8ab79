"""The field parsers: canonical forms stay themselves, human forms in English and Russian, refusals that say why."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter_service.domains.aviation.errors import EntityNotFound, InputInvalid
from adapter_service.domains.aviation.flight_plan_fields import ACCEPTED, PARSERS, parse_field
from adapter_service.domains.aviation.flight_plan_groups import LEVEL_LIMITS, SPEED_LIMITS, hhmm
from adapter_service.domains.aviation.flight_plan_questions import FIELD_QUESTIONS
from adapter_service.domains.aviation.flight_plan_times import (
    MOST_MINUTES,
    parse_departure_time,
    parse_duration,
    rfc3339,
)

# A Monday.
NOW = datetime(2029, 12, 31, 14, 17, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        ("level", "FL350", "F350"),
        ("level", "FL85", "F085"),
        ("level", "эшелон 85", "F085"),
        ("level", "fl 350", "F350"),
        ("level", "эшелон 350", "F350"),
        ("level", "на эшелоне 350", "F350"),
        ("level", "350", "F350"),
        ("level", "flight level 090", "F090"),
        ("level", "35000 ft", "F350"),
        ("level", "35,000 feet", "F350"),
        ("level", "4500 футов", "A045"),
        ("level", "10600 м", "S1060"),
        ("level", "900 m", "M0090"),
        ("level", "А045", "A045"),  # a Cyrillic А
        ("level", "vfr", "VFR"),
        ("cruising_speed", "450 kt", "N0450"),
        ("cruising_speed", "450 узлов", "N0450"),
        ("cruising_speed", "450", "N0450"),
        ("cruising_speed", "830 km/h", "K0830"),
        ("cruising_speed", "830 км/ч", "K0830"),
        ("cruising_speed", "M0.82", "M082"),
        ("cruising_speed", "Mach .82", "M082"),
        ("cruising_speed", "Мах 0,8", "M080"),
        ("cruising_speed", "скорость 120 узлов", "N0120"),
        ("aircraft_id", "afl 123", "AFL123"),
        ("aircraft_id", "D-ABCD", "DABCD"),
        ("aircraft_id", "позывной РА12345", "PA12345"),  # Cyrillic РА
        ("aircraft_type", "a320", "A320"),
        ("aircraft_type", "А320", "A320"),  # a Cyrillic А
        ("aircraft_type", "Airbus A320", "A320"),
        ("aircraft_type", "самолёт B738", "B738"),
        ("aircraft_type", "GLEX", "GLEX"),
        ("flight_rules", "IFR", "I"),
        ("flight_rules", "по приборам", "I"),
        ("flight_rules", "ПВП", "V"),
        ("flight_rules", "IFR, then VFR", "Y"),
        ("flight_rules", "сначала ПВП, потом ППП", "Z"),
        ("flight_type", "регулярный", "S"),
        ("flight_type", "non-scheduled", "N"),
        ("flight_type", "charter", "N"),
        ("flight_type", "общего назначения", "G"),
        ("wake_category", "тяжёлый", "H"),
        ("wake_category", "medium", "M"),
        ("equipment", "sdfgrwy/s", "SDFGRWY/S"),
        ("persons_on_board", "120 человек", 120),
        ("persons_on_board", "4 на борту", 4),
        ("persons_on_board", 12, 12),
        ("endurance_minutes", "5:30", 330),
        ("total_eet_minutes", 55, 55),
        ("route", "direct", "DCT"),
        ("route", "напрямую", "DCT"),
        ("route", "dct kolin/n0450f350 dct", "DCT KOLIN/N0450F350 DCT"),
        ("departure_icao", "Шереметьево", "UUEE"),
        ("destination_icao", "edDM", "EDDM"),
        ("alternate_icaos", "EDDF EDDH", ["EDDF", "EDDH"]),
        ("alternate_icaos", "EDDF и Ганновер", ["EDDF", "EDDV"]),
        ("alternate_icaos", ["EDDF"], ["EDDF"]),
        ("alternate_icaos", "нет", []),
        ("other_information", "rmk/test reg/dabcd", "REG/DABCD RMK/TEST"),
        ("other_information", "no nav lights", "RMK/NO NAV LIGHTS"),
        ("departure_time", "2030-01-02T09:00:00Z", "2030-01-02T09:00:00Z"),
    ],
)
def test_human_forms(field: str, text: Any, value: Any) -> None:
    parsed = parse_field(field, text, NOW)
    assert parsed == value
    assert parse_field(field, parsed, NOW) == value  # the canonical form is accepted as itself


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("level", "35"),
        ("level", "F999"),
        ("level", "high"),
        ("level", "35050 ft"),
        ("cruising_speed", "fast"),
        ("cruising_speed", "4500"),
        ("cruising_speed", "0.82"),
        ("cruising_speed", "M9.99"),
        ("aircraft_id", "ABCDEFGH"),
        ("aircraft_id", "12345"),
        ("aircraft_id", "A"),
        ("aircraft_id", "Аэрофлот 123"),
        ("aircraft_id", ""),
        ("aircraft_type", "Boeing 737-800"),
        ("aircraft_type", "320"),
        ("aircraft_type", "A"),
        ("flight_rules", "Q"),
        ("equipment", "S"),
        ("persons_on_board", "0"),
        ("persons_on_board", "1000"),
        ("persons_on_board", "-5"),
        ("persons_on_board", "many"),
        ("persons_on_board", True),
        ("endurance_minutes", "5"),
        ("endurance_minutes", "0560"),
        ("endurance_minutes", "100:00"),
        ("endurance_minutes", 0),
        ("endurance_minutes", True),
        ("route", "DCT) -EDDM"),
        ("alternate_icaos", "EDDF EDDH EDDM"),
        ("alternate_icaos", "EDDF EDDF"),
        ("departure_icao", "London"),
        ("other_information", "REG/A) (FPL"),
        ("other_information", "FOO/BAR"),
        ("other_information", "DOF/300101"),
        ("departure_time", "tomorrow"),
    ],
)
def test_refusals_name_field_and_accepted_form(field: str, text: Any) -> None:
    with pytest.raises(InputInvalid) as refused:
        parse_field(field, text, NOW)
    assert refused.value.field == field
    assert refused.value.accepted in str(refused.value)


def test_an_ambiguous_aerodrome_names_its_candidates() -> None:
    with pytest.raises(InputInvalid, match="EDDB.*EDDT"):
        parse_field("departure_icao", "Берлин", NOW)
    with pytest.raises(EntityNotFound):
        parse_field("destination_icao", "xyzzyqq", NOW)


def test_every_field_has_a_parser_a_form_and_a_question() -> None:
    assert set(FIELD_QUESTIONS) == set(PARSERS)
    assert set(PARSERS) - {"departure_time", "total_eet_minutes", "endurance_minutes"} == set(ACCEPTED)
    with pytest.raises(InputInvalid):
        parse_field("nonsense", "1", NOW)


@given(st.sampled_from(sorted(SPEED_LIMITS)), st.data())
def test_every_speed_group_is_accepted(letter: str, data: st.DataObject) -> None:
    digits, least, greatest = SPEED_LIMITS[letter]
    group = f"{letter}{data.draw(st.integers(least, greatest)):0{digits}d}"
    assert parse_field("cruising_speed", group, NOW) == group


@given(st.sampled_from(sorted(LEVEL_LIMITS)), st.data())
def test_every_level_group_is_accepted(letter: str, data: st.DataObject) -> None:
    digits, least, greatest = LEVEL_LIMITS[letter]
    group = f"{letter}{data.draw(st.integers(least, greatest)):0{digits}d}"
    assert parse_field("level", group, NOW) == group


@given(st.sampled_from(sorted(PARSERS)), st.text(max_size=60))
def test_any_text_is_parsed_or_refused(field: str, text: str) -> None:
    with suppress(InputInvalid, EntityNotFound):
        value = parse_field(field, text, NOW)
        assert parse_field(field, value, NOW) == value


@given(st.integers(1, MOST_MINUTES))
def test_durations_in_every_form(minutes: int) -> None:
    hours, rest = divmod(minutes, 60)
    forms = [hhmm(minutes), f"{hours}:{rest:02d}", f"{minutes} min", f"{minutes} минут", f"PT{hours}H{rest}M"]
    forms += [
        f"{hours} h {rest} min",
        f"{hours} hours {rest}",
        f"{hours} ч {rest} мин",
        f"{hours} часов и {rest} минут",
    ]
    assert [parse_duration(form) for form in forms] == [minutes] * len(forms)


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("полтора часа", 90),
        ("half an hour", 30),
        ("полчаса", 30),
        ("час", 60),
        ("an hour", 60),
        ("5,5 часа", 330),
        ("two hours and 15 minutes", 135),
        ("четыре часа", 240),
        ("4 с половиной часа", 270),
        ("four and a half hours", 270),
        ("330", 330),
    ],
)
def test_durations_in_words(text: str, minutes: int) -> None:
    assert parse_duration(text) == minutes


def _utc(day: int, hour: int, minute: int, month: int = 1, year: int = 2030) -> datetime:
    return datetime(year, month, day, hour, minute, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2030-01-02 09:00", _utc(2, 9, 0)),
        ("2030-01-02T09:00:30+03:00", _utc(2, 6, 0)),
        ("2030-01-02 0900", _utc(2, 9, 0)),
        ("02.01.2030 09:00", _utc(2, 9, 0)),
        ("2 января 2030 в 9:00", _utc(2, 9, 0)),
        ("2 января в 9:00", _utc(2, 9, 0)),
        ("January 2, 2030 at 09:00", _utc(2, 9, 0)),
        ("5th of March at 6:15", _utc(5, 6, 15, month=3)),
        ("tomorrow 14:00", _utc(1, 14, 0)),
        ("tomorrow at 2 pm", _utc(1, 14, 0)),
        ("завтра в 14:00", _utc(1, 14, 0)),
        ("завтра в 9 утра", _utc(1, 9, 0)),
        ("завтра в 14 часов", _utc(1, 14, 0)),
        ("послезавтра в полдень", _utc(2, 12, 0)),
        ("day after tomorrow 06:15Z", _utc(2, 6, 15)),
        ("завтра в 02:00 UTC+3", _utc(31, 23, 0, month=12, year=2029)),
        ("в пятницу в 9:30", _utc(4, 9, 30)),
        ("on Tuesday at 7:05", _utc(1, 7, 5)),
        ("в среду 18:00", _utc(2, 18, 0)),
        ("14:00", _utc(1, 14, 0)),
        ("15:00", _utc(31, 15, 0, month=12, year=2029)),
        ("1400Z", _utc(1, 14, 0)),
        ("в 15", _utc(31, 15, 0, month=12, year=2029)),
        ("8 вечера", _utc(31, 20, 0, month=12, year=2029)),
        ("12 am tomorrow", _utc(1, 0, 0)),
        ("in 3 hours", _utc(31, 17, 17, month=12, year=2029)),
        ("через 3 часа", _utc(31, 17, 17, month=12, year=2029)),
        ("через полчаса", _utc(31, 14, 47, month=12, year=2029)),
        ("через 2 дня", _utc(2, 14, 17)),
    ],
)
def test_departure_times(text: str, time: datetime) -> None:
    assert parse_departure_time(text, NOW) == time


@pytest.mark.parametrize(
    "text",
    [
        "31.02.2030 10:00",
        "2030-02-31 10:00",
        "30 февраля в 10:00",
        "tomorrow at 25:00",
        "5:61",
        "завтра утром",
        "2030-01-02",
        "tomorrow at 14:00 Moscow",
        "13 pm",
        "soon",
        "",
    ],
)
def test_no_time_is_guessed(text: str) -> None:
    with pytest.raises(InputInvalid) as refused:
        parse_departure_time(text, NOW)
    assert refused.value.field == "departure_time"


@given(
    st.datetimes(datetime(2000, 1, 1), datetime(2090, 1, 1)),
    st.integers(-12 * 60, 14 * 60),
)
def test_iso_times_keep_the_moment(moment: datetime, offset: int) -> None:
    zoned = moment.replace(second=0, microsecond=0, tzinfo=timezone(timedelta(minutes=offset)))
    assert parse_departure_time(zoned.isoformat(), NOW) == zoned
    assert parse_departure_time(rfc3339(zoned), NOW) == zoned

"""METAR and TAF as told to a person: every group, both languages, the time, and nothing that was not reported (I1)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from adapter_service.domains.aviation.errors import EntityNotFound, InputInvalid
from adapter_service.domains.aviation.forecast_period import parse_period
from adapter_service.domains.aviation.observed_weather import get_forecast, get_observed_weather
from adapter_service.domains.aviation.weather_decoding import Unreadable, decode_metar, decode_taf, overlaid
from adapter_service.domains.aviation.weather_reports import ReportFolder
from adapter_service.domains.aviation.weather_texts import metar_text

NOW = datetime(2030, 1, 2, 9, 40, tzinfo=UTC)
Write = Callable[[str], ReportFolder]
TAF = (
    "TAF EDDB 020500Z 0206/0312 24010KT 9999 SCT030 TX08/0213Z TN01/0305Z BECMG 0210/0212 27015G25KT "
    "PROB30 TEMPO 0214/0218 4000 SHRA BKN012CB FM030000 30008KT CAVOK"
)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def put(text: str) -> ReportFolder:
        (tmp_path / "reports.txt").write_text(text)
        return ReportFolder(tmp_path)

    return put


@pytest.mark.parametrize(
    ("groups", "english", "russian"),
    [
        ("24012KT", "wind 240° 12 kt", "ветер 240° 12 уз"),
        ("24012G25KT", "wind 240° 12 kt, gusts 25 kt", "ветер 240° 12 уз, порывы 25 уз"),
        ("VRB03KT", "wind variable 3 kt", "ветер переменный 3 уз"),
        ("00000KT", "calm", "штиль"),
        (
            "24005G10MPS",
            "wind 240° 5 m/s (10 kt), gusts 10 m/s (19 kt)",
            "ветер 240° 5 м/с (10 уз), порывы 10 м/с (19 уз)",
        ),
        ("24012KT 210V270", "wind 240° 12 kt (from 210° to 270°)", "ветер 240° 12 уз (от 210° до 270°)"),
        ("CAVOK", "CAVOK (visibility 10 km or more", "CAVOK (видимость 10 км и более"),
        ("9999", "visibility 10 km or more", "видимость 10 км и более"),
        ("0350", "visibility 350 m", "видимость 350 м"),
        ("4000 1500NE", "visibility 4000 m (1500 m on the NE)", "видимость 4000 м (1500 м на северо-востоке)"),
        ("10SM", "visibility 10 SM (16.1 km)", "видимость 10 сухопутных миль (16,1 км)"),
        ("1 1/2SM", "visibility 1.5 SM (2.4 km)", "видимость 1,5 сухопутной мили (2,4 км)"),
        ("M1/4SM", "visibility less than 0.25 SM (0.4 km)", "видимость менее 0,25 сухопутной мили (0,4 км)"),
        ("P6SM", "visibility more than 6 SM (9.7 km)", "видимость более 6 сухопутных миль (9,7 км)"),
        ("9999 -SHRA", "light showers of rain", "слабый ливневой дождь"),
        ("9999 +TSRAGR", "heavy thunderstorm with rain and hail", "сильная гроза с дождём и градом"),
        ("9999 VCSH", "showers in the vicinity", "ливневые осадки в окрестностях"),
        ("0300 FZFG", "freezing fog", "переохлаждённый туман"),
        ("3000 BR", "mist", "дымка"),
        ("9999 RERA", "recent rain", "недавно дождь"),
        (
            "9999 FEW008 BKN015CB OVC100",
            "few at 800 ft, broken cumulonimbus at 1500 ft, overcast at 10000 ft",
            "кучево-дождевая на высоте 1500 футов",
        ),
        ("9999 NCD", "no clouds detected", "облака не обнаружены"),
        ("9999 NSC", "no significant clouds", "без существенной облачности"),
        ("0100 VV001", "vertical visibility 100 ft", "вертикальная видимость 100 футов"),
        ("R25L/0600V1200U 0800", "runway 25L visual range 600–1200 m", "дальность видимости на ВПП 25L 600–1200 м"),
        ("9999 07/M01", "7 °C, dew point -1 °C", "7 °C, точка росы -1 °C"),
        ("9999 Q0998", "QNH 998 hPa", "QNH 998 гПа"),
        ("9999 A2992", "QNH 29.92 inHg (1013 hPa)", "QNH 29,92 дюйма рт. ст. (1013 гПа)"),
        ("9999 NOSIG", "No significant change is expected", "Существенных изменений не ожидается"),
        (
            "9999 BECMG FM1030 3000 BR",
            "Becoming from 10:30 UTC: visibility 3000 m, mist",
            "Постепенно с 10:30 UTC: видимость 3000 м, дымка",
        ),
    ],
)
def test_every_group_is_told(groups: str, english: str, russian: str) -> None:
    values = decode_metar(f"METAR EDDB 020920Z {groups}")
    assert values["undecoded"] == []
    assert english in metar_text(values, russian=False)
    assert russian in metar_text(values, russian=True)


@pytest.mark.parametrize(
    "group",
    [
        "24012",
        "240120KT",
        "24412KT",
        "24012KMH",
        "Q1500",
        "A9999",
        "BKN15",
        "-XXRA",
        "GARBAGE",
        "R25L/ABCD",
        "77SM9",
        "SM",
        "1/0SM",
        "1/16SM",
    ],
)
def test_a_group_of_another_form_is_named_and_not_guessed(group: str) -> None:
    values = decode_metar(f"EDDB 020920Z {group} CAVOK 07/03")
    assert values["undecoded"] == [group]
    plain = decode_metar("EDDB 020920Z CAVOK 07/03")
    assert {**values, "undecoded": []} == plain


def test_groups_that_were_not_measured_are_neither_told_nor_undecoded() -> None:
    values = decode_metar("EDDB 020920Z AUTO /////KT //// // ////// 07/// Q////  9999")
    assert values["undecoded"] == []
    assert metar_text(values, russian=False) == "visibility 10 km or more"


@pytest.mark.parametrize("text", ["EDDB 020920Z", "EDDB HELLO", "EDDB 020920Z WHAT IS THIS", "", "EDDB 0209Z 24012KT"])
def test_a_text_without_any_group_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        decode_metar(text)


@pytest.mark.parametrize(
    "text",
    [
        "TAF EDDB",
        "TAF EDDB 020500Z",
        "TAF EDDB 020500Z 0206/0106 24010KT",
        "TAF EDDB 020500Z 9906/9912 24010KT",
        "TAF EDDB 020500Z 0206/0312 X",
    ],
)
def test_a_forecast_without_period_or_content_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        decode_taf(text, NOW)


def test_a_report_names_station_and_time(write: Write) -> None:
    folder = write("2030/01/02 09:20\nEDDB 020920Z 24012KT CAVOK 07/03 Q1013 NOSIG\n")
    weather = get_observed_weather("eddb", folder, NOW)
    assert weather["status"] == "report"
    assert weather["observed_time"] == "2030-01-02T09:20:00Z"
    assert (weather["age_minutes"], weather["outdated"], weather["synthetic"]) == (20, False, False)
    assert weather["raw"] == "EDDB 020920Z 24012KT CAVOK 07/03 Q1013 NOSIG"
    assert (weather["source"], weather["file"]) == ("METAR", "reports.txt")
    assert weather["summary_en"].startswith("EDDB, METAR of 2030-01-02 09:20 UTC: wind 240° 12 kt, CAVOK")
    assert weather["summary_ru"].startswith("EDDB, METAR от 2030-01-02 09:20 UTC: ветер 240° 12 уз, CAVOK")
    assert "old" not in weather["summary_en"]


def test_an_old_report_says_how_old_it_is(write: Write) -> None:
    folder = write("2030/01/02 09:20\nEDDB 020920Z 24012KT CAVOK 07/03 Q1013\n")
    later = get_observed_weather("EDDB", folder, NOW + timedelta(hours=5))
    assert later["outdated"]
    assert "This report is 5 h 20 min old." in later["summary_en"]
    assert "Этой сводке уже 5 ч 20 мин." in later["summary_ru"]
    assert "1 d 5 h old" in get_observed_weather("EDDB", folder, NOW + timedelta(hours=29))["summary_en"]


def test_an_unreadable_report_is_quoted(write: Write) -> None:
    weather = get_observed_weather("EDDB", write("EDDB 020920Z BLAH BLAH\n"), NOW)
    assert weather["status"] == "unreadable"
    assert "cannot be read" in weather["summary_en"]
    assert "“EDDB 020920Z BLAH BLAH”" in weather["summary_en"]
    assert "«EDDB 020920Z BLAH BLAH»" in weather["summary_ru"]
    assert "wind" not in weather


def test_a_group_that_was_not_decoded_is_told(write: Write) -> None:
    weather = get_observed_weather("EDDB", write("EDDB 020920Z 24012 CAVOK\n"), NOW)
    assert weather["summary_en"].endswith("Not decoded: 24012.")
    assert weather["summary_ru"].endswith("Не расшифровано: 24012.")
    assert weather["wind"] is None


def test_nil_says_that_nothing_was_sent(write: Write) -> None:
    assert "NIL" in get_observed_weather("EDDB", write("METAR EDDB 020920Z NIL="), NOW)["summary_en"]


def test_the_nearest_current_report_stands_in_and_is_named(write: Write) -> None:
    # Tegel is 26 km from Brandenburg; Leipzig is farther from it.
    folder = write("EDDP 020920Z 10005KT CAVOK\nEDDB 020920Z 24012KT CAVOK\n")
    weather = get_observed_weather("EDDT", folder, NOW)
    assert weather["icao"] == "EDDT"
    assert weather["station"]["icao"] == "EDDB"
    assert 20 < weather["station"]["distance_km"] < 30
    assert (
        "EDDT has no METAR of its own; the nearest one is from Berlin Brandenburg Airport (EDDB)"
        in weather["summary_en"]
    )
    assert "wind 240°" in weather["summary_en"]
    own = write("EDDT 020900Z 30001KT CAVOK\nEDDB 020920Z 24012KT CAVOK\n")
    assert get_observed_weather("EDDT", own, NOW)["station"]["distance_km"] is None


def test_an_outdated_or_distant_report_does_not_stand_in(write: Write) -> None:
    for text in ("EDDB 020620Z 24012KT CAVOK\n", "EDDM 020920Z 24012KT CAVOK\n", "ZZZZ 020920Z 24012KT CAVOK\n", ""):
        weather = get_observed_weather("EDDT", write(text), NOW)
        assert weather["status"] == "no_report"
        assert (
            "there is no METAR of this station, nor a current one of a station within 100 km" in weather["summary_en"]
        )
        assert weather["synthetic"] is False


def test_the_nearest_is_found_across_the_antimeridian_and_at_the_pole(write: Write) -> None:
    # Matei and Savusavu, Fiji, lie on both sides of 180°.
    folder = write("NFNS 020920Z 09010KT CAVOK\n")
    assert get_observed_weather("NFNM", folder, NOW)["station"]["icao"] == "NFNS"


def test_an_unknown_airport_is_refused(write: Write) -> None:
    with pytest.raises(EntityNotFound):
        get_observed_weather("QQQQ", write(""), NOW)


def test_a_forecast_tells_what_prevails_and_what_changes(write: Write) -> None:
    forecast = get_forecast("EDDB", write(TAF), NOW)
    assert forecast["issued_time"] == "2030-01-02T05:00:00Z"
    assert (forecast["valid_from"], forecast["valid_to"]) == ("2030-01-02T06:00:00Z", "2030-01-03T12:00:00Z")
    assert (forecast["period_from"], forecast["period_to"]) == ("2030-01-02T09:40:00Z", "2030-01-03T12:00:00Z")
    assert [(group["change"], group["probability"]) for group in forecast["groups"]] == [
        ("BECMG", None),
        ("TEMPO", 30),
        ("FM", None),
    ]
    text = forecast["summary_en"]
    assert text.startswith("EDDB, TAF of 2030-01-02 05:00 UTC, valid 2030-01-02 06:00 – 2030-01-03 12:00 UTC.")
    assert "At 2030-01-02 09:40 UTC: wind 240° 10 kt, visibility 10 km or more, scattered at 3000 ft." in text
    assert "Temporarily 2030-01-02 14:00–18:00 UTC (probability 30 %): visibility 4000 m" in text
    assert "Временами 2030-01-02 14:00–18:00 UTC (вероятность 30 %): видимость 4000 м" in forecast["summary_ru"]


@pytest.mark.parametrize(
    ("period", "told", "not_told"),
    [
        (
            "2030-01-02 11:00",
            "wind 240° 10 kt, visibility 10 km or more, scattered at 3000 ft. Becoming",
            "Temporarily",
        ),
        # The change is over: its wind prevails, the rest stays.
        (
            "2030-01-02 13:00",
            "wind 270° 15 kt, gusts 25 kt, visibility 10 km or more, scattered at 3000 ft.",
            "Becoming",
        ),
        ("2030-01-02 14:00", "Temporarily", "Becoming"),
        # "From" begins anew.
        ("2030-01-03 01:00", "At 2030-01-03 01:00 UTC: wind 300° 8 kt, CAVOK", "Temporarily"),
        ("2030-01-03 12:00", "It says nothing about 2030-01-03 12:00–13:00 UTC", "wind"),
        ("tomorrow", "It covers only 2030-01-03 00:00–12:00 UTC of that.", "Temporarily"),
    ],
)
def test_a_forecast_for_a_time(write: Write, period: str, told: str, not_told: str) -> None:
    text = get_forecast("EDDB", write(TAF), NOW, parse_period(period, NOW))["summary_en"]
    assert told in text
    assert not_told not in text


def test_cancelled_expired_and_unreadable_forecasts_say_so(write: Write) -> None:
    assert "cancelled" in get_forecast("EDDB", write("TAF AMD EDDB 020800Z 0206/0312 CNL"), NOW)["summary_en"]
    assert "NIL" in get_forecast("EDDB", write("TAF EDDB 020500Z NIL"), NOW)["summary_en"]
    expired = get_forecast("EDDB", write(TAF), NOW + timedelta(days=3))
    assert expired["status"] == "outside"
    assert expired["summary_en"].endswith("It is no longer valid.")
    assert get_forecast("EDDB", write("TAF EDDB 020500Z RUBBISH"), NOW)["status"] == "unreadable"
    assert get_forecast("EDDB", write("EDDB 020920Z CAVOK"), NOW)["status"] == "no_report"
    with pytest.raises(InputInvalid):
        get_forecast("EDDB", write(TAF), NOW, "some time")


def test_cavok_takes_the_clouds_away_and_clouds_take_cavok_away() -> None:
    clear = decode_metar("EDDB 020920Z 24012KT CAVOK")
    rain = decode_metar("EDDB 020920Z 30020KT 2000 RA OVC005")
    assert overlaid(rain, clear)["clouds"] == []
    assert overlaid(rain, clear)["weather"] == []
    assert overlaid(clear, rain)["cavok"] is False


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tomorrow at 14:00", "2030-01-03T14:00:00Z/2030-01-03T15:00:00Z"),
        ("завтра в 14:00", "2030-01-03T14:00:00Z/2030-01-03T15:00:00Z"),
        ("tomorrow morning", "2030-01-03T06:00:00Z/2030-01-03T12:00:00Z"),
        ("завтра утром", "2030-01-03T06:00:00Z/2030-01-03T12:00:00Z"),
        ("tonight", "2030-01-02T18:00:00Z/2030-01-03T06:00:00Z"),
        ("сегодня вечером", "2030-01-02T18:00:00Z/2030-01-03T00:00:00Z"),
        ("today", "2030-01-02T09:40:00Z/2030-01-03T00:00:00Z"),
        ("послезавтра", "2030-01-04T00:00:00Z/2030-01-05T00:00:00Z"),
        ("in 3 hours", "2030-01-02T12:40:00Z/2030-01-02T13:40:00Z"),
        ("через 3 часа", "2030-01-02T12:40:00Z/2030-01-02T13:40:00Z"),
    ],
)
def test_periods(text: str, expected: str) -> None:
    assert parse_period(text, NOW) == expected
    assert parse_period(expected, NOW) == expected


@pytest.mark.parametrize(
    "text", ["", "soon", "tomorrow maybe", "at 14:00 Moscow time", "2030-01-02T00:00:00Z/nonsense"]
)
def test_other_texts_are_no_periods(text: str) -> None:
    with pytest.raises(InputInvalid):
        parse_period(text, NOW)

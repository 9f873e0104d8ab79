"""Whatever a weather folder holds, a question about the weather gets an answer, and never values out of nothing (I1)."""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapter_service.domains.aviation import weather_reports
from adapter_service.domains.aviation.observed_weather import get_forecast, get_observed_weather
from adapter_service.domains.aviation.weather_decoding import Unreadable, decode_metar, decode_taf
from adapter_service.domains.aviation.weather_reports import ReportFolder
from adapter_service.domains.aviation.weather_texts import metar_text

NOW = datetime(2030, 1, 2, 9, 40, tzinfo=UTC)
GROUPS = re.findall(
    r"\S+",
    "24012KT 24012G25KT VRB03KT 00000KT 24005MPS 24012 240120KT /////KT 210V270 CAVOK 9999 0000 0350 1500N 10SM 1/2SM "
    "M1/4SM P6SM 1/0SM 1/16SM //// -SHRA +TSRAGR VCSH FZFG BR RERA XXRA FEW008 BKN015CB OVC/// ////// SKC NSC NCD CLR VV001 VV/// "
    "07/M01 07/// ///// Q0998 Q//// A2992 Q1500 NOSIG TEMPO BECMG FM1030 TL1100 AT0900 NSW R25L/0600V1200U R25L/ABCD "
    "R25L/////// WS020/24045KT RMK AO2 SLP132 T00721011 COR AUTO NIL CNL AMD PROB30 PROB INTER FM021500 FM029999 "
    "0210/0212 9999/9999 TX08/0213Z TNM01/0305Z TXX/0 511111 620304 WS LLWS = KT SM Q A / 1 12 $ ?",
)
BODY = st.lists(st.sampled_from(GROUPS), max_size=14).map(" ".join)


@settings(max_examples=400, deadline=None)
@given(BODY)
def test_every_metar_is_decoded_or_unreadable(body: str) -> None:
    try:
        values = decode_metar(f"EDDB 020920Z {body}")
    except Unreadable:
        return
    json.dumps(values)
    if values.get("nil"):
        return
    for russian in (False, True):
        text = metar_text(values, russian=russian)
        assert "None" not in text
    digits = {int(number) for number in re.findall(r"\d+", body)}
    wind = values["wind"]
    if wind is not None and wind["speed_mps"] is None:
        assert any(re.match(rf"(?:VRB|\d{{3}}){wind['speed_kt']:02d}(?:G\d+)?KT$", group) for group in body.split())
    if values["pressure_hpa"] is not None and values["pressure_inhg"] is None:
        assert values["pressure_hpa"] in digits


@settings(max_examples=400, deadline=None)
@given(BODY)
def test_every_taf_is_decoded_or_unreadable(body: str) -> None:
    try:
        values = decode_taf(f"TAF EDDB 020500Z 0206/0312 {body}", NOW)
    except Unreadable:
        return
    assert values.get("nil") or values["valid_from"] < values["valid_to"]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(
        st.text(max_size=300),
        BODY.map(lambda body: f"EDDB 020920Z {body}"),
        BODY.map(lambda body: f"TAF EDDB 020500Z 0206/0312 {body}"),
    )
)
def test_whatever_a_file_holds_there_is_an_answer(tmp_path: Path, text: str) -> None:
    (tmp_path / "EDDB.TXT").write_bytes(text.encode("utf-8", errors="surrogatepass"))
    folder = ReportFolder(tmp_path)
    for result in (get_observed_weather("EDDB", folder, NOW), get_forecast("EDDB", folder, NOW)):
        json.dumps(result)
        assert result["summary_en"].startswith("EDDB")
        assert result["summary_ru"]
        assert result["status"] in ("report", "unreadable", "nil", "no_report", "canceled", "outside")


@pytest.mark.parametrize("moment", [datetime(2028, 2, 29, 12, tzinfo=UTC), datetime(2030, 12, 31, 23, 50, tzinfo=UTC)])
def test_a_report_of_yesterday_is_dated_across_months_and_years(tmp_path: Path, moment: datetime) -> None:
    (tmp_path / "a.txt").write_text(f"EDDB {moment:%d%H%M}Z 24012KT CAVOK\n")
    tomorrow = moment.replace(hour=0, minute=0).timestamp() + 86_400 + 600
    weather = get_observed_weather("EDDB", ReportFolder(tmp_path), datetime.fromtimestamp(tomorrow, UTC))
    assert weather["observed_time"] == f"{moment:%Y-%m-%dT%H:%M:%SZ}"


@pytest.mark.parametrize("line", ["0001/01/01 00:00\nEDDB 010000Z", "9999/12/31 23:59\nEDDB 312359Z"])
def test_a_date_at_the_edge_of_the_calendar_breaks_no_question(tmp_path: Path, line: str) -> None:
    (tmp_path / "a.txt").write_text(f"{line} 24012KT CAVOK\n")
    (tmp_path / "b.txt").write_text("EDDB 020920Z 30020KT CAVOK\n")
    folder = ReportFolder(tmp_path)
    assert get_observed_weather("EDDB", folder, NOW)["raw"] == "EDDB 020920Z 30020KT CAVOK"
    assert get_observed_weather("EDDT", folder, NOW)["status"] in ("report", "no_report")


def test_lines_that_only_begin_reports_cost_no_more_each_the_more_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[int] = []
    keywords = weather_reports._KEYWORDS

    class Watched:
        def fullmatch(self, text: str) -> re.Match[str] | None:
            looked_at.append(len(text))
            return keywords.fullmatch(text)

    monkeypatch.setattr(weather_reports, "_KEYWORDS", Watched())
    assert list(weather_reports.reports_in("METAR\n" * 3000, "a.txt")) == []
    assert max(looked_at) <= 101 * len("METAR ")


def test_a_report_cut_off_within_its_wind_tells_no_visibility(tmp_path: Path) -> None:
    (tmp_path / "EDDB.TXT").write_text("EDDB 020920Z 2401")
    assert get_observed_weather("EDDB", ReportFolder(tmp_path), NOW)["status"] == "unreadable"


def test_neither_a_files_name_nor_its_controls_reach_an_answer_as_they_are(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff.txt")).write_text("EDDB 020920Z 24012KT CAVOK\n")
    (tmp_path / "EDDM.TXT").write_bytes(b"\x1b[2J\x00garbage")
    folder = ReportFolder(tmp_path)
    assert get_observed_weather("EDDB", folder, NOW)["file"] == "\N{REPLACEMENT CHARACTER}.txt"
    garbage = get_observed_weather("EDDM", folder, NOW)
    assert garbage["status"] == "unreadable"
    assert not re.search(r"[\x00-\x1f]", garbage["raw"] + garbage["summary_en"])


def test_no_more_reports_than_the_limit_are_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weather_reports, "MOST_REPORTS", 5)
    for name, station in (("a.txt", "EDDB"), ("b.txt", "EDDM"), ("c.txt", "LOWW")):
        (tmp_path / name).write_text(f"{station} 020920Z 24012KT CAVOK\n" * 4)
    folder = ReportFolder(tmp_path)
    assert {report.station for report in folder.all_newest("METAR", NOW)} == {"EDDB", "EDDM"}

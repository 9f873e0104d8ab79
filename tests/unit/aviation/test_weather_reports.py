"""Reports in a folder: what is cut out of which files, when a report was made, and what the folder's limits are (I1)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from adapter_service.domains.aviation import weather_reports
from adapter_service.domains.aviation.weather_reports import RawReport, ReportFolder, nearest_time, reports_in

NOW = datetime(2030, 1, 2, 9, 40, tzinfo=UTC)
STATION_FILE = "2030/01/02 09:20\nEDDB 020920Z 24012KT CAVOK 07/03 Q1013\n"
CYCLE_FILE = """
2030/01/02 08:20
EDDB 020820Z 25010KT 9999 BKN030 06/03 Q1013

2030/01/02 08:50
KJFK 020851Z 18005KT 10SM CLR M01/M07 A2992 RMK AO2

2030/01/02 09:00
TAF TAF AMD KJFK 020900Z 0209/0312 18006KT P6SM SKC
     FM021500 20010KT 6SM HZ OVC040
     TEMPO 0218/0222 3SM BR
"""


def _texts(text: str, file: str = "a.txt") -> list[tuple[str, str, str]]:
    return [(report.kind, report.station, report.text) for report in reports_in(text, file)]


def test_station_and_cycle_files() -> None:
    assert _texts(STATION_FILE) == [("METAR", "EDDB", "EDDB 020920Z 24012KT CAVOK 07/03 Q1013")]
    assert [(kind, station) for kind, station, _ in _texts(CYCLE_FILE)] == [
        ("METAR", "EDDB"),
        ("METAR", "KJFK"),
        ("TAF", "KJFK"),
    ]
    assert _texts(CYCLE_FILE)[2][2].endswith("FM021500 20010KT 6SM HZ OVC040 TEMPO 0218/0222 3SM BR")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("METAR EDDB 020920Z 24012KT=\nMETAR EDDM 020920Z 24012KT=", ["METAR EDDB", "METAR EDDM"]),
        ("EDDB 020920Z 24012KT\nEDDM 020920Z 24012KT", ["METAR EDDB", "METAR EDDM"]),
        ("metar eddb 020920z 24012kt", ["METAR EDDB"]),
        ("TAF\nEDDB 020500Z 0206/0312 24010KT\n  BECMG 0210/0212 27015KT", ["TAF EDDB"]),
        ("EDDB 020500Z 0206/0312 24010KT", ["TAF EDDB"]),
        ("SPECI COR EDDB 020931Z 24012KT", ["METAR EDDB"]),
        ("a note\n\nEDDB 020920Z 24012KT\nsecond line of it\n\nanother note", ["METAR EDDB"]),
        ("nothing of the kind\n\x00\xff", []),
        ("", []),
    ],
)
def test_what_is_a_report(text: str, expected: list[str]) -> None:
    assert [f"{kind} {station}" for kind, station, _ in _texts(text)] == expected


def test_a_file_named_after_a_station_is_a_report_that_cannot_be_read() -> None:
    assert _texts("24012KT and so on", "EDDB.TXT") == [("METAR", "EDDB", "24012KT and so on")]
    assert _texts("rubbish", "eddb.taf") == [("TAF", "EDDB", "rubbish")]
    assert _texts("rubbish", "notes.txt") == []
    assert _texts("  \n", "EDDB.TXT") == []


@pytest.mark.parametrize(
    ("clock", "moment", "expected"),
    [
        ((2, 9, 20), NOW, datetime(2030, 1, 2, 9, 20, tzinfo=UTC)),
        ((31, 23, 50), NOW, datetime(2029, 12, 31, 23, 50, tzinfo=UTC)),
        ((1, 0, 0), datetime(2030, 1, 31, 23, 0, tzinfo=UTC), datetime(2030, 2, 1, tzinfo=UTC)),
        ((30, 12, 0), datetime(2030, 2, 28, tzinfo=UTC), datetime(2030, 1, 30, 12, tzinfo=UTC)),
        ((32, 12, 0), NOW, None),
        ((2, 25, 0), NOW, None),
    ],
)
def test_day_and_clock_become_the_nearest_time(
    clock: tuple[int, int, int], moment: datetime, expected: datetime | None
) -> None:
    assert nearest_time(*clock, moment) == expected


def test_without_a_date_line_a_report_is_never_from_the_future(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("EDDB 030920Z 24012KT\n")
    report = ReportFolder(tmp_path).newest("METAR", "EDDB", NOW)
    assert report is not None
    assert report.time(NOW) == datetime(2029, 12, 3, 9, 20, tzinfo=UTC)


def test_the_newest_report_up_to_now_is_taken_and_a_correction_before_what_it_corrects(tmp_path: Path) -> None:
    (tmp_path / "cycle.txt").write_text(CYCLE_FILE)
    (tmp_path / "EDDB.TXT").write_text(STATION_FILE)
    folder = ReportFolder(tmp_path)
    newest = folder.newest("METAR", "EDDB", NOW)
    assert newest is not None
    assert "020920Z" in newest.text
    early = folder.newest("METAR", "EDDB", NOW - timedelta(hours=1))
    assert early is not None
    assert "020820Z" in early.text
    (tmp_path / "later.txt").write_text("METAR COR EDDB 020920Z 24013KT CAVOK 07/03 Q1013\n")
    corrected = folder.newest("METAR", "EDDB", NOW)
    assert corrected is not None
    assert corrected.text.startswith("METAR COR")
    assert folder.newest("TAF", "EDDB", NOW) is None
    assert {report.station for report in folder.all_newest("METAR", NOW)} == {"EDDB", "KJFK"}


def test_changes_of_the_folder_are_seen_and_unchanged_files_are_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    reading = weather_reports.reports_in

    def watched(text: str, file: str) -> Iterator[RawReport]:
        read.append(file)
        return reading(text, file)

    monkeypatch.setattr(weather_reports, "reports_in", watched)
    folder = ReportFolder(tmp_path / "later")
    assert folder.newest("METAR", "EDDB", NOW) is None
    (tmp_path / "later").mkdir()
    (tmp_path / "later" / "EDDB.TXT").write_text(STATION_FILE)
    (tmp_path / "later" / "other.metar").write_text("EDDM 020920Z 24012KT\n")
    first = folder.newest("METAR", "EDDB", NOW)
    assert first is not None
    assert sorted(read) == ["EDDB.TXT", "other.metar"]
    (tmp_path / "later" / "EDDB.TXT").write_text(STATION_FILE.replace("24012KT", "30020G30KT"))
    second = folder.newest("METAR", "EDDB", NOW)
    assert second is not None
    assert "30020G30KT" in second.text
    assert sorted(read) == ["EDDB.TXT", "EDDB.TXT", "other.metar"]
    (tmp_path / "later" / "EDDB.TXT").unlink()
    assert folder.newest("METAR", "EDDB", NOW) is None


def test_limits_bad_files_and_other_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weather_reports, "LARGEST_FILE_BYTES", 200)
    monkeypatch.setattr(weather_reports, "MOST_FILES", 3)
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe\x00" * 20 + b"\n\n" + STATION_FILE.encode())
    (tmp_path / "b.txt").write_text("EDDM 020920Z 24012KT\n" * 20)
    (tmp_path / "c.txt").write_text("LOWW 020920Z 24012KT\n")
    (tmp_path / "d.txt").write_text("LSZH 020920Z 24012KT\n")
    (tmp_path / "readme.md").write_text("LFPG 020920Z 24012KT\n")
    (tmp_path / ".hidden.txt").write_text("LFPG 020920Z 24012KT\n")
    (tmp_path / "folder.txt").mkdir()
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "dangling.txt").symlink_to(tmp_path / "nowhere")
    folder = ReportFolder(tmp_path)
    assert {report.station for report in folder.all_newest("METAR", NOW)} == {"EDDB", "LOWW"}


def test_a_report_without_end_is_cut(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("EDDB 020920Z " + "24012KT " * 10_000)
    report = ReportFolder(tmp_path).newest("METAR", "EDDB", NOW)
    assert report is not None
    assert len(report.text) == weather_reports.LONGEST_REPORT + 2

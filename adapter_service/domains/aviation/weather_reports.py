"""METAR and TAF texts in a folder: which files are read, how reports are cut out of them, which one is the newest (I1).

Called by observed_weather.py. The folder may change at any time: every look stats its files and reads again those that
changed. Nothing in it can break a caller; what is no report is left out. The layout is described in docs/aviation.md.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Final, Literal

from .catalogue import find_airport

ReportKind = Literal["METAR", "TAF"]

SUFFIXES: Final = (".txt", ".metar", ".taf")
MOST_FILES: Final = 2_000
LARGEST_FILE_BYTES: Final = 4 * 1024 * 1024
MOST_BYTES: Final = 64 * 1024 * 1024
MOST_REPORTS: Final = 200_000
LONGEST_REPORT: Final = 2_000
# A station's clock and this one's may differ by so much; a report from later is not of this month.
FUTURE_TOLERANCE: Final = timedelta(minutes=30)

_LOGGER: Final = logging.getLogger(__name__)
_DATE_LINE: Final = re.compile(r"(\d{4})/(\d{2})/(\d{2}) (\d{2}):(\d{2})")
# Lines of a report; further ones are left out. A forecast has some twenty.
_MOST_LINES: Final = 100
# What a binary file holds; a terminal would act on it where a report is quoted. Not what ends a line.
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
_KEYWORDS: Final = re.compile(r"(?:(?:METAR|SPECI|TAF|COR|AMD)\s*)+")
_START: Final = re.compile(r"(?:METAR|SPECI|TAF)\b|[A-Z][A-Z0-9]{3}\s+\d{6}Z(?!\S)")
_HEAD: Final = re.compile(
    r"(?P<words>(?:(?:METAR|SPECI|TAF|COR|AMD)\s+)*)(?P<station>[A-Z][A-Z0-9]{3})(?!\S)"
    r"(?:\s+(?P<day>\d{2})(?P<hour>\d{2})(?P<minute>\d{2})Z(?!\S))?(?P<validity>\s+\d{4}/\d{4}(?!\S))?"
)


@dataclass(frozen=True, slots=True)
class RawReport:
    """One report of a file, on one line. `dated` is the date line above it, `clock` its own day, hour and minute."""

    kind: ReportKind
    station: str
    text: str
    clock: tuple[int, int, int] | None
    dated: datetime | None
    file: str

    def time(self, now: datetime) -> datetime | None:
        """When it was made, in full; None where its text does not tell. Near its date line, else the last such time."""
        if self.clock is None:
            return None
        day, hour, minute = self.clock
        if self.dated is not None:
            return nearest_time(day, hour, minute, self.dated)
        return last_time(day, hour, minute, now + FUTURE_TOLERANCE)


def _months_around(moment: datetime) -> Iterator[tuple[int, int]]:
    for shift in (-2, -1, 0, 1):
        year, month = divmod(moment.year * 12 + moment.month - 1 + shift, 12)
        if MINYEAR <= year <= MAXYEAR:
            yield year, month + 1


def _times(day: int, hour: int, minute: int, around: datetime) -> list[datetime]:
    if not (0 <= hour < 24 and 0 <= minute < 60):
        return []
    return [
        datetime(year, month, day, hour, minute, tzinfo=UTC)
        for year, month in _months_around(around)
        if 1 <= day <= monthrange(year, month)[1]
    ]


def nearest_time(day: int, hour: int, minute: int, moment: datetime) -> datetime | None:
    """The time with this day of the month and clock that is nearest to `moment`, UTC; None for no such day or clock."""
    return min(_times(day, hour, minute, moment), key=lambda time: abs(time - moment), default=None)


def last_time(day: int, hour: int, minute: int, latest: datetime) -> datetime | None:
    """The last time with this day of the month and clock that is not after `latest`; None for none."""
    return max((time for time in _times(day, hour, minute, latest) if time <= latest), default=None)


@dataclass(frozen=True, slots=True)
class _File:
    signature: tuple[int, int, int]
    reports: tuple[RawReport, ...]


class ReportFolder:
    """The reports of one folder. Safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._files: dict[str, _File] = {}
        self._index: dict[tuple[ReportKind, str], list[RawReport]] = {}
        self._left_out: frozenset[str] = frozenset()

    def newest(self, kind: ReportKind, station: str, now: datetime) -> RawReport | None:
        """The newest report of a station at `now`, a correction before what it corrects; None where there is none.

        A report that names no time is taken only where the station has no other.
        """
        with self._lock:
            self._look()
            return _newest(self._index.get((kind, station), []), now)

    def all_newest(self, kind: ReportKind, now: datetime) -> list[RawReport]:
        """The newest report of every station that has one with a time."""
        with self._lock:
            self._look()
            found = [_newest(reports, now) for (of_kind, _), reports in self._index.items() if of_kind == kind]
        return [report for report in found if report is not None and report.time(now) is not None]

    def _look(self) -> None:
        """Read what is new or changed since the last look, within the limits."""
        wanted = dict(self._entries())
        if {name: file.signature for name, file in self._files.items()} == wanted:
            return
        files: dict[str, _File] = {}
        left = MOST_REPORTS
        for name, signature in wanted.items():
            known = self._files.get(name)
            if known is not None and known.signature == signature:
                files[name] = known
            else:
                files[name] = _File(signature, tuple(islice(self._read(name), left)))
            left = max(0, left - len(files[name].reports))
        self._files = files
        index: dict[tuple[ReportKind, str], list[RawReport]] = {}
        for name in sorted(files):
            for report in files[name].reports:
                index.setdefault((report.kind, report.station), []).append(report)
        self._index = index

    def _entries(self) -> Iterator[tuple[str, tuple[int, int, int]]]:
        found: list[tuple[str, os.stat_result]] = []
        try:
            with os.scandir(self.path) as entries:
                for entry in entries:
                    if entry.name.lower().endswith(SUFFIXES) and not entry.name.startswith(".") and entry.is_file():
                        found.append((entry.name, entry.stat()))
        except OSError as error:
            self._say_left_out({str(self.path)}, f"the folder cannot be read, errno {error.errno}")
            return
        total, left_out = 0, set()
        for number, (name, stat) in enumerate(sorted(found)):
            total += stat.st_size
            if number >= MOST_FILES or stat.st_size > LARGEST_FILE_BYTES or total > MOST_BYTES:
                left_out.add(name)
                total -= stat.st_size
            else:
                yield name, (stat.st_mtime_ns, stat.st_size, stat.st_ino)
        self._say_left_out(left_out, "limits: files, bytes of one, bytes of all")

    def _say_left_out(self, names: set[str], cause: str) -> None:
        if names - self._left_out:
            limits = (MOST_FILES, LARGEST_FILE_BYTES, MOST_BYTES)
            _LOGGER.warning("weather reports are left out", extra={"count": len(names), "cause": cause, "of": limits})
        self._left_out = frozenset(names)

    def _read(self, name: str) -> Iterator[RawReport]:
        try:
            with (self.path / name).open("rb") as file:
                text = file.read(LARGEST_FILE_BYTES).decode("utf-8", errors="replace")
        except OSError as error:
            _LOGGER.warning("a weather report file cannot be read", extra={"errno": error.errno})
            return
        # A name need not be UTF-8, what is told of it must.
        yield from reports_in(text, os.fsencode(name).decode("utf-8", errors="replace"))


def _newest(reports: list[RawReport], now: datetime) -> RawReport | None:
    timed = [(time, number) for number, report in enumerate(reports) if (time := report.time(now)) is not None]
    current = [pair for pair in timed if pair[0] <= now + FUTURE_TOLERANCE]
    if current:
        return reports[max(current)[1]]
    return reports[-1] if reports and not timed else None


def reports_in(text: str, file: str) -> Iterator[RawReport]:
    """The reports of one file's text. A file named after a station that holds no report is one that cannot be read."""
    found = False
    text = _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)
    for lines, dated in _blocks(text):
        report = _report(" ".join(lines), dated, file)
        if report is not None:
            found = True
            yield report
    stem, _, suffix = file.rpartition(".")
    content = " ".join(text.split())
    if not found and content and find_airport(stem) is not None:
        kind: ReportKind = "TAF" if suffix.lower() == "taf" else "METAR"
        yield RawReport(kind, stem.upper(), _bounded(content), None, None, file)


def _blocks(text: str) -> Iterator[tuple[list[str], datetime | None]]:
    """Runs of lines that are one report each, with the date line above. A blank line, "=" and a new start end one."""
    lines: list[str] = []
    dated: datetime | None = None
    for line in [*text.upper().splitlines(), ""]:
        plain = " ".join(line.split())
        date_line = _DATE_LINE.fullmatch(plain)
        starts = _START.match(plain) is not None and not (lines and _KEYWORDS.fullmatch(" ".join(lines)))
        if lines and (not plain or date_line or starts):
            yield lines, dated
            lines = []
        if date_line:
            dated = _date(date_line)
        elif plain and (lines or starts):
            lines[_MOST_LINES:] = []
            lines.append(plain.rstrip("= "))
            if plain.endswith("="):
                yield lines, dated
                lines = []


def _date(match: re.Match[str]) -> datetime | None:
    year, month, day, hour, minute = map(int, match.groups())
    try:
        return datetime(year, month, day, hour, minute, tzinfo=UTC)
    except ValueError:
        return None


def _report(text: str, dated: datetime | None, file: str) -> RawReport | None:
    head = _HEAD.match(text)
    if head is None:
        return None
    kind: ReportKind = "TAF" if "TAF" in head["words"] or head["validity"] else "METAR"
    clock = (int(head["day"]), int(head["hour"]), int(head["minute"])) if head["day"] else None
    return RawReport(kind, head["station"], _bounded(text), clock, dated, file)


def _bounded(text: str) -> str:
    return text if len(text) <= LONGEST_REPORT else text[:LONGEST_REPORT] + " …"

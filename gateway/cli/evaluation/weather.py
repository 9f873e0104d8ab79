"""Reports for the processes of an evaluation: without a source the aviation domain has no forecasts to be asked for.

Made for the moment of the run, since a report of yesterday is no current weather. Called by run.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

STATIONS: Final = (
    *("EDDB", "EDDF", "EDDH", "EDDM", "EFHK", "EGKK", "EGLL", "EKCH", "ENBR", "ENGM", "ESSA", "EVRA", "LDZA"),
    *("LFPG", "LOWW", "LSZH", "UIII", "ULLI", "UMMS", "UNOO", "USSS", "UUEE", "UUWW", "UWKD"),
)


def write_reports(folder: Path, now: datetime) -> None:
    """A METAR of the last half hour and a TAF of the next thirty hours for each of STATIONS; `now` is UTC."""
    folder.mkdir(parents=True, exist_ok=True)
    observed = now.replace(minute=now.minute // 30 * 30)
    begins = now.replace(minute=0)
    ends = begins + timedelta(hours=30)
    period = f"{begins:%d%H}/{ends:%d%H}"
    for station in STATIONS:
        metar = f"METAR {station} {observed:%d%H%M}Z 24012KT 9999 SCT030 07/01 Q1012 NOSIG="
        taf = f"TAF {station} {begins:%d%H%M}Z {period} 24010KT 9999 SCT030="
        (folder / f"{station}.txt").write_text(f"{metar}\n\n{taf}\n", "ascii")

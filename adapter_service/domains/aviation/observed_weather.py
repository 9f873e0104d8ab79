"""Weather and forecasts from the reports of a folder: the newest METAR or TAF of a station, or of one near it (I1).

Called by the tools of tools_weather.py. Every result names station and time and holds the report's own text. A report
that cannot be read is quoted, never guessed at; where there is none, that is the answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from .catalogue import Airport, find_airport, require_airport
from .flight_plan_times import rfc3339
from .forecast_period import read_period
from .geodesy import inverse
from .weather_decoding import Unreadable, decode_metar, decode_taf, overlaid
from .weather_reports import RawReport, ReportFolder, ReportKind
from .weather_texts import conditions_text, group_text, metar_text, moment_text, period_text

# Weather changes over such a distance, but it is the air of the same region; no report from farther away is offered.
NEAREST_LIMIT_KM: Final = 100.0
# Routine reports come every half hour or hour: one older than this is outdated, and stands in for no other station.
OUTDATED_AFTER: Final = timedelta(hours=2)
# A TAF is valid for 30 hours at most (ICAO Annex 3, 6.2).
_TAF_AGE: Final = timedelta(hours=30)
# What an answer quotes of a report that cannot be read, and of groups that were not decoded.
LONGEST_QUOTE: Final = 300
MOST_UNDECODED: Final = 10
_KM_IN_DEGREE: Final = 110.0


@dataclass(frozen=True, slots=True)
class _Found:
    report: RawReport | None
    station: Airport | None
    distance_km: float | None


def get_observed_weather(icao: str, folder: ReportFolder, now: datetime) -> dict[str, Any]:
    """The newest METAR for an airport at `now`.

    {icao, name, status: report | unreadable | nil | no_report, station: {icao, name, distance_km}, observed_time,
    age_minutes, outdated, the values of decode_metar, raw, source, synthetic: False, summary_en, summary_ru}. Raises
    EntityNotFound("icao").
    """
    airport = require_airport(icao)
    found = _find(folder, "METAR", airport, now, OUTDATED_AFTER)
    report = found.report
    if report is None:
        return _without_report(airport, "METAR")
    head = _head(airport, found, report)
    time = report.time(now)
    age = None if time is None else now - time
    outdated = age is not None and age > OUTDATED_AFTER
    result = {
        **head,
        "observed_time": None if time is None else rfc3339(time),
        "age_minutes": None if age is None else max(0, int(age.total_seconds() // 60)),
        "outdated": outdated,
    }
    try:
        values = decode_metar(report.text)
    except Unreadable:
        return _told(result, "unreadable", lambda russian: _unreadable(airport, found, report, russian))
    if values.get("nil"):
        return _told(result, "nil", lambda russian: _nil(airport, found, report, time, russian))

    def say(russian: bool) -> str:
        lead = _lead(airport, found, "METAR", time, russian)
        notes = [_age(age, russian)] if outdated and age is not None else []
        return " ".join([f"{lead}: {metar_text(values, russian=russian)}.", *notes, *_undecoded(values, russian)])

    return _told({**result, **values}, "report", say)


def get_forecast(icao: str, folder: ReportFolder, now: datetime, period: str | None = None) -> dict[str, Any]:
    """The newest TAF for an airport, told for a period ("RFC 3339/RFC 3339"), by default from now to its end.

    {icao, name, status: report | unreadable | nil | no_report | canceled | outside, station, issued_time, valid_from,
    valid_to, period_from, period_to, prevailing, groups: [{change, probability, from, to, conditions}], raw, source,
    synthetic: False, summary_en, summary_ru}. Raises EntityNotFound("icao"), InputInvalid("period").
    """
    airport = require_airport(icao)
    asked = None if period is None else read_period(period)
    found = _find(folder, "TAF", airport, now, _TAF_AGE)
    report = found.report
    if report is None:
        return _without_report(airport, "TAF")
    issued = report.time(now)
    result = {**_head(airport, found, report), "issued_time": None if issued is None else rfc3339(issued)}
    try:
        values = decode_taf(report.text, issued or now)
    except Unreadable:
        return _told(result, "unreadable", lambda russian: _unreadable(airport, found, report, russian))
    if values.get("nil"):
        return _told(result, "nil", lambda russian: _nil(airport, found, report, issued, russian))
    valid = values["valid_from"], values["valid_to"]
    result |= {"valid_from": rfc3339(valid[0]), "valid_to": rfc3339(valid[1]), "amended": values["amended"]}

    def lead(russian: bool) -> str:
        until = ("valid", "действует")[russian]
        return f"{_lead(airport, found, 'TAF', issued, russian)}, {until} {period_text(*valid)} UTC"

    if values["canceled"]:
        text = ("This forecast was cancelled.", "Этот прогноз отменён.")
        return _told(result, "canceled", lambda russian: f"{lead(russian)}. {text[russian]}")
    begins, ends = asked if asked is not None else (max(now, valid[0]), valid[1])
    told_from, told_to = max(begins, valid[0]), min(ends, valid[1])
    if told_from >= told_to:
        beyond = None if asked is None else (begins, ends)
        return _told(result, "outside", lambda russian: f"{lead(russian)}. {_outside(beyond, russian)}")
    prevailing, groups = _during(values, told_from, told_to)
    result |= {
        "period_from": rfc3339(told_from),
        "period_to": rfc3339(told_to),
        "prevailing": prevailing,
        "groups": [{**group, "from": rfc3339(group["from"]), "to": rfc3339(group["to"])} for group in groups],
        "undecoded": values["undecoded"],
    }

    def say(russian: bool) -> str:
        start = ("At", "На")[russian]
        sentences = [
            f"{lead(russian)}.",
            f"{start} {moment_text(told_from)} UTC: {conditions_text(prevailing, russian=russian)}.",
            *(f"{_group(group, russian)}." for group in groups),
        ]
        if asked is not None and (told_from, told_to) != (begins, ends):
            sentences.append(_partly(told_from, told_to, russian))
        return " ".join([*sentences, *_undecoded(values, russian)])

    return _told(result, "report", say)


def _find(folder: ReportFolder, kind: ReportKind, airport: Airport, now: datetime, oldest: timedelta) -> _Found:
    """The airport's own report, else that of the nearest station within NEAREST_LIMIT_KM that has one young enough."""
    own = folder.newest(kind, airport.icao, now)
    if own is not None:
        return _Found(own, airport, None)
    best = _Found(None, None, None)
    for report in folder.all_newest(kind, now):
        station, time = find_airport(report.station), report.time(now)
        if station is None or time is None or now - time > oldest or not _may_be_near(airport, station):
            continue
        metres, _ = inverse(airport.latitude_deg, airport.longitude_deg, station.latitude_deg, station.longitude_deg)
        if metres / 1000 <= NEAREST_LIMIT_KM and (best.distance_km is None or metres / 1000 < best.distance_km):
            best = _Found(report, station, metres / 1000)
    return best


def _may_be_near(one: Airport, other: Airport) -> bool:
    """A cheap bound, so that the exact distance is worked out for few: a degree of latitude is 110 km or more."""
    if abs(one.latitude_deg - other.latitude_deg) * _KM_IN_DEGREE > NEAREST_LIMIT_KM:
        return False
    east = abs((one.longitude_deg - other.longitude_deg + 180.0) % 360.0 - 180.0)
    widest = max(abs(one.latitude_deg), abs(other.latitude_deg))
    return east * _KM_IN_DEGREE * math.cos(math.radians(widest)) <= NEAREST_LIMIT_KM or widest > 85.0


def _during(values: Mapping[str, Any], begins: datetime, ends: datetime) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What prevails when a period begins, and the change groups that touch the period."""
    prevailing: dict[str, Any] = dict(values["prevailing"])
    told: list[dict[str, Any]] = []
    for group in values["groups"]:
        if group["change"] == "FM" and group["from"] <= begins:
            prevailing, told = dict(group["conditions"]), []
        elif group["change"] == "BECMG" and group["to"] <= begins:
            prevailing = overlaid(prevailing, group["conditions"])
        elif group["from"] < ends and group["to"] > begins:
            told.append(dict(group))
    return prevailing, told


def _head(airport: Airport, found: _Found, report: RawReport) -> dict[str, Any]:
    station = found.station or airport
    kilometres = None if found.distance_km is None else round(found.distance_km, 1)
    return {
        "icao": airport.icao,
        "name": airport.name,
        "station": {"icao": station.icao, "name": station.name, "distance_km": kilometres},
        "raw": report.text,
        "source": report.kind,
        "file": report.file,
    }


def _told(result: Mapping[str, Any], status: str, say: Callable[[bool], str]) -> dict[str, Any]:
    return {
        **result,
        "status": status,
        "synthetic": False,
        "label_en": "",
        "label_ru": "",
        "summary_en": say(False),
        "summary_ru": say(True),
    }


def _without_report(airport: Airport, kind: ReportKind) -> dict[str, Any]:
    kilometres = f"{NEAREST_LIMIT_KM:.0f}"
    texts = (
        f"{airport.icao}: there is no {kind} of this station, nor a current one of a station within {kilometres} km.",
        f"{airport.icao}: сводки {kind} этой станции нет, как и свежей сводки станции в пределах {kilometres} км.",
    )
    result = {"icao": airport.icao, "name": airport.name, "station": None, "raw": "", "source": kind, "file": ""}
    return _told(result, "no_report", lambda russian: texts[russian])


def _lead(airport: Airport, found: _Found, kind: ReportKind, time: datetime | None, russian: bool) -> str:
    """Station, kind and time; a station other than the one that was asked for is named as such."""
    when = "" if time is None else f" {('of', 'от')[russian]} {moment_text(time)} UTC"
    if found.distance_km is None or found.station is None:
        return f"{airport.icao}, {kind}{when}"
    station = f"{found.station.name} ({found.station.icao})"
    distance = f"{found.distance_km:.0f}"
    return (
        f"{airport.icao} has no {kind} of its own; the nearest one is from {station}, {distance} km away, {kind}{when}",
        f"{airport.icao}: своей сводки {kind} нет, ближайшая — {station}, {distance} км отсюда, {kind}{when}",
    )[russian]


def _unreadable(airport: Airport, found: _Found, report: RawReport, russian: bool) -> str:
    lead = _lead(airport, found, report.kind, None, russian)
    text = report.text if len(report.text) <= LONGEST_QUOTE else report.text[:LONGEST_QUOTE] + "…"
    return (
        f"{lead}: the report cannot be read, so nothing is said about the weather. Its text: “{text}”",
        f"{lead}: сводка не читается, поэтому о погоде ничего не сказано. Её текст: «{text}»",
    )[russian]


def _nil(airport: Airport, found: _Found, report: RawReport, time: datetime | None, russian: bool) -> str:
    lead = _lead(airport, found, report.kind, time, russian)
    return (f"{lead}: the station sent no data (NIL).", f"{lead}: станция не передала данных (NIL).")[russian]


def _age(age: timedelta, russian: bool) -> str:
    minutes = int(age.total_seconds() // 60)
    days, hours = divmod(minutes // 60, 24)
    if days:
        told = f"{days} {('d', 'сут')[russian]} {hours} {('h', 'ч')[russian]}"
    else:
        told = f"{hours} {('h', 'ч')[russian]} {minutes % 60} {('min', 'мин')[russian]}"
    return (f"This report is {told} old.", f"Этой сводке уже {told}.")[russian]


def _undecoded(values: Mapping[str, Any], russian: bool) -> list[str]:
    groups = values["undecoded"][:MOST_UNDECODED]
    if not groups:
        return []
    return [f"{('Not decoded', 'Не расшифровано')[russian]}: {' '.join(groups)}."]


def _outside(period: tuple[datetime, datetime] | None, russian: bool) -> str:
    if period is None:
        return ("It is no longer valid.", "Срок его действия истёк.")[russian]
    asked = period_text(*period)
    return (
        f"It says nothing about {asked} UTC.",
        f"О времени {asked} UTC он ничего не говорит.",
    )[russian]


def _partly(begins: datetime, ends: datetime, russian: bool) -> str:
    covered = period_text(begins, ends)
    return (f"It covers only {covered} UTC of that.", f"Из этого он охватывает только {covered} UTC.")[russian]


def _group(group: Mapping[str, Any], russian: bool) -> str:
    told = conditions_text(group["conditions"], russian=russian)
    return group_text(group["change"], group["probability"], group["from"], group["to"], told, russian=russian)

"""What the tools about places say about their results: sentences, citations, referents, limitations (F3, F4, H4).

Called by the tool declarations; flight plans are told in plan_answers.py, searches in
search_answers.py. An airport is named as "Name (ICAO)"
wherever it is named; nothing is claimed beyond the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from adapter_service.domains.aviation.catalogue import find_airport
from adapter_service.domains.aviation.countries import country_name
from adapter_service.domains.aviation.planner.follow_ups import topic_referent
from adapter_service.domains.aviation.planner.references import AIRPORT, position_referent
from adapter_service.sdk import EntityCitation, Referent

DOCUMENT_TYPE: Final = "airport"


def is_russian(locale: str) -> bool:
    """Is the answer told in Russian?"""
    return locale == "ru"


def named(airport: Mapping[str, Any]) -> str:
    """ "Berlin Brandenburg Airport (EDDB)"."""
    return f"{airport['name']} ({airport['icao']})"


def located(airport: Mapping[str, Any], locale: str) -> str:
    """ "Berlin Brandenburg Airport (EDDB), Berlin, Germany"."""
    parts = [named(airport), airport["city"], country_name(airport["country"], locale)]
    return ", ".join(part for part in parts if part)


def known_airport(icao: str | None) -> str:
    """An airport by its code: "Name (ICAO)"; "?" for none."""
    airport = find_airport(icao or "")
    return f"{airport.name} ({airport.icao})" if airport else "?"


def kilometres(distance: float, locale: str) -> str:
    """ "1,234.5 km", «1 234,5 км»."""
    text = f"{distance:,.1f}"
    return f"{text.replace(',', ' ').replace('.', ',')} км" if is_russian(locale) else f"{text} km"


def _nautical_miles(distance_km: float, locale: str) -> str:
    """Whole nautical miles of 1.852 km, in which flights are planned."""
    miles = round(distance_km / 1.852)
    if not is_russian(locale):
        return f"{miles:,} NM"
    return f"{miles:,} ".replace(",", " ") + plural_ru(miles, "морская миля", "морские мили", "морских миль")


def plural_ru(number: int, one: str, few: str, many: str) -> str:
    """The Russian noun form that a number asks for."""
    if number % 10 == 1 and number % 100 != 11:
        return one
    return few if number % 10 in (2, 3, 4) and number % 100 not in (12, 13, 14) else many


# --- position -----------------------------------------------------------------------------------------------------

_SOURCES: Final = {
    "device": ("sent by your device", "отправлено вашим устройством"),
    "user": ("as you gave it", "как вы указали"),
    "demo": ("a demo position, not your real one", "демонстрационное, не настоящее"),
    "system": ("set by the system", "задано системой"),
}


def say_position(result: Any, locale: str) -> str:
    """Where the user is, from which source, and since when."""
    en, ru = _SOURCES.get(result["source"], (f"source: {result['source']}", f"источник: {result['source']}"))
    where = f"{result['latitude_deg']:.4f}, {result['longitude_deg']:.4f}"
    place = result.get("place")
    near = f" ({named(place)})" if place else ""
    observed = minute(result.get("observed_time"))
    if is_russian(locale):
        return f"Ваше положение: {where}{near}; {ru}{f', {observed}' if observed else ''}."
    return f"Your position: {where}{near}; {en}{f', {observed}' if observed else ''}."


def minute(time: Any) -> str:
    """An RFC 3339 time to the minute: "2030-01-02 09:00 UTC"; "" for none."""
    text = str(time or "")
    return f"{text[:10]} {text[11:16]} UTC" if len(text) >= 16 else ""


def refer_position(result: Any) -> tuple[Referent, ...]:
    """A position that the user gave is kept for the next requests; one that the client sends comes with each."""
    given = result["source"] == "user" and result.get("observed_time")
    return (position_referent(result),) if given else ()


def cite_position(result: Any) -> tuple[EntityCitation, ...]:
    """The airport that the user named as their place, if so."""
    place = result.get("place")
    return (EntityCitation(DOCUMENT_TYPE, place["icao"]),) if place else ()


def limit_position(result: Any, locale: str) -> tuple[str, ...]:
    """A place named instead of coordinates is only that accurate."""
    if not result.get("place"):
        return ()
    if is_russian(locale):
        return ("За ваше положение взято положение названного аэропорта.",)
    return ("Your position was taken to be that of the airport you named.",)


# --- airports -----------------------------------------------------------------------------------------------------


def say_airport(result: Any, locale: str) -> str:
    """Where an airport is, its codes, elevation and time zone."""
    iata = result["iata"]
    where = f"{result['latitude_deg']:.4f}, {result['longitude_deg']:.4f}"
    if is_russian(locale):
        code = f"код ИАТА {iata}, " if iata else "кода ИАТА нет, "
        details = f"{code}координаты {where}, высота {result['elevation_ft']:.0f} футов, часовой пояс {result['tz']}"
    else:
        code = f"IATA code {iata}, " if iata else "no IATA code, "
        details = f"{code}coordinates {where}, elevation {result['elevation_ft']:.0f} ft, time zone {result['tz']}"
    return f"{located(result, locale)}: {details}."


def cite_airport(result: Any) -> tuple[EntityCitation, ...]:
    """The airport of a result that has one (an airport, its weather)."""
    return (EntityCitation(DOCUMENT_TYPE, result["icao"]),)


def refer_airport(result: Any) -> tuple[Referent, ...]:
    """ "There" is this airport; its details were asked for."""
    return topic_referent("get_airport"), Referent(AIRPORT, result["icao"], named(result))


def refer_weather(result: Any) -> tuple[Referent, ...]:
    """ "There" is this airport; its weather was asked for."""
    return topic_referent("get_weather"), Referent(AIRPORT, result["icao"], named(result))


def limit_airport(_result: Any, locale: str) -> tuple[str, ...]:
    """Where the details come from (H4)."""
    if is_russian(locale):
        return ("Данные из открытого каталога airportsdata; открыт ли аэропорт сегодня, неизвестно.",)
    return ("The data come from the open catalogue airportsdata; whether the airport is open today is not known.",)


def say_weather(result: Any, locale: str) -> str:
    """The weather; the summary itself marks synthetic data by one word, limit_weather says what that means."""
    summary: str = result["summary_ru"] if is_russian(locale) else result["summary_en"]
    return summary.replace(result["icao"], named(result), 1)


def limit_weather(result: Any, locale: str) -> tuple[str, ...]:
    """Synthetic weather says so."""
    label = result["label_ru"] if is_russian(locale) else result["label_en"]
    return (label,) if result["synthetic"] else ()


# --- routes -------------------------------------------------------------------------------------------------------


def say_route(result: Any, locale: str) -> str:
    """The ends, the distance and the initial course."""
    route = result["properties"]
    ends = f"{named(route['departure'])} – {named(route['destination'])}"
    course = f"{route['initial_course_deg']:.1f}°"
    distance = f"{kilometres(route['distance_km'], locale)} ({_nautical_miles(route['distance_km'], locale)})"
    if is_russian(locale):
        return f"Маршрут построен: {ends}, {distance} по ортодромии, начальный курс {course.replace('.', ',')}."
    return f"Route built: {ends}, {distance} along the great circle, initial course {course}."


def title_route(result: Any) -> str:
    """The route's artifact title."""
    route = result["properties"]
    return f"Route {route['departure']['icao']} – {route['destination']['icao']}"


def _ends(result: Any) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    return result["properties"]["destination"], result["properties"]["departure"]


def cite_route(result: Any) -> tuple[EntityCitation, ...]:
    """Both ends."""
    return tuple(EntityCitation(DOCUMENT_TYPE, end["icao"]) for end in _ends(result))


def refer_route(result: Any) -> tuple[Referent, ...]:
    """ "There" is the destination."""
    destination, departure = _ends(result)
    topic = topic_referent("build_route", departure=departure["icao"], destination=destination["icao"])
    return topic, *(Referent(AIRPORT, end["icao"], named(end)) for end in _ends(result))


def limit_route(_result: Any, locale: str) -> tuple[str, ...]:
    """A great circle is no flyable route."""
    if is_russian(locale):
        return (
            "Это кратчайшая линия на земном эллипсоиде, без учёта воздушных трасс, ветра и запретных зон; время полёта "
            "не рассчитывалось.",
        )
    return (
        "This is the shortest line on the ellipsoid; airways, wind and restricted areas are not considered, and no "
        "flight time was worked out.",
    )

"""What the aviation tools say about their results: sentences, citations, referents, limitations (F3, F4, H4).

Called by the tool declarations. An airport is named as "Name (ICAO)" wherever it is named; nothing is claimed beyond
the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from adapter_service.domains.aviation.catalogue import find_airport
from adapter_service.domains.aviation.countries import country_name
from adapter_service.domains.aviation.planner.references import AIRPORT, AIRPORT_OPTION
from adapter_service.domains.aviation.questions import field_name
from adapter_service.domains.aviation.resolvers import display_value
from adapter_service.sdk import EntityCitation, Finding, Referent, Severity

# More airports than this are counted, not listed, in an answer.
_MOST_LISTED: Final = 20
# More than this is no list that "there" could choose from.
_MOST_OPTIONS: Final = 10
_DOCUMENT_TYPE: Final = "airport"


def _is_ru(locale: str) -> bool:
    return locale == "ru"


def named(airport: Mapping[str, Any]) -> str:
    """ "Berlin Brandenburg Airport (EDDB)"."""
    return f"{airport['name']} ({airport['icao']})"


def _located(airport: Mapping[str, Any], locale: str) -> str:
    parts = [named(airport), airport["city"], country_name(airport["country"], locale)]
    return ", ".join(part for part in parts if part)


def _known(icao: str | None) -> str:
    airport = find_airport(icao or "")
    return f"{airport.name} ({airport.icao})" if airport else "?"


def _km(distance: float, locale: str) -> str:
    text = f"{distance:,.1f}"
    return f"{text.replace(',', ' ').replace('.', ',')} км" if _is_ru(locale) else f"{text} km"


def _plural_ru(number: int, one: str, few: str, many: str) -> str:
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
    observed = _minute(result.get("observed_time"))
    if _is_ru(locale):
        return f"Ваше положение: {where}{near}; {ru}{f', {observed}' if observed else ''}."
    return f"Your position: {where}{near}; {en}{f', {observed}' if observed else ''}."


def _minute(time: Any) -> str:
    """An RFC 3339 time to the minute: "2030-01-02 09:00 UTC"; "" for none."""
    text = str(time or "")
    return f"{text[:10]} {text[11:16]} UTC" if len(text) >= 16 else ""


def cite_position(result: Any) -> tuple[EntityCitation, ...]:
    """The airport that the user named as their place, if so."""
    place = result.get("place")
    return (EntityCitation(_DOCUMENT_TYPE, place["icao"]),) if place else ()


def limit_position(result: Any, locale: str) -> tuple[str, ...]:
    """A place named instead of coordinates is only that accurate."""
    if not result.get("place"):
        return ()
    if _is_ru(locale):
        return ("За ваше положение взято положение названного аэропорта.",)
    return ("Your position was taken to be that of the airport you named.",)


# --- airports -----------------------------------------------------------------------------------------------------


def _item(airport: Mapping[str, Any], locale: str) -> str:
    distance = airport.get("distance_km")
    return _located(airport, locale) + (f" — {_km(distance, locale)}" if distance is not None else "")


def say_search(result: Any, locale: str) -> str:
    """What was found, and in which data (H4)."""
    airports, total, scope = result["airports"], result["total"], result["scope"]
    count = scope["airport_count"]
    data_en = f"Data: {scope['source']} {scope['version']}, {count} airports."
    data_ru = f"Данные: {scope['source']} {scope['version']}, аэропортов в каталоге: {count}."
    data = data_ru if _is_ru(locale) else data_en
    if not airports:
        nothing = "Подходящих аэропортов не найдено." if _is_ru(locale) else "No airport was found for that."
        return f"{nothing} {data}"
    if len(airports) == 1 and (total == 1 or result["limit"] == 1):
        head = _single_head(result, locale)
        return f"{head}: {_item(airports[0], locale)}. {data}"
    lines = [f"{result['offset'] + index}. {_item(a, locale)}" for index, a in enumerate(airports[:_MOST_LISTED], 1)]
    return "\n".join([_list_head(result, len(lines), locale), *lines, data])


def _single_head(result: Mapping[str, Any], locale: str) -> str:
    if result["offset"]:
        return "Найден" if _is_ru(locale) else "Found"
    heads = {
        "distance": ("The nearest airport", "Ближайший аэропорт"),
        "distance_desc": ("The farthest airport", "Самый дальний аэропорт"),
    }
    en, ru = heads.get(result["sort"], ("Found", "Найден"))
    if result["total"] == 1 and result["limit"] > 1:
        en, ru = "One airport was found", "Найден один аэропорт"
    return ru if _is_ru(locale) else en


def _list_head(result: Mapping[str, Any], shown: int, locale: str) -> str:
    total = result["total"]
    ranked = {"distance": ("nearest", "Ближайшие"), "distance_desc": ("farthest", "Самые дальние")}.get(result["sort"])
    if ranked and result.get("radius_km") is None and shown < total:
        # Every airport has some distance: how many there are in all says nothing.
        return f"{ranked[1]} аэропорты:" if _is_ru(locale) else f"The {ranked[0]} airports:"
    if _is_ru(locale):
        found = f"Найдено {total} {_plural_ru(total, 'аэропорт', 'аэропорта', 'аэропортов')}"
        return f"{found}:" if shown == total else f"{found}, показано {shown}:"
    return f"{total} airports were found:" if shown == total else f"{total} airports were found, {shown} are shown:"


def cite_search(result: Any) -> tuple[EntityCitation, ...]:
    """The airports that the answer lists."""
    return tuple(EntityCitation(_DOCUMENT_TYPE, airport["icao"]) for airport in result["airports"][:_MOST_LISTED])


def refer_search(result: Any) -> tuple[Referent, ...]:
    """ "There" after one airport, or after the nearest, is that one; after another list it is a choice."""
    airports = result["airports"]
    if len(airports) == 1:
        return (Referent(AIRPORT, airports[0]["icao"], named(airports[0])),)
    return tuple(Referent(AIRPORT_OPTION, airport["icao"], named(airport)) for airport in airports[:_MOST_OPTIONS])


def limit_search(result: Any, locale: str) -> tuple[str, ...]:
    """What the catalogue covers, and what the search left out."""
    scope = result["scope"]
    return (scope["note_ru"] if _is_ru(locale) else scope["note_en"],)


def view_search(result: Any) -> Any:
    """The count and the airports' identities, without their details (H1)."""
    return {
        "total": result["total"],
        "airports": [
            {key: airport[key] for key in ("icao", "name", "city", "distance_km") if key in airport}
            for airport in result["airports"][:_MOST_LISTED]
        ],
    }


def say_airport(result: Any, locale: str) -> str:
    """Where an airport is, its codes, elevation and time zone."""
    iata = result["iata"]
    where = f"{result['latitude_deg']:.4f}, {result['longitude_deg']:.4f}"
    if _is_ru(locale):
        code = f"код ИАТА {iata}, " if iata else "кода ИАТА нет, "
        details = f"{code}координаты {where}, высота {result['elevation_ft']:.0f} футов, часовой пояс {result['tz']}"
    else:
        code = f"IATA code {iata}, " if iata else "no IATA code, "
        details = f"{code}coordinates {where}, elevation {result['elevation_ft']:.0f} ft, time zone {result['tz']}"
    return f"{_located(result, locale)}: {details}."


def cite_airport(result: Any) -> tuple[EntityCitation, ...]:
    """The airport of a result that has one (an airport, its weather)."""
    return (EntityCitation(_DOCUMENT_TYPE, result["icao"]),)


def refer_airport(result: Any) -> tuple[Referent, ...]:
    """ "There" is this airport."""
    return (Referent(AIRPORT, result["icao"], named(result)),)


def limit_airport(_result: Any, locale: str) -> tuple[str, ...]:
    """Where the details come from (H4)."""
    if _is_ru(locale):
        return ("Данные из открытого каталога airportsdata; открыт ли аэропорт сегодня, неизвестно.",)
    return ("The data come from the open catalogue airportsdata; whether the airport is open today is not known.",)


def say_weather(result: Any, locale: str) -> str:
    """The weather, labelled where it is synthetic."""
    summary = result["summary_ru"] if _is_ru(locale) else result["summary_en"]
    label = result["label_ru"] if _is_ru(locale) else result["label_en"]
    told = summary.replace(result["icao"], named(result), 1)
    return f"{told} {label}".strip()


def limit_weather(result: Any, locale: str) -> tuple[str, ...]:
    """Synthetic weather says so."""
    label = result["label_ru"] if _is_ru(locale) else result["label_en"]
    return (label,) if result["synthetic"] else ()


# --- routes -------------------------------------------------------------------------------------------------------


def say_route(result: Any, locale: str) -> str:
    """The ends, the distance and the initial course."""
    route = result["properties"]
    ends = f"{named(route['departure'])} – {named(route['destination'])}"
    course = f"{route['initial_course_deg']:.1f}°"
    distance = _km(route["distance_km"], locale)
    if _is_ru(locale):
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
    return tuple(EntityCitation(_DOCUMENT_TYPE, end["icao"]) for end in _ends(result))


def refer_route(result: Any) -> tuple[Referent, ...]:
    """ "There" is the destination."""
    return tuple(Referent(AIRPORT, end["icao"], named(end)) for end in _ends(result))


def limit_route(_result: Any, locale: str) -> tuple[str, ...]:
    """A great circle is no flyable route."""
    if _is_ru(locale):
        return ("Это кратчайшая линия на земном эллипсоиде, без учёта воздушных трасс, ветра и запретных зон.",)
    return ("This is the shortest line on the ellipsoid; airways, wind and restricted areas are not considered.",)


# --- flight plans -------------------------------------------------------------------------------------------------


def summarise_plan(plan: Mapping[str, Any], locale: str) -> str:
    """The fields of a plan that are known, in the order of a dispatcher's reading, and those taken for granted."""
    parts = [
        f"{field_name(field).localized(locale)}: {_shown(field, plan[field])}"
        for field in _READING_ORDER
        if plan.get(field) not in (None, "", [])
    ]
    text = "; ".join(parts) or ("всё ещё пусто" if _is_ru(locale) else "nothing is known yet")
    assumed = ", ".join(field_name(item["field"]).localized(locale) for item in plan.get("assumptions", ()))
    if not assumed:
        return f"{text}."
    return f"{text}. {'Принято по умолчанию' if _is_ru(locale) else 'Assumed'}: {assumed}."


_READING_ORDER: Final = (
    "aircraft_id",
    "aircraft_type",
    "departure_icao",
    "destination_icao",
    "departure_time",
    "cruising_speed",
    "level",
    "route",
    "total_eet_minutes",
    "endurance_minutes",
    "persons_on_board",
    "alternate_icaos",
    "flight_rules",
    "flight_type",
    "wake_category",
    "equipment",
    "other_information",
)


def _shown(field: str, value: Any) -> str:
    if field in ("departure_icao", "destination_icao"):
        return _known(value)
    if field == "alternate_icaos":
        return ", ".join(_known(icao) for icao in value)
    if field == "departure_time":
        return _minute(value)
    return display_value(field, value)


def title_plan(plan: Any) -> str:
    """The plan's artifact title: callsign and ends, as far as known."""
    ends = [plan.get("departure_icao") or "?", plan.get("destination_icao") or "?"]
    callsign = plan.get("aircraft_id")
    return " ".join(["Flight plan", *([callsign] if callsign else []), "–".join(ends)])


def say_draft(plan: Any, locale: str) -> str:
    """A draft is there; it is no filing."""
    head = "Черновик плана полёта составлен" if _is_ru(locale) else "A flight plan is drafted"
    return f"{head}: {summarise_plan(plan, locale)}"


def say_revision(plan: Any, locale: str) -> str:
    """The plan has a new version."""
    head = "План полёта изменён" if _is_ru(locale) else "The flight plan was changed"
    return f"{head}: {summarise_plan(plan, locale)}"


def cite_plan(plan: Any) -> tuple[EntityCitation, ...]:
    """The airports of a plan."""
    ends = [plan.get("destination_icao"), plan.get("departure_icao"), *plan.get("alternate_icaos", ())]
    return tuple(EntityCitation(_DOCUMENT_TYPE, icao) for icao in ends if icao)


def refer_plan(plan: Any) -> tuple[Referent, ...]:
    """ "There" after a plan is its destination."""
    ends = [plan.get("destination_icao"), plan.get("departure_icao")]
    return tuple(Referent(AIRPORT, icao, _known(icao)) for icao in ends if icao)


def say_findings(findings: Any, locale: str) -> str:
    """What the validation found, errors first."""
    checked: Sequence[Finding] = findings
    errors = [finding for finding in checked if finding.severity is Severity.ERROR]
    warnings = [finding for finding in checked if finding.severity is not Severity.ERROR]
    notes = " ".join(finding.message.localized(locale) for finding in warnings)
    if errors:
        told = " ".join(finding.message.localized(locale) for finding in errors)
        if _is_ru(locale):
            noun = _plural_ru(len(errors), "ошибка", "ошибки", "ошибок")
            return f"Проверка плана полёта: {len(errors)} {noun}. {told} {notes}".strip()
        noun = "error" if len(errors) == 1 else "errors"
        return f"Validation of the flight plan: {len(errors)} {noun}. {told} {notes}".strip()
    if _is_ru(locale):
        return f"План полёта прошёл проверку.{f' Замечания: {notes}' if notes else ''}"
    return f"The flight plan passed validation.{f' Warnings: {notes}' if notes else ''}"


def say_filing(receipt: Any, locale: str) -> str:
    """The receipt of a filing; only this tool claims it."""
    time = _minute(receipt["filed_time"])
    if _is_ru(locale):
        return f"План полёта подан: квитанция {receipt['filing_id']}, {time}. Сообщение: {receipt['fpl']}"
    return f"The flight plan was filed: receipt {receipt['filing_id']}, {time}. Message: {receipt['fpl']}"


def limit_filing(_receipt: Any, locale: str) -> tuple[str, ...]:
    """The outbox is a folder, no air traffic services unit."""
    if _is_ru(locale):
        return ("Сообщение записано в папку исходящих; органу обслуживания воздушного движения оно не передано.",)
    return ("The message was written to the outbox folder; no air traffic services unit has received it.",)

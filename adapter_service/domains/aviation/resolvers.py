"""Resolvers of the aviation domain: from a user's words to a value, a closed list, or an explained refusal (C5, C11).

Declared by domain.py under the names that the slots use. Nothing here guesses between equals.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from adapter_service.domains.aviation.catalogue import Airport, find_airport
from adapter_service.domains.aviation.coordinates import parse_coordinates
from adapter_service.domains.aviation.countries import country_code, country_name
from adapter_service.domains.aviation.errors import EntityNotFound, InputInvalid, quoted
from adapter_service.domains.aviation.flight_plan_changes import CHANGEABLE_FIELDS, parse_change
from adapter_service.domains.aviation.flight_plan_fields import MOST_ALTERNATES, parse_alternates, parse_field
from adapter_service.domains.aviation.forecast_period import parse_period
from adapter_service.domains.aviation.matching import resolve_airport
from adapter_service.domains.aviation.planner.references import (
    airport_options,
    chosen_of,
    is_reference,
    says_nothing,
)
from adapter_service.domains.aviation.questions import (
    PLAN_FIELDS,
    accepted_ru,
    change_resolver_of,
    field_name,
    resolver_of,
)
from adapter_service.domains.aviation.warming import INDEXES
from adapter_service.sdk import (
    Candidate,
    Candidates,
    Resolution,
    ResolveContext,
    Resolved,
    Resolver,
    Text,
    Unresolved,
)

_AIRPORT_FORM: Final = Text(
    "Write a city, an airport name, or an IATA or ICAO code.",
    "Напишите город, название аэропорта или код ИАТА или ИКАО.",
)
_POSITION_FORM: Final = Text(
    "Accepted is latitude and longitude in degrees, for example 52.52, 13.40, or a city or an airport.",
    "Подойдут широта и долгота в градусах, например 52.52, 13.40, либо город или аэропорт.",
)


# A field named without a value ("change the level") reaches its resolver as an empty text, so that it is asked for.
_VALUE_NEEDED: Final = Unresolved(Text("A value is needed.", "Нужно значение."), "tool_input_invalid")


# A whole city or airport name is meant even where it is an ordinary word too ("Nice").
_SAID_OUTRIGHT: Final = ("city", "name", "icao_code")


def display_name(airport: Airport) -> str:
    """An airport as choices show it: "Berlin Brandenburg Airport (EDDB), Berlin, DE"."""
    parts = [f"{airport.name} ({airport.icao})", airport.city, airport.country]
    return ", ".join(part for part in parts if part)


def _describe(airport: Airport, locale: str) -> str:
    parts = [country_name(airport.country, locale), airport.subdivision, f"IATA {airport.iata}" if airport.iata else ""]
    return ", ".join(part for part in parts if part)


def _candidate(airport: Airport, locale: str, value: Any) -> Candidate:
    return Candidate(airport.icao, display_name(airport), _describe(airport, locale), value)


def resolve_place(text: str, context: ResolveContext) -> Resolution:
    """The ICAO code of the airport that a text names; a closed list where several do, also for "there" after a list."""
    if is_reference(text):
        return _resolve_reference(text, context)
    INDEXES.wait()
    found = resolve_airport(text)
    if found.how not in _SAID_OUTRIGHT and says_nothing(text):
        return Unresolved(
            Text(
                f"{quoted(text)} names no airport. Write a city, a name or a code.",
                f"«{_plain(text)}» — не название аэропорта. Напишите город, название или код.",
            )
        )
    if found.airport is not None:
        return Resolved(found.airport.icao, display_name(found.airport))
    airports = [match.airport for match in found.candidates]
    if airports:
        # A resemblance is not taken for granted, not even a single one.
        options = tuple(_candidate(airport, context.locale, airport.icao) for airport in airports)
        return Candidates(options, guessed=len(options) == 1 or not found.exact)
    return Unresolved(_unknown_place(text, context))


def _plain(text: str) -> str:
    return quoted(text).strip("“”")


def _unknown_place(text: str, context: ResolveContext) -> Text:
    country = country_code(text)
    if country is not None:
        return Text(
            f"{country_name(country, 'en')} is a country. Name a city or an airport in it.",
            f"{country_name(country, 'ru')} — это страна. Назовите город или аэропорт в ней.",
        )
    return Text(f"{quoted(text)} is not in the airport catalogue.", f"«{_plain(text)}» нет в каталоге аэропортов.")


def _resolve_reference(text: str, context: ResolveContext) -> Resolution:
    airports = [airport for o in airport_options(context.memory) if (airport := find_airport(o.identity)) is not None]
    if not airports:
        return Unresolved(
            Text(
                f"No airport was mentioned before. {_AIRPORT_FORM.en}",
                f"Раньше аэропорт не упоминался. {_AIRPORT_FORM.ru}",
            )
        )
    chosen = chosen_of(text, airports)
    if chosen is not None:
        return Resolved(chosen.icao, display_name(chosen))
    return Candidates(tuple(_candidate(airport, context.locale, airport.icao) for airport in airports))


def resolve_country(text: str, context: ResolveContext) -> Resolution:
    """The ISO 3166-1 alpha-2 code of a country."""
    code = country_code(text)
    if code is None:
        return Unresolved(
            Text(
                f"{quoted(text)} is no country that I know. Write its name or two-letter code, for example Germany or "
                f"DE.",
                f"«{_plain(text)}» — неизвестная страна. Напишите название или двухбуквенный код, например Германия "
                f"или DE.",
            )
        )
    return Resolved(code, country_name(code, context.locale))


def resolve_position(text: str, context: ResolveContext) -> Resolution:
    """A position as the user gives it: coordinates, or the airport or city where they are."""
    coordinates = parse_coordinates(text)
    if coordinates is not None:
        latitude, longitude = coordinates
        return Resolved(_position(latitude, longitude, "coordinates", context), f"{latitude:g}, {longitude:g}")
    place = resolve_place(text, context)
    if isinstance(place, Resolved):
        return Resolved(_airport_position(place.value, context), place.display)
    if isinstance(place, Candidates):
        return Candidates(
            tuple(
                Candidate(o.identity, o.display_name, o.description, _airport_position(o.value, context))
                for o in place.options
            ),
            place.guessed,
        )
    return Unresolved(
        Text(f"{place.explanation.en} {_POSITION_FORM.en}", f"{place.explanation.ru} {_POSITION_FORM.ru}"),
        "tool_input_invalid" if any(char.isdigit() for char in text) else place.code,
    )


def _position(latitude: float, longitude: float, scope: str, context: ResolveContext) -> dict[str, Any]:
    return {
        "latitude_deg": latitude,
        "longitude_deg": longitude,
        "source": "user",
        "scope": scope,
        "observed_time": context.now.isoformat(),
    }


def _airport_position(icao: str, context: ResolveContext) -> dict[str, Any]:
    airport = find_airport(icao)
    assert airport is not None, "a resolved place is in the catalogue"
    position = _position(airport.latitude_deg, airport.longitude_deg, "place", context)
    return {**position, "place": {"icao": airport.icao, "name": airport.name}}


def _plan_field(field: str) -> Resolver:
    def resolve(text: str, context: ResolveContext) -> Resolution:
        if not text.strip():
            return _VALUE_NEEDED
        try:
            value = parse_field(field, text, context.now)
        except EntityNotFound as error:
            return Unresolved(_unknown_place(error.text, context), error.code)
        except InputInvalid as error:
            return Unresolved(_malformed(field, text, error.accepted), error.code)
        return Resolved(value, display_value(field, value))

    return resolve


def _changed_field(field: str) -> Resolver:
    """Resolves what the field's own resolver does, and an amount to change it by ("two more passengers")."""
    plain = _plan_field(field)

    def resolve(text: str, context: ResolveContext) -> Resolution:
        change = parse_change(field, text)
        return plain(text, context) if change is None else Resolved(change, change)

    return resolve


def _malformed(field: str, text: str, accepted: str) -> Text:
    name = field_name(field)
    return Text(
        f"{quoted(text)} does not fit {name.en}: accepted is {accepted}.",
        f"«{_plain(text)}» не подходит для поля «{name.ru}»: принимается {accepted_ru(field)}.",
    )


def resolve_forecast_period(text: str, context: ResolveContext) -> Resolution:
    """The period of a forecast as "RFC 3339/RFC 3339"."""
    try:
        period = parse_period(text, context.now)
    except InputInvalid as error:
        return Unresolved(
            Text(
                f"{quoted(text)} is no time that I understand: accepted is {error.accepted}.",
                f"«{_plain(text)}» — непонятное время: принимается время или часть суток по UTC, например завтра в "
                f"14:00, сегодня ночью, завтра утром, через 3 часа.",
            ),
            error.code,
        )
    return Resolved(period, text.strip())


def resolve_alternates(text: str, context: ResolveContext) -> Resolution:
    """Up to two alternates; where one of a single alternate's several meanings must be chosen, a closed list."""
    if not text.strip():
        return _VALUE_NEEDED
    try:
        codes = parse_alternates(text)
    except EntityNotFound as error:
        return Unresolved(_unknown_place(error.text, context), error.code)
    except InputInvalid as error:
        place = resolve_place(text, context)
        if isinstance(place, Candidates) and MOST_ALTERNATES:
            return Candidates(
                tuple(Candidate(o.identity, o.display_name, o.description, [o.value]) for o in place.options),
                place.guessed,
            )
        return Unresolved(_malformed("alternate_icaos", text, error.accepted), error.code)
    return Resolved(codes, ", ".join(codes))


def display_value(field: str, value: Any) -> str:
    """A canonical field value as people read it; minutes as hours and minutes."""
    if field.endswith("_minutes"):
        return f"{int(value) // 60}:{int(value) % 60:02d}"
    return ", ".join(str(item) for item in value) if isinstance(value, list) else str(value)


def resolvers() -> Mapping[str, Resolver]:
    """Every resolver by the name that slots use."""
    changes = {change_resolver_of(field): _changed_field(field) for field in CHANGEABLE_FIELDS}
    by_field = {resolver_of(field): _plan_field(field) for field in PLAN_FIELDS if resolver_of(field) != "airport"}
    return {
        **by_field,
        **changes,
        "airport": resolve_place,
        "country": resolve_country,
        "position": resolve_position,
        "forecast_period": resolve_forecast_period,
        resolver_of("alternate_icaos"): resolve_alternates,
    }

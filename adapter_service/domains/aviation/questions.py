"""How the parameters of the aviation tools are asked for: questions with the accepted form, labels, resolvers.

Called by the tool declarations and the resolvers. Texts in English and Russian.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from adapter_service.domains.aviation.flight_plan_changes import CHANGEABLE_FIELDS
from adapter_service.domains.aviation.flight_plan_questions import FIELD_QUESTIONS
from adapter_service.sdk import FactView, Slot, Text

# field: (name, accepted form in Russian; the English form is the parser's own)
_FIELDS: Final[Mapping[str, tuple[Text, str]]] = {
    "aircraft_id": (
        Text("aircraft identification", "позывной или регистрационный знак"),
        "от 2 до 7 латинских букв и цифр, например AFL123 или D-ABCD",
    ),
    "flight_rules": (Text("flight rules", "правила полёта"), "I (ППП), V (ПВП), Y (сначала ППП) или Z (сначала ПВП)"),
    "flight_type": (
        Text("type of flight", "вид полёта"),
        "S (регулярный), N (нерегулярный), G (общего назначения), M (военный) или X (другой)",
    ),
    "aircraft_type": (
        Text("aircraft type", "тип воздушного судна"),
        "обозначение ИКАО из 2–4 латинских букв и цифр, например A320, B738 или C172",
    ),
    "wake_category": (
        Text("wake turbulence category", "категория турбулентности следа"),
        "L (лёгкая), M (средняя), H (тяжёлая) или J (сверхтяжёлая)",
    ),
    "equipment": (Text("equipment", "оборудование"), "оборудование как в поле 10, например SDFGRWY/S"),
    "departure_icao": (
        Text("departure aerodrome", "аэродром вылета"),
        "аэропорт каталога, лучше всего код ИКАО, например EDDB",
    ),
    "departure_time": (
        Text("departure time", "время вылета"),
        "дата и время по UTC, например 2030-01-02 09:00, завтра в 14:00, через 3 часа",
    ),
    "cruising_speed": (
        Text("cruising speed", "крейсерская скорость"),
        "узлы, км/ч или число Маха, например 450 узлов, 830 км/ч, M0.82, N0450",
    ),
    "level": (
        Text("level", "эшелон"),
        "эшелон, высота или VFR, например FL350, 4500 футов, 10600 м, F350, A045, VFR",
    ),
    "route": (Text("route", "маршрут"), "DCT или точки маршрута латинскими буквами, например DCT KOLIN DCT"),
    "destination_icao": (
        Text("destination aerodrome", "аэродром назначения"),
        "аэропорт каталога, лучше всего код ИКАО, например EDDM",
    ),
    "total_eet_minutes": (
        Text("total estimated elapsed time", "расчётное время в пути"),
        "часы и минуты, например 0:55, 0055, 55 минут",
    ),
    "alternate_icaos": (
        Text("alternate aerodromes", "запасные аэродромы"),
        "не больше двух аэропортов, лучше всего коды ИКАО, например EDDF EDDH",
    ),
    "endurance_minutes": (
        Text("endurance", "запас топлива по времени"),
        "часы и минуты, например 5:30, 0530, 5 ч 30 мин или 330 минут",
    ),
    "persons_on_board": (Text("persons on board", "число людей на борту"), "целое число от 1 до 999"),
    "other_information": (
        Text("other information", "прочая информация"),
        "группы поля 18 латинскими буквами, например REG/DABCD, или простое примечание",
    ),
}
PLAN_FIELDS: Final[tuple[str, ...]] = tuple(_FIELDS)
_AIRPORT_FIELDS: Final = ("departure_icao", "destination_icao")


def field_name(field: str) -> Text:
    """A flight plan field's name for people."""
    return _FIELDS[field][0]


def accepted_ru(field: str) -> str:
    """The accepted form of a flight plan field, in Russian."""
    return _FIELDS[field][1]


def resolver_of(field: str) -> str:
    """The name of the resolver of a flight plan field."""
    return "airport" if field in _AIRPORT_FIELDS else f"plan_{field}"


def change_resolver_of(field: str) -> str:
    """The name of the resolver that also takes an amount to change a field by, where there is one."""
    return f"changed_{field}" if field in CHANGEABLE_FIELDS else resolver_of(field)


def plan_slots(resolver: Callable[[str], str] = resolver_of) -> dict[str, Slot]:
    """One optional slot per flight plan field; `resolver` names the resolver of each."""
    return {
        field: Slot(
            Text(*FIELD_QUESTIONS[field]),
            resolver=resolver(field),
            label=field_name(field),
            skippable=field not in _AIRPORT_FIELDS,
        )
        for field in PLAN_FIELDS
    }


AIRPORT: Final = Slot(
    Text(
        "Which airport? A name, a city or a code, for example Heathrow, Munich or EDDB.",
        "Какой аэропорт? Название, город или код, например Хитроу, Мюнхен или EDDB.",
    ),
    resolver="airport",
    label=Text("airport", "аэропорт"),
)
DEPARTURE: Final = Slot(
    Text(
        "From which airport? A name, a city or a code, for example Berlin or EDDB.",
        "Из какого аэропорта? Название, город или код, например Берлин или EDDB.",
    ),
    resolver="airport",
    label=Text("departure", "вылет"),
)
DESTINATION: Final = Slot(
    Text(
        "To which airport? A name, a city or a code, for example Munich or EDDM.",
        "В какой аэропорт? Название, город или код, например Мюнхен или EDDM.",
    ),
    resolver="airport",
    label=Text("destination", "назначение"),
)


def position_of_fact(fact: FactView) -> dict[str, Any]:
    """A position from what the client sent: {latitude_deg, longitude_deg} (also latitude/longitude, lat/lon/lng).

    Whatever else the client sent is left out. Without both numbers the result has no coordinates, and get_position
    asks.
    """
    value = fact.value
    position: dict[str, Any] = {
        "source": fact.source,
        "scope": fact.scope,
        "observed_time": None if fact.observed_time is None else fact.observed_time.isoformat(),
    }
    for name, spellings in (
        ("latitude_deg", ("latitude_deg", "latitude", "lat")),
        ("longitude_deg", ("longitude_deg", "longitude", "lon", "lng")),
    ):
        given = [value[key] for key in spellings if key in value]
        number = next((n for n in given if isinstance(n, int | float) and not isinstance(n, bool)), None)
        if number is not None:
            position[name] = float(number)
    return position


POSITION: Final = Slot(
    Text(
        "What is your position? Send it from your device or write latitude and longitude, for example 52.52, 13.40",
        "Где вы находитесь? Отправьте положение с устройства или напишите широту и долготу, например 52.52, 13.40",
    ),
    resolver="position",
    fact="position",
    fact_value=position_of_fact,
    label=Text("position", "положение"),
)
CENTRE: Final = Slot(
    Text(
        "Around which place? A city, an airport or a code, for example Prague or LKPR.",
        "Вокруг какого места? Город, аэропорт или код, например Прага или LKPR.",
    ),
    resolver="airport",
    label=Text("centre", "центр"),
    skippable=False,
)
COUNTRY: Final = Slot(
    Text("In which country? For example Germany or DE.", "В какой стране? Например, Германия или DE."),
    resolver="country",
    label=Text("country", "страна"),
)


def plain_slot(label_en: str, label_ru: str, question_en: str, question_ru: str) -> Slot:
    """A slot whose text is the value itself."""
    return Slot(Text(question_en, question_ru), label=Text(label_en, label_ru))


ORDERS: Final[Mapping[str, Text]] = {
    "relevance": Text("best match first", "сначала самые похожие"),
    "distance": Text("nearest first", "сначала ближайшие"),
    "distance_desc": Text("farthest first", "сначала самые дальние"),
    "name": Text("by name, A to Z", "по названию, от A до Z"),
    "name_desc": Text("by name, Z to A", "по названию, от Z до A"),
    "elevation": Text("lowest first", "сначала самые низкие"),
    "elevation_desc": Text("highest first", "сначала самые высокие"),
    "latitude": Text("southernmost first", "сначала самые южные"),
    "latitude_desc": Text("northernmost first", "сначала самые северные"),
    "longitude": Text("westernmost first", "сначала самые западные"),
    "longitude_desc": Text("easternmost first", "сначала самые восточные"),
}
SEARCH_SLOTS: Final[Mapping[str, Slot]] = {
    "name": plain_slot("name", "название", "Which airport name?", "Какое название аэропорта?"),
    "city": plain_slot("city", "город", "In which city?", "В каком городе?"),
    "code": plain_slot("code", "код", "Which IATA or ICAO code?", "Какой код ИАТА или ИКАО?"),
    "country": COUNTRY,
    "subdivision": plain_slot("state or region", "регион", "In which state or region?", "В каком штате или регионе?"),
    "center_icao": CENTRE,
    "center_lat_deg": plain_slot("latitude", "широта", "Latitude in degrees?", "Широта в градусах?"),
    "center_lon_deg": plain_slot("longitude", "долгота", "Longitude in degrees?", "Долгота в градусах?"),
    "radius_km": plain_slot(
        "radius, km", "радиус, км", "Within how many kilometres?", "В пределах скольких километров?"
    ),
    "min_distance_km": plain_slot(
        "least distance, km", "не ближе, км", "At least how many kilometres away?", "Не ближе скольких километров?"
    ),
    "except_country": plain_slot(
        "left-out country", "кроме страны", "Which country is left out?", "Какую страну исключить?"
    ),
    "sort": Slot(Text("In which order?", "В каком порядке?"), label=Text("order", "порядок"), choice_names=ORDERS),
    "limit": plain_slot("how many", "сколько", "How many airports, 1 to 100?", "Сколько аэропортов, от 1 до 100?"),
}

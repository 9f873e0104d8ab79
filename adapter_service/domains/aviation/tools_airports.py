"""Tools about places: position, airport search and details, weather, great-circle routes. Called by domain.py.

The functions are the plain ones of this folder; the adapters here add the context and translate errors.
"""

from __future__ import annotations

from typing import Any, Final

from adapter_service.domains.aviation import answers, catalogue, questions, route, search, weather
from adapter_service.domains.aviation.coordinates import in_range
from adapter_service.domains.aviation.search import Kind, Sort
from adapter_service.domains.aviation.tool_errors import with_tool_errors
from adapter_service.sdk import ArtifactOutput, Effect, Text, Tool, ToolContext, ToolError

ROUTE: Final = "route"


def get_position(position: dict[str, Any]) -> dict[str, Any]:
    """The user's position from a fact or their answer, never invented.

    Returns {latitude_deg, longitude_deg, source, scope, observed_time, place?}. Raises ToolError(tool_input_invalid)
    where the client sent something else than a position.
    """
    latitude, longitude = position.get("latitude_deg"), position.get("longitude_deg")
    if not in_range(latitude, longitude):
        raise ToolError(
            "tool_input_invalid",
            Text(
                "The position that was sent is none: accepted is latitude -90 to 90 and longitude -180 to 180 in "
                "degrees.",
                "Присланное положение неверно: нужны широта от -90 до 90 и долгота от -180 до 180 в градусах.",
            ),
            correctable=True,
            slot="position",
        )
    known = {key: position.get(key) for key in ("source", "scope", "observed_time")}
    place = {"place": position["place"]} if position.get("place") else {}
    return {"latitude_deg": latitude, "longitude_deg": longitude, **known, **place}


@with_tool_errors
def search_airports(
    name: str | None = None,
    city: str | None = None,
    code: str | None = None,
    country: str | None = None,
    subdivision: str | None = None,
    center_lat_deg: float | None = None,
    center_lon_deg: float | None = None,
    center_icao: str | None = None,
    include_center: bool = False,
    radius_km: float | None = None,
    sort: Sort | None = None,
    kind: Kind | None = None,
    limit: int = 10,
    offset: int = 0,
) -> dict[str, Any]:
    """search.search_airports; `include_center`: the centre airport itself is an answer too ("near Prague").

    The result has `radius_km` added, so that the answer knows whether its count means anything.
    """
    if center_icao is not None and include_center:
        centre = catalogue.require_airport(center_icao, "center_icao")
        center_lat_deg, center_lon_deg, center_icao = centre.latitude_deg, centre.longitude_deg, None
    found = search.search_airports(
        name=name,
        city=city,
        code=code,
        country=country,
        subdivision=subdivision,
        center_lat_deg=center_lat_deg,
        center_lon_deg=center_lon_deg,
        center_icao=center_icao,
        radius_km=radius_km,
        sort=sort,
        kind=kind,
        limit=limit,
        offset=offset,
    )
    return {**found, "radius_km": radius_km}


@with_tool_errors
def get_weather(icao: str, context: ToolContext) -> dict[str, Any]:
    """weather.get_weather with the built-in source, at the Adapter's time."""
    return weather.get_weather(icao, now=context.now)


def _view_weather(result: Any) -> Any:
    return {key: result[key] for key in ("icao", "name", "observed_time", "synthetic", "summary_en")}


POSITION_TOOL: Final = Tool(
    name="get_position",
    function=get_position,
    effect=Effect.READ,
    title=Text("Position", "Положение"),
    description=Text(
        "Where the user is: from the client's position or the user's answer, never guessed.",
        "Где находится пользователь: по данным клиента или по ответу пользователя, без догадок.",
    ),
    slots={"position": questions.POSITION},
    say=answers.say_position,
    cites=answers.cite_position,
    referents=answers.refer_position,
    limitations=answers.limit_position,
)
SEARCH_TOOL: Final = Tool(
    name="search_airports",
    function=search_airports,
    effect=Effect.READ,
    title=Text("Search airports", "Поиск аэропортов"),
    description=Text(
        "Airports by name, city, code, country, or around a place, sorted by distance or name.",
        "Аэропорты по названию, городу, коду, стране или вокруг места, по расстоянию или названию.",
    ),
    slots=questions.SEARCH_SLOTS,
    say=answers.say_search,
    cites=answers.cite_search,
    referents=answers.refer_search,
    limitations=answers.limit_search,
    view=answers.view_search,
)
AIRPORT_TOOL: Final = Tool(
    name="get_airport",
    function=with_tool_errors(catalogue.get_airport),
    effect=Effect.READ,
    title=Text("Airport details", "Сведения об аэропорте"),
    description=Text(
        "Codes, coordinates, elevation and time zone of one airport.",
        "Коды, координаты, высота и часовой пояс одного аэропорта.",
    ),
    slots={"icao": questions.AIRPORT},
    say=answers.say_airport,
    cites=answers.cite_airport,
    referents=answers.refer_airport,
    limitations=answers.limit_airport,
)
WEATHER_TOOL: Final = Tool(
    name="get_weather",
    function=get_weather,
    effect=Effect.READ,
    title=Text("Weather", "Погода"),
    description=Text(
        "The current weather at an airport; synthetic and labelled so without a real source.",
        "Текущая погода в аэропорту; без настоящего источника синтетическая и так обозначенная.",
    ),
    slots={"icao": questions.AIRPORT},
    say=answers.say_weather,
    cites=answers.cite_airport,
    referents=answers.refer_weather,
    limitations=answers.limit_weather,
    view=_view_weather,
)
ROUTE_TOOL: Final = Tool(
    name="build_route",
    function=with_tool_errors(route.build_route),
    effect=Effect.DRAFT,
    title=Text("Build route", "Построение маршрута"),
    description=Text(
        "The great-circle route between two airports: a GeoJSON artifact, distance and initial course.",
        "Маршрут по ортодромии между двумя аэропортами: артефакт GeoJSON, расстояние и начальный курс.",
    ),
    slots={"departure_icao": questions.DEPARTURE, "destination_icao": questions.DESTINATION},
    makes=ArtifactOutput(
        kind=ROUTE,
        media_type="application/geo+json",
        title=answers.title_route,
        content=lambda result: result,
        sources=lambda _result: (str(catalogue.data_scope()["note_en"]),),
    ),
    say=answers.say_route,
    cites=answers.cite_route,
    referents=answers.refer_route,
    limitations=answers.limit_route,
    view=route.route_view,
)
AIRPORT_TOOLS: Final = (POSITION_TOOL, SEARCH_TOOL, AIRPORT_TOOL, WEATHER_TOOL, ROUTE_TOOL)

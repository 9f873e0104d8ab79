"""Tools about places: position, airport search and details, great-circle routes. Called by domain.py.

The functions are the plain ones of this folder; the adapters here add the context and translate errors.
"""

from __future__ import annotations

from typing import Any, Final

from adapter_service.domains.aviation import answers, catalogue, questions, route, search, search_answers
from adapter_service.domains.aviation.coordinates import in_range
from adapter_service.domains.aviation.tool_errors import with_tool_errors
from adapter_service.sdk import ArtifactOutput, Effect, Text, Tool, ToolError

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
    function=with_tool_errors(search.search_airports),
    effect=Effect.READ,
    title=Text("Search airports", "Поиск аэропортов"),
    description=Text(
        "Airports by name, city, code, countries, or around a place: nearest, farthest, highest, northernmost, by "
        "name, counted, or the next page of a list.",
        "Аэропорты по названию, городу, коду, странам или вокруг места: ближайшие, дальние, самые высокие, северные, "
        "по названию, их число или продолжение списка.",
    ),
    slots=questions.SEARCH_SLOTS,
    say=search_answers.say_search,
    cites=search_answers.cite_search,
    referents=search_answers.refer_search,
    limitations=search_answers.limit_search,
    view=search_answers.view_search,
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
AIRPORT_TOOLS: Final = (POSITION_TOOL, SEARCH_TOOL, AIRPORT_TOOL, ROUTE_TOOL)

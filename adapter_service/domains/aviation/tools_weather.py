"""Tools about the weather: now, from reports of a folder or synthetic, and the forecast where there are reports.

Called by domain.py. Without a folder the weather is the labelled synthetic one, and there is no forecast tool.
"""

from __future__ import annotations

from typing import Any, Final

from adapter_service.domains.aviation import answers, observed_weather, questions, weather
from adapter_service.domains.aviation.answers import DOCUMENT_TYPE, named
from adapter_service.domains.aviation.planner.follow_ups import topic_referent
from adapter_service.domains.aviation.planner.references import AIRPORT
from adapter_service.domains.aviation.tool_errors import with_tool_errors
from adapter_service.domains.aviation.weather_reports import ReportFolder
from adapter_service.sdk import Effect, EntityCitation, Referent, Slot, Text, Tool, ToolContext

# Of a report's own text, later context sees this much (requirement H1); the result keeps all of it.
_VIEWED_CHARACTERS: Final = 400
_VIEWED: Final = ("icao", "name", "observed_time", "issued_time", "synthetic", "status", "station", "summary_en")


def weather_tools(folder: ReportFolder | None) -> tuple[Tool, ...]:
    """The weather tool, and with a folder of reports the forecast tool."""
    return (_weather_tool(folder),) if folder is None else (_weather_tool(folder), _forecast_tool(folder))


def _weather_tool(folder: ReportFolder | None) -> Tool:
    @with_tool_errors
    def get_weather(icao: str, context: ToolContext) -> dict[str, Any]:
        if folder is None:
            return weather.get_weather(icao, now=context.now)
        return observed_weather.get_observed_weather(icao, folder, context.now)

    return Tool(
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
        cites=_cite_station,
        referents=answers.refer_weather,
        limitations=_limit,
        view=_view,
    )


def _forecast_tool(folder: ReportFolder) -> Tool:
    @with_tool_errors
    def get_forecast(icao: str, context: ToolContext, period: str | None = None) -> dict[str, Any]:
        return observed_weather.get_forecast(icao, folder, context.now, period)

    return Tool(
        name="get_forecast",
        function=get_forecast,
        effect=Effect.READ,
        title=Text("Forecast", "Прогноз"),
        description=Text(
            "The aerodrome forecast (TAF) of an airport, for a period or to its end.",
            "Прогноз по аэродрому (TAF) на заданное время или до конца его действия.",
        ),
        slots={"icao": questions.AIRPORT, "period": PERIOD},
        say=answers.say_weather,
        cites=_cite_station,
        referents=_refer_forecast,
        limitations=_limit,
        view=_view,
    )


PERIOD: Final = Slot(
    Text(
        "For which time? In UTC, for example tomorrow at 14:00, tonight or tomorrow morning.",
        "На какое время? По UTC, например завтра в 14:00, сегодня ночью или завтра утром.",
    ),
    resolver="forecast_period",
    label=Text("period", "время прогноза"),
)


def _refer_forecast(result: Any) -> tuple[Referent, ...]:
    """ "There" is this airport; its forecast was asked for."""
    return topic_referent("get_forecast"), Referent(AIRPORT, result["icao"], named(result))


def _cite_station(result: Any) -> tuple[EntityCitation, ...]:
    """The airport that was asked for, and the station whose report tells about it."""
    station = result.get("station")
    codes = dict.fromkeys([result["icao"], *([station["icao"]] if station else [])])
    return tuple(EntityCitation(DOCUMENT_TYPE, icao) for icao in codes)


def _limit(result: Any, locale: str) -> tuple[str, ...]:
    """Synthetic weather says so; a report names its file and that another station's air is not this one's."""
    if result["synthetic"] or not result["raw"]:
        return answers.limit_weather(result, locale)
    russian = answers.is_russian(locale)
    source = (
        f"Source: the {result['source']} report in the configured weather folder.",
        f"Источник: сводка {result['source']} из настроенной папки сводок.",
    )[russian]
    if result["station"]["distance_km"] is None:
        return (source,)
    return source, ("The weather at the airport itself may differ.", "Погода в самом аэропорту может отличаться.")[
        russian
    ]


def _view(result: Any) -> Any:
    viewed = {key: result[key] for key in _VIEWED if key in result}
    if not result.get("raw"):
        return viewed
    undecoded = result.get("undecoded", [])[: observed_weather.MOST_UNDECODED]
    return {**viewed, "raw": result["raw"][:_VIEWED_CHARACTERS], "undecoded": undecoded}

"""Texts of the planner itself: what it can do, what it did not understand. Called by the planner modules.

They claim nothing that a tool would have to do (requirement F4).
"""

from __future__ import annotations

from typing import Final

from adapter_service.sdk import Text

_CAN: Final = Text(
    "I can find airports (by name, city, code, country, around a place or near you), tell the current weather at an "
    "airport, build "
    "a great-circle route between two airports, and draft, check, change and file a flight plan.",
    "Я умею находить аэропорты (по названию, городу, коду, стране, вокруг места или рядом с вами), сообщать текущую "
    "погоду в "
    "аэропорту, строить ортодромический маршрут между двумя аэропортами, а также составлять, проверять, менять и "
    "подавать план полёта.",
)
_EXAMPLES: Final = Text(
    "For example: “weather at the airport nearest to me”, “route from Oslo to Tokyo”, “file a flight plan from Berlin "
    "to Munich for "
    "DABC1 tomorrow at 14:00 at FL350”.",
    "Например: «погода в ближайшем аэропорту», «маршрут из Осло в Токио», «подай план полёта из Берлина в Мюнхен, "
    "борт DABC1, "
    "завтра в 14:00, эшелон 350».",
)
HELP: Final = Text(f"{_CAN.en} {_EXAMPLES.en}", f"{_CAN.ru} {_EXAMPLES.ru}")
GREETING: Final = Text(f"Hello. {_CAN.en}", f"Здравствуйте. {_CAN.ru}")
THANKS: Final = Text("You are welcome.", "Пожалуйста.")
NO_PLAN: Final = Text(
    "There is no flight plan in this conversation yet. Say where from and where to, for example “draft a flight plan "
    "from Berlin to Munich”.",
    "В этом разговоре ещё нет плана полёта. Назовите, откуда и куда, например: «составь план полёта из Берлина в "
    "Мюнхен».",
)
SETTLED_PLAN: Final = Text(
    "Nothing was done: this version of the flight plan has gone out already. Change it first, or draft another one.",
    "Ничего не сделано: эта версия плана полёта уже отправлена. Сначала измените её или составьте другой план.",
)
NOTHING_TO_CANCEL: Final = Text("There is nothing to cancel.", "Отменять нечего.")
NO_LIST: Final = Text(
    "There is no list to go on with. Ask for airports first, for example “airports in Norway”.",
    "Продолжать пока нечего. Сначала спросите об аэропортах, например: «аэропорты Норвегии».",
)
LIST_BEGINS: Final = Text("The list begins with what was shown.", "Показано самое начало списка.")
_QUOTE_LIMIT: Final = 120


def _quoted(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _QUOTE_LIMIT else flat[: _QUOTE_LIMIT - 1] + "…"


def not_understood(part: str, whole: str) -> Text:
    """A request, or a part of it, that has no meaning here; nothing of the message was done."""
    quote = _quoted(part)
    if " ".join(part.split()).casefold() == " ".join(whole.split()).casefold():
        return Text(f"I did not understand “{quote}”. {HELP.en}", f"Я не понял: «{quote}». {HELP.ru}")
    return Text(
        f"I did not understand this part: “{quote}”, so nothing was done. Please say it differently or leave it out. "
        f"{_CAN.en}",
        f"Я не понял эту часть: «{quote}», поэтому ничего не сделано. Скажите иначе или уберите её. {_CAN.ru}",
    )


def forbidden(part: str) -> Text:
    """A command with a negation: nothing of the message was done."""
    quote = _quoted(part)
    return Text(
        f"Nothing was done, because you said “{quote}”. Say what is to be done, without what is not.",
        f"Ничего не сделано: вы написали «{quote}». Скажите, что нужно сделать, без того, чего делать не надо.",
    )


def list_is_over(total: int) -> Text:
    """ "Show more" where all has been shown."""
    return Text(f"That was the whole list: {total} in all.", f"Это был весь список, всего {total}.")


def what_about(place: str) -> Text:
    """A place alone: what is wanted to know about it."""
    quote = _quoted(place)
    return Text(
        f"What about {quote}? I can tell the weather there, the airport's details, the airports nearby, or build a "
        f"route.",
        f"Что именно узнать: {quote}? Могу сообщить погоду, сведения об аэропорте, найти аэропорты рядом или построить "
        f"маршрут.",
    )


def current_weather_only(part: str) -> Text:
    """Weather was asked for another time."""
    quote = _quoted(part)
    return Text(
        f"I can tell the current weather only, not for “{quote}”. Ask for the weather now, for example “weather at "
        f"JFK”.",
        f"Я могу сообщить только текущую погоду, не «{quote}». Спросите о погоде сейчас, например: «погода в "
        f"Шереметьево».",
    )


NO_FORECAST: Final = Text(
    "There is no forecast, because no folder of weather reports is configured. I can tell the current weather, for "
    "example “weather at JFK”.",
    "Прогноза нет: папка с метеосводками не настроена. Могу сообщить текущую погоду, например: «погода в Шереметьево».",
)


def plan_status(title: str, version: int, artifact_id: str, valid: bool | None) -> Text:
    """Where the current plan stands, from memory alone."""
    state = {
        None: ("not validated yet", "ещё не проверен"),
        True: ("valid", "проверка пройдена"),
        False: ("validation found errors", "при проверке найдены ошибки"),
    }[valid]
    return Text(
        f"The current flight plan is “{title}”, version {version} ({state[0]}), artifact {artifact_id}.",
        f"Текущий план полёта: «{title}», версия {version} ({state[1]}), артефакт {artifact_id}.",
    )

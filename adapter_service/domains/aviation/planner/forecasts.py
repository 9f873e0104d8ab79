"""Clauses that ask for a forecast: "TAF for Berlin", "weather in Rome tomorrow morning", «прогноз», "and tomorrow?".

Called by the planner where the domain has forecasts. It takes the time out of a clause, so that the grammar reads the
rest as it reads a question about the weather.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from adapter_service.domains.aviation.planner import follow_ups
from adapter_service.domains.aviation.planner.compose import Composer
from adapter_service.domains.aviation.planner.grammar import Frame
from adapter_service.domains.aviation.planner.intents import kinds_of
from adapter_service.domains.aviation.planner.lexicon import is_a
from adapter_service.domains.aviation.planner.places import Reference
from adapter_service.domains.aviation.planner.plan_fields import CLOCK, DATE, RELATIVE, read_plan_fields
from adapter_service.domains.aviation.planner.references import remembered_airport
from adapter_service.domains.aviation.planner.tokens import tokenise
from adapter_service.domains.aviation.planner.word_kinds import Cat
from adapter_service.sdk import Fill, Memory, TextFill

_FORECAST: Final = re.compile(r"(?<!\w)(?:forecasts?|tafs?|прогноз\w*|таф\w{0,2})(?!\w)", re.IGNORECASE)
_CURRENT: Final = re.compile(
    r"(?<!\w)(?:metars?|current(?:ly)?|now|метар\w{0,2}|сейчас|текущ\w+)(?!\w)|"
    r"(?<!\w)(?:weather|погод\w+)\s*(?:,|&|\+|and(?!\w)|и(?!\w))",
    re.IGNORECASE,
)
_PART: Final = (
    r"(?:(?:early\s+|late\s+)?(?:morning|afternoon|evening|night)|"
    r"(?:рано\s+|поздно\s+)?(?:утром|дн[её]м|вечером|ночью))"
)
_PERIOD: Final = re.compile(
    rf"(?<!\w)(?:(?:for|on|at|in|by|на|в|во|к)\s+)*(?P<v>{DATE}(?:\s+{_PART})?(?:[\s,]*(?:at|в|к|@)?\s*{CLOCK})?|"
    rf"{CLOCK}(?:[\s,]*(?:on|of|в|на)?\s*{DATE})?|{RELATIVE}|(?:this\s+|сегодня\s+)?{_PART})(?!\w)",
    re.IGNORECASE,
)
_TODAY: Final = frozenset({"today", "сегодня"})
_TOPICS: Final = ("get_weather", "get_forecast")


@dataclass(frozen=True, slots=True)
class Asked:
    """A clause without its time: `text`; `period` in the user's words, "" for none; what is asked for: `forecast`, or
    also the `report`."""

    text: str
    period: str
    forecast: bool
    report: bool


def follows_weather(memory: Memory) -> bool:
    """Was the weather or the forecast of a place asked for last?"""
    topic = follow_ups.last_topic(memory)
    return topic is not None and topic.tool in _TOPICS


def asks_other_time(text: str, kinds: set[Cat], memory: Memory) -> bool:
    """ "And an hour later?" after the weather is no change of the departure of a plan that was spoken of before."""
    if not (follows_weather(memory) and follow_ups.leads_on(text) and follow_ups.asks_nothing_itself(kinds)):
        return False
    return set(read_plan_fields(text).values) == {"departure_time"} and Cat.PLAN_NOISE not in kinds


def read_asked(text: str, *, follows: bool) -> Asked:
    """What a clause about the weather asks for; any other clause is returned as it is.

    `follows`: the weather was asked for last, so that "and tomorrow?" goes on with it.
    """
    named = _FORECAST.search(text) is not None
    plain = _FORECAST.sub("weather", text)
    kinds = kinds_of(text)[1]
    goes_on = follows and follow_ups.leads_on(text) and follow_ups.asks_nothing_itself(kinds)
    if not named and Cat.WEATHER not in kinds and not goes_on:
        return Asked(text, "", forecast=False, report=False)
    hit = _PERIOD.search(plain)
    said = hit["v"].strip(" ,") if hit is not None else ""
    if not named and said.casefold() in _TODAY:
        said = ""  # "the weather today" is asked now
    if not named and not said:
        return Asked(text, "", forecast=False, report=False)
    if hit is not None and said:
        plain = f"{plain[: hit.start()]} {plain[hit.end() :]}".strip()
    return Asked(plain, said, forecast=True, report=named and _CURRENT.search(text) is not None)


def only_asks_time(text: str) -> bool:
    """Is nothing left but a lead and words without a meaning of their own: "and", «а», "what about the weather"?"""
    skipped = (Cat.FILLER, Cat.AND, Cat.WEATHER, Cat.THERE, Cat.OF, Cat.AT, Cat.SHOW, Cat.FIND, Cat.NOT)
    words = [token for token in tokenise(text) if token.kind != "mark"]
    # A name may be an ordinary word too ("Nice"); it has a capital within the sentence.
    return all(is_a(token, *skipped) and not (index and token.capitalised) for index, token in enumerate(words))


def compose_forecast(composer: Composer, frame: Frame, asked: Asked) -> None:
    """The tasks of a clause that asks for a forecast: at its places, or where the weather was asked for last."""
    if asked.report and frame.has_places:
        composer.at_airport("get_weather", frame)
    before = len(composer.tasks)
    if frame.has_places:
        composer.at_airport("get_forecast", frame)
    else:
        there = composer.icao(Reference("there")) if composer.spoken is not None else None
        remembered = remembered_airport(composer.memory, "there", None) if follows_weather(composer.memory) else None
        composer.add("get_forecast", {"icao": there or remembered})
    for index in range(before, len(composer.tasks)):
        task = composer.tasks[index]
        if task.tool == "get_forecast" and asked.period:
            fills: dict[str, Fill] = {**task.fills, "period": TextFill(asked.period)}
            composer.tasks[index] = replace(task, fills=fills)

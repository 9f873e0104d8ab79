"""Which request a clause makes, told from the kinds of words in it. Called by the planner before and after reading.

Two steps: `sort_of` looks at the words only (it decides how the clause is read), `intent_of` at the frame.
"""

from __future__ import annotations

import re
from enum import StrEnum

from adapter_service.domains.aviation.catalogue import find_airport
from adapter_service.domains.aviation.countries import country_code
from adapter_service.domains.aviation.planner.grammar import BARE, Frame
from adapter_service.domains.aviation.planner.lexicon import categories
from adapter_service.domains.aviation.planner.names import split_pair
from adapter_service.domains.aviation.planner.places import Me, PlaceText
from adapter_service.domains.aviation.planner.plan_fields import read_plan_fields
from adapter_service.domains.aviation.planner.tokens import Token, tokenise
from adapter_service.domains.aviation.planner.word_kinds import Cat


class Intent(StrEnum):
    """What a clause asks for."""

    WEATHER = "weather"
    ROUTE = "route"
    PLAN = "plan"
    SEARCH = "search"
    AIRPORT = "airport"
    POSITION = "position"
    STATE_POSITION = "state_position"
    HELP = "help"
    GREETING = "greeting"
    THANKS = "thanks"
    PLACE_ONLY = "place_only"
    UNKNOWN = "unknown"


_PLAN_WORDS = frozenset(
    {"fpl", "flightplan", "flight-plan", "фпл", "флайтплан", "флайт-план", "флайтплана", "флайт-плана"}
)
_FLIGHT_STEMS = frozenset({"flight", "полет", "флайт"})


def kinds_of(text: str) -> tuple[list[Token], set[Cat]]:
    """The tokens of a text and every kind of word among them."""
    tokens = tokenise(text)
    return tokens, set().union(*(categories(token) for token in tokens)) if tokens else set()


def names_plan(tokens: list[Token]) -> bool:
    """Is a flight plan named: "flight plan", "FPL", «план полёта», or "the plan" as a noun?"""
    for index, token in enumerate(tokens):
        if token.lower in _PLAN_WORDS:
            return True
        if Cat.PLAN in categories(token):
            if any(categories(earlier) & {Cat.FILE, Cat.CHECK} for earlier in tokens[:index]):
                return True
            before = tokens[index - 1] if index else None
            behind = tokens[index + 1] if index + 1 < len(tokens) else None
            if before is not None and (before.stem in _FLIGHT_STEMS or before.lower in _ARTICLES):
                return True
            if index > 1 and before is not None and before.kind == "word" and tokens[index - 2].lower in _ARTICLES:
                return True  # "a VFR plan"
            if not token.lower.isascii() or (behind is not None and behind.stem in _FLIGHT_STEMS):
                return True
    return False


_ARTICLES = frozenset({"the", "a", "this", "that", "my", "new", "current", "our", "draft", "last", "another", "fpl"})


# "please check it once more": a longer sentence has another object.
_MOST_WORDS_OF_A_REFERENCE = 4


def is_plan_clause(text: str, *, plan_known: bool) -> bool:
    """Is the clause about a flight plan? With one known, "file it" and "change the level" are about that."""
    tokens, kinds = kinds_of(text)
    if names_plan(tokens):
        return True
    about_other = kinds & {Cat.WEATHER, Cat.AIRPORTS, Cat.NEAREST, Cat.FARTHEST, Cat.EXTREME, Cat.DISTANCE}
    if about_other:
        return False
    content = [token for token in tokens if token.kind != "mark" and Cat.FILLER not in categories(token)]
    refers = kinds & {Cat.FILE, Cat.CHECK} and kinds & {Cat.IT, Cat.THIS, Cat.FILE}
    if plan_known and Cat.CHECK in kinds and any(token.lower in ("everything", "все") for token in tokens):
        return True
    if refers and not kinds & {Cat.FIND} and len(content) <= _MOST_WORDS_OF_A_REFERENCE:
        return plan_known or bool(kinds & {Cat.FILE} and kinds & {Cat.IT})
    fields = read_plan_fields(text)
    if kinds & {Cat.CHANGE, Cat.REMOVE} and (fields.values or fields.named):
        # "set", "make" and "put" also build other things: a field of the plan must be the object.
        names_field = bool(set(fields.values) - {"route"}) or bool(set(fields.named) - {"route"})
        return names_field or (plan_known and _is_route_text(fields.values.get("route", ""), text))
    if plan_known and ("total_eet_minutes" in fields.values or "DCT" in fields.values.get("route", "").split()):
        return True  # «время в пути 70 минут»: "en route" and «путь» are no request for a route here
    return plan_known and bool(set(fields.values)) and Cat.ROUTE not in kinds


def _is_route_text(value: str, text: str) -> bool:
    """Points and airways as in item 15, not just the two ends of a route."""
    words = value.split()
    return "DCT" in words or (not text.isupper() and any(find_airport(word) is None for word in words))


def is_journey(kinds: set[Cat]) -> bool:
    """Is it about going somewhere, so that «в Мюнхен» is a destination?"""
    return bool(kinds & {Cat.ROUTE, Cat.DISTANCE, Cat.FLY}) and not kinds & {Cat.WEATHER, Cat.AIRPORTS}


def intent_of(frame: Frame) -> Intent:
    """What the frame asks for."""
    if frame.fields is not None:
        return Intent.PLAN
    if frame.has(Cat.WEATHER) or _asks_what_it_is_like(frame):
        return Intent.WEATHER
    if frame.query.counts:
        return Intent.SEARCH
    if _states_position(frame):
        return Intent.STATE_POSITION
    only_nearest = _describes_airports(frame) and not frame.at(Cat.FROM, Cat.TO, Cat.BETWEEN, BARE)
    if frame.has(Cat.ROUTE, Cat.DISTANCE) and only_nearest and not frame.has(Cat.ROUTE):
        return Intent.SEARCH
    # "airports in Brazil by distance from Manaus" orders a list; "airports between Oslo and Rome" is refused as one.
    listed = frame.has(Cat.AIRPORTS) and not frame.has(Cat.ROUTE, Cat.FLY)
    ringed = frame.query.radius_km is not None or frame.query.min_distance_km is not None
    if listed and (ringed or frame.query.sort or (frame.at(Cat.BETWEEN) and not frame.has(Cat.DISTANCE))):
        return Intent.SEARCH
    if (
        frame.has(Cat.ROUTE, Cat.BACK)
        or (frame.has(Cat.FLY) and _travels(frame))
        or (frame.has(Cat.DISTANCE) and frame.has_places)
        or frame.at(Cat.BETWEEN)
    ):
        return Intent.ROUTE
    if _asks_what_can_be_done(frame):
        return Intent.HELP
    if _asks_position(frame) and not _describes_airports(frame):
        return Intent.POSITION
    return _airports_intent(frame)


def _asks_what_it_is_like(frame: Frame) -> bool:
    """ "What's it like outside at Narita?" asks about the weather."""
    lowers = {token.lower for token in frame.words}
    return (
        "like" in lowers
        and bool(lowers & {"what", "what's", "how", "how's"})
        and bool(lowers & {"it", "there", "outside"})
    )


def _travels(frame: Frame) -> bool:
    """A verb of going is about a journey if it has an end, or is more than "go ahead"."""
    return frame.has_places or any(Cat.FLY in categories(token) and token.lower != "go" for token in frame.words)


def _airports_intent(frame: Frame) -> Intent:
    if _describes_airports(frame) or frame.has(Cat.AIRPORTS):
        return Intent.SEARCH
    if frame.at(Cat.FROM, BARE) and frame.at(Cat.TO) and not frame.has(Cat.AIRPORT):
        return Intent.ROUTE
    if frame.has(Cat.FIND) and frame.has_places and not frame.has(Cat.WHERE):
        return Intent.SEARCH
    if frame.has(Cat.AIRPORT) and frame.at(Cat.AT) and not frame.at(BARE, "there"):
        return Intent.SEARCH
    named = [place for place in frame.at(BARE, Cat.OF) if isinstance(place, PlaceText)]
    if frame.has(Cat.AIRPORT) and named and all(country_code(place.text) for place in named):
        return Intent.SEARCH
    if frame.has_places and frame.has(Cat.AIRPORT, Cat.INFO, Cat.WHERE, Cat.SHOW):
        return Intent.AIRPORT
    if frame.at("there") and frame.has(Cat.SHOW, Cat.INFO, Cat.AIRPORT, Cat.WHERE):
        return Intent.AIRPORT
    if frame.query.except_countries and frame.has(Cat.AIRPORT):
        return Intent.SEARCH
    return _talk(frame)


def _talk(frame: Frame) -> Intent:
    if frame.has(Cat.HELP) and not frame.has_places:
        return Intent.HELP
    if frame.leftovers:
        return Intent.UNKNOWN
    if frame.has_places:
        if _is_pair(frame):
            return Intent.ROUTE
        question = frame.words and any(
            token.lower in ("what", "what's", "which", "что", "какой") for token in frame.words
        )
        return Intent.AIRPORT if question else Intent.PLACE_ONLY
    if frame.has(Cat.THANKS) and not frame.has(Cat.SHOW, Cat.FIND):
        return Intent.THANKS
    if frame.has(Cat.GREETING):
        return Intent.GREETING
    return Intent.UNKNOWN


def unused_part(frame: Frame, intent: Intent) -> bool:
    """Does the clause say something about airports, or a way back, that requests of this kind have no use for?"""
    query = frame.query
    if frame.has(Cat.BACK) and intent is not Intent.ROUTE:
        return True
    if intent is Intent.SEARCH:
        return False
    if intent in (Intent.WEATHER, Intent.AIRPORT) and query.describes:
        return query.counts
    if intent is Intent.ROUTE and query.ranked:
        return query.counts
    return bool(query.except_countries or query.min_distance_km is not None or query.extreme or query.counts)


def _asks_what_can_be_done(frame: Frame) -> bool:
    """ "what can you do", "what are you able to do", «что ты можешь»."""
    lowers = {token.lower for token in frame.words}
    asked = lowers & {"what", "how", "что", "как", "чем"} and lowers & {"you", "ты", "вы"}
    named = [place for place in frame.at(*_PLACE_ROLES) if isinstance(place, PlaceText)]
    return (
        bool(asked and lowers & {"do", "able", "можешь", "можете", "умеешь", "умеете"})
        and not named
        and not frame.leftovers
    )


_PLACE_ROLES = (BARE, Cat.FROM, Cat.TO, Cat.AT, Cat.NEAR, Cat.OF)


def _is_pair(frame: Frame) -> bool:
    """Nothing but "Berlin – Munich": two places joined by a dash or an arrow."""
    places = [place for place in frame.at(BARE) if isinstance(place, PlaceText)]
    joined = re.search(r"\w\s*(?:[—–→-]|->)\s*\w", frame.text) is not None
    if not joined or frame.has(Cat.SHOW, Cat.FIND):
        return False
    return len(places) == 2 or (len(places) == 1 and split_pair(places[0].text) is not None)


def _describes_airports(frame: Frame) -> bool:
    query = frame.query
    if query.ranked or query.code or query.names:
        return True
    ringed = query.radius_km is not None or query.min_distance_km is not None
    if ringed and (frame.has(Cat.AIRPORT, Cat.AIRPORTS) or not frame.has(Cat.ROUTE, Cat.FLY)):
        return True
    return bool(frame.at(Cat.NEAR)) and frame.has(Cat.AIRPORT, Cat.AIRPORTS, Cat.FIND)


def _asks_position(frame: Frame) -> bool:
    lowers = {token.lower for token in frame.words}
    where_am_i = frame.has(Cat.WHERE) and bool(lowers & {"i", "я", "we", "мы"})
    mine = frame.has(Cat.POSITION) and frame.has(Cat.ME)
    named = [place for place in frame.at(BARE, Cat.AT, Cat.OF) if isinstance(place, PlaceText)]
    return (where_am_i or mine) and not named


def _states_position(frame: Frame) -> bool:
    """ "I'm in Berlin", "my position is 52.52, 13.40", «я в Берлине»."""
    if frame.has(Cat.FIND, Cat.SHOW, Cat.BUILD, Cat.AIRPORTS, Cat.NEAREST, Cat.ROUTE, Cat.HELP, Cat.FLY, Cat.DISTANCE):
        return False
    said = {
        place for place in frame.at(BARE, Cat.AT, Cat.NEAR) if not isinstance(place, Me) and place.__hash__ is not None
    }
    if len(said) != 1 or frame.query.describes:
        return False
    lowers = [token.lower for token in frame.words if token.kind == "word"]
    first = next((word for word in lowers if word not in ("hi", "hello", "привет", "сейчас", "now", "and", "и")), "")
    return first in ("i'm", "i", "we're", "we", "я", "мы") or (
        frame.has(Cat.POSITION) and frame.has(Cat.ME) and first in ("my", "our", "мои", "моя", "мое", "наша", "наше")
    )

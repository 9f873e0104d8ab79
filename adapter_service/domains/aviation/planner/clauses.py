"""Cuts a message into clauses, one request each: at sentence ends and "then", and at "and" or a comma before a new
request.

Called by the planner. A clause keeps its text, so that what was not understood can be quoted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from adapter_service.domains.aviation.matching import resolve_airport
from adapter_service.domains.aviation.planner.lexicon import categories, is_a, number_of
from adapter_service.domains.aviation.planner.measures import find_measures
from adapter_service.domains.aviation.planner.tokens import Token, tokenise
from adapter_service.domains.aviation.planner.word_kinds import Cat

_HEAD_NOUNS: Final = (Cat.WEATHER, Cat.ROUTE, Cat.PLAN, Cat.DISTANCE, Cat.POSITION, Cat.INFO, Cat.AIRPORTS, Cat.WHERE)
_VERBS: Final = (Cat.FIND, Cat.SHOW, Cat.BUILD, Cat.FILE, Cat.CHECK, Cat.CHANGE, Cat.FLY)
_OBJECTS: Final = (*_HEAD_NOUNS, Cat.NEAREST, Cat.FARTHEST, Cat.EXTREME, Cat.AIRPORT)
_SKIPPED: Final = (Cat.FILLER, Cat.AND, Cat.THEN, Cat.THERE, Cat.THIS, Cat.ME)
_SENTENCE_ENDS: Final = frozenset(".;?!…")


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of the message that asks for one thing."""

    text: str


def split_clauses(text: str) -> list[Clause]:
    """The clauses in order; connecting words stay at the beginning of the clause they open."""
    tokens = tokenise(text)
    if not tokens:
        return []
    # "between 100 and 300 km" is one thing.
    inside = [measure for measure in find_measures(text) if measure.least_km is not None]
    starts = [0]
    for index in range(1, len(tokens)):
        if any(measure.start < tokens[index].start < measure.end for measure in inside):
            continue
        if starts[-1] != index and _begins_clause(tokens, index, starts[-1], text):
            starts.append(index)
    clauses = []
    for start, end in zip(starts, [*starts[1:], len(tokens)], strict=True):
        part = text[tokens[start].start : tokens[end - 1].end].strip(" ,;.!?…\n—–-")
        if any(char.isalnum() for char in part):
            clauses.append(Clause(part))
    return clauses


def _begins_clause(tokens: list[Token], index: int, start: int, text: str) -> bool:
    token, before = tokens[index], tokens[index - 1]
    if "\n" in text[before.end : token.start]:
        return True
    if before.text in _SENTENCE_ENDS and before.kind == "mark" and token.start > before.end:
        return True
    if is_a(token, Cat.THEN) and not (is_a(before, Cat.THEN) and index - 1 == start):
        return not (is_a(before, Cat.AND) and index - 1 == start)
    if is_a(token, Cat.AND) and index + 1 < len(tokens) and is_a(tokens[index + 1], Cat.THEN):
        return True
    if _is_after_that(tokens, index):
        return not (is_a(before, Cat.AND) and index - 1 == start)
    if is_a(token, Cat.AND) and (_is_after_that(tokens, index + 1) or _is_next_journey(tokens, index, start)):
        return True
    if before.text == "," or is_a(token, Cat.AND):
        if is_a(before, Cat.AND):
            return False
        return _opens_request(tokens, index, start)
    return False


def _is_after_that(tokens: list[Token], index: int) -> bool:
    if index + 1 >= len(tokens):
        return False
    return tokens[index].lower in ("after", "после") and is_a(tokens[index + 1], Cat.THIS)


def _is_next_journey(tokens: list[Token], index: int, start: int) -> bool:
    """ "from Oslo to Rome and Paris to Nice", «… и из Парижа в Ниццу»: both ends again make another journey."""
    before = tokens[start:index]
    if not any(is_a(token, Cat.FROM) for token in before) or any(is_a(token, Cat.CHANGE) for token in before):
        return False
    if not any(is_a(token, Cat.TO) or (not token.lower.isascii() and is_a(token, Cat.AT)) for token in before):
        return False
    if is_a(tokens[min(index + 1, len(tokens) - 1)], Cat.FROM):
        return True
    behind = index + 1
    while behind < len(tokens) and tokens[behind].kind == "word" and not categories(tokens[behind]):
        behind += 1
    return index + 1 < behind < len(tokens) and is_a(tokens[behind], Cat.TO)


def _opens_request(tokens: list[Token], index: int, start: int) -> bool:
    """Does a new request begin here: a verb, or the noun of another request, before any name or number?"""
    if not _has_object(tokens[start:index]):
        return False  # "tell me, please, the weather": a verb alone is no request yet
    said = set().union(*(categories(token) for token in tokens[start:index]))
    if is_a(tokens[start], Cat.FROM, Cat.TO, Cat.AT) and not said & {*_VERBS, *_OBJECTS, Cat.IT}:
        return False  # "to Nairobi from Addis Ababa, draw me the route": places wait for what to do with them
    about_plan = Cat.PLAN in said or bool(said & {Cat.FILE})
    for position in range(index, min(index + 6, len(tokens))):
        token = tokens[position]
        kinds = categories(token)
        if kinds and _is_airport_code(token, tokens):
            return False  # "between Aachen and FACT": a code that is also a word
        verb = bool(kinds & set(_VERBS)) and not (kinds & {Cat.FILLER} and not kinds & {Cat.SHOW, Cat.BUILD})
        if verb and not (about_plan and token.lower in ("flight", "полет", "полета")):
            # "and the distance", "and plan": a verb needs something to act on.
            return position + 1 < len(tokens)
        if kinds & set(_HEAD_NOUNS):
            if kinds & {Cat.ROUTE, Cat.PLAN} and Cat.BUILD in said and not said & set(_OBJECTS):
                return False  # «из Софии проложи, пожалуйста, маршрут»: the verb waits for its noun
            may_be_field = about_plan and kinds & {Cat.ROUTE, Cat.POSITION, Cat.INFO, Cat.DISTANCE}
            return not may_be_field or _with_places(tokens, position)
        if kinds & {Cat.NEAREST, Cat.FARTHEST, Cat.EXTREME}:
            if said & {Cat.NEAREST, Cat.FARTHEST, Cat.EXTREME} and Cat.AIRPORT in said:
                # "the nearest airport to Berlin and the farthest from Paris": each has its own place.
                return bool(said & {Cat.FROM, Cat.TO, Cat.AT, Cat.NEAR, Cat.OF})
            return bool(said & {Cat.WEATHER, Cat.ROUTE, Cat.PLAN}) and not said & {Cat.FROM, Cat.TO, Cat.AT}
        if not (kinds & set(_SKIPPED)) and token.text != "," and number_of(token) is None:
            return False
    return False


def _is_airport_code(token: Token, tokens: list[Token]) -> bool:
    """A code in capitals among words that are not all in capitals, if the catalogue has it."""
    if not token.is_code or not any(other.text.islower() for other in tokens):
        return False
    return resolve_airport(token.text).how in ("icao_code", "iata_code")


def _has_object(tokens: list[Token]) -> bool:
    """Do the tokens name what is asked for: a noun of a request, an airport, the plan as "it", or a name?"""
    objects = (*_OBJECTS, Cat.IT, Cat.PLAN_NOISE)
    return any(is_a(token, *objects) or (token.kind != "mark" and not categories(token)) for token in tokens)


def _with_places(tokens: list[Token], position: int) -> bool:
    return any(is_a(token, Cat.FROM, Cat.TO, Cat.BETWEEN) for token in tokens[position + 1 : position + 4])

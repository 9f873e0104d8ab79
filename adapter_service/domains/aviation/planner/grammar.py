"""Reads one clause into a frame: what is asked for, the places by their role, counts and limits, and what is left over.

Called by the planner for each clause. Nothing here knows tools; compose.py turns frames into tasks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from adapter_service.domains.aviation.demonyms import country_of_adjective
from adapter_service.domains.aviation.matching import looks_like_place, resolve_airport
from adapter_service.domains.aviation.planner.exclusions import countries_at, exclusion_at
from adapter_service.domains.aviation.planner.lexicon import categories, is_a, is_beyond, number_of, ordinal_of
from adapter_service.domains.aviation.planner.measures import find_measures, merge
from adapter_service.domains.aviation.planner.names import VERBS, is_place, read_name, split_pair
from adapter_service.domains.aviation.planner.negation import negated_command
from adapter_service.domains.aviation.planner.orders import read_first, read_sort, sorts_at
from adapter_service.domains.aviation.planner.places import (
    AirportQuery,
    Me,
    Place,
    PlaceText,
    Reference,
    kind_of,
    read_place,
    read_query,
    strip_airport,
)
from adapter_service.domains.aviation.planner.plan_fields import GAP, PlanFields, read_plan_fields
from adapter_service.domains.aviation.planner.reader import Reader
from adapter_service.domains.aviation.planner.sizes import sized_airport
from adapter_service.domains.aviation.planner.tokens import Token, tokenise
from adapter_service.domains.aviation.planner.word_kinds import Cat

# The order in which the roles of a preposition are considered where it has several.
_ROLES: Final = (Cat.BETWEEN, Cat.FROM, Cat.TO, Cat.VIA, Cat.NEAR, Cat.AT, Cat.OF)
_QUESTION_WORDS: Final = frozenset({"which", "what", "каком", "какой", "какую", "какие", "каких", "какому", "какого"})
_CLOSERS: Final = frozenset({"to", "с", "со", "от", "к", "ко", "of", "by"})


@dataclass(slots=True)
class Frame:
    """A clause as read. `places` by the role of the preposition; BARE places had none."""

    text: str
    words: list[Token]
    said: set[Cat] = field(default_factory=set)
    places: dict[str, list[Place]] = field(default_factory=dict)
    query: AirportQuery = field(default_factory=AirportQuery)
    fields: PlanFields | None = None
    leftovers: list[str] = field(default_factory=list)

    def has(self, *wanted: Cat) -> bool:
        """Was any word of these kinds said?"""
        return not self.said.isdisjoint(wanted)

    def at(self, *roles: str) -> list[Place]:
        """The places of these roles, role by role."""
        return [place for role in roles for place in self.places.get(role, [])]

    @property
    def has_places(self) -> bool:
        """Was any place named?"""
        return any(self.places.values())


BARE: Final = "bare"


def read_clause(text: str, *, as_plan: bool, as_journey: bool) -> Frame:
    """Read a clause. `as_plan`: look for flight plan fields first. `as_journey`: «в» and «на» name a destination."""
    fields = read_plan_fields(text) if as_plan else None
    rest = fields.rest if fields else text
    tokens = tokenise(rest)
    measures = [] if as_plan else find_measures(rest)
    merged, by_start = merge(tokens, measures, rest)
    reader = Reader(text if len(text) == len(rest) else rest, merged, by_start, at_means_to=as_plan or as_journey)
    frame = Frame(text, tokenise(text), fields=fields)
    for token in frame.words:
        frame.said |= categories(token)
    if is_beyond(frame.words, as_plan=as_plan):
        frame.leftovers.append(text)
    negated = negated_command(frame.words)
    if negated:
        frame.leftovers[:] = [negated]
        return frame  # refused by these words
    sized = sized_airport(reader)
    if sized:
        frame.leftovers.append(sized)
        return frame  # nothing in the catalogue tells it: the clause is refused by these words
    index, role = 0, BARE
    while index < len(merged):
        behind, role = _step(reader, frame, index, role)
        index = max(behind, index + 1)
    return frame


def _add(frame: Frame, role: str, place: Place) -> None:
    frame.places.setdefault(role, []).append(place)


def _step(reader: Reader, frame: Frame, index: int, role: str) -> tuple[int, str]:
    """Read one thing at `index`; returns the index behind it and the role that a coordinated place would have."""
    token = reader.tokens[index]
    if token.kind == "mark":
        return index + 1, role if token.text in ",/&-—–" else BARE
    measure = reader.measure_at(index)
    if measure is not None:
        if measure.is_distance:
            query = frame.query
            query.radius_km = measure.km if measure.km is not None else query.radius_km
            query.min_distance_km = measure.least_km if measure.least_km is not None else query.min_distance_km
            following = reader.skip(index + 1, Cat.WITHIN, Cat.FILLER)
            if reader.is_at(following, Cat.FROM, Cat.OF, Cat.TO, Cat.NEAR):
                return _read_role(reader, frame, following, Cat.NEAR)
            return index + 1, role
        place, behind = read_place(reader, index)
        if place is not None:
            _add(frame, role, place)
        return behind, role
    sort, behind = read_first(reader, index)
    if sort:
        frame.query.sort = sort
        return behind, BARE
    excluded = exclusion_at(reader, index)
    if excluded is not None:
        countries, behind = countries_at(reader, excluded)
        frame.query.except_countries += countries
        if not countries:
            frame.leftovers[:] = [frame.text]  # no tool leaves out anything else
        return max(behind, excluded), BARE
    if _is_superlative(reader, index):
        return _read_main_query(reader, frame, index), BARE
    number = number_of(token)
    if number is not None and _counts(reader, index):
        frame.query.count = number
        return index + 1, role
    if ordinal_of(token) is not None and reader.is_at(index + 1, Cat.NEAREST, Cat.FARTHEST, Cat.EXTREME):
        frame.query.ordinal = ordinal_of(token)
        return index + 1, role
    if is_a(token, Cat.BEYOND) and _is_distance(reader, reader.skip(index + 1, Cat.FILLER)):
        before = reader.token(index - 1)
        if before is None or before.lower not in ("не", "no", "not"):
            frame.leftovers.append(reader.between(index, reader.skip(index + 1, Cat.FILLER) + 1))
        return index + 1, BARE
    if is_a(token, Cat.FROM, Cat.AT, Cat.NEAR) and reader.is_at(index + 1, Cat.NAMED) and not sorts_at(reader, index):
        return index + 1, BARE  # «с кодом LED», "by code LED"
    if is_a(token, Cat.NAMED):
        behind = _read_named(reader, frame, index)
        if behind > index:
            return behind, BARE
    if is_a(token, Cat.SORT) or sorts_at(reader, index):
        frame.query.sort, behind = read_sort(reader, index, frame.query.sort)
        return behind, BARE
    preposition = _preposition(reader, frame, index)
    if preposition is not None:
        return _read_role(reader, frame, index, preposition)
    return _read_other(reader, frame, index, role)


def _is_distance(reader: Reader, index: int) -> bool:
    measure = reader.measure_at(index)
    return measure is not None and measure.is_distance


def _is_superlative(reader: Reader, index: int) -> bool:
    """ "Nearest", "highest"; but the highest of what is no airport ("highest temperature") is none."""
    token = reader.tokens[index]
    if not is_a(token, Cat.EXTREME):
        return is_a(token, Cat.NEAREST, Cat.FARTHEST) and not is_a(token, Cat.BEYOND)
    airports = any(is_a(other, Cat.AIRPORT, Cat.AIRPORTS) for other in reader.tokens)
    following = reader.token(reader.skip(index + 1, Cat.FILLER))
    beside = following is None or following.kind != "word" or is_a(following, *_BESIDE_SUPERLATIVE)
    return airports and beside


def _preposition(reader: Reader, frame: Frame, index: int) -> Cat | None:
    token = reader.tokens[index]
    for role in _ROLES:
        if is_a(token, role):
            if role is Cat.AT and reader.at_means_to and token.lower in ("в", "во", "на"):
                return Cat.TO
            return role
    if is_a(token, Cat.WITHIN):
        return Cat.WITHIN
    return None


def _read_role(reader: Reader, frame: Frame, index: int, role: Cat) -> tuple[int, str]:
    behind = index + 1
    token = reader.token(behind)
    if role in (Cat.NEAR, Cat.WITHIN) and token is not None and token.lower in _CLOSERS:
        behind += 1
    if token is not None and token.lower in _QUESTION_WORDS:
        return reader.skip(behind + 1, Cat.GENERIC, Cat.FILLER), BARE  # "in which city", «в каком городе»
    if token is not None and reader.tokens[index].lower == "arriving" and token.lower in ("at", "in"):
        behind += 1
    if role in (Cat.AT, Cat.TO, Cat.OF) and reader.is_at(behind, Cat.WITHIN):
        return behind + 1, BARE  # «в радиусе»
    if role is Cat.WITHIN or _is_distance(reader, behind):
        return behind, BARE
    ends = role is Cat.FROM and any(is_a(later, Cat.TO) for later in reader.tokens[behind:])
    place, end = read_place(
        reader, behind, to_ends=ends and reader.is_at(behind, *_QUERY_WORDS) and _single_to(reader, behind)
    )
    if place is None:
        if role is Cat.NEAR:
            _add(frame, Cat.NEAR, Me())
        return behind, role
    if isinstance(place, PlaceText) and _is_only_known_words(reader, behind, end):
        return end, role
    _add(frame, role, place)
    return end, role


_BESIDE_SUPERLATIVE: Final = (
    *(Cat.AIRPORT, Cat.AIRPORTS, Cat.CODE_KIND, Cat.ANY_KIND, Cat.INTERNATIONAL, Cat.AT, Cat.OF, Cat.NEAR, Cat.WITHIN),
    *(Cat.AND, Cat.THEN, Cat.FROM, Cat.TO, Cat.EXCEPT),
)
_QUERY_WORDS: Final = (Cat.GENERIC, Cat.NEAREST, Cat.FARTHEST, Cat.EXTREME, Cat.AIRPORT, Cat.FILLER)


def _single_to(reader: Reader, index: int) -> bool:
    """Is there one "to" only, and not right behind the superlative ("nearest to me")?"""
    tos = [position for position in range(index, len(reader.tokens)) if reader.is_at(position, Cat.TO)]
    return len(tos) == 1 and not reader.is_at(tos[0] - 1, Cat.NEAREST, Cat.FARTHEST)


def _is_only_known_words(reader: Reader, index: int, end: int) -> bool:
    """ "about the weather", "at the moment": what follows the preposition is no name but words of the lexicon."""
    words = [token for token in reader.tokens[index:end] if not is_a(token, Cat.GENERIC)]
    known = (Cat.WEATHER, Cat.ROUTE, Cat.PLAN, Cat.INFO, Cat.POSITION, Cat.FILLER, Cat.DISTANCE, Cat.FLY, *VERBS)
    if not words or not all(is_a(token, *known) for token in words):
        return False
    return not any(token.capitalised for token in words) or not looks_like_place(reader.between(index, end))


def _read_main_query(reader: Reader, frame: Frame, index: int) -> int:
    query, behind = read_query(reader, index)
    main = frame.query
    if main.ranked:
        frame.leftovers.append(reader.tokens[index].text)  # "nearest and farthest": one search has one order
    main.superlative, main.extreme = query.superlative, query.extreme
    main.plural = main.plural or query.plural
    main.count = query.count if query.count is not None else main.count
    main.ordinal = query.ordinal if query.ordinal is not None else main.ordinal
    main.radius_km = query.radius_km if query.radius_km is not None else main.radius_km
    main.centre = query.centre if query.centre is not None else main.centre
    main.min_distance_km = query.min_distance_km if query.min_distance_km is not None else main.min_distance_km
    main.kind = query.kind or main.kind
    main.areas += query.areas
    return behind


def _counts(reader: Reader, index: int) -> bool:
    """A number counts airports if it stands by them, or behind "top", "first", "limit"."""
    if reader.is_at(index - 1, Cat.COUNT):
        return True
    following = reader.skip(index + 1, Cat.FILLER, Cat.CODE_KIND, Cat.ANY_KIND, Cat.INTERNATIONAL)
    return reader.is_at(following, Cat.AIRPORT, Cat.AIRPORTS, Cat.NEAREST, Cat.FARTHEST, Cat.EXTREME)


def _read_named(reader: Reader, frame: Frame, index: int) -> int:
    """ "named Kennedy", "with the code LHR", «с кодом LED», «под названием …»."""
    behind = reader.skip(index + 1, Cat.FILLER)
    token = reader.token(behind)
    if token is None:
        return index
    if token.is_code or (categories(reader.tokens[index]) & {Cat.INFO} and len(token.text) in (3, 4)):
        if token.kind == "word" and (token.is_code or not categories(token)):
            frame.query.code = token.text
            return behind + 1
        return index
    if categories(reader.tokens[index]) & {Cat.INFO}:
        return index
    name, end = read_name(reader, behind)
    if name:
        frame.query.names.append(strip_airport(name).text)
        return end
    return index


def _read_other(reader: Reader, frame: Frame, index: int, role: str) -> tuple[int, str]:
    """A word without a preposition: part of the request, a pronoun, a bare place, or something unknown."""
    token = reader.tokens[index]
    if is_a(token, Cat.AIRPORTS):
        frame.query.plural = True
    following = reader.token(index + 2)
    names_code = reader.is_at(index + 1, Cat.NAMED) and following is not None and following.is_code
    if kind_of(token) and not names_code:  # "IATA code GRU" tells no kind
        frame.query.kind = kind_of(token)
        return index + 1, role
    if is_a(token, Cat.HOW_MANY):
        frame.query.counts = True
        return index + 1, role
    if is_a(token, Cat.INTERNATIONAL) and reader.is_at(index + 1, Cat.AIRPORT, Cat.AIRPORTS):
        frame.query.kind = frame.query.kind or "international"
        return index + 1, role
    if is_a(token, Cat.AND, Cat.OR):
        return index + 1, role
    if is_a(token, Cat.EXTREME):
        frame.leftovers.append(token.text)
        return index + 1, BARE
    if token.is_code and categories(token) and not reader.text.isupper() and _is_known_code(token.text):
        _add(frame, role, PlaceText(token.text, says_airport=True))  # "weather ADD": a code that is also a word
        return index + 1, role
    if is_a(token, Cat.OTHER_TIME) and not is_a(token, Cat.GREETING):
        frame.leftovers.append(token.text)
        return index + 1, role
    if token.lower in ("here", "здесь", "тут"):
        _add(frame, Cat.AT, Me())
        return index + 1, BARE
    if token.lower == "there" and _exists(reader, index):
        return index + 1, role
    if is_a(token, Cat.FROM_THERE):
        _add(frame, Cat.FROM, Reference(token.text))
        return index + 1, BARE
    if is_a(token, Cat.THERE) or (is_a(token, Cat.THIS) and reader.is_at(index + 1, Cat.AIRPORT)):
        is_from = reader.is_at(index - 1, Cat.FROM)
        _add(frame, Cat.FROM if is_from else "there", Reference(token.text))
        return reader.skip(index + 1, Cat.AIRPORT), BARE
    number = ordinal_of(token)
    if number is not None and reader.is_at(index + 1, Cat.IT):
        _add(frame, "there", Reference(reader.between(index, index + 2), number - 1))
        return index + 2, BARE
    if categories(token) - {Cat.PLAN_NOISE}:
        return index + 1, BARE if not is_a(token, Cat.FILLER, Cat.AIRPORT) else role
    if token.kind == "number":
        frame.leftovers.append(token.text)
        return index + 1, role
    return _read_bare(reader, frame, index, role)


def _is_known_code(text: str) -> bool:
    return resolve_airport(text).how in ("icao_code", "iata_code")


def _exists(reader: Reader, index: int) -> bool:
    """ "are there airports", "there is": no place is meant."""
    beside = [reader.token(index - 1), reader.token(index + 1)]
    return any(token is not None and token.lower in ("is", "are", "any") for token in beside) and not reader.is_at(
        index - 1, Cat.WEATHER, Cat.AND
    )


def _read_bare(reader: Reader, frame: Frame, index: int, role: str) -> tuple[int, str]:
    name, behind = read_name(reader, index)
    if reader.is_at(index + 1, Cat.AIRPORT, Cat.AIRPORTS) or reader.is_at(index - 1, Cat.AIRPORT, Cat.AIRPORTS):
        country = country_of_adjective(reader.tokens[index].text)
        if country is not None:
            _add(frame, BARE, PlaceText(country))  # "German airports", «ближайший японский аэропорт»
            return index + 1, BARE
    if frame.fields is not None and is_a(reader.tokens[index], Cat.PLAN_NOISE):
        return index + 1, BARE
    if not name or name == GAP:
        frame.leftovers.append(reader.tokens[index].text)
        return index + 1, role
    said_airport = reader.is_at(index - 1, Cat.AIRPORT)
    place = strip_airport(name, said_airport)
    # A name is written with a capital somewhere ("airport Charles de Gaulle"); the first word of a sentence always is.
    named_like = any(token.capitalised for token in reader.tokens[max(index, 1) : behind])
    names_have_capitals = any(later.capitalised and later.kind == "word" for later in reader.tokens[1:])
    if names_have_capitals and not any(token.capitalised for token in reader.tokens[index:behind]):
        frame.leftovers.append(name)  # "the capital of France": who writes names with capitals means no name here
        return behind, role
    if is_place(place.text, named_like=named_like) or split_pair(place.text) is not None:
        _add(frame, role, place)
    else:
        frame.leftovers.append(name)
    return behind, role

"""Reads one clause into a frame: what is asked for, the places by their role, counts and limits, and what is left over.

Called by the planner for each clause. Nothing here knows tools; compose.py turns frames into tasks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from adapter_service.domains.aviation.demonyms import country_of_adjective
from adapter_service.domains.aviation.matching import looks_like_place, resolve_airport
from adapter_service.domains.aviation.planner.lexicon import categories, is_a, is_beyond, number_of, ordinal_of
from adapter_service.domains.aviation.planner.measures import find_measures, merge
from adapter_service.domains.aviation.planner.places import (
    VERBS,
    AirportQuery,
    Me,
    Place,
    PlaceText,
    Reference,
    kind_of,
    read_name,
    read_place,
    read_query,
    strip_airport,
)
from adapter_service.domains.aviation.planner.plan_fields import GAP, PlanFields, read_plan_fields
from adapter_service.domains.aviation.planner.reader import Reader
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
_LOWER_CASE_SCORE: Final = 97.0


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
        if measure.km is not None:
            frame.query.radius_km = measure.km
            following = reader.skip(index + 1, Cat.WITHIN, Cat.FILLER)
            if reader.is_at(following, Cat.FROM, Cat.OF, Cat.TO, Cat.NEAR):
                return _read_role(reader, frame, following, Cat.NEAR)
            return index + 1, role
        place, behind = read_place(reader, index)
        if place is not None:
            _add(frame, role, place)
        return behind, role
    sorted_to = _read_order(reader, frame, index)
    if sorted_to > index:
        return sorted_to, BARE
    if is_a(token, Cat.NEAREST, Cat.FARTHEST) and not is_a(token, Cat.BEYOND):
        return _read_main_query(reader, frame, index), BARE
    number = number_of(token)
    if number is not None and _counts(reader, index):
        frame.query.count = number
        return index + 1, role
    if ordinal_of(token) is not None and reader.is_at(index + 1, Cat.NEAREST, Cat.FARTHEST):
        frame.query.ordinal = ordinal_of(token)
        return index + 1, role
    if is_a(token, Cat.BEYOND) and _is_distance(reader, reader.skip(index + 1, Cat.FILLER)):
        before = reader.token(index - 1)
        if before is None or before.lower not in ("не", "no", "not"):
            frame.leftovers.append(reader.between(index, reader.skip(index + 1, Cat.FILLER) + 1))
        return index + 1, BARE
    if (
        is_a(token, Cat.FROM, Cat.AT, Cat.NEAR)
        and reader.is_at(index + 1, Cat.NAMED)
        and not _sorts(reader, frame, index)
    ):
        return index + 1, BARE  # «с кодом LED», "by code LED"
    if is_a(token, Cat.NAMED):
        behind = _read_named(reader, frame, index)
        if behind > index:
            return behind, BARE
    if is_a(token, Cat.SORT) or _sorts(reader, frame, index):
        return _read_sort(reader, frame, index), BARE
    preposition = _preposition(reader, frame, index)
    if preposition is not None:
        return _read_role(reader, frame, index, preposition)
    return _read_other(reader, frame, index, role)


def _is_distance(reader: Reader, index: int) -> bool:
    measure = reader.measure_at(index)
    return measure is not None and measure.km is not None


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


_QUERY_WORDS: Final = (Cat.GENERIC, Cat.NEAREST, Cat.FARTHEST, Cat.AIRPORT, Cat.FILLER)


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
    main.superlative = query.superlative
    main.plural = main.plural or query.plural
    main.count = query.count if query.count is not None else main.count
    main.ordinal = query.ordinal if query.ordinal is not None else main.ordinal
    main.radius_km = query.radius_km if query.radius_km is not None else main.radius_km
    main.centre = query.centre if query.centre is not None else main.centre
    main.kind = query.kind or main.kind
    main.areas += query.areas
    return behind


def _counts(reader: Reader, index: int) -> bool:
    """A number counts airports if it stands by them, or behind "top", "first", "limit"."""
    if reader.is_at(index - 1, Cat.COUNT):
        return True
    following = reader.skip(index + 1, Cat.FILLER, Cat.CODE_KIND, Cat.ANY_KIND)
    return reader.is_at(following, Cat.AIRPORT, Cat.AIRPORTS, Cat.NEAREST, Cat.FARTHEST)


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


def _sorts(reader: Reader, frame: Frame, index: int) -> bool:
    """ "by distance", «по имени», "alphabetically", "in reverse order", "nearest first"."""
    token = reader.tokens[index]
    if token.lower in ("by", "по", "in", "в"):
        return reader.is_at(index + 1, Cat.BY_NAME, Cat.BY_DISTANCE, Cat.REVERSE)
    return token.lower.startswith("alphabetic")


def _read_order(reader: Reader, frame: Frame, index: int) -> int:
    """ "farthest first", «сначала ближние»: an order, not a choice; the index behind it, or `index`."""
    first, second = reader.token(index), reader.token(index + 1)
    if first is None or second is None:
        return index
    superlative = first if second.lower in ("first", "сначала", "сперва") else second
    if superlative is second and first.lower not in ("сначала", "сперва"):
        return index
    if not is_a(superlative, Cat.NEAREST, Cat.FARTHEST):
        return index
    frame.query.sort = "distance_desc" if is_a(superlative, Cat.FARTHEST) else "distance"
    return index + 2


def _read_sort(reader: Reader, frame: Frame, index: int) -> int:
    sort = frame.query.sort
    end = index
    while (token := reader.token(end)) is not None:
        if is_a(token, Cat.BY_NAME):
            sort = "name"
        elif is_a(token, Cat.BY_DISTANCE):
            sort = "distance"
        elif is_a(token, Cat.REVERSE):
            sort = f"{sort or 'distance'}_desc"
        elif not (is_a(token, Cat.SORT, Cat.FILLER, Cat.AT) or token.lower in ("by", "по", "order", "порядке")):
            break
        end += 1
    frame.query.sort = sort
    return end


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
    if is_a(token, Cat.AND):
        return index + 1, role
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
    if _is_place(place.text, named_like=named_like) or split_pair(place.text) is not None:
        _add(frame, role, place)
    else:
        frame.leftovers.append(name)
    return behind, role


def _is_place(text: str, *, named_like: bool) -> bool:
    """A place without a preposition is written like a name, or is exactly one: any word resembles some airfield."""
    if named_like:
        return True
    found = resolve_airport(text)
    if found.status == "not_found":
        return False
    if text[:1].isupper():
        return looks_like_place(text)
    # A lower-case word ("restaurant", «работа») resembles some airfield's name: only an airport of traffic counts, read
    # letter by letter.
    best = found.candidates[0]
    return found.exact and bool(best.airport.iata) and best.score >= _LOWER_CASE_SCORE


def _is_end(text: str) -> bool:
    return _is_place(text.strip(), named_like=False)


def split_pair(text: str) -> tuple[str, str] | None:
    """Two places without a preposition ("Berlin Munich", "EDDB-EDDM", «Берлин — Мюнхен»), or None."""
    for separator in ("—", "–", " - ", "-", "→", "->", "/"):
        if separator in text:
            left, _, right = text.partition(separator)
            if left.strip() and right.strip() and _is_end(left) and _is_end(right):
                return left.strip(), right.strip()
    words = text.split()
    for cut in range(1, len(words)):
        left, right = " ".join(words[:cut]), " ".join(words[cut:])
        if _is_end(left) and _is_end(right):
            return left, right
    return None

"""Noun phrases that name a place: a text, "me", "there", a position, or an airport described by a query.

Called by the grammar for what follows a preposition. Names themselves are read in names.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from adapter_service.domains.aviation.countries import country_code
from adapter_service.domains.aviation.planner.lexicon import categories, is_a, number_of, ordinal_of
from adapter_service.domains.aviation.planner.names import SUPERLATIVES, read_name
from adapter_service.domains.aviation.planner.orders import sort_of
from adapter_service.domains.aviation.planner.reader import Reader
from adapter_service.domains.aviation.planner.tokens import Token, tokenise
from adapter_service.domains.aviation.planner.word_kinds import Cat


@dataclass(frozen=True, slots=True)
class PlaceText:
    """A place in the user's words. `says_airport`: the word "airport" stood with it."""

    text: str
    says_airport: bool = False


@dataclass(frozen=True, slots=True)
class Me:
    """Where the user is."""


@dataclass(frozen=True, slots=True)
class Position:
    """A position in WGS 84 degrees; `text` as it was written."""

    latitude_deg: float
    longitude_deg: float
    text: str


@dataclass(frozen=True, slots=True)
class Reference:
    """An airport that was spoken of before; `index` from 0 where one of several was chosen by an ordinal."""

    text: str
    index: int | None = None


@dataclass(slots=True)
class AirportQuery:
    """Airports by description: the parts that were said."""

    superlative: Cat | None = None  # NEAREST or FARTHEST
    count: int | None = None
    ordinal: int | None = None
    plural: bool = False
    radius_km: float | None = None
    centre: Place | None = None
    near: bool = False
    areas: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    code: str = ""
    sort: str = ""
    kind: str = ""
    extreme: str = ""  # the order that puts the highest, northernmost … first
    min_distance_km: float | None = None
    except_countries: list[str] = field(default_factory=list)
    counts: bool = False  # "how many"

    @property
    def ranked(self) -> bool:
        """Does a superlative choose: nearest, highest …?"""
        return self.superlative is not None or bool(self.extreme)

    @property
    def centred(self) -> bool:
        """Are distances from somewhere asked for?"""
        ringed = self.radius_km is not None or self.min_distance_km is not None
        return self.superlative is not None or ringed or self.centre is not None or self.near

    @property
    def describes(self) -> bool:
        """Does it tell which airports are meant, by more than a place?"""
        ringed = self.radius_km is not None or self.min_distance_km is not None
        return self.ranked or ringed or bool(self.names or self.code)


Place = PlaceText | Me | Position | Reference | AirportQuery

_CLOSERS: Final = frozenset({"to", "с", "со", "от", "к", "ко", "of", "by"})
_POINTS: Final = frozenset({"point", "position", "coordinates", "точке", "точки", "координатам", "координат"})
_SUBDIVISIONS: Final = frozenset({"state", "province", "region"})
_AIRPORT_WORDS: Final = (Cat.AIRPORT, Cat.AIRPORTS)


def read_place(reader: Reader, index: int, *, to_ends: bool = False) -> tuple[Place | None, int]:
    """The place that begins at `index`, and the index behind it; (None, index) where no place begins.

    `to_ends`: "to" after "the nearest airport" begins the destination of a route, not the centre of the search.
    """
    start = index
    index, said_airport = _skip_determiners(reader, index)
    query_at = _query_start(reader, start, index)
    if query_at is not None:
        query, end = read_query(reader, query_at, to_ends=to_ends)
        return query, end
    measure = reader.measure_at(index)
    if measure is not None and not measure.is_distance:
        return Position(measure.latitude_deg, measure.longitude_deg, reader.between(index, index + 1)), index + 1
    found = _read_pronoun(reader, start, index)
    if found is not None:
        return found
    while reader.is_at(index, Cat.FILLER) and _before_a_name(reader, index):
        index += 1
    pointed = reader.token(index)
    if pointed is not None and pointed.lower in _POINTS and reader.measure_at(index + 1) is not None:
        return read_place(reader, index + 1)  # «к точке 55.1, 61.4»
    of_kind = reader.token(index)
    if of_kind is not None and of_kind.lower in _SUBDIVISIONS and reader.is_at(index + 1, Cat.OF):
        name, end = read_name(reader, index + 2)  # "the state of New York", which is not the city
        if name:
            return PlaceText(reader.between(index, end)), end
    text, end = read_name(reader, index)
    if not text and index > start and said_airport and not reader.is_at(start, Cat.THIS):
        return None, index
    if not text:
        return None, start
    return strip_airport(text, said_airport), end


def _before_a_name(reader: Reader, index: int) -> bool:
    """A lower-case word of no meaning before a capitalised one is no part of the name."""
    following = reader.token(index + 1)
    return not reader.tokens[index].capitalised and following is not None and following.capitalised


def strip_airport(text: str, said_airport: bool = False) -> PlaceText:
    """The place text without the word "airport" at either end; that word says an airport is meant, not a city."""
    words = text.split()
    says = said_airport
    while len(words) > 1 and _is_airport_word(words[-1]):
        words.pop()
        says = True
    while len(words) > 1 and _is_airport_word(words[0]):
        words.pop(0)
        says = True
    return PlaceText(" ".join(words).strip(" ,.;:!?"), says)


def _is_airport_word(word: str) -> bool:
    tokens = tokenise(word)
    return len(tokens) == 1 and is_a(tokens[0], *_AIRPORT_WORDS)


def _skip_determiners(reader: Reader, index: int) -> tuple[int, bool]:
    said_airport = False
    while (token := reader.token(index)) is not None and is_a(token, Cat.GENERIC, Cat.AIRPORT):
        if token.text in ("A", "An") and index > 0:
            break  # "A Coruña"
        following = reader.token(index + 1)
        if token.lower == "city" and not (following is not None and following.lower == "of"):
            break
        is_airport = is_a(token, Cat.AIRPORT)
        if is_airport and following is None:
            break
        said_airport = said_airport or is_airport
        index += 2 if token.lower in ("city", "airport") and following is not None and following.lower == "of" else 1
    return index, said_airport


def _query_start(reader: Reader, start: int, index: int) -> int | None:
    """Where an airport query begins at or right before `index`, or None."""
    probe = index
    token = reader.token(probe)
    if token is not None and (number_of(token) is not None or ordinal_of(token) is not None):
        probe = reader.skip(probe + 1, Cat.AIRPORT, Cat.AIRPORTS)  # "the two airports nearest to Lima"
    probe = reader.skip(probe, Cat.FILLER) if not reader.is_at(probe, *SUPERLATIVES) else probe
    if reader.is_at(probe, *SUPERLATIVES):
        return index
    # "the airport nearest to me", "an airport near Prague", «аэропорту рядом со мной»
    if index > start and reader.is_at(index - 1, Cat.AIRPORT) and reader.is_at(index, Cat.NEAR, Cat.WITHIN):
        return index - 1
    return None


def _read_pronoun(reader: Reader, start: int, index: int) -> tuple[Place, int] | None:
    """ "me", "my position", "here", "there", "it", "that airport", "the second one"."""
    token = reader.token(index)
    if token is None:
        return None
    if is_a(token, Cat.ME):
        end = reader.skip(index + 1, Cat.POSITION, Cat.ME, Cat.FILLER)
        return (Me(), end) if end > index + 1 or is_a(token, Cat.ME) else None
    if is_a(token, Cat.POSITION) and reader.is_at(index + 1, Cat.ME):
        return Me(), index + 2
    if is_a(token, Cat.HERE):
        return Me(), index + 1
    if is_a(token, Cat.FROM_THERE):
        return Reference(token.text), index + 1
    number = ordinal_of(token)
    if number is not None or is_a(token, Cat.LAST):
        end = index + 1
        behind = reader.token(end)
        if behind is None or is_a(behind, Cat.IT, Cat.AIRPORT, Cat.AND, Cat.THEN, Cat.THIS) or behind.kind == "mark":
            end = reader.skip(end, Cat.IT, Cat.AIRPORT)
            return Reference(reader.between(index, end), number - 1 if number is not None else None), end
    if is_a(token, Cat.THIS):
        end = reader.skip(index + 1, Cat.AIRPORT, Cat.IT, Cat.GENERIC, Cat.POSITION)
        behind = reader.token(end)
        alone = behind is None or categories(behind) or behind.kind != "word"
        return (Reference(reader.between(index, end)), end) if end > index + 1 or alone else None
    if is_a(token, Cat.THERE, Cat.IT) and not (token.capitalised and index > 0 and token.lower == "it"):
        return Reference(token.text), reader.skip(index + 1, Cat.AIRPORT)
    return None


def read_query(reader: Reader, index: int, *, to_ends: bool = False) -> tuple[AirportQuery, int]:
    """An airport query that begins at `index` ("three nearest airports to Prague in …"), and the index behind it."""
    query = AirportQuery()
    end = index
    while (token := reader.token(end)) is not None:
        if is_a(token, Cat.NEAREST, Cat.FARTHEST) and query.superlative is None:
            query.superlative = Cat.NEAREST if is_a(token, Cat.NEAREST) else Cat.FARTHEST
            end += 1
            # Right behind the superlative the centre follows: "nearest to me", «ближайшем к Праге».
            if reader.is_at(end, Cat.TO, Cat.FROM, Cat.NEAR):
                end = _read_centre(reader, query, end)
                if isinstance(query.centre, PlaceText):
                    # «ближайшем к Праге аэропорту»: the word "airport" belongs to the query.
                    query.centre = PlaceText(query.centre.text)
        elif is_a(token, Cat.EXTREME) and not query.extreme and query.superlative is None:
            query.extreme = sort_of(token)
            end += 1
        elif is_a(token, Cat.INTERNATIONAL) and reader.is_at(end + 1, *_AIRPORT_WORDS):
            query.kind = query.kind or "international"
            end += 1
        elif is_a(token, Cat.AIRPORT, Cat.AIRPORTS, Cat.CODE_KIND, Cat.ANY_KIND):
            query.plural = query.plural or is_a(token, Cat.AIRPORTS)
            query.kind = kind_of(token) or query.kind
            end += 1
        elif ordinal_of(token) is not None and query.superlative is None:
            query.ordinal = ordinal_of(token)
            end += 1
        elif number_of(token) is not None and query.count is None and not is_a(token, Cat.IT):
            query.count = number_of(token)
            end += 1
        elif (distance := reader.measure_at(end)) is not None and distance.is_distance:
            query.radius_km = distance.km if distance.km is not None else query.radius_km
            query.min_distance_km = distance.least_km if distance.least_km is not None else query.min_distance_km
            end += 1
        elif query.extreme and is_a(token, Cat.OF) and reader.measure_at(end - 1) is None:
            place, behind = read_place(reader, end + 1)
            if not isinstance(place, PlaceText):
                break
            query.areas.append(place.text)  # "the northernmost airport of Norway"
            end = behind
        elif is_a(token, Cat.ME) and query.centre is None and not reader.is_at(end + 1, Cat.POSITION):
            query.centre, end = Me(), end + 1
        elif (
            query.centre is None
            and is_a(token, Cat.TO, Cat.NEAR, Cat.FROM, Cat.OF)
            and not (to_ends and is_a(token, Cat.TO))
            and not (reader.at_means_to and is_a(token, Cat.FROM, Cat.TO) and not _more_ends(reader, end))
        ):
            behind = _read_centre(reader, query, end)
            if behind == end:
                break
            end = behind
        elif is_a(token, Cat.AT) and not (reader.at_means_to and not token.lower.isascii()):
            place, behind = read_place(reader, end + 1)
            if isinstance(place, PlaceText):
                query.areas.append(place.text)
            elif isinstance(place, Reference | Me) and query.centre is None:
                query.centre = place
            elif reader.measure_at(end + 1) is None:
                break
            end = max(behind, end + 1)
        elif is_a(token, Cat.WITHIN) or (is_a(token, Cat.GENERIC, Cat.FILLER) and end == index):
            end += 1
        elif (behind := _country_behind(reader, query, end)) > end:
            end = behind
        else:
            break
    return query, end


def _more_ends(reader: Reader, index: int) -> bool:
    """ "from the airport nearest to Potsdam to Vienna": the first "to" is not the journey's, another one follows."""
    return reader.is_at(index, Cat.TO) and any(is_a(later, Cat.TO) for later in reader.tokens[index + 1 :])


def _country_behind(reader: Reader, query: AirportQuery, index: int) -> int:
    """«самый северный аэропорт Норвегии», "the nearest airports, Poland or Germany": the index behind the countries."""
    index_of_name = index
    joined = reader.tokens[index].text == "," or is_a(reader.tokens[index], Cat.AND, Cat.OR)
    if joined and query.areas and country_code(query.areas[-1]) is not None:
        index_of_name = reader.skip(index + 1, Cat.AT, Cat.OF)
    elif joined or not reader.is_at(index - 1, *_AIRPORT_WORDS):
        return index
    _, end = read_name(reader, index_of_name)
    for behind in range(end, index_of_name, -1):
        name = reader.between(index_of_name, behind)
        if country_code(name) is not None and not reader.is_at(behind, *_AIRPORT_WORDS):
            query.areas.append(name)
            return behind
    return index


def kind_of(token: Token) -> str:
    """Which airfields a word means: those with an IATA code, any, or "" where it does not say."""
    if is_a(token, Cat.CODE_KIND):
        return "with_iata_code"
    return "any" if is_a(token, Cat.ANY_KIND) else ""


def _read_centre(reader: Reader, query: AirportQuery, index: int) -> int:
    """Read "near X", "to X" into the query's centre; the index behind, or `index` where no place follows."""
    near = reader.is_at(index, Cat.NEAR)
    behind = index + 1
    token = reader.token(behind)
    if near and token is not None and token.lower in _CLOSERS:
        behind += 1
    place, end = read_place(reader, behind)
    if place is None:
        if not near:
            return index
        query.near, query.centre = True, Me()
        return behind
    query.near = query.near or near
    query.centre = place
    return end

"""The words of a name in a sentence: where it begins and ends, and whether a text is a place at all.

Called by the grammar and by places.py. Multi-word names stay whole: a word that could end a name ends it only if the
catalogue does not know the longer name ("Frankfurt am Main", «Ростов на Дону», "Isle of Man").
"""

from __future__ import annotations

from typing import Final

from adapter_service.domains.aviation.countries import country_code
from adapter_service.domains.aviation.demonyms import country_of_adjective
from adapter_service.domains.aviation.matching import looks_like_place, resolve_airport
from adapter_service.domains.aviation.planner.lexicon import is_a
from adapter_service.domains.aviation.planner.reader import Reader
from adapter_service.domains.aviation.planner.tokens import Token
from adapter_service.domains.aviation.planner.word_kinds import Cat

_ROLE_PREPOSITIONS: Final = (Cat.FROM, Cat.TO, Cat.AT, Cat.NEAR, Cat.WITHIN, Cat.OF, Cat.VIA, Cat.BETWEEN)
SUPERLATIVES: Final = (Cat.NEAREST, Cat.FARTHEST, Cat.EXTREME)
_HEADS: Final = (Cat.WEATHER, Cat.ROUTE, Cat.DISTANCE, Cat.PLAN, Cat.AIRPORTS, *SUPERLATIVES, Cat.HOW_MANY)
VERBS: Final = (Cat.FIND, Cat.SHOW, Cat.BUILD, Cat.FILE, Cat.DRAFT, Cat.CHECK, Cat.CHANGE, Cat.FLY)
_STOPS: Final = (
    *_ROLE_PREPOSITIONS,
    *_HEADS,
    *VERBS,
    Cat.THEN,
    Cat.AND,
    Cat.FILLER,
    Cat.OTHER_TIME,
    Cat.THERE,
    Cat.FROM_THERE,
    Cat.SORT,
    Cat.NAMED,
    Cat.WHERE,
    Cat.REVERSE,
    Cat.NOT,
    Cat.BY_NAME,
    Cat.OR,
    Cat.EXCEPT,
    Cat.BACK,
    Cat.COUNT,
)
# After these a new argument always begins, whatever the catalogue knows.
_HARD_STOPS: Final = (Cat.FROM, Cat.TO, Cat.BETWEEN, Cat.THEN, Cat.VIA, Cat.OR, Cat.BACK)
_MOST_NAME_WORDS: Final = 8
_AIRPORT_WORDS: Final = (Cat.AIRPORT, Cat.AIRPORTS)
_LOWER_CASE_SCORE: Final = 97.0


def read_name(reader: Reader, index: int) -> tuple[str, int]:
    """The words of a name from `index` on and the index behind them; ("", index) where none begins."""
    token = reader.token(index)
    if token is None or token.kind not in ("word", "number") or is_a(token, *_HARD_STOPS, Cat.AND):
        return "", index
    if is_a(token, *_ROLE_PREPOSITIONS) and not token.capitalised:
        return "", index
    if is_a(token, Cat.FILLER) and reader.is_at(index + 1, Cat.NAMED):
        return "", index  # "the airport with code ADD"
    if token.kind == "number" and not (index + 1 < len(reader.tokens) and reader.tokens[index + 1].kind == "word"):
        return "", index
    end = index + 1
    while end < len(reader.tokens) and end - index < _MOST_NAME_WORDS:
        longer = _extend(reader, index, end)
        if longer == end:
            break
        end = longer
    return reader.between(index, end), end


def _extend(reader: Reader, start: int, end: int) -> int:
    """The index behind the longer name, or `end` where the name is over."""
    token = reader.tokens[end]
    if token.kind in ("measure", "number"):
        return end
    if reader.is_at(end + 1, *_AIRPORT_WORDS) and country_of_adjective(token.text) is not None:
        return end  # «ближайший к Комо швейцарский аэропорт»
    if token.kind == "mark":
        return _extend_over_mark(reader, start, end)
    if is_a(token, *_HARD_STOPS):
        return end
    if not is_a(token, *_STOPS):
        return end + 1
    return _bridge(reader, start, end)


def _bridge(reader: Reader, start: int, end: int) -> int:
    """A word that usually ends a name stays in it if the catalogue knows the name with it and the next word."""
    behind = end + 1
    while behind < len(reader.tokens) and behind - end < 3 and is_a(reader.tokens[behind], Cat.FILLER, Cat.GENERIC):
        behind += 1
    following = reader.token(behind)
    if following is not None and following.kind == "word" and not is_a(following, *_STOPS):
        whole = reader.between(start, behind + 1)
        left, right = reader.between(start, end), reader.between(behind, behind + 1)
        # Two places with "and" between them are two: reading them as one long name would take a quarter of a second.
        two = is_a(reader.tokens[end], Cat.AND) and looks_like_place(left) and looks_like_place(right)
        two = two or left.casefold() == right.casefold()  # «из Осло в Осло»
        if country_code(whole) is not None or (
            not two and _is_one_name(whole, right) and not _goes_on_with_country(reader, behind)
        ):
            return behind + 1
    if reader.tokens[end].capitalised and looks_like_place(reader.between(start, end + 1)):
        single = reader.tokens[end].text
        if not is_a(reader.tokens[end], Cat.FILLER, *VERBS, *_HEADS) or looks_like_place(single):
            return end + 1
    return end


def _goes_on_with_country(reader: Reader, index: int) -> bool:
    """ "… Berlin in Germany or Poland": a list of countries says where to look, not which Berlin."""
    if country_code(reader.between(index, index + 1)) is None or not reader.is_at(index + 1, Cat.AND, Cat.OR):
        return False
    following = reader.token(index + 2)
    return following is not None and country_code(following.text) is not None


def _is_one_name(whole: str, right: str) -> bool:
    """Is a text that ends with `right` a name of its own, and not two places beside each other?"""
    if country_code(right) is not None:
        linked = f" {whole.casefold()} "
        return (" in " in linked or " of " in linked) and looks_like_place(whole)
    return looks_like_place(whole)


def _extend_over_mark(reader: Reader, start: int, end: int) -> int:
    mark = reader.tokens[end].text
    following = reader.token(end + 1)
    if following is None:
        return end
    closing = reader.token(end + 2)
    if mark == "(" and closing is not None and closing.text == ")" and following.kind == "word":
        return end + 3
    if mark in "'’." and following.start == reader.tokens[end].end:
        return end + 2
    if mark == "," and len(following.text) == 2 and following.text.isupper() and following.text.isalpha():
        return end + 2  # "Washington, DC"
    if mark == "," and following.kind == "word" and not is_a(following, *_STOPS):
        right_end = end + 2
        while right_end < len(reader.tokens) and right_end - end < 5 and _plain(reader.tokens[right_end]):
            right_end += 1
        for behind in range(right_end, end + 1, -1):
            right = reader.between(end + 1, behind)
            if country_code(right) is not None:
                # "Berlin, Germany" is one place; "Germany, Poland" are two.
                return behind if country_code(reader.between(start, end)) is None else end
        whole = reader.between(start, end + 2)
        if looks_like_place(whole) and not following.is_code:
            return end + 2
    return end


def _plain(token: Token) -> bool:
    return token.kind == "word" and not is_a(token, *_STOPS)


def is_place(text: str, *, named_like: bool) -> bool:
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
    return is_place(text.strip(), named_like=False)


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

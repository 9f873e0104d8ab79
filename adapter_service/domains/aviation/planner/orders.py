"""The order of a list: "by distance", «по имени», "in reverse order", "farthest first", «сначала высокие».

Called by the grammar and by what goes on with a list.
"""

from __future__ import annotations

from typing import Final

from adapter_service.domains.aviation.planner.lexicon import is_a
from adapter_service.domains.aviation.planner.reader import Reader
from adapter_service.domains.aviation.planner.tokens import Token
from adapter_service.domains.aviation.planner.vocabulary import EXTREMES, MEASURES
from adapter_service.domains.aviation.planner.word_kinds import Cat

_BY: Final = (Cat.BY_NAME, Cat.BY_DISTANCE, Cat.BY_MEASURE)


def sort_of(token: Token) -> str:
    """The order that a superlative puts first; "" for another word."""
    if is_a(token, Cat.EXTREME):
        return EXTREMES[token.lower]
    if is_a(token, Cat.NEAREST, Cat.FARTHEST):
        return "distance_desc" if is_a(token, Cat.FARTHEST) else "distance"
    return ""


def sorts_at(reader: Reader, index: int) -> bool:
    """Does an order begin here: "by distance", «по имени», "alphabetically", "in reverse order"?"""
    token = reader.tokens[index]
    if token.lower in ("by", "по", "in", "в"):
        return reader.is_at(index + 1, *_BY, Cat.REVERSE)
    return token.lower.startswith("alphabetic")


def read_first(reader: Reader, index: int) -> tuple[str, int]:
    """ "farthest first", «сначала ближние»: an order, not a choice; ("", index) where there is none."""
    first, second = reader.token(index), reader.token(index + 1)
    if first is None or second is None:
        return "", index
    superlative = first if second.lower in ("first", "сначала", "сперва") else second
    if superlative is second and first.lower not in ("сначала", "сперва"):
        return "", index
    sort = sort_of(superlative)
    return (sort, index + 2) if sort else ("", index)


def read_sort(reader: Reader, index: int, sort: str) -> tuple[str, int]:
    """The order that is told from `index` on, starting from the one known so far, and the index behind it."""
    end = index
    while (token := reader.token(end)) is not None:
        if is_a(token, Cat.BY_NAME):
            sort = "name"
        elif is_a(token, Cat.BY_DISTANCE):
            sort = "distance"
        elif is_a(token, Cat.BY_MEASURE):
            sort = MEASURES[token.lower]
        elif is_a(token, Cat.REVERSE):
            sort = f"{(sort or 'distance').removesuffix('_desc')}_desc"
        elif not (is_a(token, Cat.SORT, Cat.FILLER, Cat.AT) or token.lower in ("by", "по", "order", "порядке")):
            break
        end += 1
    return sort, end

"""Airports by their size or traffic: "the largest airport", «самый большой аэропорт». Called by the grammar.

The catalogue knows neither, so that a clause with such words is refused by them; they are no part of a name.
"""

from __future__ import annotations

import re
from typing import Final

from adapter_service.domains.aviation.planner.lexicon import is_a
from adapter_service.domains.aviation.planner.reader import Reader
from adapter_service.domains.aviation.planner.word_kinds import Cat

_ENDING: Final = r"(?:ый|ий|ой|ая|яя|ое|ее|ые|ие|ого|его|ому|ему|ом|ем|ой|ей|ую|юю|ых|их|ым|им|ыми|ими)"
_SIZE: Final = re.compile(
    r"largest|biggest|busiest|smallest|larger|bigger|"
    rf"(?:больш|крупн|крупнейш|наибольш|наименьш|мельчайш|загруженн|загруженнейш|оживленн){_ENDING}"
)
# Without «самый» these are airfields of a kind.
_SMALL: Final = re.compile(rf"маленьк{_ENDING}|мал{_ENDING}")
_MOST: Final = re.compile(rf"сам{_ENDING}|наиболее")


def sized_airport(reader: Reader) -> str:
    """The words of the first size with "airport" behind it, as they were written; "" where none was said."""
    for index, token in enumerate(reader.tokens):
        most = index > 0 and _MOST.fullmatch(reader.tokens[index - 1].lower) is not None
        size = _SIZE.fullmatch(token.lower) is not None or (most and _SMALL.fullmatch(token.lower) is not None)
        if size and reader.is_at(index + 1, Cat.AIRPORT, Cat.AIRPORTS) and not _is_name(reader, index):
            return reader.between(index - 1 if most else index, index + 2)
    return ""


def _is_name(reader: Reader, index: int) -> bool:
    """A capital inside a sentence makes a name of it, "Big" and «Большой» too."""
    return index > 0 and reader.tokens[index].capitalised and not is_a(reader.tokens[index - 1], Cat.FILLER)

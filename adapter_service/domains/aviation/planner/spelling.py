"""Mistyped request words ("wether", «паказать»): one slip away from a word that the planner knows, and no place's name.

Called by the planner before a request is read. Names, codes, numbers and values are left as they were written.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from rapidfuzz.distance import OSA

from adapter_service.domains.aviation.demonyms import country_of_adjective
from adapter_service.domains.aviation.folding import is_cyrillic
from adapter_service.domains.aviation.matching import resolve_airport
from adapter_service.domains.aviation.planner.lexicon import categories, is_a, number_of
from adapter_service.domains.aviation.planner.tokens import Token, tokenise
from adapter_service.domains.aviation.planner.vocabulary import WORDS
from adapter_service.domains.aviation.planner.word_kinds import Cat

# Kinds of words that a request hangs on; a slip in any other word is harmless or is asked about.
_WANTED: Final = (
    *(Cat.FIND, Cat.SHOW, Cat.BUILD, Cat.FILE, Cat.DRAFT, Cat.CHECK, Cat.CHANGE, Cat.WEATHER, Cat.ROUTE, Cat.DISTANCE),
    *(Cat.PLAN, Cat.AIRPORT, Cat.AIRPORTS, Cat.NEAREST, Cat.FARTHEST, Cat.EXTREME, Cat.POSITION, Cat.FLY),
)
_COURTESIES: Final = ("please", "пожалуйста", "подскажите", "подскажи")
_PREPOSITIONS: Final = (Cat.FROM, Cat.TO, Cat.AT, Cat.NEAR, Cat.OF, Cat.VIA, Cat.BETWEEN, Cat.NAMED)
# Shorter words resemble too many others; from the longer length on two slips are allowed.
_SHORTEST: Final = 4
_LONG: Final = 8
# A name typed in lower case is one only if it is read letter by letter and has traffic, as in the grammar.
_NAME_SCORE: Final = 97.0


@lru_cache(maxsize=1)
def _known() -> Mapping[bool, tuple[str, ...]]:
    words = sorted(
        {word.lstrip("=").replace("ё", "е") for kind in _WANTED for word in WORDS[kind].split() if "-" not in word}
    )
    words += _COURTESIES
    long_enough = [word for word in words if len(word) >= _SHORTEST]
    return {script: tuple(word for word in long_enough if is_cyrillic(word) is script) for script in (True, False)}


def corrected(text: str) -> str:
    """The text with mistyped request words replaced by the words that were meant."""
    tokens = tokenise(text)
    for index in range(len(tokens) - 1, -1, -1):
        token = tokens[index]
        if _may_be_slip(tokens, index):
            meant = _meant(token.lower)
            if meant and not _is_name(token):
                text = text[: token.start] + meant + text[token.end :]
    return text


def _may_be_slip(tokens: list[Token], index: int) -> bool:
    token = tokens[index]
    if token.kind != "word" or len(token.lower) < _SHORTEST or not token.lower.isalpha() or categories(token):
        return False
    if (token.capitalised and index > 0) or token.text.isupper() or number_of(token) is not None:
        return False
    return not (index > 0 and is_a(tokens[index - 1], *_PREPOSITIONS))


@lru_cache(maxsize=1024)
def _meant(word: str) -> str:
    """The one nearest known word, or "" where none is near."""
    allowed = 2 if len(word) >= _LONG else 1
    best, found = allowed + 1, ""
    for known in _known()[is_cyrillic(word)]:
        if known[0] != word[0] or (len(word) == _SHORTEST and sorted(known) != sorted(word)):
            continue  # another first letter is another word ("book"), and of a short one only the order may be wrong
        slips = OSA.distance(word, known, score_cutoff=allowed)
        if slips < best:
            best, found = slips, known
    return found


def _is_name(token: Token) -> bool:
    if country_of_adjective(token.lower) is not None:
        return True
    found = resolve_airport(token.lower)
    return found.exact and bool(found.candidates) and found.candidates[0].score >= _NAME_SCORE

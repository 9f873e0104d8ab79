"""What a word may do in a request: looks a token up in the vocabulary, by exact form and by stem.

Called by the grammar and everything that reads tokens.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from adapter_service.domains.aviation.planner.tokens import Token, stem
from adapter_service.domains.aviation.planner.vocabulary import NUMBERS, ORDINALS, WORDS
from adapter_service.domains.aviation.planner.word_kinds import Cat


def _numbers(text: str) -> dict[str, int]:
    return {word: int(line.split()[0]) for line in text.splitlines() for word in line.split()[1:]}


# "we'll", "there's", "what're": a pronoun or question word with an auxiliary verb says nothing of its own.
_CONTRACTION: Final = re.compile(
    r"(?:i|you|we|they|he|she|it|that|there|what|who|how|where|here|let)'(?:ll|re|ve|d|s|m)"
)
NUMBER_WORDS: Final = _numbers(NUMBERS)
_ORDINAL_WORDS: Final = _numbers(ORDINALS)
_ORDINAL_ENDINGS_RU: Final = "ый ий ой ая ую ом ем ого его ому ему ое ье ья ью ьем ьего ьему ьей"
ORDINAL_WORDS: Final = {
    form: number
    for word, number in _ORDINAL_WORDS.items()
    for form in ([word] if word.isascii() else [word + ending for ending in _ORDINAL_ENDINGS_RU.split()])
}


def _compile() -> tuple[dict[str, frozenset[Cat]], dict[str, frozenset[Cat]]]:
    exact: dict[str, set[Cat]] = {}
    stems: dict[str, set[Cat]] = {}
    for category, words in WORDS.items():
        for word in words.replace("ё", "е").split():
            if word.startswith("="):
                exact.setdefault(word[1:], set()).add(category)
            else:
                stems.setdefault(stem(word), set()).add(category)
    for word in ORDINAL_WORDS:
        exact.setdefault(word, set()).add(Cat.ORDINAL)
    return (
        {word: frozenset(categories) for word, categories in exact.items()},
        {word: frozenset(categories) for word, categories in stems.items()},
    )


_EXACT, _STEMS = _compile()


@lru_cache(maxsize=16_384)
def _categories(lower: str, word_stem: str) -> frozenset[Cat]:
    known = _EXACT.get(lower, frozenset()) | _STEMS.get(word_stem, frozenset())
    return known | {Cat.FILLER} if _CONTRACTION.fullmatch(lower) else known


def categories(token: Token) -> frozenset[Cat]:
    """What the token may do in a request; empty for names, numbers and unknown words."""
    if token.kind != "word":
        return frozenset()
    return _categories(token.lower, token.stem)


def word_set(text: str) -> frozenset[str]:
    """The words of a text, for sets of words that are better read as a text than as a list."""
    return frozenset(text.split())


def is_a(token: Token, *wanted: Cat) -> bool:
    """May the token do one of these things?"""
    return not categories(token).isdisjoint(wanted)


def number_of(token: Token) -> int | None:
    """The whole number that a token writes in digits or as a word, else None."""
    if token.kind == "number" and token.text.isdecimal() and len(token.text) <= 6:
        return int(token.text)
    return NUMBER_WORDS.get(token.lower)


def ordinal_of(token: Token) -> int | None:
    """1 for "first" and «первый», and so on up to 5, else None."""
    return ORDINAL_WORDS.get(token.lower)


_BEYOND: Final = word_set("who who's whose why when кто чей почему зачем когда")
_CAN: Final = word_set("can could would knows may может мог бы знает нибудь")


def is_beyond(words: list[Token], *, as_plan: bool) -> bool:
    """Does a clause ask for what no tool of this domain does, whatever else it says?"""
    return not as_plan and _asks_beyond(words)


def _asks_beyond(words: list[Token]) -> bool:
    """Does a clause begin by asking who, why or when? No tool of this domain knows."""
    plain = [token for token in words if token.kind == "word" and not is_a(token, Cat.AND, Cat.GREETING)]
    if not plain or plain[0].lower not in _BEYOND:
        return False
    return not (len(plain) > 1 and plain[1].lower in _CAN)

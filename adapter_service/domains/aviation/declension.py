"""Russian case endings: from a noun as a sentence has it to the nominatives that it may come from.

Called by the place matching and the country names. Rules of the language (the productive declensions of nouns and
adjectives, e.g. Zaliznyak's grammatical dictionary), no word list.
"""

from __future__ import annotations

from itertools import islice, product
from typing import Final

# Prices of a guess, in points of the matching's 0..100 scale: the singular of a noun is the usual case of a place name;
# plural and adjective endings are rarer, and each longer ending cut off is more room for a wrong guess.
NOUN_PRICE: Final = 1.0
_RARE: Final = 3.0

# (price, ending of a case form, endings of the nominatives it may come from; "-" = none).
_ENDINGS: Final[tuple[tuple[float, str, tuple[str, ...]], ...]] = tuple(
    (price, ending, tuple("" if item == "-" else item for item in nominatives.split()))
    for price, ending, nominatives in (
        (NOUN_PRICE, "а", "- о"),
        (NOUN_PRICE, "я", "й ь е"),
        (NOUN_PRICE, "у", "а - о"),
        (NOUN_PRICE, "ю", "я ь й е"),
        (NOUN_PRICE, "е", "- а о ь я й"),
        (NOUN_PRICE, "ы", "а -"),
        (NOUN_PRICE, "и", "а ь я"),
        (NOUN_PRICE, "ии", "ия ий ие"),
        (NOUN_PRICE, "ия", "ий ие"),
        (NOUN_PRICE, "ию", "ия ий ие"),
        (NOUN_PRICE, "ией", "ия"),
        (NOUN_PRICE, "ом", "- о"),
        (NOUN_PRICE, "ем", "й ь - е"),
        (NOUN_PRICE, "ой", "а"),
        (NOUN_PRICE, "ей", "я а"),
        (NOUN_PRICE, "ью", "ь"),
        (NOUN_PRICE, "ье", "ья"),
        (_RARE, "ем", "ий ее"),
        (_RARE, "ом", "ый ий ое"),
        (_RARE, "ой", "ая ое"),
        (_RARE, "ей", "ь яя и"),
        (_RARE, "ым", "ый ое ые -"),
        (_RARE, "им", "ий ие -"),
        (_RARE, "ого", "ый ий ое ой"),
        (_RARE, "его", "ий ее"),
        (_RARE, "ому", "ый ий ое ой"),
        (_RARE, "ему", "ий ее"),
        (_RARE, "ых", "ые"),
        (_RARE, "их", "ие"),
        (_RARE, "ую", "ая"),
        (_RARE, "юю", "яя"),
        (_RARE, "ою", "а ая"),
        (_RARE, "ов", "ы и"),
        (_RARE, "ах", "ы и а"),
        (_RARE, "ях", "и я"),
        (_RARE, "ам", "ы и а"),
        (_RARE, "ям", "и я"),
        (_RARE, "иях", "ии ия"),
        (_RARE, "иям", "ии ия"),
        (_RARE, "ами", "ы и а"),
        (_RARE, "ями", "и я"),
        (_RARE, "ыми", "ые"),
        (_RARE, "ими", "ие"),
    )
)
_VOWELS: Final = frozenset("аеиоуыэюя")
# A stem shorter than this is no word any more; a word shorter than _SHORTEST_WORD ("на", "де") does not decline.
_SHORTEST_STEM: Final = 2
_SHORTEST_WORD: Final = 3
# Bound on the forms of a text of several words; the first ones are the likeliest.
_MOST_FORMS: Final = 200


def nominatives(word: str) -> dict[str, float]:
    """The folded word itself (price 0) and the nominatives that a case form like it may come from, with prices."""
    forms = {word: 0.0}
    if len(word) < _SHORTEST_WORD:
        return forms
    for price, ending, replacements in _ENDINGS:
        stem = word.removesuffix(ending)
        if stem == word or len(stem) < _SHORTEST_STEM:
            continue
        for replacement in replacements:
            forms.setdefault(stem + replacement, price)
        if "" in replacements and _lost_a_vowel(stem):
            forms.setdefault(f"{stem[:-1]}е{stem[-1]}", _RARE)
            forms.setdefault(f"{stem[:-1]}о{stem[-1]}", _RARE)
    if word[-1] not in _VOWELS and word[-1] not in "йь":
        # The genitive plural of a plural name has no ending: "афин" from "афины".
        forms.setdefault(word + "ы", _RARE)
        forms.setdefault(word + "и", _RARE)
    return forms


def _lost_a_vowel(stem: str) -> bool:
    """Does the stem end like one whose last vowel fled ("орл" of "орел", "торжк" of "торжок")?"""
    return len(stem) > _SHORTEST_STEM and stem[-1] in "лнцкр" and stem[-2] not in _VOWELS and stem[-2] != "й"


def nominative_texts(folded: str) -> dict[str, float]:
    """The forms of a folded text of one or more words, each word declined on its own, the text itself first.

    The price of a text is that of its dearest word: words that agree are declined together.
    """
    parts = folded.split()
    choices = [tuple(nominatives(part).items()) for part in parts]
    if not choices:
        return {}
    # Most names decline in their last word only; those forms must survive the bound.
    last_only = (tuple((part, 0.0) for part in parts[:-1]) + (form,) for form in choices[-1])
    forms: dict[str, float] = {}
    for combination in (*last_only, *islice(product(*choices), _MOST_FORMS)):
        forms.setdefault(" ".join(word for word, _ in combination), max(price for _, price in combination))
    return forms

"""Words that point at what was just spoken of: "it", "the second one", "the last", «его», «второй». Called by resolvers
and planner.
"""

from __future__ import annotations

import re
from typing import Final

_PRONOUN: Final = re.compile(
    r"(?:it|its|this|that|this one|that one|the same|the same one|the one|them|these|those|both|all of them|"
    r"(?:this|that|the|the same|the found|these|those) (?:document|file|one|config|result|documents|files|ones|"
    r"results)|"
    r"он|она|оно|его|её|ее|него|неё|нее|нем|нём|ней|ему|этот|эта|это|этом|этого|этой|тот|тот же|том же|них|их|эти|"
    r"обоих|оба|(?:этот|этого|этом|этому|тот|тот же|том же|найденн\w+|эти|этих) "
    r"(?:документ\w*|файл\w*|конфиг\w*))",
    re.IGNORECASE,
)
_ORDINALS: Final = {
    1: "first 1st перв", 2: "second 2nd втор", 3: "third 3rd треть трети", 4: "fourth 4th четверт четвёрт",
    5: "fifth 5th пят", 6: "sixth 6th шест", 7: "seventh 7th седьм", 8: "eighth 8th восьм", 9: "ninth 9th девят",
    10: "tenth 10th десят", -1: "last final последн", -2: "penultimate предпоследн",
}  # fmt: skip
_ORDINAL: Final = re.compile(
    r"(?:the |number |no\.? |#|номер |№ ?)?(?P<word>\w+)(?: (?:one|document|file|result|документ\w*|файл\w*))?",
    re.IGNORECASE,
)
_ENDINGS: Final = re.compile(
    r"(?:ый|ий|ой|ая|ую|ом|ем|ого|его|ому|ему|ое|ье|ья|ью|ей|ым|им|ые|ых|ими|ыми|ьем|ьего|ьей|ьему)?"
)


def is_pronoun(text: str) -> bool:
    """Is the whole text a word for what was spoken of last?"""
    return _PRONOUN.fullmatch(" ".join(text.split())) is not None


def is_plural(text: str) -> bool:
    """Does the pronoun stand for several things?"""
    return re.fullmatch(
        r"(?:them|these|those|both|all of them|(?:these|those) \w+|их|них|эти|обоих|оба|этих?(?: \w+)?)",
        " ".join(text.split()),
        re.IGNORECASE,
    ) is not None and text.strip().casefold() not in ("это", "этот")


def ordinal_of(text: str) -> int | None:
    """1 for "the first one", -1 for "the last", «второй» 2; None where the text is no ordinal."""
    found = _ORDINAL.fullmatch(" ".join(text.split()))
    if found is None:
        return None
    word = found["word"].casefold()
    for number, words in _ORDINALS.items():
        for known in words.split():
            if word == known or (
                not known.isascii() and word.startswith(known) and _ENDINGS.fullmatch(word[len(known) :])
            ):
                return number
    marked = re.match(r"(?:number|no|#|номер|№)", text.strip(), re.IGNORECASE)
    return int(word) if marked and word.isdigit() and 0 < int(word) <= 100 else None


def points_back(text: str) -> bool:
    """Does the text stand for something that was said before, rather than name something?"""
    return is_pronoun(text) or ordinal_of(text) is not None

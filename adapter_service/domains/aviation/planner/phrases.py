"""Set phrases whose words mean something else one by one, turned into the one word that the grammar knows for them.

Called by the planner before a text is cut into clauses. To teach a phrase, add it with its plain form.
"""

from __future__ import annotations

import re
from typing import Final

from adapter_service.domains.aviation.planner.lexicon import NUMBER_WORDS

_AIRPORTS: Final = (
    r"(?:[^\W\d]+[\s-]+){0,2}?(?:airports|airfields|aerodromes|аэропорт(?:ов|а|ы)?|аэродром(?:ов|а|ы)?)(?!\w)"
)
_MOST_RU: Final = r"(?:сам(?:ый|ая|ое|ые|ого|ой|ому|ом|ым|ую|ых|ыми)|наиболее)"
_ELEVATION: Final = r"(?:elevation|altitude)"
_WORDS: Final = sorted((re.sub("е", "[её]", word) for word in NUMBER_WORDS), key=len, reverse=True)
_NUMBER: Final = rf"(?:\d{{1,2}}|100|{'|'.join(_WORDS)})"
# How many to list: a number alone or of airports; of kilometres, hours or people it means something else.
_OF_A_LIST: Final = (
    rf"(?=\s*(?:$|[.,;!?)]|(?:in|near|around|from|of\s+them|results?|entries|and|в|во|около|возле|из|штук\w*|"
    rf"результат\w*|и)(?!\w)|{_AIRPORTS}))"
)
_AT_MOST: Final = (
    r"at\s+(?:the\s+)?most|(?:no|not)\s+more\s+than|(?:a\s+)?max(?:imum)?(?:\s+of)?|"
    r"не\s+(?:больше|более)(?:\s+чем)?|максимум|самое\s+большее"
)
# From which end to which a list goes, and the order that this is; the superlatives are in plain words already.
_WAYS_EN: Final = (
    ("highest", "lowest", "by elevation descending"),
    ("lowest", "highest", "by elevation"),
    ("(?:nearest|closest)", "(?:farthest|furthest)", "by distance"),
    ("(?:farthest|furthest)", "(?:nearest|closest)", "by distance descending"),
    ("north", "south", "by latitude descending"),
    ("south", "north", "by latitude"),
    ("west", "east", "by longitude"),
    ("east", "west", "by longitude descending"),
)
_WAYS_RU: Final = (
    ("highest", "lowest", "by elevation descending"),
    ("lowest", "highest", "by elevation"),
    (r"(?:самых\s+)?ближних", r"(?:самым\s+)?дальним", "by distance"),
    (r"(?:самых\s+)?дальних", r"(?:самым\s+)?ближним", "by distance descending"),
    ("севера", "юг", "by latitude descending"),
    ("юга", "север", "by latitude"),
    ("запада", "восток", "by longitude"),
    ("востока", "запад", "by longitude descending"),
)
_PHRASES: Final = tuple(
    (re.compile(rf"(?<!\w)(?:{phrase})(?!\w)", re.IGNORECASE), plain)
    for phrase, plain in (
        (r"(?:above|over)\s+(?:mean\s+)?sea\s+level|над\s+уровнем\s+моря", ""),
        (
            r"(?:place|spot|somewhere|anywhere)\s+to\s+land(?:\s+(?:a|an|the|my|our)\s+(?:plane|aircraft|jet))?",
            "airport",
        ),
        (
            r"(?:in\s+|of\s+)?the\s+(?:whole\s+|entire\s+)?world|worldwide|on\s+(?:earth|the\s+planet)|во?\s+(?:вс[её]м\s+)?мире",
            "",
        ),
        (r"in\s+(?:every|any|all)\s+(?:the\s+)?(?:other\s+)?countr(?:y|ies)|во\s+всех\s+(?:других\s+)?странах", ""),
        (r"за\s+пределами(?!\s*\d)", "вне"),
        (r"(?:куда|где)\s+(?:можно\s+|мне\s+)?(?:сесть|приземлиться|посадить\s+самол[её]т)", "аэропорты"),
        (
            r"(?:how\s+many|(?:what\s+is\s+)?the\s+number\s+of|number\s+of|count(?:\s+(?:all|the))*|сколько(?:\s+всего)?|"
            rf"количество|число|посчитай(?:те)?)(?=\s+{_AIRPORTS})",
            "how-many",
        ),
        (rf"(?:{_AT_MOST})(?=\s+{_NUMBER}{_OF_A_LIST})", "limit"),
        (rf"up\s+to(?=\s+{_NUMBER}\s+{_AIRPORTS})|(?<=,\s)up\s+to(?=\s+{_NUMBER}\s*$)", "limit"),
        (rf"at\s+(?:the\s+)?most(?=\s+(?:\d|{_NUMBER}(?!\w)))", "no more than"),  # kilometres
        (rf"(?P<most>{_NUMBER})\s+(?:at\s+(?:the\s+)?most|max(?:imum)?|максимум)", r"limit \g<most>"),
        # "And back to Oslo" names where to.
        (r"and\s+(?:then\s+)?back(?=\s+to\s)", "and"),
        (r"и\s+(?:потом\s+|затем\s+)?(?:обратно|назад)(?=\s+во?\s)", "и"),
        (
            r"return\s+(?:flight|trip|journey|route)|"
            r"(?:there\s+and|and\s+(?:then\s+)?)\s*back(?:\s+again)?|then\s+back|round[\s-]trip|both\s+ways|"
            r"туда\s+и\s+(?:обратно|назад)|(?:и\s+|а\s+)?(?:(?:потом|затем)\s+)?обратно|и\s+назад|в\s+обе\s+стороны",
            "roundtrip",
        ),
        (rf"(?:with\s+|at\s+)?the\s+highest\s+{_ELEVATION}|на\s+самой\s+большой\s+высоте", "highest"),
        (rf"(?:with\s+|at\s+)?the\s+lowest\s+{_ELEVATION}|на\s+самой\s+малой\s+высоте", "lowest"),
        (rf"{_MOST_RU}\s+высок(?:о(?:горн\w+|\s+расположенн\w+)|\w{{2,3}})|высочайш\w+|выше\s+всех", "highest"),
        (rf"{_MOST_RU}\s+низк(?:о\s+расположенн\w+|\w{{2,3}})|ниже\s+всех", "lowest"),
        *(
            (
                rf"most\s+{english}(?:ern|erly)|(?:furthest|farthest)\s+{english}|{_MOST_RU}\s+{russian}\w{{2,3}}|"
                rf"{russian[:-1]}нее\s+всех",
                f"{english}ernmost",
            )
            for english, russian in (("north", "северн"), ("south", "южн"), ("east", "восточн"), ("west", "западн"))
        ),
        *((rf"from\s+(?:the\s+)?{first}\s+to\s+(?:the\s+)?{last}", order) for first, last, order in _WAYS_EN),
        *((rf"(?:от|с)\s+{first}\s+(?:до|к|на)\s+{last}", order) for first, last, order in _WAYS_RU),
    )
)


def in_plain_words(text: str) -> str:
    """The text with each set phrase in its plain form."""
    for phrase, plain in _PHRASES:
        text = phrase.sub(plain, text)
    return text

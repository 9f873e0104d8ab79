"""What was asked last, so that a bare place repeats it: "and in Faro?", «а в Вену?».

The tools report a topic among their referents; the planner reads it back here. A topic is the name of the tool and, as
in a query string, what the next request of its kind keeps ("build_route?departure=EGLL").
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl, urlencode

from adapter_service.domains.aviation.planner.grammar import Frame
from adapter_service.domains.aviation.planner.places import PlaceText
from adapter_service.domains.aviation.planner.tokens import tokenise
from adapter_service.domains.aviation.planner.word_kinds import Cat
from adapter_service.sdk import Memory, Referent

TOPIC: Final = "topic"
# One identity for all topics, so that memory keeps the newest only (requirement H2).
_LAST: Final = "last"
_LEAD: Final = re.compile(
    r"^\W*(?:and\s+(?:what|how)\s+about|what\s+about|how\s+about|and|also|same\s+for|the\s+same\s+for|now|"
    r"а\s+что\s+(?:насчет|насчёт|по\s+поводу|с)|(?:а\s+)?как\s+насч[её]т|что\s+насч[её]т|насч[её]т|"
    r"то\s+же\s+(?:самое\s+)?для|а\s+теперь|теперь|а\s+если|а\s+как|а|и|ну\s+а)(?!\w)\s*",
    re.IGNORECASE,
)
# Words that ask for something themselves.
_ASKING: Final = (
    *(Cat.FIND, Cat.SHOW, Cat.BUILD, Cat.FILE, Cat.DRAFT, Cat.CHECK, Cat.CHANGE, Cat.WEATHER, Cat.ROUTE, Cat.DISTANCE),
    *(Cat.PLAN, Cat.AIRPORT, Cat.AIRPORTS, Cat.NEAREST, Cat.FARTHEST, Cat.POSITION, Cat.WHERE, Cat.FLY, Cat.REMOVE),
)


@dataclass(frozen=True, slots=True)
class Topic:
    """The tool that was asked for, and what of its arguments a repetition keeps."""

    tool: str
    kept: dict[str, str] = field(default_factory=dict)


def topic_referent(tool: str, **kept: object) -> Referent:
    """What a tool reports, so that a bare place can repeat it; values of None are left out."""
    query = urlencode({key: str(value) for key, value in kept.items() if value is not None})
    return Referent(TOPIC, _LAST, f"{tool}?{query}" if query else tool)


def last_topic(memory: Memory) -> Topic | None:
    """What the newest answer was about, or None where memory does not tell."""
    newest = next((referent for referent in memory.referents if referent.kind == TOPIC), None)
    if newest is None:
        return None
    tool, _, query = newest.display_name.partition("?")
    return Topic(tool, dict(parse_qsl(query)))


def asks_nothing_itself(kinds: set[Cat]) -> bool:
    """Do words of these kinds make at most a lead ("and", «а что насчёт») with places?"""
    return not kinds & {*_ASKING}


def named_place(frame: Frame) -> str:
    """The one place of a frame in the user's words, "" where there is none or more."""
    places = [place for group in frame.places.values() for place in group]
    return places[0].text if len(places) == 1 and isinstance(places[0], PlaceText) else ""


def leads_on(text: str) -> bool:
    """Does the text begin as one that goes on with the last request ("and …", "what about …", «а …»)?"""
    return _LEAD.match(text) is not None and len(tokenise(text)) > 1

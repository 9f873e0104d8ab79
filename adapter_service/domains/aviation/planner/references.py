"""What "there", "it" and "the plan" refer to: an earlier clause of the same message first, then the session's memory.

Called by compose.py. A reference with several possible meanings becomes a text, so that the airport resolver offers
a closed list.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from adapter_service.domains.aviation.planner.lexicon import is_a, ordinal_of
from adapter_service.domains.aviation.planner.tokens import tokenise
from adapter_service.domains.aviation.planner.word_kinds import Cat
from adapter_service.sdk import ArtifactFill, ArtifactSummary, Fill, Memory, Referent, ResultFill, TextFill, ValueFill

T = TypeVar("T")

# Kinds of referents that this domain's tools report. An option is one of several airports of one list.
AIRPORT: Final = "airport"
AIRPORT_OPTION: Final = "airport_option"
FLIGHT_PLAN: Final = "flight_plan"
POSITION: Final = "user_position"
# One identity for all positions of the user, so that memory keeps the newest only (H2).
_LAST: Final = "last"
# People move: what they said of their place is taken as true for so long.
_POSITION_HOLDS: Final = timedelta(hours=1)


def is_reference(text: str) -> bool:
    """Does the text only point at something said before ("there", «второй», "that airport"), naming no place?

    A reference that stands for one of a list reaches the airport resolver as such a text.
    """
    tokens = tokenise(text)
    pointing = (Cat.THERE, Cat.FROM_THERE, Cat.IT, Cat.THIS, Cat.ORDINAL, Cat.LAST)
    return (
        bool(tokens)
        and any(is_a(token, *pointing) for token in tokens)
        and all(
            is_a(token, *pointing, Cat.GENERIC, Cat.AIRPORT, Cat.FILLER, Cat.AT, Cat.FROM, Cat.TO) for token in tokens
        )
    )


def says_nothing(text: str) -> bool:
    """Is every word one that carries no meaning of its own ("yes", "ok", "any", «любой», «да»)?

    Such a word may be written like a code or a part of a name; capitals alone make it a code.
    """
    words = [token for token in tokenise(text) if token.kind == "word"]
    empty = (Cat.YES, Cat.NOT, Cat.FILLER, Cat.IT, Cat.THIS, Cat.AND, Cat.ANY_KIND, Cat.ORDINAL)
    return bool(words) and not text.strip().isupper() and all(is_a(word, *empty) for word in words)


def chosen_of(text: str, options: Sequence[T]) -> T | None:
    """The one of a list that a reference chooses by its place ("the second one", «последний»), or None."""
    tokens = tokenise(text)
    ordinals = [number for token in tokens if (number := ordinal_of(token)) is not None]
    if not ordinals and options and any(is_a(token, Cat.LAST) for token in tokens):
        return options[-1]
    return options[ordinals[0] - 1] if len(ordinals) == 1 and ordinals[0] <= len(options) else None


@dataclass(frozen=True, slots=True)
class Spoken:
    """An airport that an earlier clause brings: `fill` reuses it (None: one of many, to be asked); `list_task` is its
    search."""

    fill: Fill | None
    list_task: str = ""


def spoken_airport(spoken: Spoken | None, index: int | None) -> Fill | None:
    """The airport of an earlier clause; with an index, that one of its list."""
    if spoken is None:
        return None
    if index is not None and spoken.list_task:
        return ResultFill(spoken.list_task, f"airports.{index}.icao")
    return spoken.fill


def remembered_airport(memory: Memory, text: str, index: int | None) -> Fill | None:
    """The airport that memory has for "there"; a text where it was one of several; None where there is none."""
    airports = [referent for referent in memory.referents if referent.kind in (AIRPORT, AIRPORT_OPTION)]
    if not airports:
        return None
    newest = airports[0]
    if newest.kind == AIRPORT and index is None:
        return ValueFill(newest.identity, newest.display_name)
    return TextFill(text)


def position_referent(position: Mapping[str, Any]) -> Referent:
    """A position that the user gave, as memory keeps it, so that it is not asked for again (C11)."""
    return Referent(POSITION, _LAST, json.dumps(position, ensure_ascii=False, sort_keys=True))


def remembered_position(memory: Memory, now: datetime) -> Fill | None:
    """The position that the user gave within the last hour; None where the client sends facts of it, which are newer.

    It keeps the time at which it was given, and the answer tells it.
    """
    newest = next((referent for referent in memory.referents if referent.kind == POSITION), None)
    if newest is None or any(fact.name == "position" for fact in memory.facts):
        return None
    position = json.loads(newest.display_name)
    if not timedelta(0) <= now - datetime.fromisoformat(position["observed_time"]) <= _POSITION_HOLDS:
        return None
    return ValueFill(position, f"{position['latitude_deg']:g}, {position['longitude_deg']:g}")


def airport_options(memory: Memory) -> tuple[Referent, ...]:
    """The airports of the newest list that was shown, without repetitions, as the resolver offers them."""
    options: dict[str, Referent] = {}
    for referent in memory.referents:
        if referent.kind == AIRPORT_OPTION:
            options.setdefault(referent.identity, referent)
        elif options:
            break
    return tuple(options.values())


def current_plan(memory: Memory) -> ArtifactSummary | None:
    """The flight plan that "it" means: the newest of the session."""
    return next((artifact for artifact in memory.artifacts if artifact.kind == FLIGHT_PLAN), None)


def plan_fill(artifact: ArtifactSummary) -> ArtifactFill:
    """The current version of a remembered plan."""
    return ArtifactFill(artifact_id=artifact.artifact_id)

"""Clauses about flight plans: draft, check, change, file, and which plan is meant. Called by the planner.

The engine adds validation and revision where policy asks for them (B5); here only what was asked for is proposed.
"""

from __future__ import annotations

import re
from typing import Final

from adapter_service.domains.aviation.planner.compose import Composer
from adapter_service.domains.aviation.planner.follow_ups import last_topic
from adapter_service.domains.aviation.planner.grammar import BARE, Frame
from adapter_service.domains.aviation.planner.names import split_pair
from adapter_service.domains.aviation.planner.places import Place, PlaceText, Reference
from adapter_service.domains.aviation.planner.references import current_plan, plan_fill
from adapter_service.domains.aviation.planner.replies import NO_PLAN, SETTLED_PLAN, not_understood, plan_status
from adapter_service.domains.aviation.planner.word_kinds import Cat
from adapter_service.sdk import ArtifactFill, Fill, Memory, Text, TextFill

_INDEFINITE: Final = frozenset({"a", "an", "new", "another", "новый", "нового", "другой", "еще"})
# What refer_plan reports as the topic of a draft and of a revision.
PLAN_TOPIC: Final = "draft_flight_plan"
_INSTEAD: Final = re.compile(r"(?<!\w)(?:instead|rather|лучше|вместо\s+этого)(?!\w)", re.IGNORECASE)
_DEFINITE: Final = frozenset(
    {"the", "this", "that", "it", "current", "my", "его", "этот", "текущий", "мой", "наш", "this one"}
)


def plan_clause(composer: Composer, frame: Frame) -> Text | None:
    """Add the tasks of a clause about a flight plan; a text where nothing can be done, with its cause."""
    assert frame.fields is not None, "a plan clause is read with its fields"
    unused = unused_place(frame)
    if unused:
        return not_understood(unused, frame.text)
    fills = plan_fills(composer, frame)
    plan, settled = _meant_plan(composer, frame, has_fields=bool(fills))
    wants_file = _wants_file(frame)
    if plan is None:
        return _new_plan(composer, frame, fills, wants_file=wants_file)
    if not fills and not wants_file and not frame.has(Cat.CHECK):
        # A field is named without a value: its resolver finds none, and so the slot is asked for.
        fills = {field: TextFill("") for field in frame.fields.named[:1]}
        if frame.has(Cat.REMOVE) and "alternate_icaos" in fills:
            fills["alternate_icaos"] = TextFill("none")
    if fills:
        composer.plan = ArtifactFill(task=composer.add("revise_flight_plan", {"flight_plan": plan, **fills}))
        composer.add("validate_flight_plan", {"flight_plan": composer.plan})
        if wants_file:
            composer.add("file_flight_plan", {"flight_plan": composer.plan})
        return None
    if wants_file:
        if settled:
            return SETTLED_PLAN
        composer.add("file_flight_plan", {"flight_plan": plan})
        return None
    if frame.has(Cat.CHECK) and not frame.has(Cat.CHANGE):
        composer.add("validate_flight_plan", {"flight_plan": plan})
        return None
    artifact = current_plan(composer.memory)
    if artifact is not None and plan == plan_fill(artifact):
        return plan_status(artifact.title, artifact.version, artifact.artifact_id, artifact.valid)
    composer.add("validate_flight_plan", {"flight_plan": plan})
    return None


def corrects_plan(text: str, kinds: set[Cat], memory: Memory) -> bool:
    """ "fly to Hamburg instead", «лучше из Гамбурга»: another end for the plan that was spoken about last."""
    topic = last_topic(memory)
    if topic is None or topic.tool != PLAN_TOPIC or current_plan(memory) is None or not _INSTEAD.search(text):
        return False
    about_other = kinds & {Cat.WEATHER, Cat.AIRPORTS, Cat.NEAREST, Cat.FARTHEST, Cat.DISTANCE, Cat.ROUTE, Cat.POSITION}
    return bool(kinds & {Cat.FROM, Cat.TO, Cat.AT}) and not about_other


def _wants_file(frame: Frame) -> bool:
    return frame.has(Cat.FILE) and not (frame.words and frame.words[0].lower in ("draft", "черновик"))


def _new_plan(composer: Composer, frame: Frame, fills: dict[str, Fill], *, wants_file: bool) -> Text | None:
    wants_new = wants_file or frame.has(Cat.DRAFT) or bool(frame.at(Cat.FROM, Cat.TO, BARE)) or bool(fills)
    only_change = frame.has(Cat.CHANGE) and not frame.has(Cat.DRAFT) and not wants_file and not frame.at(Cat.FROM)
    lowers = {token.lower for token in frame.words}
    refers = frame.has(Cat.IT, Cat.THIS) and not frame.has(Cat.PLAN)
    if (
        not wants_new
        or only_change
        or (refers and not fills)
        or (frame.has(Cat.CHECK) and not fills and not lowers & _INDEFINITE)
    ):
        return NO_PLAN
    if not frame.at(Cat.FROM, Cat.TO, BARE) and _points_back(frame):
        fills = {**composer.route_ends(), **fills}
    task = composer.add("draft_flight_plan", dict(fills))
    composer.plan = ArtifactFill(task=task)
    composer.add("file_flight_plan" if wants_file else "validate_flight_plan", {"flight_plan": composer.plan})
    return None


def _points_back(frame: Frame) -> bool:
    """ "for it", "for this route", «по этому маршруту», «для него»."""
    return frame.has(Cat.IT, Cat.THIS, Cat.THERE) or "route" in (frame.fields.named if frame.fields else ())


def _meant_plan(composer: Composer, frame: Frame, *, has_fields: bool) -> tuple[ArtifactFill | None, bool]:
    """The plan that the clause is about, and whether it is settled; None where a new one is to be made."""
    if composer.plan is not None:
        new = frame.has(Cat.PLAN) and bool(_lowers(frame) & _INDEFINITE)
        return (None, False) if new else (composer.plan, False)
    artifact = current_plan(composer.memory)
    if artifact is None:
        return None, False
    lowers = _lowers(frame)
    ends = bool(frame.at(Cat.FROM)) and bool(frame.at(Cat.TO))
    makes_new = frame.has(Cat.PLAN) and not (lowers & _DEFINITE) and (has_fields or bool(lowers & _INDEFINITE))
    if (
        (makes_new and not _only_changes(frame))
        or (ends and not frame.has(Cat.CHANGE))
        or bool(lowers & {"another", "другой", "новый"})
    ):
        return None, False
    return plan_fill(artifact), artifact.settled


def _only_changes(frame: Frame) -> bool:
    return (
        frame.has(Cat.CHANGE)
        and not frame.has(Cat.FILE, Cat.FLY)
        and not _lowers(frame) & {"draft", "create", "make", "составь", "создай"}
    )


def _lowers(frame: Frame) -> set[str]:
    return {token.lower for token in frame.words}


def plan_fills(composer: Composer, frame: Frame) -> dict[str, Fill]:
    """The slots that the clause gives: fields by label or shape, ends by preposition."""
    assert frame.fields is not None, "a plan clause is read with its fields"
    fills: dict[str, Fill] = {field: TextFill(value) for field, value in frame.fields.values.items()}
    departures, destinations, _ = _ends(frame)
    destinations = destinations or [place for place in frame.at("there") if not _means_plan(frame, place)]
    for slot, places in (("departure_icao", departures), ("destination_icao", destinations)):
        fill = composer.icao(places[0]) if places and not _means_plan(frame, places[0]) else None
        if fill is not None and slot not in fills:
            fills[slot] = fill
    via = frame.at(Cat.VIA)
    if via and "route" not in fills:
        fills["route"] = TextFill(" ".join(place.text for place in via if isinstance(place, PlaceText)))
    return fills


def _ends(frame: Frame) -> tuple[list[Place], list[Place], list[Place]]:
    """Departures and destinations, of which the plan takes the first each; and the places that it does not take."""
    bare: list[Place] = [place for place in frame.at(BARE) if isinstance(place, PlaceText)]
    departures, destinations = frame.at(Cat.FROM), frame.at(Cat.TO)
    others = frame.at(Cat.AT, Cat.OF, Cat.NEAR)
    between = frame.at(Cat.BETWEEN)
    if not departures and not destinations and len(between) == 2:
        departures, destinations = between[:1], between[1:]
    elif not departures and not destinations and bare:
        first = bare[0].text if isinstance(bare[0], PlaceText) else ""
        pair = split_pair(first) if len(bare) == 1 else None
        if pair:
            departures, destinations, bare = [PlaceText(pair[0])], [PlaceText(pair[1])], []
        elif len(bare) > 1:
            departures, destinations, bare = bare[:1], bare[1:2], bare[2:]
    elif destinations and not departures and bare and not frame.has(Cat.CHANGE):
        departures, bare = bare[:1], bare[1:]  # "flight plan Ljubljana to Split"
    return departures, destinations, [*departures[1:], *destinations[1:], *bare, *others]


def unused_place(frame: Frame) -> str:
    """A name that no field of the plan takes ("at 10:00 Moscow time"), in the user's words; "" where there is none."""
    return next((place.text for place in _ends(frame)[2] if isinstance(place, PlaceText)), "")


def _means_plan(frame: Frame, place: object) -> bool:
    """«подай его», "file it": the pronoun is the plan, no airport."""
    return isinstance(place, Reference) and place.text.casefold() in (
        "it",
        "его",
        "ее",
        "её",
        "нем",
        "нём",
        "this",
        "that",
    )

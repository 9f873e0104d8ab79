"""The planner on the tables of utterances: which tools, slots and links it proposes."""

from __future__ import annotations

import pytest

from adapter_service.sdk import ArtifactSummary, Memory, Referent, ReplyVerdict

from .heldout_en import HELD_OUT_ENGLISH
from .heldout_ru import FOREIGN, HELD_OUT_RUSSIAN, HELD_OUT_WITH_PLAN
from .notation import NO_MEMORY, propose, show
from .utterances_en import ENGLISH
from .utterances_memory import WITH_AIRPORT, WITH_LIST, WITH_PLAN, WITHOUT_PLAN
from .utterances_ru import RUSSIAN

HEATHROW = Referent("airport", "EGLL", "London Heathrow Airport (EGLL)")
PLAN = ArtifactSummary("flight_plan", "art_1", 1, "Flight plan DABC1 EDDB–EDDM", valid=None, settled=False)
LIST = (
    Referent("airport_option", "EGLL", "London Heathrow Airport (EGLL)"),
    Referent("airport_option", "EGKK", "London Gatwick Airport (EGKK)"),
)
TABLES = (
    (NO_MEMORY, ENGLISH),
    (NO_MEMORY, RUSSIAN),
    (NO_MEMORY, WITHOUT_PLAN),
    (Memory(artifacts=(PLAN,)), WITH_PLAN),
    (Memory(referents=(HEATHROW,)), WITH_AIRPORT),
    (Memory(referents=LIST), WITH_LIST),
    (NO_MEMORY, HELD_OUT_ENGLISH),
    (NO_MEMORY, HELD_OUT_RUSSIAN),
    (Memory(artifacts=(PLAN,)), HELD_OUT_WITH_PLAN),
)
CASES = [(memory, text, expected) for memory, table in TABLES for text, expected in table]


@pytest.mark.parametrize(("memory", "text", "expected"), CASES, ids=[text for _, text, _ in CASES])
def test_utterance(memory: Memory, text: str, expected: list[str]) -> None:
    proposal = propose(text, memory)
    assert show(proposal) == expected
    assert proposal.verdict is ReplyVerdict.NEW_REQUEST


@pytest.mark.parametrize("text", FOREIGN)
def test_what_is_not_understood_is_named_and_nothing_is_done(text: str) -> None:
    proposal = propose(text)
    assert not proposal.tasks
    (reply,) = show(proposal)
    assert reply.startswith("not understood: ")
    assert reply.removeprefix("not understood: ").split()[0] in text


def test_tables_are_large_enough() -> None:
    assert len(CASES) >= 120


def test_filed_plan_is_not_filed_again() -> None:
    settled = Memory(artifacts=(ArtifactSummary("flight_plan", "art_1", 1, "Flight plan", valid=True, settled=True),))
    assert show(propose("file it", settled)) == [
        "reply: Nothing was done: this version of the flight plan has gone out already"
    ]
    changed = show(propose("change the level to FL370 and file it", settled))
    assert changed == [
        "revise_flight_plan flight_plan=[art_1] level='FL370'",
        "validate_flight_plan flight_plan=[revise]",
        "file_flight_plan flight_plan=[revise]",
    ]


def test_reference_without_anything_before_is_left_open() -> None:
    assert show(propose("what's the weather there?")) == ["get_weather"]


def test_capitals_and_punctuation_do_not_matter() -> None:
    for text in ("WEATHER AT JFK!!!", "weather at jfk", "  Weather   at JFK ?"):
        (task,) = propose(text).tasks
        assert task.tool == "get_weather"

"""The planner on requests for lists of airports; and what the searches it proposes then find (I1, A7, F1)."""

from __future__ import annotations

import itertools
import json
from typing import Any, TypeAlias

import pytest

from adapter_service.domains.aviation import search_answers
from adapter_service.domains.aviation.planner.list_memory import shown_list
from adapter_service.domains.aviation.search import search_airports
from adapter_service.sdk import Memory, TextFill, ValueFill

from .notation import propose
from .situations import Label, fits, outcome
from .utterances_search import SEARCHES


@pytest.mark.parametrize(("situation", "text", "label"), SEARCHES, ids=[f"{case[0]}: {case[1]}" for case in SEARCHES])
def test_search(situation: str, text: str, label: Label) -> None:
    got = outcome(situation, text)
    assert fits(label, got), f"{text!r} gave {got}"


Parts: TypeAlias = tuple[tuple[str, dict[str, Any]], ...]

# What may be said of a list, and what must then be filled: no combination loses a part.
ORDERS_EN: Parts = (
    ("nearest", {"sort": "distance"}),
    ("farthest", {"sort": "distance_desc"}),
    ("highest", {"sort": "elevation_desc"}),
    ("southernmost", {"sort": "latitude"}),
)
RINGS_EN: Parts = (
    ("within 500 km of", {"radius_km": 500.0}),
    ("between 100 and 500 km from", {"radius_km": 500.0, "min_distance_km": 100.0}),
    ("more than 100 km from", {"min_distance_km": 100.0}),
)
COUNTRIES_EN: Parts = (
    ("in Poland", {"country": "PL"}),
    ("in Poland or Austria", {"country": ["PL", "AT"]}),
    ("not in Germany", {"except_country": "DE"}),
    ("outside Germany and France", {"except_country": ["DE", "FR"]}),
)
ORDERS_RU: Parts = (
    ("ближайших", {"sort": "distance"}),
    ("самых дальних", {"sort": "distance_desc"}),
    ("самых высокогорных", {"sort": "elevation_desc"}),
    ("самых южных", {"sort": "latitude"}),
)
RINGS_RU: Parts = (
    ("не дальше 500 км от", {"radius_km": 500.0}),
    ("от 100 до 500 км от", {"radius_km": 500.0, "min_distance_km": 100.0}),
    ("дальше 100 км от", {"min_distance_km": 100.0}),
)
COUNTRIES_RU: Parts = (
    ("в Польше", {"country": "PL"}),
    ("в Польше или Австрии", {"country": ["PL", "AT"]}),
    ("не в Германии", {"except_country": "DE"}),
    ("кроме Германии и Франции", {"except_country": ["DE", "FR"]}),
)
GRID = [
    (f"five {order} international airports {ring} LKPR {where}", {**o, **r, **w, "kind": "international"})
    for (order, o), (ring, r), (where, w) in itertools.product(ORDERS_EN, RINGS_EN, COUNTRIES_EN)
] + [
    (f"пять {order} международных аэропортов {ring} LKPR {where}", {**o, **r, **w, "kind": "international"})
    for (order, o), (ring, r), (where, w) in itertools.product(ORDERS_RU, RINGS_RU, COUNTRIES_RU)
]


@pytest.mark.parametrize(("text", "expected"), GRID, ids=[text for text, _ in GRID])
def test_no_combination_loses_a_part(text: str, expected: dict[str, Any]) -> None:
    (task,) = propose(text).tasks
    values = {slot: fill.value for slot, fill in task.fills.items() if isinstance(fill, ValueFill)}
    assert values == {**expected, "limit": 5}
    assert task.fills["center_icao"] == TextFill("LKPR")


def _memory(**query: Any) -> Memory:
    return Memory(referents=search_answers.refer_search(search_airports(**query)))


def _said(text: str, memory: Memory) -> dict[str, Any]:
    (task,) = propose(text, memory).tasks
    return {slot: fill.value for slot, fill in task.fills.items() if isinstance(fill, ValueFill)}


def test_show_more_again_and_again_shows_every_airport_once() -> None:
    query: dict[str, Any] = {"center_icao": "EDDB", "except_country": ["DE"], "radius_km": 300.0, "kind": "any"}
    whole = search_airports(**query, limit=100)
    page = search_airports(**query, limit=20)
    seen = [airport["icao"] for airport in page["airports"]]
    while len(seen) < whole["total"]:
        page = search_airports(**_said("show more", Memory(referents=search_answers.refer_search(page))))
        assert page["airports"]
        seen += [airport["icao"] for airport in page["airports"]]
    assert len(seen) == len(set(seen)) == whole["total"] > 60
    assert seen[:100] == [airport["icao"] for airport in whole["airports"]]
    assert not propose("show more", Memory(referents=search_answers.refer_search(page))).tasks


def test_the_list_goes_on_behind_what_an_answer_lists() -> None:
    """An answer lists twenty at most: the next page begins there, whatever the limit was."""
    assert _said("show more", _memory(country="FR", limit=100))["offset"] == 20


def test_other_turns_between_do_not_lose_the_list() -> None:
    later = Memory(referents=(*_memory(city="London", limit=1).referents[:1], *_memory(country="NO").referents))
    assert _said("next page", later)["country"] == ["NO"]


def test_what_memory_keeps_of_a_list_is_small() -> None:
    memory = _memory(center_icao="EDDB", country=["DE", "PL", "CZ"], radius_km=500.0, name="a")
    (kept,) = [r for r in memory.referents if r.kind == "airport_list"]
    assert len(kept.display_name) < 400
    assert shown_list(Memory(referents=(kept,))) is not None
    assert "airports" not in json.loads(kept.display_name)
    long = _memory(name="x" * 120, city="y" * 120, code="z" * 120, subdivision="Texas", country=["DE"] * 3, limit=1)
    assert len("".join(r.display_name for r in long.referents)) < 1_500

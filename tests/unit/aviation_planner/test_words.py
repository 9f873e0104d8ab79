"""Regions, adjectives of countries, mistyped words, topics, and the background build of the indexes."""

from __future__ import annotations

import threading

import pytest

from adapter_service.domains.aviation.demonyms import country_of_adjective
from adapter_service.domains.aviation.errors import InputInvalid
from adapter_service.domains.aviation.planner.follow_ups import last_topic, topic_referent
from adapter_service.domains.aviation.planner.spelling import corrected
from adapter_service.domains.aviation.search import search_airports
from adapter_service.domains.aviation.subdivisions import says_kind, subdivisions
from adapter_service.domains.aviation.warming import Warming
from adapter_service.sdk import Memory


@pytest.mark.parametrize(
    ("text", "area"),
    [
        ("Texas", ("US", "Texas")),
        ("Техасе", ("US", "Texas")),
        ("the state of New York", ("US", "New York")),
        ("Bavaria", ("DE", "Bayern")),
        ("Краснодарского края", ("RU", "Krasnodarskiy")),
        ("Иркутской области", ("RU", "Irkutsk")),
        ("Тоскане", ("IT", "Tuscany")),
    ],
)
def test_region_is_found_in_both_languages(text: str, area: tuple[str, str]) -> None:
    assert area in subdivisions(text)


def test_what_is_no_region_is_none() -> None:
    assert subdivisions("Heathrow") == ()
    assert subdivisions("Париж") == ()
    assert says_kind("the state of New York")
    assert not says_kind("New York")


def test_search_keeps_to_the_region() -> None:
    found = search_airports(subdivision="Техас", limit=100)
    assert found["total"] > 50
    assert {airport["country"] for airport in found["airports"]} == {"US"}
    assert "KDFW" in {a["icao"] for a in search_airports(subdivision="Texas", name="Dallas")["airports"]}
    with pytest.raises(InputInvalid) as unknown:
        search_airports(subdivision="Nowhereland")
    assert unknown.value.field == "subdivision"


@pytest.mark.parametrize(
    ("adjective", "country"),
    [
        *(("German", "DE"), ("Brazilian", "BR"), ("Portuguese", "PT"), ("Nigerian", "NG"), ("Polish", "PL")),
        *(("Belgian", "BE"), ("Dutch", "NL"), ("Kazakh", "KZ"), ("international", None), ("large", None)),
        *(("немецких", "DE"), ("перуанские", "PE"), ("австрийская", "AT"), ("турецкие", "TR"), ("английские", "GB")),
        *(("чилийский", "CL"), ("новозеландские", "NZ"), ("международные", None), ("московские", None)),
    ],
)
def test_adjective_names_its_country(adjective: str, country: str | None) -> None:
    assert country_of_adjective(adjective) == country


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("wether in Oslo", "weather in Oslo"),
        ("shwo airports", "show airports"),
        ("паказать погоду", "показать погоду"),
        ("построй машрут", "построй маршрут"),
        # A name, another word and a value stay as they are.
        ("weather in faro", "weather in faro"),
        ("book a hotel", "book a hotel"),
        ("level FL350 for DABC1", "level FL350 for DABC1"),
    ],
)
def test_only_mistyped_request_words_are_corrected(text: str, expected: str) -> None:
    assert corrected(text) == expected


def test_topic_survives_memory() -> None:
    topic = last_topic(Memory(referents=(topic_referent("build_route", departure="EDDB", radius_km=None),)))
    assert topic is not None
    assert (topic.tool, topic.kept) == ("build_route", {"departure": "EDDB"})
    assert last_topic(Memory()) is None
    # Memory keeps one referent of a kind and identity.
    assert topic_referent("get_weather").identity == topic_referent("build_route").identity


def test_warming_builds_once_and_others_wait() -> None:
    begun, go_on, built = threading.Event(), threading.Event(), []

    def build() -> None:
        begun.set()
        assert go_on.wait(10)
        built.append(True)

    warming = Warming(build)
    warming.wait()  # nothing was started: nothing to wait for
    warming.start()
    warming.start()
    assert begun.wait(10)
    assert built == []
    go_on.set()
    warming.wait()
    assert built == [True]


def test_failed_warming_lets_requests_go_on() -> None:
    def fail() -> None:
        raise OSError("no data")

    warming = Warming(fail)
    warming.start()
    warming.wait()

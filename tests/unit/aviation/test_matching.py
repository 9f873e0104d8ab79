"""The place matching: codes, names, Russian case forms, transliteration, and no guess between equals (C5, C11)."""

from __future__ import annotations

import random
import string

import airportsdata
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapter_service.domains.aviation.catalogue import airports, airports_by_iata, metropolitan_areas
from adapter_service.domains.aviation.countries import country_code, country_name
from adapter_service.domains.aviation.matching import (
    MOST_CANDIDATES,
    city_icaos,
    looks_like_place,
    match_airports,
    resolve_airport,
)


def _codes(text: str) -> list[str]:
    return [match.airport.icao for match in resolve_airport(text).candidates]


@pytest.mark.parametrize(
    ("text", "icao", "how"),
    [
        ("EDDB", "EDDB", "icao_code"),
        ("eddb", "EDDB", "icao_code"),
        ("BER", "EDDB", "iata_code"),
        ("svo", "UUEE", "iata_code"),
        ("Berlin Brandenburg (EDDB)", "EDDB", "icao_code"),
        ("KJFK — John F Kennedy", "KJFK", "icao_code"),
        ("Sheremetyevo", "UUEE", "name"),
        ("Sheremetyevo International Airport", "UUEE", "name"),
        ("Munich", "EDDM", "city"),
        ("ZURICH", "LSZH", "city"),
        ("Zürich", "LSZH", "city"),
        ("London Heathrow", "EGLL", "name"),
        ("New York JFK", "KJFK", "partial"),
        ("Москва SVO", "UUEE", "partial"),
        ("Heathrow airport", "EGLL", "partial"),
        ("la guardia", "KLGA", "name"),
        ("Wien", "LOWW", "city"),
        ("Praha", "LKPR", "city"),
        ("Вены", "LOWW", "city"),
        ("Paris, Texas", "KPRX", "city"),
        ("London, Canada", "CYXU", "city"),
        ("Лондон в Канаде", "CYXU", "city"),
        ("Santiago, Chile", "SCEL", "city"),
        ("Hamburg", "EDDH", "city"),
    ],
)
def test_one_candidate_wins_outright(text: str, icao: str, how: str) -> None:
    resolution = resolve_airport(text)
    assert resolution.status == "found"
    assert resolution.airport is not None
    assert (resolution.airport.icao, resolution.how, resolution.exact) == (icao, how, True)


@pytest.mark.parametrize(
    ("text", "among"),
    [
        ("Berlin", {"EDDB", "EDDT", "KBML"}),
        ("Берлина", {"EDDB", "EDDT", "KBML"}),
        ("London", {"EGLL", "EGKK", "EGSS", "EGGW", "EGLC", "CYXU"}),
        ("Лондоне", {"EGLL", "EGKK", "EGSS", "EGGW", "EGLC", "CYXU"}),
        ("Paris", {"LFPG", "LFPO", "KPRX"}),
        ("San Jose", {"KSJC", "MROC", "RPUH"}),
        ("Сан-Хосе", {"KSJC", "MROC", "RPUH"}),
        ("Москве", {"UUEE", "UUDD", "UUWW"}),
        ("Santiago", {"SCEL", "MDST", "MUCU"}),
        ("Tokyo", {"RJTT", "RJAA"}),
        ("LON", {"EGLL", "EGKK", "EGSS", "EGGW", "EGLC"}),
        ("Manchester", {"EGCC", "KMHT"}),
    ],
)
def test_equals_are_never_guessed_between(text: str, among: set[str]) -> None:
    resolution = resolve_airport(text)
    assert resolution.status == "ambiguous"
    assert resolution.airport is None
    assert among <= {match.airport.icao for match in resolution.candidates}
    assert len(resolution.candidates) <= MOST_CANDIDATES


def test_the_best_known_airports_come_first() -> None:
    assert _codes("Berlin")[0] == "EDDB"
    assert set(_codes("Moscow")[:3]) == {"UUEE", "UUDD", "UUWW"}
    assert set(_codes("Paris")[:2]) == {"LFPG", "LFPO"}


def test_a_country_narrows_the_candidates() -> None:
    assert resolve_airport("Berlin", country="US").airport == airports()["KBML"]
    assert set(_codes("Сан-Хосе, Коста-Рика")) == {"MROC", "MRPV"}
    assert resolve_airport("Munich", country="US").status != "found"


# Airports and cities in the case forms that a sentence gives them: the gazetteer has the cities' names, declension
# finds the nominative, and what is no city is read by transliteration. More cities: test_city_names.py.
@pytest.mark.parametrize(
    ("text", "icao"),
    [
        ("Шереметьево", "UUEE"),
        ("аэропорт Хитроу", "EGLL"),
        ("Лондон Хитроу", "EGLL"),
        ("Москва Внуково", "UUWW"),
        ("Нью-Йорк Кеннеди", "KJFK"),
        ("Домодедова", "UUDD"),
        ("Екатеринбурга", "USSS"),
        ("Нижнего Новгорода", "UWGG"),
        ("Минеральных Вод", "URMM"),
        ("Казани", "UWKD"),
        ("Грозного", "URMG"),
        ("Череповца", "ULWC"),
        ("Франкфурта-на-Майне", "EDDF"),
        ("Дюссельдорфа", "EDDL"),
        ("Лейпциге", "EDDP"),
        ("Зальцбургом", "LOWS"),
        ("Женеву", "LSGG"),
        ("Марселя", "LFML"),
        ("Страсбурге", "LFST"),
        ("Севильи", "LEZL"),
        ("Сарагосы", "LEZG"),
        ("Триеста", "LIPQ"),
        ("Вроцлава", "EPWR"),
        ("Быдгоща", "EPBY"),
        ("Дебрецена", "LHDC"),
        ("Тимишоары", "LRTR"),
        ("Тромсё", "ENTC"),
        ("Ольборга", "EKYT"),
        ("Тампере", "EFTP"),
        ("Кардиффа", "EGFF"),
        ("Инвернесса", "EGPE"),
        ("Тель-Авива", "LLBG"),
        ("Марракеша", "GMMX"),
        ("Исфахана", "OIFM"),
        ("Алматы", "UAAA"),
        ("Бухары", "UZSB"),
        ("Мумбаи", "VABB"),
        ("Пхукета", "VTSP"),
        ("Ханоя", "VVNB"),
        ("Гуанчжоу", "ZGGG"),
        ("Шэньчжэня", "ZGSZ"),
        ("Куньмина", "ZPPP"),
        ("Хиросимы", "RJOA"),
        ("Фукуоки", "RJFF"),
        ("Чикаго Мидуэй", "KMDW"),
        ("Майами", "KMIA"),
        ("Гвадалахары", "MMGL"),
        ("Антверпена", "EBAW"),
        ("Веллингтона", "NZWN"),
    ],
)
def test_russian_names_in_any_case(text: str, icao: str) -> None:
    resolution = resolve_airport(text)
    assert resolution.airport is not None, resolution
    assert resolution.airport.icao == icao


def test_typing_errors_are_forgiven_and_marked() -> None:
    resolution = resolve_airport("Sheremetevo")
    assert resolution.airport == airports()["UUEE"]
    assert resolution.exact is False
    assert resolve_airport("Frankfrut").candidates[0].airport.icao == "EDDF"


def test_a_weak_resemblance_is_asked_about_not_taken() -> None:
    resolution = resolve_airport("Мюнхин")
    assert (resolution.status, resolution.exact) == ("ambiguous", False)
    assert [match.airport.icao for match in resolution.candidates] == ["EDDM"]


@pytest.mark.parametrize(
    "text", ["", "   ", "xyzzyqq", "абракадабра", "маршрут", "столица", "Germany", "?!", "z" * 500]
)
def test_no_match_is_an_empty_list(text: str) -> None:
    assert match_airports(text) == []
    assert resolve_airport(text).status == "not_found"


def test_looks_like_place() -> None:
    assert looks_like_place("Хельсинки")
    assert looks_like_place("Helsinky")
    assert not looks_like_place("погода")
    assert not looks_like_place("туда")


def test_city_icaos_understands_other_languages() -> None:
    assert {"EGLL", "EGLC"} <= set(city_icaos("Лондон"))
    assert city_icaos("Kopenhagen") == city_icaos("Copenhagen") != ()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Germany", "DE"),
        ("germany", "DE"),
        ("Германии", "DE"),
        ("в Германии", None),
        ("Германию", "DE"),
        ("США", "US"),
        ("USA", "US"),
        ("the Netherlands", "NL"),
        ("Нидерландов", "NL"),
        ("Норвегии", "NO"),
        ("Польшу", "PL"),
        ("Испании", "ES"),
        ("Японией", "JP"),
        ("Китая", "CN"),
        ("Мексику", "MX"),
        ("Южной Африки", None),
        ("Турции", "TR"),
        ("Türkiye", "TR"),
        ("Великобритании", "GB"),
        ("Саудовской Аравии", "SA"),
        ("Новую Зеландию", "NZ"),
        ("Чехии", "CZ"),
        ("DE", "DE"),
        ("de", None),
        ("Berlin", None),
        ("", None),
    ],
)
def test_country_code(text: str, code: str | None) -> None:
    assert country_code(text) == code


def test_country_name() -> None:
    assert country_name("DE") == "Germany"
    assert country_name("DE", "ru") == "Германия"
    assert country_name("XX") == "XX"


def test_every_code_finds_its_airport() -> None:
    sample = random.Random(1).sample(sorted(airports_by_iata()), 300)
    for iata in sample:
        assert resolve_airport(iata).airport == airports_by_iata()[iata]
    for icao in random.Random(2).sample(sorted(icao for icao in airports() if icao.isalnum()), 300):
        assert resolve_airport(icao).airport == airports()[icao]


def test_every_full_name_finds_its_airport_among_the_candidates() -> None:
    sample = random.Random(3).sample([a for a in airports().values() if a.iata], 300)
    missing = []
    for airport in sample:
        same = [match.airport.icao for match in match_airports(f"{airport.name}, {airport.city}", limit=100)]
        same += [match.airport.icao for match in match_airports(airport.name, limit=100)]
        if airport.icao not in same:
            missing.append(airport)
    assert missing == []


@settings(max_examples=60)
@given(st.text(max_size=40))
def test_any_text_is_safe_and_deterministic(text: str) -> None:
    first = match_airports(text)
    assert first == match_airports(text)
    assert [match.score for match in first] == sorted((match.score for match in first), reverse=True)
    resolution = resolve_airport(text)
    assert (resolution.airport is not None) == (resolution.status == "found")
    assert bool(resolution.candidates) == (resolution.status != "not_found")


@settings(max_examples=40)
@given(st.sampled_from(sorted(a.icao for a in airports().values() if a.iata)), st.data())
def test_case_and_accents_do_not_matter(icao: str, data: st.DataObject) -> None:
    name = airports()[icao].name
    flips = data.draw(st.lists(st.booleans(), min_size=len(name), max_size=len(name)))
    mixed = "".join(c.upper() if flip else c.lower() for c, flip in zip(name, flips, strict=True))
    if not any(word in mixed for word in string.punctuation):
        assert {m.airport.icao for m in match_airports(mixed)} >= {m.airport.icao for m in match_airports(name)} - {""}


def test_metropolitan_areas_are_those_of_the_catalogue() -> None:
    """They are read from its file, for its own function would read all airports again."""
    told = {
        code: (area["name"], area["country"], tuple(sorted(row["icao"] for row in area["airports"].values())))
        for code, area in airportsdata.load_iata_macs().items()
    }
    assert {a.code: (a.name, a.country, a.icaos) for a in metropolitan_areas().values()} == told

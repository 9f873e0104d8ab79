"""Resolvers: places, positions, countries and plan fields from a user's words (C5, C11)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from adapter_service.domains.aviation.coordinates import find_coordinates, parse_coordinates
from adapter_service.domains.aviation.questions import PLAN_FIELDS, plan_slots
from adapter_service.domains.aviation.resolvers import resolvers
from adapter_service.sdk import Candidates, Memory, Referent, Resolution, ResolveContext, Resolved, Unresolved

NOW = datetime(2030, 1, 1, 12, 0, tzinfo=UTC)


def resolve(name: str, text: str, memory: Memory | None = None, locale: str = "en") -> Resolution:
    return resolvers()[name](text, ResolveContext(locale, NOW, memory or Memory()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("52.52, 13.40", (52.52, 13.4)),
        ("52.52 13.40", (52.52, 13.4)),
        ("52,52; 13,40", (52.52, 13.4)),
        ("52.52 N 13.40 E", (52.52, 13.4)),
        ("52.52N, 13.40W", (52.52, -13.4)),
        ("-33.95, 151.18", (-33.95, 151.18)),
        ("33.95 S 151.18 E", (-33.95, 151.18)),
        ("N52.52 E13.40", (52.52, 13.4)),
        ("52°31′N 13°24′E", (52.516667, 13.4)),
        ("52°31'12\"N 13°24'00\"E", (52.52, 13.4)),
        ("52.52 с.ш. 13.40 в.д.", (52.52, 13.4)),
        ("52, 13", (52.0, 13.0)),
        ("95.0, 13.0", None),
        ("Berlin", None),
        ("", None),
    ],
)
def test_coordinates(text: str, expected: tuple[float, float] | None) -> None:
    assert parse_coordinates(text) == expected


@pytest.mark.parametrize("text", ["yes", "ok", "the", "any", "fine", "no", "please", "да", "нет", "любой", "ну да"])
def test_words_that_say_nothing_are_no_airport(text: str) -> None:
    """YES, THE and ANY are IATA codes, "Ok" and "Fine" parts of names: agreeing is not choosing."""
    assert isinstance(resolve("airport", text), Unresolved)


@pytest.mark.parametrize(("text", "icao"), [("Nice", "LFMN"), ("nice", "LFMN"), ("jfk", "KJFK"), ("YES", "OISY")])
def test_a_name_or_a_code_is_taken_though_it_is_a_word(text: str, icao: str) -> None:
    found = resolve("airport", text)
    assert isinstance(found, Resolved)
    assert found.value == icao


def test_coordinates_inside_a_sentence() -> None:
    text = "airports near 52.52, 13.40 please"
    found = find_coordinates(text)
    assert found is not None
    assert text[found.start : found.end] == "52.52, 13.40"
    assert find_coordinates("5 airports, 10 miles") is None


@pytest.mark.parametrize(
    ("text", "icao"),
    [("EDDB", "EDDB"), ("ber", "EDDB"), ("Heathrow", "EGLL"), ("аэропорт Хитроу", "EGLL"), ("Шереметьево", "UUEE")],
)
def test_airport_by_name_or_code(text: str, icao: str) -> None:
    found = resolve("airport", text)
    assert isinstance(found, Resolved)
    assert found.value == icao
    assert f"({icao})" in found.display


def test_ambiguous_airport_is_a_closed_list() -> None:
    found = resolve("airport", "San Jose")
    assert isinstance(found, Candidates)
    assert len(found.options) > 1
    assert all(
        option.value == option.identity and f"({option.identity})" in option.display_name for option in found.options
    )


def test_unknown_airport_and_country_are_explained() -> None:
    unknown = resolve("airport", "Qwxyzzy")
    assert isinstance(unknown, Unresolved)
    assert unknown.code == "entity_not_found"
    assert "Qwxyzzy" in unknown.explanation.en
    assert "Qwxyzzy" in unknown.explanation.ru
    country = resolve("airport", "Trinidad and Tobago")
    assert isinstance(country, Unresolved)
    assert "country" in country.explanation.en


def test_there_after_a_list_offers_that_list() -> None:
    listed = Memory(referents=(Referent("airport_option", "EGLL", "x"), Referent("airport_option", "EGKK", "y")))
    for text in ("there", "там", "that airport", "the fifth one"):
        found = resolve("airport", text, listed)
        assert isinstance(found, Candidates)
        assert [option.identity for option in found.options] == ["EGLL", "EGKK"]
    assert isinstance(resolve("airport", "there"), Unresolved)


@pytest.mark.parametrize(
    ("text", "icao"), [("the first one", "EGLL"), ("втором", "EGKK"), ("the last one", "EGKK"), ("последнем", "EGKK")]
)
def test_an_ordinal_chooses_from_the_list_that_was_shown(text: str, icao: str) -> None:
    """Whoever says which one is not asked which one."""
    shown = (
        Referent("airport_option", "EGLL", "Heathrow (EGLL)"),
        Referent("airport_option", "EGKK", "Gatwick (EGKK)"),
    )
    found = resolve("airport", text, Memory(referents=shown))
    assert isinstance(found, Resolved)
    assert found.value == icao


def test_position_by_coordinates_place_or_not_at_all() -> None:
    written = resolve("position", "52.52, 13.40")
    assert isinstance(written, Resolved)
    assert written.value["latitude_deg"] == 52.52
    assert written.value["source"] == "user"
    named = resolve("position", "Heathrow")
    assert isinstance(named, Resolved)
    assert named.value["place"]["icao"] == "EGLL"
    several = resolve("position", "San Jose")
    assert isinstance(several, Candidates)
    assert {"latitude_deg", "longitude_deg", "source"} <= set(several.options[0].value)
    malformed = resolve("position", "120.5, 300.1")
    assert isinstance(malformed, Unresolved)
    assert malformed.code == "tool_input_invalid"
    assert "52.52, 13.40" in malformed.explanation.en


def test_country() -> None:
    assert resolve("country", "Германии") == Resolved("DE", "Germany")
    assert isinstance(resolve("country", "Nowhereland"), Unresolved)


@pytest.mark.parametrize(
    ("field", "text", "value", "display"),
    [
        ("level", "350", "F350", "F350"),
        ("level", "flight level 350", "F350", "F350"),
        ("cruising_speed", "450 узлов", "N0450", "N0450"),
        ("endurance_minutes", "5 hours", 300, "5:00"),
        ("endurance_minutes", "4h30", 270, "4:30"),
        ("persons_on_board", "120 people", 120, "120"),
        ("aircraft_type", "Airbus A320", "A320", "A320"),
        ("aircraft_id", "D-ABCD", "DABCD", "DABCD"),
        ("departure_time", "tomorrow at 14:00", "2030-01-02T14:00:00Z", "2030-01-02T14:00:00Z"),
        ("departure_time", "завтра в 14:00", "2030-01-02T14:00:00Z", "2030-01-02T14:00:00Z"),
        ("alternate_icaos", "EDDF EDDH", ["EDDF", "EDDH"], "EDDF, EDDH"),
        ("alternate_icaos", "none", [], ""),
    ],
)
def test_plan_fields(field: str, text: str, value: Any, display: str) -> None:
    assert resolve(f"plan_{field}", text) == Resolved(value, display)


@pytest.mark.parametrize("field", [field for field in PLAN_FIELDS if plan_slots()[field].resolver != "airport"])
def test_malformed_plan_field_names_the_accepted_form(field: str) -> None:
    slot = plan_slots()[field]
    refused = resolve(slot.resolver, "ö" * 700)
    assert isinstance(refused, Unresolved)
    assert refused.explanation.en
    assert refused.explanation.ru
    if field != "alternate_icaos":
        assert refused.code == "tool_input_invalid"
        assert "accepted is" in refused.explanation.en
        assert "принимается" in refused.explanation.ru
    assert isinstance(resolve(slot.resolver, ""), Unresolved)


def test_ambiguous_alternate_is_a_closed_list() -> None:
    found = resolve("plan_alternate_icaos", "San Jose")
    assert isinstance(found, Candidates)
    assert found.options[0].value == [found.options[0].identity]

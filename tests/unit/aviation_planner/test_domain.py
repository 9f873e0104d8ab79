"""The wired domain: it constructs, its tools run, and what they say passes the domain's own checks (F4, H4)."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from adapter_service.domains.aviation import create_domain
from adapter_service.domains.aviation.catalogue import airports, get_airport
from adapter_service.domains.aviation.domain import OUTBOX_SETTING, identities
from adapter_service.sdk import (
    DeclarationError,
    Domain,
    DomainEnvironment,
    Effect,
    FactView,
    Finding,
    Severity,
    Tool,
    ToolContext,
    ToolError,
)

NOW = datetime(2030, 1, 1, 12, 0, tzinfo=UTC)
COMPLETE: dict[str, Any] = {
    "aircraft_id": "DABC1",
    "aircraft_type": "A320",
    "departure_icao": "EDDB",
    "destination_icao": "EDDM",
    "departure_time": "2030-01-02T14:00:00Z",
    "cruising_speed": "N0450",
    "level": "F350",
    "endurance_minutes": 300,
    "persons_on_board": 120,
}
LOCALES = ("en", "ru")


def context(key: str = "key_1") -> ToolContext:
    return ToolContext(now=NOW, idempotency_key=key, locale="en", report=lambda _percent, _message: None)


@pytest.fixture
def domain(tmp_path: Path) -> Domain:
    return create_domain(DomainEnvironment(tmp_path, lambda: NOW, {}))


def call(tool: Tool, **arguments: Any) -> Any:
    """Call a tool as the engine does: arguments checked by its input model, the context added where it is wanted."""
    tool.input_model.model_validate(arguments)
    given = {**arguments, **({tool.context_parameter: context()} if tool.context_parameter else {})}
    return tool.function(**given)


def check_answer(domain: Domain, tool: Tool, result: Any, *, claims: frozenset[str] = frozenset()) -> None:
    """Identities named are in the result, and only these tools' work is claimed; in both languages."""
    json.dumps(tool.view(result), default=str)
    known = {citation.identity for citation in tool.cites(result)}
    known |= domain.identities(json.dumps(tool.view(result), default=str, ensure_ascii=False))
    for locale in LOCALES:
        text = tool.say(result, locale)
        assert text
        assert text == text.strip()
        assert "None" not in text
        assert domain.identities(text) <= known
        claimed = {claim.tool for claim in domain.claims if claim.pattern.search(text)}
        assert claimed == claims
        for limitation in tool.limitations(result, locale):
            assert not {claim.tool for claim in domain.claims if claim.pattern.search(limitation)}


def test_effects_and_policy(domain: Domain) -> None:
    effects = {tool.name: tool.effect for tool in domain.tools}
    assert effects == {
        "get_position": Effect.READ,
        "search_airports": Effect.READ,
        "get_airport": Effect.READ,
        "get_weather": Effect.READ,
        "build_route": Effect.DRAFT,
        "draft_flight_plan": Effect.DRAFT,
        "validate_flight_plan": Effect.READ,
        "revise_flight_plan": Effect.DRAFT,
        "file_flight_plan": Effect.EXTERNAL,
    }
    filing = domain.tool("file_flight_plan")
    assert filing.idempotent
    assert filing.approval is not None
    assert filing.approval.role == "dispatcher"
    kind = domain.kind("flight_plan")
    assert (kind.validate_tool, kind.revise_tool) == ("validate_flight_plan", "revise_flight_plan")


def test_position_from_a_demo_fact_is_named_as_one(domain: Domain) -> None:
    tool = domain.tool("get_position")
    from_fact = tool.slots["position"].fact_value
    assert from_fact is not None
    fact = FactView("position", {"latitude": 52.52, "longitude": 13.4}, "demo", "session", NOW)
    result = call(tool, position=from_fact(fact))
    assert (result["latitude_deg"], result["longitude_deg"]) == (52.52, 13.4)
    assert "demo position" in tool.say(result, "en")
    assert "демонстрационное" in tool.say(result, "ru")
    check_answer(domain, tool, result)


@pytest.mark.parametrize(
    "value", [{}, {"latitude": 95, "longitude": 0}, {"latitude": "52", "longitude": 13}, {"lat": True, "lon": 1}]
)
def test_position_that_is_none_is_refused(domain: Domain, value: dict[str, Any]) -> None:
    tool = domain.tool("get_position")
    from_fact = tool.slots["position"].fact_value
    assert from_fact is not None
    with pytest.raises(ToolError) as refused:
        call(tool, position=from_fact(FactView("position", value, "device", "", None)))
    assert (refused.value.code, refused.value.slot, refused.value.correctable) == (
        "tool_input_invalid",
        "position",
        True,
    )


def test_search_names_its_data(domain: Domain) -> None:
    tool = domain.tool("search_airports")
    one = call(tool, center_icao="LKPR", limit=1)
    assert "airportsdata" in tool.say(one, "en")
    assert "nearest" in tool.say(one, "en")
    assert [referent.kind for referent in tool.referents(one)] == ["topic", "airport_list", "airport"]
    several = call(tool, country="NO", limit=5)
    assert {referent.kind for referent in tool.referents(several)} == {"topic", "airport_list", "airport_option"}
    nearest = call(tool, center_icao="LKPR", limit=3)
    assert tool.say(nearest, "en").startswith("The three nearest airports:")
    assert tool.say(nearest, "ru").startswith("Три ближайших аэропорта:")
    assert tool.say(nearest, "en").count("airportsdata") == 1
    assert "airports;" in tool.limitations(nearest, "en")[0]
    counted = tool.say(call(tool, center_icao="LKPR", radius_km=300.0, limit=2), "en")
    assert "airports were found, 2 are shown:" in counted
    for result in (one, several, nearest, call(tool, city="Nowhere at all")):
        check_answer(domain, tool, result)


def test_search_around_a_city_has_its_own_airport(domain: Domain) -> None:
    tool = domain.tool("search_airports")
    around = call(tool, center_icao="LKPR", include_center=True, radius_km=100.0)
    assert around["airports"][0]["icao"] == "LKPR"
    beside = call(tool, center_icao="LKPR", radius_km=100.0)
    assert "LKPR" not in [airport["icao"] for airport in beside["airports"]]


def test_read_tools(domain: Domain) -> None:
    for name in ("get_airport", "get_weather"):
        tool = domain.tool(name)
        result = call(tool, icao="EGLL")
        assert "(EGLL)" in tool.say(result, "en")
        check_answer(domain, tool, result)
    weather = domain.tool("get_weather")
    result = call(weather, icao="EGLL")
    assert "ynthetic" in weather.say(result, "en")
    assert "интетическ" in weather.say(result, "ru")


def test_route_claims_its_artifact(domain: Domain) -> None:
    tool = domain.tool("build_route")
    result = call(tool, departure_icao="EDDB", destination_icao="RJTT")
    check_answer(domain, tool, result, claims=frozenset({"build_route"}))
    assert "Route built" in tool.say(result, "en")
    assert [referent.identity for referent in tool.referents(result)[1:]] == ["RJTT", "EDDB"]
    assert "geometry" not in tool.view(result)
    assert tool.makes is not None
    assert tool.makes.media_type == "application/geo+json"


def test_errors_become_correctable_tool_errors(domain: Domain) -> None:
    with pytest.raises(ToolError) as unknown:
        call(domain.tool("get_airport"), icao="ZZZZ")
    assert (unknown.value.code, unknown.value.slot, unknown.value.correctable) == ("entity_not_found", "icao", True)
    with pytest.raises(ToolError) as same:
        call(domain.tool("build_route"), departure_icao="EDDB", destination_icao="EDDB")
    assert (same.value.code, same.value.slot) == ("tool_input_invalid", "destination_icao")
    with pytest.raises(ToolError) as limit:
        call(domain.tool("search_airports"), limit=1000)
    assert limit.value.slot == "limit"
    assert "100" in limit.value.explanation.en


def test_refusals_in_russian_are_russian(domain: Domain) -> None:
    """The accepted form of a value, and the reason, in the language of the conversation."""
    with pytest.raises(ToolError) as same:
        call(domain.tool("build_route"), departure_icao="EGLL", destination_icao="EGLL")
    assert "отличный от аэропорта вылета" in same.value.explanation.ru
    with pytest.raises(ToolError) as far:
        call(domain.tool("search_airports"), center_icao="EDDB", radius_km=30_000.0)
    assert far.value.explanation.ru == "Радиус, км: принимается больше 0 и не больше 20040 километров."


def test_orders_have_names_that_people_read(domain: Domain) -> None:
    choices = domain.tool("search_airports").choices("sort")
    assert len(choices) == 11
    assert not [choice for choice in choices if "_" in choice.display.en or choice.display.ru.isascii()]
    assert domain.tool("search_airports").parse("sort", "farthest first") == "distance_desc"


def test_the_approver_sees_what_the_validation_warned_of(domain: Domain) -> None:
    plan = call(domain.tool("draft_flight_plan"), **COMPLETE)
    preview = domain.tool("file_flight_plan").preview
    assert preview is not None
    assert "Warnings: Level F350 is not one of the levels" in preview({"flight_plan": plan}, "en")
    assert "Замечания: Эшелон F350 не относится" in preview({"flight_plan": plan}, "ru")


def test_warnings_are_not_counted_among_errors(domain: Domain) -> None:
    tool = domain.tool("validate_flight_plan")
    plan = call(domain.tool("draft_flight_plan"), **{**COMPLETE, "endurance_minutes": 30})
    told = tool.say(call(tool, flight_plan=plan), "en")
    assert told.startswith("Validation of the flight plan: 1 error. Endurance")
    assert " is needed. Warnings: Level F350" in told


def test_a_route_is_told_in_kilometres_and_nautical_miles(domain: Domain) -> None:
    tool = domain.tool("build_route")
    route = call(tool, departure_icao="KJFK", destination_icao="EGLL")
    assert "5,554.5 km (2,999 NM)" in tool.say(route, "en")
    assert "5 554,5 км (2 999 морских миль)" in tool.say(route, "ru")
    assert "no flight time was worked out" in tool.limitations(route, "en")[0]


def test_flight_plan_from_draft_to_filing(domain: Domain, tmp_path: Path) -> None:
    draft, validate, revise, file = (
        domain.tool(f"{verb}_flight_plan") for verb in ("draft", "validate", "revise", "file")
    )
    plan = call(draft, departure_icao="EDDB", destination_icao="EDDM")
    check_answer(domain, draft, plan, claims=frozenset({"draft_flight_plan"}))
    findings: list[Finding] = call(validate, flight_plan=plan)
    errors = [finding.slot for finding in findings if finding.severity is Severity.ERROR]
    assert errors == [
        "aircraft_id",
        "aircraft_type",
        "departure_time",
        "cruising_speed",
        "level",
        "endurance_minutes",
        "persons_on_board",
    ]
    assert set(errors) <= set(revise.slots)
    check_answer(domain, validate, findings)
    plan = call(revise, flight_plan=plan, **{key: COMPLETE[key] for key in errors})
    check_answer(domain, revise, plan, claims=frozenset({"revise_flight_plan"}))
    assert not [f for f in call(validate, flight_plan=plan) if f.severity is Severity.ERROR]

    assert file.target({"flight_plan": plan}) == "flight/DABC1/EDDB/2030-01-02T14:00:00Z"
    assert file.preview is not None
    assert "(FPL-DABC1" in file.preview({"flight_plan": plan}, "en")
    assert file.probe is not None
    assert file.probe({"flight_plan": plan}, context()) is None
    receipt = call(file, flight_plan=plan)
    for locale in LOCALES:
        assert receipt["filing_id"] in file.say(receipt, locale)
    assert file.probe({"flight_plan": plan}, context()) == receipt
    assert call(file, flight_plan=plan) == receipt
    assert len(list((tmp_path / "outbox").glob("*.json"))) == 1
    claims = {claim.tool for claim in domain.claims if claim.pattern.search(file.say(receipt, "en"))}
    assert claims == {"file_flight_plan"}
    assert {claim.tool for claim in domain.claims if claim.pattern.search(file.say(receipt, "ru"))} == claims


def test_outbox_setting(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    domain = create_domain(DomainEnvironment(tmp_path / "data", lambda: NOW, {OUTBOX_SETTING: str(elsewhere)}))
    draft, file = domain.tool("draft_flight_plan"), domain.tool("file_flight_plan")
    call(file, flight_plan=call(draft, **COMPLETE))
    assert list(elsewhere.glob("*.json"))
    blocking = tmp_path / "file"
    blocking.write_text("")
    with pytest.raises(DeclarationError, match=OUTBOX_SETTING):
        create_domain(DomainEnvironment(tmp_path, lambda: NOW, {OUTBOX_SETTING: str(blocking)}))


def test_identities_are_codes_of_the_catalogue_only() -> None:
    text = "METAR, ICAO and IATA codes: A320 at F350, RMK/EDDF, FPL-DABC1; London Heathrow Airport (EGLL), EDDB–EDDM."
    assert identities(text) == {"EGLL", "EDDB", "EDDM"}
    with_digit = next(icao for icao in airports() if any(char.isdigit() for char in icao))
    assert identities(f"{get_airport(with_digit)['name']} ({with_digit})") == {with_digit}


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("The flight plan was filed.", "file_flight_plan"),
        ("План полёта подан.", "file_flight_plan"),
        ("Route built: A – B.", "build_route"),
        ("Маршрут построен.", "build_route"),
        ("The flight plan was changed.", "revise_flight_plan"),
        ("План полёта изменён.", "revise_flight_plan"),
        ("План полета обновлен.", "revise_flight_plan"),
        ("Nothing was done.", ""),
        ("The plan is not filed yet.", ""),
        ("План полёта ещё не подан.", ""),
        ("I can build a route and file a flight plan.", ""),
        ("Я умею строить маршруты и подавать планы полёта.", ""),
    ],
)
def test_claims(domain: Domain, text: str, tool: str) -> None:
    assert {claim.tool for claim in domain.claims if claim.pattern.search(text)} == ({tool} if tool else set())


def test_planner_replies_claim_nothing(domain: Domain, reply_texts: Callable[[], list[str]]) -> None:
    for text in reply_texts():
        assert not {claim.tool for claim in domain.claims if claim.pattern.search(text)}, text
        assert not domain.identities(text), text


@pytest.fixture
def reply_texts() -> Callable[[], list[str]]:
    from adapter_service.domains.aviation.planner import replies
    from adapter_service.sdk import Text

    def collect() -> list[str]:
        texts = [value for value in vars(replies).values() if isinstance(value, Text)]
        texts += [replies.not_understood("foo", "foo bar"), replies.not_understood("foo", "foo")]
        texts += [replies.current_weather_only("tomorrow"), replies.plan_status("Flight plan", 2, "art_1", valid=True)]
        return [part for text in texts for part in (text.en, text.ru)]

    return collect


def test_answers_about_any_airport_pass_the_checks(domain: Domain) -> None:
    """Names that hold capitals of their own ("ABCD Airport") name no airport that the result does not have."""
    tool = domain.tool("get_airport")
    for icao in list(airports())[::97]:
        check_answer(domain, tool, call(tool, icao=icao))


def test_observed_time_is_shown(domain: Domain) -> None:
    tool = domain.tool("get_position")
    observed = (NOW - timedelta(hours=1)).isoformat()
    position = {"latitude_deg": 1.0, "longitude_deg": 2.0, "source": "device", "scope": "", "observed_time": observed}
    assert "2030-01-01 11:00 UTC" in tool.say(call(tool, position=position), "en")


def test_a_search_says_that_nothing_is_called_exactly_so(domain: Domain) -> None:
    tool = domain.tool("search_airports")
    assert "No airport is called exactly so." in tool.say(call(tool, name="Heathrw"), "en")
    assert "exactly so" not in tool.say(call(tool, name="Heathrow"), "en")
    nothing = call(tool, city="Scandinavia")
    assert tool.say(nothing, "en").startswith("No airport was found for “Scandinavia”.")
    assert tool.say(nothing, "ru").startswith("Аэропортов по запросу «Scandinavia» не найдено.")


def test_a_search_tells_its_scope_and_what_its_figures_cannot_tell(domain: Domain) -> None:
    tool = domain.tool("search_airports")
    highest = call(tool, country=["NP"], sort="elevation_desc", limit=1)
    assert "Searched: airports with an IATA code in Nepal (" in tool.say(highest, "en")
    assert " m (" in tool.say(highest, "en")
    assert "0 ft also stands for unknown" in tool.limitations(highest, "en")[1]
    ring = call(tool, center_icao="LFPG", radius_km=300.0, min_distance_km=100.0, except_country="FR", limit=5)
    assert "outside France, from 100 to 300 km from " in tool.say(ring, "en")
    assert "кроме: Франция; от 100 до 300 км от " in tool.say(ring, "ru")
    international = call(tool, country="DE", kind="international", limit=5)
    assert "does not tell which airports are international" in tool.limitations(international, "en")[0]
    west = call(tool, country="RU", sort="longitude", limit=1)
    assert "самого широкого промежутка" in tool.limitations(west, "ru")[1]
    counted = call(tool, country="NO", count_only=True)
    assert counted["airports"] == []
    over = call(tool, country="NO", offset=5000)
    assert tool.say(over, "en").startswith("The list is over: there are ")
    for result in (highest, ring, international, west, counted, over):
        check_answer(domain, tool, result)

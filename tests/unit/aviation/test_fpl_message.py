"""The FPL message against ICAO Doc 4444, Appendices 2 and 3: an independent reader gets every field back (I1)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from adapter_service.domains.aviation.catalogue import airports
from adapter_service.domains.aviation.errors import InputInvalid
from adapter_service.domains.aviation.flight_plan import draft_flight_plan
from adapter_service.domains.aviation.flight_plan_check import is_valid, validate_flight_plan
from adapter_service.domains.aviation.flight_plan_fields import parse_equipment, parse_other_information
from adapter_service.domains.aviation.flight_plan_filing import to_fpl_message

NOW = datetime(2030, 1, 1, 12, 0, tzinfo=UTC)
# Item 18 indicators in the order of Doc 4444, written down here anew.
ORDER = re.findall(
    r"\w+", "STS PBN NAV COM DAT SUR DEP DEST DOF REG EET SEL TYP CODE DLE OPR ORGN PER ALTN RALT TALT RIF RMK"
)
ITEMS = re.compile(
    r"\(FPL-(?P<callsign>[A-Z0-9]{2,7})-(?P<rules>[IVYZ])(?P<flight>[SNGMX])"
    r"-(?P<type>[A-Z][A-Z0-9]{1,3})/(?P<wake>[LMHJ])-(?P<radio>[A-Z0-9]{1,64})/(?P<surveillance>[A-Z0-9]{1,20})"
    r"-(?P<departure>[A-Z]{4})(?P<off_block>\d{4})"
    r"-(?P<speed>N\d{4}|K\d{4}|M\d{3})(?P<level>F\d{3}|A\d{3}|S\d{4}|M\d{4}|VFR) (?P<route>[A-Z0-9/ ]+)"
    r"-(?P<destination>[A-Z]{4})(?P<eet>\d{4})(?P<alternates>(?: [A-Z]{4}){0,2})"
    r"-(?P<other>[A-Z0-9/.,?+' ]+)"
    r"-E/(?P<endurance>\d{4}) P/(?P<persons>\d{3})\)"
)


def read(message: str) -> dict[str, str]:
    """The items of a message; a line that does not begin with a hyphen goes on with the one above."""
    assert all(len(line) <= 69 for line in message.split("\n")), message
    assert re.fullmatch(r"[A-Z0-9()/.,?+'\n -]+", message), message
    match = ITEMS.fullmatch(message.replace("\n-", "-").replace("\n", " "))
    assert match is not None, message
    return match.groupdict()


def groups(other: str) -> dict[str, str]:
    """Item 18 by indicator; they stand in their order, each once."""
    found = re.findall(r"(?:^| )([A-Z]{3,4})/([^/]*?)(?= [A-Z]{3,4}/|$)", other)
    names = [name for name, _ in found]
    assert names == sorted(set(names), key=ORDER.index), other
    return dict(found)


def minutes(hhmm: str) -> int:
    assert int(hhmm[2:]) < 60
    return int(hhmm[:2]) * 60 + int(hhmm[2:])


LISTED = sorted(icao for icao in airports() if re.fullmatch("[A-Z]{4}", icao))[::97]
UNLISTED = sorted(icao for icao in airports() if not re.fullmatch("[A-Z]{4}", icao))[::997]
AERODROMES = st.sampled_from([*LISTED, *UNLISTED])
WORD = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", min_size=1, max_size=11)
TEXT = st.lists(WORD, min_size=1, max_size=12).map(" ".join)
EQUIPMENT = st.lists(
    st.sampled_from(re.findall(r"\w+", "A B C D E1 E2 E3 F G H I J1 J2 K L M1 O P1 P9 R S T U V W X Y Z")),
    min_size=1,
    unique=True,
).map("".join)
SURVEILLANCE = st.lists(
    st.sampled_from(re.findall(r"\w+", "A C E H I L P S X B1 B2 U1 V2 D1 G1")), min_size=1, max_size=10, unique=True
).map("".join)
PLANS = st.fixed_dictionaries(
    {
        "aircraft_id": st.from_regex(r"[A-Z][A-Z0-9]{1,6}", fullmatch=True),
        "flight_rules": st.sampled_from("IVYZ"),
        "flight_type": st.sampled_from("SNGMX"),
        "aircraft_type": st.sampled_from(["A320", "B738", "C172", "A388", "AN2", "SU95"]),
        "wake_category": st.sampled_from("LMHJ"),
        "equipment": st.tuples(EQUIPMENT, SURVEILLANCE).map("/".join),
        "departure_icao": AERODROMES,
        "destination_icao": AERODROMES,
        "alternate_icaos": st.lists(AERODROMES, max_size=2, unique=True),
        "departure_time": st.integers(61, 7000).map(lambda ahead: (NOW + timedelta(minutes=ahead)).isoformat()),
        "cruising_speed": st.sampled_from(["N0450", "K0830", "M082", "N0110"]),
        "level": st.sampled_from(["F350", "F080", "A045", "S1060", "M0150", "VFR"]),
        "route": st.one_of(st.just("DCT"), st.lists(WORD, min_size=1, max_size=60).map(" ".join)),
        "total_eet_minutes": st.integers(1, 5000),
        "endurance_minutes": st.integers(45, 999),
        "persons_on_board": st.integers(1, 999),
        "other_information": st.one_of(
            st.none(),
            TEXT,
            st.tuples(TEXT, WORD).map(lambda pair: f"RMK/{pair[0]} REG/{pair[1]} PBN/A1B2 OPR/ACME"),
        ),
    }
)


@settings(max_examples=250, deadline=None)
@given(PLANS)
def test_every_valid_plan_is_read_back(fields: dict[str, Any]) -> None:
    fields["endurance_minutes"] += fields["total_eet_minutes"]
    if fields["level"] == "VFR":
        fields["flight_rules"] = "V"
    plan = draft_flight_plan(**fields, now=NOW)
    assume(is_valid(validate_flight_plan(plan, NOW)))
    items = read(to_fpl_message(plan))
    for item, field in (
        ("callsign", "aircraft_id"),
        ("rules", "flight_rules"),
        ("flight", "flight_type"),
        ("type", "aircraft_type"),
        ("wake", "wake_category"),
        ("speed", "cruising_speed"),
        ("level", "level"),
        ("route", "route"),
    ):
        assert items[item] == plan[field]
    assert f"{items['radio']}/{items['surveillance']}" == plan["equipment"]
    other = groups(items["other"])
    departure = datetime.fromisoformat(plan["departure_time"]).astimezone(UTC)
    assert (other["DOF"], items["off_block"]) == (f"{departure:%y%m%d}", f"{departure:%H%M}")
    assert minutes(items["eet"]) == plan["total_eet_minutes"]
    assert minutes(items["endurance"]) == plan["endurance_minutes"]
    assert int(items["persons"]) == plan["persons_on_board"]
    _aerodrome(items["departure"], plan["departure_icao"], other.get("DEP"))
    _aerodrome(items["destination"], plan["destination_icao"], other.get("DEST"))
    positions = other.get("ALTN", "").split()
    written = items["alternates"].split()
    assert len(written) == len(plan["alternate_icaos"])
    assert len(positions) == written.count("ZZZZ")
    for indicator, icao in zip(written, plan["alternate_icaos"], strict=True):
        _aerodrome(indicator, icao, positions.pop(0) if indicator == "ZZZZ" else None)
    for group in re.split(r" (?=[A-Z]{3,4}/)", plan["other_information"] or ""):
        name, _, text = group.partition("/")
        assert not group or other[name] == text


def _aerodrome(indicator: str, icao: str, position: str | None) -> None:
    """A location indicator of four letters, or ZZZZ with degrees and minutes in item 18."""
    if re.fullmatch("[A-Z]{4}", icao):
        assert (indicator, position) == (icao, None)
        return
    assert indicator == "ZZZZ"
    match = re.fullmatch(r"(\d{2})(\d{2})([NS])(\d{3})(\d{2})([EW])", position or "")
    assert match is not None
    latitude = (int(match[1]) + int(match[2]) / 60) * (1 if match[3] == "N" else -1)
    longitude = (int(match[4]) + int(match[5]) / 60) * (1 if match[6] == "E" else -1)
    assert abs(latitude - airports()[icao].latitude_deg) <= 0.51 / 60
    assert abs(longitude - airports()[icao].longitude_deg) <= 0.51 / 60


def _valid(**changes: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "aircraft_id": "ABC123",
        "aircraft_type": "A320",
        "equipment": "SDFGWY/S",
        "departure_icao": "EDDB",
        "destination_icao": "EDDM",
        "departure_time": "2030-01-02 14:00",
        "cruising_speed": "N0450",
        "level": "F340",
        "endurance_minutes": 240,
        "persons_on_board": 120,
    }
    return draft_flight_plan(**{**fields, **changes}, now=NOW)


def test_a_long_route_is_folded_between_its_points() -> None:
    route = " ".join(["DCT", *(f"POI{number:02d}" for number in range(60))])
    message = to_fpl_message(_valid(route=route))
    assert max(map(len, message.split("\n"))) <= 69
    assert read(message)["route"] == route


@pytest.mark.parametrize("text", ["S", "/S", "S/", "SS/S", "Q/S", "SJ9/S", "S/Q", "N2/S", "S/SS", "S W/S S"])
def test_equipment_has_the_descriptors_of_item_10_once_each(text: str) -> None:
    with pytest.raises(InputInvalid):
        parse_equipment(text)


@pytest.mark.parametrize("text", ["N/N", "S/S", "SDE2E3FGHIJ1RWXYZ/LB1", "sdfgrwy/s"])
def test_good_equipment(text: str) -> None:
    assert parse_equipment(text) == text.upper()


@pytest.mark.parametrize(
    "text", ["RMK/A RMK/B", "PBN/A1B", "PBN/A1B1C1D1L1O1S1T1A2", "RMK/" + "X" * 70, "XYZ/1", "RMK/A-B", "Y" * 70]
)
def test_item_18_refuses_what_a_message_cannot_hold(text: str) -> None:
    with pytest.raises(InputInvalid):
        parse_other_information(text)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"level": "F290", "equipment": "SDFGY/S"}, "rvsm_approval_missing"),
        ({"level": "F410", "equipment": "S/S"}, "rvsm_approval_missing"),
        ({"level": "S1060", "equipment": "S/S"}, "rvsm_approval_missing"),
        ({"equipment": "SDFGRWY/S"}, "equipment_r_unexplained"),
        ({"equipment": "SDFGWYZ/S"}, "equipment_z_unexplained"),
    ],
)
def test_equipment_that_does_not_fit_is_warned_of(changes: dict[str, Any], code: str) -> None:
    findings = validate_flight_plan(_valid(**changes), NOW)
    assert (code, "warning") in [(finding["code"], finding["severity"]) for finding in findings]
    assert is_valid(findings)


@pytest.mark.parametrize(
    "changes",
    [
        {"level": "F280", "equipment": "S/S"},
        {"level": "F430", "equipment": "S/S"},
        {"level": "VFR", "equipment": "S/S", "flight_rules": "V"},
        {"level": "F340", "equipment": "SW/S"},
        {"level": "F340", "equipment": "S/S", "other_information": "STS/NONRVSM"},
        {"equipment": "SDFGRWY/S", "other_information": "PBN/A1"},
        {"equipment": "SDFGWYZ/S", "other_information": "NAV/GBAS"},
    ],
)
def test_equipment_that_fits_is_not(changes: dict[str, Any]) -> None:
    codes = {finding["code"] for finding in validate_flight_plan(_valid(**changes), NOW)}
    assert not codes & {"rvsm_approval_missing", "equipment_r_unexplained", "equipment_z_unexplained"}

"""Filing: the ICAO FPL message of a plan and the outbox it goes to, one file per idempotency key (I1, E4).

`file_flight_plan` is the domain's external tool, `find_filing` its probe: after a crash it tells whether the effect
is there.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import uuid
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import rfc8785

from .catalogue import Airport, require_airport
from .errors import FilingConflict, InputInvalid
from .flight_plan import FlightPlan, load_flight_plan
from .flight_plan_groups import arrange_other_information, folded, hhmm
from .flight_plan_times import rfc3339

SCHEMA: Final = "flight_plan_filing/1"
LONGEST_KEY: Final = 256
_RECEIPT: Final = ("filing_id", "idempotency_key", "file_name", "filed_time", "plan_sha256", "fpl")
# What item 7 to 19 cannot do without.
_NEEDED: Final = (
    "aircraft_id",
    "flight_rules",
    "flight_type",
    "aircraft_type",
    "wake_category",
    "equipment",
    "departure_icao",
    "departure_time",
    "cruising_speed",
    "level",
    "route",
    "destination_icao",
    "total_eet_minutes",
    "endurance_minutes",
    "persons_on_board",
)


def to_fpl_message(flight_plan: dict[str, Any]) -> str:
    """The filed flight plan message (Doc 4444, Appendix 3, FPL) of a complete plan, one line a group of items.

    A line of more than 69 characters goes on in the next.

    An aerodrome whose catalogue code is no ICAO location indicator is written ZZZZ, its position in item 18. Raises
    InputInvalid naming the first field that is missing.
    """
    plan = load_flight_plan(flight_plan)
    for field in _NEEDED:
        if getattr(plan, field) is None:
            raise InputInvalid(f"flight_plan.{field}", "a value; a plan is filed only when it is complete")
    departure = require_airport(plan.departure_icao or "", "departure_icao")
    destination = require_airport(plan.destination_icao or "", "destination_icao")
    alternates = [require_airport(icao, "alternate_icaos") for icao in plan.alternate_icaos]
    arrival = f"{_indicator(destination)}{hhmm(plan.total_eet_minutes or 0)}"
    lines = (
        f"(FPL-{plan.aircraft_id}-{plan.flight_rules}{plan.flight_type}",
        f"-{plan.aircraft_type}/{plan.wake_category}-{plan.equipment}",
        f"-{_indicator(departure)}{_off_block(plan):%H%M}",
        f"-{plan.cruising_speed}{plan.level} {plan.route}",
        f"-{' '.join((arrival, *map(_indicator, alternates)))}",
        f"-{_item_18(plan, departure, destination, alternates)}",
        f"-E/{hhmm(plan.endurance_minutes or 0)} P/{plan.persons_on_board:03d})",
    )
    return "\n".join(part for line in lines for part in folded(line))


def _off_block(plan: FlightPlan) -> datetime:
    if plan.departure_time is None:
        raise InputInvalid("flight_plan.departure_time", "a time")
    return plan.departure_time.astimezone(UTC)


def _indicator(airport: Airport) -> str:
    return airport.icao if re.fullmatch(r"[A-Z]{4}", airport.icao, re.ASCII) else "ZZZZ"


def _position(airport: Airport) -> str:
    """Degrees and minutes as item 18 has them: 5222N01330E."""

    def part(degrees: float, digits: int, letters: str) -> str:
        minutes = round(abs(degrees) * 60.0)
        return f"{minutes // 60:0{digits}d}{minutes % 60:02d}{letters[degrees < 0]}"

    return part(airport.latitude_deg, 2, "NS") + part(airport.longitude_deg, 3, "EW")


def _item_18(plan: FlightPlan, departure: Airport, destination: Airport, alternates: list[Airport]) -> str:
    """The plan's own groups and the other information, in the order of Doc 4444."""
    unlisted = [airport for airport in alternates if _indicator(airport) == "ZZZZ"]
    before, after = _split_at_dof(plan.other_information)
    groups = [
        before,
        f"DEP/{_position(departure)}" if _indicator(departure) == "ZZZZ" else "",
        f"DEST/{_position(destination)}" if _indicator(destination) == "ZZZZ" else "",
        f"DOF/{_off_block(plan):%y%m%d}",
        *after[:1],
        f"ALTN/{' '.join(map(_position, unlisted))}" if unlisted else "",
        *after[1:],
    ]
    return " ".join(group for group in groups if group)


def _split_at_dof(other: str | None) -> tuple[str, list[str]]:
    """Other information as: what stands before DEP/, between DOF/ and ALTN/, and after ALTN/."""
    arranged = arrange_other_information(other) if other else ""
    parts = {"before": "", "middle": "", "end": ""}
    for group in re.split(r" (?=[A-Z]{3,4}/)", arranged or ""):
        indicator = group.split("/", 1)[0]
        if indicator in ("STS", "PBN", "NAV", "COM", "DAT", "SUR"):
            place = "before"
        elif indicator in ("RALT", "TALT", "RIF", "RMK"):
            place = "end"
        else:
            place = "middle"
        parts[place] = f"{parts[place]} {group}".strip()
    return parts["before"], [parts["middle"], parts["end"]]


def file_flight_plan(
    flight_plan: dict[str, Any], idempotency_key: str, outbox: Path, now: datetime | None = None
) -> dict[str, Any]:
    """File a complete plan: write its message and content to the outbox, once per key.

    The file appears whole or not at all, and is on the medium when this returns. The same key with the same plan
    gives the recorded receipt and writes nothing; with another plan it raises FilingConflict. `now` (default: the
    clock) is the filing time. Returns {filing_id, idempotency_key, file_name, filed_time, plan_sha256, fpl}. Raises
    InputInvalid for a key or a plan that is not complete.
    """
    name = _file_name(idempotency_key)
    content = load_flight_plan(flight_plan).content()
    fpl = to_fpl_message(content)
    digest = hashlib.sha256(rfc8785.dumps(content)).hexdigest()
    if not outbox.is_dir():
        outbox.mkdir(parents=True, exist_ok=True)
        _sync_directory(outbox.parent)
    recorded = find_filing(idempotency_key, outbox)
    if recorded is None:
        record = {
            "schema": SCHEMA,
            "filing_id": f"filing_{name[:16]}",
            "idempotency_key": idempotency_key,
            "file_name": name,
            "filed_time": rfc3339(datetime.now(UTC) if now is None else now),
            "plan_sha256": digest,
            "fpl": fpl,
            "flight_plan": content,
        }
        _write_once(outbox, name, json.dumps(record, ensure_ascii=False, indent=2).encode() + b"\n")
        # Whoever was first, the file that is there now is the truth.
        recorded = find_filing(idempotency_key, outbox)
    if recorded is None:
        raise FilingConflict("idempotency_key", f"the filing {name} vanished from the outbox while it was written")
    _remove_leftovers(outbox, name)
    if recorded["plan_sha256"] != digest:
        raise FilingConflict("idempotency_key", "this key was already used to file another flight plan")
    return recorded


def find_filing(idempotency_key: str, outbox: Path) -> dict[str, Any] | None:
    """The receipt of what was filed under a key, or None. Raises FilingConflict where the file is unreadable."""
    path = outbox / _file_name(idempotency_key)
    try:
        record = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise FilingConflict("idempotency_key", f"the filing {path.name} is not readable") from error
    if not isinstance(record, Mapping) or any(not isinstance(record.get(key), str) for key in _RECEIPT):
        raise FilingConflict("idempotency_key", f"the filing {path.name} is not readable")
    if record["idempotency_key"] != idempotency_key:
        raise FilingConflict("idempotency_key", f"the filing {path.name} belongs to another key")
    return {key: record[key] for key in _RECEIPT}


def _file_name(idempotency_key: str) -> str:
    """A key may hold any characters, so its hash names the file."""
    if not idempotency_key or len(idempotency_key) > LONGEST_KEY:
        raise InputInvalid("idempotency_key", f"a text of 1 to {LONGEST_KEY} characters")
    return f"{hashlib.sha256(idempotency_key.encode()).hexdigest()}.json"


def _write_once(outbox: Path, name: str, data: bytes) -> None:
    """Create the file with all its bytes, durably, unless it exists.

    Written aside, synced, linked into place, directory synced.
    """
    aside = outbox / f".{name}.{uuid.uuid4().hex}.tmp"
    try:
        with aside.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        # link refuses to replace. Somebody else's file of this key, or their clearing away of ours after it, means
        # they were first.
        with suppress(FileExistsError, FileNotFoundError):
            os.link(aside, outbox / name)
    finally:
        aside.unlink(missing_ok=True)
    _sync_directory(outbox)


def _sync_directory(path: Path) -> None:
    """Make the names in a directory as durable as the bytes of its files."""
    directory = os.open(path, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _remove_leftovers(outbox: Path, name: str) -> None:
    """Files written aside for this key by a process that died; the filing itself is already in place."""
    for leftover in outbox.glob(f".{name}.*.tmp"):
        leftover.unlink(missing_ok=True)

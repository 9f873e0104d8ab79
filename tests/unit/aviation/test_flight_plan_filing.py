"""Filing: the FPL message, one file per key, written whole, once (E4)."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from adapter_service.domains.aviation import flight_plan_filing
from adapter_service.domains.aviation.errors import FilingConflict, InputInvalid
from adapter_service.domains.aviation.flight_plan import draft_flight_plan
from adapter_service.domains.aviation.flight_plan_filing import file_flight_plan, find_filing, to_fpl_message

NOW = datetime(2030, 1, 1, 12, 0, tzinfo=UTC)


def _plan(**changes: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "aircraft_id": "ABC123",
        "aircraft_type": "A320",
        "equipment": "SDFGRWY/S",
        "departure_icao": "EDDB",
        "destination_icao": "EDDM",
        "alternate_icaos": ["EDDF"],
        "departure_time": "2030-01-02 14:00",
        "cruising_speed": "N0450",
        "level": "F350",
        "total_eet_minutes": 55,
        "endurance_minutes": 240,
        "persons_on_board": 120,
    }
    return draft_flight_plan(**{**fields, **changes}, now=NOW)


def test_message_in_the_order_of_doc_4444() -> None:
    assert to_fpl_message(_plan()) == (
        "(FPL-ABC123-IS\n-A320/M-SDFGRWY/S\n-EDDB1400\n-N0450F350 DCT\n-EDDM0055 EDDF\n-DOF/300102\n-E/0400 P/120)"
    )


def test_other_information_stands_in_its_order() -> None:
    message = to_fpl_message(_plan(other_information="RMK/TEST PBN/A1 REG/DABCD", persons_on_board=7))
    assert "-PBN/A1 DOF/300102 REG/DABCD RMK/TEST\n" in message
    assert message.endswith(" P/007)")


def test_a_field_without_location_indicator_is_zzzz_with_its_position() -> None:
    message = to_fpl_message(_plan(destination_icao="K19N", alternate_icaos=["31WN"]))
    assert "\n-ZZZZ0055 ZZZZ\n" in message
    assert "\n-DEST/3947N07457W DOF/300102 ALTN/" in message
    assert "K19N" not in message


@pytest.mark.parametrize("field", ["aircraft_id", "level", "persons_on_board", "total_eet_minutes"])
def test_an_incomplete_plan_is_not_filed(field: str, tmp_path: Path) -> None:
    with pytest.raises(InputInvalid) as refused:
        file_flight_plan({**_plan(), field: None}, "key", tmp_path, NOW)
    assert refused.value.field == f"flight_plan.{field}"
    assert list(tmp_path.iterdir()) == []


def test_one_key_is_one_file_and_one_receipt(tmp_path: Path) -> None:
    outbox = tmp_path / "new" / "outbox"
    assert find_filing("key/../1", outbox) is None
    receipt = file_flight_plan(_plan(), "key/../1", outbox, NOW)
    assert file_flight_plan(_plan(), "key/../1", outbox, NOW + timedelta(hours=1)) == receipt
    assert find_filing("key/../1", outbox) == receipt
    assert [path.name for path in outbox.iterdir()] == [receipt["file_name"]]
    stored = json.loads((outbox / receipt["file_name"]).read_text())
    assert stored["flight_plan"] == _plan()
    assert stored["fpl"] == receipt["fpl"] == to_fpl_message(_plan())
    assert receipt["filed_time"] == "2030-01-01T12:00:00Z"
    second = file_flight_plan(_plan(), "key/../2", outbox, NOW)
    assert second["filing_id"] != receipt["filing_id"]
    assert len(list(outbox.iterdir())) == 2


def test_a_key_files_one_plan_only(tmp_path: Path) -> None:
    receipt = file_flight_plan(_plan(), "key", tmp_path, NOW)
    with pytest.raises(FilingConflict) as conflict:
        file_flight_plan(_plan(level="F370"), "key", tmp_path, NOW)
    assert conflict.value.field == "idempotency_key"
    assert find_filing("key", tmp_path) == receipt


@pytest.mark.parametrize("key", ["", "k" * 257])
def test_keys_are_bounded(key: str, tmp_path: Path) -> None:
    with pytest.raises(InputInvalid) as refused:
        file_flight_plan(_plan(), key, tmp_path, NOW)
    assert refused.value.field == "idempotency_key"


@pytest.mark.parametrize("content", ["", "{", "[]", '{"fpl": 1}'])
def test_a_damaged_record_is_said_so_and_not_overwritten(content: str, tmp_path: Path) -> None:
    receipt = file_flight_plan(_plan(), "key", tmp_path, NOW)
    path = tmp_path / receipt["file_name"]
    path.write_text(content)
    with pytest.raises(FilingConflict):
        find_filing("key", tmp_path)
    with pytest.raises(FilingConflict):
        file_flight_plan(_plan(), "key", tmp_path, NOW)
    assert path.read_text() == content


def test_many_at_once_file_once(tmp_path: Path) -> None:
    barrier = threading.Barrier(8)

    def file(number: int) -> dict[str, Any]:
        barrier.wait()
        return file_flight_plan(_plan(), "key", tmp_path, NOW + timedelta(seconds=number))

    with ThreadPoolExecutor(8) as pool:
        receipts = list(pool.map(file, range(8)))
    assert receipts == [receipts[0]] * 8
    assert [path.name for path in tmp_path.iterdir()] == [receipts[0]["file_name"]]


def test_of_two_plans_at_once_one_wins_and_the_other_is_told(tmp_path: Path) -> None:
    barrier = threading.Barrier(2)

    def file(level: str) -> str:
        barrier.wait()
        try:
            return str(file_flight_plan(_plan(level=level), "key", tmp_path, NOW)["plan_sha256"])
        except FilingConflict:
            return "conflict"

    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(file, ("F350", "F370")))
    assert outcomes.count("conflict") == 1
    filed = find_filing("key", tmp_path)
    assert filed is not None
    assert filed["plan_sha256"] in outcomes


def _die_before(step: str, outbox: str) -> None:
    """In a process of its own: be killed when the filing reaches `step`."""

    def die(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(flight_plan_filing.os, step, die)
    file_flight_plan(_plan(), "key", Path(outbox), NOW)


@pytest.mark.parametrize("step", ["fsync", "link"])
def test_killed_while_writing_leaves_nothing_filed_and_the_next_try_clears_up(step: str, tmp_path: Path) -> None:
    process = multiprocessing.get_context("spawn").Process(target=_die_before, args=(step, str(tmp_path)))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    assert find_filing("key", tmp_path) is None
    assert [path.suffix for path in tmp_path.iterdir()] == [".tmp"]
    receipt = file_flight_plan(_plan(), "key", tmp_path, NOW)
    assert [path.name for path in tmp_path.iterdir()] == [receipt["file_name"]]


def test_killed_after_the_link_has_filed(tmp_path: Path) -> None:
    process = multiprocessing.get_context("spawn").Process(target=_die_before, args=("unlink", str(tmp_path)))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    found = find_filing("key", tmp_path)
    assert found is not None
    assert file_flight_plan(_plan(), "key", tmp_path, NOW) == found
    assert [path.name for path in tmp_path.iterdir()] == [found["file_name"]]

"""VerifyAudit and ListAuditEvents on a real Loop whose file somebody changed (E6)."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from handrail.adapter.v1 import domain_adapter_service_pb2 as adapter_pb
from handrail.common.v1 import decision_pb2
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail_rpc.audit_chain import AUDIT_SCHEME, MEMBERS, Verdict, chained_hash
from handrail_rpc.audit_verifier import ChainVerifier
from handrail_rpc.digest import parse_json_strict
from loop_service.application import audit_trail
from loop_service.domain.times import from_micros
from loop_service.storage import journal_store
from tests.fakes.adapter import call, complete
from tests.grpc.loop.driver import LoopDriver, running_loop
from tests.grpc.loop.errors import refused

Rows = list[dict[str, Any]]


def one_tool(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
    if request.observation.WhichOneof("kind") == "tool_finished":
        return complete("Done.")
    return call(f"call_{request.interaction_id}")


async def conversation(driver: LoopDriver, turns: int = 3) -> str:
    """Four audit rows a turn."""
    conversation_id = await driver.create()
    for turn in range(turns):
        await driver.send(conversation_id, f"turn {turn}")
    return conversation_id


class File:
    """The Loop's file, changed behind its back."""

    def __init__(self, driver: LoopDriver, conversation_id: str) -> None:
        self.path = driver.folder / "loop.db"
        self.conversation_id = conversation_id

    @contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path, timeout=10)) as connection, connection:
            connection.row_factory = sqlite3.Row
            yield connection

    def rows(self) -> Rows:
        query = "SELECT * FROM audit_events WHERE conversation_id = ? ORDER BY number"
        with self.open() as connection:
            return [dict(row) for row in connection.execute(query, (self.conversation_id,))]

    def write(self, rows: Rows) -> None:
        with self.open() as connection:
            connection.execute("DELETE FROM audit_events WHERE conversation_id = ?", (self.conversation_id,))
            for row in rows:
                marks = ", ".join("?" * len(row))
                statement = f"INSERT INTO audit_events ({', '.join(row)}) VALUES ({marks})"
                connection.execute(statement, list(row.values()))

    def set_head(self, number: int, hash: str) -> None:
        with self.open() as connection:
            connection.execute(
                "UPDATE conversations SET audit_number = ?, audit_hash = ? WHERE conversation_id = ?",
                (number, hash, self.conversation_id),
            )


def renumbered(rows: Rows) -> Rows:
    return [{**row, "number": number} for number, row in enumerate(rows, start=1)]


def changed(rows: Rows, number: int, **values: Any) -> Rows:
    return [{**row, **values} if row["number"] == number else row for row in rows]


def swapped(rows: Rows, k: int) -> Rows:
    """Row k and its neighbour."""
    other = k + 1 if k < len(rows) else k - 1
    numbers = {k: other, other: k}
    return [{**row, "number": numbers.get(row["number"], row["number"])} for row in rows]


def inserted(rows: Rows, k: int) -> Rows:
    forged = {**rows[0], "actor": "mallory", "hash": "e" * 64}
    return renumbered([*rows[: k - 1], forged, *rows[k - 1 :]])


TAMPERINGS: dict[str, tuple[Callable[[Rows, int], Rows], str]] = {
    "actor": (lambda rows, k: changed(rows, k, actor="mallory"), "EDITED"),
    "kind that does not exist": (lambda rows, k: changed(rows, k, kind="nothing"), "EDITED"),
    "details that are no JSON": (lambda rows, k: changed(rows, k, details="{"), "EDITED"),
    "time that is none": (lambda rows, k: changed(rows, k, event_time="noon"), "EDITED"),
    "digest": (lambda rows, k: changed(rows, k, digest="0" * 64), "EDITED"),
    "hash": (lambda rows, k: changed(rows, k, hash="0" * 64), "EDITED"),
    "scheme": (lambda rows, k: changed(rows, k, digest_scheme=""), "EDITED"),
    "removed": (lambda rows, k: [row for row in rows if row["number"] != k], "REMOVED"),
    "removed, the rest moved up": (
        lambda rows, k: renumbered([row for row in rows if row["number"] != k]),
        "REMOVED",
    ),
    "inserted": (inserted, "INSERTED"),
    "two in each other's place": (swapped, "REORDERED"),
}


async def verify(driver: LoopDriver, conversation_id: str, metadata: Any = None) -> pb.VerifyAuditResponse:
    request = pb.VerifyAuditRequest(conversation_id=conversation_id)
    response: pb.VerifyAuditResponse = await driver.stub.VerifyAudit(request, metadata=metadata)
    return response


def named(response: pb.VerifyAuditResponse) -> list[tuple[str, int]]:
    assert response.valid == (not response.findings)
    faults = [pb.AuditFault.Name(each.fault).removeprefix("AUDIT_FAULT_") for each in response.findings]
    return [(fault, each.number) for fault, each in zip(faults, response.findings, strict=True)]


@pytest.mark.parametrize("kind", TAMPERINGS)
async def test_each_tampering_of_the_first_a_middle_and_the_last_row_is_named(tmp_path: Path, kind: str) -> None:
    async with running_loop(tmp_path, one_tool) as driver:
        file = File(driver, await conversation(driver))
        original = file.rows()
        tamper, fault = TAMPERINGS[kind]
        for k in (1, 6, len(original)):
            file.write(tamper(original, k))
            found = await verify(driver, file.conversation_id)
            assert not found.valid
            assert (fault, k) in named(found)
            if kind != "two in each other's place":
                assert len(found.findings) == 1
            russian = await verify(driver, file.conversation_id, (("accept-language", "ru"),))
            assert "трок" in russian.findings[0].explanation
            assert str(found.findings[0].number) in found.findings[0].explanation
        file.write(original)
        assert named(await verify(driver, file.conversation_id)) == []


async def test_an_untouched_trail_is_valid_and_tells_its_head(tmp_path: Path) -> None:
    async with running_loop(tmp_path, one_tool) as driver:
        conversation_id = await conversation(driver)
        rows = File(driver, conversation_id).rows()
        found = await verify(driver, conversation_id)
        assert (found.valid, found.checked_rows, found.conversation_id) == (True, 12, conversation_id)
        assert found.head_hash == rows[-1]["hash"]
        assert {row["digest_scheme"] for row in rows} == {AUDIT_SCHEME}
        empty = await driver.create()
        nothing = await verify(driver, empty)
        assert (nothing.valid, nothing.checked_rows, nothing.head_hash) == (True, 0, "")


async def test_a_cut_end_is_found_by_the_head_and_the_head_cannot_hide_it(tmp_path: Path) -> None:
    async with running_loop(tmp_path, one_tool) as driver:
        file = File(driver, await conversation(driver))
        rows = file.rows()
        file.write(rows[:-2])
        assert named(await verify(driver, file.conversation_id)) == [("REMOVED", 11), ("REMOVED", 12)]
        file.set_head(10, rows[-1]["hash"])
        assert named(await verify(driver, file.conversation_id)) == [("EDITED", 10)]
        file.set_head(12, rows[9]["hash"])
        assert named(await verify(driver, file.conversation_id)) == [("EDITED", 10)]
        file.set_head(0, "")
        assert not (await verify(driver, file.conversation_id)).valid
        # Put back consistently, only a head that was kept outside tells: it is not the one told now.
        file.set_head(10, rows[9]["hash"])
        found = await verify(driver, file.conversation_id)
        assert found.valid
        assert found.head_hash != rows[-1]["hash"]


async def test_rows_from_before_there_were_schemes_verify_as_they_are(tmp_path: Path) -> None:
    async with running_loop(tmp_path, one_tool) as driver:
        file = File(driver, await conversation(driver, turns=1))
        old: Rows = []
        previous = ""
        for row in file.rows():
            members = {name: str(row[name]) for name in MEMBERS}
            members["event_time"] = from_micros(row["event_time"]).isoformat(timespec="microseconds")
            previous = chained_hash(
                {**members, "details": parse_json_strict(row["details"])}, row["number"], previous, ""
            )
            old.append({**row, "digest_scheme": "", "hash": previous})
        file.write(old)
        file.set_head(len(old), previous)
        assert named(await verify(driver, file.conversation_id)) == []
        await driver.send(file.conversation_id, "and then")
        assert named(await verify(driver, file.conversation_id)) == []
        schemes = [row["digest_scheme"] for row in file.rows()]
        assert schemes == [""] * 4 + [AUDIT_SCHEME] * 4
        file.write(changed(file.rows(), 2, digest_scheme=AUDIT_SCHEME))
        assert named(await verify(driver, file.conversation_id)) == [("EDITED", 2)]


async def test_a_long_trail_is_verified_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_trail, "BATCH", 5)
    async with running_loop(tmp_path, one_tool) as driver:
        file = File(driver, await conversation(driver, turns=5))
        original = file.rows()
        assert (await verify(driver, file.conversation_id)).checked_rows == 20
        for k in (1, 5, 6, 15, 20):
            file.write(swapped(original, k))
            found = await verify(driver, file.conversation_id)
            assert found.checked_rows == 20
            assert {fault for fault, _ in named(found)} == {"REORDERED"}
            assert ("REORDERED", k) in named(found)


async def test_the_owner_and_named_roles_of_the_tenant_read_a_trail(tmp_path: Path) -> None:
    async with running_loop(tmp_path, one_tool) as driver:
        conversation_id = await conversation(driver, turns=1)
        rows = (await listed(driver, conversation_id=conversation_id)).audit_events
        interaction_id = rows[0].interaction_id
        for role in ("auditor", "operator"):
            watching = (("x-handrail-principal", "eve"), ("x-handrail-roles", f"reader,{role}"))
            assert (await verify(driver, conversation_id, watching)).valid
            for subject in ({"conversation_id": conversation_id}, {"interaction_id": interaction_id}):
                assert (await listed(driver, watching, **subject)).audit_events == rows
        for metadata in (
            (("x-handrail-principal", "eve"),),
            (("x-handrail-principal", "eve"), ("x-handrail-roles", "reader")),
            (("x-handrail-tenant", "other"), ("x-handrail-roles", "auditor,operator")),
        ):
            await refused(verify(driver, conversation_id, metadata), "NOT_FOUND")
            await refused(listed(driver, metadata, conversation_id=conversation_id), "NOT_FOUND")
            await refused(listed(driver, metadata, interaction_id=interaction_id), "NOT_FOUND")
        await refused(verify(driver, "conv_none"), "NOT_FOUND")
        await refused(listed(driver, interaction_id="int_none"), "NOT_FOUND")
        await refused(verify(driver, ""), "INVALID_ARGUMENT")


async def listed(driver: LoopDriver, metadata: Any = None, **subject: str) -> pb.ListAuditEventsResponse:
    request = pb.ListAuditEventsRequest(**subject)
    response: pb.ListAuditEventsResponse = await driver.stub.ListAuditEvents(request, metadata=metadata)
    return response


async def test_rows_of_an_interaction_are_found_by_an_index(tmp_path: Path) -> None:
    async with running_loop(tmp_path, one_tool) as driver:
        conversation_id = await conversation(driver)
        rows = (await listed(driver, conversation_id=conversation_id)).audit_events
        of_the_second = [row for row in rows if row.interaction_id == rows[4].interaction_id]
        found = await listed(driver, interaction_id=rows[4].interaction_id)
        assert list(found.audit_events) == of_the_second
        assert [row.number for row in found.audit_events] == [5, 6, 7, 8]
        statement = str(journal_store._AUDIT_OF_INTERACTION.core)
        with File(driver, conversation_id).open() as connection:
            plan = [dict(step)["detail"] for step in connection.execute(f"EXPLAIN QUERY PLAN {statement}", bound())]
        assert plan == ["SEARCH audit_events USING INDEX audit_events_by_interaction (interaction_id=? AND number>?)"]


def bound() -> dict[str, Any]:
    return {"id": "int_1", "after": 0, "most": 10}


async def test_a_damaged_trail_is_judged_beside_the_event_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The verdict on a trail with much damage takes many seconds: leases and other calls go on meanwhile."""
    judging: list[int] = []
    verdict = ChainVerifier.verdict

    def noted(self: ChainVerifier) -> Verdict:
        judging.append(threading.get_ident())
        return verdict(self)

    monkeypatch.setattr(ChainVerifier, "verdict", noted)
    async with running_loop(tmp_path, one_tool) as driver:
        conversation_id = await conversation(driver, turns=1)
        await driver.stub.VerifyAudit(pb.VerifyAuditRequest(conversation_id=conversation_id))
    assert len(judging) == 1
    assert judging[0] != threading.get_ident()

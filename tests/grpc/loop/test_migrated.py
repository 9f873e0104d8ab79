"""A database of the first schema in the middle of its work: after the migration everything in it goes on."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from handrail.adapter.v1 import domain_adapter_service_pb2 as adapter_pb
from handrail.common.v1 import approval_pb2, decision_pb2, tool_pb2
from handrail.loop.v1 import event_pb2
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail_rpc.audit_chain import MEMBERS, chained_hash
from handrail_rpc.digest import parse_json_strict
from handrail_storage import migrate
from loop_service.bootstrap import MIGRATIONS
from loop_service.domain.times import from_micros
from tests.fakes.adapter import FakeAdapter, ask, call, complete, end_with, request_approval
from tests.grpc.loop.driver import LoopDriver, last, names


def by_text(asked: adapter_pb.DecideRequest) -> decision_pb2.Decision:
    """What the first message wants; whatever comes after it completes."""
    match asked.observation.user_message.text:
        case "approve":
            return request_approval()
        case "ask":
            return ask()
        case "wait":
            decision = decision_pb2.Decision(wait=decision_pb2.Wait())
            decision.wait.until.seconds = 2
            return decision
        case "change":
            return call("c1", effect=tool_pb2.EFFECT_CHANGE)
        case _:
            return complete()


def write_as_first_schema(source: Path, target: Path, folder: Path) -> None:
    """Copy every row, with the columns that the first schema has; audit rows are chained without a scheme's name."""
    first = folder / "first"
    first.mkdir()
    shutil.copy(MIGRATIONS / "0001_initial.py", first)
    migrate(f"sqlite:///{target}", first)
    with closing(sqlite3.connect(target)) as connection, connection:
        connection.execute("ATTACH ? AS old", (str(source),))
        tables = [
            row[0]
            for row in connection.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'")
            if row[0] != "alembic_version"
        ]
        for table in tables:
            names = ", ".join(row[1] for row in connection.execute(f"PRAGMA main.table_info({table})"))
            connection.execute(f"INSERT INTO main.{table} ({names}) SELECT {names} FROM old.{table}")
        _chain_without_scheme(connection)


def _chain_without_scheme(connection: sqlite3.Connection) -> None:
    connection.row_factory = sqlite3.Row
    heads: dict[str, str] = {}
    for row in connection.execute("SELECT * FROM main.audit_events ORDER BY conversation_id, number").fetchall():
        members = {name: str(row[name]) for name in MEMBERS if name != "details"}
        members["event_time"] = from_micros(row["event_time"]).isoformat(timespec="microseconds")
        key = row["conversation_id"]
        hashed = {**members, "details": parse_json_strict(row["details"])}
        heads[key] = chained_hash(hashed, row["number"], heads.get(key, ""), "")
        where = (heads[key], key, row["number"])
        connection.execute("UPDATE main.audit_events SET hash = ? WHERE conversation_id = ? AND number = ?", where)
    for key, head in heads.items():
        connection.execute("UPDATE main.conversations SET audit_hash = ? WHERE conversation_id = ?", (head, key))


async def test_what_was_open_in_the_first_schema_goes_on(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    adapter = await FakeAdapter(by_text, end_with(tool_pb2.OUTCOME_UNKNOWN)).start()
    before, after = LoopDriver(old, adapter), LoopDriver(new, adapter)
    try:
        await before.start()
        ids = {text: await before.create() for text in ("approve", "ask", "wait", "change", "done")}
        endings = {text: names(await before.send(ids[text], text))[-1] for text in ids}
        assert list(endings.values()) == [
            "approval_required",
            "clarification_required",
            "waiting",
            "failed",
            "completed",
        ]
        approval = last(await before.events(ids["approve"]), "approval_required")
        await before.stop()
        write_as_first_schema(old / "loop.db", new / "loop.db", tmp_path)
        await after.start()
        try:
            await goes_on(after, ids, approval)
        finally:
            await after.stop()
    finally:
        await adapter.stop()


async def goes_on(after: LoopDriver, ids: dict[str, str], approval: event_pb2.ApprovalRequired) -> None:
    pending = (await after.stub.ListPending(pb.ListPendingRequest())).items
    assert {(each.WhichOneof("item"), each.conversation_id) for each in pending} == {
        ("approval", ids["approve"]),
        ("clarification", ids["ask"]),
        ("execution", ids["change"]),
    }
    assert not (await after.stub.ListDivergedConversations(pb.ListDivergedConversationsRequest())).conversations
    approved = await after.resolve(approval, approval_pb2.VERDICT_APPROVE)
    assert names(approved)[-1] == "completed"
    for text in ("ask", "done"):
        assert names(await after.send(ids[text], "go on"))[-1] == "completed"

    async def woken() -> bool:
        return names(await after.events(ids["wait"]))[-1] == "completed"

    await after.until(woken)
    for conversation_id in ids.values():
        assert (await after.stub.VerifyAudit(pb.VerifyAuditRequest(conversation_id=conversation_id))).valid
        assert len(await after.events(conversation_id)) >= 4

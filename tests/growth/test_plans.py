"""No statement of the stores looks through a whole table: what a step, a query or a start costs grows with no table.

SQLite itself tells how it would find the rows of each statement, with its parameters left open as they are at run time:
a partial index, for one, serves only a statement that shows by its own text that it may.
"""

from __future__ import annotations

import re
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from adapter_service import bootstrap as adapter
from handrail.common.v1.approval_pb2 import VERDICT_APPROVE
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail_storage import KeyedTable, Statement, migrate
from loop_service import bootstrap as loop
from tests.growth.stack import Running, running_stack

# Whole, but of one row.
_SINGLE = {"history"}
# Once in the life of a session, when it is erased: the indexes would cost every step of every session.
_RARE = ("UPDATE tool_calls SET input_bytes", "UPDATE approvals SET input_bytes")
_ELSEWHERE = re.compile("no such (table|column)|has no column named")
_SCAN = re.compile(r"SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?")


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, sqlite3.Connection]:
    """Migrated and empty, by service."""
    made = {}
    for name, migrations in (("loop", loop.MIGRATIONS), ("adapter", adapter.MIGRATIONS)):
        path = tmp_path_factory.mktemp(name) / "plans.db"
        migrate(f"sqlite:///{path}", migrations)
        made[name] = sqlite3.connect(path)
    return made


def scans(database: sqlite3.Connection, sql: str) -> list[str]:
    """Steps of the plan that read all rows of a table; rows of a partial index are those that are meant."""
    schema = dict(database.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))
    found = []
    for *_, step in database.execute(f"EXPLAIN QUERY PLAN {sql}", [None] * sql.count("?")):
        scan = _SCAN.match(step)
        if scan is None or scan[1] not in schema or scan[1] in _SINGLE:
            continue
        if scan[2] is None or " WHERE " not in schema.get(scan[2], ""):
            found.append(f"{step}: {sql}")
    return found


def _scans_of(databases: dict[str, sqlite3.Connection], statements: set[str]) -> list[str]:
    found: list[str] = []
    for sql in sorted(statements):
        for database in databases.values():
            try:
                found += scans(database, sql)
            except sqlite3.OperationalError as other:
                # A statement of the other service.
                if not _ELSEWHERE.search(str(other)):
                    raise
    return found


def test_a_scan_is_found(databases: dict[str, sqlite3.Connection]) -> None:
    where = "SELECT run_id FROM runs WHERE state"
    assert scans(databases["loop"], f"{where} != ?")
    assert not scans(databases["loop"], f"{where} != 'ended' ORDER BY create_time")


@pytest.mark.parametrize("service", ["loop", "adapter"])
def test_no_compiled_statement_scans(databases: dict[str, sqlite3.Connection], service: str) -> None:
    own, statements = databases[service], compiled_of(f"{service}_service.storage")
    assert len(statements) > 20
    assert [scan for sql in sorted(statements) if not sql.startswith(_RARE) for scan in scans(own, sql)] == []


def compiled_of(package: str) -> set[str]:
    """The text of every Statement that a module of the package holds, also within dictionaries and tables."""
    found: set[str] = set()
    waiting = [
        value for name, module in sys.modules.items() if name.startswith(package) for value in vars(module).values()
    ]
    while waiting:
        value = waiting.pop()
        if isinstance(value, KeyedTable):
            waiting += [value.found_by_key, value.upsert]
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value
        elif isinstance(value, Statement):
            value._compile()
            found.add(value._sql)
    return found


async def test_no_statement_of_a_round_or_a_query_scans(
    tmp_path: Path, databases: dict[str, sqlite3.Connection]
) -> None:
    executed: set[str] = set()

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith(("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")):
            executed.add(statement)

    async with running_stack(tmp_path) as running:
        event.listen(Engine, "before_cursor_execute", note)
        try:
            conversation = await running.create()
            await running.turns(conversation, 1)
            asked = (await running.send(conversation, "round 5", "approval_required")).approval_required
            await _read_everything(running, conversation)
            resolving = running.stub.ResolveApproval(
                pb.ResolveApprovalRequest(
                    request_id="verdict",
                    approval_id=asked.approval_id,
                    verdict=VERDICT_APPROVE,
                    snapshot_digest=asked.snapshot_digest,
                )
            )
            *_, last = [response.event async for response in resolving]
            assert last.WhichOneof("payload") == "completed"
        finally:
            event.remove(Engine, "before_cursor_execute", note)
    assert executed
    assert _scans_of(databases, executed) == []


async def _read_everything(running: Running, conversation: str) -> None:
    stub = running.stub
    interactions = set()
    async for response in stub.WatchConversation(pb.WatchConversationRequest(conversation_id=conversation)):
        interactions.add(response.event.interaction_id)
    await stub.ListConversations(pb.ListConversationsRequest())
    await stub.GetConversation(pb.GetConversationRequest(conversation_id=conversation))
    await stub.ListMessages(pb.ListMessagesRequest(conversation_id=conversation))
    pending = await stub.ListPending(pb.ListPendingRequest())
    assert len(pending.items) == 1
    await stub.ListAuditEvents(pb.ListAuditEventsRequest(conversation_id=conversation))
    for interaction in interactions - {""}:
        await stub.GetInteraction(pb.GetInteractionRequest(interaction_id=interaction))
        await stub.ListAuditEvents(pb.ListAuditEventsRequest(interaction_id=interaction))

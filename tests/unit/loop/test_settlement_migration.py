"""What 0002 makes of approvals and unknown calls that were there before: each approval has its end, each unknown change
waits for a person, and what is open is found by whom it waits for.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from handrail_storage import migrate
from loop_service.bootstrap import MIGRATIONS

TIME = 1_900_000_000_000_000


def _insert(connection: sqlite3.Connection, table: str, **values: Any) -> None:
    columns, places = ", ".join(values), ", ".join("?" for _ in values)
    connection.execute(f"INSERT INTO {table} ({columns}) VALUES ({places})", tuple(values.values()))


def _before(path: Path, folder: Path) -> None:
    """A database of the first schema: four approved approvals and what came of their calls, a fifth that is open."""
    first = folder / "first"
    first.mkdir()
    shutil.copy(MIGRATIONS / "0001_initial.py", first)
    migrate(f"sqlite:///{path}", first)
    with closing(sqlite3.connect(path)) as connection, connection:
        _insert(
            connection, "conversations", conversation_id="c1", tenant="acme", principal="ann", domain="probe",
            title="", labels="{}", create_time=TIME,
        )  # fmt: skip
        for name, outcome, state in (
            ("ok", "succeeded", "completed"),
            ("lost", "unknown", "failed"),
            ("blocked", "blocked", "failed"),
            ("broken", "failed", "failed"),
            ("never", "", "canceled"),
            ("now", "", "preparing"),
        ):
            _insert(
                connection, "interactions", interaction_id=f"i_{name}", conversation_id="c1", domain="probe",
                state=state, create_time=TIME, update_time=TIME,
            )  # fmt: skip
            _approval(connection, name, "approved")
            if outcome:
                _insert(
                    connection, "tool_calls", interaction_id=f"i_{name}", tool_call_id=f"t_{name}", tool="ring",
                    effect="change", idempotent=False, approval_id=f"a_{name}", summary="Ring", outcome=outcome,
                )  # fmt: skip
        _insert(
            connection, "tool_calls", interaction_id="i_lost", tool_call_id="t_read", tool="look", effect="read",
            idempotent=False, outcome="unknown",
        )  # fmt: skip
        _approval(connection, "open", "open")
        _insert(
            connection, "clarifications", clarification_id="q1", interaction_id="i_now", conversation_id="c1",
            status="open", required=True, options="[]", create_time=TIME,
        )  # fmt: skip


def _approval(connection: sqlite3.Connection, name: str, status: str) -> None:
    _insert(
        connection, "approvals", approval_id=f"a_{name}", interaction_id=f"i_{name}", conversation_id="c1",
        tenant="acme", requester="ann", required_role="ringer", requester_may_approve=False, tool="ring",
        status=status, create_time=TIME,
    )  # fmt: skip


def test_what_was_there_gets_its_end_and_its_person(tmp_path: Path) -> None:
    path = tmp_path / "loop.db"
    _before(path, tmp_path)
    migrate(f"sqlite:///{path}", MIGRATIONS)
    with closing(sqlite3.connect(path)) as connection:
        approvals = {
            row[0]: row[1:]
            for row in connection.execute("SELECT approval_id, status, tool_call_id, domain FROM approvals")
        }
        assert approvals == {
            "a_ok": ("executed", "t_ok", "probe"),
            "a_lost": ("approved", "t_lost", "probe"),
            "a_blocked": ("stale", "t_blocked", "probe"),
            "a_broken": ("withdrawn", "t_broken", "probe"),
            "a_never": ("withdrawn", "", "probe"),
            "a_now": ("approved", "", "probe"),
            "a_open": ("open", "", "probe"),
        }
        approved = connection.execute("SELECT interaction_id FROM interactions WHERE approved_id = 'a_now'").fetchall()
        assert approved == [("i_now",)]
        settlements = connection.execute(
            "SELECT interaction_id, tool_call_id, conversation_id, tenant, requester, required_role, "
            "requester_may_approve, domain, tool, summary, approval_id, verdict, create_time FROM settlements"
        ).fetchall()
        assert settlements == [
            ("i_lost", "t_lost", "c1", "acme", "ann", "ringer", 0, "probe", "ring", "Ring", "a_lost", "", TIME)
        ]
        question = connection.execute("SELECT tenant, principal, domain FROM clarifications").fetchall()
        assert question == [("acme", "ann", "probe")]

"""What the durable Loop adds: settled calls, signals, retention, erasure, histories, the scheme of each audit row."""

from __future__ import annotations

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the columns and tables; every new column has a default that fits the rows that are there."""
    _add_history()
    _add_waiting()
    _add_settlements()
    _add_audit_schemes()
    _add_deletion()
    op.add_column("requests", sa.Column("event_sequence", sa.BigInteger(), nullable=False, server_default="0"))


def _add_deletion() -> None:
    """How far the deletion of a conversation has come, and when to go on with it."""
    op.add_column("conversations", _text("deletion"))
    op.add_column("conversations", sa.Column("delete_time", sa.BigInteger(), nullable=True))
    op.add_column("conversations", _text("deleted_by"))
    op.add_column("conversations", sa.Column("erase_due", sa.BigInteger(), nullable=True))
    _create_waiting_index("conversations_by_erase_due", "conversations", ["erase_due"], "erase_due IS NOT NULL")
    op.create_index("clarifications_by_conversation", "clarifications", ["conversation_id"])


def _add_audit_schemes() -> None:
    """Rows so far were hashed without the name of a scheme, and are to verify as they are."""
    op.add_column("audit_events", sa.Column("digest_scheme", sa.Text(), nullable=False, server_default=""))
    op.create_index("audit_events_by_interaction", "audit_events", ["interaction_id", "number"])


def _add_waiting() -> None:
    """The mailbox of signals, the reply that waits for a verdict, the queue's index, what retention kept."""
    op.create_table(
        "signals",
        sa.Column("interaction_id", sa.Text(), nullable=False, server_default=""),
        sa.Column("number", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("name", sa.Text(), nullable=False, server_default=""),
        sa.Column("payload", sa.LargeBinary(), nullable=False, server_default=""),
        sa.Column("create_time", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("interaction_id", "number"),
    )
    op.add_column("interactions", sa.Column("kept_signals", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("interactions", sa.Column("unclear_number", sa.BigInteger(), nullable=False, server_default="0"))
    op.create_index(
        "runs_queued",
        "runs",
        ["state"],
        sqlite_where=sa.text("state = 'queued'"),
        postgresql_where=sa.text("state = 'queued'"),
    )
    op.add_column("conversations", sa.Column("first_sequence", sa.BigInteger(), nullable=False, server_default="1"))
    op.add_column("conversations", sa.Column("oldest_event_time", sa.BigInteger(), nullable=True))
    op.execute(sa.text("UPDATE conversations SET oldest_event_time = create_time WHERE last_sequence > 0"))
    op.create_index(
        "conversations_by_oldest_event",
        "conversations",
        ["oldest_event_time"],
        sqlite_where=sa.text("oldest_event_time IS NOT NULL"),
        postgresql_where=sa.text("oldest_event_time IS NOT NULL"),
    )


def _add_history() -> None:
    """The history of this database, and how far each conversation's session was seen. What is there belongs to it."""
    op.create_table(
        "history",
        sa.Column("history_id", sa.Text(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("swept_history_id", sa.Text(), nullable=False, server_default=""),
        sa.PrimaryKeyConstraint("history_id"),
    )
    history_id = f"his_{secrets.token_hex(12)}"
    op.execute(
        sa.text("INSERT INTO history (history_id, position, swept_history_id) VALUES (:id, 0, :id)").bindparams(
            id=history_id
        )
    )
    op.add_column("conversations", sa.Column("loop_history_id", sa.Text(), nullable=False, server_default=""))
    op.add_column("conversations", sa.Column("session_revision", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("conversations", sa.Column("divergence", sa.Text(), nullable=False, server_default=""))
    op.execute(sa.text("UPDATE conversations SET loop_history_id = :id").bindparams(id=history_id))


def _add_settlements() -> None:
    """The life of an approval to its end, the calls that a person has to settle, and who all of it waits for."""
    op.add_column("interactions", sa.Column("approved_id", sa.Text(), nullable=False, server_default=""))
    for name in ("tenant", "principal", "domain"):
        op.add_column("clarifications", sa.Column(name, sa.Text(), nullable=False, server_default=""))
        op.execute(
            sa.text(
                f"UPDATE clarifications SET {name} = (SELECT v.{name} FROM conversations v "
                "WHERE v.conversation_id = clarifications.conversation_id)"
            )
        )
    for name in ("domain", "tool_call_id"):
        op.add_column("approvals", sa.Column(name, sa.Text(), nullable=False, server_default=""))
    op.execute(
        sa.text(
            "UPDATE approvals SET domain = (SELECT v.domain FROM conversations v "
            "WHERE v.conversation_id = approvals.conversation_id)"
        )
    )
    _move_waiting_indexes()
    op.create_table(
        "settlements",
        sa.Column("settlement_id", sa.Text(), primary_key=True),
        *(_text(name) for name in ("interaction_id", "tool_call_id", "conversation_id", "tenant", "requester")),
        _text("required_role"),
        sa.Column("requester_may_approve", sa.Boolean(), nullable=False),
        *(_text(name) for name in ("domain", "tool", "summary", "approval_id", "verdict", "settled_by")),
        sa.Column("settle_time", sa.BigInteger(), nullable=True),
        *(_text(name) for name in ("comment", "successor_interaction_id", "run_id")),
        sa.Column("create_time", sa.BigInteger(), nullable=False),
    )
    op.create_index("settlements_by_call", "settlements", ["interaction_id", "tool_call_id"], unique=True)
    _create_waiting_index(
        "settlements_waiting", "settlements", ["tenant", "create_time", "settlement_id"], "verdict = ''"
    )
    _create_waiting_index(
        "settlements_waiting_in",
        "settlements",
        ["tenant", "conversation_id", "create_time", "settlement_id"],
        "verdict = ''",
    )
    _conclude_approvals()
    op.execute(
        sa.text(
            "INSERT INTO settlements (settlement_id, interaction_id, tool_call_id, conversation_id, tenant, requester, "
            "required_role, requester_may_approve, domain, tool, summary, approval_id, create_time) "
            "SELECT 'stl_' || t.interaction_id || '_' || t.tool_call_id, t.interaction_id, t.tool_call_id, "
            "i.conversation_id, v.tenant, v.principal, COALESCE(a.required_role, ''), "
            "COALESCE(a.requester_may_approve, TRUE), i.domain, t.tool, t.summary, t.approval_id, i.update_time "
            "FROM tool_calls t JOIN interactions i ON i.interaction_id = t.interaction_id "
            "JOIN conversations v ON v.conversation_id = i.conversation_id "
            "LEFT JOIN approvals a ON a.approval_id = t.approval_id AND a.interaction_id = t.interaction_id "
            "WHERE t.outcome = 'unknown' AND t.effect IN ('change', 'external')"
        )
    )


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=False, server_default="")


def _create_waiting_index(name: str, table: str, columns: list[str], where: str) -> None:
    op.create_index(name, table, columns, sqlite_where=sa.text(where), postgresql_where=sa.text(where))


def _move_waiting_indexes() -> None:
    op.drop_index("clarifications_open", "clarifications")
    op.drop_index("approvals_open", "approvals")
    _create_waiting_index(
        "clarifications_waiting",
        "clarifications",
        ["tenant", "principal", "create_time", "clarification_id"],
        "status = 'open'",
    )
    _create_waiting_index(
        "clarifications_waiting_in",
        "clarifications",
        ["tenant", "principal", "conversation_id", "create_time", "clarification_id"],
        "status = 'open'",
    )
    _create_waiting_index("approvals_waiting", "approvals", ["tenant", "create_time", "approval_id"], "status = 'open'")
    _create_waiting_index(
        "approvals_waiting_in",
        "approvals",
        ["tenant", "conversation_id", "create_time", "approval_id"],
        "status = 'open'",
    )


def _conclude_approvals() -> None:
    """What came of the approvals that were approved before the table of their life had an end."""
    under = "t.interaction_id = approvals.interaction_id AND t.approval_id = approvals.approval_id"
    op.execute(
        sa.text(
            "UPDATE approvals SET tool_call_id = COALESCE((SELECT max(t.tool_call_id) FROM tool_calls t "
            f"WHERE {under} AND t.outcome <> ''), '') WHERE status = 'approved'"
        )
    )
    for status, outcome in (("executed", "succeeded"), ("stale", "blocked"), ("withdrawn", "failed")):
        op.execute(
            sa.text(
                f"UPDATE approvals SET status = '{status}' WHERE status = 'approved' AND EXISTS "
                f"(SELECT 1 FROM tool_calls t WHERE {under} AND t.outcome = '{outcome}')"
            )
        )
    op.execute(
        sa.text(
            "UPDATE interactions SET approved_id = COALESCE((SELECT max(a.approval_id) FROM approvals a "
            "WHERE a.interaction_id = interactions.interaction_id AND a.status = 'approved' "
            "AND a.tool_call_id = '' AND a.superseded_by = ''), '')"
        )
    )
    op.execute(
        sa.text(
            "UPDATE approvals SET status = 'withdrawn' WHERE status = 'approved' AND tool_call_id = '' "
            "AND NOT EXISTS (SELECT 1 FROM interactions i WHERE i.approved_id = approvals.approval_id "
            "AND i.state NOT IN ('completed', 'failed', 'blocked', 'canceled', 'superseded'))"
        )
    )

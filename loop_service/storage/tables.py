"""The Loop's tables (SQLAlchemy Core); made by migrations/, never at start. Times are microseconds since 1970, UTC.

Texts hold ids and names of states; `bytes` columns hold serialized protobuf messages exactly as they were received.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Index,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
)

metadata = MetaData()


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, default="", server_default="")


def _texts(*names: str) -> list[Column[str]]:
    return [_text(name) for name in names]


def _partial_index(name: str, where: ColumnElement[bool], *columns: Column[Any]) -> None:
    """An index of only those rows that `where` picks: what is over costs it nothing.

    The migration says the same for PostgreSQL; said here, it would import SQLAlchemy's PostgreSQL dialects at a start.
    """
    Index(name, *columns, sqlite_where=where)


def _number(name: str, default: int = 0) -> Column[int]:
    return Column(name, BigInteger, nullable=False, default=default, server_default=str(default))


def _time(name: str, *, nullable: bool = True) -> Column[int]:
    return Column(name, BigInteger, nullable=nullable)


def _bytes(name: str) -> Column[bytes]:
    return Column(name, LargeBinary, nullable=False, default=b"", server_default="")


# One row. `position` is handrail_storage.history's; `swept_history_id` is the history for which the interactions of
# lost ones were put to their end.
history = Table(
    "history",
    metadata,
    Column("history_id", Text, primary_key=True),
    _number("position"),
    _text("swept_history_id"),
)

conversations = Table(
    "conversations",
    metadata,
    Column("conversation_id", Text, primary_key=True),
    *_texts("tenant", "principal", "domain", "title", "labels"),
    _time("create_time", nullable=False),
    _text("active_interaction_id"),
    _number("last_sequence"),
    _number("audit_number"),
    _text("audit_hash"),
    _number("message_count"),
    *_texts("domain_session_id", "history_id", "unclosed_interaction_id", "loop_history_id"),
    _number("session_revision"),
    _text("divergence"),
    _number("first_sequence", 1),
    _time("oldest_event_time"),
    _text("deletion"),
    _time("delete_time"),
    _text("deleted_by"),
    # When to go on with a deletion that is not finished.
    _time("erase_due"),
    Index("conversations_by_owner", "tenant", "principal", "create_time", "conversation_id"),
)
_partial_index(
    "conversations_by_oldest_event",
    conversations.c.oldest_event_time.is_not(None),
    conversations.c.oldest_event_time,
)

_partial_index("conversations_by_erase_due", conversations.c.erase_due.is_not(None), conversations.c.erase_due)

requests = Table(
    "requests",
    metadata,
    *_texts(
        "tenant",
        "principal",
        "method",
        "request_id",
        "body_sha256",
        "conversation_id",
        "message_id",
        "interaction_id",
    ),
    _text("run_id"),
    _time("create_time", nullable=False),
    _number("event_sequence"),
    PrimaryKeyConstraint("tenant", "principal", "method", "request_id"),
)

messages = Table(
    "messages",
    metadata,
    Column("message_id", Text, primary_key=True),
    _text("conversation_id"),
    _number("position"),
    *_texts("role", "text", "interaction_id", "request_id", "run_id", "workspace_snapshot_id"),
    _bytes("facts"),
    _text("locale"),
    _text("roles"),
    _time("create_time", nullable=False),
    Index("messages_by_position", "conversation_id", "position", unique=True),
)

interactions = Table(
    "interactions",
    metadata,
    Column("interaction_id", Text, primary_key=True),
    *_texts("conversation_id", "domain", "principal", "tenant", "roles", "locale", "root_message_id", "state"),
    _number("plan_version"),
    _number("decision_number"),
    _number("observation_number"),
    _bytes("context"),
    _bytes("failure"),
    *_texts("supersedes", "superseded_by", "domain_session_id", "history_id", "owner"),
    _number("epoch"),
    _time("lease_until"),
    *_texts("active_run_id", "last_run_id", "stop_kind", "stop_code", "stop_reason", "stop_by"),
    _number("tool_actions"),
    _number("clarification_rounds"),
    _number("active_micros"),
    _number("generations"),
    _number("standing_decision"),
    *_texts("clarification_id", "approval_id", "approved_id"),
    _time("wait_until"),
    _text("wait_signal"),
    _number("settle_attempts"),
    _number("kept_signals"),
    _number("unclear_number"),
    _time("create_time", nullable=False),
    _time("update_time", nullable=False),
    _time("end_time"),
    Index("interactions_by_conversation", "conversation_id", "create_time"),
)

runs = Table(
    "runs",
    metadata,
    Column("run_id", Text, primary_key=True),
    *_texts("conversation_id", "interaction_id", "request_id", "state", "message_id", "approval_id", "resumed_run_id"),
    _number("first_sequence"),
    _text("ending"),
    _text("codes"),
    _number("generations"),
    _number("prompt_tokens"),
    _number("output_tokens"),
    _number("tool_actions"),
    *_texts("stage_seconds", "traceparent", "link_traceparent"),
    _number("attempts"),
    _time("not_before"),
    _time("create_time", nullable=False),
    _time("start_time"),
    _time("end_time"),
)
# Only what is still to be done is indexed: ended runs cost the claim nothing.
_partial_index("runs_to_do", runs.c.state != "ended", runs.c.create_time)
# Counted where no worker is free (admission); a run that is claimed at birth never enters it.
_partial_index("runs_queued", runs.c.state == "queued", runs.c.state)

# Signals that came before their interaction waited for them, oldest first by number; consumed once.
signals = Table(
    "signals",
    metadata,
    _text("interaction_id"),
    _number("number"),
    _text("name"),
    _bytes("payload"),
    _time("create_time", nullable=False),
    PrimaryKeyConstraint("interaction_id", "number"),
)

observations = Table(
    "observations",
    metadata,
    _text("interaction_id"),
    _number("number"),
    _number("base_plan_version"),
    *_texts("kind", "message_id", "run_id"),
    _bytes("data"),
    PrimaryKeyConstraint("interaction_id", "number"),
)

decisions = Table(
    "decisions",
    metadata,
    _text("interaction_id"),
    _number("number"),
    *_texts("decision_id", "kind", "run_id"),
    _bytes("data"),
    _time("create_time", nullable=False),
    PrimaryKeyConstraint("interaction_id", "number"),
)

tool_calls = Table(
    "tool_calls",
    metadata,
    _text("interaction_id"),
    _text("tool_call_id"),
    _number("decision_number"),
    _number("position"),
    _text("tool"),
    _text("effect"),
    Column("idempotent", Boolean, nullable=False),
    _text("approval_id"),
    _text("summary"),
    _number("dispatch_number"),
    _text("outcome"),
    _bytes("raw_outcome"),
    _bytes("step"),
    # The ids are the Adapter's: unique within its interaction, never compared with those of another Adapter.
    PrimaryKeyConstraint("interaction_id", "tool_call_id"),
    Index("tool_calls_by_interaction", "interaction_id", "decision_number", "position"),
)

inbox = Table(
    "inbox",
    metadata,
    _text("interaction_id"),
    _text("message_id"),
    _number("position"),
    PrimaryKeyConstraint("interaction_id", "message_id"),
)

clarifications = Table(
    "clarifications",
    metadata,
    Column("clarification_id", Text, primary_key=True),
    *_texts("interaction_id", "conversation_id", "task_id", "slot", "type"),
    _bytes("prompt"),
    _text("options"),
    Column("required", Boolean, nullable=False),
    _number("plan_version"),
    _number("decision_number"),
    *_texts("question_message_id", "answer_message_id", "status"),
    _time("create_time", nullable=False),
    _time("close_time"),
    *_texts("tenant", "principal", "domain"),
)
Index("clarifications_by_conversation", clarifications.c.conversation_id)
# What waits for a person is found by whom it waits for, or within a conversation; what is closed costs nothing.
_partial_index(
    "clarifications_waiting",
    clarifications.c.status == "open",
    clarifications.c.tenant,
    clarifications.c.principal,
    clarifications.c.create_time,
    clarifications.c.clarification_id,
)
_partial_index(
    "clarifications_waiting_in",
    clarifications.c.status == "open",
    clarifications.c.tenant,
    clarifications.c.principal,
    clarifications.c.conversation_id,
    clarifications.c.create_time,
    clarifications.c.clarification_id,
)

approvals = Table(
    "approvals",
    metadata,
    Column("approval_id", Text, primary_key=True),
    *_texts("interaction_id", "conversation_id", "tenant", "requester"),
    _bytes("snapshot"),
    *_texts("digest", "title", "input_preview", "change_ref", "required_role"),
    Column("requester_may_approve", Boolean, nullable=False),
    _text("tool"),
    _number("decision_number"),
    _text("status"),
    _text("resolved_by"),
    _time("resolve_time"),
    _text("run_id"),
    _text("superseded_by"),
    _time("create_time", nullable=False),
    _time("expire_time"),
    _text("domain"),
    _text("tool_call_id"),
    Index("approvals_by_interaction", "interaction_id", "decision_number"),
    Index("approvals_by_successor", "superseded_by"),
)
_partial_index(
    "approvals_waiting",
    approvals.c.status == "open",
    approvals.c.tenant,
    approvals.c.create_time,
    approvals.c.approval_id,
)
_partial_index(
    "approvals_waiting_in",
    approvals.c.status == "open",
    approvals.c.tenant,
    approvals.c.conversation_id,
    approvals.c.create_time,
    approvals.c.approval_id,
)

resolutions = Table(
    "resolutions",
    metadata,
    *_texts("approval_id", "verdict", "digest", "run_id", "resolved_by"),
    _time("create_time", nullable=False),
    PrimaryKeyConstraint("approval_id", "verdict", "digest"),
)

# Changes whose outcome is unknown, and how a person settled them; `verdict` is empty until then.
settlements = Table(
    "settlements",
    metadata,
    Column("settlement_id", Text, primary_key=True),
    *_texts("interaction_id", "tool_call_id", "conversation_id", "tenant", "requester", "required_role"),
    Column("requester_may_approve", Boolean, nullable=False),
    *_texts("domain", "tool", "summary", "approval_id", "verdict", "settled_by"),
    _time("settle_time"),
    *_texts("comment", "successor_interaction_id", "run_id"),
    _time("create_time", nullable=False),
    Index("settlements_by_call", "interaction_id", "tool_call_id", unique=True),
)
_partial_index(
    "settlements_waiting",
    settlements.c.verdict == "",
    settlements.c.tenant,
    settlements.c.create_time,
    settlements.c.settlement_id,
)
_partial_index(
    "settlements_waiting_in",
    settlements.c.verdict == "",
    settlements.c.tenant,
    settlements.c.conversation_id,
    settlements.c.create_time,
    settlements.c.settlement_id,
)

events = Table(
    "events",
    metadata,
    _text("conversation_id"),
    _number("sequence"),
    _text("run_id"),
    _text("name"),
    _bytes("data"),
    PrimaryKeyConstraint("conversation_id", "sequence"),
)

audit_events = Table(
    "audit_events",
    metadata,
    _text("conversation_id"),
    _number("number"),
    *_texts("interaction_id", "run_id", "kind", "actor"),
    _number("decision_number"),
    *_texts("decision_id", "digest", "code", "details"),
    _time("event_time", nullable=False),
    _text("hash"),
    _text("digest_scheme"),
    PrimaryKeyConstraint("conversation_id", "number"),
    Index("audit_events_by_interaction", "interaction_id", "number"),
)

timers = Table(
    "timers",
    metadata,
    _text("interaction_id"),
    _text("kind"),
    _time("due_time", nullable=False),
    _text("subject"),
    PrimaryKeyConstraint("interaction_id", "kind"),
    Index("timers_by_due_time", "due_time"),
)

"""The Loop's tables (SQLAlchemy Core); made by migrations/, never at start. Times are microseconds since 1970, UTC.

Texts hold ids and names of states; `bytes` columns hold serialized protobuf messages exactly as they were received.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
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


def _number(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False, default=0, server_default="0")


def _time(name: str, *, nullable: bool = True) -> Column[int]:
    return Column(name, BigInteger, nullable=nullable)


def _bytes(name: str) -> Column[bytes]:
    return Column(name, LargeBinary, nullable=False, default=b"", server_default="")


conversations = Table(
    "conversations",
    metadata,
    Column("conversation_id", Text, primary_key=True),
    _text("tenant"),
    _text("principal"),
    _text("domain"),
    _text("title"),
    _text("labels"),
    _time("create_time", nullable=False),
    _text("active_interaction_id"),
    _number("last_sequence"),
    _number("audit_number"),
    _text("audit_hash"),
    _number("message_count"),
    _text("domain_session_id"),
    _text("history_id"),
    _text("unclosed_interaction_id"),
    Index("conversations_by_owner", "tenant", "principal", "create_time", "conversation_id"),
)

requests = Table(
    "requests",
    metadata,
    _text("tenant"),
    _text("principal"),
    _text("method"),
    _text("request_id"),
    _text("body_sha256"),
    _text("conversation_id"),
    _text("message_id"),
    _text("interaction_id"),
    _text("run_id"),
    _time("create_time", nullable=False),
    PrimaryKeyConstraint("tenant", "principal", "method", "request_id"),
)

messages = Table(
    "messages",
    metadata,
    Column("message_id", Text, primary_key=True),
    _text("conversation_id"),
    _number("position"),
    _text("role"),
    _text("text"),
    _text("interaction_id"),
    _text("request_id"),
    _text("run_id"),
    _text("workspace_snapshot_id"),
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
    _text("conversation_id"),
    _text("domain"),
    _text("principal"),
    _text("tenant"),
    _text("roles"),
    _text("locale"),
    _text("root_message_id"),
    _text("state"),
    _number("plan_version"),
    _number("decision_number"),
    _number("observation_number"),
    _bytes("context"),
    _bytes("failure"),
    _text("supersedes"),
    _text("superseded_by"),
    _text("domain_session_id"),
    _text("history_id"),
    _text("owner"),
    _number("epoch"),
    _time("lease_until"),
    _text("active_run_id"),
    _text("last_run_id"),
    _text("stop_kind"),
    _text("stop_code"),
    _text("stop_reason"),
    _text("stop_by"),
    _number("tool_actions"),
    _number("clarification_rounds"),
    _number("active_micros"),
    _number("generations"),
    _number("standing_decision"),
    _text("clarification_id"),
    _text("approval_id"),
    _time("wait_until"),
    _text("wait_signal"),
    _number("settle_attempts"),
    _time("create_time", nullable=False),
    _time("update_time", nullable=False),
    _time("end_time"),
    Index("interactions_by_conversation", "conversation_id", "create_time"),
)

runs = Table(
    "runs",
    metadata,
    Column("run_id", Text, primary_key=True),
    _text("conversation_id"),
    _text("interaction_id"),
    _text("request_id"),
    _text("state"),
    _text("message_id"),
    _text("approval_id"),
    _text("resumed_run_id"),
    _number("first_sequence"),
    _text("ending"),
    _text("codes"),
    _number("generations"),
    _number("prompt_tokens"),
    _number("output_tokens"),
    _number("tool_actions"),
    _text("stage_seconds"),
    _text("traceparent"),
    _text("link_traceparent"),
    _number("attempts"),
    _time("not_before"),
    _time("create_time", nullable=False),
    _time("start_time"),
    _time("end_time"),
)
# Only what is still to be done is indexed: ended runs cost the claim nothing.
Index(
    "runs_to_do",
    runs.c.create_time,
    sqlite_where=runs.c.state != "ended",
    postgresql_where=runs.c.state != "ended",
)

observations = Table(
    "observations",
    metadata,
    _text("interaction_id"),
    _number("number"),
    _number("base_plan_version"),
    _text("kind"),
    _text("message_id"),
    _text("run_id"),
    _bytes("data"),
    PrimaryKeyConstraint("interaction_id", "number"),
)

decisions = Table(
    "decisions",
    metadata,
    _text("interaction_id"),
    _number("number"),
    _text("decision_id"),
    _text("kind"),
    _text("run_id"),
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
    _text("interaction_id"),
    _text("conversation_id"),
    _text("task_id"),
    _text("slot"),
    _text("type"),
    _bytes("prompt"),
    _text("options"),
    Column("required", Boolean, nullable=False),
    _number("plan_version"),
    _number("decision_number"),
    _text("question_message_id"),
    _text("answer_message_id"),
    _text("status"),
    _time("create_time", nullable=False),
    _time("close_time"),
)
Index(
    "clarifications_open",
    clarifications.c.create_time,
    sqlite_where=clarifications.c.status == "open",
    postgresql_where=clarifications.c.status == "open",
)

approvals = Table(
    "approvals",
    metadata,
    Column("approval_id", Text, primary_key=True),
    _text("interaction_id"),
    _text("conversation_id"),
    _text("tenant"),
    _text("requester"),
    _bytes("snapshot"),
    _text("digest"),
    _text("title"),
    _text("input_preview"),
    _text("change_ref"),
    _text("required_role"),
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
    Index("approvals_by_interaction", "interaction_id", "decision_number"),
    Index("approvals_by_successor", "superseded_by"),
)
Index(
    "approvals_open",
    approvals.c.create_time,
    sqlite_where=approvals.c.status == "open",
    postgresql_where=approvals.c.status == "open",
)

resolutions = Table(
    "resolutions",
    metadata,
    _text("approval_id"),
    _text("verdict"),
    _text("digest"),
    _text("run_id"),
    _text("resolved_by"),
    _time("create_time", nullable=False),
    PrimaryKeyConstraint("approval_id", "verdict", "digest"),
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
    _text("interaction_id"),
    _text("run_id"),
    _text("kind"),
    _text("actor"),
    _number("decision_number"),
    _text("decision_id"),
    _text("digest"),
    _text("code"),
    _text("details"),
    _time("event_time", nullable=False),
    _text("hash"),
    PrimaryKeyConstraint("conversation_id", "number"),
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

"""The Adapter's first schema. Applied by `python -m adapter_service migrate`, `handrail migrate`, `up` and `demo`."""

from __future__ import annotations

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create every table, and the history id of this database."""
    op.create_table(
        "contents",
        sa.Column("sha256", sa.String(), primary_key=True),
        sa.Column("data", sa.LargeBinary(), nullable=False),
    )
    op.create_table(
        "history",
        sa.Column("history_id", sa.String(), primary_key=True),
    )
    op.create_table(
        "sessions",
        sa.Column("domain_session_id", sa.String(), primary_key=True),
        sa.Column("domain", sa.String(), nullable=False),
        sa.Column("conversation_id", sa.String(), nullable=False, unique=True),
        sa.Column("create_time", sa.Integer(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("referents", sa.Text(), nullable=False),
    )
    op.create_table(
        "validations",
        sa.Column("validation_id", sa.Integer(), primary_key=True, autoincrement=True),
        sa.Column("artifact_id", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("passed", sa.Boolean(), nullable=False),
        sa.Column("findings", sa.Text(), nullable=False),
        sa.Column("tool_call_id", sa.String(), nullable=False),
        sa.Column("create_time", sa.Integer(), nullable=False),
    )
    op.create_index("validations_by_version", "validations", ["artifact_id", "version", "validation_id"])
    op.create_table(
        "versions",
        sa.Column("domain", sa.String(), primary_key=True),
        sa.Column("kind", sa.String(), primary_key=True),
        sa.Column("name", sa.String(), primary_key=True),
        sa.Column("version", sa.Integer(), nullable=False),
    )
    op.create_table(
        "artifacts",
        sa.Column("sequence", sa.Integer(), primary_key=True, autoincrement=True),
        sa.Column("artifact_id", sa.String(), nullable=False, unique=True),
        sa.Column("domain_session_id", sa.String(), sa.ForeignKey("sessions.domain_session_id"), nullable=False),
        sa.Column("conversation_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("latest_version", sa.Integer(), nullable=False),
        sa.Column("change_sequence", sa.Integer(), nullable=False),
    )
    op.create_index("artifacts_by_conversation", "artifacts", ["conversation_id", "sequence"])
    op.create_index("artifacts_by_session", "artifacts", ["domain_session_id", "change_sequence"])
    op.create_table(
        "facts",
        sa.Column("domain_session_id", sa.String(), sa.ForeignKey("sessions.domain_session_id"), primary_key=True),
        sa.Column("name", sa.String(), primary_key=True),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("observed_time", sa.Integer()),
        sa.Column("receive_time", sa.Integer(), nullable=False),
    )
    op.create_table(
        "interactions",
        sa.Column("interaction_id", sa.String(), primary_key=True),
        sa.Column("domain_session_id", sa.String(), sa.ForeignKey("sessions.domain_session_id"), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("closed", sa.Boolean(), nullable=False),
        sa.Column("decision_number", sa.Integer(), nullable=False),
        sa.Column("plan_version", sa.Integer(), nullable=False),
        sa.Column("create_time", sa.Integer(), nullable=False),
    )
    op.create_index("interactions_by_session", "interactions", ["domain_session_id", "create_time"])
    op.create_table(
        "approvals",
        sa.Column("digest", sa.String(), primary_key=True),
        sa.Column("interaction_id", sa.String(), sa.ForeignKey("interactions.interaction_id"), nullable=False),
        sa.Column("decision_number", sa.Integer(), nullable=False),
        sa.Column("task_id", sa.String(), nullable=False),
        sa.Column("snapshot", sa.Text(), nullable=False),
        sa.Column("idempotency_key", sa.String(), nullable=False, unique=True),
        sa.Column("input_bytes", sa.LargeBinary(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("approval_id", sa.String(), nullable=False),
        sa.Column("resolved_by", sa.String(), nullable=False),
    )
    op.create_table(
        "artifact_versions",
        sa.Column("artifact_id", sa.String(), sa.ForeignKey("artifacts.artifact_id"), primary_key=True),
        sa.Column("version", sa.Integer(), primary_key=True),
        sa.Column("sha256", sa.String(), sa.ForeignKey("contents.sha256"), nullable=False),
        sa.Column("media_type", sa.String(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("size_bytes", sa.Integer(), nullable=False),
        sa.Column("tool_call_id", sa.String(), nullable=False),
        sa.Column("tool", sa.String(), nullable=False),
        sa.Column("input_sha256", sa.String(), nullable=False),
        sa.Column("sources", sa.Text(), nullable=False),
        sa.Column("settled_by", sa.String(), nullable=False),
        sa.Column("create_time", sa.Integer(), nullable=False),
    )
    op.create_index("artifact_versions_by_call", "artifact_versions", ["tool_call_id"])
    op.create_table(
        "candidates",
        sa.Column("interaction_id", sa.String(), sa.ForeignKey("interactions.interaction_id"), primary_key=True),
        sa.Column("decision_number", sa.Integer(), primary_key=True),
        sa.Column("position", sa.Integer(), primary_key=True),
        sa.Column("candidate_id", sa.String(), nullable=False, unique=True),
        sa.Column("identity", sa.String(), nullable=False),
        sa.Column("display_name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
    )
    op.create_table(
        "decisions",
        sa.Column("interaction_id", sa.String(), sa.ForeignKey("interactions.interaction_id"), primary_key=True),
        sa.Column("decision_number", sa.Integer(), primary_key=True),
        sa.Column("decision_id", sa.String(), nullable=False, unique=True),
        sa.Column("base_plan_version", sa.Integer(), nullable=False),
        sa.Column("observation", sa.LargeBinary(), nullable=False),
        sa.Column("decision", sa.LargeBinary(), nullable=False),
        sa.Column("create_time", sa.Integer(), nullable=False),
    )
    op.create_table(
        "plans",
        sa.Column("interaction_id", sa.String(), sa.ForeignKey("interactions.interaction_id"), primary_key=True),
        sa.Column("plan_version", sa.Integer(), primary_key=True),
        sa.Column("body", sa.Text(), nullable=False),
    )
    op.create_table(
        "tool_calls",
        sa.Column("tool_call_id", sa.String(), primary_key=True),
        sa.Column("interaction_id", sa.String(), sa.ForeignKey("interactions.interaction_id"), nullable=False),
        sa.Column("decision_number", sa.Integer(), nullable=False),
        sa.Column("task_id", sa.String(), nullable=False),
        sa.Column("tool", sa.String(), nullable=False),
        sa.Column("tool_version", sa.Integer(), nullable=False),
        sa.Column("effect", sa.String(), nullable=False),
        sa.Column("idempotent", sa.Boolean(), nullable=False),
        sa.Column("idempotency_key", sa.String(), nullable=False),
        sa.Column("input_bytes", sa.LargeBinary(), nullable=False),
        sa.Column("input_sha256", sa.String(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("timeout_microseconds", sa.Integer(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("approval_id", sa.String(), nullable=False),
        sa.Column("approval_digest", sa.String(), nullable=False),
    )
    op.create_table(
        "executions",
        sa.Column("tool_call_id", sa.String(), sa.ForeignKey("tool_calls.tool_call_id"), primary_key=True),
        sa.Column("execution_id", sa.String(), nullable=False, unique=True),
        sa.Column("interaction_id", sa.String(), nullable=False),
        sa.Column("domain", sa.String(), nullable=False),
        sa.Column("idempotency_key", sa.String(), nullable=False),
        sa.Column("tool", sa.String(), nullable=False),
        sa.Column("effect", sa.String(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("lease_until", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.LargeBinary(), nullable=False),
        sa.Column("result_sha256", sa.String(), nullable=False),
        sa.Column("trouble", sa.Text(), nullable=False),
        sa.Column("claim_time", sa.Integer(), nullable=False),
        sa.Column("finish_time", sa.Integer()),
    )
    op.create_index("executions_by_interaction", "executions", ["interaction_id"])
    op.create_index(
        "executions_by_key", "executions", ["idempotency_key"], unique=True, sqlite_where=sa.text("state != 'blocked'")
    )
    op.create_index("executions_unsettled", "executions", ["state", "domain", "target"])
    history = sa.table("history", sa.column("history_id"))
    op.execute(history.insert().values(history_id=f"his_{secrets.token_hex(12)}"))

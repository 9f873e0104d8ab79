"""Workspaces of conversations, and where each artifact version comes from."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add what the new tables and columns are for."""
    _workspaces()
    _provenance()
    _retention()


def _workspaces() -> None:
    op.add_column("interactions", sa.Column("workspace_sha256", sa.String(), nullable=False, server_default=""))
    op.add_column("executions", sa.Column("workspace_sha256", sa.String(), nullable=False, server_default=""))
    op.create_table(
        "session_workspaces",
        _session(),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("snapshot_id", sa.String(), nullable=False),
        sa.Column("documentation_version", sa.Text(), nullable=False),
        sa.Column("file_count", sa.Integer(), nullable=False),
        sa.Column("size_bytes", sa.Integer(), nullable=False),
        sa.Column("create_time", sa.Integer(), nullable=False),
    )
    op.create_table(
        "workspace_snapshots",
        sa.Column("snapshot_id", sa.String(), primary_key=True),
        sa.Column("domain_session_id", sa.String(), sa.ForeignKey("sessions.domain_session_id"), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("file_count", sa.Integer(), nullable=False),
        sa.Column("size_bytes", sa.Integer(), nullable=False),
        sa.Column("create_time", sa.Integer(), nullable=False),
        sa.Column("files", sa.LargeBinary(), nullable=True),
    )
    op.create_index(
        "workspace_snapshots_by_session", "workspace_snapshots", ["domain_session_id", "number"], unique=True
    )
    op.create_table(
        "workspace_contents",
        _session(),
        sa.Column("sha256", sa.String(), primary_key=True),
        sa.Column("size_bytes", sa.Integer(), nullable=False),
        sa.Column("expire_time", sa.Integer(), nullable=True),
        sa.Column("data", sa.LargeBinary(), nullable=False),
    )
    op.create_index(
        "workspace_contents_by_session",
        "workspace_contents",
        ["domain_session_id", "size_bytes", "expire_time", "sha256"],
    )
    op.create_index(
        "workspace_contents_expiring",
        "workspace_contents",
        ["expire_time"],
        sqlite_where=sa.text("expire_time IS NOT NULL"),
    )
    op.create_table(
        "workspace_requests",
        _session(),
        sa.Column("request_id", sa.String(), primary_key=True),
        sa.Column("body_sha256", sa.String(), nullable=False),
        sa.Column("answer", sa.LargeBinary(), nullable=False),
        sa.Column("expire_time", sa.Integer(), nullable=False),
    )
    op.create_index("workspace_requests_expiring", "workspace_requests", ["expire_time"])


def _session() -> sa.Column[str]:
    return sa.Column("domain_session_id", sa.String(), sa.ForeignKey("sessions.domain_session_id"), primary_key=True)


def _provenance() -> None:
    op.add_column("artifact_versions", sa.Column("data_scope", sa.Text(), nullable=False, server_default=""))
    op.add_column("artifact_versions", sa.Column("input_artifacts", sa.Text(), nullable=False, server_default="[]"))
    op.add_column("artifact_versions", sa.Column("workspace_sha256", sa.String(), nullable=False, server_default=""))


def _retention() -> None:
    op.create_index("artifact_versions_by_time", "artifact_versions", ["create_time"])
    op.create_table(
        "removed_versions",
        sa.Column("artifact_id", sa.String(), sa.ForeignKey("artifacts.artifact_id"), primary_key=True),
        sa.Column("version", sa.Integer(), primary_key=True),
        sa.Column("remove_time", sa.Integer(), nullable=False),
    )

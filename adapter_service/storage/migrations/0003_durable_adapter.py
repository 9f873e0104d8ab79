"""What the durable Loop needs of the Adapter: settled executions, erased sessions, a history that restores renew."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the columns and tables; every new column has a default that fits the rows that are there."""
    op.add_column("history", sa.Column("position", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("sessions", sa.Column("acknowledged_revision", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("executions", sa.Column("settled_by", sa.String(), nullable=False, server_default=""))
    op.add_column("executions", sa.Column("settle_time", sa.Integer(), nullable=True))
    op.add_column("executions", sa.Column("settle_comment", sa.Text(), nullable=False, server_default=""))
    op.add_column("validations", sa.Column("reads", sa.Text(), nullable=False, server_default="[]"))
    op.add_column("interactions", sa.Column("plan", sa.Text(), nullable=False, server_default=""))
    # Only the newest plan of an interaction is ever read.
    op.execute(
        "UPDATE interactions SET plan = coalesce((SELECT body FROM plans"
        " WHERE plans.interaction_id = interactions.interaction_id"
        " AND plans.plan_version = interactions.plan_version), '')"
    )
    op.drop_table("plans")
    op.add_column("sessions", sa.Column("erase_time", sa.Integer(), nullable=True))
    op.create_index(
        "executions_by_result", "executions", ["result_sha256"], sqlite_where=sa.text("result_sha256 != ''")
    )
    op.create_index("artifact_versions_by_content", "artifact_versions", ["sha256"])

"""An index for the claim's question whether a key was used in any state; the unique one leaves blocked calls out."""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create the index."""
    op.create_index("executions_by_any_key", "executions", ["idempotency_key"])

"""Tables of the Adapter's database (SQLAlchemy Core). The migration 0001 creates exactly these; a test compares them.

Times are integer microseconds since 1970 UTC. Ledger rows, tombstones and approvals are never deleted.
"""

from __future__ import annotations

from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, LargeBinary, MetaData, String, Table, Text

METADATA = MetaData()

# One row; `position` is handrail_storage.history's.
history = Table(
    "history",
    METADATA,
    Column("history_id", String, primary_key=True),
    Column("position", Integer, nullable=False, server_default="0"),
)

# Monotone rows: a process whose own version differs refuses to claim (soundness.md, Further rules).
versions = Table(
    "versions",
    METADATA,
    Column("domain", String, primary_key=True),
    Column("kind", String, primary_key=True),  # policy or tool
    Column("name", String, primary_key=True),
    Column("version", Integer, nullable=False),
)

sessions = Table(
    "sessions",
    METADATA,
    Column("domain_session_id", String, primary_key=True),
    Column("domain", String, nullable=False),
    Column("conversation_id", String, nullable=False, unique=True),
    Column("create_time", Integer, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("referents", Text, nullable=False),
    Column("acknowledged_revision", Integer, nullable=False, server_default="0"),
    # When the content was erased; the row stays, so that nothing of the conversation begins again.
    Column("erase_time", Integer),
)

facts = Table(
    "facts",
    METADATA,
    Column("domain_session_id", String, ForeignKey("sessions.domain_session_id"), primary_key=True),
    Column("name", String, primary_key=True),
    Column("value", Text, nullable=False),
    Column("source", String, nullable=False),
    Column("scope", String, nullable=False),
    Column("observed_time", Integer),
    Column("receive_time", Integer, nullable=False),
)

interactions = Table(
    "interactions",
    METADATA,
    Column("interaction_id", String, primary_key=True),
    Column("domain_session_id", String, ForeignKey("sessions.domain_session_id"), nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("closed", Boolean, nullable=False),
    Column("decision_number", Integer, nullable=False),
    Column("plan_version", Integer, nullable=False),
    Column("create_time", Integer, nullable=False),
    # The plan at plan_version (storage.plan_codec); earlier ones are not kept, the decisions tell what happened.
    Column("plan", Text, nullable=False, default="", server_default=""),
    # The hash of the workspace that the newest decision was made in; empty where the domain uses none.
    Column("workspace_sha256", String, nullable=False, default="", server_default=""),
)
Index("interactions_by_session", interactions.c.domain_session_id, interactions.c.create_time)

decisions = Table(
    "decisions",
    METADATA,
    Column("interaction_id", String, ForeignKey("interactions.interaction_id"), primary_key=True),
    Column("decision_number", Integer, primary_key=True),
    Column("decision_id", String, nullable=False, unique=True),
    Column("base_plan_version", Integer, nullable=False),
    Column("observation", LargeBinary, nullable=False),
    Column("decision", LargeBinary, nullable=False),
    Column("create_time", Integer, nullable=False),
)

candidates = Table(
    "candidates",
    METADATA,
    Column("interaction_id", String, ForeignKey("interactions.interaction_id"), primary_key=True),
    Column("decision_number", Integer, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("candidate_id", String, nullable=False, unique=True),
    Column("identity", String, nullable=False),
    Column("display_name", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("value", Text, nullable=False),
)

# Results, artifact contents and tool inputs by their hash; equal bytes are stored once.
contents = Table(
    "contents", METADATA, Column("sha256", String, primary_key=True), Column("data", LargeBinary, nullable=False)
)

tool_calls = Table(
    "tool_calls",
    METADATA,
    Column("tool_call_id", String, primary_key=True),
    Column("interaction_id", String, ForeignKey("interactions.interaction_id"), nullable=False),
    Column("decision_number", Integer, nullable=False),
    Column("task_id", String, nullable=False),
    Column("tool", String, nullable=False),
    Column("tool_version", Integer, nullable=False),
    Column("effect", String, nullable=False),
    Column("idempotent", Boolean, nullable=False),
    Column("idempotency_key", String, nullable=False),
    Column("input_bytes", LargeBinary, nullable=False),
    Column("input_sha256", String, nullable=False),
    Column("target", Text, nullable=False),
    Column("timeout_microseconds", Integer, nullable=False),
    Column("summary", Text, nullable=False),
    Column("approval_id", String, nullable=False),
    Column("approval_digest", String, nullable=False),
)

approvals = Table(
    "approvals",
    METADATA,
    Column("digest", String, primary_key=True),
    Column("interaction_id", String, ForeignKey("interactions.interaction_id"), nullable=False),
    Column("decision_number", Integer, nullable=False),
    Column("task_id", String, nullable=False),
    Column("snapshot", Text, nullable=False),
    Column("idempotency_key", String, nullable=False, unique=True),
    Column("input_bytes", LargeBinary, nullable=False),
    Column("state", String, nullable=False),
    Column("approval_id", String, nullable=False),
    Column("resolved_by", String, nullable=False),
)

executions = Table(
    "executions",
    METADATA,
    Column("tool_call_id", String, ForeignKey("tool_calls.tool_call_id"), primary_key=True),
    Column("execution_id", String, nullable=False, unique=True),
    Column("interaction_id", String, nullable=False),
    Column("domain", String, nullable=False),
    Column("idempotency_key", String, nullable=False),
    Column("tool", String, nullable=False),
    Column("effect", String, nullable=False),
    Column("target", Text, nullable=False),
    Column("state", String, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("owner", String, nullable=False),
    Column("lease_until", Integer, nullable=False),
    Column("outcome", LargeBinary, nullable=False),
    Column("result_sha256", String, nullable=False),
    Column("trouble", Text, nullable=False),  # JSON of domain.ledger.Trouble; empty where there was none
    Column("claim_time", Integer, nullable=False),
    Column("finish_time", Integer),
    # A person's verdict on an unknown outcome; empty where there was none.
    Column("settled_by", String, nullable=False, default="", server_default=""),
    Column("settle_time", Integer),
    Column("settle_comment", Text, nullable=False, default="", server_default=""),
    # The hash of the workspace that a successful call saw; empty where it saw none.
    Column("workspace_sha256", String, nullable=False, default="", server_default=""),
)
# A key executes at most once (E4); a blocked call may name a key that another call has used.
Index(
    "executions_by_key",
    executions.c.idempotency_key,
    unique=True,
    sqlite_where=executions.c.state != "blocked",
)
# The claim asks for a key in any state, which the partial index above cannot answer.
Index("executions_by_any_key", executions.c.idempotency_key)
Index("executions_by_interaction", executions.c.interaction_id)
# Erasing a session asks whether another one still has a content.
Index(
    "executions_by_result",
    executions.c.result_sha256,
    sqlite_where=executions.c.result_sha256 != "",
)
Index("executions_unsettled", executions.c.state, executions.c.domain, executions.c.target)

artifacts = Table(
    "artifacts",
    METADATA,
    Column("sequence", Integer, primary_key=True, autoincrement=True),
    Column("artifact_id", String, nullable=False, unique=True),
    Column("domain_session_id", String, ForeignKey("sessions.domain_session_id"), nullable=False),
    Column("conversation_id", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("latest_version", Integer, nullable=False),
    Column("change_sequence", Integer, nullable=False),
)
Index("artifacts_by_conversation", artifacts.c.conversation_id, artifacts.c.sequence)
Index("artifacts_by_session", artifacts.c.domain_session_id, artifacts.c.change_sequence)

artifact_versions = Table(
    "artifact_versions",
    METADATA,
    Column("artifact_id", String, ForeignKey("artifacts.artifact_id"), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("sha256", String, ForeignKey("contents.sha256"), nullable=False),
    Column("media_type", String, nullable=False),
    Column("title", Text, nullable=False),
    Column("size_bytes", Integer, nullable=False),
    Column("tool_call_id", String, nullable=False),
    Column("tool", String, nullable=False),
    Column("input_sha256", String, nullable=False),
    Column("sources", Text, nullable=False),
    Column("settled_by", String, nullable=False),
    Column("create_time", Integer, nullable=False),
    # Where it comes from, besides the call and its sources.
    Column("data_scope", Text, nullable=False, default="", server_default=""),
    Column("input_artifacts", Text, nullable=False, default="[]", server_default="[]"),  # JSON of [id, version, sha256]
    Column("workspace_sha256", String, nullable=False, default="", server_default=""),
)

Index("artifact_versions_by_call", artifact_versions.c.tool_call_id)
Index("artifact_versions_by_content", artifact_versions.c.sha256)
Index("artifact_versions_by_time", artifact_versions.c.create_time)

# Versions that retention removed: a reader is told so.
removed_versions = Table(
    "removed_versions",
    METADATA,
    Column("artifact_id", String, ForeignKey("artifacts.artifact_id"), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("remove_time", Integer, nullable=False),
)

validations = Table(
    "validations",
    METADATA,
    Column("validation_id", Integer, primary_key=True, autoincrement=True),
    Column("artifact_id", String, nullable=False),
    Column("version", Integer, nullable=False),
    Column("sha256", String, nullable=False),
    Column("passed", Boolean, nullable=False),
    Column("findings", Text, nullable=False),
    Column("tool_call_id", String, nullable=False),
    Column("create_time", Integer, nullable=False),
    Column("reads", Text, nullable=False, default="[]", server_default="[]"),  # JSON of domain.artifact.Read
)
Index("validations_by_version", validations.c.artifact_id, validations.c.version, validations.c.validation_id)

# What the workspace of a session is at, as its newest decision or upload has it.
session_workspaces = Table(
    "session_workspaces",
    METADATA,
    Column("domain_session_id", String, ForeignKey("sessions.domain_session_id"), primary_key=True),
    Column("generation", Integer, nullable=False),
    Column("sha256", String, nullable=False),
    Column("source", String, nullable=False),
    Column("snapshot_id", String, nullable=False),
    Column("documentation_version", Text, nullable=False),
    Column("file_count", Integer, nullable=False),
    Column("size_bytes", Integer, nullable=False),
    Column("create_time", Integer, nullable=False),
)

workspace_snapshots = Table(
    "workspace_snapshots",
    METADATA,
    Column("snapshot_id", String, primary_key=True),
    Column("domain_session_id", String, ForeignKey("sessions.domain_session_id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("sha256", String, nullable=False),
    Column("file_count", Integer, nullable=False),
    Column("size_bytes", Integer, nullable=False),
    Column("create_time", Integer, nullable=False),
    # JSON of [path, sha256, size] in the order of paths, compressed; only the newest one's is kept.
    Column("files", LargeBinary),
)
Index(
    "workspace_snapshots_by_session",
    workspace_snapshots.c.domain_session_id,
    workspace_snapshots.c.number,
    unique=True,
)

# Bytes that a conversation uploaded or published, by their hash. A conversation's own, so that naming a hash never
# gives what only another one has.
workspace_contents = Table(
    "workspace_contents",
    METADATA,
    Column("domain_session_id", String, ForeignKey("sessions.domain_session_id"), primary_key=True),
    Column("sha256", String, primary_key=True),
    Column("size_bytes", Integer, nullable=False),
    # When it is dropped; null while the newest snapshot has it.
    Column("expire_time", Integer),
    Column("data", LargeBinary, nullable=False),
)
# Answers without the rows, whose bytes are long, what a conversation has and how much that is.
Index(
    "workspace_contents_by_session",
    workspace_contents.c.domain_session_id,
    workspace_contents.c.size_bytes,
    workspace_contents.c.expire_time,
    workspace_contents.c.sha256,
)
Index(
    "workspace_contents_expiring",
    workspace_contents.c.expire_time,
    sqlite_where=workspace_contents.c.expire_time.is_not(None),
)

# Steps of uploads that were answered: a repetition gets the same answer.
workspace_requests = Table(
    "workspace_requests",
    METADATA,
    Column("domain_session_id", String, ForeignKey("sessions.domain_session_id"), primary_key=True),
    Column("request_id", String, primary_key=True),
    Column("body_sha256", String, nullable=False),
    Column("answer", LargeBinary, nullable=False),
    Column("expire_time", Integer, nullable=False),
)
Index("workspace_requests_expiring", workspace_requests.c.expire_time)

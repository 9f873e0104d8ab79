"""Erases the content of a session in SQL; keys, states and hashes of the ledger and tombstones stay. Implements
application.ports.Erasure.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import (
    BindParameter,
    ColumnClause,
    Connection,
    bindparam,
    delete,
    exists,
    literal_column,
    select,
    union,
    update,
)

from adapter_service.storage.tables import (
    approvals,
    artifact_versions,
    artifacts,
    candidates,
    contents,
    decisions,
    executions,
    facts,
    interactions,
    removed_versions,
    sessions,
    tool_calls,
    validations,
)
from adapter_service.storage.times import to_microseconds
from adapter_service.storage.workspace_store import ERASE as _ERASE_WORKSPACES
from handrail_storage import Statement

_SESSION: BindParameter[str] = bindparam("session")
_NOTHING: ColumnClause[str] = literal_column("''")  # a bound value could not be answered by the partial index
_INTERACTIONS = select(interactions.c.interaction_id).where(interactions.c.domain_session_id == _SESSION)
_ARTIFACTS = select(artifacts.c.artifact_id).where(artifacts.c.domain_session_id == _SESSION)
_EXECUTIONS = Statement(select(executions.c.tool_call_id).where(executions.c.interaction_id.in_(_INTERACTIONS)))
# Equal bytes are stored once: what was referred to here may be another session's, too.
_REFERRED = Statement(
    union(
        select(executions.c.result_sha256.label("sha256")).where(
            executions.c.interaction_id.in_(_INTERACTIONS), executions.c.result_sha256 != _NOTHING
        ),
        select(artifact_versions.c.sha256).where(artifact_versions.c.artifact_id.in_(_ARTIFACTS)),
    )
)
_DROP_CONTENT = Statement(
    delete(contents).where(
        contents.c.sha256 == bindparam("sha256"),
        ~exists().where(
            executions.c.result_sha256 == bindparam("sha256"),
            executions.c.result_sha256 != _NOTHING,
            executions.c.interaction_id == interactions.c.interaction_id,
            interactions.c.domain_session_id == sessions.c.domain_session_id,
            sessions.c.domain_session_id != _SESSION,
            sessions.c.erase_time.is_(None),  # an erased session's ledger names contents that it needs no more
        ),
        ~exists().where(artifact_versions.c.sha256 == bindparam("sha256")),
    )
)
_ERASE = (
    Statement(delete(facts).where(facts.c.domain_session_id == _SESSION)),
    Statement(delete(candidates).where(candidates.c.interaction_id.in_(_INTERACTIONS))),
    Statement(delete(decisions).where(decisions.c.interaction_id.in_(_INTERACTIONS))),
    Statement(update(interactions).where(interactions.c.domain_session_id == _SESSION).values(closed=True, plan="")),
    Statement(
        update(tool_calls)
        .where(tool_calls.c.interaction_id.in_(_INTERACTIONS))
        .values(input_bytes=b"", target="", summary="")
    ),
    Statement(update(approvals).where(approvals.c.interaction_id.in_(_INTERACTIONS)).values(input_bytes=b"")),
    Statement(
        update(executions)
        .where(executions.c.interaction_id.in_(_INTERACTIONS))
        .values(target="", outcome=b"", trouble="", settle_comment="")
    ),
    Statement(delete(validations).where(validations.c.artifact_id.in_(_ARTIFACTS))),
    Statement(delete(artifact_versions).where(artifact_versions.c.artifact_id.in_(_ARTIFACTS))),
    Statement(delete(removed_versions).where(removed_versions.c.artifact_id.in_(_ARTIFACTS))),
    Statement(delete(artifacts).where(artifacts.c.domain_session_id == _SESSION)),
    *_ERASE_WORKSPACES,
)
_MARK = Statement(
    update(sessions)
    .where(sessions.c.domain_session_id == _SESSION, sessions.c.erase_time.is_(None))
    .values(erase_time=bindparam("now"), referents="[]")
)


class SqlErasure:
    """One transaction's view."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def begun_calls(self, domain_session_id: str) -> tuple[str, ...]:
        """Ids of the session's calls that have a ledger row."""
        return tuple(_EXECUTIONS.scalars(self._connection, {"session": domain_session_id}))

    def erase(self, domain_session_id: str, now: datetime) -> None:
        """Erase everything but ids, keys, states, hashes and tombstones, which every interaction gets."""
        key = {"session": domain_session_id}
        referred = _REFERRED.scalars(self._connection, key)
        for statement in _ERASE:
            statement.execute(self._connection, key)
        for sha256 in referred:
            _DROP_CONTENT.execute(self._connection, {**key, "sha256": sha256})
        _MARK.execute(self._connection, {**key, "now": to_microseconds(now)})

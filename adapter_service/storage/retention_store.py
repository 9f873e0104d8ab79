"""Old artifact versions in SQL: finding them by age, what may still name them, removing one with its content.

Implements application.ports.Retention.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ColumnClause, Connection, bindparam, delete, exists, func, insert, literal_column, select, tuple_

from adapter_service.application.ports import OldVersion, VersionCursor
from adapter_service.domain.artifact import ArtifactVersion
from adapter_service.domain.ledger import ExecutionState
from adapter_service.domain.plan import Plan
from adapter_service.domain.session import Interaction
from adapter_service.storage.artifact_store import VERSIONS, read_version
from adapter_service.storage.interaction_store import INTERACTION_COLUMNS, read_interaction
from adapter_service.storage.plan_codec import decode_plan
from adapter_service.storage.tables import (
    artifact_versions,
    contents,
    executions,
    interactions,
    removed_versions,
    validations,
)
from adapter_service.storage.times import to_microseconds
from handrail_storage import Statement

_ORDER = (artifact_versions.c.create_time, artifact_versions.c.artifact_id, artifact_versions.c.version)
_OLDER = Statement(
    VERSIONS.where(
        artifact_versions.c.create_time < bindparam("before"),
        # What the index answers, and of equal times those that come after.
        artifact_versions.c.create_time >= bindparam("time"),
        tuple_(*_ORDER) > tuple_(bindparam("time"), bindparam("artifact"), bindparam("version")),
    )
    .order_by(*_ORDER)
    .limit(bindparam("most"))
)
_WITH = Statement(
    select(*INTERACTION_COLUMNS, interactions.c.plan).where(
        interactions.c.domain_session_id == bindparam("session"),
        func.instr(interactions.c.plan, bindparam("artifact")) > 0,
    )
)
_NOTHING: ColumnClause[str] = literal_column("''")  # a bound value could not be answered by the partial index
_RESULT_OF = Statement(
    select(executions.c.result_sha256).where(
        executions.c.tool_call_id == bindparam("call"), executions.c.result_sha256 != _NOTHING
    )
)
_DROP_VALIDATIONS = Statement(
    delete(validations).where(
        validations.c.artifact_id == bindparam("artifact"), validations.c.version == bindparam("at")
    )
)
_DROP_VERSION = Statement(
    delete(artifact_versions).where(
        artifact_versions.c.artifact_id == bindparam("artifact"), artifact_versions.c.version == bindparam("at")
    )
)
_NOTE = Statement(insert(removed_versions))
_OF_SAME = executions.alias("of_same")
# A result is read again by a request that goes on, or that is taken up after a call that was not executed. The result
# of the very call that made a removed version is neither, where every call of its request succeeded.
_DROP_CONTENT = Statement(
    delete(contents).where(
        contents.c.sha256 == bindparam("sha256"),
        ~exists().where(artifact_versions.c.sha256 == bindparam("sha256")),
        ~exists().where(
            executions.c.result_sha256 == bindparam("sha256"),
            executions.c.result_sha256 != _NOTHING,
            executions.c.tool_call_id != bindparam("call"),
        ),
        ~exists().where(
            executions.c.tool_call_id == bindparam("call"),
            _OF_SAME.c.interaction_id == executions.c.interaction_id,
            _OF_SAME.c.state != ExecutionState.SUCCEEDED.value,
        ),
    )
)


class SqlRetention:
    """One transaction's view."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def older(self, before: datetime, after: VersionCursor | None, limit: int) -> tuple[OldVersion, ...]:
        """Versions made before that time, the oldest first, beginning after a cursor."""
        time, artifact_id, version = after or (-1, "", 0)
        rows = _OLDER.all(
            self._connection,
            {
                "before": to_microseconds(before),
                "time": time,
                "artifact": artifact_id,
                "version": version,
                "most": limit,
            },
        )
        return tuple(
            OldVersion(read_version(row), (row["create_time"], row["artifact_id"], row["version"])) for row in rows
        )

    def interactions_with(self, domain_session_id: str, artifact_id: str) -> tuple[tuple[Interaction, Plan], ...]:
        """The session's interactions whose newest plan has the artifact's id anywhere."""
        rows = _WITH.all(self._connection, {"session": domain_session_id, "artifact": artifact_id})
        return tuple((read_interaction(row), decode_plan(row["plan"], row["plan_version"])) for row in rows)

    def remove(self, version: ArtifactVersion, now: datetime) -> None:
        """Remove a version and its validations, and its content where nothing else has it; remember that it was."""
        key = {"artifact": version.artifact_id, "at": version.version}
        result = _RESULT_OF.scalar(self._connection, {"call": version.tool_call_id})
        _DROP_VALIDATIONS.execute(self._connection, key)
        _DROP_VERSION.execute(self._connection, key)
        _NOTE.execute(
            self._connection,
            {"artifact_id": version.artifact_id, "version": version.version, "remove_time": to_microseconds(now)},
        )
        for sha256 in dict.fromkeys((version.sha256, result or version.sha256)):
            _DROP_CONTENT.execute(self._connection, {"sha256": sha256, "call": version.tool_call_id})

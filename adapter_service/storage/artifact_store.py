"""Artifact versions, validations and content in SQL. Implements application.ports.Artifacts."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, bindparam, func, insert, literal_column, select, update

from adapter_service.domain.artifact import (
    ArtifactReference,
    ArtifactVersion,
    FindingRecord,
    Read,
    ReadKind,
    Validation,
)
from adapter_service.storage.tables import artifact_versions, artifacts, contents, removed_versions, validations
from adapter_service.storage.times import from_microseconds, to_microseconds
from handrail_storage import Row, Statement, driver_connection

VERSIONS: Select[Any] = select(
    artifact_versions,
    artifacts.c.sequence,
    artifacts.c.kind,
    artifacts.c.latest_version,
    artifacts.c.conversation_id,
    artifacts.c.domain_session_id,
).join(artifacts, artifacts.c.artifact_id == artifact_versions.c.artifact_id)
_CURRENT = VERSIONS.where(artifact_versions.c.version == artifacts.c.latest_version)
_FIND_CURRENT = Statement(_CURRENT.where(artifacts.c.artifact_id == bindparam("wanted")))
_FIND = Statement(
    VERSIONS.where(artifacts.c.artifact_id == bindparam("wanted"), artifact_versions.c.version == bindparam("version"))
)
_MADE_BY = Statement(VERSIONS.where(artifact_versions.c.tool_call_id == bindparam("wanted")))
_NEWEST = Statement(
    _CURRENT.where(artifacts.c.domain_session_id == bindparam("wanted"))
    .order_by(artifacts.c.change_sequence.desc())
    .limit(bindparam("most"))
)
_PAGE = Statement(
    _CURRENT.where(artifacts.c.conversation_id == bindparam("wanted"), artifacts.c.sequence < bindparam("before"))
    .order_by(artifacts.c.sequence.desc())
    .limit(bindparam("most"))
)
_NEXT_CHANGE = Statement(
    select(func.coalesce(func.max(artifacts.c.change_sequence), 0) + 1).where(
        artifacts.c.domain_session_id == bindparam("wanted")
    )
)
_ADD = Statement(insert(artifacts))
_CHANGE = Statement(
    update(artifacts)
    .where(artifacts.c.artifact_id == bindparam("wanted"))
    .values(latest_version=bindparam("version"), change_sequence=bindparam("sequence"))
)
_ADD_VERSION = Statement(insert(artifact_versions))
_MARK_SETTLED = Statement(
    update(artifact_versions)
    .where(artifact_versions.c.artifact_id == bindparam("wanted"), artifact_versions.c.version == bindparam("at"))
    .values(settled_by=bindparam("by"))
)
_VALIDATION = Statement(
    select(validations)
    .where(validations.c.artifact_id == bindparam("wanted"), validations.c.version == bindparam("at"))
    .order_by(validations.c.validation_id.desc())
    .limit(1)
)
_ADD_VALIDATION = Statement(insert(validations))
_CONTENT = Statement(select(contents.c.data).where(contents.c.sha256 == bindparam("wanted")))
_ROWID = Statement(
    select(literal_column("rowid")).select_from(contents).where(contents.c.sha256 == bindparam("wanted"))
)
_REMOVED = Statement(
    select(removed_versions.c.remove_time).where(
        removed_versions.c.artifact_id == bindparam("wanted"), removed_versions.c.version == bindparam("at")
    )
)
_PUT_CONTENT = Statement(insert(contents).prefix_with("OR IGNORE"))
_ABOVE_ALL = 2**63 - 1


class SqlArtifacts:
    """One transaction's view of artifacts."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def find(self, artifact_id: str, version: int = 0) -> ArtifactVersion | None:
        """A version, or the newest one for 0; None if there is none."""
        if version == 0:
            row = _FIND_CURRENT.first(self._connection, {"wanted": artifact_id})
        else:
            row = _FIND.first(self._connection, {"wanted": artifact_id, "version": version})
        return None if row is None else read_version(row)

    def made_by(self, tool_call_id: str) -> ArtifactVersion | None:
        """The version that a call made, or None."""
        row = _MADE_BY.first(self._connection, {"wanted": tool_call_id})
        return None if row is None else read_version(row)

    def newest(self, domain_session_id: str, limit: int) -> tuple[ArtifactVersion, ...]:
        """Current versions of a session's artifacts, the last changed first."""
        rows = _NEWEST.all(self._connection, {"wanted": domain_session_id, "most": limit})
        return tuple(read_version(row) for row in rows)

    def page(self, conversation_id: str, before: int | None, limit: int) -> tuple[tuple[int, ArtifactVersion], ...]:
        """Current versions of a conversation's artifacts with their sequence, newest artifact first."""
        last = _ABOVE_ALL if before is None else before
        rows = _PAGE.all(self._connection, {"wanted": conversation_id, "before": last, "most": limit})
        return tuple((row["sequence"], read_version(row)) for row in rows)

    def add_version(self, version: ArtifactVersion) -> None:
        """Store a version; version 1 makes the artifact. Its content must be stored before."""
        sequence = _NEXT_CHANGE.scalar(self._connection, {"wanted": version.domain_session_id})
        if version.version == 1:
            _ADD.execute(
                self._connection,
                {
                    "sequence": None,  # SQLite numbers them
                    "artifact_id": version.artifact_id,
                    "domain_session_id": version.domain_session_id,
                    "conversation_id": version.conversation_id,
                    "kind": version.kind,
                    "latest_version": 1,
                    "change_sequence": sequence,
                },
            )
        else:
            _CHANGE.execute(
                self._connection,
                {"wanted": version.artifact_id, "version": version.version, "sequence": sequence},
            )
        _ADD_VERSION.execute(
            self._connection,
            {
                "artifact_id": version.artifact_id,
                "version": version.version,
                "sha256": version.sha256,
                "media_type": version.media_type,
                "title": version.title,
                "size_bytes": version.size_bytes,
                "tool_call_id": version.tool_call_id,
                "tool": version.tool,
                "input_sha256": version.input_sha256,
                "sources": json.dumps(version.sources, ensure_ascii=False),
                "settled_by": version.settled_by,
                "create_time": to_microseconds(version.create_time),
                "data_scope": version.data_scope,
                "input_artifacts": json.dumps([[r.artifact_id, r.version, r.sha256] for r in version.input_artifacts]),
                "workspace_sha256": version.workspace_sha256,
            },
        )

    def mark_settled(self, artifact_id: str, version: int, tool: str) -> None:
        """Remember which CHANGE or EXTERNAL tool succeeded on a version."""
        _MARK_SETTLED.execute(self._connection, {"wanted": artifact_id, "at": version, "by": tool})

    def find_validation(self, artifact_id: str, version: int) -> Validation | None:
        """The last validation of a version, or None."""
        row = _VALIDATION.first(self._connection, {"wanted": artifact_id, "at": version})
        if row is None:
            return None
        return Validation(
            artifact_id=row["artifact_id"],
            version=row["version"],
            sha256=row["sha256"],
            passed=bool(row["passed"]),
            findings=tuple(FindingRecord(**item) for item in json.loads(row["findings"])),
            tool_call_id=row["tool_call_id"],
            reads=tuple(Read(ReadKind(kind), name, version) for kind, name, version in json.loads(row["reads"])),
        )

    def add_validation(self, validation: Validation, now: datetime) -> None:
        """Store the validation of a version."""
        _ADD_VALIDATION.execute(
            self._connection,
            {
                "validation_id": None,  # SQLite numbers them
                "artifact_id": validation.artifact_id,
                "version": validation.version,
                "sha256": validation.sha256,
                "passed": validation.passed,
                "findings": json.dumps([asdict(finding) for finding in validation.findings], ensure_ascii=False),
                "tool_call_id": validation.tool_call_id,
                "create_time": to_microseconds(now),
                "reads": json.dumps([[read.kind, read.name, read.version] for read in validation.reads]),
            },
        )

    def content(self, sha256: str) -> bytes:
        """Stored bytes by their hash. Raises LookupError if they were never stored."""
        data: bytes | None = _CONTENT.scalar(self._connection, {"wanted": sha256})
        if data is None:
            raise LookupError(f"content {sha256} is not stored")
        return data

    def content_part(self, sha256: str, offset: int, size: int) -> bytes:
        """At most `size` bytes from `offset` on, without loading the others. Raises LookupError where they are gone."""
        rowid = _ROWID.scalar(self._connection, {"wanted": sha256})
        if rowid is None:
            raise LookupError(f"content {sha256} is not stored")
        with driver_connection(self._connection).blobopen("contents", "data", rowid, readonly=True) as blob:
            blob.seek(offset)
            data: bytes = blob.read(size)
            return data

    def was_removed(self, artifact_id: str, version: int) -> bool:
        """Whether retention removed the version."""
        return _REMOVED.first(self._connection, {"wanted": artifact_id, "at": version}) is not None

    def put_content(self, sha256: str, data: bytes) -> None:
        """Store bytes under their hash, once."""
        _PUT_CONTENT.execute(self._connection, {"sha256": sha256, "data": data})


def read_version(row: Row) -> ArtifactVersion:
    """The version of a row of VERSIONS."""
    return ArtifactVersion(
        artifact_id=row["artifact_id"],
        conversation_id=row["conversation_id"],
        domain_session_id=row["domain_session_id"],
        kind=row["kind"],
        version=row["version"],
        latest_version=row["latest_version"],
        sha256=row["sha256"],
        media_type=row["media_type"],
        title=row["title"],
        size_bytes=row["size_bytes"],
        tool_call_id=row["tool_call_id"],
        tool=row["tool"],
        input_sha256=row["input_sha256"],
        sources=tuple(json.loads(row["sources"])),
        create_time=from_microseconds(row["create_time"]),
        settled_by=row["settled_by"],
        data_scope=row["data_scope"],
        input_artifacts=tuple(ArtifactReference(*each) for each in json.loads(row["input_artifacts"])),
        workspace_sha256=row["workspace_sha256"],
    )

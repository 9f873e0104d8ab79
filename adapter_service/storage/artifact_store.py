"""Artifact versions, validations and content in SQL. Implements application.ports.Artifacts."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, func, insert, select, update

from adapter_service.domain.artifact import ArtifactVersion, FindingRecord, Validation
from adapter_service.storage.tables import artifact_versions, artifacts, contents, validations
from adapter_service.storage.times import from_microseconds, to_microseconds


class SqlArtifacts:
    """One transaction's view of artifacts."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def find(self, artifact_id: str, version: int = 0) -> ArtifactVersion | None:
        """A version, or the newest one for 0; None if there is none."""
        wanted = artifacts.c.latest_version if version == 0 else version
        row = self._connection.execute(
            _VERSIONS.where(artifacts.c.artifact_id == artifact_id, artifact_versions.c.version == wanted)
        ).one_or_none()
        return None if row is None else _version(row)

    def made_by(self, tool_call_id: str) -> ArtifactVersion | None:
        """The version that a call made, or None."""
        row = self._connection.execute(_MADE_BY, {"wanted": tool_call_id}).one_or_none()
        return None if row is None else _version(row)

    def newest(self, domain_session_id: str, limit: int) -> tuple[ArtifactVersion, ...]:
        """Current versions of a session's artifacts, the last changed first."""
        rows = self._connection.execute(_NEWEST, {"wanted": domain_session_id, "most": limit})
        return tuple(_version(row) for row in rows)

    def page(self, conversation_id: str, before: int | None, limit: int) -> tuple[tuple[int, ArtifactVersion], ...]:
        """Current versions of a conversation's artifacts with their sequence, newest artifact first."""
        query = _VERSIONS.where(
            artifacts.c.conversation_id == conversation_id, artifact_versions.c.version == artifacts.c.latest_version
        )
        if before is not None:
            query = query.where(artifacts.c.sequence < before)
        rows = self._connection.execute(query.order_by(artifacts.c.sequence.desc()).limit(limit))
        return tuple((row.sequence, _version(row)) for row in rows)

    def add_version(self, version: ArtifactVersion) -> None:
        """Store a version; version 1 makes the artifact. Its content must be stored before."""
        changed = select(func.coalesce(func.max(artifacts.c.change_sequence), 0) + 1).where(
            artifacts.c.domain_session_id == version.domain_session_id
        )
        sequence = self._connection.execute(changed).scalar_one()
        if version.version == 1:
            self._connection.execute(
                insert(artifacts),
                {
                    "artifact_id": version.artifact_id,
                    "domain_session_id": version.domain_session_id,
                    "conversation_id": version.conversation_id,
                    "kind": version.kind,
                    "latest_version": 1,
                    "change_sequence": sequence,
                },
            )
        else:
            self._connection.execute(
                update(artifacts)
                .where(artifacts.c.artifact_id == version.artifact_id)
                .values(latest_version=version.version, change_sequence=sequence)
            )
        self._connection.execute(
            insert(artifact_versions),
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
            },
        )

    def mark_settled(self, artifact_id: str, version: int, tool: str) -> None:
        """Remember which CHANGE or EXTERNAL tool succeeded on a version."""
        self._connection.execute(
            update(artifact_versions)
            .where(artifact_versions.c.artifact_id == artifact_id, artifact_versions.c.version == version)
            .values(settled_by=tool)
        )

    def find_validation(self, artifact_id: str, version: int) -> Validation | None:
        """The last validation of a version, or None."""
        row = self._connection.execute(
            select(validations)
            .where(validations.c.artifact_id == artifact_id, validations.c.version == version)
            .order_by(validations.c.validation_id.desc())
            .limit(1)
        ).one_or_none()
        if row is None:
            return None
        findings = tuple(FindingRecord(**item) for item in json.loads(row.findings))
        return Validation(row.artifact_id, row.version, row.sha256, row.passed, findings, row.tool_call_id)

    def add_validation(self, validation: Validation, now: datetime) -> None:
        """Store the validation of a version."""
        self._connection.execute(
            insert(validations),
            {
                "artifact_id": validation.artifact_id,
                "version": validation.version,
                "sha256": validation.sha256,
                "passed": validation.passed,
                "findings": json.dumps([asdict(finding) for finding in validation.findings], ensure_ascii=False),
                "tool_call_id": validation.tool_call_id,
                "create_time": to_microseconds(now),
            },
        )

    def content(self, sha256: str) -> bytes:
        """Stored bytes by their hash. Raises NoResultFound if they were never stored."""
        data: bytes = self._connection.execute(_CONTENT, {"wanted": sha256}).scalar_one()
        return data

    def put_content(self, sha256: str, data: bytes) -> None:
        """Store bytes under their hash, once."""
        self._connection.execute(insert(contents).prefix_with("OR IGNORE"), {"sha256": sha256, "data": data})


_VERSIONS: Select[Any] = select(
    artifact_versions,
    artifacts.c.sequence,
    artifacts.c.kind,
    artifacts.c.latest_version,
    artifacts.c.conversation_id,
    artifacts.c.domain_session_id,
).join(artifacts, artifacts.c.artifact_id == artifact_versions.c.artifact_id)

# Built once, with parameters: building an expression costs more than executing it.
_MADE_BY = _VERSIONS.where(artifact_versions.c.tool_call_id == bindparam("wanted"))
_NEWEST = (
    _VERSIONS.where(
        artifacts.c.domain_session_id == bindparam("wanted"),
        artifact_versions.c.version == artifacts.c.latest_version,
    )
    .order_by(artifacts.c.change_sequence.desc())
    .limit(bindparam("most"))
)
_CONTENT = select(contents.c.data).where(contents.c.sha256 == bindparam("wanted"))


def _version(row: Row[Any]) -> ArtifactVersion:
    return ArtifactVersion(
        artifact_id=row.artifact_id,
        conversation_id=row.conversation_id,
        domain_session_id=row.domain_session_id,
        kind=row.kind,
        version=row.version,
        latest_version=row.latest_version,
        sha256=row.sha256,
        media_type=row.media_type,
        title=row.title,
        size_bytes=row.size_bytes,
        tool_call_id=row.tool_call_id,
        tool=row.tool,
        input_sha256=row.input_sha256,
        sources=tuple(json.loads(row.sources)),
        create_time=from_microseconds(row.create_time),
        settled_by=row.settled_by,
    )

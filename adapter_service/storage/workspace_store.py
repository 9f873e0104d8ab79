"""Workspaces in SQL: what sessions are at, uploaded snapshots, their bytes. Implements application.ports.Workspaces."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterable
from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from adapter_service.domain.workspace import Snapshot, WorkspaceSource, WorkspaceState
from adapter_service.sdk import WorkspaceFile
from adapter_service.storage.tables import (
    session_workspaces,
    workspace_contents,
    workspace_requests,
    workspace_snapshots,
)
from adapter_service.storage.times import from_microseconds, to_microseconds
from handrail_storage import Row, Statement
from handrail_storage.statements import upsert

_STATE = Statement(select(session_workspaces).where(session_workspaces.c.domain_session_id == bindparam("session")))
_PUT_STATE = Statement(upsert(session_workspaces))
_SNAPSHOT_COLUMNS = tuple(column for column in workspace_snapshots.c if column.name != "files")
_NEWEST = Statement(
    select(*_SNAPSHOT_COLUMNS)
    .where(workspace_snapshots.c.domain_session_id == bindparam("session"))
    .order_by(workspace_snapshots.c.number.desc())
    .limit(1)
)
_OWNER = Statement(
    select(workspace_snapshots.c.domain_session_id).where(workspace_snapshots.c.snapshot_id == bindparam("snapshot"))
)
_FILES = Statement(
    select(workspace_snapshots.c.files).where(workspace_snapshots.c.snapshot_id == bindparam("snapshot"))
)
_ADD_SNAPSHOT = Statement(insert(workspace_snapshots))
_DROP_FILES = Statement(
    update(workspace_snapshots)
    .where(
        workspace_snapshots.c.domain_session_id == bindparam("session"),
        workspace_snapshots.c.number < bindparam("before"),
        workspace_snapshots.c.files.is_not(None),
    )
    .values(files=None)
)
_KNOWN = Statement(
    select(workspace_contents.c.sha256, workspace_contents.c.size_bytes, workspace_contents.c.expire_time).where(
        workspace_contents.c.domain_session_id == bindparam("session")
    )
)
_STORED = Statement(
    select(
        func.count().label("count"), func.coalesce(func.sum(workspace_contents.c.size_bytes), 0).label("size_bytes")
    ).where(workspace_contents.c.domain_session_id == bindparam("session"))
)
_HAS_CONTENT = Statement(
    select(workspace_contents.c.size_bytes).where(
        workspace_contents.c.domain_session_id == bindparam("session"), workspace_contents.c.sha256 == bindparam("hash")
    )
)
_CONTENT = Statement(
    select(workspace_contents.c.data).where(
        workspace_contents.c.domain_session_id == bindparam("session"), workspace_contents.c.sha256 == bindparam("hash")
    )
)
_ADD_CONTENT = Statement(insert(workspace_contents).prefix_with("OR IGNORE"))
_EXPIRE_AT = Statement(
    update(workspace_contents)
    .where(
        workspace_contents.c.domain_session_id == bindparam("session"), workspace_contents.c.sha256 == bindparam("hash")
    )
    .values(expire_time=bindparam("at"))
)
_PROLONG = Statement(
    update(workspace_contents)
    .where(
        workspace_contents.c.domain_session_id == bindparam("session"),
        workspace_contents.c.sha256 == bindparam("hash"),
        workspace_contents.c.expire_time < bindparam("at"),
    )
    .values(expire_time=bindparam("at"))
)
_ANSWERED = Statement(
    select(workspace_requests.c.body_sha256, workspace_requests.c.answer).where(
        workspace_requests.c.domain_session_id == bindparam("session"),
        workspace_requests.c.request_id == bindparam("request"),
    )
)
_ANSWER_BYTES = Statement(
    select(func.coalesce(func.sum(func.length(workspace_requests.c.answer)), 0)).where(
        workspace_requests.c.domain_session_id == bindparam("session")
    )
)
_ADD_ANSWER = Statement(insert(workspace_requests))
_EXPIRED = Statement(
    select(workspace_contents.c.domain_session_id, workspace_contents.c.sha256)
    .where(workspace_contents.c.expire_time <= bindparam("now"))
    .limit(bindparam("most"))
)
_DROP_CONTENT = Statement(
    delete(workspace_contents).where(
        workspace_contents.c.domain_session_id == bindparam("domain_session_id"),
        workspace_contents.c.sha256 == bindparam("sha256"),
    )
)
_DROP_ANSWERS = Statement(delete(workspace_requests).where(workspace_requests.c.expire_time <= bindparam("now")))
ERASE = tuple(
    Statement(delete(table).where(table.c.domain_session_id == bindparam("session")))
    for table in (session_workspaces, workspace_snapshots, workspace_contents, workspace_requests)
)
"""What DeleteSession runs of this store, with the parameter `session`."""


class SqlWorkspaces:
    """One transaction's view of workspaces."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def state(self, domain_session_id: str) -> WorkspaceState | None:
        """What the session's workspace is at; None before its first decision or upload."""
        row = _STATE.first(self._connection, {"session": domain_session_id})
        if row is None:
            return None
        return WorkspaceState(
            generation=row["generation"],
            sha256=row["sha256"],
            source=WorkspaceSource(row["source"]),
            snapshot_id=row["snapshot_id"],
            documentation_version=row["documentation_version"],
            file_count=row["file_count"],
            size_bytes=row["size_bytes"],
            create_time=from_microseconds(row["create_time"]),
        )

    def put_state(self, domain_session_id: str, state: WorkspaceState) -> None:
        """Store it in the place of the one before."""
        _PUT_STATE.execute(
            self._connection,
            {
                "domain_session_id": domain_session_id,
                "generation": state.generation,
                "sha256": state.sha256,
                "source": state.source.value,
                "snapshot_id": state.snapshot_id,
                "documentation_version": state.documentation_version,
                "file_count": state.file_count,
                "size_bytes": state.size_bytes,
                "create_time": to_microseconds(state.create_time),
            },
        )

    def newest(self, domain_session_id: str) -> Snapshot | None:
        """The newest snapshot of an upload, None before the first."""
        row = _NEWEST.first(self._connection, {"session": domain_session_id})
        return None if row is None else _snapshot(row)

    def is_of(self, snapshot_id: str, domain_session_id: str) -> bool:
        """Whether the snapshot is, or once was, the session's."""
        return bool(_OWNER.scalar(self._connection, {"snapshot": snapshot_id}) == domain_session_id)

    def files(self, snapshot_id: str) -> tuple[WorkspaceFile, ...]:
        """The files of the newest snapshot, in the order of paths. Raises LookupError for an older one."""
        data = _FILES.scalar(self._connection, {"snapshot": snapshot_id})
        if data is None:
            raise LookupError(f"the files of snapshot {snapshot_id} are not kept any more")
        return tuple(WorkspaceFile(*item) for item in json.loads(zlib.decompress(data)))

    def add_snapshot(self, snapshot: Snapshot, files: Iterable[WorkspaceFile]) -> None:
        """Store the newest snapshot; the files of earlier ones are not kept."""
        listed = [[file.path, file.sha256, file.size_bytes] for file in files]
        _ADD_SNAPSHOT.execute(
            self._connection,
            {
                "snapshot_id": snapshot.snapshot_id,
                "domain_session_id": snapshot.domain_session_id,
                "number": snapshot.number,
                "sha256": snapshot.sha256,
                "file_count": snapshot.file_count,
                "size_bytes": snapshot.size_bytes,
                "create_time": to_microseconds(snapshot.create_time),
                "files": zlib.compress(json.dumps(listed, ensure_ascii=False).encode(), 1),
            },
        )
        _DROP_FILES.execute(self._connection, {"session": snapshot.domain_session_id, "before": snapshot.number})

    def known(self, domain_session_id: str) -> dict[str, int]:
        """Hashes of the contents that the session has, with their sizes."""
        rows = _KNOWN.all(self._connection, {"session": domain_session_id})
        return {row["sha256"]: row["size_bytes"] for row in rows}

    def stored(self, domain_session_id: str) -> tuple[int, int]:
        """How many contents the session has, and their bytes together."""
        row = _STORED.first(self._connection, {"session": domain_session_id})
        return (0, 0) if row is None else (row["count"], row["size_bytes"])

    def has_content(self, domain_session_id: str, sha256: str) -> bool:
        """Whether the session has the bytes with that hash."""
        return _HAS_CONTENT.first(self._connection, {"session": domain_session_id, "hash": sha256}) is not None

    def content(self, domain_session_id: str, sha256: str) -> bytes | None:
        """The bytes with that hash, where the session has them."""
        data: bytes | None = _CONTENT.scalar(self._connection, {"session": domain_session_id, "hash": sha256})
        return data

    def put_content(self, domain_session_id: str, sha256: str, data: bytes, expire_time: datetime) -> None:
        """Keep bytes until then, or longer where a snapshot has them."""
        at = to_microseconds(expire_time)
        _ADD_CONTENT.execute(
            self._connection,
            {
                "domain_session_id": domain_session_id,
                "sha256": sha256,
                "size_bytes": len(data),
                "expire_time": at,
                "data": data,
            },
        )
        _PROLONG.execute(self._connection, {"session": domain_session_id, "hash": sha256, "at": at})

    def keep_only(self, domain_session_id: str, wanted: Collection[str], expire_time: datetime) -> None:
        """Contents of the newest snapshot stay; those that it has no more go at that time."""
        at = to_microseconds(expire_time)
        changes = []
        for row in _KNOWN.all(self._connection, {"session": domain_session_id}):
            stays = row["sha256"] in wanted
            if stays == (row["expire_time"] is not None):
                changes.append(
                    {"session": domain_session_id, "hash": row["sha256"], "at": None if stays else at},
                )
        _EXPIRE_AT.execute_many(self._connection, changes)

    def answered(self, domain_session_id: str, request_id: str) -> tuple[str, bytes] | None:
        """The hash of the body and the answer of a request that was answered before."""
        row = _ANSWERED.first(self._connection, {"session": domain_session_id, "request": request_id})
        return None if row is None else (row["body_sha256"], row["answer"])

    def answer_bytes(self, domain_session_id: str) -> int:
        """How much the session's answers are together."""
        return int(_ANSWER_BYTES.scalar(self._connection, {"session": domain_session_id}))

    def add_answer(
        self, domain_session_id: str, request_id: str, body_sha256: str, answer: bytes, expire_time: datetime
    ) -> None:
        """Remember an answer for repetitions."""
        _ADD_ANSWER.execute(
            self._connection,
            {
                "domain_session_id": domain_session_id,
                "request_id": request_id,
                "body_sha256": body_sha256,
                "answer": answer,
                "expire_time": to_microseconds(expire_time),
            },
        )

    def drop_expired(self, now: datetime, most: int) -> int:
        """Drop at most so many contents whose time has come, and answers; the number of contents."""
        at = to_microseconds(now)
        rows = _EXPIRED.all(self._connection, {"now": at, "most": most})
        _DROP_CONTENT.execute_many(self._connection, rows)
        _DROP_ANSWERS.execute(self._connection, {"now": at})
        return len(rows)


def _snapshot(row: Row) -> Snapshot:
    return Snapshot(
        snapshot_id=row["snapshot_id"],
        domain_session_id=row["domain_session_id"],
        number=row["number"],
        sha256=row["sha256"],
        file_count=row["file_count"],
        size_bytes=row["size_bytes"],
        create_time=from_microseconds(row["create_time"]),
    )

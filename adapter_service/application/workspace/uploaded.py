"""A workspace of uploaded files: a conversation's newest snapshot, and publishing to it. Made by `open_workspace`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from adapter_service.application.ports import Clock, Ids, Transaction, UnitOfWork
from adapter_service.application.workspace import own_writes
from adapter_service.domain import failure_texts as texts
from adapter_service.domain.workspace import (
    MOST_BYTES,
    MOST_FILE_BYTES,
    MOST_FILES,
    Snapshot,
    WorkspaceSource,
    WorkspaceState,
    clashes,
    path_trouble,
    state_sha256,
)
from adapter_service.sdk import BaseChanged, ToolError, WorkspaceFile
from handrail_rpc.digest import sha256_hex

KEPT = timedelta(days=1)
"""How long bytes are kept that no snapshot has: staged ones, and those of the snapshot before."""


class UploadedWorkspace:
    """`sdk.Workspace` over a snapshot; without one it is empty, and the first write makes one."""

    def __init__(
        self,
        unit_of_work: UnitOfWork,
        domain_session_id: str,
        snapshot: Snapshot | None,
        files: Mapping[str, WorkspaceFile],
        *,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self.workspace_id = upload_id(domain_session_id)
        self.uploaded = True
        self.files = files
        self.sha256 = snapshot.sha256 if snapshot is not None else state_sha256({})
        self._unit_of_work = unit_of_work
        self._domain_session_id = domain_session_id
        self._clock = clock
        self._ids = ids

    def read(self, path: str) -> bytes:
        """See sdk.Workspace. Bytes of an older state are kept for a day."""
        wanted = self.files[path].sha256
        data = self._unit_of_work.read_now(lambda tx: tx.workspaces.content(self._domain_session_id, wanted))
        if data is None:
            raise BaseChanged
        return data

    def replace(self, path: str, data: bytes, expected_sha256: str) -> str:
        """See sdk.Workspace: the comparison and the next snapshot are one transaction."""
        check_writable(path, data)
        file = WorkspaceFile(path, sha256_hex(data), len(data))
        self._unit_of_work.write_now(
            lambda tx: self._publish(tx, file, data, expected_sha256), name="publish_upload.store"
        )
        own_writes.note(file)
        return file.sha256

    def _publish(self, tx: Transaction, file: WorkspaceFile, data: bytes, expected_sha256: str) -> None:
        session_id, now = self._domain_session_id, self._clock()
        newest = tx.workspaces.newest(session_id)
        files = {} if newest is None else {each.path: each for each in tx.workspaces.files(newest.snapshot_id)}
        before = files.get(file.path)
        if (before.sha256 if before is not None else "") != expected_sha256:
            raise BaseChanged
        files[file.path] = file
        check_together(files, file.path)
        tx.workspaces.put_content(session_id, file.sha256, data, now + KEPT)
        take_snapshot(tx, session_id, files, state_sha256(files), snapshot_id=self._ids("wsp"), now=now)


def upload_id(domain_session_id: str) -> str:
    """The workspace_id of a session's upload through all its states."""
    return f"upload-{domain_session_id}"


def take_snapshot(
    tx: Transaction,
    domain_session_id: str,
    files: Mapping[str, WorkspaceFile],
    sha256: str,
    *,
    snapshot_id: str,
    now: datetime,
) -> WorkspaceState:
    """Make the files, whose contents are stored, the newest snapshot; where nothing differs it is the one before.

    `sha256` is their state's hash.
    """
    state, newest = tx.workspaces.state(domain_session_id), tx.workspaces.newest(domain_session_id)
    if newest is None or newest.sha256 != sha256:
        newest = Snapshot(
            snapshot_id=snapshot_id,
            domain_session_id=domain_session_id,
            number=newest.number + 1 if newest is not None else 1,
            sha256=sha256,
            file_count=len(files),
            size_bytes=sum(file.size_bytes for file in files.values()),
            create_time=now,
        )
        tx.workspaces.add_snapshot(newest, (files[path] for path in sorted(files)))
    tx.workspaces.keep_only(domain_session_id, {file.sha256 for file in files.values()}, now + KEPT)
    taken = next_state(
        state,
        WorkspaceState(
            generation=1,
            sha256=sha256,
            source=WorkspaceSource.UPLOAD,
            snapshot_id=newest.snapshot_id,
            documentation_version="",
            file_count=newest.file_count,
            size_bytes=newest.size_bytes,
            create_time=newest.create_time,
        ),
    )
    if taken != state:
        tx.workspaces.put_state(domain_session_id, taken)
        # A decision that is being computed begins anew, with this snapshot.
        tx.sessions.touch(domain_session_id)
    return taken


def next_state(before: WorkspaceState | None, found: WorkspaceState) -> WorkspaceState:
    """What the session is at with what was found: another generation where the hash is another one (C10)."""
    if before is None:
        return replace(found, generation=1)
    if before.sha256 != found.sha256:
        return replace(found, generation=before.generation + 1)
    return replace(
        found,
        generation=before.generation,
        create_time=before.create_time,
        documentation_version=found.documentation_version or before.documentation_version,
    )


def check_writable(path: str, data: bytes) -> None:
    """Raises ToolError for a path or a size that a workspace does not take."""
    trouble = path_trouble(path)
    if trouble:
        raise ToolError("tool_input_invalid", texts.WORKSPACE_PATH, source_code="workspace_path")
    if len(data) > MOST_FILE_BYTES:
        raise ToolError("tool_input_invalid", texts.WORKSPACE_FILE_TOO_LARGE, source_code="workspace_file_too_large")


def check_together(files: Mapping[str, WorkspaceFile], path: str) -> None:
    """Raises ToolError where the files are too many or too large together, or the path clashes with another's."""
    if len(files) > MOST_FILES or sum(file.size_bytes for file in files.values()) > MOST_BYTES:
        raise ToolError("tool_input_invalid", texts.WORKSPACE_FULL, source_code="workspace_full")
    ordered = sorted(files)
    if any(path in (ordered[position], other) for position, other, _ in clashes(ordered)):
        raise ToolError("tool_input_invalid", texts.WORKSPACE_PATH, source_code="workspace_path_clash")

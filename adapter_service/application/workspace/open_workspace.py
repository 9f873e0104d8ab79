"""Opens the workspace that a conversation works on now: its newest upload, else the domain's folder (requirement C10).

Called once a decision, once a tool call, and by the reading RPCs, always in a thread.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from adapter_service.application.ports import Clock, Folders, Ids, Transaction, UnitOfWork
from adapter_service.application.workspace.uploaded import UploadedWorkspace, next_state
from adapter_service.domain.workspace import Snapshot, WorkspaceSource, WorkspaceState
from adapter_service.sdk import BaseChanged, Domain, Workspace, WorkspaceFile, WorkspaceUse
from handrail_rpc.errors import Unavailable

_MOST_CACHED = 8
_MOST_OPENINGS = 4


@dataclass(frozen=True, slots=True)
class OpenedWorkspace:
    """A workspace with where it comes from. `view` makes the domain's view of it, which may take a while."""

    workspace: Workspace
    use: WorkspaceUse
    source: WorkspaceSource
    snapshot_id: str
    clock: Clock

    @property
    def sha256(self) -> str:
        """The hash of its state."""
        return self.workspace.sha256

    def is_newest(self, tx: Transaction, domain_session_id: str) -> bool:
        """Whether no other snapshot of the session has come since; a folder is, while it has none."""
        newest = tx.workspaces.newest(domain_session_id)
        return (newest.snapshot_id if newest is not None else "") == self.snapshot_id

    def view(self) -> Any:
        """What tools, resolvers and the planner get. Raises what the domain raises."""
        return self.use.prepare(self.workspace)

    def state(self, before: WorkspaceState | None, documentation_version: str) -> WorkspaceState:
        """What the session is at with this workspace, after what it was at before."""
        files = self.workspace.files
        unchanged = before is not None and before.sha256 == self.sha256
        return next_state(
            before,
            WorkspaceState(
                generation=1,
                sha256=self.sha256,
                source=self.source,
                snapshot_id=self.snapshot_id,
                documentation_version=documentation_version,
                file_count=len(files),
                # Equal states have equal sizes; adding up is not repeated each time.
                size_bytes=before.size_bytes
                if unchanged and before is not None
                else sum(file.size_bytes for file in files.values()),
                create_time=self.clock(),
            ),
        )


class OpenWorkspaces:
    """One instance a process. Files of snapshots, which never change, are kept for the newest few."""

    def __init__(self, unit_of_work: UnitOfWork, folders: Folders, *, clock: Clock, ids: Ids) -> None:
        self._unit_of_work = unit_of_work
        self._folders = folders
        self._clock = clock
        self._ids = ids
        self._gate = threading.Lock()
        self._cache: OrderedDict[str, Mapping[str, WorkspaceFile]] = OrderedDict()

    def open_now(self, domain: Domain, domain_session_id: str) -> OpenedWorkspace | None:
        """The workspace in its present state, in the calling thread; None for a domain that uses none."""
        if domain.workspace is None:
            return None
        snapshot, files = self._unit_of_work.read_now(lambda tx: self._newest(tx, domain_session_id))
        folder = self._folders.get(domain.name)
        workspace: Workspace
        if snapshot is None and folder is not None:
            workspace, source = folder.open(), WorkspaceSource.FOLDER
        else:
            workspace = UploadedWorkspace(
                self._unit_of_work, domain_session_id, snapshot, files, clock=self._clock, ids=self._ids
            )
            source = WorkspaceSource.UNSPECIFIED if snapshot is None else WorkspaceSource.UPLOAD
        snapshot_id = snapshot.snapshot_id if snapshot is not None else ""
        return OpenedWorkspace(workspace, domain.workspace, source, snapshot_id, self._clock)

    def open_with_view(self, domain: Domain, domain_session_id: str) -> tuple[OpenedWorkspace, Any]:
        """The same of a domain that uses workspaces, with its view. Opened anew where a file changes meanwhile.

        Raises Unavailable for one that changes all the time, and what the domain raises.
        """
        for _ in range(_MOST_OPENINGS):
            opened = self.open_now(domain, domain_session_id)
            assert opened is not None  # the domain uses workspaces
            try:
                return opened, opened.view()
            except BaseChanged:
                continue
        raise Unavailable("the workspace is changing all the time; ask again", reason="WORKSPACE_CHANGING")

    def _newest(self, tx: Transaction, domain_session_id: str) -> tuple[Snapshot | None, Mapping[str, WorkspaceFile]]:
        snapshot = tx.workspaces.newest(domain_session_id)
        if snapshot is None:
            return None, {}
        with self._gate:
            known = self._cache.get(snapshot.snapshot_id)
            if known is not None:
                self._cache.move_to_end(snapshot.snapshot_id)
                return snapshot, known
        files = MappingProxyType({file.path: file for file in tx.workspaces.files(snapshot.snapshot_id)})
        with self._gate:
            self._cache[snapshot.snapshot_id] = files
            if len(self._cache) > _MOST_CACHED:
                self._cache.popitem(last=False)
        return snapshot, files

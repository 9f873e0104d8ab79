"""`GetWorkspace` and `ReadWorkspaceFile`: what a conversation works on now. Called by the artifact servicer."""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_right
from dataclasses import dataclass

from adapter_service.application.ports import Domains, Threads, Transaction, UnitOfWork
from adapter_service.application.workspace.open_workspace import OpenedWorkspace, OpenWorkspaces
from adapter_service.application.workspace.upload_workspace import session_with_workspace
from adapter_service.domain.workspace import WorkspaceState
from adapter_service.sdk import BaseChanged, Domain, WorkspaceFile
from handrail_rpc.errors import InvalidArgument, NotFound, OutOfRange, Unavailable

_MOST_READINGS = 4


@dataclass(frozen=True, slots=True)
class WorkspacePage:
    """The workspace, and a page of its files in the order of paths."""

    state: WorkspaceState
    files: tuple[WorkspaceFile, ...]
    next_page_token: str


class ReadWorkspace:
    """The use cases; one instance a process."""

    def __init__(
        self, unit_of_work: UnitOfWork, domains: Domains, workspaces: OpenWorkspaces, *, threads: Threads
    ) -> None:
        self._unit_of_work = unit_of_work
        self._domains = domains
        self._workspaces = workspaces
        self._threads = threads

    async def page(self, conversation_id: str, page_size: int, page_token: str) -> WorkspacePage:
        """Raises NotFound, FailedPrecondition for a domain without workspaces, InvalidArgument for a made-up token."""
        after = _read_token(page_token)
        return await self._threads.run(lambda: self._page(conversation_id, page_size, after))

    async def file(self, conversation_id: str, path: str, offset: int) -> tuple[WorkspaceFile, bytes]:
        """A file and its bytes from `offset` on.

        Raises NotFound, FailedPrecondition, OutOfRange naming the size, Unavailable for one that changes all the time.
        """
        return await self._threads.run(lambda: self._file(conversation_id, path, offset))

    def _find(self, conversation_id: str) -> tuple[str, Domain, WorkspaceState | None]:
        def find(tx: Transaction) -> tuple[str, Domain, WorkspaceState | None]:
            session_id = session_with_workspace(tx, self._domains, conversation_id)
            session = tx.sessions.find(session_id)
            assert session is not None  # just found
            return session_id, self._domains[session.domain], tx.workspaces.state(session_id)

        return self._unit_of_work.read_now(find)

    def _open(self, conversation_id: str) -> tuple[OpenedWorkspace, WorkspaceState | None]:
        session_id, domain, before = self._find(conversation_id)
        opened = self._workspaces.open_now(domain, session_id)
        assert opened is not None  # its domain uses workspaces
        return opened, before

    def _open_with_state(self, conversation_id: str) -> tuple[OpenedWorkspace, WorkspaceState]:
        opened, before = self._open(conversation_id)
        if before is not None and before.sha256 == opened.sha256 and before.documentation_version:
            return opened, opened.state(before, before.documentation_version)
        session_id, domain, before = self._find(conversation_id)
        opened, view = self._workspaces.open_with_view(domain, session_id)
        return opened, opened.state(before, opened.use.documentation_version(view))

    def _page(self, conversation_id: str, page_size: int, after: str) -> WorkspacePage:
        opened, state = self._open_with_state(conversation_id)
        paths = list(opened.workspace.files)
        begin = bisect_right(paths, after) if after else 0
        shown = paths[begin : begin + page_size]
        token = _token(shown[-1]) if begin + page_size < len(paths) else ""
        return WorkspacePage(state, tuple(opened.workspace.files[path] for path in shown), token)

    def _file(self, conversation_id: str, path: str, offset: int) -> tuple[WorkspaceFile, bytes]:
        for _ in range(_MOST_READINGS):
            opened, _before = self._open(conversation_id)
            found = opened.workspace.files.get(path)
            if found is None:
                raise NotFound.of("workspace file", path)
            if not 0 <= offset <= found.size_bytes:
                raise OutOfRange(
                    f"offset must be within 0 and {found.size_bytes}", metadata={"size_bytes": str(found.size_bytes)}
                )
            try:
                return found, opened.workspace.read(path)[offset:]
            except BaseChanged:
                continue
        raise Unavailable("the file is changing all the time; ask again", reason="WORKSPACE_CHANGING")


def _token(path: str) -> str:
    return "p" + base64.urlsafe_b64encode(path.encode()).decode()


def _read_token(token: str) -> str:
    try:
        return base64.b64decode(token[1:], altchars=b"-_", validate=True).decode() if token else ""
    except (binascii.Error, UnicodeDecodeError):
        raise InvalidArgument.field("page_token", "must be the next_page_token of an earlier page") from None

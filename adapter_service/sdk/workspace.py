"""Workspaces: the files that a conversation works on, a folder or what a client uploaded (requirement C10).

The engine keeps them; a domain that declares `Domain.workspace` sees one `Workspace` at a time and makes its own view
of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class WorkspaceFile:
    """One file: its relative path with "/" between names, the lower-case hex SHA-256 of its bytes, and their number."""

    path: str
    sha256: str
    size_bytes: int


class Workspace(Protocol):
    """One state of a workspace. `files` are by path, in the order of paths.

    `workspace_id` names the folder or the conversation's upload through all its states: a key for what a domain keeps
    about it. `sha256` is the hash over all paths and hashes: equal states have equal hashes. `uploaded` is true for the
    conversation's own copy of what a client uploaded: what is written there reaches no file of the client.
    """

    workspace_id: str
    sha256: str
    files: Mapping[str, WorkspaceFile]
    uploaded: bool

    def read(self, path: str) -> bytes:
        """The bytes of a file of this state. Raises KeyError for an unknown path, BaseChanged where a folder's file
        has meanwhile other bytes.
        """
        ...

    def replace(self, path: str, data: bytes, expected_sha256: str) -> str:
        """Write a file atomically if it still has that hash ("" where it must not exist yet); the new hash.

        For CHANGE tools that are plain functions: it blocks. Raises BaseChanged where it has another one (soundness
        rule compare_at_write), ToolError for a path or size that a workspace does not take.
        """
        ...


def _no_version(_view: Any) -> str:
    return ""


def _always(_resolver: str, _value: Any, _view: Any) -> bool:
    return True


def _nothing_kept(_workspace_id: str) -> None:
    """The domain keeps nothing of a workspace."""


@dataclass(frozen=True, slots=True)
class WorkspaceUse:
    """How a domain uses workspaces.

    Args:
        folder_setting: environment variable that names the folder of conversations without an upload.
        prepare: from the workspace to the domain's own view, which tools, resolvers and the planner get. Called in a
            thread, outside transactions, before each of them; should cost little where nothing changed. Raises
            BaseChanged, as `read` does, where a file changes meanwhile: the workspace is opened anew then.
        documentation_version: from the view: the version of the documentation's part, shown with each decision.
        resolvers: names of the domain's resolvers whose values name something in the workspace.
        holds: (resolver, value, view) -> whether that value still names the same thing. Where it does not, the
            question is asked again (requirement C10).
        forget: called with a workspace_id whose upload was erased: drop what was kept of it. May be called again.
    """

    folder_setting: str
    prepare: Callable[[Workspace], Any]
    documentation_version: Callable[[Any], str] = _no_version
    resolvers: tuple[str, ...] = ()
    holds: Callable[[str, Any, Any], bool] = _always
    forget: Callable[[str], None] = _nothing_kept

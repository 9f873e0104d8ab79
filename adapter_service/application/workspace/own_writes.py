"""What the running call itself wrote to a workspace, so that its own change is not taken for somebody else's.

`execute_tool` collects around a call; both kinds of Workspace note what they have written. Threads that a call begins
with a copy of its context, as ours do, note into the same list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from adapter_service.domain.workspace import state_sha256
from adapter_service.sdk import WorkspaceFile

_written: ContextVar[list[WorkspaceFile] | None] = ContextVar("handrail_workspace_writes", default=None)


@contextmanager
def collected() -> Iterator[list[WorkspaceFile]]:
    """The files that are written within the block, in order."""
    written: list[WorkspaceFile] = []
    token = _written.set(written)
    try:
        yield written
    finally:
        _written.reset(token)


def note(file: WorkspaceFile) -> None:
    """Called right after a file was written."""
    written = _written.get()
    if written is not None:
        written.append(file)


def sha256_with(files: Mapping[str, WorkspaceFile], written: Sequence[WorkspaceFile]) -> str:
    """The hash of a state with nothing but these writes on top."""
    return state_sha256({**files, **{file.path: file for file in written}})

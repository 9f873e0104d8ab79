"""Messages of workspaces: uploads checked field by field, answers and pages. Called by the artifact servicer."""

from __future__ import annotations

from typing import Literal

from adapter_service.application.workspace.read_workspace import WorkspacePage
from adapter_service.application.workspace.upload_workspace import UploadAnswer
from adapter_service.convert.common import timestamp
from adapter_service.convert.validation import Violations
from adapter_service.domain.workspace import (
    FILE_LIMIT,
    MOST_BYTES,
    MOST_FILE_BYTES,
    MOST_FILES,
    TOTAL_LIMIT,
    WorkspaceState,
    clashes,
    is_sha256,
    path_trouble,
)
from adapter_service.sdk import WorkspaceFile
from handrail.adapter.v1 import artifact_service_pb2 as pb2
from handrail.adapter.v1 import workspace_pb2
from handrail_rpc.digest import sha256_hex

CHUNK_BYTES = 64 * 1024
MOST_PAGE = 1000
DEFAULT_PAGE = 200
_MOST_TOKEN_CHARACTERS = 1400
_MOST_NAMED = 20
_HASH = "must be the lower-case hex SHA-256, 64 characters"


def check_upload(request: pb2.UploadWorkspaceRequest) -> Literal["file", "manifest"]:
    """Which part an UploadWorkspaceRequest has; a file's is checked whole, a manifest's by `read_manifest`."""
    bad = Violations()
    bad.identifiers(request, ("request_id", "conversation_id"))
    part = request.WhichOneof("part")
    if part is None:
        bad.add("part", "must be set: file or manifest")
    elif part == "file":
        if len(request.file.data) > MOST_FILE_BYTES:
            bad.add("file.data", f"must have at most {FILE_LIMIT}")
        elif request.file.sha256 and request.file.sha256 != sha256_hex(request.file.data):
            bad.add("file.sha256", f"{_HASH} of data")
    bad.refuse()
    assert part is not None  # refused above
    return part


def read_manifest(request: pb2.UploadWorkspaceRequest) -> tuple[WorkspaceFile, ...]:
    """The files of a manifest. Raises InvalidArgument naming the first wrong fields and the accepted form."""
    listed = request.manifest.files
    bad = Violations()
    if len(listed) > MOST_FILES:
        bad.add("manifest.files", f"must be at most {MOST_FILES}")
        bad.refuse()
    files = tuple(WorkspaceFile(each.path, each.sha256, each.size_bytes) for each in listed)
    named = 0
    for index, file in enumerate(files):
        for field, trouble in _troubles(file):
            bad.add(f"manifest.files[{index}].{field}", trouble)
            named += 1
        if named >= _MOST_NAMED:
            break
    if not named:
        for index, _, why in clashes([file.path for file in files]):
            bad.add(f"manifest.files[{index}].path", why)
            named += 1
            if named >= _MOST_NAMED:
                break
    if not named and sum(file.size_bytes for file in files) > MOST_BYTES:
        bad.add("manifest.files", f"must have at most {TOTAL_LIMIT} together")
    bad.refuse()
    return files


def _troubles(file: WorkspaceFile) -> list[tuple[str, str]]:
    found = []
    trouble = path_trouble(file.path)
    if trouble:
        found.append(("path", trouble))
    if not is_sha256(file.sha256):
        found.append(("sha256", _HASH))
    if not 0 <= file.size_bytes <= MOST_FILE_BYTES:
        found.append(("size_bytes", f"must be within 0 and {FILE_LIMIT}"))
    return found


def read_page_size(request: pb2.GetWorkspaceRequest) -> int:
    """The page size of a GetWorkspaceRequest, whose other fields are checked."""
    bad = Violations()
    bad.identifier("conversation_id", request.conversation_id)
    if len(request.page_token) > _MOST_TOKEN_CHARACTERS:
        bad.add("page_token", "must be the next_page_token of an earlier page")
    if not 0 <= request.page_size <= MOST_PAGE:
        bad.add("page_size", f"must be within 1 and {MOST_PAGE}, or 0 for {DEFAULT_PAGE}")
    bad.refuse()
    return request.page_size or DEFAULT_PAGE


def check_read_file(request: pb2.ReadWorkspaceFileRequest) -> None:
    """A ReadWorkspaceFileRequest."""
    bad = Violations()
    bad.identifier("conversation_id", request.conversation_id)
    trouble = path_trouble(request.path)
    if trouble:
        bad.add("path", trouble)
    bad.at_least("offset", request.offset, 0)
    bad.refuse()


def upload_answer(answer: UploadAnswer) -> pb2.UploadWorkspaceResponse:
    """UploadWorkspaceResponse."""
    message = pb2.UploadWorkspaceResponse(sha256=answer.sha256, missing_sha256s=answer.missing)
    if answer.workspace is not None:
        message.workspace.CopyFrom(workspace(answer.workspace))
    return message


def workspace_page(page: WorkspacePage) -> pb2.GetWorkspaceResponse:
    """GetWorkspaceResponse."""
    return pb2.GetWorkspaceResponse(
        workspace=workspace(page.state),
        files=[workspace_file(file) for file in page.files],
        next_page_token=page.next_page_token,
    )


def workspace(state: WorkspaceState) -> workspace_pb2.Workspace:
    """Workspace."""
    return workspace_pb2.Workspace(
        workspace_snapshot_id=state.snapshot_id,
        source=workspace_pb2.WorkspaceSource.Value(f"WORKSPACE_SOURCE_{state.source}"),
        workspace_generation=state.generation,
        workspace_snapshot_sha256=state.sha256,
        documentation_version=state.documentation_version,
        file_count=state.file_count,
        size_bytes=state.size_bytes,
        create_time=timestamp(state.create_time),
    )


def workspace_file(file: WorkspaceFile) -> workspace_pb2.WorkspaceFile:
    """WorkspaceFile."""
    return workspace_pb2.WorkspaceFile(path=file.path, sha256=file.sha256, size_bytes=file.size_bytes)

"""A running Adapter with the pages domain, and uploads to any ArtifactService as a good client makes them."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from handrail.adapter.v1 import artifact_service_pb2 as pb
from handrail.adapter.v1 import workspace_pb2
from tests.fakes.adapter_harness import Driver, Probe, running_probe
from tests.fakes.pages_domain import FOLDER_SETTING, PagesWorld, make_pages_domain

_numbers = itertools.count(1)


@dataclass
class Pages:
    """The Adapter, its world, and the folder that conversations without an upload work on (None: there is none)."""

    probe: Probe
    world: PagesWorld
    folder: Path | None

    async def open(self, conversation_id: str = "conv_1", **more: Any) -> Driver:
        """A new interaction in a conversation."""
        return await self.probe.open(conversation_id, domain="pages", **more)

    async def upload(self, files: Mapping[str, str], conversation_id: str = "conv_1") -> workspace_pb2.Workspace:
        """Upload these texts as the whole workspace of a conversation, which has a session."""
        return await upload(self.probe.artifacts, files, conversation_id)

    async def state(self, conversation_id: str = "conv_1") -> workspace_pb2.Workspace:
        """The workspace as it is now."""
        answer = await self.probe.artifacts.GetWorkspace(pb.GetWorkspaceRequest(conversation_id=conversation_id))
        return answer.workspace

    async def texts(self, conversation_id: str = "conv_1") -> dict[str, str]:
        """Every file of the workspace as it is now."""
        return await read_texts(self.probe.artifacts, conversation_id)

    def write(self, path: str, text: str) -> None:
        """Somebody writes to the folder."""
        assert self.folder is not None
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text)


@asynccontextmanager
async def running_pages(
    folder: Path, monkeypatch: pytest.MonkeyPatch, files: Mapping[str, str] | None = None, **settings: Any
) -> AsyncIterator[Pages]:
    """`files` None: no folder is set. `settings` are the Adapter's."""
    world = PagesWorld()
    workspace = None
    if files is not None:
        workspace = folder / "workspace"
        workspace.mkdir(parents=True)
        monkeypatch.setenv(FOLDER_SETTING, str(workspace))
    async with running_probe(folder / "data", adapt=lambda _probe: make_pages_domain(world), **settings) as probe:
        pages = Pages(probe, world, workspace)
        for path, text in (files or {}).items():
            pages.write(path, text)
        yield pages


def sha256(text: str | bytes) -> str:
    """Lower-case hex."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def manifest(files: Mapping[str, str]) -> workspace_pb2.WorkspaceManifest:
    """The manifest of these texts."""
    return workspace_pb2.WorkspaceManifest(
        files=[
            workspace_pb2.WorkspaceFile(path=path, sha256=sha256(text), size_bytes=len(text.encode()))
            for path, text in files.items()
        ]
    )


async def step(
    stub: Any, conversation_id: str, request_id: str = "", metadata: Any = None, **part: Any
) -> pb.UploadWorkspaceResponse:
    """One UploadWorkspace."""
    request = pb.UploadWorkspaceRequest(
        request_id=request_id or f"req_ws_{next(_numbers)}", conversation_id=conversation_id, **part
    )
    answer: pb.UploadWorkspaceResponse = await stub.UploadWorkspace(request, metadata=metadata)
    return answer


async def upload(
    stub: Any, files: Mapping[str, str], conversation_id: str, metadata: Any = None
) -> workspace_pb2.Workspace:
    """The manifest, what is missing, the manifest again."""
    by_hash = {sha256(text): text for text in files.values()}
    answer = await step(stub, conversation_id, metadata=metadata, manifest=manifest(files))
    for missing in answer.missing_sha256s:
        content = workspace_pb2.WorkspaceFileContent(data=by_hash[missing].encode(), sha256=missing)
        await step(stub, conversation_id, metadata=metadata, file=content)
    if answer.missing_sha256s:
        answer = await step(stub, conversation_id, metadata=metadata, manifest=manifest(files))
    assert answer.HasField("workspace")
    return answer.workspace


async def read_texts(stub: Any, conversation_id: str, metadata: Any = None) -> dict[str, str]:
    """Every file, page by page."""
    found: dict[str, str] = {}
    token = ""
    while True:
        request = pb.GetWorkspaceRequest(conversation_id=conversation_id, page_size=2, page_token=token)
        page = await stub.GetWorkspace(request, metadata=metadata)
        for file in page.files:
            read = pb.ReadWorkspaceFileRequest(conversation_id=conversation_id, path=file.path)
            data = b"".join([part.data async for part in stub.ReadWorkspaceFile(read, metadata=metadata)])
            assert sha256(data) == file.sha256
            found[file.path] = data.decode()
        token = page.next_page_token
        if not token:
            return found

"""A scenario of workspaces: uploaded step by step, changed by an approved publication, whatever dies meanwhile."""

from __future__ import annotations

from handrail.adapter.v1 import artifact_service_pb2 as artifacts
from handrail.adapter.v1 import workspace_pb2
from handrail_rpc.context import new_request_id
from tests.crash.actor import Actor, persist, until
from tests.crash.scenarios import Scenario, expect
from tests.crash.site import Site
from tests.fakes.workspaces import manifest, sha256

_FILES = {"checkout.md": "red", "billing.md": "blue"}


async def upload_and_publish(site: Site, actor: Actor) -> None:
    """The upload and the publication are one snapshot each, and the published text is there once."""
    await _served(actor)
    state = await _upload(actor)
    assert (state.workspace_generation, state.file_count) == (1, 2)
    asked = expect(await actor.say("set checkout to green then publish"), "approval_required")
    done = expect(await actor.approve(asked.last.approval_required), "completed")
    assert "Published checkout.md." in done.last.completed.answer.text
    rows = site.all(
        "adapter",
        "SELECT number, snapshot.sha256 FROM workspace_snapshots AS snapshot JOIN sessions USING (domain_session_id)"
        " WHERE conversation_id = ? ORDER BY number",
        actor.conversation_id,
    )
    assert [number for number, _ in rows] == [1, 2]
    assert rows[0][1] == state.workspace_snapshot_sha256
    asked_for = artifacts.GetWorkspaceRequest(conversation_id=actor.conversation_id)
    stub = actor.requester.artifacts
    page = await persist(lambda: actor.requester.call(lambda: stub.GetWorkspace(asked_for, timeout=30)))
    assert {file.path: file.sha256 for file in page.files} == {
        "billing.md": sha256("blue"),
        "checkout.md": sha256("green"),
    }


async def _served(actor: Actor) -> None:
    async def available() -> bool | None:
        return (
            True if any(each.domain == "pages" and each.available for each in await actor.requester.domains()) else None
        )

    await until(available, "the domain")


async def _upload(actor: Actor) -> workspace_pb2.Workspace:
    by_hash = {sha256(text): text.encode() for text in _FILES.values()}
    for missing in (await _step(actor, manifest=manifest(_FILES))).missing_sha256s:
        content = workspace_pb2.WorkspaceFileContent(data=by_hash[missing], sha256=missing)
        assert (await _step(actor, file=content)).sha256 == missing
    return (await _step(actor, manifest=manifest(_FILES))).workspace


async def _step(
    actor: Actor,
    *,
    file: workspace_pb2.WorkspaceFileContent | None = None,
    manifest: workspace_pb2.WorkspaceManifest | None = None,
) -> artifacts.UploadWorkspaceResponse:
    """The same request until it is answered."""
    request = artifacts.UploadWorkspaceRequest(
        request_id=new_request_id(), conversation_id=actor.conversation_id, file=file, manifest=manifest
    )
    stub = actor.requester.artifacts
    return await persist(lambda: actor.requester.call(lambda: stub.UploadWorkspace(request, timeout=30)))


WORKSPACES: dict[str, Scenario] = {upload_and_publish.__name__: upload_and_publish}

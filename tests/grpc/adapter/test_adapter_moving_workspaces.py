"""A workspace that moves under the engine itself: while it is opened, viewed, uploaded by many, and deleted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from adapter_service.application.workspace import open_workspace, upload_workspace
from adapter_service.storage.workspace_folder import FolderWorkspace, WorkspaceFolder
from handrail.adapter.v1 import artifact_service_pb2 as pb
from handrail.adapter.v1 import domain_adapter_service_pb2 as adapter_pb
from handrail.adapter.v1 import workspace_pb2
from handrail.common.v1 import tool_pb2
from handrail_rpc.errors import NotFound, ResourceExhausted, Unavailable
from tests.fakes.adapter_harness import refusal
from tests.fakes.workbench import running_workbench
from tests.fakes.workspaces import Pages, manifest, running_pages, sha256, step
from tests.unit.workbench_planner.folder import make_folder

FILES = {"checkout.md": "red", "billing.md": "blue"}
CONTENT = workspace_pb2.WorkspaceFileContent


@pytest.fixture
async def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Pages]:
    """With a folder."""
    async with running_pages(tmp_path, monkeypatch, FILES) as running:
        yield running


def edits(pages: Pages, times: int) -> Callable[[Any], None]:
    """Somebody saves a file right after the engine has looked at the folder, so many times; the view then reads it."""
    left = [times]

    def prepare(workspace: Any) -> None:
        if left[0]:
            left[0] -= 1
            pages.write("checkout.md", f"edit {left[0]}")
        workspace.read("checkout.md")

    return prepare


async def test_a_file_that_is_saved_while_the_view_is_made_breaks_no_request(pages: Pages) -> None:
    driver = await pages.open()
    pages.world.on_prepare = edits(pages, 2)
    await driver.say("read checkout")
    assert driver.last.WhichOneof("outcome") == "call_tool"
    pages.world.on_prepare = edits(pages, 2)
    outcome = await driver.execute(driver.last.call_tool.calls[0])
    assert outcome.outcome == tool_pb2.OUTCOME_SUCCEEDED
    pages.world.on_prepare = edits(pages, 2)
    state = await pages.state()
    assert state.file_count == 2
    assert pages.world.prepared == 9


async def test_a_folder_that_changes_all_the_time_is_unavailable(pages: Pages) -> None:
    driver = await pages.open()
    await driver.say("read checkout")
    pages.world.on_prepare = edits(pages, 1_000)
    outcome = await driver.execute(driver.last.call_tool.calls[0])
    assert (outcome.failure.source_code, outcome.failure.retryable) == ("workspace_changing", True)
    refused = await refusal(pages.state())
    assert (type(refused), refused.reason) == (Unavailable, "WORKSPACE_CHANGING")
    refused = await refusal((await pages.open()).say("list"))
    assert (type(refused), refused.reason) == (Unavailable, "SESSION_BUSY")


async def test_an_upload_between_opening_and_loading_is_what_the_decision_is_made_in(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder was opened, then the conversation got an upload: the newest snapshot counts (C10)."""
    driver = await pages.open()
    loop = asyncio.get_running_loop()
    real = open_workspace.OpenWorkspaces.open_now
    uploaded: list[workspace_pb2.Workspace] = []

    def then_uploaded(self: Any, *given: Any) -> Any:
        opened = real(self, *given)
        if not uploaded:
            coming = pages.upload({"checkout.txt": "green"})
            uploaded.append(asyncio.run_coroutine_threadsafe(coming, loop).result(30))
        return opened

    monkeypatch.setattr(open_workspace.OpenWorkspaces, "open_now", then_uploaded)
    decision = await driver.say("read checkout")
    assert decision.context.workspace_snapshot_sha256 == uploaded[0].workspace_snapshot_sha256
    assert decision.context.workspace_generation == uploaded[0].workspace_generation == 1
    assert "checkout.txt says green" in (await driver.run()).complete.answer.text


async def test_an_upload_takes_the_place_of_the_folder_under_an_open_approval(pages: Pages) -> None:
    driver = await pages.open()
    await driver.say("set checkout to green then publish")
    await driver.run()
    assert driver.last.WhichOneof("outcome") == "request_approval"
    await pages.upload({"checkout.md": "other", "billing.md": "blue"})
    await driver.resolve(1)
    await driver.run()
    assert driver.last.request_approval.change_ref.endswith(sha256("other"))
    assert pages.folder is not None
    assert (pages.folder / "checkout.md").read_text() == "red"
    # The draft was made from the folder's page: it replaces neither that nor the uploaded one.
    await driver.resolve(1)
    await driver.run()
    assert (await pages.texts())["checkout.md"] == "other"
    assert (pages.folder / "checkout.md").read_text() == "red"


async def test_what_changed_between_the_call_and_the_next_decision_is_read_again(pages: Pages) -> None:
    """The Loop may have been away in between: what follows from the reading works on the page as it is."""
    driver = await pages.open()
    await driver.say("read checkout then count")
    outcome = await driver.execute(driver.last.call_tool.calls[0])
    pages.write("checkout.md", "red and green")
    decision = await driver.finish(outcome)
    assert [call.tool for call in decision.call_tool.calls] == ["read_page"]
    text = (await driver.run()).complete.answer.text
    assert "says red and green" in text
    assert "3 words" in text
    assert pages.world.reads == ["checkout.md", "checkout.md"]


async def test_twenty_clients_at_once_lose_nothing(pages: Pages) -> None:
    """Each with a manifest of its own in one conversation: each is answered, and the last to be taken is whole."""
    await pages.open()
    wanted = [{f"page-{number}.md": f"text {number}", "shared.md": "shared"} for number in range(20)]
    states = await asyncio.gather(*(pages.upload(files) for files in wanted))
    assert sorted(state.workspace_generation for state in states) == list(range(1, 21))
    newest = next(number for number, state in enumerate(states) if state.workspace_generation == 20)
    assert await pages.texts() == wanted[newest]


async def test_one_request_that_is_sent_twenty_times_at_once_has_one_answer(pages: Pages) -> None:
    await pages.open()
    stub = pages.probe.artifacts
    for text in FILES.values():
        await step(stub, "conv_1", file=CONTENT(data=text.encode()))
    answers = await asyncio.gather(*(step(stub, "conv_1", "req_same", manifest=manifest(FILES)) for _ in range(20)))
    assert all(answer == answers[0] for answer in answers)
    assert pages.probe.sql("SELECT count(*) FROM workspace_snapshots") == [(1,)]


async def test_nothing_of_an_upload_stays_where_the_session_is_deleted_in_the_middle(pages: Pages) -> None:
    await pages.open()

    async def send(number: int) -> None:
        await step(pages.probe.artifacts, "conv_1", file=CONTENT(data=f"text {number}".encode()))

    sending = [asyncio.create_task(send(number)) for number in range(40)]
    await asyncio.wait(sending, return_when=asyncio.FIRST_COMPLETED)
    request = adapter_pb.DeleteSessionRequest(request_id="req_d", domain="pages", conversation_id="conv_1")
    assert (await pages.probe.stub.DeleteSession(request)).erased
    for result in await asyncio.gather(*sending, return_exceptions=True):
        assert result is None or isinstance(await _as_refusal(result), NotFound)
    for table in ("workspace_contents", "workspace_requests", "workspace_snapshots", "session_workspaces"):
        assert pages.probe.sql(f"SELECT count(*) FROM {table}") == [(0,)]


async def _as_refusal(error: BaseException) -> Any:
    async def again() -> None:
        raise error

    return await refusal(again())


async def test_how_many_contents_a_conversation_may_keep_is_limited(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    await pages.open()
    stub = pages.probe.artifacts
    monkeypatch.setattr(upload_workspace, "MOST_STORED", 2)
    for data in (b"red", b""):
        await step(stub, "conv_1", file=CONTENT(data=data))
    refused = await refusal(step(stub, "conv_1", file=CONTENT(data=b"x")))
    assert (type(refused), refused.reason) == (ResourceExhausted, "WORKSPACE_STORAGE_FULL")
    # What is there already needs no room.
    assert (await step(stub, "conv_1", file=CONTENT(data=b"red"))).sha256 == sha256("red")


async def test_a_manifest_cannot_lie_about_a_file(pages: Pages) -> None:
    """The hash of other bytes is missing, the size of other bytes is refused, and nothing is changed by either."""
    await pages.open()
    before = await pages.upload(FILES)
    lying = manifest(FILES)
    lying.files[0].sha256 = sha256("something else")
    answer = await step(pages.probe.artifacts, "conv_1", manifest=lying)
    assert answer.missing_sha256s == [sha256("something else")]
    assert (await pages.state()).workspace_snapshot_sha256 == before.workspace_snapshot_sha256
    shown = await pages.probe.artifacts.GetWorkspace(pb.GetWorkspaceRequest(conversation_id="conv_1"))
    assert {file.path: file.size_bytes for file in shown.files} == {"checkout.md": 3, "billing.md": 4}


async def test_a_document_that_is_saved_while_it_is_indexed_is_not_taken_for_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The workbench over a folder: its index reads after the folder was looked at."""
    async with running_workbench(tmp_path, monkeypatch, make_folder) as workbench:
        real = WorkspaceFolder.open
        text = workbench.read("services/checkout.yaml")
        saved: list[str] = []

        def saved_twice(self: WorkspaceFolder) -> FolderWorkspace:
            if saved:
                return real(self)
            saved.append("once")
            workbench.write("services/checkout.yaml", f"{text}# saved once\n")
            state = real(self)
            workbench.write("services/checkout.yaml", f"{text}# saved twice\n")
            return state

        monkeypatch.setattr(WorkspaceFolder, "open", saved_twice)
        assert "# saved twice" in (await workbench.answer("show service checkout")).text
        assert saved

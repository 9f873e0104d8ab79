"""Workspaces of the Adapter: uploads step by step, what GetWorkspace shows, generation and hash with each decision."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from adapter_service.application.workspace import upload_workspace
from adapter_service.domains.workbench import create_domain
from adapter_service.sdk import DomainEnvironment
from handrail.adapter.v1 import artifact_service_pb2 as pb
from handrail.adapter.v1 import domain_adapter_service_pb2 as adapter_pb
from handrail.adapter.v1 import workspace_pb2
from handrail_rpc.errors import (
    AlreadyExists,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    OutOfRange,
    ResourceExhausted,
    StartRefused,
    Unavailable,
)
from tests.fakes.adapter_harness import FakeClock, refusal, running_probe
from tests.fakes.pages_domain import FOLDER_SETTING
from tests.fakes.processes import poll
from tests.fakes.workspaces import Pages, manifest, running_pages, sha256, step, upload
from tests.grpc.adapter.test_adapter_deletion import traces

FILES = {"docs/guide.md": "# Guide", "checkout.md": "red", "billing.md": "blue"}
CONTENT = workspace_pb2.WorkspaceFileContent


@pytest.fixture
async def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Pages]:
    """Without a folder."""
    async with running_pages(tmp_path, monkeypatch) as running:
        yield running


async def test_an_upload_is_files_one_by_one_and_a_manifest(pages: Pages) -> None:
    await pages.open()
    stub = pages.probe.artifacts
    first = await step(stub, "conv_1", manifest=manifest(FILES))
    assert sorted(first.missing_sha256s) == sorted(sha256(text) for text in FILES.values())
    assert not first.HasField("workspace")
    assert (await pages.state()).file_count == 0  # nothing changes before a manifest is complete
    sent = await step(stub, "conv_1", file=CONTENT(data=b"red"))
    assert sent.sha256 == sha256("red")
    workspace = await pages.upload(FILES)
    assert workspace.source == workspace_pb2.WORKSPACE_SOURCE_UPLOAD
    assert (workspace.file_count, workspace.size_bytes, workspace.workspace_generation) == (3, 14, 1)
    assert await pages.texts() == FILES
    assert (await pages.state()).workspace_snapshot_id == workspace.workspace_snapshot_id


async def test_only_what_changed_is_sent_again_and_equal_states_are_one_snapshot(pages: Pages) -> None:
    await pages.open()
    first = await pages.upload(FILES)
    again = await pages.upload(FILES)
    assert again == first
    changed = {**FILES, "checkout.md": "green"}
    answer = await step(pages.probe.artifacts, "conv_1", manifest=manifest(changed))
    assert answer.missing_sha256s == [sha256("green")]
    second = await pages.upload(changed)
    assert second.workspace_generation == 2
    assert second.workspace_snapshot_id != first.workspace_snapshot_id
    back = await pages.upload(FILES)  # its bytes are still kept
    assert (back.workspace_generation, back.workspace_snapshot_sha256) == (3, first.workspace_snapshot_sha256)
    assert await pages.texts() == FILES


async def test_naming_a_hash_does_not_give_what_only_another_conversation_has(pages: Pages) -> None:
    await pages.open("conv_1")
    await pages.open("conv_2")
    await pages.upload({"secret.md": "treasure"}, "conv_1")
    answer = await step(pages.probe.artifacts, "conv_2", manifest=manifest({"mine.md": "treasure"}))
    assert answer.missing_sha256s == [sha256("treasure")]
    assert (await pages.state("conv_2")).file_count == 0


async def test_a_repeated_step_has_the_same_answer_and_another_body_is_refused(pages: Pages) -> None:
    await pages.open()
    stub = pages.probe.artifacts
    missing = await step(stub, "conv_1", "req_a", manifest=manifest(FILES))
    workspace = await pages.upload(FILES)
    assert await step(stub, "conv_1", "req_a", manifest=manifest(FILES)) == missing
    done = await step(stub, "conv_1", "req_b", manifest=manifest(FILES))
    assert done.workspace == workspace
    await pages.upload({"a.md": "other"})
    assert await step(stub, "conv_1", "req_b", manifest=manifest(FILES)) == done
    assert isinstance(await refusal(step(stub, "conv_1", "req_b", file=CONTENT(data=b"x"))), AlreadyExists)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("", "empty"),
        ("/etc/passwd", "relative"),
        ("a//b", "relative"),
        ("a/../b", ".."),
        ("./a", ". and .."),
        ("a\\b", "backslash"),
        ("a\nb", "control"),
        ("e\u0301.md", "NFC"),
        ("x" * 241, "240"),
        (".git/config", "dot"),
        ("CHECKOUT.md", "case only"),
        ("checkout.md", "once"),
        ("checkout.md/below", "folder"),
    ],
)
async def test_a_path_that_a_workspace_does_not_take_is_named_with_the_form(pages: Pages, path: str, says: str) -> None:
    await pages.open()
    asked = manifest({"billing.md": "blue", "checkout.md": "red"})
    asked.files.add(path=path, sha256=sha256("x"), size_bytes=1)
    refused = await refusal(step(pages.probe.artifacts, "conv_1", manifest=asked))
    assert isinstance(refused, InvalidArgument)
    [violation] = refused.field_violations
    assert violation.field.startswith("manifest.files[")
    assert violation.field.endswith("].path")
    assert says in violation.description


async def test_limits_hashes_and_sizes_are_checked_and_named(pages: Pages) -> None:
    await pages.open()
    stub = pages.probe.artifacts
    large = await refusal(step(stub, "conv_1", file=CONTENT(data=bytes(2 * 1024 * 1024 + 1))))
    assert isinstance(large, InvalidArgument)
    assert "2 MiB" in large.message
    assert "file.data" in large.message
    wrong = await refusal(step(stub, "conv_1", file=CONTENT(data=b"a", sha256=sha256("b"))))
    assert isinstance(wrong, InvalidArgument)
    assert "file.sha256" in wrong.message
    for field, value in (("sha256", "ABC"), ("size_bytes", -1), ("size_bytes", 2 * 1024 * 1024 + 1)):
        asked = manifest({"a.md": "a"})
        setattr(asked.files[0], field, value)
        refused = await refusal(step(stub, "conv_1", manifest=asked))
        assert isinstance(refused, InvalidArgument)
        assert f"manifest.files[0].{field}" in refused.message
    many = workspace_pb2.WorkspaceManifest(files=[workspace_pb2.WorkspaceFile()] * 20_001)
    assert "20000" in (await refusal(step(stub, "conv_1", manifest=many))).message
    full = manifest({})
    for number in range(101):
        full.files.add(path=f"{number}", sha256=sha256("a"), size_bytes=2 * 1024 * 1024)
    assert "200 MiB" in (await refusal(step(stub, "conv_1", manifest=full))).message
    await step(stub, "conv_1", file=CONTENT(data=b"abc"))
    asked = manifest({"a.md": "abc"})
    asked.files[0].size_bytes = 4
    refused = await refusal(step(stub, "conv_1", manifest=asked))
    assert isinstance(refused, InvalidArgument)
    assert "manifest.files[0].size_bytes: must be 3" in refused.message
    assert isinstance(await refusal(step(stub, "conv_1")), InvalidArgument)
    exact = await step(stub, "conv_1", file=CONTENT(data=bytes(2 * 1024 * 1024)))
    assert exact.sha256 == sha256(bytes(2 * 1024 * 1024))


async def test_what_a_conversation_may_keep_is_limited(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    await pages.open("conv_1")
    await pages.open("conv_2")
    stub = pages.probe.artifacts
    monkeypatch.setattr(upload_workspace, "MOST_STORED_BYTES", 3)
    await step(stub, "conv_1", file=CONTENT(data=b"red"))
    refused = await refusal(step(stub, "conv_1", file=CONTENT(data=b"x")))
    assert (type(refused), refused.reason) == (ResourceExhausted, "WORKSPACE_STORAGE_FULL")
    assert "400 MiB" in refused.message
    await step(stub, "conv_2", file=CONTENT(data=b"x"))
    monkeypatch.setattr(upload_workspace, "MOST_ANSWER_BYTES", 200)
    await step(stub, "conv_2", manifest=manifest(FILES))
    refused = await refusal(step(stub, "conv_2", manifest=manifest({"other.md": "y"})))
    assert (type(refused), refused.reason) == (ResourceExhausted, "WORKSPACE_STORAGE_FULL")
    done = await step(stub, "conv_2", manifest=manifest({"other.md": "x"}))
    assert done.workspace.file_count == 1


async def test_unknown_conversations_and_files_are_not_found(pages: Pages) -> None:
    await pages.open()
    await pages.upload(FILES)
    stub = pages.probe.artifacts
    assert isinstance(await refusal(step(stub, "conv_x", manifest=manifest(FILES))), NotFound)
    assert isinstance(await refusal(stub.GetWorkspace(pb.GetWorkspaceRequest(conversation_id="conv_x"))), NotFound)

    async def read(path: str = "checkout.md", offset: int = 0) -> bytes:
        request = pb.ReadWorkspaceFileRequest(conversation_id="conv_1", path=path, offset=offset)
        return b"".join([part.data async for part in stub.ReadWorkspaceFile(request)])

    assert await read(offset=1) == b"ed"
    assert await read(offset=3) == b""
    assert isinstance(await refusal(read(offset=4)), OutOfRange)
    assert isinstance(await refusal(read(path="nothing.md")), NotFound)
    assert isinstance(await refusal(read(path="../x")), InvalidArgument)
    made_up = pb.GetWorkspaceRequest(conversation_id="conv_1", page_token="p!")
    assert isinstance(await refusal(stub.GetWorkspace(made_up)), InvalidArgument)


async def test_a_domain_without_workspaces_says_so_and_pays_nothing(tmp_path: Path) -> None:
    async with running_probe(tmp_path) as probe:
        driver = await probe.open()
        refused = await refusal(step(probe.artifacts, "conv_1", manifest=manifest(FILES)))
        assert isinstance(refused, FailedPrecondition)
        assert "no workspace" in refused.message
        asked = pb.GetWorkspaceRequest(conversation_id="conv_1")
        assert isinstance(await refusal(probe.artifacts.GetWorkspace(asked)), FailedPrecondition)
        decision = await driver.say("look Berlin")
        await driver.run()
        assert decision.context.workspace_generation == 0
        assert not decision.context.workspace_snapshot_sha256
        assert probe.sql("SELECT count(*) FROM session_workspaces") == [(0,)]
        assert probe.sql("SELECT DISTINCT workspace_sha256 FROM interactions") == [("",)]


async def test_each_decision_and_the_session_tell_the_workspace(pages: Pages) -> None:
    driver = await pages.open()
    first = await pages.upload(FILES)
    decision = await driver.say("read checkout")
    assert decision.context.workspace_snapshot_sha256 == first.workspace_snapshot_sha256
    assert decision.context.workspace_generation == 1
    assert decision.context.documentation_version == sha256("# Guide")[:8]
    await pages.upload({**FILES, "docs/guide.md": "# Other"})
    done = await driver.run()
    assert done.complete.answer.text == "checkout.md says red."
    assert done.context.workspace_generation == 2
    assert done.context.documentation_version == sha256("# Other")[:8]
    request = adapter_pb.GetSessionRequest(domain_session_id=driver.session_id, caller=driver.principal())
    shown = (await pages.probe.stub.GetSession(request)).session.workspace
    assert shown == await pages.state()
    assert shown.workspace_generation == 2
    assert shown.documentation_version == sha256("# Other")[:8]


async def test_a_message_names_a_snapshot_of_its_conversation(pages: Pages) -> None:
    driver = await pages.open()
    first = await pages.upload(FILES)
    await pages.upload({**FILES, "checkout.md": "green"})
    await driver.say("read checkout", workspace_snapshot_id=first.workspace_snapshot_id)
    assert "says green" in (await driver.run()).complete.answer.text  # the newest one is used
    other = await pages.open("conv_2")
    failed = await other.say("list", workspace_snapshot_id=first.workspace_snapshot_id)
    assert failed.fail.failure.code == "workspace_snapshot_unknown"
    assert failed.fail.failure.helpful_action


async def test_an_upload_while_a_decision_is_computed_is_what_it_is_made_in(pages: Pages) -> None:
    """The newest uploaded snapshot counts, also where it came in the middle (C10)."""
    driver = await pages.open()
    await pages.upload(FILES)
    begun, gate = threading.Event(), threading.Event()

    def hold_once() -> None:
        if not begun.is_set():
            begun.set()
            gate.wait(30)

    pages.world.before_planning = hold_once
    saying = asyncio.create_task(driver.say("read checkout"))
    assert await asyncio.to_thread(begun.wait, 10)
    newest = await pages.upload({"checkout.txt": "green"})
    gate.set()
    decision = await saying
    assert decision.context.workspace_snapshot_sha256 == newest.workspace_snapshot_sha256
    assert "checkout.txt says green" in (await driver.run()).complete.answer.text


async def test_what_no_snapshot_has_is_dropped_after_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running_pages(tmp_path, monkeypatch, housekeeping_seconds=0.02) as pages:
        await pages.open()
        await step(pages.probe.artifacts, "conv_1", file=CONTENT(data=b"staged"))
        await pages.upload(FILES)
        await pages.upload({"checkout.md": "red"})
        pages.probe.clock.advance(timedelta(hours=23))
        await step(pages.probe.artifacts, "conv_1", file=CONTENT(data=b"later"))
        pages.probe.clock.advance(timedelta(hours=1))

        async def dropped() -> bool:
            return len(pages.probe.sql("SELECT sha256 FROM workspace_contents")) == 2

        await poll(dropped, "the old contents to be dropped")
        left = {row[0] for row in pages.probe.sql("SELECT sha256 FROM workspace_contents")}
        assert left == {sha256("red"), sha256("later")}
        assert len(pages.probe.sql("SELECT * FROM workspace_requests")) == 1
        assert await pages.texts() == {"checkout.md": "red"}


async def test_deleting_the_session_erases_uploads_and_lets_the_domain_forget(pages: Pages) -> None:
    driver = await pages.open()
    await pages.upload({"checkout.md": "zanzibar"})
    await driver.say("read checkout")
    await driver.run()
    folder = pages.probe.settings.data_dir
    assert traces(folder, "zanzibar")
    request = adapter_pb.DeleteSessionRequest(request_id="req_d", domain="pages", conversation_id="conv_1")
    assert (await pages.probe.stub.DeleteSession(request)).erased
    assert traces(folder, "zanzibar") == []
    assert pages.world.forgotten == [f"upload-{driver.session_id}"]
    assert isinstance(await refusal(step(pages.probe.artifacts, "conv_1", file=CONTENT(data=b"x"))), NotFound)


async def test_a_deletion_is_not_done_before_the_domain_has_forgotten(pages: Pages) -> None:
    await pages.open()
    await pages.upload(FILES)
    pages.world.cannot_forget = True
    request = adapter_pb.DeleteSessionRequest(request_id="req_d", domain="pages", conversation_id="conv_1")
    refused = await refusal(pages.probe.stub.DeleteSession(request))
    assert isinstance(refused, Unavailable)
    assert "secret" not in refused.message
    pages.world.cannot_forget = False
    await pages.probe.stub.DeleteSession(request)
    assert len(pages.world.forgotten) == 1


async def test_a_folder_that_is_away_is_unavailable_until_it_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running_pages(tmp_path, monkeypatch, FILES) as pages:
        driver = await pages.open()
        await driver.say("read checkout")
        assert pages.folder is not None
        away = pages.folder.rename(tmp_path / "away")
        asked = pb.GetWorkspaceRequest(conversation_id="conv_1")
        for call in (pages.probe.artifacts.GetWorkspace(asked), (await pages.open()).say("list")):
            refused = await refusal(call)
            assert (type(refused), refused.reason) == (Unavailable, "WORKSPACE_UNAVAILABLE")
        outcome = await driver.execute(driver.last.call_tool.calls[0])
        assert (outcome.failure.source_code, outcome.failure.retryable) == ("workspace_unavailable", True)
        away.rename(pages.folder)
        assert await pages.texts() == FILES


async def test_a_wrong_folder_stops_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_SETTING, str(tmp_path / "missing"))
    with pytest.raises(StartRefused, match=f"{FOLDER_SETTING}.*must be the path of a folder"):
        async with running_pages(tmp_path, monkeypatch):
            pass


async def test_deleting_the_session_leaves_nothing_of_the_upload_in_the_workbenchs_index(tmp_path: Path) -> None:
    clock = FakeClock()
    (tmp_path / "domains" / "workbench").mkdir(parents=True)
    workbench = create_domain(DomainEnvironment(tmp_path / "domains" / "workbench", clock, {}))
    async with running_probe(tmp_path, clock=clock, adapt=lambda _probe: workbench) as probe:
        driver = await probe.open(domain="workbench")
        await upload(probe.artifacts, {"docs/guide.md": "# Retries\n\nA zanzibar is retried.\n"}, "conv_1")
        await driver.say("what do the docs say about retries?")
        assert "zanzibar" in (await driver.run()).complete.answer.text
        assert any(".sqlite" in name for name in traces(tmp_path, "zanzibar"))
        request = adapter_pb.DeleteSessionRequest(request_id="req_d", domain="workbench", conversation_id="conv_1")
        assert (await probe.stub.DeleteSession(request)).erased
        assert traces(tmp_path, "zanzibar") == []

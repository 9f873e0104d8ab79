"""Workspaces through gateway, Loop and Adapter: authorised, forwarded, uploaded from the command line, erased."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.bootstrap import build_gateway
from gateway.config import GatewaySettings
from handrail.adapter.v1 import artifact_service_pb2 as pb
from handrail.adapter.v1 import artifact_service_pb2_grpc, workspace_pb2
from handrail.loop.v1 import workflow_loop_service_pb2 as loop_pb
from handrail_rpc.channel import open_channel
from handrail_rpc.errors import FailedPrecondition, InvalidArgument, NotFound, Unavailable
from handrail_rpc.settings import ListenAddress
from loop_service.clients.adapter_client import AdapterClient
from tests.fakes.adapter_harness import refusal
from tests.fakes.pages_domain import PagesWorld, make_pages_domain
from tests.fakes.workspaces import manifest, read_texts, sha256, step, upload
from tests.grpc.loop.driver import last, names
from tests.grpc.whole.running import Whole, running_whole
from tests.grpc.whole.test_deletion import delete, traces

FILES = {"checkout.md": "red", "billing.md": "blue"}
OTHER = (("x-handrail-principal", "somebody-else"),)


@asynccontextmanager
async def running(folder: Path, world: PagesWorld | None = None) -> AsyncIterator[tuple[Whole, Any]]:
    """Both services and a gateway before them; with the gateway's ArtifactService."""
    world = world or PagesWorld()
    async with running_whole(folder, adapt=lambda _probe: make_pages_domain(world), domain="pages") as whole:
        settings = GatewaySettings(listen=ListenAddress("127.0.0.1", 0), loop=whole.driver.loop.target)
        gateway = build_gateway(settings, drain_pause_seconds=0)
        await gateway.start()
        channel = open_channel(gateway.target)
        try:
            yield whole, artifact_service_pb2_grpc.ArtifactServiceStub(channel)
        finally:
            await channel.close()
            await gateway.stop()


async def interaction_of(whole: Whole, events: list[Any]) -> loop_pb.Interaction:
    request = loop_pb.GetInteractionRequest(interaction_id=events[0].interaction_id)
    return (await whole.stub.GetInteraction(request)).interaction


async def test_a_workspace_is_uploaded_before_the_first_message_and_told_with_the_interaction(tmp_path: Path) -> None:
    async with running(tmp_path) as (whole, stub):
        conversation_id = await whole.create()
        state = await upload(stub, FILES, conversation_id)
        assert await read_texts(stub, conversation_id) == FILES
        events = await whole.driver.send(
            conversation_id, "read checkout", workspace_snapshot_id=state.workspace_snapshot_id
        )
        assert "checkout.md says red" in last(events, "completed").answer.text
        context = (await interaction_of(whole, events)).context
        assert context.workspace_snapshot_sha256 == state.workspace_snapshot_sha256
        assert context.workspace_generation == 1
        await upload(stub, {**FILES, "checkout.md": "green"}, conversation_id)
        events = await whole.driver.send(conversation_id, "read checkout")
        assert "checkout.md says green" in last(events, "completed").answer.text
        assert (await interaction_of(whole, events)).context.workspace_generation == 2


async def test_a_message_with_an_unknown_snapshot_fails_readably(tmp_path: Path) -> None:
    async with running(tmp_path) as (whole, _stub):
        conversation_id = await whole.create()
        events = await whole.driver.send(conversation_id, "list", workspace_snapshot_id="wsp_unknown")
        failure = last(events, "failed").failure
        assert failure.code == "workspace_snapshot_unknown"
        assert failure.helpful_action


async def test_a_file_of_two_mebibytes_passes_and_a_larger_one_is_refused_naming_the_limit(tmp_path: Path) -> None:
    async with running(tmp_path) as (whole, stub):
        conversation_id = await whole.create()
        data = bytes(range(256)) * 8192
        content = workspace_pb2.WorkspaceFileContent(data=data)
        assert (await step(stub, conversation_id, file=content)).sha256 == sha256(data)
        whole_manifest = workspace_pb2.WorkspaceManifest()
        whole_manifest.files.add(path="large.bin", sha256=sha256(data), size_bytes=len(data))
        assert (await step(stub, conversation_id, manifest=whole_manifest)).workspace.size_bytes == len(data)
        read = pb.ReadWorkspaceFileRequest(conversation_id=conversation_id, path="large.bin")
        parts = [part async for part in stub.ReadWorkspaceFile(read)]
        assert b"".join(part.data for part in parts) == data
        assert max(len(part.data) for part in parts) <= 64 * 1024
        content.data = data + b"x"
        refused = await refusal(step(stub, conversation_id, file=content))
        assert isinstance(refused, InvalidArgument)
        assert "file.data: must have at most 2 MiB" in refused.message


async def test_the_largest_manifest_passes(tmp_path: Path) -> None:
    async with running(tmp_path) as (whole, stub):
        conversation_id = await whole.create()
        largest = workspace_pb2.WorkspaceManifest()
        for number in range(20_000):
            largest.files.add(path=f"{number:05}/{'x' * 234}", sha256=sha256(str(number)), size_bytes=1)
        answer = await step(stub, conversation_id, manifest=largest)
        assert len(answer.missing_sha256s) == 20_000


async def test_another_principals_workspace_is_not_found(tmp_path: Path) -> None:
    async with running(tmp_path) as (whole, stub):
        conversation_id = await whole.create()
        await upload(stub, FILES, conversation_id)
        asked = pb.GetWorkspaceRequest(conversation_id=conversation_id)
        read = pb.ReadWorkspaceFileRequest(conversation_id=conversation_id, path="checkout.md")

        async def read_all() -> None:
            async for _ in stub.ReadWorkspaceFile(read, metadata=OTHER):
                pass

        for call in (
            stub.GetWorkspace(asked, metadata=OTHER),
            read_all(),
            step(stub, conversation_id, metadata=OTHER, manifest=manifest(FILES)),
            stub.GetWorkspace(pb.GetWorkspaceRequest(conversation_id="conv_nothing")),
        ):
            assert isinstance(await refusal(call), NotFound)


async def test_conversations_of_a_domain_without_workspaces_say_so(tmp_path: Path) -> None:
    async with running_whole(tmp_path) as whole:
        conversation_id = await whole.create()
        stub = whole.driver.artifacts
        refused = await refusal(step(stub, conversation_id, manifest=manifest(FILES)))
        assert isinstance(refused, FailedPrecondition)
        assert "no workspace" in refused.message
        asked = pb.GetWorkspaceRequest(conversation_id=conversation_id)
        assert isinstance(await refusal(stub.GetWorkspace(asked)), FailedPrecondition)


async def test_deleting_the_conversation_erases_its_upload(tmp_path: Path) -> None:
    world = PagesWorld()
    async with running(tmp_path, world) as (whole, stub):
        conversation_id = await whole.create()  # it has an upload and no message
        await upload(stub, {"checkout.md": "zanzibar"}, conversation_id)
        assert traces(tmp_path)
        await delete(whole, conversation_id)
        assert traces(tmp_path) == []
        assert len(world.forgotten) == 1
        assert isinstance(await refusal(step(stub, conversation_id, manifest=manifest(FILES))), NotFound)


@pytest.mark.parametrize("answered", [True, False])
async def test_nothing_stays_of_an_upload_to_a_conversation_that_is_deleted_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answered: bool
) -> None:
    """The deletion finds no session yet; the upload opens one after it, and its answer may be lost."""
    world = PagesWorld()
    async with running(tmp_path, world) as (whole, stub):
        conversation_id = await whole.create()
        open_workspace, upload_workspace = AdapterClient.open_workspace, AdapterClient.upload_workspace

        async def after_the_deletion(self: AdapterClient, *given: Any) -> None:
            await delete(whole, conversation_id)
            await open_workspace(self, *given)

        async def without_answer(self: AdapterClient, *given: Any) -> Any:
            answer = await upload_workspace(self, *given)
            if not answered:
                raise Unavailable("the connection is lost")
            return answer

        monkeypatch.setattr(AdapterClient, "open_workspace", after_the_deletion)
        monkeypatch.setattr(AdapterClient, "upload_workspace", without_answer)
        content = workspace_pb2.WorkspaceFileContent(data=b"zanzibar")
        assert isinstance(await refusal(step(stub, conversation_id, file=content)), NotFound)
        assert whole.probe.sql("SELECT count(*) FROM sessions WHERE erase_time IS NOT NULL") == [(1,)]
        assert traces(tmp_path) == []


async def handrail(whole: Whole, *arguments: str, lines: str = "") -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "gateway.cli",
        *arguments,
        "--address",
        whole.driver.loop.target,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await asyncio.wait_for(process.communicate(lines.encode()), 60)
    return process.returncode or 0, output.decode()


async def test_the_command_sends_only_what_is_missing_and_shows_the_workspace(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    (folder / "docs").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("hidden")
    (folder / "docs" / "guide.md").write_text("# Guide")
    (folder / "checkout.md").write_text("red")
    (folder / "large.bin").write_bytes(bytes(2 * 1024 * 1024 + 1))
    (folder / "link.md").symlink_to(folder / "checkout.md")
    async with running(tmp_path / "services") as (whole, stub):
        conversation_id = await whole.create()
        code, output = await handrail(whole, "workspace", "upload", conversation_id, str(folder))
        assert code == 0, output
        assert "sent 2 of 2 new files" in output
        assert "left out large.bin: a file has at most 2 MiB" in output
        assert await read_texts(stub, conversation_id) == {"checkout.md": "red", "docs/guide.md": "# Guide"}
        (folder / "checkout.md").write_text("green")
        code, output = await handrail(whole, "workspace", "upload", conversation_id, str(folder))
        assert code == 0
        assert "sent 1 of 1 new files" in output
        assert "generation 2: 2 files" in output
        code, output = await handrail(whole, "workspace", "show", conversation_id)
        assert code == 0
        assert "docs/guide.md" in output
        assert sha256("green")[:12] in output
        code, output = await handrail(whole, "workspace", "show", "conv_nothing")
        assert code == 2
        assert "NOT_FOUND" in output


async def test_the_command_names_what_it_leaves_out_and_what_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "guide.md").write_text("# Guide")
    with (folder / "huge.bin").open("wb") as huge:
        huge.truncate(1 << 40)  # a hole: reading it whole would not end
    os.mkfifo(folder / "pipe")
    (folder / "not-utf8-\udcff.md").write_text("x")
    async with running(tmp_path / "services") as (whole, stub):
        conversation_id = await whole.create()
        code, output = await handrail(whole, "workspace", "upload", conversation_id, str(folder))
        assert code == 0, output
        assert "left out huge.bin: a file has at most 2 MiB" in output
        assert "left out 'not-utf8-\\udcff.md': its name is no text in UTF-8" in output
        assert await read_texts(stub, conversation_id) == {"docs/guide.md": "# Guide"}
        (folder / "docs" / "GUIDE.md").write_text("# Other")
        code, output = await handrail(whole, "workspace", "upload", conversation_id, str(folder))
        assert code == 2
        assert "docs/guide.md (path): differs from “docs/GUIDE.md” in case only" in output
        assert "Traceback" not in output


async def test_the_command_downloads_what_differs_once_it_is_confirmed(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "guide.md").write_text("# Guide")
    (folder / "checkout.md").write_text("red")
    (folder / "checkout.md").chmod(0o640)
    (folder / "notes.txt").write_text("mine")
    async with running(tmp_path / "services") as (whole, stub):
        conversation_id = await whole.create()
        await upload(stub, {"checkout.md": "green", "docs/guide.md": "# Guide", "new/page.md": "new"}, conversation_id)
        ask = ("workspace", "download", conversation_id, str(folder))
        code, output = await handrail(whole, *ask, lines="n\n")
        assert code == 1, output
        assert "nothing was written" in output
        assert (folder / "checkout.md").read_text() == "red"
        assert not (folder / "new").exists()
        code, output = await handrail(whole, *ask, lines="y\n")
        assert code == 0, output
        assert "overwritten checkout.md" in output
        assert "new         new/page.md" in output
        assert "2 of 3 files written" in output
        assert (folder / "checkout.md").read_text() == "green"
        assert (folder / "checkout.md").stat().st_mode & 0o777 == 0o640
        assert (folder / "new" / "page.md").read_text() == "new"
        assert (folder / "notes.txt").read_text() == "mine"
        (folder / "checkout.md").write_text("blue")
        code, output = await handrail(whole, *ask, "--force")
        assert (code, (folder / "checkout.md").read_text()) == (0, "green"), output
        assert sorted(path.name for path in folder.iterdir()) == ["checkout.md", "docs", "new", "notes.txt"]


async def test_a_chat_uploads_its_folder_first(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "checkout.md").write_text("red")
    async with running(tmp_path / "services") as (whole, _stub):
        code, output = await handrail(
            whole, "chat", "--domain", "pages", "--folder", str(folder), lines="read checkout\n/quit\n"
        )
        assert code == 0, output
        assert "generation 1: 1 files" in output
        assert "checkout.md says red" in output


async def test_a_wrong_request_is_refused_before_a_session_is_opened(tmp_path: Path) -> None:
    async with running(tmp_path) as (whole, stub):
        conversation_id = await whole.create()
        request = pb.UploadWorkspaceRequest(conversation_id=conversation_id, manifest=manifest(FILES))
        refused = await refusal(stub.UploadWorkspace(request))
        assert isinstance(refused, InvalidArgument)
        assert "request_id" in refused.message
        assert whole.probe.sql("SELECT count(*) FROM sessions") == [(0,)]


async def test_a_question_asked_again_because_of_an_upload_reaches_the_client(tmp_path: Path) -> None:
    async with running(tmp_path) as (whole, stub):
        conversation_id = await whole.create()
        await upload(stub, {"checkout.md": "red", "checkout-old.md": "grey"}, conversation_id)
        events = await whole.driver.send(conversation_id, "read checkout")
        question = last(events, "clarification_required")
        await upload(stub, {"checkout-new.md": "red", "checkout-old.md": "grey"}, conversation_id)
        reply = loop_pb.Reply(clarification_id=question.clarification_id)
        reply.selected_candidate_id = next(
            each.candidate_id for each in question.prompt.options if each.display_name == "checkout.md"
        )
        events = await whole.driver.send(conversation_id, reply=reply)
        again = last(events, "clarification_required")
        assert again.prompt.question == "“checkout.md” is no longer there. Which page?"
        assert [each.display_name for each in again.prompt.options] == ["checkout-new.md", "checkout-old.md"]
        assert names(events)[-1] == "clarification_required"

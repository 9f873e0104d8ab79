"""The workbench through gateway, Loop and Adapter as processes: question, draft, refusal, revision, diff, approval,
file.

Over a folder and over an upload, and with every process killed on the way (requirements I2, B3, E4).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from gateway.cli.client import HandrailClient, connect
from gateway.cli.processes import Stack
from handrail.adapter.v1 import artifact_service_pb2, artifact_service_pb2_grpc
from handrail.common.v1.approval_pb2 import Verdict
from handrail.loop.v1.event_pb2 import ApprovalRequired
from handrail_rpc.channel import open_channel
from handrail_rpc.context import Caller
from tests.e2e.talking import say, turn_of
from tests.fakes.processes import check_history, running_stack
from tests.fakes.workspaces import read_texts, upload
from tests.unit.workbench_planner import folder

CHECKOUT = "services/checkout.yaml"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("workbench") / "folder"
    made.mkdir()
    folder.make_folder(made)
    return made


@pytest.fixture(scope="module")
def stack(workspace: Path) -> Iterator[Stack]:
    settings = {"HANDRAIL_WORKBENCH_FOLDER": str(workspace)}
    with running_stack(workspace.parent / "data", settings) as running:
        yield running


@pytest_asyncio.fixture
async def client(stack: Stack, caller: Caller, workspace: Path) -> AsyncIterator[HandrailClient]:
    folder.make_folder(workspace)
    stack.start()
    await stack.wait_serving()
    async with connect(stack.gateway.target, caller, resume_seconds=90) as connected:
        yield connected


async def restart_everything(stack: Stack) -> None:
    for process in stack.processes:
        process.kill()
    stack.start()
    await stack.wait_serving()


async def awaiting_approval(client: HandrailClient, conversation_id: str, text: str) -> ApprovalRequired:
    turn = await say(client, conversation_id, text, "approval_required")
    return turn.last.approval_required


async def test_from_a_question_to_one_written_file_through_restarts(
    stack: Stack, client: HandrailClient, workspace: Path
) -> None:
    conversation_id = (await client.create_conversation("workbench")).conversation_id
    before = (workspace / CHECKOUT).read_text()

    answer = (
        await say(client, conversation_id, "what do the docs say about retries?", "completed")
    ).last.completed.answer
    assert [(each.path, each.anchor) for each in answer.documentation_citations] == [("docs/operations.md", "retries")]

    asked = await say(
        client, conversation_id, "set replicas to 30 in checkout and publish it", "clarification_required"
    )
    assert "at most 10" in asked.last.clarification_required.prompt.question
    await restart_everything(stack)
    approval = (await say(client, conversation_id, "3", "approval_required")).last.approval_required
    assert "+  replicas: 3   # two are enough at night" in approval.input_preview
    assert (workspace / CHECKOUT).read_text() == before

    await restart_everything(stack)
    turn = await turn_of(
        client.resolve_approval(approval.approval_id, Verdict.VERDICT_APPROVE, approval.snapshot_digest)
    )
    assert turn.ending == "completed", turn.last
    assert (workspace / CHECKOUT).read_text() == before.replace("replicas: 2 ", "replicas: 3 ")
    assert "Published: `service/checkout`" in turn.last.completed.answer.text
    kinds = [event.WhichOneof("payload") for event in await client.history(conversation_id)]
    assert kinds.count("approval_resolved") == 1
    told = {type(each).__name__ + str(each) for each in await client.audit_events(conversation_id)}
    assert any("publish_change" in each for each in told)
    check_history(await client.history(conversation_id))


async def test_a_kill_during_publication_writes_once(stack: Stack, client: HandrailClient, workspace: Path) -> None:
    conversation_id = (await client.create_conversation("workbench")).conversation_id
    before = (workspace / CHECKOUT).read_text()
    approval = await awaiting_approval(client, conversation_id, "set tracing to true in checkout and publish it")
    seen = []
    killed = False
    async for event in client.resolve_approval(
        approval.approval_id, Verdict.VERDICT_APPROVE, approval.snapshot_digest, request_id="approve-once"
    ):
        seen.append(event.WhichOneof("payload"))
        if not killed and seen[-1] == "tool_started":
            killed = True
            stack.adapter.kill()
            stack.loop.kill()
            stack.start()
    assert killed
    assert seen[-1] == "completed", seen
    assert (workspace / CHECKOUT).read_text() == before.replace("tracing: false", "tracing: true")


async def test_an_outside_edit_between_request_and_approval_is_kept(client: HandrailClient, workspace: Path) -> None:
    conversation_id = (await client.create_conversation("workbench")).conversation_id
    approval = await awaiting_approval(client, conversation_id, "set replicas to 3 in billing and publish it")
    path = workspace / "services/billing.yaml"
    edited = path.read_text().replace("2.0.1", "2.0.2")
    path.write_text(edited)
    turn = await turn_of(
        client.resolve_approval(approval.approval_id, Verdict.VERDICT_APPROVE, approval.snapshot_digest)
    )
    assert turn.ending == "clarification_required", turn.last
    assert path.read_text() == edited
    fresh = (await say(client, conversation_id, "yes", "approval_required")).last.approval_required
    assert fresh.snapshot_digest != approval.snapshot_digest
    done = await turn_of(client.resolve_approval(fresh.approval_id, Verdict.VERDICT_APPROVE, fresh.snapshot_digest))
    assert done.ending == "completed", done.last
    assert path.read_text() == edited.replace("replicas: 1", "replicas: 3")


async def test_an_upload_is_answered_from_and_published_to(
    stack: Stack, client: HandrailClient, caller: Caller, workspace: Path
) -> None:
    conversation_id = (await client.create_conversation("workbench")).conversation_id
    metadata = (("x-handrail-principal", caller.principal),)
    files = {
        "services/mail.yaml": "# mail\nname: mail\nport: 25   # as ever\n",
        "docs/mail.md": "# Mail\n\nMail uses port 25.\n",
    }
    channel = open_channel(stack.gateway.target)
    try:
        artifacts = artifact_service_pb2_grpc.ArtifactServiceStub(channel)
        await upload(artifacts, files, conversation_id, metadata=metadata)
        answer = (
            await say(client, conversation_id, "what do the docs say about mail?", "completed")
        ).last.completed.answer
        assert "> Mail uses port 25." in answer.text
        found = await say(client, conversation_id, "set port to 587 in mail and publish it", "approval_required")
        approval = found.last.approval_required
        done = await turn_of(
            client.resolve_approval(approval.approval_id, Verdict.VERDICT_APPROVE, approval.snapshot_digest)
        )
        assert done.ending == "completed", done.last
        told = done.last.completed.answer.text
        assert "this conversation's uploaded copy of services/mail.yaml" in told
        assert "handrail workspace download CONVERSATION FOLDER" in told
        texts = await read_texts(artifacts, conversation_id, metadata=metadata)
        assert texts["services/mail.yaml"] == "# mail\nname: mail\nport: 587   # as ever\n"
        diff = await artifacts.DiffArtifact(
            artifact_service_pb2.DiffArtifactRequest(
                conversation_id=conversation_id, artifact_id=approval.snapshot.artifact_id
            ),
            metadata=metadata,
        )
        assert "+port: 587   # as ever" in diff.unified_diff
    finally:
        await channel.close()
    assert not (workspace / "services/mail.yaml").exists(), "an upload is not the folder"

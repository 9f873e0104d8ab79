"""Each refused request of the issue's 'Bad input', through the gateway: its status, its reason, what it names, and
that nothing was stored. Outages and settings are in test_outages.py."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from gateway.cli.client import HandrailClient, connect
from gateway.cli.processes import Stack
from handrail.adapter.v1 import artifact_service_pb2 as artifacts
from handrail.adapter.v1 import workspace_pb2
from handrail.common.v1.approval_pb2 import Verdict
from handrail.common.v1.fact_pb2 import Fact
from handrail.loop.v1 import workflow_loop_service_pb2 as loop
from handrail_rpc.context import Caller
from tests.e2e.talking import plan_awaiting_approval, say, turn_of
from tests.fakes.processes import Refusal, refusal_of, stored


def _id() -> str:
    return uuid.uuid4().hex


class Raw:
    """Calls as they are, with the caller's headers and a request id that the refusal must repeat."""

    def __init__(self, client: HandrailClient, caller: Caller) -> None:
        self.client = client
        self.metadata = (("x-handrail-principal", caller.principal), ("x-request-id", f"bad-{_id()}"))

    async def refused(self, method: str, request: Any, metadata: tuple[tuple[str, str], ...] | None = None) -> Refusal:
        """The refusal of a call; checks what every refusal has."""
        service = self.client.artifacts if hasattr(self.client.artifacts, method) else self.client.stub
        refusal = await refusal_of(getattr(service, method)(request, metadata=metadata or self.metadata))
        assert refusal.domain == "handrail"
        assert refusal.metadata["request_id"] == dict(metadata or self.metadata)["x-request-id"]
        assert "Traceback" not in refusal.text
        assert "Error(" not in refusal.text
        return refusal


@pytest.fixture
def raw(client: HandrailClient, caller: Caller) -> Raw:
    return Raw(client, caller)


BY_ID: dict[str, tuple[Callable[[str], Any], str]] = {
    "GetConversation": (lambda i: loop.GetConversationRequest(conversation_id=i), "CONVERSATION_NOT_FOUND"),
    "ListMessages": (lambda i: loop.ListMessagesRequest(conversation_id=i), "CONVERSATION_NOT_FOUND"),
    "SendMessage": (
        lambda i: loop.SendMessageRequest(request_id=_id(), conversation_id=i, text="hello"),
        "CONVERSATION_NOT_FOUND",
    ),
    "WatchConversation": (lambda i: loop.WatchConversationRequest(conversation_id=i), "CONVERSATION_NOT_FOUND"),
    "ListAuditEvents": (lambda i: loop.ListAuditEventsRequest(conversation_id=i), "CONVERSATION_NOT_FOUND"),
    "ListArtifacts": (lambda i: artifacts.ListArtifactsRequest(conversation_id=i), "CONVERSATION_NOT_FOUND"),
    "GetArtifact": (
        lambda i: artifacts.GetArtifactRequest(conversation_id=i, artifact_id="art_1"),
        "CONVERSATION_NOT_FOUND",
    ),
    "ReadArtifact": (
        lambda i: artifacts.ReadArtifactRequest(conversation_id=i, artifact_id="art_1"),
        "CONVERSATION_NOT_FOUND",
    ),
    "GetWorkspace": (lambda i: artifacts.GetWorkspaceRequest(conversation_id=i), "CONVERSATION_NOT_FOUND"),
    "ReadWorkspaceFile": (
        lambda i: artifacts.ReadWorkspaceFileRequest(conversation_id=i, path="a.md"),
        "CONVERSATION_NOT_FOUND",
    ),
    "UploadWorkspace": (
        lambda i: artifacts.UploadWorkspaceRequest(
            request_id=_id(), conversation_id=i, manifest=workspace_pb2.WorkspaceManifest()
        ),
        "CONVERSATION_NOT_FOUND",
    ),
}
BY_INTERACTION: dict[str, Callable[[str], Any]] = {
    "GetInteraction": lambda i: loop.GetInteractionRequest(interaction_id=i),
    "CancelInteraction": lambda i: loop.CancelInteractionRequest(request_id=_id(), interaction_id=i),
    "ListAuditEvents": lambda i: loop.ListAuditEventsRequest(interaction_id=i),
}


@pytest.mark.parametrize("method", BY_ID)
async def test_an_unknown_conversation_and_another_principals_are_not_found_alike(
    raw: Raw, client: HandrailClient, handrail: Stack, method: str
) -> None:
    make, reason = BY_ID[method]
    unknown = await raw.refused(method, make("conv_unknown"))
    assert (unknown.name, unknown.reason) == ("NOT_FOUND", reason)
    assert "conv_unknown" in unknown.text
    async with connect(handrail.gateway.target, Caller(principal=f"owner-{_id()}")) as owner:
        conversation = (await owner.create_conversation("aviation")).conversation_id
        before = await stored(owner, conversation)
        foreign = await raw.refused(method, make(conversation))
        assert (foreign.name, foreign.reason) == ("NOT_FOUND", reason)
        assert foreign.text == unknown.text.replace("conv_unknown", conversation)
        assert await stored(owner, conversation) == before


@pytest.mark.parametrize("method", BY_INTERACTION)
async def test_an_unknown_interaction_and_another_principals_are_not_found_alike(
    raw: Raw, handrail: Stack, method: str
) -> None:
    make = BY_INTERACTION[method]
    unknown = await raw.refused(method, make("int_unknown"))
    assert (unknown.name, unknown.reason) == ("NOT_FOUND", "INTERACTION_NOT_FOUND")
    async with connect(handrail.gateway.target, Caller(principal=f"owner-{_id()}")) as owner:
        conversation = (await owner.create_conversation("aviation")).conversation_id
        turn = await say(owner, conversation, "Which airport is nearest to me?", "clarification_required")
        before = await stored(owner, conversation)
        foreign = await raw.refused(method, make(turn.last.interaction_id))
        assert (foreign.name, foreign.reason) == ("NOT_FOUND", "INTERACTION_NOT_FOUND")
        assert await stored(owner, conversation) == before


async def test_what_waits_in_another_principals_conversation_is_not_listed(
    client: HandrailClient, handrail: Stack
) -> None:
    """A filter, not a subject: somebody who may approve need not be the owner, so it narrows and never refuses."""
    async with connect(handrail.gateway.target, Caller(principal=f"owner-{_id()}")) as owner:
        conversation = (await owner.create_conversation("aviation")).conversation_id
        await say(owner, conversation, "Which airport is nearest to me?", "clarification_required")
        assert len(await owner.pending(conversation_id=conversation)) == 1
        assert await client.pending(conversation_id=conversation) == []
        assert await client.pending(conversation_id="conv_unknown") == []


async def test_unknown_run_approval_and_artifact_are_not_found(raw: Raw, client: HandrailClient) -> None:
    conversation = (await client.create_conversation("aviation")).conversation_id
    await say(client, conversation, "Find the airport EDDB", "completed")
    run = await raw.refused("GetRun", loop.GetRunRequest(run_id="run_unknown"))
    assert (run.name, run.reason) == ("NOT_FOUND", "RUN_NOT_FOUND")
    verdict = loop.ResolveApprovalRequest(
        request_id=_id(), approval_id="apr_unknown", verdict=Verdict.VERDICT_APPROVE, snapshot_digest="0" * 64
    )
    approval = await raw.refused("ResolveApproval", verdict)
    assert (approval.name, approval.reason) == ("NOT_FOUND", "APPROVAL_NOT_FOUND")
    for method, make in (
        ("GetArtifact", artifacts.GetArtifactRequest),
        ("ReadArtifact", artifacts.ReadArtifactRequest),
    ):
        artifact = await raw.refused(method, make(conversation_id=conversation, artifact_id="art_unknown"))
        assert (artifact.name, artifact.reason) == ("NOT_FOUND", "ARTIFACT_NOT_FOUND")


async def test_an_artifact_is_not_found_through_another_conversation(raw: Raw, client: HandrailClient) -> None:
    first = (await client.create_conversation("aviation")).conversation_id
    second = (await client.create_conversation("aviation")).conversation_id
    turn = await say(client, first, "Build a route from EDDB to EDDM", "completed")
    await say(client, second, "Find the airport EDDB", "completed")
    artifact_id = turn.of("artifact_published")[0].artifact_id
    refusal = await raw.refused(
        "ReadArtifact", artifacts.ReadArtifactRequest(conversation_id=second, artifact_id=artifact_id)
    )
    assert (refusal.name, refusal.reason) == ("NOT_FOUND", "ARTIFACT_NOT_FOUND")


@pytest.mark.parametrize(
    ("method", "request_"),
    [
        ("CreateConversation", loop.CreateConversationRequest(domain="aviation")),
        ("SendMessage", loop.SendMessageRequest(conversation_id="conv_1", text="hello")),
        (
            "ResolveApproval",
            loop.ResolveApprovalRequest(approval_id="apr_1", verdict=Verdict.VERDICT_APPROVE, snapshot_digest="0" * 64),
        ),
        ("CancelInteraction", loop.CancelInteractionRequest(interaction_id="int_1")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_change_without_request_id_is_refused(raw: Raw, method: str, request_: Any) -> None:
    refusal = await raw.refused(method, request_)
    assert refusal.name == "INVALID_ARGUMENT"
    assert "request_id" in refusal.fields


@pytest.mark.parametrize("text", ["", " \n\t "], ids=["empty", "blank"])
async def test_an_empty_text_is_refused(raw: Raw, client: HandrailClient, text: str) -> None:
    conversation = (await client.create_conversation("aviation")).conversation_id
    before = await stored(client, conversation)
    refusal = await raw.refused(
        "SendMessage", loop.SendMessageRequest(request_id=_id(), conversation_id=conversation, text=text)
    )
    assert refusal.name == "INVALID_ARGUMENT"
    assert "text" in refusal.fields
    assert await stored(client, conversation) == before


async def test_an_oversized_text_names_the_limit(raw: Raw, client: HandrailClient) -> None:
    conversation = (await client.create_conversation("aviation")).conversation_id
    limit = (await client.domains())[0].limits.max_message_characters
    before = await stored(client, conversation)
    request = loop.SendMessageRequest(request_id=_id(), conversation_id=conversation, text="я" * (limit + 1))
    refusal = await raw.refused("SendMessage", request)
    assert refusal.name == "INVALID_ARGUMENT"
    assert str(limit) in refusal.fields["text"].replace(",", "").replace(" ", "")
    assert await stored(client, conversation) == before
    turn = await say(client, conversation, "я" * limit)
    assert turn.ending, "a text of exactly the limit is accepted"


async def test_an_unknown_domain_is_refused(raw: Raw) -> None:
    refusal = await raw.refused("CreateConversation", loop.CreateConversationRequest(request_id=_id(), domain="nope"))
    assert refusal.name == "INVALID_ARGUMENT"
    assert "aviation" in refusal.fields["domain"]


async def test_malformed_metadata_is_refused(raw: Raw) -> None:
    metadata = (("x-handrail-principal", "a b"), ("x-request-id", "bad-metadata"))
    refusal = await raw.refused("ListConversations", loop.ListConversationsRequest(), metadata)
    assert (refusal.name, refusal.reason) == ("INVALID_ARGUMENT", "INVALID_METADATA")
    assert "x-handrail-principal" in refusal.fields


async def test_a_fact_without_a_source_is_refused(raw: Raw, client: HandrailClient) -> None:
    conversation = (await client.create_conversation("aviation")).conversation_id
    before = await stored(client, conversation)
    request = loop.SendMessageRequest(
        request_id=_id(), conversation_id=conversation, text="hello", facts=[Fact(name="position")]
    )
    refusal = await raw.refused("SendMessage", request)
    assert refusal.name == "INVALID_ARGUMENT"
    assert any(field.startswith("facts[0]") for field in refusal.fields), refusal.fields
    assert await stored(client, conversation) == before


async def test_an_unknown_candidate_changes_nothing_and_the_question_stays(raw: Raw, client: HandrailClient) -> None:
    conversation = (await client.create_conversation("aviation")).conversation_id
    turn = await say(
        client, conversation, "Build a route from Berlin Brandenburg to San Jose", "clarification_required"
    )
    question = turn.last.clarification_required
    before = await stored(client, conversation)

    def reply(**parts: Any) -> loop.SendMessageRequest:
        ids = {"interaction_id": turn.last.interaction_id, "clarification_id": question.clarification_id}
        return loop.SendMessageRequest(
            request_id=_id(), conversation_id=conversation, reply=loop.Reply(**(ids | parts))
        )

    candidate = await raw.refused("SendMessage", reply(selected_candidate_id="cand_unknown"))
    assert candidate.name == "INVALID_ARGUMENT"
    assert "reply.selected_candidate_id" in candidate.fields
    skipped = await raw.refused("SendMessage", reply(skip=True))
    assert skipped.name == "INVALID_ARGUMENT"
    assert "reply.skip" in skipped.fields
    unknown = await raw.refused("SendMessage", reply(clarification_id="clr_unknown", skip=True))
    assert (unknown.name, unknown.reason) == ("NOT_FOUND", "CLARIFICATION_NOT_FOUND")
    assert await stored(client, conversation) == before

    first = question.prompt.options[0]
    chosen = await turn_of(
        client.send_message(conversation, reply=reply(selected_candidate_id=first.candidate_id).reply)
    )
    assert chosen.ending == "completed", chosen.last
    messages = await client.messages(conversation)
    assert first.display_name in [each.text for each in messages if each.role == loop.ROLE_USER]
    after = await stored(client, conversation)
    closed = await raw.refused("SendMessage", reply(selected_candidate_id=first.candidate_id))
    assert closed.name == "FAILED_PRECONDITION"
    assert closed.metadata["state"] in ("answered", "completed")
    assert await stored(client, conversation) == after


async def test_verdicts_that_do_not_match_change_nothing(raw: Raw, client: HandrailClient, caller: Caller) -> None:
    conversation = (await client.create_conversation("aviation")).conversation_id
    approval = await plan_awaiting_approval(client, conversation)

    def verdict(kind: Verdict.ValueType, digest: str = approval.snapshot_digest) -> loop.ResolveApprovalRequest:
        return loop.ResolveApprovalRequest(
            request_id=_id(), approval_id=approval.approval_id, verdict=kind, snapshot_digest=digest
        )

    before = await stored(client, conversation)
    differs = await raw.refused("ResolveApproval", verdict(Verdict.VERDICT_APPROVE, "f" * 64))
    assert differs.name == "FAILED_PRECONDITION"
    assert approval.approval_id in differs.violations
    assert differs.metadata["state"] == "open"
    unspecified = await raw.refused("ResolveApproval", verdict(Verdict.VERDICT_UNSPECIFIED))
    assert unspecified.name == "INVALID_ARGUMENT"
    assert "verdict" in unspecified.fields
    malformed = await raw.refused("ResolveApproval", verdict(Verdict.VERDICT_APPROVE, "not a digest"))
    assert malformed.name in ("INVALID_ARGUMENT", "FAILED_PRECONDITION")
    foreign = await Raw(client, Caller(principal="stranger")).refused(
        "ResolveApproval",
        verdict(Verdict.VERDICT_APPROVE),
        (("x-handrail-principal", "stranger"), ("x-handrail-tenant", "elsewhere"), ("x-request-id", "bad-stranger")),
    )
    assert (foreign.name, foreign.reason) == ("NOT_FOUND", "APPROVAL_NOT_FOUND")
    assert await stored(client, conversation) == before

    rejected = await turn_of(
        client.resolve_approval(approval.approval_id, Verdict.VERDICT_REJECT, approval.snapshot_digest)
    )
    assert (rejected.ending, rejected.last.canceled.code) == ("canceled", "approval_rejected")
    after = await stored(client, conversation)
    resolved = await raw.refused("ResolveApproval", verdict(Verdict.VERDICT_APPROVE))
    assert resolved.name == "FAILED_PRECONDITION"
    assert caller.principal in resolved.text
    assert "rejected" in resolved.text
    assert await stored(client, conversation) == after


async def test_a_request_id_with_another_body_is_refused(raw: Raw, client: HandrailClient) -> None:
    request_id = _id()
    created = await client.create_conversation("aviation", "one", request_id)
    assert (await client.create_conversation("aviation", "one", request_id)) == created
    other = await raw.refused(
        "CreateConversation", loop.CreateConversationRequest(request_id=request_id, domain="aviation", title="two")
    )
    assert (other.name, other.reason) == ("ALREADY_EXISTS", "REQUEST_ID_REUSED")
    conversation = created.conversation_id
    turn = await turn_of(client.send_message(conversation, "Find the airport EDDB", request_id=request_id))
    before = await stored(client, conversation)
    replayed = await turn_of(client.send_message(conversation, "Find the airport EDDB", request_id=request_id))
    assert replayed == turn
    changed = await raw.refused(
        "SendMessage",
        loop.SendMessageRequest(request_id=request_id, conversation_id=conversation, text="Find the airport EDDM"),
    )
    assert (changed.name, changed.reason) == ("ALREADY_EXISTS", "REQUEST_ID_REUSED")
    assert await stored(client, conversation) == before


@pytest.mark.parametrize(
    "method", ["ListDomains", "ListConversations", "ListMessages", "ListPending", "ListAuditEvents", "ListArtifacts"]
)
@pytest.mark.parametrize("token", ["nonsense", "AAAA", "пусто"])
async def test_an_invalid_page_token_is_refused(raw: Raw, client: HandrailClient, method: str, token: str) -> None:
    conversation = (await client.create_conversation("aviation")).conversation_id
    await say(client, conversation, "Find the airport EDDB", "completed")
    module = artifacts if method == "ListArtifacts" else loop
    request = getattr(module, f"{method}Request")(page_token=token)
    if method in ("ListMessages", "ListAuditEvents", "ListArtifacts"):
        request.conversation_id = conversation
    refusal = await raw.refused(method, request)
    assert refusal.name == "INVALID_ARGUMENT"
    assert "page_token" in refusal.fields


@pytest.mark.parametrize("size", [-1, 201])
async def test_a_page_size_out_of_range_names_the_range(raw: Raw, size: int) -> None:
    refusal = await raw.refused("ListConversations", loop.ListConversationsRequest(page_size=size))
    assert refusal.name == "INVALID_ARGUMENT"
    assert "200" in refusal.fields["page_size"]


async def test_a_cursor_beyond_the_head_names_the_valid_range(raw: Raw, client: HandrailClient) -> None:
    conversation = (await client.create_conversation("aviation")).conversation_id
    await say(client, conversation, "Find the airport EDDB", "completed")
    head = (await client.conversation(conversation)).last_sequence
    request = loop.WatchConversationRequest(conversation_id=conversation, after_sequence=head + 1)
    refusal = await raw.refused("WatchConversation", request)
    assert refusal.name == "OUT_OF_RANGE"
    assert str(head) in refusal.text
    assert [event.WhichOneof("payload") async for event in client.watch(conversation, head)] == ["live"]
    negative = await raw.refused(
        "WatchConversation", loop.WatchConversationRequest(conversation_id=conversation, after_sequence=-1)
    )
    assert negative.name in ("INVALID_ARGUMENT", "OUT_OF_RANGE")


async def test_canceling_what_has_ended_names_its_state(raw: Raw, client: HandrailClient) -> None:
    conversation = (await client.create_conversation("aviation")).conversation_id
    turn = await say(client, conversation, "Find the airport EDDB", "completed")
    before = await stored(client, conversation)
    request = loop.CancelInteractionRequest(request_id=_id(), interaction_id=turn.last.interaction_id)
    refusal = await raw.refused("CancelInteraction", request)
    assert refusal.name == "FAILED_PRECONDITION"
    assert "completed" in refusal.violations[turn.last.interaction_id]
    assert await stored(client, conversation) == before

"""Lists, cursors, who may see what, the audit chain, and artifacts forwarded to their owner only."""

from __future__ import annotations

import asyncio
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from handrail.adapter.v1 import artifact_service_pb2
from handrail.adapter.v1 import domain_adapter_service_pb2 as adapter_pb
from handrail.common.v1 import decision_pb2, failure_pb2, tool_pb2
from handrail.loop.v1 import interaction_state_pb2
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail_rpc.audit_chain import AUDIT_SCHEME
from handrail_rpc.digest import canonical_json, sha256_hex
from handrail_rpc.errors import InvalidArgument
from loop_service.domain.audit import AuditEntry, AuditKind, chained_object
from tests.fakes.adapter import ask, call, complete
from tests.grpc.loop.driver import check_runs, collect, last, names, running_loop
from tests.grpc.loop.errors import refused

ANN = (("x-handrail-principal", "ann"),)
OTHER_TENANT = (("x-handrail-tenant", "other"),)


def one_tool(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
    if request.observation.WhichOneof("kind") == "tool_finished":
        return complete("Done.")
    return call(f"call_{request.interaction_id}")


async def test_what_is_anothers_is_not_found(tmp_path: Path) -> None:
    async with running_loop(tmp_path, lambda request: ask()) as driver:
        conversation_id = await driver.create()
        events = await driver.send(conversation_id, "go")
        ids = {"interaction_id": events[0].interaction_id, "run_id": events[0].run_id}
        stub = driver.stub
        for metadata in (ANN, OTHER_TENANT):
            calls = [
                stub.GetConversation(pb.GetConversationRequest(conversation_id=conversation_id), metadata=metadata),
                stub.ListMessages(pb.ListMessagesRequest(conversation_id=conversation_id), metadata=metadata),
                stub.GetInteraction(pb.GetInteractionRequest(interaction_id=ids["interaction_id"]), metadata=metadata),
                stub.GetRun(pb.GetRunRequest(run_id=ids["run_id"]), metadata=metadata),
                stub.ListAuditEvents(
                    pb.ListAuditEventsRequest(interaction_id=ids["interaction_id"]), metadata=metadata
                ),
                stub.CancelInteraction(
                    pb.CancelInteractionRequest(request_id="c", interaction_id=ids["interaction_id"]),
                    metadata=metadata,
                ),
                driver.send(conversation_id, "mine?", metadata=metadata),
                collect(
                    stub.WatchConversation(
                        pb.WatchConversationRequest(conversation_id=conversation_id), metadata=metadata
                    )
                ),
                driver.artifacts.ListArtifacts(
                    artifact_service_pb2.ListArtifactsRequest(conversation_id=conversation_id),
                    metadata=metadata,
                ),
            ]
            for one in calls:
                await refused(one, "NOT_FOUND")
            assert not (await stub.ListPending(pb.ListPendingRequest(), metadata=metadata)).items
            listed = await stub.ListConversations(pb.ListConversationsRequest(), metadata=metadata)
            assert not listed.conversations
        assert len(await driver.events(conversation_id)) == len(events)


async def test_cursor_errors_name_the_valid_range(tmp_path: Path) -> None:
    async with running_loop(tmp_path, lambda request: complete()) as driver:
        conversation_id = await driver.create()
        head = (await driver.send(conversation_id, "go"))[-1].sequence
        request = pb.WatchConversationRequest(conversation_id=conversation_id, after_sequence=head + 1)
        refusal = await refused(collect(driver.stub.WatchConversation(request)), "OUT_OF_RANGE")
        assert refusal.metadata["last_valid"] == str(head)
        assert f"0 to {head}" in refusal.message
        negative = pb.WatchConversationRequest(conversation_id=conversation_id, after_sequence=-1)
        await refused(collect(driver.stub.WatchConversation(negative)), "INVALID_ARGUMENT")
        at_head = pb.WatchConversationRequest(conversation_id=conversation_id, after_sequence=head)
        only_live = await collect(driver.stub.WatchConversation(at_head))
        assert names(only_live) == ["live"]
        assert only_live[0].sequence == head


async def test_lists_are_paged_with_tokens_of_their_own(tmp_path: Path) -> None:
    async with running_loop(tmp_path, lambda request: ask()) as driver:
        created = [await driver.create(title=f"number {i}") for i in range(5)]
        for conversation_id in created:
            await driver.send(conversation_id, "go")
        listed = await _pages(driver.stub.ListConversations, pb.ListConversationsRequest, "conversations")
        assert [c.conversation_id for c in listed] == created[::-1]
        pending = await _pages(driver.stub.ListPending, pb.ListPendingRequest, "items")
        assert [item.conversation_id for item in pending] == created
        messages = await _pages(
            driver.stub.ListMessages, pb.ListMessagesRequest, "messages", conversation_id=created[0]
        )
        assert [m.text for m in messages] == ["go", "Which one?"]
        audit = await _pages(
            driver.stub.ListAuditEvents, pb.ListAuditEventsRequest, "audit_events", conversation_id=created[0]
        )
        assert [row.number for row in audit] == list(range(1, len(audit) + 1))
        first = await driver.stub.ListConversations(pb.ListConversationsRequest(page_size=2))
        for token in ("nonsense", first.next_page_token + "x", "AAAA"):
            wrong = pb.ListConversationsRequest(page_token=token)
            await refused(driver.stub.ListConversations(wrong), "INVALID_ARGUMENT")
        elsewhere = pb.ListMessagesRequest(conversation_id=created[0], page_token=first.next_page_token)
        await refused(driver.stub.ListMessages(elsewhere), "INVALID_ARGUMENT")
        for size in (-1, 201):
            await refused(
                driver.stub.ListConversations(pb.ListConversationsRequest(page_size=size)), "INVALID_ARGUMENT"
            )


async def test_audit_rows_are_hash_chained(tmp_path: Path) -> None:
    async with running_loop(tmp_path, one_tool) as driver:
        conversation_id = await driver.create()
        await driver.send(conversation_id, "go")
        request = pb.ListAuditEventsRequest(conversation_id=conversation_id)
        rows = (await driver.stub.ListAuditEvents(request)).audit_events
        kinds = [pb.AuditKind.Name(row.kind) for row in rows]
        assert kinds == [
            "AUDIT_KIND_MESSAGE_ACCEPTED",
            "AUDIT_KIND_TOOL_CALLED",
            "AUDIT_KIND_TOOL_FINISHED",
            "AUDIT_KIND_INTERACTION_ENDED",
        ]
        assert rows[0].actor == "local"
        previous = ""
        for row in rows:
            entry = AuditEntry(
                row.interaction_id,
                row.run_id,
                AuditKind(pb.AuditKind.Name(row.kind).removeprefix("AUDIT_KIND_").lower()),
                row.actor,
                row.decision_number,
                row.decision_id,
                row.digest,
                row.code,
                {key: str(value) for key, value in row.details.items()},
            )
            time = row.event_time.ToDatetime(tzinfo=UTC)
            made = chained_object(conversation_id, row.number, entry, time, previous, row.digest_scheme)
            previous = sha256_hex(canonical_json(made))
            assert row.digest_scheme == AUDIT_SCHEME == made["digest_scheme"]
            assert row.hash == previous
        both = pb.ListAuditEventsRequest()
        await refused(driver.stub.ListAuditEvents(both), "INVALID_ARGUMENT")


async def test_audit_rows_say_what_was_said_and_shown_by_digest(tmp_path: Path) -> None:
    def script(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        return ask() if request.decision_number == 1 else complete()

    async with running_loop(tmp_path, script) as driver:
        conversation_id = await driver.create()
        question = last(await driver.send(conversation_id, "go"), "clarification_required")
        await driver.send(conversation_id, "there")
        request = pb.ListAuditEventsRequest(conversation_id=conversation_id)
        rows = (await driver.stub.ListAuditEvents(request)).audit_events
        digests = {pb.AuditKind.Name(row.kind): row.digest for row in rows}
        assert digests["AUDIT_KIND_QUESTION_ASKED"] == sha256_hex(question.prompt.SerializeToString())
        first, second = (row.digest for row in rows if row.kind == pb.AUDIT_KIND_MESSAGE_ACCEPTED)
        assert len(first) == len(second) == 64
        assert first != second
        assert digests["AUDIT_KIND_QUESTION_ANSWERED"] == second


async def test_run_shows_its_usage_and_interaction_its_state(tmp_path: Path) -> None:
    async with running_loop(tmp_path, one_tool) as driver:
        conversation_id = await driver.create()
        events = await driver.send(conversation_id, "go")
        run = (await driver.stub.GetRun(pb.GetRunRequest(run_id=events[0].run_id))).run
        assert run.state == pb.RUN_STATE_ENDED
        assert run.ending == "completed"
        assert run.usage.tool_actions == 1
        assert run.usage.prompt_tokens == 14
        assert run.usage.output_tokens == 6
        stages = {d.stage for d in run.usage.stage_durations}
        assert {failure_pb2.STAGE_PLANNING, failure_pb2.STAGE_TOOL} <= stages
        request = pb.GetInteractionRequest(interaction_id=events[0].interaction_id)
        shown = (await driver.stub.GetInteraction(request)).interaction
        assert shown.state == interaction_state_pb2.INTERACTION_STATE_COMPLETED
        assert shown.decision_number == 2
        assert shown.tool_actions == 1
        assert shown.end_time.seconds >= shown.create_time.seconds
        found = pb.GetConversationRequest(conversation_id=conversation_id)
        conversation = (await driver.stub.GetConversation(found)).conversation
        assert conversation.active_interaction_id == ""
        assert conversation.last_sequence == events[-1].sequence


async def test_list_domains_says_who_is_away(tmp_path: Path) -> None:
    async with running_loop(tmp_path, one_tool, describe_seconds=0.3) as driver:
        domains = (await driver.stub.ListDomains(pb.ListDomainsRequest())).domains
        assert [(d.domain, d.available, d.version) for d in domains] == [("test", True, "1")]
        assert domains[0].limits.max_message_characters == 8000
        assert domains[0].limits.tool_actions_per_interaction == 10
        driver.adapter.hold("DescribeDomain")
        slow = (await driver.stub.ListDomains(pb.ListDomainsRequest())).domains
        assert [(d.available, len(d.tools)) for d in slow] == [(False, 0)]


async def test_artifacts_are_forwarded(tmp_path: Path) -> None:
    async with running_loop(tmp_path, one_tool) as driver:
        conversation_id = await driver.create()
        got = await driver.artifacts.GetArtifact(
            artifact_service_pb2.GetArtifactRequest(conversation_id=conversation_id, artifact_id="art_7")
        )
        assert got.artifact.artifact_id == "art_7"
        chunks = [
            chunk.data
            async for chunk in driver.artifacts.ReadArtifact(
                artifact_service_pb2.ReadArtifactRequest(conversation_id=conversation_id, artifact_id="art_7")
            )
        ]
        assert b"".join(chunks) == b"first second"
        await refused(
            driver.artifacts.GetArtifact(
                artifact_service_pb2.GetArtifactRequest(conversation_id="conv_none", artifact_id="a")
            ),
            "NOT_FOUND",
        )


async def test_progress_is_coalesced(tmp_path: Path) -> None:
    async with running_loop(tmp_path, one_tool) as driver:
        driver.adapter.progress = [(i, f"step {i}") for i in range(1, 100)]
        gate = driver.adapter.hold("tool")
        conversation_id = await driver.create()
        running = asyncio.ensure_future(driver.send(conversation_id, "go"))

        async def shown() -> bool:
            return "tool_progress" in names(await driver.events(conversation_id))

        await driver.until(shown)
        gate.set()
        events = await running
        assert last(events, "tool_progress").percent == 99
        assert names(events).count("tool_progress") == 1
        check_runs(events)


async def test_a_failed_call_is_observed_and_the_failure_is_shown(tmp_path: Path) -> None:
    def script(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        number = request.decision_number
        if number <= 2:
            return call(f"call_{number}")
        if number == 3:
            return decision_pb2.Decision(
                fail=decision_pb2.Fail(
                    failure=failure_pb2.Failure(
                        stage=failure_pb2.STAGE_TOOL, code="tool_failed", explanation="It broke."
                    )
                )
            )
        raise AssertionError(number)

    async with running_loop(tmp_path, script) as driver:
        conversation_id = await driver.create()
        failure = last(await driver.send(conversation_id, "go"), "failed").failure
        assert (failure.code, failure.explanation) == ("tool_failed", "It broke.")
        assert failure.progress == failure_pb2.PROGRESS_PARTIAL
        assert [s.tool_call_id for s in failure.confirmed_steps] == ["call_1", "call_2"]
        assert failure.request_id


@pytest.mark.parametrize("effect", [tool_pb2.EFFECT_UNSPECIFIED, tool_pb2.EFFECT_DRAFT])
async def test_a_decision_that_cannot_be_carried_out_is_plan_invalid(tmp_path: Path, effect: Any) -> None:
    async with running_loop(tmp_path, lambda request: call("a", "b", effect=effect)) as driver:
        conversation_id = await driver.create()
        failure = last(await driver.send(conversation_id, "go"), "failed").failure
        assert failure.code == "plan_invalid"
        assert driver.adapter.executions == 0


async def test_list_pending_names_a_kind_that_it_does_not_know(tmp_path: Path) -> None:
    async with running_loop(tmp_path, lambda request: complete()) as driver:
        future: Any = 9
        refusal = await refused(driver.stub.ListPending(pb.ListPendingRequest(kind=future)), "INVALID_ARGUMENT")
        assert isinstance(refusal, InvalidArgument)
        assert [v.field for v in refusal.field_violations] == ["kind"]
        long = pb.ListPendingRequest(conversation_id="c" * 129)
        refusal = await refused(driver.stub.ListPending(long), "INVALID_ARGUMENT")
        assert "128" in refusal.message


async def _pages(method: Any, request_type: Any, field: str, **fields: Any) -> list[Any]:
    """All items, two a page."""
    found: list[Any] = []
    token = ""
    while True:
        response = await method(request_type(page_size=2, page_token=token, **fields))
        items = list(getattr(response, field))
        assert len(items) <= 2
        found.extend(items)
        token = response.next_page_token
        if not token:
            return found

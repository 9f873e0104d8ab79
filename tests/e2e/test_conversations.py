"""Conversations through the gateway that no single service's tests can show: double clicks, a full memory, a follower
through a restart, a tool that fails at its work, and requests for changes."""

from __future__ import annotations

import asyncio
import signal
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from gateway.cli.client import HandrailClient, connect
from gateway.cli.processes import Stack
from handrail.common.v1.approval_pb2 import Verdict
from handrail.common.v1.failure_pb2 import Progress, Stage
from handrail.common.v1.tool_pb2 import Outcome
from handrail.loop.v1.event_pb2 import Event
from handrail.loop.v1.interaction_state_pb2 import InteractionState
from handrail_rpc.context import Caller
from handrail_rpc.errors import NotFound, PermissionDenied, Unavailable
from tests.e2e.talking import plan_awaiting_approval, say, turn_of
from tests.fakes.processes import check_history, poll, running_stack

# Unambiguous ICAO codes, more of them than a session remembers.
MANY_AIRPORTS = (
    "EDDB", "EDDM", "EDDF", "EDDH", "EDDK", "EDDL", "EDDS", "EDDN", "EDDP", "EDDV", "EDDW", "EDDC",
    "EDDG", "EDDR", "LFPG", "LFPO", "EGLL", "EGKK", "EHAM", "EBBR", "LSZH", "LSGG", "LOWW", "LIRF",
    "LIMC", "LEMD", "LEBL", "LPPT", "EKCH", "ESSA", "ENGM", "EFHK", "EVRA", "EYVI", "EETN", "UUEE",
    "UUDD", "ULLI", "KJFK", "KLAX",
)  # fmt: skip


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack of this module's own: its outbox is taken away, and its Loop is restarted."""
    with running_stack(tmp_path_factory.mktemp("conversations")) as running:
        yield running


@pytest_asyncio.fixture
async def own_client(stack: Stack, caller: Caller) -> AsyncIterator[HandrailClient]:
    async with connect(stack.gateway.target, caller) as connected:
        yield connected


def _outbox(stack: Stack) -> Path:
    return Path(stack.environment["HANDRAIL_AVIATION_OUTBOX"])


def _filed_under(stack: Stack, key: str) -> list[Path]:
    return [path for path in _outbox(stack).rglob("*") if path.is_file() and key in path.read_text("utf-8")]


@contextmanager
def _broken_outbox(stack: Stack) -> Iterator[Path]:
    """A file where the outbox folder should be: what is filed cannot be written."""
    outbox = _outbox(stack)
    if outbox.is_dir():
        outbox.rename(outbox.with_name("outbox-away"))
    outbox.write_text("not a folder")
    try:
        yield outbox
    finally:
        outbox.unlink()


async def test_clicks_on_the_same_approval_execute_once(handrail: Stack, client: HandrailClient) -> None:
    conversation = (await client.create_conversation("aviation")).conversation_id
    approval = await plan_awaiting_approval(client, conversation)
    turns = await asyncio.gather(
        *(
            turn_of(client.resolve_approval(approval.approval_id, Verdict.VERDICT_APPROVE, approval.snapshot_digest))
            for _ in range(8)
        )
    )
    assert {turn.ending for turn in turns} == {"completed"}
    assert all(turn == turns[0] for turn in turns), "every click sees the one recorded run"
    filed = [each for each in turns[0].of("tool_finished") if each.tool == "file_flight_plan"]
    assert [each.outcome for each in filed] == [Outcome.OUTCOME_SUCCEEDED]
    assert len(_filed_under(handrail, approval.snapshot.idempotency_key)) == 1
    check_history(await client.history(conversation))


async def test_approve_and_reject_at_once_have_one_winner(client: HandrailClient) -> None:
    conversation = (await client.create_conversation("aviation")).conversation_id
    approval = await plan_awaiting_approval(client, conversation)
    results = await asyncio.gather(
        *(
            turn_of(client.resolve_approval(approval.approval_id, verdict, approval.snapshot_digest))
            for verdict in (Verdict.VERDICT_APPROVE, Verdict.VERDICT_REJECT)
        ),
        return_exceptions=True,
    )
    refused = [each for each in results if isinstance(each, BaseException)]
    endings = [each.ending for each in results if not isinstance(each, BaseException)]
    assert len(refused) == 1, results
    assert "already" in str(refused[0])
    filed = [
        each for event in await client.history(conversation) if (each := event.tool_finished).tool == "file_flight_plan"
    ]
    assert (endings, len(filed)) in ((["completed"], 1), (["canceled"], 0))
    check_history(await client.history(conversation))


async def test_contexts_stay_bounded_however_many_places_are_named(client: HandrailClient) -> None:
    """What a session remembers is bounded (H2, H3): once it is full, further turns add nothing."""
    conversation = (await client.create_conversation("aviation")).conversation_id
    sizes: list[int] = []
    for number, code in enumerate(MANY_AIRPORTS):
        text = f"What is the weather at {code}?" if number % 3 else f"Build a route from KJFK to {code}"
        turn = await say(client, conversation, text, "completed")
        sizes.append((await client.interaction(turn.last.interaction_id)).context.context_size_bytes)
    full = sizes[len(sizes) * 3 // 5 :]
    assert max(full) <= min(full) * 1.15, sizes
    assert max(sizes) <= 8_192, sizes


async def test_a_message_while_a_run_is_busy_is_answered_too(client: HandrailClient) -> None:
    conversation = (await client.create_conversation("aviation")).conversation_id
    turns = await asyncio.gather(
        *(turn_of(client.send_message(conversation, f"What is the weather at {code}?")) for code in MANY_AIRPORTS[:6])
    )
    assert {turn.ending for turn in turns} == {"completed"}
    answers = " ".join(event.completed.answer.text for event in await client.history(conversation))
    for code in MANY_AIRPORTS[:6]:
        assert f"({code})" in answers
    check_history(await client.history(conversation))


async def test_a_new_request_supersedes_a_question(client: HandrailClient) -> None:
    conversation = (await client.create_conversation("aviation")).conversation_id
    asked = await say(client, conversation, "Which airport is nearest to me?", "clarification_required")
    turn = await say(client, conversation, "Build a route from EDDB to EDDM", "completed")
    superseded = await client.interaction(asked.last.interaction_id)
    assert superseded.state == InteractionState.INTERACTION_STATE_SUPERSEDED
    assert superseded.superseded_by_interaction_id == turn.last.interaction_id != asked.last.interaction_id
    assert await client.pending(conversation_id=conversation) == []
    check_history(await client.history(conversation))


async def test_requested_changes_lead_to_a_new_approval(client: HandrailClient) -> None:
    conversation = (await client.create_conversation("aviation")).conversation_id
    old = await plan_awaiting_approval(client, conversation)
    turn = await turn_of(
        client.resolve_approval(
            old.approval_id,
            Verdict.VERDICT_REQUEST_CHANGES,
            old.snapshot_digest,
            comment="change the level to FL320",
        )
    )
    assert turn.ending == "approval_required", turn.last
    new = turn.last.approval_required
    assert new.approval_id != old.approval_id
    assert new.snapshot.idempotency_key != old.snapshot.idempotency_key
    assert new.snapshot.artifact_version > old.snapshot.artifact_version
    assert "F320" in new.input_preview
    pending = await client.pending(conversation_id=conversation)
    assert [item.approval.approval_id for item in pending] == [new.approval_id]


async def test_a_role_is_needed_to_file(handrail: Stack) -> None:
    """An approval is offered to, and taken from, only who holds the role that it asks for."""
    principal = f"passenger-{uuid.uuid4().hex[:12]}"
    passenger = Caller(principal=principal, roles=frozenset({"passenger"}))
    async with connect(handrail.gateway.target, passenger) as client:
        conversation = (await client.create_conversation("aviation")).conversation_id
        await say(client, conversation, "What is the weather at EDDB?", "completed")
        approval = await plan_awaiting_approval(client, conversation)
        assert approval.required_role == "dispatcher"
        assert await client.pending(conversation_id=conversation) == []
        with pytest.raises((PermissionDenied, NotFound)):
            await turn_of(
                client.resolve_approval(approval.approval_id, Verdict.VERDICT_APPROVE, approval.snapshot_digest)
            )
    assert _filed_under(handrail, approval.snapshot.idempotency_key) == []
    dispatcher = Caller(principal=principal, roles=frozenset({"dispatcher"}))
    async with connect(handrail.gateway.target, dispatcher) as client:
        turn = await turn_of(
            client.resolve_approval(approval.approval_id, Verdict.VERDICT_APPROVE, approval.snapshot_digest)
        )
    assert turn.ending == "completed", turn.last
    assert len(_filed_under(handrail, approval.snapshot.idempotency_key)) == 1


async def test_a_tool_that_fails_at_its_work_is_an_execution_error(stack: Stack, own_client: HandrailClient) -> None:
    """E3: the call was approved and began; its fault is a failure of the stage tool, never a policy block."""
    conversation = (await own_client.create_conversation("aviation")).conversation_id
    approval = await plan_awaiting_approval(own_client, conversation)
    with _broken_outbox(stack) as outbox:
        turn = await turn_of(
            own_client.resolve_approval(approval.approval_id, Verdict.VERDICT_APPROVE, approval.snapshot_digest)
        )
    assert turn.ending in ("failed", "waiting"), turn.last
    finished = [each for each in turn.of("tool_finished") if each.tool == "file_flight_plan"]
    assert {each.outcome for each in finished} <= {Outcome.OUTCOME_FAILED, Outcome.OUTCOME_UNKNOWN}
    assert finished
    if turn.ending == "failed":
        failure = turn.last.failed.failure
        assert failure.stage == Stage.STAGE_TOOL
        assert failure.code in ("tool_failed", "tool_outcome_unknown")
        assert failure.progress in (Progress.PROGRESS_PARTIAL, Progress.PROGRESS_UNKNOWN)
        assert [step.tool for step in failure.confirmed_steps][:2] == ["draft_flight_plan", "validate_flight_plan"]
        assert str(outbox) not in str(failure), "no path of the machine in what a client reads"
    check_history(await own_client.history(conversation))


async def test_a_follower_resumes_by_its_cursor_after_the_loop_was_drained(
    stack: Stack, own_client: HandrailClient
) -> None:
    conversation = (await own_client.create_conversation("aviation")).conversation_id
    await say(own_client, conversation, "What is the weather at EDDB?", "completed")
    seen: list[Event] = []

    async def follow() -> None:
        async for event in own_client.watch(conversation, 0, follow=True):
            seen.append(event)

    follower = asyncio.ensure_future(follow())
    await poll(lambda: seen and seen[-1].WhichOneof("payload") == "live", "the live marker")
    stack.loop.send_signal(signal.SIGTERM)
    await poll(lambda: not stack.loop.running, "the Loop's exit")
    assert stack.loop.exit_code == 0
    stack.loop.start()
    await stack.wait_serving()
    await poll(lambda: _reaches_the_loop(own_client, conversation), "the gateway's channel being back")
    await say(own_client, conversation, "What is the weather at EDDM?", "completed")
    await poll(lambda: seen[-1].WhichOneof("payload") == "completed" and "EDDM" in str(seen[-1]), "the new answer")
    follower.cancel()
    stored = [event for event in seen if event.WhichOneof("payload") != "live"]
    assert stored == await own_client.history(conversation)


async def _reaches_the_loop(client: HandrailClient, conversation: str) -> bool:
    try:
        await client.conversation(conversation)
    except Unavailable:
        return False
    return True

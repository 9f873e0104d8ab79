"""kill -9 of the gateway and of everything at several moments of a run through the whole product (B3, E4).

Loop and Adapter at each of their own boundaries: tests/crash.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from gateway.cli.client import HandrailClient, connect
from gateway.cli.conversing import Turn
from gateway.cli.processes import Stack
from handrail.common.v1.approval_pb2 import Verdict
from handrail.common.v1.tool_pb2 import Outcome
from handrail.loop.v1.event_pb2 import ApprovalRequired, Event
from handrail_rpc.context import Caller
from tests.e2e.talking import plan_awaiting_approval, turn_of
from tests.fakes.processes import check_history, running_stack


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running_stack(tmp_path_factory.mktemp("crash")) as running:
        yield running


@pytest_asyncio.fixture
async def client(stack: Stack, caller: Caller) -> AsyncIterator[HandrailClient]:
    stack.start()
    await stack.wait_serving()
    async with connect(stack.gateway.target, caller, resume_seconds=90) as connected:
        yield connected


async def _killing(stack: Stack, victims: tuple[str, ...], moment: str, events: AsyncIterator[Event]) -> Turn:
    """Follow a run through kill -9 of the victims at the first event of that kind, and their restart."""
    seen: list[Event] = []
    killed = False
    async for event in events:
        seen.append(event)
        if not killed and event.WhichOneof("payload") == moment:
            killed = True
            for victim in victims:
                getattr(stack, victim).kill()
            await asyncio.to_thread(stack.start)
    assert killed, f"no {moment} among {[each.WhichOneof('payload') for each in seen]}"
    return Turn(tuple(seen))


def _filings(stack: Stack, approval: ApprovalRequired) -> list[Path]:
    outbox = Path(stack.environment["HANDRAIL_AVIATION_OUTBOX"])
    key = approval.snapshot.idempotency_key
    found = [path for path in outbox.rglob("*") if path.is_file() and not path.name.startswith(".")]
    return [path for path in found if json.loads(path.read_text("utf-8"))["idempotency_key"] == key]


VICTIMS = [("gateway",), ("gateway", "loop", "adapter")]


@pytest.mark.parametrize("moment", ["run_started", "decision_made", "tool_started", "tool_finished"])
@pytest.mark.parametrize("victims", VICTIMS, ids="+".join)
async def test_an_approved_action_happens_once_through_a_crash(
    stack: Stack, client: HandrailClient, victims: tuple[str, ...], moment: str
) -> None:
    conversation = await client.create_conversation("aviation")
    approval = await plan_awaiting_approval(client, conversation.conversation_id)
    request_id = f"approve-{approval.approval_id}"
    run = client.resolve_approval(
        approval.approval_id, Verdict.VERDICT_APPROVE, approval.snapshot_digest, request_id=request_id
    )
    turn = await _killing(stack, victims, moment, run)
    await stack.wait_serving()
    assert turn.ending == "completed", turn.last
    filed = [each for each in turn.of("tool_finished") if each.tool == "file_flight_plan"]
    assert [each.outcome for each in filed] == [Outcome.OUTCOME_SUCCEEDED]
    assert len(_filings(stack, approval)) == 1
    replayed = await turn_of(
        client.resolve_approval(
            approval.approval_id, Verdict.VERDICT_APPROVE, approval.snapshot_digest, request_id=request_id
        )
    )
    assert replayed == turn, "the recorded run is replayed, event for event"
    assert len(_filings(stack, approval)) == 1
    check_history(await client.history(conversation.conversation_id))


@pytest.mark.parametrize(
    ("victims", "moment"),
    [
        (("gateway",), "tool_finished"),
        (("loop", "adapter"), "tool_finished"),
    ],
    ids=["gateway-tool_finished", "both-tool_finished"],
)
async def test_a_tool_chain_goes_on_through_a_crash(
    stack: Stack, client: HandrailClient, victims: tuple[str, ...], moment: str
) -> None:
    conversation = await client.create_conversation("aviation")
    run = client.send_message(
        conversation.conversation_id, "Find the airport EDDB, then the weather there, then a route from there to EDDM"
    )
    turn = await _killing(stack, victims, moment, run)
    await stack.wait_serving()
    assert turn.ending == "completed", turn.last
    finished = turn.of("tool_finished")
    assert {each.outcome for each in finished} == {Outcome.OUTCOME_SUCCEEDED}
    assert len({each.tool_call_id for each in finished}) == len(finished), "each call is finished once"
    assert len(turn.of("artifact_published")) == 1
    check_history(await client.history(conversation.conversation_id))


async def test_an_open_question_outlives_a_kill_of_everything(stack: Stack, client: HandrailClient) -> None:
    conversation = await client.create_conversation("aviation")
    asked = await turn_of(client.send_message(conversation.conversation_id, "Which airport is nearest to me?"))
    assert asked.ending == "clarification_required", asked.last
    for process in stack.processes:
        process.kill()
    stack.start()
    await stack.wait_serving()
    pending = await client.pending(conversation_id=conversation.conversation_id)
    assert [item.clarification for item in pending] == [asked.last.clarification_required]
    answered = await turn_of(client.send_message(conversation.conversation_id, "52.52, 13.40"))
    assert answered.ending == "completed", answered.last
    check_history(await client.history(conversation.conversation_id))

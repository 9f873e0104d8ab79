"""Long conversations through the gateway and both services: contexts stay flat (H3), plans are changed on the way."""

from __future__ import annotations

from datetime import UTC, datetime

from gateway.cli.client import HandrailClient
from gateway.cli.demo_scenes import slot_answer
from handrail.common.v1.approval_pb2 import VERDICT_APPROVE
from tests.e2e.talking import plan_awaiting_approval, say, turn_of

CYCLE = (
    "What is the weather there?",
    "How far is it from EDDB to LOWW",
    "Find airports within 50 km of EDDM",
    "And the weather in Vienna?",
    "File a flight plan from EDDB to EDDM",  # asks, and is asked beside
    "Make the level FL320 and two more passengers",
    "Какая погода в Мюнхене?",
    "Route from EDDF to EGLL",
)
TURNS = 25


async def test_turns_after_a_route_neither_fail_nor_grow(client: HandrailClient) -> None:
    conversation = (await client.create_conversation("aviation")).conversation_id
    await say(client, conversation, "Build a route from EDDB to EDDM", "completed")
    sizes: list[int] = []
    asked = turns = 0
    while turns < TURNS:
        text = CYCLE[turns % len(CYCLE)]
        turn = await say(client, conversation, text)
        turns += 1
        while turn.ending == "clarification_required":
            slot = turn.last.clarification_required.prompt.task.slot
            asked += 1
            if asked == 2:
                beside = await say(client, conversation, "what is the weather in Munich?", "clarification_required")
                prompt = beside.last.clarification_required.prompt
                assert prompt.task.slot == slot
                assert "(EDDM)" in prompt.question
                assert beside.last.interaction_id == turn.last.interaction_id
            turn = await say(client, conversation, slot_answer(slot, datetime.now(UTC)))
        assert turn.ending in ("completed", "approval_required"), (text, turn.last)
        sizes.append((await client.interaction(turn.last.interaction_id)).context.context_size_bytes)
    assert asked >= 7
    # Up to ten artifacts are remembered by title, and two a cycle are new; nothing else may be more than before.
    assert max(sizes[-len(CYCLE) :]) <= max(sizes[len(CYCLE) : 2 * len(CYCLE)]) * 1.25, sizes
    assert max(sizes) <= 8_192, sizes


async def test_a_plan_is_changed_while_its_approval_is_open_and_after_it_was_filed(client: HandrailClient) -> None:
    conversation = (await client.create_conversation("aviation")).conversation_id
    first = await plan_awaiting_approval(client, conversation)
    changed = await say(client, conversation, "two more passengers and depart an hour later", "approval_required")
    second = changed.last.approval_required
    assert "P/154" in second.input_preview
    assert (first.snapshot.artifact_version, second.snapshot.artifact_version) == (2, 3)
    assert second.snapshot_digest != first.snapshot_digest
    filed = await turn_of(client.resolve_approval(second.approval_id, VERDICT_APPROVE, second.snapshot_digest))
    assert filed.ending == "completed"
    await say(client, conversation, "make the level FL320", "completed")
    third = (await say(client, conversation, "file it", "approval_required")).last.approval_required
    assert "F320" in third.input_preview
    assert third.snapshot.artifact_version == 4

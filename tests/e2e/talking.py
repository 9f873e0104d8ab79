"""What the end-to-end tests say to the aviation domain: turns without a terminal, a plan up to its approval."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime

from gateway.cli.client import HandrailClient
from gateway.cli.conversing import Turn
from gateway.cli.demo_scenes import slot_answer
from handrail.loop.v1.event_pb2 import ApprovalRequired, Event


async def turn_of(events: AsyncIterator[Event]) -> Turn:
    return Turn(tuple([event async for event in events]))


async def say(client: HandrailClient, conversation_id: str, text: str, ending: str = "") -> Turn:
    """Send a message; its run must end as said, if anything is said."""
    turn = await turn_of(client.send_message(conversation_id, text))
    if ending:
        assert turn.ending == ending, f"{text!r} ended with {turn.ending}:\n{turn.last}"
    return turn


async def plan_awaiting_approval(
    client: HandrailClient, conversation_id: str, text: str = "File a flight plan from EDDB to EDDM"
) -> ApprovalRequired:
    """Ask for a flight plan and answer every question, up to the approval."""
    turn = await say(client, conversation_id, text)
    for _ in range(12):
        if turn.ending != "clarification_required":
            break
        slot = turn.last.clarification_required.prompt.task.slot
        turn = await say(client, conversation_id, slot_answer(slot, datetime.now(UTC)))
    assert turn.ending == "approval_required", f"ended with {turn.ending}:\n{turn.last}"
    return turn.last.approval_required

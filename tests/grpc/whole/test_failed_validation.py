"""A failed validation through both services: the revision alone goes on, nothing changes before it passes (B5)."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.common.v1 import approval_pb2
from handrail.loop.v1 import event_pb2
from tests.fakes.probe_domain import World
from tests.grpc.loop.driver import last, names
from tests.grpc.whole.running import running_whole
from tests.grpc.whole.settling import who

ANN = who("ann", "author")


def tools_of(events: list[event_pb2.Event]) -> list[str]:
    return [event.tool_started.tool for event in events if event.WhichOneof("payload") == "tool_started"]


@pytest.mark.parametrize(("change", "tool"), [("post", "post_note"), ("ring 2", "ring"), ("toll 2", "toll")])
async def test_no_change_runs_or_asks_for_approval_before_the_revision_passes(
    tmp_path: Path, change: str, tool: str
) -> None:
    world = World()
    async with running_whole(tmp_path, world=world) as whole:
        conversation_id = await whole.create(metadata=ANN)
        events = await whole.driver.send(conversation_id, f"write memo then check then {change}", metadata=ANN)
        assert last(events, "policy_blocked").code == "validation_failed"
        assert "approval_required" not in names(events)
        assert names(events)[-1] == "clarification_required"
        assert tools_of(events) == ["write_note", "check_note"]
        events = await whole.driver.send(conversation_id, "7", metadata=ANN)
        assert tools_of(events) == ["change_note", "check_note"]
        assert not world.effects
        approval = last(events, "approval_required")
        assert approval.snapshot.tool == tool
        bob = who("bob", approval.snapshot.required_role)
        events = await whole.driver.resolve(approval, approval_pb2.VERDICT_APPROVE, metadata=bob)
        assert (names(events)[-1], tools_of(events)) == ("completed", [tool])
        assert list(world.effects) == [approval.snapshot.idempotency_key]

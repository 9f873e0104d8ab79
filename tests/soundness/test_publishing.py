"""soundness.md 'Publishing to something shared': a notice board that other programs write to as well."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from adapter_service.sdk import Domain, ToolError
from adapter_service.sdk import Text as Words
from handrail.common.v1 import approval_pb2, tool_pb2
from handrail_rpc.digest import parse_json_strict, sha256_hex
from tests.fakes.adapter_harness import FakeClock, Probe, refusal, running_probe
from tests.fakes.probe_domain import BOARD, World
from tests.soundness.acting import POST, PUT, RING, approved, asked, begun, crash, state_of

APPROVE = approval_pb2.VERDICT_APPROVE
SUCCEEDED, BLOCKED, UNKNOWN = tool_pb2.OUTCOME_SUCCEEDED, tool_pb2.OUTCOME_BLOCKED, tool_pb2.OUTCOME_UNKNOWN
FAILED = tool_pb2.OUTCOME_FAILED


async def test_target_lock(probe: Probe) -> None:
    """While one change of a target is under way, or its outcome unknown, no other one is claimed."""
    first, running = await approved(probe, RING)
    second, other = await approved(probe, "toll 1", "conv_2")
    third, late = await approved(probe, "ring 3", "conv_3")
    release = probe.world.hold("ring")
    task = asyncio.create_task(first.execute(running))
    await begun(probe, "ring")
    busy = await second.execute(other)
    assert (busy.outcome, busy.block.code) == (BLOCKED, "target_busy")
    release.set()
    assert (await task).outcome == SUCCEEDED
    assert (await third.execute(late)).outcome == SUCCEEDED


async def test_target_lock_is_held_through_a_crash_and_through_unknown(tmp_path: Path) -> None:
    world, clock = World(), FakeClock()
    async with running_probe(tmp_path, world, clock) as before:
        driver, call = await approved(before, RING)
        second, other = await approved(before, "ring 1", "conv_2")
        third, late = await approved(before, "ring 3", "conv_3")
        await crash(before, driver, call, "ring")
    async with running_probe(tmp_path, world, clock) as after:
        for each in (driver, second, third):
            each.stub = after.stub
        assert (await second.execute(other)).block.code == "target_busy"
        assert (await driver.execute(call, dispatch_number=2)).outcome == UNKNOWN
        assert (await third.execute(late)).block.code == "target_busy"
        assert not world.effects


async def test_compare_at_write(probe: Probe) -> None:
    """The live base is compared right before the write; a mismatch is a policy block that uses up the key."""
    probe.world.board = "old"
    driver, call = await approved(probe, PUT)
    release = probe.world.hold("put_up")
    task = asyncio.create_task(driver.execute(call))
    await begun(probe, "put_up")
    probe.world.board = "of another editor"
    release.set()
    blocked = await task
    assert (blocked.outcome, blocked.block.code, blocked.block.rule) == (BLOCKED, "approval_stale", "approval_matches")
    assert (blocked.block.tool_call_id, blocked.block.approval_id) == (call.tool_call_id, "apr_1")
    assert not blocked.HasField("failure")
    assert (probe.world.board, probe.world.effects, state_of(probe, call)) == ("of another editor", {}, "blocked")
    # The world becomes right again: the key stays used up, and only a fresh approval leads on.
    probe.world.board = "old"
    assert await driver.execute(call) == blocked
    probe.world.board = "of another editor"
    await driver.finish(blocked)
    fresh = driver.last.request_approval
    assert fresh.snapshot.idempotency_key not in ("", call.idempotency_key)
    assert fresh.change_ref == f"{BOARD} from sha256 {sha256_hex(b'of another editor')}"
    await driver.resolve(APPROVE)
    assert (await driver.run()).HasField("complete")
    assert (probe.world.board, probe.world.effects) == ("memo", {fresh.snapshot.idempotency_key: 1})


async def test_compare_at_write_a_base_that_moved_before_the_call_is_stale_at_once(probe: Probe) -> None:
    driver = await asked(probe, PUT)
    assert driver.last.request_approval.change_ref == f"{BOARD} from nothing"
    probe.world.board = "of another editor"
    await driver.resolve(APPROVE)
    assert [block.code for block in driver.last.blocks] == ["approval_stale"]
    assert driver.last.request_approval.change_ref.endswith(sha256_hex(b"of another editor"))


async def test_target_and_base_are_hashed_and_shown(probe: Probe) -> None:
    """Target identity and the base's sha256 are members of the hashed final input; change_ref shows that pair."""
    probe.world.board = "old"
    driver = await asked(probe, PUT)
    request = driver.last.request_approval
    ((stored,),) = probe.sql("SELECT input_bytes FROM approvals")
    final = parse_json_strict(stored)
    assert sha256_hex(stored) == request.snapshot.input_sha256
    assert (final["target"], final["base_sha256"]) == (BOARD, sha256_hex(b"old"))
    assert request.change_ref == f"{final['target']} from sha256 {final['base_sha256']}"
    posting = (await asked(probe, POST, "conv_2")).last.request_approval
    ((stored,),) = probe.sql("SELECT input_bytes FROM approvals WHERE idempotency_key = ?",
                             posting.snapshot.idempotency_key)  # fmt: skip
    final = parse_json_strict(stored)
    note = final["arguments"]["note"]
    assert note["sha256"] == posting.snapshot.artifact_sha256
    assert posting.change_ref == (
        f"{final['target']} from {note['artifact_id']} version {note['version']} sha256 {note['sha256']}"
    )


async def test_read_set(probe: Probe) -> None:
    """What the validation read besides the note has changed: the approval is stale, and the note is validated anew."""
    driver, call = await approved(probe, POST)
    probe.world.rulebook = "2"
    blocked = await driver.execute(call)
    assert (blocked.outcome, blocked.block.code) == (BLOCKED, "approval_stale")
    assert not probe.world.effects
    await driver.finish(blocked)
    assert [block.code for block in driver.last.blocks] == ["validation_missing"]
    assert [each.tool for each in driver.last.call_tool.calls] == ["check_note"]
    await driver.run()
    await driver.resolve(APPROVE)
    assert (await driver.run()).HasField("complete")
    assert sum(probe.world.effects.values()) == 1


async def test_read_set_of_another_artifact_and_of_the_validator(tmp_path: Path) -> None:
    world, clock = World(), FakeClock()
    text = "write one at 1 then write two at 2 then compare then post"

    def newer(domain: Domain) -> Domain:
        return replace(
            domain, tools=tuple(replace(t, version=2) if t.name == "check_note" else t for t in domain.tools)
        )

    async with running_probe(tmp_path, world, clock) as probe:
        driver, call = await approved(probe, text)
        ((beside,),) = probe.sql("SELECT artifact_id FROM artifacts ORDER BY sequence LIMIT 1")
        probe.sql(
            "INSERT INTO artifact_versions (artifact_id, version, sha256, media_type, title, size_bytes, tool_call_id, "
            "tool, input_sha256, sources, settled_by, create_time) "
            "SELECT artifact_id, 2, sha256, media_type, title, size_bytes, 'x', tool, "
            "input_sha256, sources, settled_by, create_time FROM artifact_versions WHERE artifact_id = ?",
            beside,
        )
        probe.sql("UPDATE artifacts SET latest_version = 2 WHERE artifact_id = ?", beside)
        assert (await driver.execute(call)).block.code == "approval_stale"
        other, late = await approved(probe, POST, "conv_2")
    async with running_probe(tmp_path, world, clock, adapt=newer) as after:
        other.stub = after.stub
        assert (await other.execute(late)).block.code == "approval_stale"
    assert not world.effects


async def test_read_set_is_taken_before_the_validator_runs(probe: Probe) -> None:
    """What changes while the validator runs counts as changed."""
    driver = await probe.open()
    await driver.say(POST)
    await driver.finish(await driver.execute(driver.last.call_tool.calls[0]))
    release = probe.world.hold("check_note")
    task = asyncio.create_task(driver.execute(driver.last.call_tool.calls[0]))
    await begun(probe, "check_note")
    probe.world.rulebook = "2"
    release.set()
    await driver.finish(await task)
    assert [each.tool for each in driver.last.call_tool.calls] == ["check_note"]


async def test_read_set_of_a_source_that_cannot_tell_its_version_never_holds(tmp_path: Path) -> None:
    """Neither approved nor executed on a validation of which nobody knows what it read; the service goes on."""

    def broken() -> str:
        raise OSError("away")

    async with running_probe(tmp_path, adapt=lambda domain: replace(domain, sources={"rulebook": broken})) as probe:
        driver = await probe.open()
        await driver.say(POST)
        for _ in range(3):
            await driver.finish(await driver.execute(driver.last.call_tool.calls[0]))
            assert [each.tool for each in driver.last.call_tool.calls] == ["check_note"]
        assert (await (await probe.open("conv_2")).say("look Berlin")).HasField("call_tool")


WRITTEN = {"memo": SUCCEEDED, "": SUCCEEDED, "of another editor": UNKNOWN}
"""What stands on the board after the crash: our change, the base (the call goes on), or neither."""


@pytest.mark.parametrize("found", WRITTEN)
async def test_probe(tmp_path: Path, found: str) -> None:
    """After a crash the tool is asked whether its change is there, before anything is called again."""
    world, clock = World(), FakeClock()
    async with running_probe(tmp_path, world, clock) as before:
        driver, call = await approved(before, PUT)
        assert not call.idempotent
        await crash(before, driver, call, "put_up_written" if found == "memo" else "put_up")
    assert sum(world.effects.values()) == (1 if found == "memo" else 0)
    world.board = found
    async with running_probe(tmp_path, world, clock) as after:
        driver.stub = after.stub
        outcome = await driver.execute(call, dispatch_number=2)
        assert outcome.outcome == WRITTEN[found]
        assert world.effects == ({} if found == "of another editor" else {call.idempotency_key: 1})
        assert len(world.posted) == sum(world.effects.values())
        if outcome.outcome == SUCCEEDED:
            assert outcome.receipt.key == call.idempotency_key
            assert world.board == "memo"


async def test_probe_that_finds_nothing_still_needs_everything_approved(tmp_path: Path) -> None:
    """Where it surely did not happen, a mismatch is a block again, not an unknown outcome."""
    world, clock = World(), FakeClock()
    async with running_probe(tmp_path, world, clock) as before:
        driver, call = await approved(before, PUT)
        await crash(before, driver, call, "put_up")
    world.rulebook = "2"
    async with running_probe(tmp_path, world, clock) as after:
        driver.stub = after.stub
        blocked = await driver.execute(call, dispatch_number=2)
        assert (blocked.outcome, blocked.block.code) == (BLOCKED, "approval_stale")
        assert not world.effects


async def test_a_repetition_that_fails_says_nothing_about_the_first_attempt(tmp_path: Path) -> None:
    """An idempotent tool is called again after a crash and reports a failure: the first call may have worked."""
    world, clock = World(), FakeClock()

    def away(domain: Domain) -> Domain:
        def post_note(note: dict[str, str]) -> None:
            raise ToolError("tool_failed", Words("The board is away.", "Доска недоступна."), source_code="away")

        tools = (replace(t, function=post_note) if t.name == "post_note" else t for t in domain.tools)
        return replace(domain, tools=tuple(tools))

    async with running_probe(tmp_path, world, clock) as before:
        driver, call = await approved(before, POST)
        await crash(before, driver, call, "post_note")
    async with running_probe(tmp_path, world, clock, adapt=away) as after:
        driver.stub = after.stub
        outcome = await driver.execute(call, dispatch_number=2)
        assert (outcome.outcome, outcome.failure.source_code) == (UNKNOWN, "away")
        first, fresh = await approved(after, POST, "conv_2")
        assert (await first.execute(fresh)).outcome == FAILED
        assert (await refusal(driver.say("more"))).reason == "DECISION_CONTRADICTION"

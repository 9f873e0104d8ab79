"""Scenarios of what comes later: waits and signals, unknown outcomes settled, deletion, retention, a restored Loop."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import replace

from gateway.cli.client import HandrailClient, connect
from gateway.cli.processes import LOOP
from handrail.loop.v1 import interaction_state_pb2 as states
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail.loop.v1.event_pb2 import Event
from handrail_rpc.context import Caller, new_request_id
from handrail_rpc.digest import sha256_hex
from handrail_rpc.errors import NotFound, OutOfRange
from tests.crash.actor import Actor, persist, until
from tests.crash.scenarios import Scenario, expect, new_bell, tool_started
from tests.crash.site import Site

JUDGING_LOOP = replace(LOOP, module="tests.crash.loop_process")
_DAY_SECONDS = 86_400


async def wait_for_a_time(_site: Site, actor: Actor) -> None:
    expect(await actor.say("nap 0.2 then look Berlin"), "waiting")
    done = await actor.until("completed")
    assert "BER is Berlin." in done.completed.answer.text


async def signal_ends_a_wait(_site: Site, actor: Actor) -> None:
    waiting = expect(await actor.say("await go within 300 then spell it"), "waiting")
    answer = await actor.signal(waiting.last.interaction_id, "go", letters="abc")
    assert answer.delivered
    done = await actor.until("completed")
    assert "Spelled abc." in done.completed.answer.text


async def signal_before_the_wait(site: Site, actor: Actor) -> None:
    """It is kept, and ends the wait that comes after it."""
    site.hold("await_word")
    saying = actor.soon(actor.say("await go within 300 then spell it"))
    interaction_id = await tool_started(actor, "await_word")
    assert not (await actor.signal(interaction_id, "go", letters="abc")).delivered
    site.release()
    done = expect(await saying, "completed")
    assert "Spelled abc." in done.last.completed.answer.text


async def settlement(site: Site, actor: Actor) -> None:
    """The tool outlasts its time and then acts: a person sees that it did, and says so."""
    site.hold("ring")
    call = await _unknown_toll(actor)
    tool_call_id = call.execution.tool_call_id
    site.release()
    key = site.one("adapter", "SELECT idempotency_key FROM tool_calls WHERE tool_call_id = ?", tool_call_id)

    async def happened() -> bool | None:
        return True if key in site.effects() else None

    await until(happened, "the effect")
    await actor.settle(call, pb.SETTLEMENT_HAPPENED)
    assert not await _unsettled(actor)
    event = await actor.until("execution_settled")
    assert event.execution_settled.tool_call_id == tool_call_id


async def try_again(site: Site, actor: Actor) -> None:
    """It did not happen, as its process was killed before: a new call, key and approval."""
    site.hold("ring")
    call = await _unknown_toll(actor)
    site.kill("adapter")
    await until(lambda: _is_down(site, "adapter"), "the end of the Adapter")
    site.release()
    answer = await actor.settle(call, pb.SETTLEMENT_TRY_AGAIN)
    assert answer.successor_interaction_id
    asked = (await actor.until("approval_required", count=2)).approval_required
    done = expect(await actor.approve(asked), "completed", "failed")
    if done.ending == "failed":
        assert done.last.failed.failure.code == "tool_outcome_unknown"


async def _unknown_toll(actor: Actor) -> pb.PendingItem:
    """A call that is not idempotent and ran out of its time, as it is pending for the approver."""
    asked = expect(await actor.say(f"toll {new_bell()}"), "approval_required")
    failed = expect(await actor.approve(asked.last.approval_required), "failed")
    assert failed.last.failed.failure.code == "tool_outcome_unknown"
    [item] = await _unsettled(actor)
    return item


async def _unsettled(actor: Actor) -> list[pb.PendingItem]:
    return await persist(lambda: actor.approver.pending(pb.PENDING_KIND_EXECUTION))


async def _is_down(site: Site, name: str) -> bool | None:
    return True if any(death.process == name for death in site.deaths) else None


async def channel_failure(_site: Site, actor: Actor) -> None:
    asked = expect(await actor.say("look London"), "clarification_required")
    request = pb.ReportChannelFailureRequest(
        request_id=new_request_id(), conversation_id=actor.conversation_id, channel="socket", code="channel_failed"
    )
    stub = actor.requester.stub
    await persist(lambda: actor.requester.call(lambda: stub.ReportChannelFailure(request, timeout=30)))
    await actor.until("channel_failed")
    expect(await actor.click(asked.last.clarification_required, 0), "completed")


async def deletion(site: Site, actor: Actor) -> None:
    """With a question open: it is stopped first, then both services forget what was said."""
    asked = expect(await actor.say("look London"), "clarification_required")
    await _delete(actor)
    _check_erased(site, actor, asked.last)
    await _check_trail(actor)


async def deletion_while_the_adapter_is_away(site: Site, actor: Actor) -> None:
    """It is put off, and finished when the Adapter is back."""
    asked = expect(await actor.say("look Berlin"), "completed")
    site.held_down.add("adapter")
    site.kill("adapter")
    deleting = actor.soon(_delete(actor))

    async def put_off() -> bool | None:
        query = "SELECT erase_due > delete_time + 5000000 FROM conversations WHERE conversation_id = ?"
        return True if site.one("loop", query, actor.conversation_id) else None

    await until(put_off, "the deletion being put off")
    site.held_down.clear()
    await deleting
    _check_erased(site, actor, asked.last)
    await _check_trail(actor)


async def _delete(actor: Actor) -> None:
    actor.watches_no_more = True
    request = pb.DeleteConversationRequest(request_id=new_request_id(), conversation_id=actor.conversation_id)
    stub = actor.requester.stub
    await persist(lambda: actor.requester.call(lambda: stub.DeleteConversation(request, timeout=30)))


def _check_erased(site: Site, actor: Actor, event: Event) -> None:
    for database, table, key, value in (
        ("loop", "messages", "conversation_id", actor.conversation_id),
        ("loop", "events", "conversation_id", actor.conversation_id),
        ("loop", "observations", "interaction_id", event.interaction_id),
        ("adapter", "decisions", "interaction_id", event.interaction_id),
    ):
        left = site.one(database, f"SELECT count(*) FROM {table} WHERE {key} = ?", value)
        assert not left, f"{left} rows are left in {table} of the {database}"


async def _check_trail(actor: Actor) -> None:
    """What happened stays, and can be proven; what was said does not."""
    request = pb.VerifyAuditRequest(conversation_id=actor.conversation_id)
    stub = actor.requester.stub
    verified = await persist(lambda: actor.requester.call(lambda: stub.VerifyAudit(request, timeout=30)))
    assert verified.valid
    try:
        await persist(lambda: actor.requester.conversation(actor.conversation_id))
    except NotFound:
        return
    raise AssertionError("the deleted conversation can still be read")


async def retention(site: Site, actor: Actor) -> None:
    """Events two days old go; what is left begins at `first_sequence`, and an older cursor is told so."""
    expect(await actor.say("look Berlin"), "completed")
    actor.watches_no_more = True
    newest = max(actor.heard.events)
    site.held_down.add("loop")
    site.kill("loop")
    await until(lambda: _is_down(site, "loop"), "the end of the Loop")
    _make_old(site, actor.conversation_id)
    loop = site.process("loop").environment
    loop |= {"HANDRAIL_LOOP_EVENT_RETENTION_DAYS": "1", "HANDRAIL_LOOP_HOUSEKEEPING_SECONDS": "0.1"}
    site.held_down.clear()

    async def trimmed() -> bool | None:
        found = await actor.requester.conversation(actor.conversation_id)
        return True if found.first_sequence == newest + 1 else None

    await until(trimmed, "the end of the old events")
    try:
        await persist(lambda: _read(actor, newest - 2))
    except OutOfRange:
        pass
    else:
        raise AssertionError("a cursor before the oldest event was accepted")
    done = expect(await actor.say("look Paris"), "completed")
    assert [event.sequence for event in done.events] == list(range(newest + 1, newest + 1 + len(done.events)))
    assert [event.sequence for event in await persist(lambda: _read(actor, newest))][0] == newest + 1


async def artifact_retention(site: Site, actor: Actor) -> None:
    """Of an artifact two days old the version goes that nothing names any more; the one that was posted stays."""
    expect(await actor.say("write news at 3 then post"), "approval_required")
    asked = expect(await actor.say("actually level 5"), "approval_required").last.approval_required
    expect(await actor.approve(asked), "completed")
    site.held_down.add("adapter")
    site.kill("adapter")
    await until(lambda: _is_down(site, "adapter"), "the end of the Adapter")
    aged = "UPDATE artifact_versions SET create_time = create_time - ?"
    site.change("adapter", aged, 2 * _DAY_SECONDS * 1_000_000)
    adapter = site.process("adapter").environment
    adapter |= {"HANDRAIL_ADAPTER_ARTIFACT_DAYS": "1", "HANDRAIL_ADAPTER_HOUSEKEEPING_SECONDS": "0.1"}
    site.held_down.clear()

    def read(version: int) -> Awaitable[bytes]:
        return actor.requester.read_artifact(actor.conversation_id, asked.snapshot.artifact_id, version)

    async def removed() -> bool | None:
        try:
            await read(1)
        except NotFound as error:
            return True if error.reason == "ARTIFACT_VERSION_REMOVED" else None
        return None

    await until(removed, "the end of the old version")
    assert sha256_hex(await persist(lambda: read(2))) == asked.snapshot.artifact_sha256


async def _read(actor: Actor, after: int) -> list[Event]:
    return [event async for event in actor.requester.watch(actor.conversation_id, after)]


def _make_old(site: Site, conversation_id: str) -> None:
    """Two days pass for this conversation."""
    query = "SELECT sequence, data FROM events WHERE conversation_id = ?"
    for sequence, data in site.all("loop", query, conversation_id):
        event = Event.FromString(data)
        event.event_time.seconds -= 2 * _DAY_SECONDS
        change = "UPDATE events SET data = ? WHERE conversation_id = ? AND sequence = ?"
        site.change("loop", change, event.SerializeToString(), conversation_id, sequence)
    micros = 2 * _DAY_SECONDS * 1_000_000
    site.change(
        "loop",
        "UPDATE conversations SET oldest_event_time = oldest_event_time - ? WHERE conversation_id = ?",
        micros,
        conversation_id,
    )
    site.change("loop", "UPDATE runs SET end_time = end_time - ? WHERE conversation_id = ?", micros, conversation_id)


async def restored_loop(site: Site, actor: Actor) -> None:
    """The operator says that the Loop's database was put back: what was open ends, and is opened again by hand."""
    expect(await actor.say("look London"), "clarification_required")
    site.held_down.add("loop")
    site.kill("loop")
    await until(lambda: _is_down(site, "loop"), "the end of the Loop")
    await asyncio.to_thread(
        subprocess.run, [sys.executable, "-m", "loop_service", "restored"], env=site.environment, check=True
    )
    site.held_down.clear()
    failed = await actor.until("failed")
    assert failed.failed.failure.code == "session_diverged"
    async with _operating(site, actor) as operator:
        request_id = new_request_id()
        await persist(lambda: operator.recover(actor.conversation_id, pb.RECOVERY_REOPEN, request_id))
    expect(await actor.say("look Berlin"), "completed")


@asynccontextmanager
async def _operating(site: Site, actor: Actor) -> AsyncIterator[HandrailClient]:
    operator = Caller("operator", actor.caller.tenant, frozenset({"operator"}))
    async with connect(site.target, operator) as client:
        yield client


async def expiry_while_the_adapter_is_away(site: Site, actor: Actor) -> None:
    """Only the Adapter's clock decides about expiry: without it the approval stays, and a timer asks again."""
    asked = expect(await actor.say("chime"), "approval_required")
    site.held_down.add("adapter")
    site.kill("adapter")
    await actor.until("approval_required", count=2)
    site.held_down.clear()
    await actor.until("approval_resolved")

    async def settled() -> bool | None:
        interaction = await actor.requester.interaction(asked.last.interaction_id)
        return None if interaction.state == states.INTERACTION_STATE_PREPARING else True

    await until(settled, "the end of the expired approval")


async def judged_reply(site: Site, actor: Actor) -> None:
    """A reply that no rule understands is put to the model; what stays unclear is taken as an answer."""
    site.process("loop").service = JUDGING_LOOP
    site.kill("loop")
    expect(await actor.say("look London"), "clarification_required")
    turn = expect(await actor.say("hm"), "clarification_required")
    expect(await actor.click(turn.last.clarification_required, 0), "completed")


AFTERWARDS: dict[str, Scenario] = {
    each.__name__: each
    for each in (
        wait_for_a_time,
        signal_ends_a_wait,
        signal_before_the_wait,
        settlement,
        try_again,
        channel_failure,
        deletion,
        deletion_while_the_adapter_is_away,
        retention,
        artifact_retention,
        restored_loop,
        expiry_while_the_adapter_is_away,
        judged_reply,
    )
}
CHECK_THEMSELVES = frozenset({"deletion", "deletion_while_the_adapter_is_away", "retention"})
"""Of these the usual promises about what can be read do not hold, which is their point."""

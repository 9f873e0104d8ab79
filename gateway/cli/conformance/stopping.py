"""Rules about stopping: the tombstone, what had begun, and superseding."""

from __future__ import annotations

from gateway.cli.conformance.approving import change
from gateway.cli.conformance.executing import attached, leave_running
from gateway.cli.conformance.kit import Kit
from gateway.cli.conformance.rule import expect, rule
from gateway.cli.conformance.wire import Refused
from handrail.common.v1 import approval_pb2, tool_pb2


@rule(
    wants="After CancelInteraction no decision is made: FAILED_PRECONDITION INTERACTION_CLOSED.",
    source="docs/protocol.md#closing",
    why="A stop that does not stop is the worst thing to tell a person.",
    needs=("probe_change",),
)
async def canceled_decides_nothing(kit: Kit) -> None:
    key = kit.new_key()
    begun = await change(kit, key)
    await begun.cancel()
    request = begun.decide_request(begun.resolution(approval_pb2.VERDICT_APPROVE))
    await kit.refused(begun.send(request), "FAILED_PRECONDITION", "INTERACTION_CLOSED")
    await kit.expect_count(key, 0)


@rule(
    wants="After CancelInteraction no call begins: INTERACTION_CLOSED or a blocked outcome, and no effect.",
    source="docs/protocol.md#closing",
    why="An approved call that was still on its way would run after the stop was confirmed.",
    needs=("probe_change",),
)
async def canceled_begins_nothing(kit: Kit) -> None:
    key = kit.new_key()
    begun = await change(kit, key)
    call = await begun.approve()
    closed = await begun.cancel()
    expect(not closed.calls, f"it names {len(closed.calls)} calls as begun, and none had")
    try:
        outcome = await begun.execute(call)
    except Refused as refused:
        expect(refused.reason == "INTERACTION_CLOSED", f"it was refused with {refused}")
    else:
        expect(outcome.outcome == tool_pb2.OUTCOME_BLOCKED, "the call was executed after the stop")
    await kit.expect_count(key, 0)


@rule(
    wants="An interaction can be canceled before its first decision arrives; that decision is then refused.",
    source="docs/protocol.md#closing",
    why="A request that is still on its way when the stop comes must not begin after it.",
    needs=("probe_read",),
)
async def canceled_before_it_began(kit: Kit) -> None:
    begun = await kit.begin()
    await begun.cancel()
    request = begun.decide_request(begun.message("probe_read key=a"))
    await kit.refused(begun.send(request), "FAILED_PRECONDITION", "INTERACTION_CLOSED")


@rule(
    wants="CancelInteraction names every call that had begun with its outcome; repeated, it answers the same.",
    source="docs/protocol.md#closing",
    why="Their outcomes are part of the ending that the person is told.",
    needs=("probe_change",),
)
async def cancel_names_what_had_begun(kit: Kit) -> None:
    begun = await change(kit, kit.new_key())
    call = await begun.approve()
    outcome = await begun.execute(call)
    closed = await begun.cancel()
    named = [each.tool_call_id for each in closed.calls]
    expect(named == [call.tool_call_id], f"it names {named}, and {call.tool_call_id} had begun")
    expect(closed.calls[0].outcome == outcome and not closed.calls[0].running, "its outcome is not the recorded one")
    again = await begun.cancel()
    expect(list(again.calls) == list(closed.calls), "the repetition names other calls")


@rule(
    wants="A call that still runs is named as running, can be attached to, and gets its outcome.",
    source="docs/protocol.md#closing",
    why="`canceled` is told only when it is known what happened.",
    needs=("probe_change_slow",),
)
async def running_call_is_attached_to(kit: Kit) -> None:
    key = kit.new_key()
    begun = await change(kit, key, "probe_change_slow")
    call = await begun.approve()
    await leave_running(kit, begun, call)
    closed = await begun.cancel()
    named = [each.tool_call_id for each in closed.calls]
    expect(named == [call.tool_call_id], f"it names {named}, and {call.tool_call_id} had begun")
    outcome = await attached(begun, call)
    expect(outcome.outcome == tool_pb2.OUTCOME_SUCCEEDED, f"the outcome is {tool_pb2.Outcome.Name(outcome.outcome)}")
    await kit.expect_count(key, 1)


@rule(
    wants="A stored decision and a recorded outcome are returned also after the interaction was closed.",
    source="docs/protocol.md#closing",
    why="A Loop that missed them needs them to tell how it ended.",
    needs=("probe_read",),
)
async def closed_still_replays(kit: Kit) -> None:
    begun = await kit.say("probe_read key=a")
    call = begun.only_call()
    outcome = await begun.execute(call)
    await begun.cancel()
    expect(await begun.send(begun.again(begun.last_request)) == begun.last, "the stored decision differs")
    expect(await begun.execute(call) == outcome, "the recorded outcome differs")


@rule(
    wants="The first decision of a successor closes the interaction that it supersedes, in one step.",
    source="docs/protocol.md#closing",
    why="Both would otherwise go on: the old change and the new one.",
    needs=("probe_change", "probe_read"),
)
async def superseded_begins_nothing(kit: Kit) -> None:
    key = kit.new_key()
    begun = await change(kit, key)
    call = await begun.approve()
    successor = await kit.begin(begun.session)
    await successor.say("probe_read key=a", supersedes_interaction_id=begun.interaction_id)
    try:
        outcome = await begun.execute(call)
    except Refused as refused:
        expect(refused.reason == "INTERACTION_CLOSED", f"it was refused with {refused}")
    else:
        expect(outcome.outcome == tool_pb2.OUTCOME_BLOCKED, "a call of the superseded interaction was executed")
    await kit.expect_count(key, 0)
    expect((await successor.run()).WhichOneof("outcome") == "complete", "the successor did not go on")

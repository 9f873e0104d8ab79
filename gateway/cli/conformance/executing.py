"""Rules about executing: once a key, one ending, attach, unknown outcomes, parallel reads (requirements E2 to E4)."""

from __future__ import annotations

import asyncio
from typing import Any

from gateway.cli.conformance.approving import blocked, change
from gateway.cli.conformance.interaction import Interaction
from gateway.cli.conformance.kit import Kit, kind_of
from gateway.cli.conformance.probes import SECRET
from gateway.cli.conformance.rule import Breach, expect, rule
from gateway.cli.conformance.wire import Refused, both, parts_of
from handrail.adapter.v1 import observation_pb2 as obs
from handrail.common.v1 import tool_pb2

_MOST_ATTACHES = 100
_ATTACH_PAUSE_SECONDS = 0.1


def _expect_outcome(outcome: tool_pb2.ToolOutcome, wanted: tool_pb2.Outcome.ValueType, code: str = "") -> None:
    name, wished = tool_pb2.Outcome.Name(outcome.outcome), tool_pb2.Outcome.Name(wanted)
    expect(outcome.outcome == wanted, f"the outcome is {name}, not {wished}")
    expect(not code or outcome.failure.code == code, f"the failure's code is {outcome.failure.code!r}, not {code}")


async def attached(begun: Interaction, call: tool_pb2.ToolCall, **changes: Any) -> tool_pb2.ToolOutcome:
    """The outcome of a call that may still run: UNAVAILABLE means to ask again."""
    for _ in range(_MOST_ATTACHES):
        try:
            return await begun.execute(call, **changes)
        except Refused as refused:
            expect(refused.code.name == "UNAVAILABLE", f"attaching was refused with {refused}")
            await asyncio.sleep(_ATTACH_PAUSE_SECONDS)
    raise Breach("the call never got an outcome: each time it was UNAVAILABLE")


@rule(
    wants="A success names its call and tool, with a receipt: execution id, key, time, hash of the result.",
    source="docs/protocol.md#executions",
    why="It is the proof of what happened, and what an answer's claims rest on.",
    needs=("probe_read",),
)
async def receipt_is_complete(kit: Kit) -> None:
    begun = await kit.say("probe_read key=a")
    call = begun.only_call()
    outcome = await begun.execute(call)
    _expect_outcome(outcome, tool_pb2.OUTCOME_SUCCEEDED)
    expect((outcome.tool_call_id, outcome.tool) == (call.tool_call_id, call.tool), "it names another call or tool")
    receipt = outcome.receipt
    expect(receipt.execution_id and receipt.HasField("finish_time"), "execution_id or finish_time is missing")
    expect(receipt.key == call.idempotency_key, f"the key is {receipt.key!r}, not the call's")
    expect(len(receipt.result_sha256) == 64, f"result_sha256 is {receipt.result_sha256!r}")
    done = await begun.finish(outcome)
    named = list(done.complete.answer.tool_call_ids)
    expect(named == [call.tool_call_id], f"the answer names the calls {named}")


@rule(
    wants="ExecuteTool streams progress within 0 and 100, then exactly one outcome, which is the last part.",
    source="docs/protocol.md#executions",
    why="What comes after an ending is lost, and a call without one never ends.",
    needs=("probe_read",),
)
async def execute_ends_once(kit: Kit) -> None:
    offered = {tool.name for tool in kit.described.tools}
    for tool in [name for name in ("probe_read", "probe_slow") if name in offered]:
        begun = await kit.say(f"{tool} key=a")
        for _ in range(2):
            parts = await kit.parts("ExecuteTool", begun.execute_request(begun.only_call()))
            kinds = [part.WhichOneof("part") for part in parts]
            expect(kinds.count("outcome") == 1 and kinds[-1] == "outcome", f"the parts were {kinds}")
            percents = [part.progress.percent for part in parts if part.WhichOneof("part") == "progress"]
            expect(all(0 <= percent <= 100 for percent in percents), f"progress was {percents}")


@rule(
    wants="A call that is repeated returns the recorded outcome byte for byte, and has one effect.",
    source="docs/protocol.md#executions",
    why="At most one effect a key: the second promise. Loops repeat what they lost the answer of.",
    needs=("probe_change",),
)
async def repeated_call_acts_once(kit: Kit) -> None:
    key = kit.new_key()
    begun = await change(kit, key)
    call = await begun.approve()
    first = await begun.execute(call)
    _expect_outcome(first, tool_pb2.OUTCOME_SUCCEEDED)
    for dispatch in (1, 2, 3):
        again = await begun.execute(call, dispatch_number=dispatch)
        same = again.SerializeToString(deterministic=True) == first.SerializeToString(deterministic=True)
        expect(same, f"dispatch {dispatch} returned another outcome")
    await kit.expect_count(key, 1)


@rule(
    wants="Two executions of one call at the same time get one outcome, and have one effect.",
    source="docs/protocol.md#executions",
    why="Two workers of the Loop may send the same call.",
    needs=("probe_change_slow",),
)
async def concurrent_call_acts_once(kit: Kit) -> None:
    key = kit.new_key()
    begun = await change(kit, key, "probe_change_slow")
    call = await begun.approve()
    # Both as the first dispatch: whichever comes first, a second one without a ledger row would be unknown.
    one, two = await both(attached(begun, call), attached(begun, call))
    expect(one == two, "two executions at the same time got two outcomes")
    await kit.expect_count(key, 1)


@rule(
    wants="On another connection, and under another request id, a call returns the recorded outcome.",
    source="docs/protocol.md#executions",
    why="After a restart a Loop has other connections and ids, and the same calls.",
    needs=("probe_change",),
)
async def reconnected_call_acts_once(kit: Kit) -> None:
    key = kit.new_key()
    begun = await change(kit, key)
    call = await begun.approve()
    first = await begun.execute(call)
    other = kit.reconnected()
    try:
        again = await begun.execute(call, other, request_id=kit.new_id("req"), run_id="run_later", locale="ru")
    finally:
        await other.channel.close()
    expect(again == first, "another connection got another outcome")
    await kit.expect_count(key, 1)


@rule(
    wants="A call goes on when its client leaves: the effect happens once and its outcome is recorded.",
    source="docs/protocol.md#executions",
    why="A torn connection would otherwise leave a change half done, with nobody knowing.",
    needs=("probe_change_slow",),
)
async def client_may_leave(kit: Kit) -> None:
    key = kit.new_key()
    begun = await change(kit, key, "probe_change_slow")
    call = await begun.approve()
    await leave_running(kit, begun, call)
    _expect_outcome(await attached(begun, call, dispatch_number=2), tool_pb2.OUTCOME_SUCCEEDED)
    await kit.expect_count(key, 1)


async def leave_running(kit: Kit, begun: Interaction, call: tool_pb2.ToolCall) -> None:
    """Start a call, wait for its first part, and leave."""
    stream = parts_of(kit.trace, "ExecuteTool", kit.stub.ExecuteTool, begun.execute_request(call))
    async for part in stream:
        expect(part.WhichOneof("part") == "progress", "a slow tool reported no progress before its outcome")
        break
    await stream.aclose()


@rule(
    wants="A second dispatch without a ledger row is OUTCOME_UNKNOWN, and no call, unless the tool is idempotent.",
    source="docs/protocol.md#unknown-outcomes",
    why="The row may have been lost with a restored database after the effect happened.",
    needs=("probe_change",),
)
async def lost_row_is_unknown(kit: Kit) -> None:
    key = kit.new_key()
    begun = await change(kit, key)
    call = await begun.approve()
    outcome = await begun.execute(call, dispatch_number=2)
    _expect_outcome(outcome, tool_pb2.OUTCOME_UNKNOWN, "tool_outcome_unknown")
    expect(await begun.execute(call, dispatch_number=3) == outcome, "a repetition answers something else")
    await kit.expect_count(key, 0)


@rule(
    wants="A tool that honours its key is called at a second dispatch without a ledger row, once.",
    source="docs/protocol.md#unknown-outcomes",
    why="A person would be asked to settle what the key already settles.",
    needs=("probe_change_once",),
)
async def idempotent_tool_is_called_again(kit: Kit) -> None:
    key = kit.new_key()
    begun = await change(kit, key, "probe_change_once")
    call = await begun.approve()
    _expect_outcome(await begun.execute(call, dispatch_number=2), tool_pb2.OUTCOME_SUCCEEDED)
    await begun.execute(call, dispatch_number=3)
    await kit.expect_count(key, 1)


@rule(
    wants="A READ tool that exceeds its timeout fails with tool_timeout.",
    source="docs/protocol.md#failures",
    why="A hanging source must not hold an interaction for ever.",
    needs=("probe_hang",),
)
async def hanging_read_times_out(kit: Kit) -> None:
    begun = await kit.say("probe_hang")
    _expect_outcome(await begun.execute(begun.only_call()), tool_pb2.OUTCOME_FAILED, "tool_timeout")


@rule(
    wants="A CHANGE tool that exceeds its timeout is OUTCOME_UNKNOWN, not failed.",
    source="docs/protocol.md#unknown-outcomes",
    why="It may have had its effect; trying again would have it twice.",
    needs=("probe_change_hang",),
)
async def hanging_change_is_unknown(kit: Kit) -> None:
    begun = await change(kit, kit.new_key(), "probe_change_hang")
    outcome = await begun.execute(await begun.approve())
    _expect_outcome(outcome, tool_pb2.OUTCOME_UNKNOWN, "tool_outcome_unknown")


@rule(
    wants="A person settles an unknown outcome, once: the verdict is the outcome from then on, another one is refused.",
    source="docs/protocol.md#unknown-outcomes",
    why="The interaction waits for it; a second verdict would rewrite what the first one led to.",
    needs=("probe_change",),
)
async def unknown_is_settled_once(kit: Kit) -> None:
    begun = await change(kit, kit.new_key())
    call = await begun.approve()
    _expect_outcome(await begun.execute(call, dispatch_number=2), tool_pb2.OUTCOME_UNKNOWN)
    settled = await kit.send("SettleExecution", begun.settle_request(call, tool_pb2.OUTCOME_SUCCEEDED))
    _expect_outcome(settled.outcome, tool_pb2.OUTCOME_SUCCEEDED)
    again = await kit.send("SettleExecution", begun.settle_request(call, tool_pb2.OUTCOME_SUCCEEDED))
    expect(again.outcome == settled.outcome, "the same verdict again gave another outcome")
    other = begun.settle_request(call, tool_pb2.OUTCOME_FAILED)
    await kit.refused(kit.send("SettleExecution", other), "FAILED_PRECONDITION")
    recorded = await begun.execute(call, dispatch_number=3)
    expect(recorded == settled.outcome, "ExecuteTool does not return the settled outcome")


@rule(
    wants="A known outcome cannot be settled as another one: FAILED_PRECONDITION.",
    source="docs/protocol.md#unknown-outcomes",
    why="The ledger would say that a change did not happen which did.",
    needs=("probe_change",),
)
async def known_is_not_settled(kit: Kit) -> None:
    begun = await change(kit, kit.new_key())
    call = await begun.approve()
    outcome = await begun.execute(call)
    request = begun.settle_request(call, tool_pb2.OUTCOME_FAILED)
    await kit.refused(kit.send("SettleExecution", request), "FAILED_PRECONDITION")
    expect(await begun.execute(call) == outcome, "the outcome changed")


@rule(
    wants="While the outcome of a change is unknown, no other change of its target begins: blocked with target_busy.",
    source="docs/protocol.md#unknown-outcomes",
    why="A second change would hide whether the first one happened.",
    needs=("probe_change",),
)
async def unknown_holds_its_target(kit: Kit) -> None:
    key = kit.new_key()
    first, second = await change(kit, key), await change(kit, key)
    one, two = await first.approve(), await second.approve()
    _expect_outcome(await first.execute(one, dispatch_number=2), tool_pb2.OUTCOME_UNKNOWN)
    refused = await blocked(second, two, "target_busy")
    await kit.send("SettleExecution", first.settle_request(one, tool_pb2.OUTCOME_FAILED))
    await second.finish(refused)
    _expect_outcome(await second.execute(await second.approve()), tool_pb2.OUTCOME_SUCCEEDED)
    await kit.expect_count(key, 1)


@rule(
    wants="Trying again what a person settled as not executed is a new call, with a new key and a new approval.",
    source="docs/protocol.md#unknown-outcomes",
    why="The old call keeps its outcome, and the old approval was for a world that may have changed.",
    needs=("probe_change",),
)
async def retry_is_a_new_call(kit: Kit) -> None:
    key = kit.new_key()
    ended = await change(kit, key)
    call = await ended.approve()
    await ended.execute(call, dispatch_number=2)
    settled = await kit.send("SettleExecution", ended.settle_request(call, tool_pb2.OUTCOME_FAILED))
    again = await kit.begin(ended.session)
    wanted = obs.Retry(interaction_id=ended.interaction_id, tool_call_id=call.tool_call_id)
    decided = await again.decide(obs.Observation(retry=wanted))
    expect(decided.WhichOneof("outcome") == "request_approval", f"came {kind_of(decided)}")
    new = await again.approve()
    expect(new.tool_call_id != call.tool_call_id, "it is the same call")
    expect(new.idempotency_key != call.idempotency_key, "it has the same key")
    _expect_outcome(await again.execute(new), tool_pb2.OUTCOME_SUCCEEDED)
    await kit.expect_count(key, 1)
    expect(await again.execute(new) != settled.outcome, "the new call has the old outcome")


@rule(
    wants="A tool that breaks is a failed outcome with the code tool_failed, which shows nothing of the error's text.",
    source="docs/protocol.md#failures",
    why="Errors of a tool's inside carry paths, queries and secrets.",
    needs=("probe_fail",),
)
async def failure_hides_the_error(kit: Kit) -> None:
    begun = await kit.say("probe_fail")
    outcome = await begun.execute(begun.only_call())
    _expect_outcome(outcome, tool_pb2.OUTCOME_FAILED, "tool_failed")
    expect(outcome.failure.explanation, "the failure explains nothing")
    expect(SECRET not in str(outcome), "the outcome shows the error's text")
    failed = await begun.finish(outcome)
    expect(failed.WhichOneof("outcome") == "fail", f"came {kind_of(failed)}")
    expect(failed.fail.failure.code == "tool_failed", f"the code is {failed.fail.failure.code!r}")
    expect(SECRET not in str(failed), "the decision shows the error's text")


@rule(
    wants="READ calls that are ready together come in one decision and run at the same time.",
    source="docs/protocol.md#decisions",
    why="Waiting for one source after the other adds their times up.",
    needs=("probe_meet",),
)
async def reads_run_together(kit: Kit) -> None:
    key = kit.new_key()
    begun = await kit.say(f"probe_meet key={key}\nprobe_meet key={key}")
    calls = begun.last.call_tool.calls
    expect(len(calls) == 2, f"{len(calls)} calls came for two READ tools that are ready together")
    outcomes = await both(*[begun.execute(call) for call in calls])
    for outcome in outcomes:
        expect(not isinstance(outcome, Refused), f"one of them was refused with {outcome}")
        _expect_outcome(outcome, tool_pb2.OUTCOME_SUCCEEDED)
    done = await begun.finish(*outcomes)
    expect(done.WhichOneof("outcome") == "complete", f"came {kind_of(done)}")
    told = done.complete.answer.text.lower()
    # Equal sentences may be told once.
    expect("met=true" in told and "met=false" not in told, "they did not run at the same time")


@rule(
    wants="A call that no decision of this interaction issued is NOT_FOUND.",
    source="docs/protocol.md#visibility",
    why="A call id of another conversation would run under this one's rights.",
    needs=("probe_read",),
)
async def foreign_call_refused(kit: Kit) -> None:
    begun, other = await kit.say("probe_read key=a"), await kit.say("probe_read key=b")
    await kit.refused(begun.execute(tool_pb2.ToolCall(tool_call_id="call_never_issued")), "NOT_FOUND")
    await kit.refused(begun.execute(other.only_call()), "NOT_FOUND")

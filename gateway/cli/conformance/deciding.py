"""Rules about decisions: numbers, replay, contradiction, plan versions, leases, and what may be observed when."""

from __future__ import annotations

from gateway.cli.conformance.kit import Kit, kind_of
from gateway.cli.conformance.rule import expect, rule
from gateway.cli.conformance.wire import Refused, both
from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail.adapter.v1 import observation_pb2 as obs
from handrail.common.v1 import tool_pb2


@rule(
    wants="The first decision of an interaction has number 1, an id, a plan version and an outcome.",
    source="docs/protocol.md#decisions",
    why="The Loop stores decisions by their number, counted from 1.",
    needs=("probe_read",),
)
async def first_decision(kit: Kit) -> None:
    begun = await kit.say("probe_read key=a")
    expect(begun.last.decision_number == 1, f"the number is {begun.last.decision_number}")
    expect(begun.last.decision_id, "decision_id is empty")
    expect(begun.last.plan_version > 0, f"the plan version is {begun.last.plan_version}")
    call = begun.only_call()
    described = kit.tool("probe_read")
    expect(call.tool == "probe_read", f"the tool {call.tool} is called")
    expect(call.tool_version == described.version, f"its version is {call.tool_version!r}, not {described.version!r}")
    expect(call.effect == described.effect, "its effect is another one than described")
    expect(call.tool_call_id and call.idempotency_key, "the call lacks its id or its key")
    expect(len(call.input_sha256) == 64, f"input_sha256 is {call.input_sha256!r}")


@rule(
    wants="The next decision has the next number, another id and a plan version that did not go back.",
    source="docs/protocol.md#decisions",
    why="Decisions are one chain; a repeated or skipped number would lose one.",
    needs=("probe_read",),
)
async def next_decision(kit: Kit) -> None:
    begun = await kit.say("probe_read key=next")
    first = begun.last
    answered = await begun.run()
    expect(answered.decision_number == 2, f"the number is {answered.decision_number}")
    expect(answered.decision_id != first.decision_id, "two decisions have the same id")
    expect(answered.plan_version >= first.plan_version, "the plan version went back")
    expect(answered.WhichOneof("outcome") == "complete", f"came {kind_of(answered)}")
    expect("key=next" in answered.complete.answer.text, f"the answer is {answered.complete.answer.text!r}")


@rule(
    wants="A number that leaves a gap is ABORTED DECISION_GAP.",
    source="docs/protocol.md#replays",
    why="A missing decision means that one of the databases is older than the other.",
    needs=("probe_read",),
)
async def decision_gap(kit: Kit) -> None:
    begun = await kit.begin()
    message = begun.message("probe_read key=a")
    await kit.refused(begun.send(begun.decide_request(message, decision_number=2)), "ABORTED", "DECISION_GAP")
    await begun.say("probe_read key=a")
    ahead = begun.decide_request(message, decision_number=begun.number + 2)
    await kit.refused(begun.send(ahead), "ABORTED", "DECISION_GAP")


@rule(
    wants="The same number, base version and observation give the same bytes, whatever else differs.",
    source="docs/protocol.md#replays",
    why="A Loop that lost the answer asks again and must not be led onto another way.",
    needs=("probe_read",),
)
async def decision_replayed(kit: Kit) -> None:
    begun = await kit.say("probe_read key=a")
    stored = begun.last.SerializeToString(deterministic=True)
    for changes in (
        {},
        {"run_id": "run_other"},
        {"locale": "ru"},
        {"budgets": pb2.Budgets(tool_actions_left=3, generations_left=1)},
        {"recent_messages": [pb2.RecentMessage(message_id="msg_0", role="user", text="before")]},
        {"lease_epoch": begun.epoch + 1},
    ):
        again = await begun.send(begun.again(begun.last_request, **changes))
        differs = ", ".join(changes) or "nothing"
        expect(again.SerializeToString(deterministic=True) == stored, f"repeated with {differs} changed, it differs")


@rule(
    wants="An earlier decision is returned as it was, also after later ones.",
    source="docs/protocol.md#replays",
    why="A restored or slow replica of the Loop asks for what it does not have yet.",
    needs=("probe_read",),
)
async def older_decision_replayed(kit: Kit) -> None:
    begun = await kit.say("probe_read key=a")
    first, request = begun.last, begun.last_request
    await begun.run()
    again = await begun.send(begun.again(request))
    expect(again == first, f"decision 1 is now {kind_of(again)} {again.decision_id}")


@rule(
    wants="Another observation under a stored number is ABORTED DECISION_CONTRADICTION, and the stored one stays.",
    source="docs/protocol.md#replays",
    why="Two Loops with different pasts would otherwise each get what they want to hear.",
    needs=("probe_read",),
)
async def decision_contradicted(kit: Kit) -> None:
    begun = await kit.say("probe_read key=a")
    first = obs.UserMessage(message_id="msg_1", text="probe_read key=b", begins_interaction=True)
    other = begun.decide_request(
        obs.Observation(user_message=first),
        decision_number=begun.number,
        base_plan_version=begun.last_request.base_plan_version,
    )
    await kit.refused(begun.send(other), "ABORTED", "DECISION_CONTRADICTION")
    expect(await begun.send(begun.again(begun.last_request)) == begun.last, "the stored decision changed")


@rule(
    wants="Another base_plan_version than the current one is ABORTED STALE_PLAN_VERSION with current_plan_version.",
    source="docs/protocol.md#replays",
    why="An answer to a question that has changed meanwhile must not be applied.",
    needs=("probe_ask",),
)
async def stale_plan_version(kit: Kit) -> None:
    begun = await kit.say("probe_ask")
    for wrong in (begun.plan_version - 1, begun.plan_version + 1):
        request = begun.decide_request(begun.reply("late"), base_plan_version=wrong)
        refused = await kit.refused(begun.send(request), "ABORTED", "STALE_PLAN_VERSION")
        named = refused.metadata.get("current_plan_version", "")
        expect(named == str(begun.plan_version), f"current_plan_version is {named!r}, not {begun.plan_version}")


@rule(
    wants="Two equal requests at once get the same decision.",
    source="docs/protocol.md#replays",
    why="Two replicas of the Loop may work on one interaction for a moment.",
    needs=("probe_read",),
)
async def first_writer_wins(kit: Kit) -> None:
    for _ in range(3):
        begun = await kit.begin()
        message = begun.message("probe_read key=a")
        one, two = begun.decide_request(message), begun.decide_request(message)
        found = await both(begun.send(one), begun.send(two))
        for each in found:
            expect(not isinstance(each, Refused), f"one of two equal requests was refused with {each}")
        expect(found[0] == found[1], "two equal requests got two decisions")


@rule(
    wants="Of two different observations under one number at once, one is decided and the other ABORTED.",
    source="docs/protocol.md#replays",
    why="Otherwise two plans go on under one number.",
    needs=("probe_read",),
)
async def one_observation_a_number(kit: Kit) -> None:
    for _ in range(3):
        begun = await kit.begin()
        requests = [begun.decide_request(begun.message(f"probe_read key={key}")) for key in ("a", "b")]
        found = await both(*[begun.send(request) for request in requests])
        refused = [each for each in found if isinstance(each, Refused)]
        expect(len(refused) == 1, f"{len(refused)} of two contradicting requests were refused")
        expect(refused[0].code.name == "ABORTED", f"the loser was refused with {refused[0]}")
        winner = found.index(next(each for each in found if not isinstance(each, Refused)))
        stored = await begun.send(begun.again(requests[winner]))
        expect(stored == found[winner], "the winner's decision is not the stored one")


@rule(
    wants="A lease epoch below one seen before is ABORTED LEASE_LOST, in Decide, ExecuteTool and CancelInteraction.",
    source="docs/protocol.md#leases",
    why="A Loop worker that was paused must not act once another has taken over.",
    needs=("probe_read",),
)
async def lease_fenced(kit: Kit) -> None:
    begun = await kit.begin(epoch=5)
    await begun.say("probe_read key=a")
    call = begun.only_call()
    late = begun.decide_request(begun.message("x"), lease_epoch=4)
    for attempt in (
        lambda: begun.send(late),
        lambda: begun.execute(call, lease_epoch=4),
        lambda: begun.cancel(lease_epoch=4),
    ):
        await kit.refused(attempt(), "ABORTED", "LEASE_LOST")
    outcome = await begun.execute(call, lease_epoch=6)
    expect(outcome.outcome == tool_pb2.OUTCOME_SUCCEEDED, "a higher epoch was not accepted")
    await kit.refused(begun.execute(call, lease_epoch=5), "ABORTED", "LEASE_LOST")


@rule(
    wants="Decide streams progress within 0 and 100 and usage, then exactly one decision, which is the last part.",
    source="docs/protocol.md#decisions",
    why="A second ending, or none, leaves the Loop without a state to store.",
    needs=("probe_read", "probe_ask"),
)
async def decide_ends_once(kit: Kit) -> None:
    for text in ("probe_read key=a", "probe_ask"):
        begun = await kit.begin()
        request = begun.decide_request(begun.message(text))
        for each in (request, begun.again(request)):
            parts = await kit.parts("Decide", each)
            kinds = [part.WhichOneof("part") for part in parts]
            expect(kinds.count("decision") == 1 and kinds[-1] == "decision", f"the parts were {kinds}")
            percents = [part.progress.percent for part in parts if part.WhichOneof("part") == "progress"]
            expect(all(0 <= percent <= 100 for percent in percents), f"progress was {percents}")
            begun.session.saw(parts[-1].session_revision)


@rule(
    wants="While a call is not finished, no other observation is decided upon.",
    source="docs/protocol.md#decisions",
    why="A plan that moves on under a running call cannot take its outcome in.",
    needs=("probe_read",),
)
async def calls_before_anything_else(kit: Kit) -> None:
    begun = await kit.say("probe_read key=a")
    begun.only_call()
    try:
        found = await begun.send(begun.decide_request(begun.message("probe_read key=b")))
    except Refused as refused:
        expect(refused.code.name in ("ABORTED", "FAILED_PRECONDITION"), f"it was refused with {refused}")
        return
    expect(False, f"a message was decided upon while a call is open: {kind_of(found)}")


@rule(
    wants="An observed outcome that the adapter's ledger does not have is ABORTED.",
    source="docs/protocol.md#restored-databases",
    why="The ledger is the truth about effects; a Loop that believes otherwise was restored.",
    needs=("probe_read",),
)
async def ledger_contradicted(kit: Kit) -> None:
    begun = await kit.say("probe_read key=a")
    claimed = obs.FinishedCall(tool_call_id=begun.only_call().tool_call_id, outcome=tool_pb2.OUTCOME_SUCCEEDED)
    finished = obs.Observation(tool_finished=obs.ToolFinished(calls=[claimed]))
    await kit.refused(begun.send(begun.decide_request(finished)), "ABORTED")
    outcome = await begun.execute(begun.only_call())
    claimed.outcome = tool_pb2.OUTCOME_FAILED
    finished = obs.Observation(tool_finished=obs.ToolFinished(calls=[claimed]))
    await kit.refused(begun.send(begun.decide_request(finished)), "ABORTED")
    expect((await begun.finish(outcome)).WhichOneof("outcome") == "complete", "the true outcome was not taken")


@rule(
    wants="A wait names its signal and limit; the wake-up ends it.",
    source="docs/protocol.md#decisions",
    why="An interaction that nobody can wake would wait for ever.",
    needs=("probe_wait",),
)
async def wait_ends(kit: Kit) -> None:
    signal = kit.new_key()
    begun = await kit.say(f"probe_wait signal={signal}")
    waiting = await begun.run()
    expect(waiting.WhichOneof("outcome") == "wait", f"came {kind_of(waiting)}")
    expect(waiting.wait.signal == signal, f"it waits for {waiting.wait.signal!r}")
    expect(waiting.wait.limit.ToTimedelta().total_seconds() > 0, "a wait for a signal has no limit")
    woken = await begun.decide(obs.Observation(wake_up=obs.WakeUp(signal=signal)))
    expect(woken.WhichOneof("outcome") == "complete", f"after the signal came {kind_of(woken)}")

"""soundness.md 'Inputs: messages, clicks, signals', each rule by its name."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from adapter_service.sdk import Domain, PlanningRequest, Proposal
from handrail.adapter.v1 import domain_adapter_service_pb2 as adapter_pb
from handrail.adapter.v1 import observation_pb2 as obs
from handrail.common.v1 import decision_pb2, tool_pb2
from handrail.loop.v1 import event_pb2
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from tests.fakes.adapter import ask, call, complete, reply
from tests.fakes.adapter_harness import Probe, refusal, running_probe
from tests.grpc.loop.driver import LoopDriver, check_runs, last, names, running_loop
from tests.grpc.loop.errors import refused
from tests.grpc.whole.running import running_whole

Stream = asyncio.Task[list[event_pb2.Event]]
OPTIONS = [("c1", "Springfield MO"), ("c2", "Springfield IL")]


async def has(driver: LoopDriver, conversation_id: str, name: str, count: int = 1) -> bool:
    return names(await driver.events(conversation_id)).count(name) >= count


def answering(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
    return complete(f"answer to {request.observation.user_message.text}")


async def test_observation_first(tmp_path: Path) -> None:
    """Decide(1) is on its way when another text comes and the Loop dies: the same observation is sent again."""
    async with running_loop(tmp_path, answering) as driver:
        gate = driver.adapter.hold("Decide")
        conversation_id = await driver.create()
        first = driver.open_send(conversation_id, "one")
        await driver.adapter.until_arrived("Decide")
        second = driver.open_send(conversation_id, "two")
        await driver.until(partial(has, driver, conversation_id, "message_accepted"))
        await driver.restart()
        gate.set()
        await driver.until(partial(has, driver, conversation_id, "completed", 2))
        sent = driver.adapter.decide_requests
        assert [r.decision_number for r in sent] == [1, 1, 1]
        assert sent[0].observation == sent[1].observation
        assert sent[0].observation.user_message.text == "one"
        assert sent[2].observation.user_message.text == "two"
        first.cancel()
        second.cancel()


async def test_first_writer(tmp_path: Path) -> None:
    """Two computations of one decision end together: the first to store wins, and both get its bytes."""
    both = threading.Barrier(2)

    class Together:
        def __init__(self, domain: Domain) -> None:
            self._planner = domain.planner

        def plan(self, request: PlanningRequest) -> Proposal:
            both.wait(20)
            return self._planner.plan(request)

    async with running_probe(tmp_path, adapt=lambda domain: replace(domain, planner=Together(domain))) as probe:
        driver = await probe.open()
        message = obs.UserMessage(text="look London", begins_interaction=True)
        request = driver.request(obs.Observation(user_message=message))
        decisions = await asyncio.gather(driver.send(request), driver.send(request))
        assert len({decision.SerializeToString(deterministic=True) for decision in decisions}) == 1
        assert probe.sql("SELECT count(*) FROM decisions") == [(1,)]
        assert probe.sql("SELECT count(*) FROM candidates") == [(2,)]
        assert not both.broken


def tool_first(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
    """A call; then a question, unless a further message goes on; then the answer."""
    match request.observation.WhichOneof("kind"):
        case "tool_finished":
            return ask()
        case "user_message" if not request.observation.user_message.begins_interaction:
            return complete(f"went on with {request.observation.user_message.text}")
        case _:
            return call(f"call_{request.interaction_id}")


def tool_then_end(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
    if request.observation.WhichOneof("kind") == "tool_finished":
        return complete("done")
    if request.observation.user_message.text == "start":
        return call(f"call_{request.interaction_id}")
    return complete(f"answer to {request.observation.user_message.text}")


async def send_while_busy(driver: LoopDriver, conversation_id: str, *texts: str) -> list[Stream]:
    """The first message's tool is held until the others are queued; the streams of all."""
    gate = driver.adapter.hold("tool")
    streams: list[Stream] = [asyncio.ensure_future(driver.send(conversation_id, texts[0]))]
    await driver.adapter.until_arrived("tool")
    for count, text in enumerate(texts[1:], start=1):
        streams.append(asyncio.ensure_future(driver.send(conversation_id, text)))
        await driver.until(partial(has, driver, conversation_id, "message_accepted", count))
    gate.set()
    return streams


async def test_inbox(tmp_path: Path) -> None:
    """Every message that comes while the interaction is busy is consumed, one a decision number, in its order."""

    def script(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        heard = request.observation.user_message.text
        return complete("all heard") if heard == "three" else tool_first(request) if heard == "one" else ask()

    async with running_loop(tmp_path, script) as driver:
        conversation_id = await driver.create()
        streams = await send_while_busy(driver, conversation_id, "one", "two", "three")
        for stream in streams:
            assert last(await stream, "completed").answer.text == "all heard"
        sent = [(r.decision_number, r.observation.user_message.text) for r in driver.adapter.decide_requests]
        assert sent == [(1, "one"), (2, ""), (3, "two"), (4, "three")]
        check_runs(await driver.events(conversation_id))


async def test_drain_first(tmp_path: Path) -> None:
    """A question is shown only when no input is queued; otherwise the input goes on."""
    async with running_loop(tmp_path, tool_first) as driver:
        conversation_id = await driver.create()
        first, second = await send_while_busy(driver, conversation_id, "start", "and more")
        events, joined = await first, await second
        assert "clarification_required" not in names(events)
        assert last(events, "completed").answer.text == "went on with and more"
        # The joined stream shows the run that consumed its message, from that run's start.
        assert joined == events
        check_runs(await driver.events(conversation_id))


async def test_drain_first_a_message_queued_behind_an_ending_opens_the_successor(tmp_path: Path) -> None:
    async with running_loop(tmp_path, tool_then_end) as driver:
        conversation_id = await driver.create()
        streams = await send_while_busy(driver, conversation_id, "start", "two", "three")
        told = [last(await stream, "completed").answer.text for stream in streams]
        assert told == ["done", "answer to two", "answer to three"]
        stored = await driver.events(conversation_id)
        check_runs(stored)
        assert len({e.interaction_id for e in stored}) == 3


async def test_verdict_cas(tmp_path: Path) -> None:
    """A text is judged a new request while its interaction is canceled: the verdict is for a state that is gone.

    There is one place for work, so that the worker which asked goes on until its answer comes.
    """

    def script(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        if request.observation.WhichOneof("kind") == "clarification_reply":
            return reply(decision_pb2.REPLY_VERDICT_NEW_REQUEST)
        return ask() if request.observation.user_message.text == "go" else complete("Else.")

    async with running_loop(tmp_path, script, concurrent_runs=1) as driver:
        conversation_id = await driver.create()
        asked = await driver.send(conversation_id, "go")
        gate = driver.adapter.hold("Decide")
        judged = asyncio.ensure_future(driver.send(conversation_id, "something else"))
        await driver.adapter.until_arrived("Decide")
        request = pb.CancelInteractionRequest(request_id="c", interaction_id=asked[0].interaction_id)
        canceling = asyncio.ensure_future(driver.stub.CancelInteraction(request))
        await driver.until(partial(stop_is_recorded, driver, request.interaction_id))
        gate.set()
        await canceling
        assert names(await judged)[-1] == "canceled"
        stored = names(await driver.events(conversation_id))
        assert (stored.count("superseded"), stored.count("canceled")) == (0, 1)
        assert len(driver.adapter.decide_requests) == 2


async def test_verdict_cas_an_observation_of_another_plan_version_is_refused(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say("look London")
    late = obs.Observation(user_message=obs.UserMessage(text="actually Paris"))
    error = await refusal(driver.send(driver.request(late, base_plan_version=0)))
    assert (error.reason, error.metadata["current_plan_version"]) == ("STALE_PLAN_VERSION", "1")
    assert probe.sql("SELECT count(*) FROM decisions") == [(1,)]


async def test_close_question(tmp_path: Path) -> None:
    """The click that moves the interaction closes the question: a second one, while it is busy, finds it answered."""

    def script(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        if request.observation.WhichOneof("kind") == "clarification_reply":
            return complete(request.observation.clarification_reply.selected_candidate_id)
        return ask(options=OPTIONS)

    async with running_loop(tmp_path, script) as driver:
        conversation_id = await driver.create()
        asked = await driver.send(conversation_id, "Springfield")
        question = last(asked, "clarification_required").clarification_id
        gate = driver.adapter.hold("Decide")
        click = pb.Reply(clarification_id=question, selected_candidate_id="c1")
        answered = asyncio.ensure_future(driver.send(conversation_id, reply=click))
        await driver.adapter.until_arrived("Decide")
        late = pb.Reply(clarification_id=question, selected_candidate_id="c2")
        refusal_ = await refused(driver.send(conversation_id, reply=late), "FAILED_PRECONDITION")
        assert (refusal_.reason, refusal_.metadata["state"]) == ("CLARIFICATION_CLOSED", "answered")
        gate.set()
        assert last(await answered, "completed").answer.text == "c1"
        listed = await driver.stub.ListMessages(pb.ListMessagesRequest(conversation_id=conversation_id))
        assert "Springfield IL" not in [m.text for m in listed.messages]


async def test_close_question_a_stop_closes_it_too(tmp_path: Path) -> None:
    async with running_loop(tmp_path, lambda request: ask(options=OPTIONS)) as driver:
        conversation_id = await driver.create()
        asked = await driver.send(conversation_id, "Springfield")
        question = last(asked, "clarification_required").clarification_id
        gate = driver.adapter.hold("CancelInteraction")
        request = pb.CancelInteractionRequest(request_id="c", interaction_id=asked[0].interaction_id)
        canceling = asyncio.ensure_future(driver.stub.CancelInteraction(request))
        await driver.adapter.until_arrived("CancelInteraction")
        click = pb.Reply(clarification_id=question, selected_candidate_id="c1")
        refusal_ = await refused(driver.send(conversation_id, reply=click), "FAILED_PRECONDITION")
        assert refusal_.metadata["state"] == "withdrawn"
        gate.set()
        await canceling


async def test_supersede_in_decide(probe: Probe) -> None:
    """The successor's first Decide closes the superseded interaction, also one that was never seen before."""
    old = await probe.open()
    await old.say("look Berlin")
    new = await probe.open()
    await new.say("look Paris", supersedes_interaction_id=old.interaction_id)
    assert (await refusal(old.execute(old.last.call_tool.calls[0]))).reason == "INTERACTION_CLOSED"
    assert probe.world.most_running == 0
    unseen, late = await probe.open(), await probe.open()
    await late.say("look Paris", supersedes_interaction_id=unseen.interaction_id)
    assert (await refusal(unseen.say("look Berlin"))).reason == "INTERACTION_CLOSED"


async def test_supersede_in_decide_is_asked_for_by_the_loop(tmp_path: Path) -> None:
    """A new request during a question: both services agree that the old interaction is over, with one run for it."""
    async with running_whole(tmp_path) as whole:
        conversation_id = await whole.create()
        asked = await whole.driver.send(conversation_id, "look London")
        events = await whole.driver.send(conversation_id, "new look Paris")
        assert names(events)[-1] == "completed"
        old = asked[0].interaction_id
        closed = whole.probe.sql("SELECT interaction_id, closed FROM interactions ORDER BY create_time")
        assert closed == [(old, 1), (events[-1].interaction_id, 0)]
        check_runs(await whole.driver.events(conversation_id))


async def test_request_in_tx(tmp_path: Path) -> None:
    """request_id and message are one transaction: however often it is sent, also after a crash, it is one message."""
    async with running_loop(tmp_path, answering) as driver:
        conversation_id = await driver.create()
        gate = driver.adapter.hold("Decide")
        sent = [driver.open_send(conversation_id, "hello", request_id="same") for _ in range(4)]
        await driver.adapter.until_arrived("Decide")
        await driver.restart()
        gate.set()
        first = await driver.send(conversation_id, "hello", request_id="same")
        again = await driver.send(conversation_id, "hello", request_id="same")
        assert [e.SerializeToString() for e in again] == [e.SerializeToString() for e in first]
        error = await refused(driver.send(conversation_id, "other", request_id="same"), "ALREADY_EXISTS")
        assert error.reason == "REQUEST_ID_REUSED"
        listed = await driver.stub.ListMessages(pb.ListMessagesRequest(conversation_id=conversation_id))
        assert [m.text for m in listed.messages] == ["hello", "answer to hello"]
        for stream in sent:
            stream.cancel()


VERDICTS = {
    "a new request": decision_pb2.REPLY_VERDICT_NEW_REQUEST,
    "cancel": decision_pb2.REPLY_VERDICT_CANCEL,
    "unclear": decision_pb2.REPLY_VERDICT_UNCLEAR,
}


@pytest.mark.parametrize("verdict", VERDICTS)
async def test_a_verdict_without_an_answer_carries_no_action(tmp_path: Path, verdict: str) -> None:
    """A decision whose reply_verdict is neither answer nor correction and that acts nevertheless is not carried out."""

    def script(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        if request.observation.WhichOneof("kind") != "clarification_reply":
            return ask()
        acting = call("call_1", effect=tool_pb2.EFFECT_EXTERNAL)
        acting.reply_verdict = VERDICTS[verdict]
        return acting

    async with running_loop(tmp_path, script) as driver:
        conversation_id = await driver.create()
        await driver.send(conversation_id, "go")
        failure = last(await driver.send(conversation_id, "hm"), "failed").failure
        assert failure.code == "plan_invalid"
        assert driver.adapter.executions == 0


@pytest.mark.parametrize(("text", "verdict"), [("new look Paris", 3), ("cancel", 4), ("hm", 5)])
async def test_a_verdict_without_an_answer_changes_no_plan(probe: Probe, text: str, verdict: int) -> None:
    driver = await probe.open()
    await driver.say("look London then measure it")
    asked = adapter_pb.GetSessionRequest(domain_session_id=driver.session_id, caller=driver.principal())
    before = (await probe.stub.GetSession(asked)).session.plan
    decision = await driver.reply(text)
    assert (decision.reply_verdict, decision.WhichOneof("outcome")) == (verdict, None)
    after = (await probe.stub.GetSession(asked)).session.plan
    assert list(after.tasks) == list(before.tasks)
    assert decision.plan_version == after.plan_version == before.plan_version
    await driver.reply("Berlin")
    assert (await driver.run()).HasField("complete")


async def test_a_verdict_is_the_observation_of_the_next_number(tmp_path: Path) -> None:
    """An unclear reply that is taken as an answer is observed again under number n+1, never a second time under n."""

    def script(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        if request.observation.WhichOneof("kind") != "clarification_reply":
            return ask()
        if request.observation.clarification_reply.reply_verdict == decision_pb2.REPLY_VERDICT_ANSWER:
            return complete("taken as an answer")
        return reply(decision_pb2.REPLY_VERDICT_UNCLEAR)

    async with running_loop(tmp_path, script) as driver:
        conversation_id = await driver.create()
        await driver.send(conversation_id, "go")
        assert last(await driver.send(conversation_id, "hm"), "completed").answer.text == "taken as an answer"
        assert [r.decision_number for r in driver.adapter.decide_requests] == [1, 2, 3]


async def stop_is_recorded(driver: LoopDriver, interaction_id: str) -> bool:
    parts = driver.loop.parts
    assert parts is not None
    rows = await parts.database.read(
        lambda connection: connection.exec_driver_sql(
            "SELECT stop_kind FROM interactions WHERE interaction_id = ?", (interaction_id,)
        ).all()
    )
    return bool(rows and rows[0][0])

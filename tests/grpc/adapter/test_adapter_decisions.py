"""Decisions by number: replay, refusals, races (requirements B2, B3; soundness.md 'Action', 'Inputs')."""

from __future__ import annotations

import asyncio
from pathlib import Path

from adapter_service.domain.session import PARALLEL_READS_LIMIT
from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail.adapter.v1 import observation_pb2 as obs
from handrail.common.v1 import approval_pb2, decision_pb2, fact_pb2, tool_pb2
from handrail_rpc.errors import Aborted, FailedPrecondition, InvalidArgument, NotFound
from tests.fakes.adapter_harness import Probe, refusal, running_probe


def message(text: str, *, begins: bool = True) -> obs.Observation:
    return obs.Observation(user_message=obs.UserMessage(text=text, begins_interaction=begins))


async def test_decisions_survive_a_restart(tmp_path: Path) -> None:
    async with running_probe(tmp_path) as before:
        driver = await before.open()
        first = await driver.say("look London")
    async with running_probe(tmp_path) as after:
        driver.stub = after.stub
        assert await driver.send(driver.last_request) == first


async def test_a_gap_a_stale_plan_and_another_history_are_refused_and_store_nothing(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say("look London")
    text = message("Paris", begins=False)
    error = await refusal(driver.send(driver.request(text, decision_number=3)))
    assert (error.reason, error.metadata["stored_decisions"]) == ("DECISION_GAP", "1")
    error = await refusal(driver.send(driver.request(text, base_plan_version=0)))
    assert (type(error), error.reason) == (Aborted, "STALE_PLAN_VERSION")
    assert error.metadata["current_plan_version"] == "1"
    assert "1" in error.message
    error = await refusal(driver.send(driver.request(text, history_id="his_other")))
    assert (type(error), error.reason) == (FailedPrecondition, "HISTORY_DIVERGED")
    assert probe.sql("SELECT count(*) FROM decisions") == [(1,)]


async def test_a_lower_epoch_has_lost_its_lease_and_a_higher_one_is_kept(probe: Probe) -> None:
    driver = await probe.open(epoch=5)
    await driver.say("look London")
    error = await refusal(driver.send(driver.request(message("x", begins=False), lease_epoch=4)))
    assert (type(error), error.reason, error.metadata["fence"]) == (Aborted, "LEASE_LOST", "5")
    error = await refusal(driver.cancel(lease_epoch=4))
    assert error.reason == "LEASE_LOST"
    driver.epoch = 6
    await driver.reply(selected_candidate_id=driver.last.ask.prompt.options[0].candidate_id)
    error = await refusal(driver.execute(driver.last.call_tool.calls[0], lease_epoch=5))
    assert (error.reason, error.metadata["fence"]) == ("LEASE_LOST", "6")


async def test_of_two_observations_under_one_number_exactly_one_is_stored(probe: Probe) -> None:
    driver = await probe.open()
    requests = [driver.request(message(f"look {place}")) for place in ("Berlin", "Paris")]
    results = await asyncio.gather(*(driver.send(request) for request in requests), return_exceptions=True)
    assert sorted(isinstance(result, decision_pb2.Decision) for result in results) == [False, True]
    assert probe.sql("SELECT count(*) FROM tool_calls") == [(1,)]


async def test_another_sessions_interaction_is_not_found(probe: Probe) -> None:
    mine = await probe.open("conv_1")
    await mine.say("look Berlin")
    other = await probe.open("conv_2")
    other.interaction_id = mine.interaction_id
    assert isinstance(await refusal(other.say("look Berlin")), NotFound)
    assert isinstance(await refusal(other.cancel()), NotFound)
    assert isinstance(await refusal(other.execute(mine.last.call_tool.calls[0])), NotFound)


async def test_sessions_are_opened_once_and_unknown_ones_are_not_found(probe: Probe) -> None:
    one, two, other = await probe.open("conv_1"), await probe.open("conv_1"), await probe.open("conv_2")
    assert one.session_id == two.session_id != other.session_id
    assert one.history_id == other.history_id
    one.session_id = "ses_unknown"
    error = await refusal(one.say("look Berlin"))
    assert (type(error), error.reason) == (NotFound, "SESSION_NOT_FOUND")
    opening = pb2.OpenSessionRequest(request_id="r", domain="nowhere", conversation_id="conv_9")
    assert (await refusal(probe.stub.OpenSession(opening))).reason == "DOMAIN_NOT_FOUND"


async def test_every_wrong_field_is_named(probe: Probe) -> None:
    driver = await probe.open()
    request = pb2.DecideRequest(locale="de", interaction_id="x" * 129)
    error = await refusal(driver.send(request))
    assert isinstance(error, InvalidArgument)
    named = {violation.field for violation in error.field_violations}
    assert named >= {
        "request_id",
        "domain",
        "domain_session_id",
        "interaction_id",
        "history_id",
        "decision_number",
        "locale",
        "caller",
        "observation",
    }
    long = await refusal(driver.say("x" * 8001))
    assert "at most 8000 characters" in long.message
    assert (await refusal(driver.say("  "))).message.endswith("must not be empty")
    facts = [fact_pb2.Fact(name="position")]
    assert "facts[0].source" in (await refusal(driver.say("look Berlin", facts=facts))).message
    not_begun = driver.request(message("look Berlin", begins=False))
    assert "begins_interaction" in (await refusal(driver.send(not_begun))).message
    assert probe.sql("SELECT count(*) FROM interactions") == [(0,)]


async def test_facts_and_observations_beyond_the_limits_are_refused_with_their_field(probe: Probe) -> None:
    driver = await probe.open()
    late = fact_pb2.Fact(name="x", source=fact_pb2.SOURCE_USER)
    late.observed_time.seconds = 10**15
    endless = fact_pb2.Fact(name="x", source=fact_pb2.SOURCE_USER)
    endless.value.fields["n"].number_value = float("nan")
    huge = fact_pb2.Fact(name="x", source=fact_pb2.SOURCE_USER)
    huge.value.update({"text": "x" * 17_000})
    for fact, field in ((late, "observed_time"), (endless, "value"), (huge, "value")):
        error = await refusal(driver.say("look London", facts=[fact]))
        assert isinstance(error, InvalidArgument)
        assert [violation.field for violation in error.field_violations] == [f"facts[0].{field}"]
    await driver.say("look London")
    wake_up = obs.WakeUp(signal="s" * 129)
    wake_up.payload.fields["n"].number_value = float("inf")
    both = obs.ApprovalResolved(
        approval_id="a", snapshot_digest="d", verdict=approval_pb2.VERDICT_APPROVE, expired=True
    )
    names = [f"c{number}" for number in range(PARALLEL_READS_LIMIT + 1)]
    calls = [obs.FinishedCall(tool_call_id=name, outcome=tool_pb2.OUTCOME_SUCCEEDED) for name in names]
    for observation, named in (
        (obs.Observation(wake_up=wake_up), {"wake_up.signal", "wake_up.payload"}),
        (obs.Observation(approval_resolved=both), {"approval_resolved.verdict"}),
        (obs.Observation(tool_finished=obs.ToolFinished(calls=calls)), {"tool_finished.calls"}),
        (obs.Observation(action_choice=obs.ActionChoice(action_id="a", intent="x" * 8001)), {"action_choice.intent"}),
        (obs.Observation(clarification_reply=obs.ClarificationReply(slot="x" * 129, text="a")),
         {"clarification_reply.slot"}),
    ):  # fmt: skip
        error = await refusal(driver.decide(observation))
        assert isinstance(error, InvalidArgument)
        assert {v.field for v in error.field_violations} == {f"observation.{name}" for name in named}


async def test_what_the_loop_acknowledges_is_not_too_long_here(probe: Probe) -> None:
    driver = await probe.open()
    fact = fact_pb2.Fact(name="x", source=fact_pb2.SOURCE_USER, scope="s" * 128)
    fact.value.update({"text": "x" * 15_000})
    assert (await driver.say("look " + "x" * 7995, facts=[fact])).HasField("ask")
    assert len(driver.last.ask.prompt.question) < 200


async def test_new_facts_count_as_a_change_of_what_planning_reads(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say("look London")
    before = probe.sql("SELECT revision FROM sessions")[0][0]
    fact = fact_pb2.Fact(name="x", source=fact_pb2.SOURCE_USER)
    await driver.reply("London", facts=[fact])
    assert probe.sql("SELECT revision FROM sessions")[0][0] > before


async def test_a_wake_up_answers_no_question(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say("look London")
    error = await refusal(driver.decide(obs.Observation(wake_up=obs.WakeUp())))
    assert (type(error), error.reason) == (FailedPrecondition, "UNEXPECTED_OBSERVATION")


async def test_an_observation_that_does_not_fit_the_state_is_refused(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say("look London")
    choice = obs.Observation(action_choice=obs.ActionChoice(action_id="x"))
    assert (await refusal(driver.decide(choice))).reason == "UNEXPECTED_OBSERVATION"
    resolved = obs.ApprovalResolved(approval_id="a", snapshot_digest="d", expired=True)
    error = await refusal(driver.decide(obs.Observation(approval_resolved=resolved)))
    assert error.reason == "UNEXPECTED_OBSERVATION"
    finished = obs.ToolFinished(calls=[obs.FinishedCall(tool_call_id="c", outcome=tool_pb2.OUTCOME_SUCCEEDED)])
    error = await refusal(driver.decide(obs.Observation(tool_finished=finished)))
    assert error.reason == "DECISION_CONTRADICTION"
    await driver.reply("Berlin")
    await driver.run()
    assert driver.last.HasField("complete")
    assert (await refusal(driver.say("more"))).reason == "UNEXPECTED_OBSERVATION"


async def test_an_observation_against_the_ledger_contradicts(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say("look Berlin")
    call = driver.last.call_tool.calls[0]
    error = await refusal(driver.say("more"))
    assert error.reason == "DECISION_CONTRADICTION"
    finished = obs.FinishedCall(tool_call_id=call.tool_call_id, outcome=tool_pb2.OUTCOME_SUCCEEDED)
    early = obs.Observation(tool_finished=obs.ToolFinished(calls=[finished]))
    assert (await refusal(driver.decide(early))).reason == "DECISION_CONTRADICTION"
    await driver.execute(call)
    finished.outcome = tool_pb2.OUTCOME_FAILED
    lie = obs.Observation(tool_finished=obs.ToolFinished(calls=[finished]))
    assert (await refusal(driver.decide(lie))).reason == "DECISION_CONTRADICTION"
    finished.outcome = tool_pb2.OUTCOME_SUCCEEDED
    truth = obs.Observation(tool_finished=obs.ToolFinished(calls=[finished]))
    assert (await driver.decide(truth)).HasField("complete")

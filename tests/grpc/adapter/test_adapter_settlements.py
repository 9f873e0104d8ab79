"""A person settles an unknown outcome, and what follows from it (E4, F4; soundness.md settle_dead, target_lock)."""

from __future__ import annotations

import asyncio
import itertools
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail.adapter.v1 import observation_pb2 as obs
from handrail.common.v1 import approval_pb2, decision_pb2, failure_pb2, tool_pb2
from handrail_rpc.errors import FailedPrecondition, NotFound
from tests.fakes.adapter_harness import Driver, Probe, refusal, running_probe
from tests.fakes.processes import poll
from tests.grpc.adapter.test_adapter_executions import POST, approved, begun

HAPPENED = tool_pb2.OUTCOME_SUCCEEDED
DID_NOT = tool_pb2.OUTCOME_FAILED
_requests = itertools.count(1)


async def settle(
    driver: Driver, tool_call_id: str, outcome: tool_pb2.Outcome.ValueType, **more: Any
) -> tool_pb2.ToolOutcome:
    """The outcome after a person's verdict."""
    fields: dict[str, Any] = {
        "request_id": f"settle_{next(_requests)}",
        "domain": "probe",
        "domain_session_id": driver.session_id,
        "interaction_id": driver.interaction_id,
        "tool_call_id": tool_call_id,
        "history_id": driver.history_id,
        "outcome": outcome,
        "settled_by": "bob",
        "comment": "looked at the bell",
        "locale": "en",
    }
    answer = await driver.stub.SettleExecution(pb2.SettleExecutionRequest(**{**fields, **more}))
    return answer.outcome


async def unknown(
    probe: Probe, text: str = "ring 2", conversation_id: str = "conv_1"
) -> tuple[Driver, tool_pb2.ToolCall]:
    """A change whose outcome nobody can tell: it was dispatched before, and the ledger has no row of it."""
    driver, call = await approved(probe, text, conversation_id)
    if call.idempotent:
        probe.sql("UPDATE tool_calls SET idempotent = 0 WHERE tool_call_id = ?", call.tool_call_id)
    outcome = await driver.execute(call, dispatch_number=2)
    assert outcome.outcome == tool_pb2.OUTCOME_UNKNOWN
    failed = await driver.finish(outcome)
    assert failed.fail.failure.code == "tool_outcome_unknown"
    return driver, call


async def test_target_lock_a_person_frees_the_target_whatever_the_verdict(probe: Probe) -> None:
    for verdict, conversation_id in ((HAPPENED, "conv_1"), (DID_NOT, "conv_2")):
        driver, call = await unknown(probe, "ring 2", conversation_id)
        blocked_driver, blocked = await approved(probe, "ring 1", f"{conversation_id}_blocked")
        assert (await blocked_driver.execute(blocked)).block.code == "target_busy"
        await settle(driver, call.tool_call_id, verdict)
        free_driver, free = await approved(probe, "ring 1", f"{conversation_id}_free")
        assert (await free_driver.execute(free)).outcome == tool_pb2.OUTCOME_SUCCEEDED


async def test_it_happened_is_a_receipt_without_an_invented_result(probe: Probe) -> None:
    driver, call = await unknown(probe)
    outcome = await settle(driver, call.tool_call_id, HAPPENED)
    assert (outcome.outcome, outcome.tool, outcome.tool_call_id) == (HAPPENED, "ring", call.tool_call_id)
    assert (outcome.receipt.key, outcome.receipt.result_sha256) == (call.idempotency_key, "")
    assert outcome.receipt.summary == "Ring: confirmed by bob."
    assert not outcome.artifacts
    # It is the outcome of the call from now on, for every repetition and for the close.
    assert await driver.execute(call, dispatch_number=3) == outcome
    assert (await driver.cancel()).calls[0].outcome == outcome
    assert not probe.world.effects
    stored = probe.sql(
        "SELECT state, settled_by, settle_comment FROM executions WHERE tool_call_id = ?", call.tool_call_id
    )
    assert stored == [("succeeded", "bob", "looked at the bell")]


async def test_it_did_not_happen_fails_with_a_code_of_its_own(probe: Probe) -> None:
    driver, call = await unknown(probe)
    outcome = await settle(driver, call.tool_call_id, DID_NOT, locale="ru")
    assert (outcome.outcome, outcome.failure.code) == (DID_NOT, "settled_not_executed")
    assert outcome.failure.progress == failure_pb2.PROGRESS_NOT_EXECUTED
    assert "не сработал" in outcome.failure.explanation
    # The key is used up: what is tried again has another one.
    assert await driver.execute(call, dispatch_number=3) == outcome
    assert not probe.world.effects


async def test_a_settled_change_may_be_claimed_by_later_answers(probe: Probe) -> None:
    """F4: the artifact counts as dealt with once a person said so, and not before."""
    driver, call = await unknown(probe, POST)
    claiming = "say Posted the note memo"
    before = await probe.open()
    assert (await before.say(claiming)).fail.failure.code == "claimed_change_not_executed"
    await settle(driver, call.tool_call_id, HAPPENED)
    after = await probe.open()
    assert (await after.say(claiming)).complete.answer.text == "Posted the note memo"


async def test_a_change_settled_as_not_executed_may_not_be_claimed(probe: Probe) -> None:
    driver, call = await unknown(probe, POST)
    await settle(driver, call.tool_call_id, DID_NOT)
    after = await probe.open()
    assert (await after.say("say Posted the note memo")).fail.failure.code == "claimed_change_not_executed"


async def test_the_same_verdict_again_is_answered_by_the_recorded_outcome(probe: Probe) -> None:
    driver, call = await unknown(probe)
    first = await settle(driver, call.tool_call_id, DID_NOT)
    again = await settle(driver, call.tool_call_id, DID_NOT, settled_by="eve", locale="ru")
    assert again.SerializeToString(deterministic=True) == first.SerializeToString(deterministic=True)


async def test_another_verdict_after_the_first_names_who_and_when(probe: Probe) -> None:
    driver, call = await unknown(probe)
    await settle(driver, call.tool_call_id, DID_NOT)
    error = await refusal(settle(driver, call.tool_call_id, HAPPENED, settled_by="eve"))
    assert (type(error), error.reason) == (FailedPrecondition, "EXECUTION_SETTLED")
    assert "as failed by bob at 2030-01-02T03:04:05" in error.message
    assert error.metadata["settled_by"] == "bob"


async def test_two_verdicts_at_once_one_wins(probe: Probe) -> None:
    driver, call = await unknown(probe)
    found = await asyncio.gather(
        *(settle(driver, call.tool_call_id, verdict) for verdict in (HAPPENED, DID_NOT) * 4), return_exceptions=True
    )
    outcomes = [one.outcome for one in found if isinstance(one, tool_pb2.ToolOutcome)]
    assert len(outcomes) == 4
    assert len(set(outcomes)) == 1


async def test_a_known_outcome_is_not_settled_otherwise(probe: Probe) -> None:
    driver, call = await approved(probe, "ring 2")
    done = await driver.execute(call)
    assert await settle(driver, call.tool_call_id, HAPPENED) == done
    error = await refusal(settle(driver, call.tool_call_id, DID_NOT))
    assert (type(error), error.reason, error.metadata["outcome"]) == (
        FailedPrecondition,
        "OUTCOME_RECORDED",
        "succeeded",
    )


async def test_settle_dead_a_running_attempt_is_not_settled(probe: Probe) -> None:
    driver, call = await approved(probe, "ring 2")
    release = probe.world.hold("ring")
    running = asyncio.create_task(driver.execute(call))
    await begun(probe, "ring")
    for verdict in (HAPPENED, DID_NOT):
        assert (await refusal(settle(driver, call.tool_call_id, verdict))).reason == "ATTEMPT_LIVE"
    release.set()
    assert (await running).outcome == tool_pb2.OUTCOME_SUCCEEDED
    assert list(probe.world.effects.values()) == [1]


async def test_settle_dead_a_function_that_outlived_its_time_is_not_settled_before_it_ends(probe: Probe) -> None:
    """The outcome is unknown already, but the thread can still write."""
    driver, call = await approved(probe, "toll 3")
    release = probe.world.hold("ring")
    assert (await driver.execute(call)).outcome == tool_pb2.OUTCOME_UNKNOWN
    error = await refusal(settle(driver, call.tool_call_id, DID_NOT))
    assert (type(error), error.reason) == (FailedPrecondition, "ATTEMPT_LIVE")
    release.set()
    await poll(lambda: probe.world.effects, "the late write")

    async def settled() -> bool:
        with_reason = await asyncio.gather(settle(driver, call.tool_call_id, HAPPENED), return_exceptions=True)
        return isinstance(with_reason[0], tool_pb2.ToolOutcome)

    await poll(settled, "the settlement after the thread had ended")


async def test_settle_dead_a_foreign_lease_is_not_settled_before_it_lapses(probe: Probe) -> None:
    driver, call = await approved(probe, "ring 2")
    probe.sql(
        "INSERT INTO executions (tool_call_id, execution_id, interaction_id, domain, idempotency_key, tool, effect, "
        "target, state, attempt, owner, lease_until, outcome, result_sha256, trouble, claim_time) "
        "SELECT tool_call_id, 'exe_x', interaction_id, 'probe', idempotency_key, tool, effect, target, 'claimed', 1, "
        "'elsewhere', ?, x'', '', '', 0 FROM tool_calls WHERE tool_call_id = ?",
        int((probe.clock.now + timedelta(seconds=30)).timestamp() * 1_000_000),
        call.tool_call_id,
    )
    assert (await refusal(settle(driver, call.tool_call_id, DID_NOT))).reason == "ATTEMPT_LIVE"
    probe.clock.advance(timedelta(seconds=31))
    assert (await settle(driver, call.tool_call_id, DID_NOT)).outcome == DID_NOT


async def test_a_call_that_was_never_begun_cannot_begin_once_it_is_settled(probe: Probe) -> None:
    """The Loop lost track of it (another history, a crash): the late dispatch finds the verdict."""
    driver, call = await approved(probe, "ring 2")
    outcome = await settle(driver, call.tool_call_id, DID_NOT)
    assert await driver.execute(call) == outcome
    assert not probe.world.effects


@pytest.mark.parametrize(
    ("fields", "category", "reason"),
    [
        ({"history_id": "hist_other"}, FailedPrecondition, "HISTORY_DIVERGED"),
        ({"tool_call_id": "call_none"}, NotFound, "TOOL_CALL_NOT_FOUND"),
        ({"interaction_id": "int_none"}, NotFound, "TOOL_CALL_NOT_FOUND"),
        ({"domain_session_id": "ses_none"}, NotFound, "SESSION_NOT_FOUND"),
        ({"domain": "none"}, NotFound, "DOMAIN_NOT_FOUND"),
    ],
)
async def test_what_is_not_in_the_records_is_not_settled(
    probe: Probe, fields: dict[str, str], category: type, reason: str
) -> None:
    driver, call = await unknown(probe)
    call_id = fields.pop("tool_call_id", call.tool_call_id)
    error = await refusal(settle(driver, call_id, DID_NOT, **fields))
    assert (type(error), error.reason) == (category, reason)


async def test_every_wrong_field_of_a_settlement_is_named(probe: Probe) -> None:
    driver, call = await unknown(probe)
    error: Any = await refusal(
        settle(driver, call.tool_call_id, tool_pb2.OUTCOME_UNKNOWN, request_id="", settled_by="", locale="de")
    )
    assert {each.field for each in error.field_violations} == {"request_id", "settled_by", "locale", "outcome"}


async def retried(probe: Probe, driver: Driver, tool_call_id: str) -> tuple[Driver, decision_pb2.Decision]:
    """A new interaction of the same session whose first observation is the retry."""
    again = await probe.open()
    assert again.session_id == driver.session_id
    retry = obs.Retry(interaction_id=driver.interaction_id, tool_call_id=tool_call_id)
    return again, await again.decide(obs.Observation(retry=retry))


async def test_try_again_takes_up_the_plan_with_a_new_call_key_and_approval(probe: Probe) -> None:
    driver, call = await unknown(probe, POST)
    old_digest = probe.sql("SELECT digest FROM approvals")[0][0]
    await settle(driver, call.tool_call_id, DID_NOT)
    again, decision = await retried(probe, driver, call.tool_call_id)
    snapshot = decision.request_approval.snapshot
    assert snapshot.tool == "post_note"
    assert snapshot.idempotency_key != call.idempotency_key
    assert again.digest() != old_digest
    # What had been written and checked before is not done again.
    assert probe.sql("SELECT count(*) FROM tool_calls WHERE tool = 'write_note'") == [(1,)]
    await again.resolve(approval_pb2.VERDICT_APPROVE)
    new_call = again.last.call_tool.calls[0]
    assert new_call.tool_call_id != call.tool_call_id
    assert new_call.idempotency_key == snapshot.idempotency_key
    assert (await again.run()).complete.answer.text.endswith("Posted the note memo.")
    assert dict(probe.world.effects) == {snapshot.idempotency_key: 1}
    # Nothing of the ended interaction begins any more (tombstone).
    assert probe.sql("SELECT closed FROM interactions WHERE interaction_id = ?", driver.interaction_id) == [(1,)]


async def test_try_again_of_what_happened_or_is_unknown_is_refused(probe: Probe) -> None:
    driver, call = await unknown(probe)
    again = await probe.open()
    retry = obs.Retry(interaction_id=driver.interaction_id, tool_call_id=call.tool_call_id)
    error = await refusal(again.decide(obs.Observation(retry=retry)))
    assert (type(error), error.reason) == (FailedPrecondition, "UNEXPECTED_OBSERVATION")
    await settle(driver, call.tool_call_id, HAPPENED)
    error = await refusal(again.decide(obs.Observation(retry=retry)))
    assert (type(error), error.reason) == (FailedPrecondition, "UNEXPECTED_OBSERVATION")
    for wrong in ({"tool_call_id": "call_none"}, {"interaction_id": "int_none"}):
        fields = {"interaction_id": driver.interaction_id, "tool_call_id": call.tool_call_id, **wrong}
        error = await refusal(again.decide(obs.Observation(retry=obs.Retry(**fields))))
        assert (type(error), error.reason) == (NotFound, "TOOL_CALL_NOT_FOUND")


async def test_try_again_of_another_conversation_is_not_found(probe: Probe) -> None:
    driver, call = await unknown(probe)
    await settle(driver, call.tool_call_id, DID_NOT)
    stranger = await probe.open("conv_other")
    retry = obs.Retry(interaction_id=driver.interaction_id, tool_call_id=call.tool_call_id)
    assert (await refusal(stranger.decide(obs.Observation(retry=retry)))).reason == "TOOL_CALL_NOT_FOUND"


async def test_a_retry_begins_an_interaction_and_never_continues_one(probe: Probe) -> None:
    driver, call = await unknown(probe)
    await settle(driver, call.tool_call_id, DID_NOT)
    other = await probe.open()
    await other.say("fetch 7")
    await other.run()
    retry = obs.Retry(interaction_id=driver.interaction_id, tool_call_id=call.tool_call_id)
    error: Any = await refusal(other.decide(obs.Observation(retry=retry)))
    assert [each.field for each in error.field_violations] == ["observation.retry"]


async def test_settlements_survive_a_restart(tmp_path: Path) -> None:
    async with running_probe(tmp_path) as probe:
        driver, call = await unknown(probe)
        outcome = await settle(driver, call.tool_call_id, DID_NOT)
    async with running_probe(tmp_path) as probe:
        driver.stub = probe.stub
        assert await settle(driver, call.tool_call_id, DID_NOT) == outcome
        again, decision = await retried(probe, driver, call.tool_call_id)
        assert decision.request_approval.snapshot.tool == "ring"
        assert again.plan_version == 1

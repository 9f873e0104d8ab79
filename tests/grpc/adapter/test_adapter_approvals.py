"""Validation, revision, approval and the comparison E2, each of its parts taken away in turn (B5, E1 to E5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from adapter_service.sdk import Domain
from handrail.adapter.v1 import artifact_service_pb2, domain_adapter_service_pb2
from handrail.adapter.v1 import observation_pb2 as obs
from handrail.common.v1 import approval_pb2, decision_pb2, failure_pb2, tool_pb2
from handrail_rpc.errors import InvalidArgument
from tests.fakes.adapter_harness import Driver, Probe, refusal, running_probe

APPROVE = approval_pb2.VERDICT_APPROVE


async def ask_for_posting(probe: Probe, conversation_id: str = "conv_1") -> Driver:
    """A note that passed validation and waits for its approval."""
    driver = await probe.open(conversation_id)
    await driver.say("write memo at 3 then post")
    await driver.run()
    assert driver.last.HasField("request_approval")
    return driver


async def approved_call(probe: Probe) -> tuple[Driver, tool_pb2.ToolCall]:
    """The call that an approval allowed."""
    driver = await ask_for_posting(probe)
    await driver.resolve(APPROVE)
    return driver, driver.last.call_tool.calls[0]


async def test_a_failed_validation_offers_the_revision_alone_and_asks_for_what_is_missing(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say("write memo then post")
    tools = []
    while driver.last.HasField("call_tool"):
        tools += [call.tool for call in driver.last.call_tool.calls]
        await driver.finish(*[await driver.execute(call) for call in driver.last.call_tool.calls])
    assert tools == ["write_note", "check_note"]
    assert [action.action_id for action in driver.last.choose.actions] == ["change_note"]
    assert [(block.code, block.rule) for block in driver.last.blocks] == [("validation_failed", "validation_passed")]
    unknown = obs.Observation(action_choice=obs.ActionChoice(action_id="post_note"))
    assert isinstance(await refusal(driver.decide(unknown)), InvalidArgument)
    await driver.run()
    assert driver.last.ask.prompt.question == "The level is missing. Which level?"
    assert driver.last.ask.prompt.required
    assert isinstance(await refusal(driver.reply(skip=True)), InvalidArgument)
    await driver.reply("350")
    await driver.run()
    request = driver.last.request_approval
    assert request.snapshot.artifact_version == 2
    assert request.input_preview == "post memo at 350"
    assert request.snapshot.artifact_sha256 in request.change_ref
    assert (request.snapshot.required_role, request.requester_may_approve) == ("editor", True)
    assert request.snapshot.expire_time.ToNanoseconds() % 1000 == 0
    await driver.resolve(APPROVE)
    answer = (await driver.run()).complete.answer
    assert answer.text == "Posted the note memo."
    assert list(probe.world.effects.values()) == [1]
    assert list(probe.world.effects) == [request.snapshot.idempotency_key]


def change(statement: str, *values: object) -> Callable[[Probe, tool_pb2.ToolCall], None]:
    """A change of the world by SQL; {key} {call} {art} {digest} stand for those of the approved call."""

    def apply(probe: Probe, call: tool_pb2.ToolCall) -> None:
        row = probe.sql("SELECT approval_digest FROM tool_calls WHERE tool_call_id = ?", call.tool_call_id)
        artifact = probe.sql("SELECT artifact_id FROM artifacts")[0][0]
        names = {"key": call.idempotency_key, "call": call.tool_call_id, "art": artifact, "digest": row[0][0]}
        for part in statement.split(";"):
            probe.sql(part.format(**names), *values)

    return apply


NEW_VERSION = """UPDATE artifacts SET latest_version = 2;
INSERT INTO artifact_versions (artifact_id, version, sha256, media_type, title, size_bytes, tool_call_id, tool,
input_sha256, sources, settled_by, create_time) SELECT artifact_id, 2, sha256, media_type, title, size_bytes, 'x', tool,
input_sha256, sources, settled_by, create_time FROM artifact_versions WHERE artifact_id = '{art}'"""
VALIDATION = """INSERT INTO validations (artifact_id, version, sha256, passed, findings, tool_call_id, create_time)
VALUES ('{art}', 1, 'other', %d, '[]', 'x', 0)"""
OTHER_CALL = """INSERT INTO executions (
tool_call_id, execution_id, interaction_id, domain, idempotency_key, tool, effect, target, state,
attempt, owner, lease_until, outcome, result_sha256, trouble, claim_time, finish_time)
SELECT 'other', 'exe_other', interaction_id, 'probe', %s, tool, effect, target,
'%s', 1, 'o', 0, x'', '', '', 0, 0 FROM tool_calls WHERE tool_call_id = '{call}'"""

WORLDS = {
    "not approved": (change("UPDATE approvals SET state = 'open' WHERE digest = '{digest}'"), "approval_missing"),
    "approval unknown": (change("UPDATE tool_calls SET approval_digest = 'none' WHERE tool_call_id = '{call}'"),
                         "approval_missing"),
    "approval withdrawn": (change("UPDATE approvals SET state = 'stale' WHERE digest = '{digest}'"), "approval_stale"),
    "approval expired": (change("UPDATE approvals SET state = 'expired' WHERE digest = '{digest}'"),
                         "approval_expired"),
    "snapshot altered": (change("UPDATE approvals SET snapshot = replace(snapshot, 'editor', 'intern')"),
                         "approval_stale"),
    "other artifact version": (change(NEW_VERSION), "approval_stale"),
    "other artifact content": (change("UPDATE artifact_versions SET sha256 = (SELECT max(sha256) FROM contents WHERE "
                                      "sha256 <> artifact_versions.sha256)"), "approval_stale"),
    "other validation": (change(VALIDATION % 1), "approval_stale"),
    "validation failed": (change(VALIDATION % 0), "validation_failed"),
    "validation gone": (change("DELETE FROM validations"), "validation_failed"),
    "policy raised": (change("UPDATE versions SET version = 2 WHERE kind = 'policy'"), "approval_stale"),
    "tool raised": (change("UPDATE versions SET version = 2 WHERE name = 'post_note'"), "approval_stale"),
    "tool of another version": (change("UPDATE tool_calls SET tool_version = 2 WHERE tool_call_id = '{call}'"),
                                "approval_stale"),
    "other input": (change("UPDATE tool_calls SET input_bytes = CAST(replace(input_bytes, 'note', 'nota') AS BLOB) "
                           "WHERE tool_call_id = '{call}'"), "approval_stale"),
    "other input with its own hash": (change(
        "UPDATE tool_calls SET input_sha256 = 'f', input_bytes = x'7b7d' WHERE tool_call_id = '{call}'"),
        "approval_stale"),
    "other key": (change("UPDATE tool_calls SET idempotency_key = 'key_x' WHERE tool_call_id = '{call}'"),
                  "approval_stale"),
    "key used": (change(OTHER_CALL % ("'{key}'", "succeeded")), "approval_stale"),
    "target claimed": (change(OTHER_CALL % ("'key_o'", "claimed")), "target_busy"),
    "target unsettled": (change(OTHER_CALL % ("'key_o'", "unknown")), "target_busy"),
    "time passed": (lambda probe, _call: probe.clock.advance(timedelta(hours=1)), "approval_expired"),
}  # fmt: skip


@pytest.mark.parametrize("world", WORLDS)
async def test_any_mismatch_blocks_the_call_for_good(probe: Probe, world: str) -> None:
    apply, code = WORLDS[world]
    driver, call = await approved_call(probe)
    apply(probe, call)
    outcome = await driver.execute(call)
    assert outcome.outcome == tool_pb2.OUTCOME_BLOCKED
    assert (outcome.block.code, outcome.block.tool_call_id) == (code, call.tool_call_id)
    assert outcome.block.lifted_by
    assert not outcome.HasField("failure")
    assert not probe.world.effects
    # blocked_final: the world becomes right again, the repeated call stays blocked
    probe.sql("UPDATE approvals SET state = 'approved'")
    probe.sql("UPDATE versions SET version = 1")
    probe.sql("DELETE FROM executions WHERE tool_call_id = 'other'")
    probe.clock.now -= timedelta(hours=2)
    assert await driver.execute(call) == outcome
    assert not probe.world.effects


async def test_without_the_role_at_the_claim_nothing_runs(probe: Probe) -> None:
    driver, call = await approved_call(probe)
    driver.roles = ("reader",)
    outcome = await driver.execute(call)
    assert (outcome.outcome, outcome.block.code) == (tool_pb2.OUTCOME_BLOCKED, "tool_not_permitted")
    assert not probe.world.effects


async def test_after_a_block_a_fresh_approval_with_a_new_key_is_asked_for(probe: Probe) -> None:
    driver, call = await approved_call(probe)
    probe.clock.advance(timedelta(hours=2))
    blocked = await driver.execute(call)
    await driver.finish(blocked)
    snapshot = driver.last.request_approval.snapshot
    assert snapshot.idempotency_key not in ("", call.idempotency_key)
    await driver.resolve(APPROVE)
    assert (await driver.run()).HasField("complete")
    assert list(probe.world.effects) == [snapshot.idempotency_key]


async def test_nothing_runs_that_nobody_approved(probe: Probe) -> None:
    driver = await ask_for_posting(probe)
    assert driver.last.blocks[0].code == "approval_missing"
    assert probe.sql("SELECT count(*) FROM tool_calls WHERE tool = 'post_note'") == [(0,)]
    request = driver.execute_request(tool_pb2.ToolCall(tool_call_id="call_invented"))
    error = await refusal(_drain(driver, request))
    assert error.reason == "TOOL_CALL_NOT_FOUND"


async def test_a_correction_makes_a_new_version_and_the_old_approval_is_worth_nothing(probe: Probe) -> None:
    driver = await ask_for_posting(probe)
    old = driver.digest()
    message = obs.UserMessage(text="actually level 9", approval_id="apr_1")
    decision = await driver.decide(obs.Observation(user_message=message))
    assert decision.reply_verdict == decision_pb2.REPLY_VERDICT_CORRECTION
    assert [call.tool for call in decision.call_tool.calls] == ["change_note"]
    await driver.run()
    assert driver.last.request_approval.input_preview == "post memo at 9"
    assert driver.digest() != old
    assert (await refusal(driver.resolve(APPROVE, digest=old))).reason == "UNEXPECTED_OBSERVATION"
    await driver.resolve(APPROVE)
    assert (await driver.run()).HasField("complete")
    assert sum(probe.world.effects.values()) == 1


@pytest.mark.parametrize(
    ("text", "verdict"),
    [("new look Paris", 3), ("cancel", 4), ("hm", 5), ("yes, do it", 5)],
)
async def test_a_text_is_never_an_approval(probe: Probe, text: str, verdict: int) -> None:
    driver = await ask_for_posting(probe)
    digest = driver.digest()
    message = obs.UserMessage(text=text, approval_id="apr_1")
    decision = await driver.decide(obs.Observation(user_message=message))
    assert (decision.reply_verdict, decision.WhichOneof("outcome")) == (verdict, None)
    await driver.resolve(APPROVE, digest=digest)
    assert (await driver.run()).HasField("complete")


async def test_requested_changes_revise_and_ask_anew(probe: Probe) -> None:
    driver = await ask_for_posting(probe)
    old = driver.digest()
    await driver.resolve(approval_pb2.VERDICT_REQUEST_CHANGES, comment="actually level 4")
    await driver.run()
    assert driver.last.request_approval.snapshot.artifact_version == 2
    assert driver.digest() != old


async def test_requested_changes_that_say_nothing_are_asked_for(probe: Probe) -> None:
    driver = await ask_for_posting(probe)
    await driver.resolve(approval_pb2.VERDICT_REQUEST_CHANGES)
    prompt = driver.last.ask.prompt
    assert (prompt.question, prompt.artifact.version) == ("What should be changed in “memo”?", 1)
    await driver.reply("hm")
    assert driver.last.ask.prompt.artifact.version == 1
    await driver.reply("actually level 4")
    await driver.run()
    assert driver.last.request_approval.input_preview == "post memo at 4"
    again = await ask_for_posting(probe, "conv_2")
    await again.resolve(approval_pb2.VERDICT_REQUEST_CHANGES, comment="hm")
    new = await again.reply("new look Paris")
    assert (new.reply_verdict, new.WhichOneof("outcome")) == (decision_pb2.REPLY_VERDICT_NEW_REQUEST, None)
    await again.reply("hm")
    await again.reply("hm")
    assert again.last.fail.failure.code == "clarification_limit_reached"


async def test_an_expired_approval_blocks_until_the_next_message(probe: Probe) -> None:
    driver = await ask_for_posting(probe)
    resolved = obs.ApprovalResolved(approval_id="apr_1", snapshot_digest=driver.digest(), expired=True)
    probe.clock.advance(timedelta(hours=1))
    await driver.decide(obs.Observation(approval_resolved=resolved))
    assert (driver.last.blocked.block.code, driver.last.blocked.block.approval_id) == ("approval_expired", "apr_1")
    later = await probe.open()
    await later.say("post")
    assert later.last.HasField("request_approval")


async def test_a_timer_that_is_early_by_the_adapters_clock_gets_the_same_approval_again(probe: Probe) -> None:
    """adapter_clock: only the Adapter's clock decides about expiry."""
    driver = await ask_for_posting(probe)
    first = driver.last.request_approval
    resolved = obs.ApprovalResolved(approval_id="apr_1", snapshot_digest=driver.digest(), expired=True)
    probe.clock.advance(timedelta(minutes=59))
    again = (await driver.decide(obs.Observation(approval_resolved=resolved))).request_approval
    assert again.SerializeToString(deterministic=True) == first.SerializeToString(deterministic=True)
    assert probe.sql("SELECT state FROM approvals") == [("open",)]
    await driver.resolve(APPROVE)
    assert (await driver.run()).HasField("complete")
    ringing = await probe.open("conv_2")
    await ringing.say("ring 2")
    first = ringing.last.request_approval
    resolved.snapshot_digest = ringing.digest()
    again = (await ringing.decide(obs.Observation(approval_resolved=resolved))).request_approval
    assert again.SerializeToString(deterministic=True) == first.SerializeToString(deterministic=True)


@pytest.mark.parametrize(("kind", "name"), [("policy", ""), ("tool", "post_note")])
async def test_a_process_of_an_older_version_asks_for_no_approval_that_can_never_pass(
    probe: Probe, kind: str, name: str
) -> None:
    raise_version = "UPDATE versions SET version = 9 WHERE kind = ? AND name = ?"
    driver, call = await approved_call(probe)
    probe.sql(raise_version, kind, name)
    blocked = await driver.execute(call)
    assert blocked.block.code == "approval_stale"
    failure = (await driver.finish(blocked)).fail.failure
    assert (failure.code, failure.stage) == ("policy_version_outdated", failure_pb2.STAGE_POLICY)
    assert failure.helpful_action
    later = await probe.open(locale="ru")
    failure = (await later.say("post")).fail.failure
    assert (failure.code, failure.retryable) == ("policy_version_outdated", False)
    assert "по старым правилам" in failure.explanation
    reader = await probe.open("conv_2")
    await reader.say("look Berlin")
    outcome = await reader.execute(reader.last.call_tool.calls[0])
    if kind == "policy":  # whom a tool is permitted to is policy, too
        assert (outcome.outcome, outcome.failure.code) == (tool_pb2.OUTCOME_FAILED, "policy_version_outdated")
    else:
        assert outcome.outcome == tool_pb2.OUTCOME_SUCCEEDED


async def test_a_revision_that_the_roles_do_not_permit_is_not_offered(tmp_path: Path) -> None:
    def restrict(domain: Domain) -> Domain:
        tools = (replace(tool, roles=("boss",)) if tool.name == "change_note" else tool for tool in domain.tools)
        return replace(domain, tools=tuple(tools))

    async with running_probe(tmp_path, adapt=restrict) as probe:
        driver = await probe.open(roles=("author",))
        await driver.say("write memo then post")
        failure = (await driver.run()).fail.failure
        assert (failure.code, failure.stage) == ("validation_failed", failure_pb2.STAGE_POLICY)
        assert "The level is missing." in failure.explanation


async def test_an_approval_that_comes_too_late_for_the_adapters_clock_is_asked_for_again(probe: Probe) -> None:
    driver = await ask_for_posting(probe)
    old = driver.last.request_approval.snapshot.idempotency_key
    probe.clock.advance(timedelta(hours=1))
    await driver.resolve(APPROVE)
    assert [block.code for block in driver.last.blocks] == ["approval_expired"]
    assert driver.last.request_approval.snapshot.idempotency_key != old


async def test_approval_of_a_world_that_moved_is_stale_and_asked_for_again(probe: Probe) -> None:
    driver = await ask_for_posting(probe)
    probe.sql((VALIDATION % 1).format(art=driver.last.request_approval.snapshot.artifact_id))
    await driver.resolve(APPROVE)
    assert [block.code for block in driver.last.blocks] == ["approval_stale"]
    assert driver.last.request_approval.snapshot.validation_sha256 == "other"


async def test_the_requester_may_be_barred_from_approving(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say("ring 2")
    assert not driver.last.request_approval.requester_may_approve
    await driver.resolve(APPROVE, resolved_by="ann")
    assert driver.last.HasField("request_approval")
    await driver.resolve(APPROVE, resolved_by="bob")
    assert (await driver.run()).complete.answer.text == "Rang the bell 2 times."


async def test_a_rejection_that_reaches_the_adapter_ends_it(probe: Probe) -> None:
    driver = await ask_for_posting(probe)
    await driver.resolve(approval_pb2.VERDICT_REJECT)
    assert driver.last.blocked.block.code == "approval_rejected"


async def test_what_was_approved_is_the_content_that_is_stored(probe: Probe) -> None:
    driver = await ask_for_posting(probe)
    snapshot = driver.last.request_approval.snapshot
    request = artifact_service_pb2.GetArtifactRequest(conversation_id="conv_1", artifact_id=snapshot.artifact_id)
    artifact = (await probe.artifacts.GetArtifact(request)).artifact
    assert (artifact.sha256, artifact.version) == (snapshot.artifact_sha256, snapshot.artifact_version)


async def _drain(driver: Driver, request: domain_adapter_service_pb2.ExecuteToolRequest) -> None:
    async for _ in driver.stub.ExecuteTool(request):
        pass

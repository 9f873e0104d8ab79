"""One suite for every domain: the promises that hold whatever a domain does (A2, A6, B5, C5, E1 to E5, F4, H1 to H3).

tests/domains/scripts.py says what each domain is told. A further domain is one more script.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from adapter_service.domain import approval
from adapter_service.sdk import Domain
from handrail.adapter.v1 import artifact_service_pb2 as artifact_pb2
from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail.common.v1 import approval_pb2, failure_pb2, prompt_pb2, tool_pb2
from handrail_rpc.errors import FailedPrecondition, InvalidArgument, NotFound
from tests.domains.approval_checks import ApprovedCall, check_every_difference_blocks
from tests.domains.scripts import SCRIPTS, DomainScript
from tests.domains.serving import SECRET, Served, outcome_of, serving
from tests.fakes.adapter_harness import Driver, refusal

MOST_CONTEXT_BYTES = 32 * 1024
TURNS = 12


@pytest.fixture(params=SCRIPTS, ids=lambda script: script.name)
def script(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DomainScript:
    """Each domain in turn, with its settings."""
    chosen: DomainScript = request.param
    for name, value in chosen.settings(tmp_path).items():
        monkeypatch.setenv(name, value)
    return chosen


@pytest_asyncio.fixture
async def served(script: DomainScript, tmp_path: Path) -> AsyncIterator[Served]:
    """The domain, served."""
    async with serving(script, tmp_path) as running:
        yield running


async def describe(served: Served, locale: str) -> pb2.DescribeDomainResponse:
    """What the domain says of itself."""
    return await served.stub.DescribeDomain(pb2.DescribeDomainRequest(domain=served.script.name, locale=locale))


async def test_it_describes_itself_completely_in_both_languages(served: Served) -> None:
    for locale in ("en", "ru"):
        described = await describe(served, locale)
        assert described.title
        assert described.version
        assert int(described.policy_version) >= 1
        assert [tool.name for tool in described.tools] == [tool.name for tool in served.domain.tools]
        assert all(rule.explanation for rule in described.policy_rules)
        assert described.policy_rules
        for shown, declared in zip(described.tools, served.domain.tools, strict=True):
            assert shown.title.strip()
            assert shown.description.strip()
            schema = json.loads(shown.input_schema)
            assert list(schema["properties"]) == list(declared.parameters)
            assert sorted(schema.get("required", [])) == sorted(
                name for name, parameter in declared.parameters.items() if parameter.default is parameter.empty
            )
            assert bool(shown.approval.required_role) == declared.effect.needs_approval
            if locale == "ru" and served.script.russian:
                assert re.search("[а-яА-Я]", shown.title), shown.name


async def test_a_reading_request_is_answered_in_both_languages(served: Served) -> None:
    for locale in ("en", "ru"):
        driver = await served.open(locale=locale)
        await driver.say(served.script.read)
        assert [call.tool for call in driver.last.call_tool.calls] == [served.script.read_tool]
        assert all(call.effect == tool_pb2.EFFECT_READ for call in driver.last.call_tool.calls)
        decision = await driver.run()
        assert outcome_of(decision) == "complete", decision
        assert decision.complete.answer.text.strip()


async def test_an_answer_cites_only_what_results_contain(served: Served) -> None:
    driver = await served.open()
    await driver.say(served.script.read)
    answer = (await driver.run()).complete.answer
    known = served.results()
    for citation in answer.entity_citations:
        assert any(citation.identity in result for result in known), citation.identity
    for identity in served.domain.identities(answer.text):
        assert any(identity in result for result in known), identity


async def test_missing_input_is_asked_for_and_the_same_plan_goes_on(served: Served) -> None:
    driver = await served.open()
    asked = await driver.say(served.script.missing)
    assert outcome_of(asked) == "ask", asked
    prompt = asked.ask.prompt
    assert (prompt.task.slot, prompt.required) == (served.script.missing_slot, True)
    assert prompt.question.strip()
    skipped = await refusal(driver.reply(skip=True))
    assert isinstance(skipped, InvalidArgument), skipped
    answered = await driver.reply(served.script.missing_answer)
    assert outcome_of(answered) != "fail", answered
    assert answered.plan_version == asked.plan_version + 1


async def test_a_closed_list_is_honoured(served: Served) -> None:
    driver = await served.open()
    asked = await driver.say(served.script.choice)
    assert outcome_of(asked) == "ask", asked
    prompt = asked.ask.prompt
    assert prompt.type == prompt_pb2.PROMPT_TYPE_SELECT
    assert len(prompt.options) > 1
    assert len({option.candidate_id for option in prompt.options}) == len(prompt.options)
    assert all(option.display_name.strip() for option in prompt.options)
    foreign = await refusal(driver.reply(selected_candidate_id="cnd_of_nobody"))
    assert isinstance(foreign, InvalidArgument), foreign
    picked = await driver.reply(selected_candidate_id=prompt.options[-1].candidate_id)
    assert outcome_of(picked) in ("ask", "call_tool"), picked


async def test_after_a_failed_validation_only_revising_is_offered(served: Served) -> None:
    driver = await served.open()
    decision = await driver.say(served.script.invalid)
    while outcome_of(decision) == "call_tool":
        decision = await driver.finish(*[await driver.execute(call) for call in decision.call_tool.calls])
    assert outcome_of(decision) == "choose", decision
    kinds = {kind.revise_tool for kind in served.domain.artifact_kinds if kind.validate_tool}
    assert [action.action_id in kinds for action in decision.choose.actions] == [True]
    assert [block.code for block in decision.blocks] == ["validation_failed"]
    session = (
        await served.stub.GetSession(
            pb2.GetSessionRequest(domain_session_id=driver.session_id, caller=driver.principal())
        )
    ).session
    blocked = {action.tool: action for action in session.actions if not action.allowed}
    assert [block.code for block in blocked[served.script.change_tool].blocks][:1] == ["validation_failed"]
    await served.up_to_approval(driver, served.script.mend)
    assert driver.last.request_approval.snapshot.tool == served.script.change_tool
    assert served.watch.calls[served.script.change_tool] == 0


async def test_whatever_differs_from_what_was_approved_is_not_called(served: Served) -> None:
    driver = await served.change()
    snapshot = driver.last.request_approval.snapshot
    assert driver.last.request_approval.input_preview.strip()
    await driver.resolve(approval_pb2.VERDICT_APPROVE)
    (call,) = driver.last.call_tool.calls
    assert (call.tool, call.idempotency_key) == (served.script.change_tool, snapshot.idempotency_key)
    asked = await check_every_difference_blocks(ApprovedCall(driver, call, served.database))
    assert asked == {comparison.name for comparison in approval.COMPARISONS}
    assert served.watch.calls[served.script.change_tool] == 0
    assert (await driver.execute(call)).outcome == tool_pb2.OUTCOME_SUCCEEDED


async def test_a_change_happens_once_however_often_it_is_asked_for(served: Served) -> None:
    driver = await served.change()
    await driver.resolve(approval_pb2.VERDICT_APPROVE)
    (call,) = driver.last.call_tool.calls
    decided = driver.last.SerializeToString(deterministic=True)
    assert (await driver.send(driver.last_request)).SerializeToString(deterministic=True) == decided
    outcomes = await asyncio.gather(*(driver.execute(call, dispatch_number=number) for number in (1, 2, 3)))
    outcomes.append(await driver.execute(call, dispatch_number=4))
    assert len({outcome.SerializeToString(deterministic=True) for outcome in outcomes}) == 1
    assert outcomes[0].outcome == tool_pb2.OUTCOME_SUCCEEDED
    assert served.watch.calls[served.script.change_tool] == 1
    answered = await driver.finish(outcomes[0])
    assert outcome_of(answered) == "complete", answered
    assert call.tool_call_id in answered.complete.answer.tool_call_ids


async def test_a_request_for_changes_leads_to_another_version_and_approval(served: Served) -> None:
    driver = await served.change()
    before, digest = driver.last.request_approval.snapshot, driver.digest()
    await driver.resolve(approval_pb2.VERDICT_REQUEST_CHANGES, comment=served.script.comment)
    await served.up_to_approval(driver, served.script.change_answers)
    after = driver.last.request_approval.snapshot
    assert after.artifact_version == before.artifact_version + 1
    assert after.idempotency_key != before.idempotency_key
    old = await refusal(driver.resolve(approval_pb2.VERDICT_APPROVE, digest=digest))
    assert isinstance(old, FailedPrecondition), old
    assert served.watch.calls[served.script.change_tool] == 0


async def test_a_tool_is_offered_only_to_roles_that_it_permits(script: DomainScript, tmp_path: Path) -> None:
    def guarded(domain: Domain) -> Domain:
        tools = (
            replace(tool, roles=("keeper",)) if tool.name in (script.change_tool, script.read_tool) else tool
            for tool in domain.tools
        )
        return replace(domain, tools=tuple(tools))

    async with serving(script, tmp_path, guarded) as served:
        guest = await served.open(roles=("guest",))
        refused = await guest.say(script.read)
        assert (outcome_of(refused), refused.blocked.block.code) == ("blocked", "tool_not_permitted")
        assert not served.watch.calls[script.read_tool]
        keeper = await served.open(roles=("keeper",))
        await keeper.say(script.read)
        assert outcome_of(await keeper.run()) == "complete"


async def test_artifacts_are_readable_with_the_hash_that_was_approved(served: Served) -> None:
    driver = await served.change()
    snapshot = driver.last.request_approval.snapshot
    request = artifact_pb2.ReadArtifactRequest(
        conversation_id="conv_1", artifact_id=snapshot.artifact_id, version=int(snapshot.artifact_version)
    )
    parts = [part async for part in served.artifacts.ReadArtifact(request)]
    data = b"".join(part.data for part in parts)
    assert hashlib.sha256(data).hexdigest() == snapshot.artifact_sha256 == parts[0].artifact.sha256
    got = await served.artifacts.GetArtifact(
        artifact_pb2.GetArtifactRequest(conversation_id="conv_1", artifact_id=snapshot.artifact_id)
    )
    assert (got.artifact.sha256, got.artifact.size_bytes) == (snapshot.artifact_sha256, len(data))
    foreign = await refusal(
        served.artifacts.GetArtifact(
            artifact_pb2.GetArtifactRequest(conversation_id="conv_2", artifact_id=snapshot.artifact_id)
        )
    )
    assert isinstance(foreign, NotFound), foreign


async def test_the_context_stays_small_and_flat_over_many_turns(served: Served) -> None:
    driver = await served.change()
    await driver.resolve(approval_pb2.VERDICT_APPROVE)
    await driver.run()
    sizes = []
    for _ in range(TURNS):
        turn = await served.open()
        await turn.say(served.script.read)
        assert outcome_of(await turn.run()) == "complete"
        sizes.append(turn.last.context.context_size_bytes)
    assert 0 < max(sizes) <= MOST_CONTEXT_BYTES
    # The first turns may add what they mention to the memory; the same turn again adds nothing.
    assert len(set(sizes[2:])) == 1, sizes


async def test_a_tool_that_breaks_fails_its_request_and_nothing_else(served: Served) -> None:
    served.watch.broken.add(served.script.read_tool)
    driver = await served.open()
    await driver.say(served.script.read)
    failed = await driver.run()
    assert (outcome_of(failed), failed.fail.failure.code) == ("fail", "tool_failed")
    assert failed.fail.failure.progress == failure_pb2.PROGRESS_NOT_EXECUTED
    assert SECRET not in str(failed)
    served.watch.broken.clear()
    again = await served.open()
    await again.say(served.script.read)
    assert outcome_of(await again.run()) == "complete"


async def test_a_change_that_breaks_is_unknown_and_never_called_again(served: Served) -> None:
    served.watch.broken.add(served.script.change_tool)
    driver = await served.change()
    await driver.resolve(approval_pb2.VERDICT_APPROVE)
    (call,) = driver.last.call_tool.calls
    outcome = await driver.execute(call)
    assert (outcome.outcome, outcome.failure.code) == (tool_pb2.OUTCOME_UNKNOWN, "tool_outcome_unknown")
    assert SECRET not in str(outcome)
    served.watch.broken.clear()
    assert (await driver.execute(call, dispatch_number=2)).outcome == tool_pb2.OUTCOME_UNKNOWN
    assert served.watch.calls[served.script.change_tool] == 1


async def test_nothing_begins_after_a_cancellation(served: Served) -> None:
    driver: Driver = await served.change()
    await driver.resolve(approval_pb2.VERDICT_APPROVE)
    (call,) = driver.last.call_tool.calls
    await driver.cancel(lease_epoch=2)
    refused = await refusal(driver.execute(call, lease_epoch=2))
    assert refused.reason == "INTERACTION_CLOSED", refused
    assert served.watch.calls[served.script.change_tool] == 0

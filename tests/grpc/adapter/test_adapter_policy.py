"""Policy as rules that are listed and explained, and a failed validation that leaves only the revision (A2, B5)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from adapter_service.domain import policy
from adapter_service.sdk import Domain
from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail.adapter.v1 import observation_pb2 as obs
from handrail.adapter.v1 import session_pb2
from handrail.common.v1 import approval_pb2, tool_pb2
from tests.fakes.adapter_harness import Driver, FakeClock, Probe, open_driver, running_probe
from tests.fakes.probe_domain import World

APPROVE = approval_pb2.VERDICT_APPROVE
CHANGES = ("post_note", "put_up", "ring", "toll")


async def session_of(driver: Driver, locale: str = "en") -> session_pb2.Session:
    """The diagnosis of the driver's session."""
    request = pb2.GetSessionRequest(domain_session_id=driver.session_id, caller=driver.principal(), locale=locale)
    return (await driver.stub.GetSession(request)).session


def actions_of(session: session_pb2.Session) -> dict[str, session_pb2.ActionView]:
    return {action.tool: action for action in session.actions}


async def until_choose(driver: Driver) -> None:
    """Execute calls until something else than a call is decided."""
    while driver.last.HasField("call_tool"):
        await driver.finish(*[await driver.execute(call) for call in driver.last.call_tool.calls])


async def test_every_rule_is_listed_with_its_effects_and_what_lifts_it(probe: Probe) -> None:
    described = await probe.stub.DescribeDomain(pb2.DescribeDomainRequest(domain="probe", locale="en"))
    russian = await probe.stub.DescribeDomain(pb2.DescribeDomainRequest(domain="probe", locale="ru"))
    assert [(rule.name, rule.code) for rule in described.policy_rules] == [(r.name, r.code) for r in policy.RULES]
    rules = {rule.code: rule for rule in described.policy_rules}
    assert list(rules["approval_stale"].effects) == [tool_pb2.EFFECT_CHANGE, tool_pb2.EFFECT_EXTERNAL]
    assert len(rules["tool_not_permitted"].effects) == 4
    assert rules["validation_failed"].lifted_by == "a revision that passes validation"
    assert all(rule.explanation and rule.lifted_by for rule in described.policy_rules)
    for english, other in zip(described.policy_rules, russian.policy_rules, strict=True):
        assert any("а" <= letter <= "я" for letter in other.explanation)
        assert english.explanation != other.explanation
    # Whatever blocks a call is one of the listed rules.
    driver = await probe.open(roles=("author",))
    await driver.say("write memo then post")
    await driver.run()
    for action in (await session_of(driver)).actions:
        assert {(block.rule, block.code) for block in action.blocks} <= {(r.name, r.code) for r in policy.RULES}


async def test_a_tool_is_described_with_its_input_time_and_what_it_makes(probe: Probe) -> None:
    described = await probe.stub.DescribeDomain(pb2.DescribeDomainRequest(domain="probe", locale="en"))
    tools = {tool.name: tool for tool in described.tools}
    schema = json.loads(tools["measure"].input_schema)
    assert (schema["required"], schema["properties"]["unit"]["default"]) == (["place"], "m")
    assert (tools["write_note"].makes, tools["look"].makes) == ("note", "")
    assert tools["slow"].timeout.ToTimedelta() == timedelta(milliseconds=50)
    assert not described.uses_workspace


async def test_after_a_failed_validation_every_change_is_blocked_and_the_revision_alone_offered(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say("write memo then post")
    await until_choose(driver)
    assert [action.action_id for action in driver.last.choose.actions] == ["change_note"]
    session = await session_of(driver)
    actions = actions_of(session)
    changing = {name for name, action in actions.items() if action.effect in (3, 4)}
    assert changing == set(CHANGES)
    for name in CHANGES:
        assert not actions[name].allowed
        assert actions[name].blocks[0].code == "validation_failed", name
        assert "What would lift it: a revision that passes validation." in actions[name].explanation
    assert actions["change_note"].allowed
    assert actions["change_note"].title == "Change note"
    assert session.explanation == (
        "Validation failed: The level is missing. Only “Change note” is offered; every change waits for a version that "
        "passes."
    )
    assert "Предлагается только" in (await session_of(driver, "ru")).explanation
    for other in (*CHANGES, "look", "write_note"):
        choice = obs.Observation(action_choice=obs.ActionChoice(action_id=other))
        with pytest.raises(Exception, match="must be one of the offered actions: change_note"):
            await driver.decide(choice)


@pytest.mark.parametrize("change", ["ring 2", "toll 2", "put"])
async def test_a_failed_validation_blocks_a_change_that_has_nothing_to_do_with_it(probe: Probe, change: str) -> None:
    """B5 is about the request: whatever changes or calls out waits, also what the artifact is not given to."""
    driver = await probe.open()
    await driver.say(f"write memo then check then {change}")
    await until_choose(driver)
    assert [action.action_id for action in driver.last.choose.actions] == ["change_note"]
    assert [block.code for block in driver.last.blocks] == ["validation_failed"]
    assert probe.sql("SELECT count(*) FROM approvals") == [(0,)]
    await driver.run()
    await driver.reply("7")
    calls = []
    while driver.last.HasField("call_tool"):
        calls += [call.tool for call in driver.last.call_tool.calls]
        await driver.finish(*[await driver.execute(call) for call in driver.last.call_tool.calls])
    assert calls == ["change_note", "check_note"]  # the new version has to pass before anything else
    assert driver.last.HasField("request_approval")


async def test_what_a_request_waits_for_is_explained_in_both_languages(probe: Probe) -> None:
    driver = await probe.open(roles=("author",))
    assert (await session_of(driver)).explanation == "There was no request yet."
    await driver.say("fetch")
    assert (await session_of(driver)).explanation == "Waits for an answer about number of “Fetch”."
    later = await probe.open(roles=("author",))
    await later.say("write memo at 3 then post")
    assert (await session_of(later)).explanation == "Executes: Write note."
    await later.run()
    session = await session_of(later)
    assert session.explanation == "Waits for an approval of “Post note” by the role editor until 2030-01-02 04:04 UTC."
    assert (await session_of(later, "ru")).explanation == (
        "Ожидает одобрения: «Действие post_note», роль editor, до 2030-01-02 04:04 UTC."
    )
    assert [block.code for block in actions_of(session)["post_note"].blocks] == ["approval_missing"]
    assert [version.tool for version in session.provenance] == ["write_note"]
    assert "Разрешено" in actions_of(await session_of(later, "ru"))["look"].explanation
    guarded = actions_of(session)["guarded"].explanation
    assert guarded == "Your roles do not permit this action. What would lift it: one of the roles boss."
    await later.resolve(APPROVE)
    await later.run()
    assert (await session_of(later)).explanation == "The request was answered."
    asleep = await probe.open()
    await asleep.say("await word")
    await asleep.run()
    assert (await session_of(asleep)).explanation == (
        "“Await word” waits for the signal word until 2030-01-02 04:04 UTC."
    )
    failing = await probe.open()
    await failing.say("fail")
    await failing.run()
    assert (await session_of(failing)).explanation == "The request has ended: “Fail” failed."
    canceled = await probe.open()
    await canceled.say("fetch")
    await canceled.cancel()
    session = await session_of(canceled)
    assert "canceled or replaced" in session.explanation
    assert not any(action.allowed for action in session.actions)


async def test_an_unknown_outcome_is_what_a_session_tells_first(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say("toll 1")
    held = probe.world.hold("ring")
    await driver.resolve(APPROVE)
    await driver.finish(await driver.execute(driver.last.call_tool.calls[0]))
    held.set()
    assert (await session_of(driver)).explanation == "The outcome of “Toll” is unknown: a person has to settle it."


async def test_a_target_that_is_taken_is_told_with_what_lifts_it(probe: Probe) -> None:
    first = await probe.open("conv_1")
    await first.say("toll 1")
    held = probe.world.hold("ring")
    await first.resolve(APPROVE)
    await first.execute(first.last.call_tool.calls[0])
    held.set()
    second = await probe.open("conv_2")
    await second.say("ring 2")
    blocks = actions_of(await session_of(second))["ring"].blocks
    assert [block.code for block in blocks] == ["approval_missing", "target_busy"]


def of_version(policy_version: int = 1, tool_version: int = 1) -> Callable[[Domain], Domain]:
    """The probe domain with another policy, or another post_note."""

    def adapt(domain: Domain) -> Domain:
        tools = tuple(replace(t, version=tool_version) if t.name == "post_note" else t for t in domain.tools)
        return replace(domain, policy_version=policy_version, tools=tools)

    return adapt


@pytest.mark.parametrize(
    ("later", "differs"),
    [(of_version(policy_version=2), "policy_version"), (of_version(tool_version=2), "tool_version")],
    ids=["policy", "tool"],
)
async def test_a_policy_that_changed_while_an_approval_waited_leads_to_a_fresh_approval(
    tmp_path: Path, later: Callable[[Domain], Domain], differs: str
) -> None:
    world, clock = World(), FakeClock()
    async with running_probe(tmp_path, world, clock) as probe:
        driver = await probe.open()
        await driver.say("write memo at 3 then post")
        await driver.run()
        old = driver.last.request_approval.snapshot
    async with running_probe(tmp_path, world, clock, later) as probe:
        driver.stub = probe.stub
        told = (await session_of(driver)).explanation
        assert f"no longer what would be executed ({differs}" in told
        blocks = actions_of(await session_of(driver))["post_note"].blocks
        assert [block.code for block in blocks] == ["approval_stale"]
        await driver.resolve(APPROVE)
        assert [block.code for block in driver.last.blocks] == ["approval_stale"]
        new = driver.last.request_approval.snapshot
        assert getattr(new, differs) == "2"
        assert new.idempotency_key != old.idempotency_key
        assert not world.effects
        await driver.resolve(APPROVE)
        assert (await driver.run()).HasField("complete")
        assert list(world.effects) == [new.idempotency_key]


async def test_a_service_that_was_started_with_older_rules_says_so_and_executes_nothing(tmp_path: Path) -> None:
    world, clock = World(), FakeClock()
    async with running_probe(tmp_path, world, clock, of_version(policy_version=2)) as probe:
        driver = await probe.open()
        await driver.say("write memo at 3 then post")
        await driver.run()
    async with running_probe(tmp_path, world, clock, of_version(policy_version=1)) as probe:
        driver.stub = probe.stub
        assert (await session_of(driver)).explanation.endswith(
            "This service works by older rules than those in force: a verdict executes nothing."
        )
        await driver.resolve(APPROVE)
        assert driver.last.fail.failure.code == "policy_version_outdated"
        assert not world.effects


async def test_the_policy_version_is_in_every_snapshot(tmp_path: Path) -> None:
    async with running_probe(tmp_path, World(policy_version=7)) as probe:
        for number, text in enumerate(("write memo at 3 then post", "write memo at 3 then put", "ring 1", "toll 1")):
            driver = await open_driver(probe.stub, f"conv_{number}")
            await driver.say(text)
            await driver.run()
            assert driver.last.request_approval.snapshot.policy_version == "7"

"""Deliberately broken adapters: the kit fails each on exactly the rules that it breaks, and on no other.

Most are relays in front of our own Adapter that do one thing differently; some are our Adapter with one thing removed.
Each is checked by rules about the same subject, and by some of the other subjects.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
import pytest_asyncio

from adapter_service.domain import approval
from adapter_service.domains.conformance import Effects, create_domain
from adapter_service.sdk import Domain, DomainEnvironment
from gateway.cli.conformance import wire
from gateway.cli.conformance.probes import DOMAIN
from gateway.cli.conformance.rule import RULES
from gateway.cli.conformance.run import Verdict, run_rules
from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail_rpc import server
from handrail_rpc.channel import open_channel
from tests.conformance import broken_approvals, broken_decisions, broken_executions
from tests.conformance.adapters import served_adapter
from tests.conformance.relay import FAULTS, Fault, Relay, served

# One of each subject: each fault is checked by some of them, in turns, so that one that spreads is seen.
ELSEWHERE = (
    "next_decision",
    "answer_is_taken",
    "repeated_call_acts_once",
    "canceled_begins_nothing",
    "artifact_has_its_hash",
)
# They register what they break.
REGISTERED = (broken_approvals, broken_decisions, broken_executions)


def test_every_rule_is_broken_by_some_adapter() -> None:
    broken = {rule for fault in FAULTS for rule in fault.breaks} | {
        rule for _, breaks in REMOVALS.values() for rule in breaks
    }
    assert set(RULES) == broken


OTHERS = 2


def chosen(breaks: tuple[str, ...]) -> list[str]:
    """The rules to run: those that must fail, their neighbours, which are about the same subject, and some others."""
    at = list(RULES).index(breaks[0])
    near = list(RULES)[max(at - 1, 0) : at + 2]
    others = [ELSEWHERE[(at + turn) % len(ELSEWHERE)] for turn in range(OTHERS)]
    return list(dict.fromkeys([*breaks, *near, *others]))


async def failed_rules(target: str, rules: list[str]) -> set[str]:
    results = await run_rules(target, DOMAIN, rules)
    assert all(result.verdict is not Verdict.NOT_APPLICABLE for result in results)
    for result in results:
        if result.verdict is Verdict.FAIL:
            assert result.why, f"{result.rule.name} says no reason"
    return {result.rule.name for result in results if result.verdict is Verdict.FAIL}


@dataclasses.dataclass(frozen=True)
class Honest:
    """A running conforming Adapter."""

    channel: grpc.aio.Channel
    effects: Effects


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def honest(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Honest]:
    effects = Effects(meeting_seconds=3.0)
    async with served_adapter(
        tmp_path_factory.mktemp("honest"), lambda environment: create_domain(environment, effects)
    ) as target:
        channel = open_channel(target)
        yield Honest(channel, effects)
        await channel.close()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
async def test_a_broken_adapter_fails_on_what_it_breaks(fault: Fault, honest: Honest) -> None:
    async with served(fault.relay(honest.channel, honest.effects)) as target:
        assert await failed_rules(target, chosen(fault.breaks)) == set(fault.breaks)


@pytest.mark.asyncio(loop_scope="module")
async def test_an_adapter_that_never_ends_a_decision_fails_by_the_deadline(
    honest: Honest, monkeypatch: pytest.MonkeyPatch
) -> None:
    class NeverDecides(Relay):
        async def decided(self, request: pb2.DecideRequest) -> pb2.DecideResponse:
            if request.observation.user_message.text == "probe_ask":
                await asyncio.Event().wait()
            return await super().decided(request)

    monkeypatch.setattr(wire, "CALL_SECONDS", 2.0)
    async with served(NeverDecides(honest.channel, honest.effects)) as target:
        results = await run_rules(target, DOMAIN, ["missing_is_asked", "first_decision"])
    assert [result.verdict for result in results] == [Verdict.FAIL, Verdict.PASS]
    assert "DEADLINE_EXCEEDED" in results[0].why


@pytest.mark.asyncio(loop_scope="module")
async def test_a_value_that_no_rule_foresees_fails_its_rule_alone(honest: Honest) -> None:
    class WaitsForEver(Relay):
        async def decided(self, request: pb2.DecideRequest) -> pb2.DecideResponse:
            part = await super().decided(request)
            if part.decision.HasField("wait"):
                part.decision.wait.limit.seconds = 10**15
            return part

    async with served(WaitsForEver(honest.channel, honest.effects)) as target:
        results = await run_rules(target, DOMAIN, ["wait_ends", "first_decision"])
    assert [result.verdict for result in results] == [Verdict.FAIL, Verdict.PASS]
    assert "an answer is not of the form expected" in results[0].why


Factory = Callable[[DomainEnvironment], Domain]
Removal = Callable[[pytest.MonkeyPatch], Factory]


def without(*comparisons: str) -> Removal:
    """Our Adapter, whose claim does not make these comparisons."""

    def remove(patch: pytest.MonkeyPatch) -> Factory:
        left = tuple(each for each in approval.COMPARISONS if each.name not in comparisons)
        assert len(left) == len(approval.COMPARISONS) - len(comparisons)
        patch.setattr(approval, "COMPARISONS", left)
        return create_domain

    return remove


def overwriting(_patch: pytest.MonkeyPatch) -> Factory:
    """Our Adapter with a tool that does not look at what it replaces."""
    effects = Effects()

    def probe_change(key: str) -> dict[str, Any]:
        """Execute the key once more."""
        return effects.act(key)

    def changed(environment: DomainEnvironment) -> Domain:
        domain = create_domain(environment, effects)
        tools = [
            dataclasses.replace(tool, function=probe_change) if tool.name == "probe_change" else tool
            for tool in domain.tools
        ]
        return dataclasses.replace(domain, tools=tuple(tools))

    return changed


def silent(patch: pytest.MonkeyPatch) -> Factory:
    """Our Adapter without reflection."""
    patch.setattr(server, "add_reflection", lambda *_arguments: None)
    return create_domain


REMOVALS: dict[str, tuple[Removal, tuple[str, ...]]] = {
    "expiry": (without("expire_time"), ("expired_approval_blocks",)),
    "artifact": (
        without("artifact_version", "artifact_sha256", "validation_passed", "validation_sha256"),
        ("changed_artifact_blocks", "changed_validation_blocks"),
    ),
    "validation": (without("validation_passed", "validation_sha256"), ("changed_validation_blocks",)),
    "base": (overwriting, ("changed_base_blocks", "block_is_final")),
    "reflection": (silent, ("reflection_lists_service",)),
}


@pytest.mark.parametrize("name", REMOVALS)
async def test_our_adapter_without_one_thing_fails_on_its_rule(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove, breaks = REMOVALS[name]
    factory = remove(monkeypatch)
    async with served_adapter(tmp_path, factory) as target:
        assert await failed_rules(target, chosen(breaks)) == set(breaks)

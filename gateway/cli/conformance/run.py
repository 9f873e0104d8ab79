"""Runs the rules against an adapter. Called by the command and by tests.

Each rule has sessions of its own, so that several run at a time and none hides another; each has a deadline.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

import grpc
import grpc.aio

from gateway.cli.conformance import (  # noqa: F401 - imported for the rules that they register
    approving,
    asking,
    comparing,
    deciding,
    describing,
    executing,
    reading,
    refusing,
    stopping,
)
from gateway.cli.conformance.kit import Kit
from gateway.cli.conformance.probes import BY_NAME
from gateway.cli.conformance.rule import RULES, Breach, NotApplicable, Rule
from gateway.cli.conformance.wire import Refused, refusal_of
from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail.adapter.v1.domain_adapter_service_pb2_grpc import DomainAdapterServiceStub
from handrail_rpc.channel import open_channel

RULE_SECONDS = 60.0
_CONNECT_SECONDS = 10.0
_AT_ONCE = 8


class Verdict(StrEnum):
    """How a rule fared."""

    PASS = "pass"
    FAIL = "fail"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True)
class Result:
    """A rule's verdict. `why` says what came instead, or why it is not applicable; `exchange` what was said last."""

    rule: Rule
    verdict: Verdict
    why: str = ""
    exchange: tuple[str, ...] = ()


class Unreachable(Exception):
    """Nothing answers, or what answers does not serve the domain; the text says which."""


async def run_rules(target: str, domain: str, names: Iterable[str] = ()) -> list[Result]:
    """The results of the named rules, or of all, in the order in which they are declared.

    Raises Unreachable, and KeyError for a rule that does not exist.
    """
    rules = [RULES[name] for name in names] or list(RULES.values())
    channel = open_channel(target)
    try:
        described = await _describe(channel, target, domain)
        room = asyncio.Semaphore(_AT_ONCE)

        async def one(rule: Rule) -> Result:
            async with room:
                return await _check(rule, Kit(target, domain, channel, described))

        return await asyncio.gather(*[one(rule) for rule in rules])
    finally:
        with suppress(grpc.aio.AioRpcError):
            await channel.close()


async def _describe(channel: grpc.aio.Channel, target: str, domain: str) -> pb2.DescribeDomainResponse:
    request = pb2.DescribeDomainRequest(domain=domain, locale="en")
    try:
        found = await DomainAdapterServiceStub(channel).DescribeDomain(request, timeout=_CONNECT_SECONDS)
    except grpc.aio.AioRpcError as error:
        refused = refusal_of(error)
        match refused.code:
            case grpc.StatusCode.NOT_FOUND:
                raise Unreachable(f"{target} serves no domain {domain!r}; name another with --domain") from None
            case grpc.StatusCode.UNIMPLEMENTED:
                raise Unreachable(f"{target} serves no handrail.adapter.v1.DomainAdapterService") from None
            case grpc.StatusCode.DEADLINE_EXCEEDED | grpc.StatusCode.UNAVAILABLE if not refused.reason:
                raise Unreachable(f"no gRPC service answers at {target}") from None
            case _:
                raise Unreachable(f"DescribeDomain of {domain!r} at {target} was refused with {refused}") from None
    if found.domain != domain:
        raise Unreachable(f"{target} describes the domain {found.domain!r} when asked for {domain!r}")
    return found


async def _check(rule: Rule, kit: Kit) -> Result:
    offered = {tool.name for tool in kit.described.tools}
    lacking = [name for name in rule.needs if name not in offered]
    if lacking and not any(BY_NAME[name].core for name in lacking):
        return Result(rule, Verdict.NOT_APPLICABLE, f"the adapter has no tool {', '.join(lacking)}")
    try:
        async with asyncio.timeout(RULE_SECONDS):
            await rule.check(kit)
    except NotApplicable as reason:
        return Result(rule, Verdict.NOT_APPLICABLE, str(reason))
    except Breach as breach:
        return Result(rule, Verdict.FAIL, str(breach), tuple(kit.trace.lines))
    except Refused as refused:
        return Result(rule, Verdict.FAIL, f"a call was refused that has to succeed: {refused}", tuple(kit.trace.lines))
    except TimeoutError:
        return Result(rule, Verdict.FAIL, f"no end within {RULE_SECONDS:g} s", tuple(kit.trace.lines))
    except (LookupError, ValueError, ArithmeticError) as error:
        # A member that the check relies on has a value that no check foresaw.
        return Result(rule, Verdict.FAIL, f"an answer is not of the form expected: {error!r}", tuple(kit.trace.lines))
    return Result(rule, Verdict.PASS)

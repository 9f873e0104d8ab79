"""A rule of the protocol, the registry of all of them, and how a check ends. Rules register themselves by `@rule`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway.cli.conformance.kit import Kit

Check = Callable[["Kit"], Awaitable[None]]


class Breach(Exception):
    """The adapter does not do what the rule wants; the text says what came instead."""


class NotApplicable(Exception):
    """The rule cannot be checked on this adapter; the text says why."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    Args:
        name: as in `--rule` and in the report.
        wants: what an adapter has to do, in one sentence.
        source: the section of docs/protocol.md it comes from, as file#anchor.
        why: what goes wrong without it.
        needs: probe tools that the check uses; it is not applicable where the adapter lacks an optional one.
        check: raises Breach, NotApplicable or wire.Refused; returns where the rule is kept.
    """

    name: str
    wants: str
    source: str
    why: str
    needs: tuple[str, ...]
    check: Check


RULES: dict[str, Rule] = {}


def rule(*, wants: str, source: str, why: str, needs: tuple[str, ...] = ()) -> Callable[[Check], Check]:
    """Register a check under the name of its function."""

    def register(check: Check) -> Check:
        name = check.__name__
        if name in RULES:
            raise ValueError(f"two rules are named {name}")
        RULES[name] = Rule(name, wants, source, why, needs, check)
        return check

    return register


def expect(condition: object, what: str) -> None:
    """Raise Breach saying what came where the condition does not hold."""
    if not condition:
        raise Breach(what)

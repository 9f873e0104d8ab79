"""Resolvers turn the text of a slot into a value, or into a closed list of candidates (requirements C5, C11)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from adapter_service.sdk.memory import Memory
from adapter_service.sdk.text import Text


@dataclass(frozen=True, slots=True)
class ResolveContext:
    """What a resolver may use besides the text."""

    locale: str
    now: datetime
    memory: Memory


@dataclass(frozen=True, slots=True)
class Resolved:
    """Exactly one meaning. `value` is the JSON value of the parameter, `display` its readable form."""

    value: Any
    display: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """One possible meaning. `identity` is the domain's identity, `value` the JSON value of the parameter."""

    identity: str
    display_name: str
    description: str
    value: Any


@dataclass(frozen=True, slots=True)
class Candidates:
    """Several possible meanings, best first; the user picks one."""

    options: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class Unresolved:
    """No meaning. `explanation` says why, and names the accepted form where the text is malformed.

    `code` is the failure code if the request cannot go on: entity_not_found or tool_input_invalid.
    """

    explanation: Text
    code: str = "entity_not_found"


Resolution = Resolved | Candidates | Unresolved
Resolver = Callable[[str, ResolveContext], Resolution]

"""Resolvers turn the text of a slot into a value, or into a closed list of candidates (requirements C5, C11)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from adapter_service.sdk.memory import Memory
from adapter_service.sdk.text import Text


@dataclass(frozen=True, slots=True)
class ResolveContext:
    """What a resolver may use besides the text. `workspace` is the domain's view of it (WorkspaceUse.prepare).

    `values` are those of the same call's parameters that are filled already (the engine fills them in the order of the
    signature), artifacts as their contents.
    """

    locale: str
    now: datetime
    memory: Memory
    workspace: Any = None
    values: Mapping[str, Any] = field(default_factory=dict)


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
    """Several possible meanings, best first; the user picks one.

    One alone is taken without asking, unless the text only resembles it: with `guessed`, the user is asked whether it
    was meant.
    """

    options: tuple[Candidate, ...]
    guessed: bool = False


@dataclass(frozen=True, slots=True)
class Unresolved:
    """No meaning. `explanation` says why, and names the accepted form where the text is malformed.

    `code` is the failure code if the request cannot go on: entity_not_found or tool_input_invalid.
    """

    explanation: Text
    code: str = "entity_not_found"


Resolution = Resolved | Candidates | Unresolved
Resolver = Callable[[str, ResolveContext], Resolution]

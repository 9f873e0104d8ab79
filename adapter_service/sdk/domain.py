"""A domain: its tools, resolvers, artifact kinds and planner in one value, checked as a whole at start-up."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from adapter_service.sdk.artifact import ArtifactKind
from adapter_service.sdk.errors import DeclarationError
from adapter_service.sdk.plan import Planner
from adapter_service.sdk.resolve import Resolver
from adapter_service.sdk.text import Text
from adapter_service.sdk.tool import Effect, Tool


@dataclass(frozen=True, slots=True)
class DomainEnvironment:
    """What a domain's factory gets.

    Args:
        data_dir: a folder of the domain's own, which exists.
        clock: returns the Adapter's time, UTC.
        settings: the process's environment variables.
    """

    data_dir: Path
    clock: Callable[[], datetime]
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Claim:
    """A phrase that claims something was done; allowed in an answer only where `tool` succeeded (requirement F4).

    With `artifact`, the call must also have made its artifact.
    """

    tool: str
    pattern: re.Pattern[str]
    artifact: bool = False


@dataclass(frozen=True)
class Domain:
    """Everything the engine has to know about a domain.

    Args:
        name: lower_snake, as in CreateConversation.
        version: of the domain; policy_version: raised with every change of what is allowed, monotone.
        identities: finds the identities that a text names; each must come from a result (requirement F4).
        claims: phrases that claim a change.
        sources: what validating tools read besides artifacts, by name: each callable gives the version in force now.
            Called within transactions: it must answer at once, without I/O.
    """

    name: str
    title: Text
    version: str
    policy_version: int
    tools: tuple[Tool, ...]
    planner: Planner
    resolvers: Mapping[str, Resolver] = field(default_factory=dict)
    artifact_kinds: tuple[ArtifactKind, ...] = ()
    identities: Callable[[str], frozenset[str]] = lambda _text: frozenset()
    claims: tuple[Claim, ...] = ()
    sources: Mapping[str, Callable[[], str]] = field(default_factory=dict)
    _tools: Mapping[str, Tool] = field(init=False)
    _kinds: Mapping[str, ArtifactKind] = field(init=False)

    def __post_init__(self) -> None:
        """Check the declarations against each other. Raises DeclarationError naming the fix."""
        object.__setattr__(self, "_tools", {tool.name: tool for tool in self.tools})
        object.__setattr__(self, "_kinds", {kind.name: kind for kind in self.artifact_kinds})
        if len(self._tools) != len(self.tools):
            raise DeclarationError(f"domain {self.name}: two tools have the same name")
        if self.policy_version < 1:
            raise DeclarationError(f"domain {self.name}: policy_version must be 1 or more")
        for tool in self.tools:
            for name, slot in tool.slots.items():
                if slot.resolver and slot.resolver not in self.resolvers:
                    raise DeclarationError(
                        f"tool {tool.name}: slot {name} names the resolver {slot.resolver}, which "
                        f"domain {self.name} does not declare"
                    )
            for source in tool.reads:
                if source not in self.sources:
                    raise DeclarationError(
                        f"tool {tool.name}: reads names {source}, which domain {self.name} does not declare in sources"
                    )
            kinds = [*tool.artifacts.values(), *([tool.makes.kind] if tool.makes else [])]
            for kind in kinds:
                if kind not in self._kinds:
                    raise DeclarationError(f"tool {tool.name}: artifact kind {kind} is not declared in artifact_kinds")
        for kind_declaration in self.artifact_kinds:
            self._check_kind(kind_declaration)
        for claim in self.claims:
            if claim.tool not in self._tools:
                raise DeclarationError(f"domain {self.name}: a claim names the tool {claim.tool}, which does not exist")

    def _check_kind(self, kind: ArtifactKind) -> None:
        for label, name in (("validate_tool", kind.validate_tool), ("revise_tool", kind.revise_tool)):
            if name and name not in self._tools:
                raise DeclarationError(f"artifact kind {kind.name}: {label}={name} is no tool of the domain")
        if kind.validate_tool and self._tools[kind.validate_tool].effect is not Effect.READ:
            raise DeclarationError(f"artifact kind {kind.name}: its validate_tool must have Effect.READ")
        if kind.revise_tool and self._tools[kind.revise_tool].effect is not Effect.DRAFT:
            raise DeclarationError(f"artifact kind {kind.name}: its revise_tool must have Effect.DRAFT")

    def tool(self, name: str) -> Tool:
        """A tool by name. Raises KeyError."""
        return self._tools[name]

    def has_tool(self, name: str) -> bool:
        """Whether the domain declares a tool of that name."""
        return name in self._tools

    def kind(self, name: str) -> ArtifactKind:
        """An artifact kind by name. Raises KeyError."""
        return self._kinds[name]

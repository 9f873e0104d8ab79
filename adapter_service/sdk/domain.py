"""A domain: its tools, resolvers, artifact kinds and planner in one value, checked as a whole at start-up."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from adapter_service.sdk.artifact import ArtifactKind
from adapter_service.sdk.checks import mistakes_of
from adapter_service.sdk.errors import DeclarationError
from adapter_service.sdk.kinds import completed_kinds
from adapter_service.sdk.named_tools import NamedToolPlanner
from adapter_service.sdk.naming import same, sentence
from adapter_service.sdk.plan import Planner, RefusedInput, TextFill, ValueFill
from adapter_service.sdk.resolve import Resolver
from adapter_service.sdk.text import NOTHING, Text
from adapter_service.sdk.tool import Tool
from adapter_service.sdk.workspace import WorkspaceUse


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
        name: lower_snake, as in CreateConversation; title: by default from it.
        planner: by default one to which a message names a tool and its arguments (NamedToolPlanner).
        artifact_kinds: kinds with texts or tools of their own; the others follow from what the tools make.
        version: of the domain; policy_version: raised with every change of what is allowed, monotone.
        identities: finds the identities that a text names; each must come from a result (requirement F4).
        fragments: finds the documentation fragments that a text names, as path#anchor; each must be one that a result
            cites (requirement F4).
        claims: phrases that claim a change.
        workspace: how the domain uses workspaces; None where conversations have none. A domain with one has the source
            "workspace": the hash of the conversation's workspace as the newest decision saw it.
        correct: proposes another value for an argument that a tool refused, once; None where it has none. Then, and
            where it is not declared, the person is asked.
        sources: what validating tools read besides artifacts, by name: each callable gives the version in force now.
            Called within transactions: it must answer at once, without I/O.
    """

    name: str
    title: Text = NOTHING
    version: str = "1"
    policy_version: int = 1
    tools: tuple[Tool, ...] = ()
    planner: Planner = field(default_factory=NamedToolPlanner)
    resolvers: Mapping[str, Resolver] = field(default_factory=dict)
    artifact_kinds: tuple[ArtifactKind, ...] = ()
    identities: Callable[[str], frozenset[str]] = lambda _text: frozenset()
    fragments: Callable[[str], frozenset[str]] = lambda _text: frozenset()
    claims: tuple[Claim, ...] = ()
    sources: Mapping[str, Callable[[], str]] = field(default_factory=dict)
    workspace: WorkspaceUse | None = None
    correct: Callable[[RefusedInput], TextFill | ValueFill | None] | None = None
    _tools: Mapping[str, Tool] = field(init=False)
    _kinds: Mapping[str, ArtifactKind] = field(init=False)

    def __post_init__(self) -> None:
        """Fill in the defaults and check everything. Raises DeclarationError with every mistake and its fix."""
        for option, held, kind in (("tools", self.tools, Tool), ("artifact_kinds", self.artifact_kinds, ArtifactKind)):
            if isinstance(held, kind) or not isinstance(held, Iterable):
                raise DeclarationError(f"domain {self.name}: {option}= must be a tuple; write {option}=(…,)")
        if self.title == NOTHING:
            # A mistake in the name is told once.
            object.__setattr__(self, "title", same(sentence(str(self.name)) or "-"))
        object.__setattr__(self, "tools", tuple(self.tools))
        tools = tuple(tool for tool in self.tools if isinstance(tool, Tool))
        others = [kind for kind in self.artifact_kinds if not isinstance(kind, ArtifactKind)]
        if others:
            raise DeclarationError(
                *(
                    f"domain {self.name}: artifact_kinds= holds {kind!r}; write ArtifactKind({kind!r})"
                    for kind in others
                )
            )
        object.__setattr__(self, "artifact_kinds", completed_kinds(tools, self.artifact_kinds))
        object.__setattr__(self, "_tools", {tool.name: tool for tool in tools})
        object.__setattr__(self, "_kinds", {kind.name: kind for kind in self.artifact_kinds})
        if isinstance(self.planner, NamedToolPlanner):
            object.__setattr__(self, "planner", self.planner.bound_to(tools))
        mistakes = mistakes_of(self)
        if mistakes:
            raise DeclarationError(*mistakes)

    def tool(self, name: str) -> Tool:
        """A tool by name. Raises KeyError."""
        return self._tools[name]

    def has_tool(self, name: str) -> bool:
        """Whether the domain declares a tool of that name."""
        return name in self._tools

    def kind(self, name: str) -> ArtifactKind:
        """An artifact kind by name. Raises KeyError."""
        return self._kinds[name]

"""Finds every mistake in a domain's declarations; each names the declaration and the fix. Called by Domain."""

from __future__ import annotations

import inspect
import re
import typing
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from adapter_service.sdk import callbacks
from adapter_service.sdk.artifact import ArtifactKind, ArtifactOutput, Finding, is_json
from adapter_service.sdk.naming import NAME_FORM, is_name, meant
from adapter_service.sdk.text import Text
from adapter_service.sdk.tool import ApprovalRule, Effect, Slot, Tool
from adapter_service.sdk.workspace import WorkspaceUse

if TYPE_CHECKING:
    from adapter_service.sdk.domain import Domain

MOST_TIMEOUT = timedelta(days=1)
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*(;.*)?")
_ONLY_FOR_CHANGES = ("base", "preview", "probe", "approval")
_FOR_CHANGES = "is for CHANGE and EXTERNAL tools"


def mistakes_of(domain: Domain) -> tuple[str, ...]:
    """Every mistake in the declarations, in their order; empty for a domain that can be served."""
    tools = [tool for tool in domain.tools if isinstance(tool, Tool)]
    kinds = {kind.name: kind for kind in domain.artifact_kinds if isinstance(kind, ArtifactKind)}
    found = list(_domain(domain, tools))
    for tool in tools:
        where = f"tool {tool.name}" if tool.name else f"the tool around {_spoken(tool.function)}"
        found += (f"{where}: {mistake}" for mistake in _tool(tool, domain, kinds))
    by_name = {tool.name: tool for tool in tools}
    for kind in kinds.values():
        found += (f"artifact kind {kind.name}: {mistake}" for mistake in (*_kind(kind, by_name), *_rivals(kind, tools)))
    found += _unreachable(tools, kinds)
    return tuple(dict.fromkeys(found))


def _domain(domain: Domain, tools: list[Tool]) -> Iterator[str]:
    where = f"domain {domain.name}"
    if not is_name(domain.name):
        yield f"domain {domain.name!r}: name= must be {NAME_FORM}"
    yield from (f"{where}: {mistake}" for mistake in _text("title", domain.title))
    if not isinstance(domain.version, str) or not domain.version.strip():
        yield f'{where}: version= must be a text, for example "1.0.0"'
    if not isinstance(domain.policy_version, int) or domain.policy_version < 1:
        yield f"{where}: policy_version must be 1 or more"
    if not domain.tools:
        yield f"{where}: tools= must hold at least one Tool"
    yield from (
        f"{where}: tools= holds {_spoken(tool)}, which is no Tool; make one with wrap(function, Effect.…)"
        for tool in domain.tools
        if not isinstance(tool, Tool)
    )
    for name, count in Counter(tool.name for tool in tools).items():
        if count > 1:
            yield f"{where}: two tools have the same name {name}; give one of them another name="
    for name, count in Counter(kind.name for kind in domain.artifact_kinds).items():
        if count > 1:
            yield f"{where}: two artifact kinds have the same name {name}"
    for callback, functions in ((callbacks.RESOLVER, domain.resolvers), (callbacks.SOURCE, domain.sources)):
        if not isinstance(functions, Mapping):
            yield f"{where}: {callback.option}= must be a dict of functions by name"
            continue
        for name, function in functions.items():
            found = callback.mistakes(function, f"{callback.option}[{name!r}]")
            yield from (f"{where}: {mistake}" for mistake in found)
    if not callable(getattr(domain.planner, "plan", None)):
        yield f"{where}: planner= must have a method plan(request) -> Proposal"
    for callback in callbacks.OF_DOMAIN:
        yield from (f"{where}: {mistake}" for mistake in callback.mistakes(getattr(domain, callback.option)))
    names = [tool.name for tool in tools]
    for claim in domain.claims:
        if not hasattr(claim, "tool"):
            yield f"{where}: claims= holds {claim!r}, which is no Claim"
        elif claim.tool not in names:
            yield f"{where}: a claim names the tool {claim.tool}, which does not exist; {meant(claim.tool, names)}"
    if domain.workspace is not None and not isinstance(domain.workspace, WorkspaceUse):
        yield f"{where}: workspace= must be a WorkspaceUse"
    elif domain.workspace is not None:
        for callback in callbacks.OF_WORKSPACE:
            found = callback.mistakes(getattr(domain.workspace, callback.option), f"workspace.{callback.option}=")
            yield from (f"{where}: {mistake}" for mistake in found)
        yield from _unknown(f"{where}: workspace.resolvers", domain.workspace.resolvers, domain.resolvers, "resolvers")


def _tool(tool: Tool, domain: Domain, kinds: Mapping[str, ArtifactKind]) -> Iterator[str]:
    if not tool.name:
        yield f"its function has no name; say name=, {NAME_FORM}"
        yield from tool.signature_mistakes
        return
    if not is_name(tool.name):
        yield f"name= must be {NAME_FORM}"
    if not isinstance(tool.effect, Effect):
        yield "effect= must be Effect.READ, Effect.DRAFT, Effect.CHANGE or Effect.EXTERNAL"
        return
    yield from tool.signature_mistakes
    yield from _text("title", tool.title)
    yield from _text("description", tool.description)
    if not isinstance(tool.version, int) or tool.version < 1:
        yield "version= must be 1 or more"
    if not isinstance(tool.timeout, timedelta) or not timedelta(0) < tool.timeout <= MOST_TIMEOUT:
        yield "timeout= must be a timedelta, more than nothing and at most one day"
    if isinstance(tool.roles, str) or not all(isinstance(role, str) and role.strip() for role in tool.roles):
        yield 'roles= must be a tuple of role names, for example roles=("librarian",)'
    for name in ("idempotent", "uses_workspace"):
        if not isinstance(getattr(tool, name), bool):
            yield f"{name}= must be True or False"
    for callback in callbacks.OF_TOOL:
        yield from callback.mistakes(getattr(tool, callback.option))
    yield from _slots(tool, domain)
    if not tool.signature_mistakes:
        yield from _parameters(tool)
    yield from _artifacts(tool, kinds)
    yield from _effect(tool)
    if tool.uses_workspace and domain.workspace is None:
        yield "uses_workspace= needs Domain(workspace=WorkspaceUse(…))"
    sources = {**domain.sources, "workspace": None} if domain.workspace is not None else domain.sources
    yield from _unknown("reads", tool.reads, sources, "Domain.sources")


def _slots(tool: Tool, domain: Domain) -> Iterator[str]:
    if not isinstance(tool.slots, Mapping):
        yield "slots= must be a dict: a question, a Text or a Slot by the name of its parameter"
        return
    for name, slot in tool.slots.items():
        if not isinstance(slot, Slot):
            yield f"slots[{name!r}] must be a Slot"
            continue
        if slot.resolver and slot.resolver not in domain.resolvers:
            yield (
                f"slot {name} names the resolver {slot.resolver}, which domain {domain.name} does not declare in "
                f"resolvers; {meant(slot.resolver, domain.resolvers)}"
            )
        if slot.question is not None:
            yield from _text(f"slot {name}: question", slot.question)
        if slot.label is not None:
            yield from _text(f"slot {name}: label", slot.label)
        if slot.fact_value is not None and not slot.fact:
            yield f"slot {name}: fact_value= needs fact=, the name of the client fact"
        yield from callbacks.FACT_VALUE.mistakes(slot.fact_value, f"slot {name}: fact_value=")


def _parameters(tool: Tool) -> Iterator[str]:
    for label, names in (("slots", tool.slots), ("artifacts", tool.artifacts)):
        for name in names:
            if name not in tool.parameters:
                yield f"{label} names {name}, which is no parameter of its function; {meant(name, tool.parameters)}"
    for label, name in (("revises", tool.revises), ("validates", tool.validates)):
        if name and name not in tool.artifacts:
            yield f"{label}={name} must be one of its artifact parameters; add artifacts={{{name!r}: <kind>}}"


def _artifacts(tool: Tool, kinds: Mapping[str, ArtifactKind]) -> Iterator[str]:
    if tool.makes is not None and not isinstance(tool.makes, ArtifactOutput):
        yield "makes= must be an ArtifactOutput"
        return
    if tool.makes is not None:
        yield from _output(tool.makes, tool)
    for kind in [*tool.artifacts.values(), *filter(None, [tool.makes_kind])]:
        if not isinstance(kind, str):
            yield f"the name of an artifact kind must be a text, and {_spoken(kind)} is none"
        elif kind not in kinds:
            yield f"artifact kind {kind} is not declared in artifact_kinds, nor made by any tool; {meant(kind, kinds)}"
    if tool.revises:
        revised = tool.artifacts.get(tool.revises, "")
        if tool.makes is None:
            yield f"revises={tool.revises} needs makes=, which describes the new version"
        elif revised and revised != tool.makes.kind:
            yield f"it revises an artifact of kind {revised} but makes one of kind {tool.makes.kind}; make them equal"


def _output(makes: ArtifactOutput, tool: Tool) -> Iterator[str]:
    if not isinstance(makes.media_type, str) or _MEDIA_TYPE.fullmatch(makes.media_type) is None:
        yield f"makes: media_type= must be like application/json or text/markdown, and is {makes.media_type!r}"
    elif makes.takes_whole_result and not is_json(makes.media_type) and tool.returns not in (None, Any, str, bytes):
        yield (
            f"makes: an artifact of {makes.media_type} is text or bytes, and the result is neither; say content=, a "
            "function from the result to them"
        )
    for callback in callbacks.OF_OUTPUT:
        yield from callback.mistakes(getattr(makes, callback.option), f"makes: {callback.option}=")


def _effect(tool: Tool) -> Iterator[str]:
    if tool.effect is Effect.DRAFT and tool.makes is None:
        yield "a DRAFT tool needs makes=ArtifactOutput(…)"
    if tool.validates:
        if tool.effect is not Effect.READ:
            yield "a tool with validates= must have Effect.READ"
        if tool.may_wait:
            yield "a validation is a list of Finding; it cannot wait for anything"
        if tool.makes is not None:
            yield "a tool with validates= judges an artifact version; it cannot make one"
        if not _may_be_findings(tool.returns):
            yield "a tool with validates= returns a list of Finding; annotate its function with -> list[Finding]"
    elif tool.reads:
        yield "reads= is for tools with validates="
    elif tool.effect is Effect.READ and tool.makes is not None:
        yield "a READ tool only looks; one with makes= has Effect.DRAFT, or Effect.CHANGE or Effect.EXTERNAL"
    if tool.effect.needs_approval:
        if len(tool.artifacts) > 1:
            yield (
                f"a {tool.effect.value} tool may have one artifact parameter, for an approval is bound to one "
                "artifact version"
            )
        yield from _approval(tool.approval)
        return
    for name in _ONLY_FOR_CHANGES:
        if getattr(tool, name) is not None:
            yield f"{name}= {_FOR_CHANGES}"
    if tool.has_target:
        yield f"target= {_FOR_CHANGES}"


def _approval(rule: ApprovalRule | None) -> Iterator[str]:
    if rule is None:
        return
    if not isinstance(rule, ApprovalRule):
        yield "approval= must be an ApprovalRule"
        return
    if not isinstance(rule.role, str) or not rule.role.strip():
        yield "approval: role= must be the name of a role"
    if not isinstance(rule.expires_after, timedelta) or rule.expires_after <= timedelta(0):
        yield "approval: expires_after= must be a timedelta, more than nothing"
    if not isinstance(rule.requester_may_approve, bool):
        yield "approval: requester_may_approve= must be True or False"


def _may_be_findings(returns: Any) -> bool:
    """Whether a function with that annotation, None without one, may return a list of Finding."""
    if returns in (None, Any, list, tuple):
        return True
    return Finding in typing.get_args(returns)


def _spoken(value: object) -> str:
    """A value of an author in a mistake: a function by its name, without an address."""
    return f"the function {value.__name__}" if inspect.isroutine(value) else repr(value)


def _kind(kind: ArtifactKind, tools: Mapping[str, Tool]) -> Iterator[str]:
    if not is_name(kind.name):
        yield f"name= must be {NAME_FORM}"
    yield from _text("title", kind.title)
    for callback in callbacks.OF_KIND:
        yield from callback.mistakes(getattr(kind, callback.option))
    wanted: tuple[tuple[str, str, Effect, Callable[[Tool], str]], ...] = (
        ("validate_tool", kind.validate_tool, Effect.READ, lambda tool: tool.validates),
        ("revise_tool", kind.revise_tool, Effect.DRAFT, lambda tool: tool.revises),
    )
    for label, name, effect, parameter_of in wanted:
        if not name:
            continue
        if name not in tools:
            yield f"{label}={name} is no tool of the domain; {meant(name, tools)}"
            continue
        tool = tools[name]
        if tool.effect is not effect:
            yield f"its {label} must have Effect.{effect.name}"
        option = label.partition("_")[0] + "s"
        if not parameter_of(tool):
            yield f"its {label} {name} must name the parameter of such an artifact in {option}="
        elif tool.artifacts.get(parameter_of(tool), kind.name) != kind.name:
            yield f"its {label} {name} {option} artifacts of kind {tool.artifacts[parameter_of(tool)]}"


def _rivals(kind: ArtifactKind, tools: list[Tool]) -> Iterator[str]:
    """Of several tools that could validate or revise it the author chooses: nothing goes unvalidated by chance."""
    validating = [tool.name for tool in tools if tool.validates and tool.artifacts.get(tool.validates) == kind.name]
    revising = [tool.name for tool in tools if tool.revises and tool.artifacts.get(tool.revises) == kind.name]
    if len(validating) > 1 and not kind.validate_tool:
        yield f"several tools validate it; say which one counts: validate_tool= one of {', '.join(validating)}"
    if validating and len(revising) > 1 and not kind.revise_tool:
        yield f"several tools revise it; say which one mends it: revise_tool= one of {', '.join(revising)}"


def _unreachable(tools: list[Tool], kinds: Mapping[str, ArtifactKind]) -> Iterator[str]:
    """Kinds that can never exist, for every tool that makes one needs an artifact which cannot exist either."""
    possible: set[str] = set()
    while True:
        grown = {
            tool.makes_kind
            for tool in tools
            if tool.makes_kind and _needed(tool) <= possible and tool.makes_kind not in possible
        }
        if not grown:
            break
        possible |= grown
    made = {tool.makes_kind for tool in tools}
    used = {kind for tool in tools for kind in tool.artifacts.values()}
    for name in kinds:
        if name in made and name not in possible:
            yield (
                f"artifact kind {name}: the tools that make it need artifacts that cannot exist before it; add a DRAFT "
                "tool that makes it without one"
            )
        elif name in used and name not in made:
            yield f"artifact kind {name}: no tool makes it; declare one with makes=ArtifactOutput({name!r})"


def _needed(tool: Tool) -> frozenset[str]:
    return frozenset(
        kind for name, kind in tool.artifacts.items() if name in tool.parameters and tool.is_required(name)
    )


def _text(label: str, text: object) -> Iterator[str]:
    if not isinstance(text, Text):
        yield f"{label}= must be a Text(english, russian)"
        return
    for language, value in (("English", text.en), ("Russian", text.ru)):
        if not isinstance(value, str) or not value.strip():
            yield f"{label}= has no {language} text"


def _unknown(label: str, names: Iterable[str], known: Mapping[str, Any], where: str) -> Iterator[str]:
    for name in names:
        if name not in known:
            yield f"{label} names {name}, which is not in {where}; {meant(name, known)}"

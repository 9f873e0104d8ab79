"""`wrap` and `validator`: the short way from a plain function to a Tool. Called by domain authors.

Whatever is not said follows from the function: name, title, description, input schema, questions, rendering, view.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, TypedDict, Unpack

from adapter_service.sdk.answer import DocumentationCitation, EntityCitation, Referent
from adapter_service.sdk.artifact import ArtifactOutput
from adapter_service.sdk.compact_view import inline
from adapter_service.sdk.errors import DeclarationError
from adapter_service.sdk.naming import as_text
from adapter_service.sdk.text import Text
from adapter_service.sdk.tool import ApprovalRule, Effect, Slot, Tool, ToolContext
from adapter_service.sdk.wait import Wait

Say = Callable[[Any, str], str] | Text | str
_PLACE = re.compile(r"\{(\w+)\}")


class ToolOptions(TypedDict, total=False):
    """Further arguments of `wrap`, as Tool documents them."""

    version: int
    idempotent: bool
    timeout: timedelta
    roles: tuple[str, ...]
    approval: ApprovalRule | None
    reads: tuple[str, ...]
    uses_workspace: bool
    cites: Callable[[Any], tuple[EntityCitation, ...]]
    cites_documentation: Callable[[Any], tuple[DocumentationCitation, ...]]
    referents: Callable[[Any], tuple[Referent, ...]]
    limitations: Callable[[Any, str], tuple[str, ...]]
    view: Callable[[Any], Any]
    waits: Callable[[Any], Wait | None]
    target: Callable[[Mapping[str, Any]], str]
    base: Callable[[Mapping[str, Any], Any], str] | None
    preview: Callable[[Mapping[str, Any], str], str] | None
    probe: Callable[[Mapping[str, Any], ToolContext], Any] | None


def wrap(
    function: Callable[..., Any],
    effect: Effect,
    *,
    name: str = "",
    title: Text | str = "",
    description: Text | str = "",
    say: Say = "",
    slots: Mapping[str, Slot | Text | str] | None = None,
    artifacts: Mapping[str, str] | str = "",
    makes: ArtifactOutput | str | None = None,
    revises: str = "",
    validates: str = "",
    **options: Unpack[ToolOptions],
) -> Tool:
    """A Tool around a plain function, sync or async, which stays as it is.

    Args:
        function, effect: what it does, and what it may do to the world. The effect alone has no default.
        name: by default the function's. title, description, say, slots: a str holds for both languages.
        say: also a sentence with members of the result in braces: "Lent {book} to {reader}.".
        slots: also the bare question of a parameter.
        artifacts: also the name of a parameter that is called like the kind of its artifact.
        makes: also the bare name of an artifact kind: the whole result is its content, as JSON.
        revises: its parameter receives an artifact of the kind in `makes`, without an entry in `artifacts`.
        options: as in Tool.
    """
    name = name or _name_of(function)
    output = ArtifactOutput(makes) if isinstance(makes, str) else makes
    if not isinstance(artifacts, Mapping | str):
        raise DeclarationError(f"tool {name}: artifacts= must name a parameter, or be a dict of kinds by parameter")
    kinds = ({artifacts: artifacts} if artifacts else {}) if isinstance(artifacts, str) else dict(artifacts)
    if revises and output is not None:
        kinds.setdefault(revises, output.kind)
    said: dict[str, Any] = {}
    if say:
        said["say"] = _sentence(as_text(say)) if isinstance(say, Text | str) else say
    if title:
        said["title"] = as_text(title)
    if description:
        said["description"] = as_text(description)
    return Tool(
        name=name,
        function=function,
        effect=effect,
        slots=_slots(slots) if isinstance(slots, Mapping) else slots or {},
        artifacts=kinds,
        makes=output,
        revises=revises,
        validates=validates,
        **said,
        **options,
    )


def validator(function: Callable[..., Any], kind: str, *, parameter: str = "", **declared: Any) -> Tool:
    """A READ tool that judges the versions of an artifact kind: its function returns a list of Finding.

    Args:
        parameter: the one that receives the content; by default the function's first.
        declared: as in `wrap`.
    """
    first = parameter
    if not first and callable(function):
        first = next(iter(inspect.signature(function).parameters), "")
    artifacts = {first: kind, **declared.pop("artifacts", {})}
    return wrap(function, Effect.READ, artifacts=artifacts, validates=first, **declared)


def _slots(given: Mapping[str, Slot | Text | str]) -> dict[str, Slot]:
    return {name: slot if isinstance(slot, Slot) else Slot(as_text(slot)) for name, slot in given.items()}


def _name_of(function: Callable[..., Any]) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__name__", "")


def _sentence(template: Text) -> Callable[[Any, str], str]:
    def say(result: Any, locale: str) -> str:
        members = result if isinstance(result, Mapping) else {"result": result}

        def told(place: re.Match[str]) -> str:
            return inline(members[place[1]], locale) if place[1] in members else place[0]

        return _PLACE.sub(told, template.localized(locale))

    return say

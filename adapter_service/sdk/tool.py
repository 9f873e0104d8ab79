"""Tools: plain functions, unchanged, with what policy and planning have to know about them (requirement A6)."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from pydantic import BaseModel as PydanticModel
from pydantic import ConfigDict, TypeAdapter, create_model

from adapter_service.sdk.answer import EntityCitation, Referent
from adapter_service.sdk.artifact import ArtifactOutput
from adapter_service.sdk.errors import DeclarationError
from adapter_service.sdk.memory import FactView
from adapter_service.sdk.text import Text


class Effect(StrEnum):
    """What a tool may do to the world; policy follows from it (contract.md, Tool effects)."""

    READ = "read"
    DRAFT = "draft"
    CHANGE = "change"
    EXTERNAL = "external"

    @property
    def needs_approval(self) -> bool:
        """CHANGE and EXTERNAL are approved by a person before they run."""
        return self in (Effect.CHANGE, Effect.EXTERNAL)


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """Who may approve a call, for how long, and whether the requester may do so."""

    role: str = "approver"
    expires_after: timedelta = timedelta(hours=24)
    requester_may_approve: bool = True


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Given to a function that has a parameter annotated with this class; never part of the hashed input.

    Args:
        now: the Adapter's clock, UTC.
        idempotency_key: unique for this call; the same in every repetition of it.
        locale: "en" or "ru".
        report: call it with (percent 0 to 100, message) to show progress; safe from any thread.
    """

    now: datetime
    idempotency_key: str
    locale: str
    report: Callable[[int, str], None]


@dataclass(frozen=True, slots=True)
class Slot:
    """How a parameter is filled.

    Args:
        question: asked when the slot is required and nothing fills it.
        resolver: name of the domain's resolver for texts; empty: the text itself, validated by the parameter's type.
        required: None: as the signature says (a parameter without default is required).
        fact: name of a client fact that fills the slot where the request says nothing, for example "position".
        fact_value: from the fact to the parameter's JSON value; by default the fact's value with `source`, `scope` and
            `observed_time` added.
        label: short name for people; by default the parameter's name.
    """

    question: Text
    resolver: str = ""
    required: bool | None = None
    fact: str = ""
    fact_value: Callable[[FactView], Any] | None = None
    label: Text | None = None


def _nothing(_result: Any) -> tuple[Any, ...]:
    return ()


@dataclass(frozen=True)
class Tool:
    """A plain function (sync or async) with its declarations.

    Args:
        function: called with the parameters of its signature; returns a JSON-able value.
        effect: what it may do.
        title, description: for people and models.
        version: raised by the author when its meaning changes; part of every approval.
        idempotent: it honours ToolContext.idempotency_key, so that it may be called again with it after a crash.
        timeout: of one call.
        roles: any of them permits the tool; empty: everybody.
        approval: rule for CHANGE and EXTERNAL tools; the default rule where None.
        slots: per parameter; parameters without an entry are filled by values only, or skipped if optional.
        artifacts: parameter name -> artifact kind: the parameter receives the content of an artifact version, and the
            hashed input holds its id, version and sha256.
        makes: the result makes an artifact version.
        revises: name of the parameter whose artifact gets the new version that `makes` describes.
        validates: name of the parameter whose artifact version the result judges; the result is a list of Finding.
        say: (result, locale) -> one or several sentences for the answer.
        cites, referents, limitations: from the result (limitations with the locale).
        view: from the result to what later context may see of it (requirement H1).
        target: from the input (parameters by name) to the identity of what is changed; for CHANGE and EXTERNAL.
        preview: (input, locale) -> readable form of what would be done, shown with the approval.
        probe: asked after a crash, with the input and context, whether the change is there: its result, or None.
    """

    name: str
    function: Callable[..., Any]
    effect: Effect
    title: Text
    description: Text
    say: Callable[[Any, str], str]
    version: int = 1
    idempotent: bool = False
    timeout: timedelta = timedelta(seconds=30)
    roles: tuple[str, ...] = ()
    approval: ApprovalRule | None = None
    slots: Mapping[str, Slot] = field(default_factory=dict)
    artifacts: Mapping[str, str] = field(default_factory=dict)
    makes: ArtifactOutput | None = None
    revises: str = ""
    validates: str = ""
    cites: Callable[[Any], tuple[EntityCitation, ...]] = _nothing
    referents: Callable[[Any], tuple[Referent, ...]] = _nothing
    limitations: Callable[[Any, str], tuple[str, ...]] = lambda _result, _locale: ()
    view: Callable[[Any], Any] = lambda result: result
    target: Callable[[Mapping[str, Any]], str] = lambda _input: ""
    preview: Callable[[Mapping[str, Any], str], str] | None = None
    probe: Callable[[Mapping[str, Any], ToolContext], Any] | None = None
    parameters: Mapping[str, inspect.Parameter] = field(init=False)
    context_parameter: str = field(init=False)
    input_model: type[PydanticModel] = field(init=False)
    _types: dict[str, TypeAdapter[Any]] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Read the signature. Raises DeclarationError naming the tool and the fix."""
        signature = inspect.signature(self.function)
        hints = typing.get_type_hints(getattr(self.function, "func", self.function))
        parameters: dict[str, inspect.Parameter] = {}
        context_parameter = ""
        for name, parameter in signature.parameters.items():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
                raise DeclarationError(f"tool {self.name}: parameter {name} must be an ordinary named parameter")
            if name not in hints:
                raise DeclarationError(f"tool {self.name}: parameter {name} needs a type annotation")
            if hints[name] is ToolContext:
                context_parameter = name
            else:
                parameters[name] = parameter.replace(annotation=hints[name])
        for label, names in (("slots", self.slots), ("artifacts", self.artifacts)):
            for name in names:
                if name not in parameters:
                    raise DeclarationError(
                        f"tool {self.name}: {label} names {name}, which is no parameter of its function"
                    )
        for label, name in (("revises", self.revises), ("validates", self.validates)):
            if name and name not in self.artifacts:
                raise DeclarationError(f"tool {self.name}: {label}={name} must be one of its artifact parameters")
        if self.effect is Effect.DRAFT and self.makes is None:
            raise DeclarationError(f"tool {self.name}: a DRAFT tool needs makes=ArtifactOutput(…)")
        fields: dict[str, Any] = {}
        for name, parameter in parameters.items():
            default = ... if parameter.default is parameter.empty else parameter.default
            fields[name] = (Any if name in self.artifacts else parameter.annotation, default)
        try:
            model = create_model(f"{self.name}_input", __config__=ConfigDict(extra="forbid"), **fields)
        except Exception as error:
            raise DeclarationError(f"tool {self.name}: its signature has no input schema: {error}") from error
        object.__setattr__(self, "parameters", parameters)
        object.__setattr__(self, "context_parameter", context_parameter)
        object.__setattr__(self, "input_model", model)

    def is_required(self, name: str) -> bool:
        """Whether a parameter must be filled before the tool is called."""
        slot = self.slots.get(name)
        if slot is not None and slot.required is not None:
            return slot.required
        return self.parameters[name].default is inspect.Parameter.empty

    def type_of(self, name: str) -> TypeAdapter[Any]:
        """Validator of one parameter's value; made once, for making one costs more than many validations."""
        if name not in self._types:
            self._types[name] = TypeAdapter(self.parameters[name].annotation)
        return self._types[name]

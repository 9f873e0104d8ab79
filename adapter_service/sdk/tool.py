"""Tools: plain functions, unchanged, with what policy and planning have to know about them (requirement A6)."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from pydantic import BaseModel as PydanticModel
from pydantic import ConfigDict, TypeAdapter, create_model

from adapter_service.sdk.answer import EntityCitation, Referent
from adapter_service.sdk.artifact import ArtifactOutput
from adapter_service.sdk.errors import DeclarationError
from adapter_service.sdk.memory import FactView
from adapter_service.sdk.text import Text
from adapter_service.sdk.wait import Wait


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
        base_sha256: what Tool.base said when the approval was asked for, from the approved bytes; "" without a base.
    """

    now: datetime
    idempotency_key: str
    locale: str
    report: Callable[[int, str], None]
    base_sha256: str = ""


class NotExecuted:
    """Type of NOT_EXECUTED."""


NOT_EXECUTED: Final = NotExecuted()
"""A probe's answer where the change surely did not happen: the call may then be made, whatever its tool is."""


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


def _no_wait(_result: Any) -> Wait | None:
    return None


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
        reads: names of Domain.sources that a validating tool reads besides its artifacts. What it read is stored with
            the validation and compared again when a call is claimed (soundness rule read_set).
        say: (result, locale) -> one or several sentences for the answer.
        cites, referents, limitations: from the result (limitations with the locale).
        view: from the result to what later context may see of it (requirement H1).
        waits: from the result to what the task waits for before it is done, None for nothing. Afterwards the result,
            an object, has a further member `wake_up`: {signal, payload, limit_passed}; `say` is called before, too.
        target: from the input (parameters by name) to the identity of what is changed; for CHANGE and EXTERNAL.
        base: from the input to the sha256 of what the target holds now and the change replaces, "" where it holds
            nothing; for CHANGE and EXTERNAL. Part of what is approved; a tool that declares it compares once more right
            before its write and raises BaseChanged.
        preview: (input, locale) -> readable form of what would be done, shown with the approval.
        probe: asked after a crash, with the input and context, before anything is called again: the result where the
            change is there, NOT_EXECUTED where it surely is not, None where nobody can tell.
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
    reads: tuple[str, ...] = ()
    cites: Callable[[Any], tuple[EntityCitation, ...]] = _nothing
    referents: Callable[[Any], tuple[Referent, ...]] = _nothing
    limitations: Callable[[Any, str], tuple[str, ...]] = lambda _result, _locale: ()
    view: Callable[[Any], Any] = lambda result: result
    waits: Callable[[Any], Wait | None] = _no_wait
    target: Callable[[Mapping[str, Any]], str] = lambda _input: ""
    base: Callable[[Mapping[str, Any]], str] | None = None
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
        if self.validates and self.may_wait:
            raise DeclarationError(f"tool {self.name}: a validation is a list of Finding; it cannot wait for anything")
        if self.effect is Effect.DRAFT and self.makes is None:
            raise DeclarationError(f"tool {self.name}: a DRAFT tool needs makes=ArtifactOutput(…)")
        if self.base is not None and not self.effect.needs_approval:
            raise DeclarationError(f"tool {self.name}: base= is for CHANGE and EXTERNAL tools")
        if self.reads and not self.validates:
            raise DeclarationError(f"tool {self.name}: reads= is for tools with validates=")
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

    @property
    def may_wait(self) -> bool:
        """Whether its results have to be asked what the task waits for."""
        return self.waits is not _no_wait

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

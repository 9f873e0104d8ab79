"""Tools: plain functions, unchanged, with what policy and planning have to know about them (requirement A6)."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from pydantic import BaseModel as PydanticModel
from pydantic import TypeAdapter

from adapter_service.sdk.answer import DocumentationCitation, EntityCitation, Referent
from adapter_service.sdk.artifact import ArtifactOutput, Finding, bytes_of, is_json
from adapter_service.sdk.compact_view import compact, findings_say, plain_preview, plain_say, view_findings
from adapter_service.sdk.memory import FactView
from adapter_service.sdk.naming import same, sentence, words
from adapter_service.sdk.parameter_values import Choice, choices_of, form_of, parse_value, question_about
from adapter_service.sdk.signature import FunctionSignature, input_model, read_signature
from adapter_service.sdk.text import NOTHING, Text
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
        workspace: the domain's view of the workspace (WorkspaceUse.prepare); None where the domain uses none.
    """

    now: datetime
    idempotency_key: str
    locale: str
    report: Callable[[int, str], None]
    base_sha256: str = ""
    workspace: Any = None


class NotExecuted:
    """Type of NOT_EXECUTED."""


NOT_EXECUTED: Final = NotExecuted()
"""A probe's answer where the change surely did not happen: the call may then be made, whatever its tool is."""


@dataclass(frozen=True, slots=True)
class Slot:
    """How a parameter is filled.

    Args:
        question: asked when the slot is required and nothing fills it; by default from the parameter's name and type.
        resolver: name of the domain's resolver for texts; empty: the text itself, validated by the parameter's type.
        required: None: as the signature says (a parameter without default is required).
        skippable: False: an optional parameter that, where it has to be asked for, needs an answer: without it the call
            would be another one than was asked for.
        choice_names: how the values of a closed list are called, by value; by default the value itself.
        fact: name of a client fact that fills the slot where the request says nothing, for example "position".
        fact_value: from the fact to the parameter's JSON value; by default the fact's value with `source`, `scope` and
            `observed_time` added.
        label: short name for people; by default the parameter's name.
    """

    question: Text | None = None
    resolver: str = ""
    required: bool | None = None
    fact: str = ""
    fact_value: Callable[[FactView], Any] | None = None
    label: Text | None = None
    skippable: bool = True
    choice_names: Mapping[str, Text] | None = None


def _nothing(_result: Any) -> tuple[Any, ...]:
    return ()


def _no_wait(_result: Any) -> Wait | None:
    return None


def _plain(_result: Any, _locale: str) -> str:
    return ""


def _no_target(_input: Mapping[str, Any]) -> str:
    return ""


_ARTIFACT_REFERENCE: Final = {
    "type": "object",
    "properties": {"artifact_id": {"type": "string"}, "version": {"type": "integer"}, "sha256": {"type": "string"}},
    "required": ["artifact_id", "version", "sha256"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Tool:
    """A plain function (sync or async) with its declarations.

    Args:
        function: called with the parameters of its signature; returns a JSON-able value. What the callbacks below get
            is its JSON form: a dataclass or model as a dict, a date as text, bytes as base64 text (`bytes_of`).
        effect: what it may do.
        title, description: for people and models; by default from the name and the function's docstring.
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
        say: (result, locale) -> one or several sentences for the answer; by default the result's view as a list.
        cites, cites_documentation, referents, limitations: from the result (limitations with the locale).
        uses_workspace: its results depend on the workspace: after a change of it, what a plan has read is read again
            before the plan goes on (requirement C10).
        view: from the result to what later context may see of it (requirement H1); by default its ends and counts.
        waits: from the result to what the task waits for before it is done, None for nothing. Afterwards the result,
            if it is an object, has a further member `wake_up`: {signal, payload, limit_passed}; `say` is called
            before, too.
        target: from the input (parameters by name) to the identity of what is changed; for CHANGE and EXTERNAL.
        base: (input, view of the workspace or None) -> the sha256 of what the target holds now and the change replaces,
            "" where it holds nothing; for CHANGE and EXTERNAL. Part of what is approved; a tool that declares it
            compares once more right before its write and raises BaseChanged.
        preview: (input, locale) -> readable form of what would be done, shown with the approval; by default the input.
        probe: asked after a crash, with the input and context, before anything is called again: the result where the
            change is there, NOT_EXECUTED where it surely is not, None where nobody can tell.
    """

    name: str
    function: Callable[..., Any]
    effect: Effect
    title: Text = NOTHING
    description: Text = NOTHING
    say: Callable[[Any, str], str] = _plain
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
    uses_workspace: bool = False
    cites: Callable[[Any], tuple[EntityCitation, ...]] = _nothing
    cites_documentation: Callable[[Any], tuple[DocumentationCitation, ...]] = _nothing
    referents: Callable[[Any], tuple[Referent, ...]] = _nothing
    limitations: Callable[[Any, str], tuple[str, ...]] = lambda _result, _locale: ()
    view: Callable[[Any], Any] = compact
    waits: Callable[[Any], Wait | None] = _no_wait
    target: Callable[[Mapping[str, Any]], str] = _no_target
    base: Callable[[Mapping[str, Any], Any], str] | None = None
    preview: Callable[[Mapping[str, Any], str], str] | None = None
    probe: Callable[[Mapping[str, Any], ToolContext], Any] | None = None
    parameters: Mapping[str, inspect.Parameter] = field(init=False)
    context_parameter: str = field(init=False)
    input_model: type[PydanticModel] = field(init=False)
    returns: Any = field(init=False, repr=False, compare=False)
    signature_mistakes: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _types: dict[str, TypeAdapter[Any]] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Read the signature and fill in the defaults. Mistakes are told by the Domain, all of them at once."""
        name = str(self.name)
        signature: FunctionSignature = read_signature(self.function, ToolContext)
        model, mistakes = input_model(f"{name}_input", signature.parameters, self.artifacts)
        filled = {
            "parameters": signature.parameters,
            "context_parameter": signature.context_parameter,
            "input_model": model,
            "returns": signature.returns,
            "signature_mistakes": (*signature.mistakes, *mistakes, *self._misjudges(signature.returns)),
            "title": same(sentence(name)) if self.title == NOTHING else self.title,
            "view": view_findings if self.validates and self.view is compact else self.view,
        }
        for field_name, value in filled.items():
            object.__setattr__(self, field_name, value)
        if signature.returns is bytes:
            self._fill_in_for_bytes()
        if self.description == NOTHING:
            documentation = inspect.getdoc(self.function) if inspect.isroutine(self.function) else None
            paragraph = " ".join((documentation or "").partition("\n\n")[0].split())
            object.__setattr__(self, "description", same(paragraph) if paragraph else self.title)
        if self.preview is None and isinstance(self.effect, Effect) and self.effect.needs_approval:
            object.__setattr__(self, "preview", plain_preview(self.title))
        if self.say is _plain:
            object.__setattr__(self, "say", (findings_say if self.validates else plain_say)(self.title))

    def _fill_in_for_bytes(self) -> None:
        """Of a result that is nothing but bytes the artifact gets them as they are, and nobody is told base64."""
        makes = self.makes
        if isinstance(makes, ArtifactOutput) and makes.takes_whole_result and not is_json(makes.media_type):
            object.__setattr__(self, "makes", replace(makes, content=bytes_of))
        if self.view is compact:
            object.__setattr__(self, "view", lambda result: {"size_bytes": len(bytes_of(result))})
        if self.say is _plain:
            object.__setattr__(self, "say", lambda _result, locale: plain_say(self.title)(None, locale))

    def _misjudges(self, returns: Any) -> tuple[str, ...]:
        """A function that returns findings judges an artifact; whatever else it is declared as would not count."""
        if self.validates or Finding not in typing.get_args(returns):
            return ()
        return ("its function returns findings; declare it with validator(function, kind), or with validates=",)

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema of the input (DescribeDomain). An artifact's parameter takes a reference to a version of it."""
        schema = self.input_model.model_json_schema()
        for name in self.artifacts:
            if name in schema.get("properties", {}):
                schema["properties"][name] = {"title": self.artifacts[name], **_ARTIFACT_REFERENCE}
        return schema

    @property
    def makes_kind(self) -> str:
        """The artifact kind that its result makes or revises; empty where it makes none."""
        return self.makes.kind if self.makes is not None else ""

    @property
    def has_target(self) -> bool:
        """Whether it declares what it changes."""
        return self.target is not _no_target

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

    def label(self, name: str) -> Text:
        """The readable name of a parameter."""
        slot = self.slots.get(name)
        return slot.label if slot is not None and slot.label is not None else same(words(name))

    def question(self, name: str) -> Text:
        """What is asked for a parameter: its slot's question, or one from its name, type and limits."""
        slot = self.slots.get(name)
        if slot is not None and slot.question is not None:
            return slot.question
        form = None if slot is not None and slot.resolver else self.form(name)
        return question_about(self.label(name), form)

    def form(self, name: str) -> Text | None:
        """How a value of a parameter is written, in words; None where any text will do."""
        schema = self.type_of(name).json_schema()
        return form_of(schema, choices_of(self.parameters[name].annotation))

    def choices(self, name: str) -> tuple[Choice, ...]:
        """The closed list of a parameter's values where its type has one and no resolver reads its texts."""
        slot = self.slots.get(name)
        if slot is not None and slot.resolver:
            return ()
        choices = choices_of(self.parameters[name].annotation)
        names = (slot.choice_names if slot is not None else None) or {}
        return tuple(replace(choice, display=names.get(choice.identity, choice.display)) for choice in choices)

    def parse(self, name: str, text: str) -> Any:
        """The JSON value of a parameter that a text stands for, without a resolver. Raises ValueError."""
        return parse_value(self.type_of(name), self.choices(name), text)

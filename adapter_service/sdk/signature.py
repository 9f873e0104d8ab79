"""Reads a tool's parameters from its function's signature and tells every mistake. Called by Tool when it is made."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, PydanticUserError, ValidationError, create_model
from pydantic.fields import FieldInfo

from adapter_service.sdk.parameter_values import choices_of


@dataclass(frozen=True)
class FunctionSignature:
    """`parameters` without the context's, with resolved annotations; `mistakes` each name the parameter and the fix.

    `returns` is the annotation of the result, None without one.
    """

    parameters: Mapping[str, inspect.Parameter] = field(default_factory=dict)
    context_parameter: str = ""
    mistakes: tuple[str, ...] = ()
    returns: Any = None


def read_signature(function: Callable[..., Any], context_type: type) -> FunctionSignature:
    """The signature of a plain function, method, partial or callable object.

    A parameter annotated with `context_type` is the context's and no part of the input.
    """
    if not callable(function):
        return FunctionSignature(mistakes=(f"function= must be a function, and {function!r} cannot be called",))
    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        return FunctionSignature(
            mistakes=("its function yields values; it must return its result, for example as one list",)
        )
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return FunctionSignature(
            mistakes=("its function has no readable signature; wrap it in a function with annotated parameters",)
        )
    try:
        hints = typing.get_type_hints(_annotated(function), include_extras=True)
    except (NameError, AttributeError, TypeError, ValueError, SyntaxError, ImportError) as error:
        return FunctionSignature(
            mistakes=(
                f"an annotation of its function cannot be read ({error}); its names must exist in the function's "
                "module when the program runs, not under TYPE_CHECKING nor inside another function",
            )
        )
    parameters: dict[str, inspect.Parameter] = {}
    context_parameter = ""
    mistakes: list[str] = []
    for name, parameter in signature.parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            mistakes.append(f"parameter {name} must be an ordinary named parameter, without *, ** and /")
        elif name not in hints:
            mistakes.append(f"parameter {name} needs a type annotation, for example {name}: str")
        elif isinstance(parameter.default, FieldInfo):
            mistakes.append(
                f"parameter {name} has Field(…) as its default; write {name}: Annotated[type, Field(…)] = default"
            )
        elif context_type in typing.get_args(hints[name]):
            mistakes.append(
                f"parameter {name} may be the context or something else; annotate it with ToolContext alone"
            )
        elif hints[name] is context_type:
            context_parameter = name
        else:
            parameters[name] = parameter.replace(annotation=hints[name])
    return FunctionSignature(parameters, context_parameter, tuple(mistakes), hints.get("return"))


def _annotated(function: Callable[..., Any]) -> Any:
    """Where the annotations stand: behind a partial, or on the `__call__` of an object."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function) or inspect.isclass(function):
        return function
    return type(function).__call__


def input_model(
    name: str, parameters: Mapping[str, inspect.Parameter], artifacts: Iterable[str]
) -> tuple[type[BaseModel], tuple[str, ...]]:
    """The pydantic model of a tool's input, and the mistakes: parameters whose type has no JSON Schema are left out."""
    # Its errors are logged: what a user wrote stays out of them (requirement G5).
    config = ConfigDict(extra="forbid", protected_namespaces=(), hide_input_in_errors=True)
    fields: dict[str, Any] = {}
    mistakes: list[str] = []
    for parameter_name, parameter in parameters.items():
        default = ... if parameter.default is parameter.empty else parameter.default
        declared = (Any if parameter_name in artifacts else parameter.annotation, default)
        try:
            alone: dict[str, Any] = {parameter_name: declared}
            made = create_model(name, __config__=config, **alone)
            made.model_json_schema()
        except (PydanticUserError, NameError, AttributeError, TypeError, ValueError, RecursionError) as error:
            # Its first sentence; further ones advise what only a pydantic model could do.
            reason = str(error).strip().partition("\n")[0].partition(". ")[0]
            mistakes.append(
                f"parameter {parameter_name} has no input schema ({reason}); use types that JSON has: str, int, float, "
                "bool, Literal, Enum, dates, lists, dataclasses or pydantic models"
            )
            continue
        if not _fits(made, parameter_name, default):
            mistakes.append(f"parameter {parameter_name}: its default {default!r} is no value of its own type")
        mistakes += (
            f"parameter {parameter_name}: {choice.display.en} is {choice.value!r} in JSON, which is no value of its "
            "type; give the enum's members texts or numbers"
            for choice in choices_of(declared[0])
            if not _fits(made, parameter_name, choice.value)
        )
        fields[parameter_name] = declared
    return create_model(name, __config__=config, **fields), tuple(mistakes)


def _fits(model: type[BaseModel], name: str, default: object) -> bool:
    if default is ...:
        return True
    try:
        model.model_validate({name: default})
    except ValidationError:
        return False
    return True

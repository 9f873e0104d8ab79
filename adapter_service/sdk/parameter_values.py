"""What a parameter's type says to people: its closed choices, how its values are written, what is asked for it.

Called by Tool for parameters whose Slot declares no resolver or no question.
"""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, Union

from pydantic import TypeAdapter

from adapter_service.sdk.naming import same, words
from adapter_service.sdk.text import Text

_YES_NO = (Text("yes", "да"), Text("no", "нет"))


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of a closed list. `value` is the JSON value of the parameter."""

    identity: str
    display: Text
    value: Any


def choices_of(annotation: Any) -> tuple[Choice, ...]:
    """The values of a Literal, an Enum or a bool, also where they are optional; empty for every other type."""
    origin = typing.get_origin(annotation)
    if origin is Annotated:
        return choices_of(typing.get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        members = [member for member in typing.get_args(annotation) if member is not type(None)]
        return choices_of(members[0]) if len(members) == 1 else ()
    if origin is Literal:
        values = [value.value if isinstance(value, Enum) else value for value in typing.get_args(annotation)]
        return tuple(Choice(str(value), same(str(value)), value) for value in values if value is not None)
    if annotation is bool:
        return tuple(Choice(display.en, display, value) for display, value in zip(_YES_NO, (True, False), strict=True))
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return tuple(
            Choice(str(member.value), same(_name_of(member)), _json_value(annotation, member)) for member in annotation
        )
    return ()


def _name_of(member: Enum) -> str:
    return member.value if isinstance(member.value, str) else words(member.name.lower())


def _json_value(annotation: type[Enum], member: Enum) -> Any:
    return TypeAdapter(annotation).dump_python(member, mode="json")


def parse_value(adapter: TypeAdapter[Any], choices: tuple[Choice, ...], text: str) -> Any:
    """The JSON value that a text stands for: a choice by its name, a plain value as written, a structure as JSON.

    A list may be written with commas. Raises ValueError (pydantic's ValidationError is one) for anything else.
    """
    text = text.strip()
    said = text.casefold()
    for choice in choices:
        if said in (choice.identity.casefold(), choice.display.en.casefold(), choice.display.ru.casefold()):
            return choice.value
    try:
        return _checked(adapter, adapter.validate_strings(text))
    except ValueError:
        if not _is_structure(adapter.json_schema()):
            raise
    try:
        value = json.loads(text)
    except ValueError:
        value = [part.strip() for part in text.split(",")]
    return _checked(adapter, adapter.validate_python(value))


def _checked(adapter: TypeAdapter[Any], value: Any) -> Any:
    """The JSON form of a value, which is what the function's arguments are made of again. Raises ValueError."""
    found = adapter.dump_python(value, mode="json")
    adapter.validate_python(found)
    return found


def _is_structure(schema: Mapping[str, Any]) -> bool:
    return any(part.get("type") in ("array", "object") or "$ref" in part for part in _members(schema))


def takes_text(schema: Mapping[str, Any]) -> bool:
    """Whether any words can be a value: a string without a format of its own, or anything."""
    return any(
        part.get("type", "string") == "string" and not part.keys() & {"format", "$ref"} for part in _members(schema)
    )


def _members(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The schemas of which a value has to fit one, without null."""
    found = schema.get("anyOf") or schema.get("oneOf") or [schema]
    return [part for part in found if part.get("type") != "null"]


_FORMS: Mapping[str, Text] = {
    "integer": Text("a whole number", "целое число"),
    "number": Text("a number, for example 2.5", "число, например 2.5"),
    "boolean": Text("yes or no", "да или нет"),
    "array": Text("a list with commas between its parts, or JSON", "список через запятую или JSON"),
    "object": Text("a JSON object", "объект JSON"),
    "date": Text("a date, for example 2030-01-31", "дата, например 2030-01-31"),
    "date-time": Text(
        "a date and time, for example 2030-01-31T09:30:00Z", "дата и время, например 2030-01-31T09:30:00Z"
    ),
    "time": Text("a time, for example 09:30", "время, например 09:30"),
    "duration": Text("a duration, for example PT2H or 2:00:00", "длительность, например PT2H или 2:00:00"),
    "uuid": Text("a UUID", "UUID"),
}
_BOUNDS: Mapping[str, Text] = {
    "minimum": Text("at least {}", "не меньше {}"),
    "exclusiveMinimum": Text("more than {}", "больше {}"),
    "maximum": Text("at most {}", "не больше {}"),
    "exclusiveMaximum": Text("less than {}", "меньше {}"),
    "minLength": Text("at least {} characters", "не короче {} знаков"),
    "maxLength": Text("at most {} characters", "не длиннее {} знаков"),
    "pattern": Text("of the form {}", "по образцу {}"),
}


def form_of(schema: Mapping[str, Any], choices: tuple[Choice, ...] = ()) -> Text | None:
    """How a value is written, in words, with its limits; None where any text will do."""
    if choices and choices[0].display != _YES_NO[0]:
        return _one_of([choice.display for choice in choices])
    return _form(schema, schema.get("$defs", {}), depth=1)


def _one_of(values: Sequence[Text]) -> Text:
    en, ru = ", ".join(value.en for value in values), ", ".join(value.ru for value in values)
    return Text(f"one of {en}", f"одно из значений {ru}")


def _form(schema: Mapping[str, Any], definitions: Mapping[str, Any], depth: int) -> Text | None:
    """`depth`: of how many levels of structures the forms of the members are told."""
    members = _members(schema)
    if len(members) != 1:
        return None
    (only,) = members
    if "$ref" in only:
        only = definitions.get(only["$ref"].rpartition("/")[2], only)
    if only.get("enum"):
        return _one_of([same(str(value)) for value in only["enum"]])
    form = _FORMS.get(only.get("format", "")) or _FORMS.get(only.get("type", ""))
    if form is not None and only.get("properties"):
        form = _with_members(form, only, definitions, depth)
    parts = [] if form is None else [form]
    for keyword, bound in _BOUNDS.items():
        if keyword in only and not (keyword == "minLength" and only[keyword] == 1):
            limit = str(only[keyword])
            parts.append(Text(bound.en.format(limit), bound.ru.format(limit)))
    if not parts:
        return None
    return Text(", ".join(part.en for part in parts), ", ".join(part.ru for part in parts))


def _with_members(form: Text, schema: Mapping[str, Any], definitions: Mapping[str, Any], depth: int) -> Text:
    """The form of a structure, with the names of its members and their forms."""
    told: dict[bool, list[Text]] = {True: [], False: []}
    for name, member in schema["properties"].items():
        inner = _form(member, definitions, depth - 1) if depth else None
        named = same(name) if inner is None else Text(f"{name} ({inner.en})", f"{name} ({inner.ru})")
        told[name in schema.get("required", ())].append(named)
    needed, others = told[True], told[False]
    en, ru = form.en, form.ru
    if needed:
        en += f" with {', '.join(each.en for each in needed)}"
        ru += f" с полями {', '.join(each.ru for each in needed)}"
    if others:
        en += f"{' and' if needed else ' with'} optionally {', '.join(each.en for each in others)}"
        ru += f"{' и' if needed else ' с'} необязательными {', '.join(each.ru for each in others)}"
    return Text(en, ru)


def question_about(label: Text, form: Text | None) -> Text:
    """What is asked for a parameter without a question of its own."""
    en, ru = f"What is “{label.en}”?", f"Укажите «{label.ru}»"
    if form is None:
        return Text(en, f"{ru}.")
    return Text(f"{en} {form.en[:1].upper()}{form.en[1:]}.", f"{ru}: {form.ru}.")

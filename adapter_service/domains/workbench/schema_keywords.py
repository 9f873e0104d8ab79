"""JSON Schema's keywords as the workbench evaluates them: anybody's schema, and none may run for long (I2).

Called by schemas.py. Patterns run in a linear-time engine instead of Python's backtracking one, "uniqueItems" compares
in linear time, and an evaluation ends after a number of keywords.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, Final

from jsonschema import validators
from jsonschema.exceptions import ValidationError

from .linear_patterns import searcher

# A document of 2 MiB with a schema of a person's takes some hundred thousand; schemas that refer to each other in
# every branch take any number.
MOST_KEYWORDS: Final = 1_000_000
Keyword = Callable[[Any, Any, Any, Any], Any]


class TooCostlyError(Exception):
    """A schema evaluates more than MOST_KEYWORDS keywords for one document."""


class Evaluation:
    """What is kept while schemas are evaluated: the keywords so far, and the patterns that could not be checked."""

    def __init__(self) -> None:
        self.keywords = 0
        self.unchecked: dict[str, None] = {}
        # A pattern of "patternProperties" in any schema that was loaded, and how many "unevaluatedProperties" run now.
        self.name_pattern = ""
        self.unevaluated = 0

    @contextmanager
    def of_document(self) -> Iterator[None]:
        """Within it validators of `bounded` may run for one document; their iteration raises TooCostlyError."""
        self.keywords = 0
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)

    def taken(self, schema: Any) -> Any:
        """A schema as it may be loaded: without "$schema", which would bring the library's own keywords back."""
        if isinstance(schema, list):
            return [self.taken(each) for each in schema]
        if not isinstance(schema, dict):
            return schema
        patterns = schema.get("patternProperties")
        if isinstance(patterns, dict) and patterns:
            self.name_pattern = next(iter(patterns))
        return {
            name: self.taken(each)
            for name, each in schema.items()
            if not (name == "$schema" and isinstance(each, str))
            and not (name == "patternProperties" and self.unevaluated)
        }


_CURRENT: ContextVar[Evaluation] = ContextVar("evaluation")


@lru_cache(maxsize=16)
def bounded(kind: Any) -> Any:
    """The validator class of a draft, with these keywords in place of the library's."""
    own = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "uniqueItems": _unique_items,
        "required": _required(kind.VALIDATORS["required"]),
        "unevaluatedProperties": _unevaluated_properties(kind.VALIDATORS.get("unevaluatedProperties")),
    }
    keywords = {name: own.get(name, function) for name, function in kind.VALIDATORS.items()}
    extend: Any = validators.extend  # without annotations in the library
    return extend(kind, {name: _counted(function) for name, function in keywords.items()})


def _counted(function: Keyword) -> Keyword:
    def counted(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        current = _CURRENT.get()
        current.keywords += 1
        if current.keywords > MOST_KEYWORDS:
            raise TooCostlyError
        return function(validator, value, instance, schema)

    return counted


def matches(pattern: str, text: str) -> bool:
    """Whether the pattern is anywhere in the text; True where it cannot be told, which is noted as unchecked."""
    found = searcher(pattern)
    if found is None:
        _CURRENT.get().unchecked[pattern] = None
        return True
    return found(text)


def _pattern(validator: Any, pattern: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not matches(pattern, instance):
        yield ValidationError(pattern)


def _pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    for pattern, subschema in patterns.items() if isinstance(instance, dict) else ():
        if searcher(pattern) is None:
            _CURRENT.get().unchecked[pattern] = None
            continue
        for name, value in instance.items():
            if matches(pattern, name):
                yield from validator.descend(value, subschema, path=name, schema_path=pattern)


def extra_names(instance: Mapping[str, Any], schema: Mapping[str, Any]) -> list[str]:
    """The names in an object that neither "properties" nor "patternProperties" of its schema have."""
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    return [name for name in instance if name not in known and not any(matches(each, name) for each in patterns)]


def _additional_properties(validator: Any, allowed: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    extra = extra_names(instance, schema)
    if isinstance(allowed, dict):
        for name in extra:
            yield from validator.descend(instance[name], allowed, path=name)
    elif not allowed and extra:
        error = ValidationError("additional properties")
        error.cause = ExtraFieldsError(extra)
        yield error


class ExtraFieldsError(Exception):
    """The cause of an error of "additionalProperties": `names` are the fields too many."""

    def __init__(self, names: list[str]) -> None:
        super().__init__("extra fields")
        self.names = names


class MissingFieldError(Exception):
    """The cause of an error of "required": `name` is the field that is not there."""

    def __init__(self, name: str) -> None:
        super().__init__("missing field")
        self.name = name


def _required(library: Keyword) -> Keyword:
    def required(validator: Any, wanted: Any, instance: Any, schema: Any) -> Any:
        # Draft 3 has a boolean here.
        return _missing(wanted, instance) if isinstance(wanted, list) else library(validator, wanted, instance, schema)

    return required


def _missing(wanted: list[str], instance: Any) -> Iterator[ValidationError]:
    for name in wanted if isinstance(instance, dict) else ():
        if name not in instance:
            error = ValidationError("required")
            error.cause = MissingFieldError(name)
            yield error


def _unevaluated_properties(library: Keyword | None) -> Keyword | None:
    if library is None:
        return None

    def unevaluated(validator: Any, allowed: Any, instance: Any, schema: Any) -> Any:
        # The library itself runs the patterns of every schema that this one leads to, in Python's engine.
        current = _CURRENT.get()
        errors: list[ValidationError] = []
        if not current.name_pattern:
            current.unevaluated += 1
            try:
                errors = list(library(validator, allowed, instance, schema))
            finally:
                current.unevaluated -= 1
        if current.name_pattern:
            current.unchecked[current.name_pattern] = None
            return ()
        return errors

    return unevaluated


def _unique_items(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if wanted and isinstance(instance, list) and len({_canonical(each) for each in instance}) < len(instance):
        yield ValidationError("unique items")


def _canonical(value: Any) -> str:
    """Equal for what JSON Schema takes as equal: 1 and 1.0 are, 1 and true are not."""
    return json.dumps(_plain_numbers(value), sort_keys=True)


def _plain_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain_numbers(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain_numbers(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value

"""JSON Schema validation of documents, against the workspace's own schema files and nothing else.

Called by validate.py. References lead to files of the workspace and to the published meta-schemas that come with the
library; the network is never used.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from typing import Any, Final, cast
from urllib.parse import quote, unquote

import jsonschema
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.validators import validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012, SchemaRegistry, SchemaResource, specification_with

from .errors import quoted, some_of
from .findings import Finding, at, finding
from .pointers import scalar_text, to_pointer
from .records import DocumentRow
from .schema_keywords import Evaluation, ExtraFieldsError, MissingFieldError, TooCostlyError, bounded
from .view import View

# A made-up place that relative references are resolved against; nothing is ever read from there.
_ROOT: Final = "file:///workspace/"
_MOST_PER_DOCUMENT: Final = 20
_RFC3339: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
_TIME: Final = re.compile(r"([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]\d\d:\d\d)?")
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]*")
_HOST: Final = re.compile(
    r"(?=.{1,253}\Z)[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*"
)


def _is_date_time(value: str) -> bool:
    if not _RFC3339.fullmatch(value):
        return False
    try:
        datetime.fromisoformat(value.upper().replace(" ", "T"))
    except ValueError:
        return False
    return True


def _is_date(value: str) -> bool:
    try:
        return date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


# What jsonschema checks by itself only with further libraries.
_OWN_FORMATS: Final[dict[str, Callable[[str], bool]]] = {
    "date-time": _is_date_time,
    "date": _is_date,
    "time": lambda value: _TIME.fullmatch(value) is not None,
    "uri": lambda value: _URI.fullmatch(value) is not None,
    "hostname": lambda value: _HOST.fullmatch(value) is not None,
}


def _format_checker() -> jsonschema.FormatChecker:
    checker = jsonschema.FormatChecker()
    for name, check in _OWN_FORMATS.items():
        checker.checks(name)(_for_texts(check))
    return checker


def _for_texts(check: Callable[[str], bool]) -> Callable[[object], bool]:
    return lambda value: not isinstance(value, str) or check(value)


_CHECKER: Final = _format_checker()


class SchemaSet:
    """The validators of one state's schemas, each made once."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._validators: dict[str, Any] = {}
        self._registry: SchemaRegistry = Registry(retrieve=self._retrieve)  # type: ignore[call-arg]
        self._told: set[str] = set()
        self._evaluation = Evaluation()

    def findings(self, row: DocumentRow, content: Any) -> list[Finding]:
        """What a document's schema says of its content; nothing where it has none."""
        document = row.document
        if document.type == "json-schema":
            return self._of_schema(document.path, content)
        path = self._view.schemas.path_of(row)
        if not path:
            return []
        if path not in self._validators:
            self._validators[path] = self._validator(path)
        validator = self._validators[path]
        if isinstance(validator, dict):
            # A bad schema is told once, not for each of its documents.
            first = path not in self._told
            self._told.add(path)
            return [validator] if first else []  # type: ignore[list-item]
        found: list[Finding] = []
        try:
            with self._evaluation.of_document():
                for error in validator.iter_errors(content):
                    found.append(_told(document.path, path, error))
                    if len(found) == _MOST_PER_DOCUMENT:
                        break
        except Unresolvable as error:
            found.append(_unresolved(document.path, path, str(getattr(error, "ref", ""))))
        except (TooCostlyError, RecursionError):
            # Also the other documents of this schema would take that long.
            self._validators[path] = _too_costly(path)
            self._told.add(path)
            found.append(self._validators[path])
        return [*found, *self._unchecked(path)]

    def _unchecked(self, path: str) -> list[Finding]:
        patterns = list(self._evaluation.unchecked)
        self._evaluation.unchecked.clear()
        if not patterns or f"{path}#patterns" in self._told:
            return []
        self._told.add(f"{path}#patterns")
        return [_pattern_unchecked(path, patterns[0])]

    def _validator(self, path: str) -> Any:
        schema = self._view.schemas.content(path)
        if not isinstance(schema, dict | bool):
            return finding(
                "error",
                path,
                "schema_missing",
                f"The schema file {quoted(path)} is not in the workspace or could not be read.",
                f"Файла схемы {quoted(path)} в рабочей области нет, или его не удалось прочитать.",
            )
        kind = validator_for(schema, default=jsonschema.Draft202012Validator)
        try:
            kind.check_schema(cast("dict[str, Any]", schema))
        except SchemaError as error:
            return _bad_schema(path, to_pointer(list(error.absolute_path)))
        except RecursionError:
            return _too_costly(path)
        resource = self._resource(schema)
        registry = self._registry.with_resource(_ROOT + quote(path), resource)
        # A schema without "$id" gets its place in the workspace, so that relative references find their files.
        reference: Any = {"$ref": _ROOT + quote(path)}
        if isinstance(schema, dict) and "$id" in schema:
            registry = registry.with_resource(str(schema["$id"]), resource)
            reference = resource.contents
        return bounded(kind)(reference, registry=registry, format_checker=_CHECKER)

    def _resource(self, schema: Any) -> SchemaResource:
        """A schema to refer to. The draft of the schema that a document follows counts for those it refers to, too."""
        named = schema.get("$schema") if isinstance(schema, dict) else None
        specification = specification_with(named, default=DRAFT202012) if isinstance(named, str) else DRAFT202012
        return specification.create_resource(self._evaluation.taken(schema))

    def _retrieve(self, uri: str) -> SchemaResource:
        path = (
            unquote(uri.removeprefix(_ROOT))
            if uri.startswith(_ROOT)
            else self._view.schemas.by_id.get(uri.rstrip("#"), "")
        )
        if not path:
            # A relative reference below an "$id" of the web: the file of that name beside the schema that has the id.
            path = self._beside(uri)
        content = self._view.schemas.content(path) if path else None
        if not isinstance(content, dict | bool):
            # The registry turns this into its own error, which names the reference.
            raise KeyError(uri)
        return self._resource(content)

    def _beside(self, uri: str) -> str:
        for identity, path in self._view.schemas.by_id.items():
            base, _, _ = identity.rpartition("/")
            if base and uri.startswith(base + "/"):
                folder = path.rpartition("/")[0]
                candidate = f"{folder}/{uri[len(base) + 1 :]}" if folder else uri[len(base) + 1 :]
                if candidate in self._view.files:
                    return candidate
        return ""

    def _of_schema(self, path: str, content: Any) -> list[Finding]:
        try:
            validator_for(content, default=jsonschema.Draft202012Validator).check_schema(content)
        except SchemaError as error:
            return [_bad_schema(path, to_pointer(list(error.absolute_path)))]
        except (RecursionError, re.error, Unresolvable):
            return [_bad_schema(path, "")]
        return []


def _bad_schema(path: str, pointer: str) -> Finding:
    return finding(
        "error",
        at(path, pointer),
        "schema_invalid",
        "The file is no valid JSON Schema at this place; documents of its type are not checked.",
        "В этом месте файл не является верной схемой JSON Schema; документы этого типа не проверяются.",
    )


def _too_costly(path: str) -> Finding:
    return finding(
        "error",
        path,
        "schema_too_costly",
        "The schema refers to itself so often that checking a document with it does not end; documents of its type "
        "are not checked.",
        "Схема столько раз ссылается на саму себя, что проверка документа по ней не заканчивается; документы этого "
        "типа не проверяются.",
    )


def _pattern_unchecked(path: str, pattern: str) -> Finding:
    return finding(
        "warning",
        path,
        "schema_unchecked",
        f"The pattern {quoted(pattern)} of the schema is not checked: look-around, back references, very large "
        "repetitions, and patterns of names beside unevaluatedProperties are not supported.",
        f"Шаблон {quoted(pattern)} из схемы не проверяется: не поддерживаются опережающие и ретроспективные "
        "проверки, обратные ссылки, очень большие повторения и шаблоны имён рядом с unevaluatedProperties.",
    )


def _unresolved(path: str, schema_path: str, reference: str) -> Finding:
    return finding(
        "error",
        path,
        "schema_unresolved",
        f"The schema {schema_path} refers to {quoted(reference)}, which is not in the workspace; nothing is fetched.",
        f"Схема {schema_path} ссылается на {quoted(reference)}, чего в рабочей области нет; из сети ничего не берётся.",
    )


def _told(path: str, schema_path: str, error: ValidationError) -> Finding:
    steps = list(error.absolute_path)
    en, ru = _explained(error)
    told = finding(
        "error",
        at(path, to_pointer(steps)),
        "schema_violation",
        f"{en} (schema {schema_path}).",
        f"{ru} (схема {schema_path}).",
    )
    if isinstance(error.cause, MissingFieldError):
        told["missing"] = to_pointer([*steps, error.cause.name])
    if isinstance(error.cause, ExtraFieldsError):
        told["extra"] = [to_pointer([*steps, name]) for name in error.cause.names]
    return told


def _value(value: Any) -> str:
    if isinstance(value, dict | list):
        return ("an object", "a list")[isinstance(value, list)]
    return quoted(scalar_text(value))


def _explained(error: ValidationError) -> tuple[str, str]:
    """A violation in words: what is there, and what is accepted."""
    rule, got = str(error.validator), _value(error.instance)
    wanted: Any = error.validator_value
    if isinstance(error.cause, MissingFieldError):
        return f"The field {quoted(error.cause.name)} is missing", f"Нет поля {quoted(error.cause.name)}"
    if isinstance(error.cause, ExtraFieldsError):
        schema: Any = error.schema
        extra = some_of(error.cause.names)
        names = some_of([*schema.get("properties", {}), *schema.get("patternProperties", {})])
        return (
            f"The field {extra} is not accepted; accepted are: {names}",
            f"Поле {extra} не принимается; принимаются: {names}",
        )
    if rule == "enum":
        names = some_of([scalar_text(each) for each in wanted])
        return f"Accepted is one of {names}, got {got}", f"Принимается одно из: {names}; получено {got}"
    if rule == "type":
        names = ", ".join(wanted) if isinstance(wanted, list) else str(wanted)
        return f"Accepted is the type {names}, got {got}", f"Принимается тип {names}, получено {got}"
    if rule in _BOUNDS:
        en, ru = _BOUNDS[rule]
        return f"Accepted is {en} {wanted}, got {got}", f"Принимается {ru} {wanted}, получено {got}"
    if rule == "const":
        return (
            f"Accepted is {quoted(scalar_text(wanted))}, got {got}",
            f"Принимается {quoted(scalar_text(wanted))}, получено {got}",
        )
    if rule == "pattern":
        return f"Accepted is a text of the form {wanted}, got {got}", f"Принимается текст вида {wanted}, получено {got}"
    if rule == "format":
        return (
            f"Accepted is a text of the format {wanted}, got {got}",
            f"Принимается текст формата {wanted}, получено {got}",
        )
    if rule == "uniqueItems":
        return "The list has the same item twice", "В списке есть одинаковые элементы"
    return f"The value {got} breaks the schema's rule {rule}", f"Значение {got} нарушает правило схемы {rule}"


_BOUNDS: Final = {
    "minimum": ("at least", "не меньше"),
    "maximum": ("at most", "не больше"),
    "exclusiveMinimum": ("more than", "больше"),
    "exclusiveMaximum": ("less than", "меньше"),
    "minLength": ("a length of at least", "длина не меньше"),
    "maxLength": ("a length of at most", "длина не больше"),
    "minItems": ("a number of items of at least", "число элементов не меньше"),
    "maxItems": ("a number of items of at most", "число элементов не больше"),
    "multipleOf": ("a multiple of", "кратное"),
}

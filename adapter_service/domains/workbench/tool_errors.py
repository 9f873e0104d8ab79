"""Translates the workbench functions' errors into ToolError, so that the functions themselves know nothing of Handrail.

Called by the tool declarations as a decorator, and by resolvers for the texts.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

from adapter_service.domains.workbench.errors import WorkbenchError
from adapter_service.sdk import Text, ToolError

P = ParamSpec("P")
R = TypeVar("R")

_NOT_FOUND: Final = frozenset({"document_unknown", "section_unknown", "type_unknown"})
# Which parameter of a tool a function's error is about, by its code: the one that is asked for again.
_SLOTS: Final = {
    "path_unknown": "field",
    "path_invalid": "field",
    "operation_invalid": "field",
    "value_invalid": "value",
    "where_invalid": "where",
    "limit_invalid": "limit",
    "type_unknown": "document_type",
    "document_exists": "identity",
    "section_unknown": "page",
}
_DOCUMENT_SLOTS: Final = ("document", "first", "second")


def with_tool_errors(function: Callable[P, R]) -> Callable[P, R]:
    """The same function, raising ToolError: entity_not_found or tool_input_invalid, correctable where a slot is
    known.
    """

    parameters = frozenset(inspect.signature(function).parameters)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except WorkbenchError as error:
            raise tool_error(error, parameters) from error

    return call


def tool_error(error: WorkbenchError, parameters: frozenset[str]) -> ToolError:
    """The error as the engine understands it; `parameters` are the tool's."""
    slot = _SLOTS.get(error.code, "")
    if error.code == "document_unknown":
        slot = next((name for name in _DOCUMENT_SLOTS if name in parameters), "")
    known = slot if slot in parameters else ""
    code = "entity_not_found" if error.code in _NOT_FOUND else "tool_input_invalid"
    return ToolError(code, Text(error.en, error.ru), source_code=error.code, correctable=bool(known), slot=known)

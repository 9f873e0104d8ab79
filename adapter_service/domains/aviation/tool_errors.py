"""Translates the aviation functions' errors into ToolError, so that the functions themselves know nothing of Handrail.

Called by the tool declarations as a decorator. No exception text reaches a client: the texts are made here.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

from adapter_service.domains.aviation.errors import EntityNotFound, FilingConflict, InputInvalid, NothingStated, quoted
from adapter_service.domains.aviation.questions import PLAN_FIELDS, SEARCH_SLOTS, accepted_ru, field_name
from adapter_service.sdk import Text, ToolError

P = ParamSpec("P")
R = TypeVar("R")
_LOGGER: Final = logging.getLogger(__name__)


def with_tool_errors(function: Callable[P, R]) -> Callable[P, R]:
    """The same function, raising ToolError: entity_not_found, tool_input_invalid (correctable) or tool_failed."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except EntityNotFound as error:
            raise _not_found(error) from error
        except InputInvalid as error:
            raise _invalid(error) from error
        except FilingConflict as error:
            raise ToolError("tool_failed", _CONFLICT, source_code=error.code) from error
        except OSError as error:
            _LOGGER.warning("outbox is not usable", extra={"errno": error.errno})
            raise ToolError(
                "tool_failed", _OUTBOX, helpful_action=_OUTBOX_HELP, source_code="outbox_unusable", retryable=True
            ) from error

    return call


_CONFLICT: Final = Text(
    "Another content is already recorded under this key, so nothing was written.",
    "Под этим ключом уже записано другое содержание, поэтому ничего не записано.",
)
_OUTBOX: Final = Text("The outbox folder cannot be written.", "Папка исходящих недоступна для записи.")
_OUTBOX_HELP: Final = Text(
    "Make the folder of HANDRAIL_AVIATION_OUTBOX writable and try again.",
    "Сделайте папку из HANDRAIL_AVIATION_OUTBOX доступной для записи и повторите.",
)


def _not_found(error: EntityNotFound) -> ToolError:
    return ToolError(
        error.code,
        Text(
            f"{quoted(error.text)} is not in the airport catalogue.",
            f"«{quoted(error.text).strip('“”')}» нет в каталоге аэропортов.",
        ),
        helpful_action=Text(
            "Name a city, an airport, or an IATA or ICAO code.", "Назовите город, аэропорт или код ИАТА или ИКАО."
        ),
        source_code=error.code,
        correctable=True,
        slot=error.field,
    )


def _invalid(error: InputInvalid) -> ToolError:
    field = error.field
    slot = SEARCH_SLOTS.get(field)
    name = field_name(field) if field in PLAN_FIELDS else (slot and slot.label) or Text(field, field)
    accepted = error.accepted_ru or (accepted_ru(field) if field in PLAN_FIELDS else error.accepted)
    told = Text(f"{_capital(name.en)}: accepted is {error.accepted}.", f"{_capital(name.ru)}: принимается {accepted}.")
    if isinstance(error, NothingStated):
        told = Text(f"{error.accepted}.", f"{error.accepted_ru}.")
    return ToolError(
        error.code,
        told,
        source_code=error.code,
        correctable=True,
        slot="" if field.startswith("flight_plan") else field,
    )


def _capital(label: str) -> str:
    return label[:1].upper() + label[1:]

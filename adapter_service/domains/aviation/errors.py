"""Errors of the aviation functions: what was wrong, in which parameter, and what would be accepted.

Raised by every module of this folder; the domain wiring translates `code` into a Failure's code. The texts are made
for people, so they carry no exception text of a library.
"""

from __future__ import annotations

from typing import ClassVar

# A person's own words are quoted back in messages; a longer quote would only hide what the message says.
QUOTE_LIMIT = 80


def quoted(text: object) -> str:
    """`text` in typographic quotes, on one line and at most QUOTE_LIMIT characters."""
    flat = " ".join(str(text).split())
    return f"“{flat if len(flat) <= QUOTE_LIMIT else flat[: QUOTE_LIMIT - 1] + '…'}”"


class AviationError(ValueError):
    """Base of the domain's errors: `field` is the name of the parameter at fault, `code` a stable machine code."""

    code: ClassVar[str] = "tool_failed"

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class InputInvalid(AviationError):
    """A parameter's value has the wrong form; `accepted` names the form that would do.

    `accepted_ru` says so in Russian where the form is not the parameter's usual one.
    """

    code = "tool_input_invalid"

    def __init__(self, field: str, accepted: str, value: object = None, accepted_ru: str = "") -> None:
        given = "" if value is None else f", got {quoted(value)}"
        super().__init__(field, f"{field}: accepted is {accepted}{given}")
        self.accepted = accepted
        self.accepted_ru = accepted_ru


class NothingStated(InputInvalid):
    """An amount for a field without a value; `accepted` and `accepted_ru` are whole sentences that say so."""

    def __init__(self, field: str, told: str, told_ru: str) -> None:
        super().__init__(field, told, accepted_ru=told_ru)


class EntityNotFound(AviationError):
    """Nothing in the catalogue answers to `text`."""

    code = "entity_not_found"

    def __init__(self, field: str, text: str) -> None:
        super().__init__(field, f"{field}: {quoted(text)} is not in the airport catalogue")
        self.text = text


class FilingConflict(AviationError):
    """The idempotency key already belongs to a filing of another content, or its record is unreadable."""

    code = "filing_key_conflict"

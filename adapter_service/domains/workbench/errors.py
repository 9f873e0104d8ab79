"""Errors of the workbench's functions: what was wrong, in which parameter, what is there and what would be accepted.

Raised by every module of this folder; the domain's wiring turns `code` into a Failure's code. The texts are made for
people and carry no exception text of a library.
"""

from __future__ import annotations

# A person's own words are quoted back in messages; a longer quote would only hide what the message says.
QUOTE_LIMIT = 80
_NAMES_SHOWN = 12


def quoted(text: object) -> str:
    """`text` in typographic quotes, on one line and at most QUOTE_LIMIT characters."""
    flat = " ".join(str(text).split())
    return f"“{flat if len(flat) <= QUOTE_LIMIT else flat[: QUOTE_LIMIT - 1] + '…'}”"


def some_of(names: list[str]) -> str:
    """The first names of a list, and how many more there are: "replicas, image and 3 more"."""
    shown = ", ".join(
        name if len(name) <= QUOTE_LIMIT else name[: QUOTE_LIMIT - 1] + "…" for name in names[:_NAMES_SHOWN]
    )
    return shown if len(names) <= _NAMES_SHOWN else f"{shown} … ({len(names)})"


class WorkbenchError(ValueError):
    """`code` is stable and for machines, `field` the parameter at fault, `en` and `ru` sentences for a person."""

    def __init__(self, code: str, field: str, en: str, ru: str) -> None:
        super().__init__(en)
        self.code = code
        self.field = field
        self.en = en
        self.ru = ru

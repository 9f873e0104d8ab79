"""One clause of a message, cleaned of what carries no meaning; what every form of reading returns. Called by
reading*.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from adapter_service.domains.workbench.planner import words
from adapter_service.domains.workbench.planner.commands import Command
from adapter_service.domains.workbench.planner.lookup import Lookup

# Commands of a clause, None where a form does not fit it.
Read = list[Command] | None
ANY_CASE: Final = re.IGNORECASE


@dataclass(frozen=True, slots=True)
class Clause:
    """`text` without lead-ins and closing marks; `asks` where it is a question."""

    text: str
    asks: bool
    lookup: Lookup


def clause_of(text: str, lookup: Lookup) -> Clause:
    """A clause without what carries no meaning."""
    asks = text.rstrip(" .!").endswith("?")
    plain = words.TRAILER.sub("", words.LEAD_IN.sub("", text.strip()).rstrip(" ?.!")).rstrip(" .!;,")
    plain = words.LEAD_IN.sub("", plain) or text.strip(" ?.!,")
    return Clause(plain, asks or words.QUESTION_WORD.match(plain) is not None, lookup)


def full(pattern: str) -> Callable[[str], re.Match[str] | None]:
    """A pattern for a whole text, whatever its case."""
    compiled = re.compile(pattern, ANY_CASE)
    return lambda text: compiled.fullmatch(text)

"""Regular expressions of other people's files, in an engine whose time is linear in the text (Rust's regex crate).

Called by schema_keywords.py and globs.py: Python's own engine backtracks, holds the interpreter while it does, and a
pattern such as "(a+)+$" would stop the service.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from pydantic_core import SchemaError, SchemaValidator, ValidationError, core_schema

# An escape, the beginning of a class of characters, or any other character.
_PART: Final = re.compile(r"\\.|\[\^?\]?|.", re.DOTALL)


def _translated(pattern: str) -> str:
    """In this engine classes nest and have operators (&&, ~~), and the end of the text is \\z."""
    parts: list[str] = []
    within = False
    for part in _PART.findall(pattern):
        if within and part[0] in "[&~":
            part = part.replace("[", r"\[").replace("&", r"\&").replace("~", r"\~")
            within = not part.endswith("]")
        elif part == r"\Z":
            part = r"\z"
        elif part[0] == "[":
            within = True
        elif part == "]":
            within = False
        parts.append(part)
    return "".join(parts)


@lru_cache(maxsize=1024)
def searcher(pattern: str) -> Callable[[str], bool] | None:
    """Whether the pattern is anywhere in a text; None for what the engine has not: look-around, back references, huge
    repetitions.
    """
    try:
        schema = core_schema.str_schema(pattern=_translated(pattern), regex_engine="rust-regex", strict=True)
        validate = SchemaValidator(schema).validate_python
    except SchemaError:
        return None

    def found(text: str) -> bool:
        try:
            validate(text)
        except ValidationError:
            return False
        return True

    return found

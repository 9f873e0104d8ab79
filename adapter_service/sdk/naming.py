"""Readable texts for what an author gave no text: from the names of tools, kinds and parameters. Called by the sdk."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from adapter_service.sdk.text import Text

NAME_FORM = "lower_snake with at most 63 characters, for example lend_book"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


def is_name(name: object) -> bool:
    """Whether it has NAME_FORM."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def words(name: str) -> str:
    """ "lend_book" as "lend book"."""
    return " ".join(part for part in name.split("_") if part)


def sentence(name: str) -> str:
    """ "lend_book" as "Lend book"."""
    spoken = words(name)
    return spoken[:1].upper() + spoken[1:]


def same(text: str) -> Text:
    """A text that is the same in both languages."""
    return Text(text, text)


def as_text(text: Text | str) -> Text:
    """A declaration's text, which may be one string for both languages."""
    return same(text) if isinstance(text, str) else text


def meant(name: str, known: Iterable[str]) -> str:
    """What to say behind an unknown name: the closest known one, or all of them."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f"did you mean {close[0]}?"
    return f"there are: {', '.join(names)}" if names else "there are none"

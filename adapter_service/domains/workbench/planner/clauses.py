"""Splits a message into commands: "show checkout and set its replicas to 3, then publish it". Called by reading.

A part begins a command of its own only where its first word is a command's verb.
"""

from __future__ import annotations

import re
from typing import Final

from adapter_service.domains.workbench.planner.words import (
    ABOUT_DOCUMENTATION,
    LEAD_IN,
    PUBLISH,
    QUESTION_WORD,
    UNDO,
    UNSUPPORTED,
    VALIDATE,
    VERB,
)

_FILLER: Final = r"(?:please |also |then |now |just |пожалуйста |также |потом |затем |теперь |ещё |еще )*"
_QUESTION: Final = r"(?:what|how|why|which|who|where|что|как|почему|какие|какой|кто|где|чем)(?!\w)"
_STRONG: Final = (
    r"\s*(?:;|\n|[.!?](?=\s)|,?\s+(?:and then|then|and after that|after that|а затем|а потом|и затем|и потом|"
    r"затем|потом|"
    r"после этого))\s*"
)
_WEAK: Final = r"\s*(?:,\s*(?:and|и|а также)?|\s(?:and also|and|и также|и|а также))\s+"
_ALONE: Final = rf"(?:{PUBLISH}|{VALIDATE}|{UNDO})(?!\w)"
# "diff billing and search" names two documents: most verbs need something to act on.
_COMMAND: Final = rf"(?:(?:{VERB})(?!\w)(?=\s+\S)|{UNSUPPORTED.pattern}(?=\s+\S)|{_ALONE})"
_SPLIT_STRONG: Final = re.compile(rf"{_STRONG}(?={_FILLER}(?:{_COMMAND}|{_QUESTION}))", re.IGNORECASE)
_SPLIT: Final = re.compile(
    rf"(?:{_STRONG}(?={_FILLER}(?:{_COMMAND}|{_QUESTION}))|{_WEAK}(?={_FILLER}{_COMMAND}))", re.IGNORECASE
)
_PLACE_FIRST: Final = re.compile(r"(?:in|for|on|within|at|в|во|для|у)\s+\S+(?:\s+\S+){0,3}", re.IGNORECASE)
_SENTENCES: Final = re.compile(r"(?:[.!?]+\s+|\n+)")


def split_clauses(text: str) -> list[str]:
    """The commands of a message in order. A question keeps its "and": it asks one thing."""
    parts: list[str] = []
    rest = text
    while rest:
        opening = LEAD_IN.sub("", rest)
        asks = QUESTION_WORD.match(opening) or ABOUT_DOCUMENTATION.match(opening)
        found = (_SPLIT_STRONG if asks else _SPLIT).search(rest)
        if found is None or not rest[: found.start()].strip():
            if found is None:
                parts.append(rest)
                break
            rest = rest[found.end() :]
            continue
        begun = rest[: found.start()].strip()
        if _PLACE_FIRST.fullmatch(LEAD_IN.sub("", begun)):  # "in checkout, set replicas to 3" is one command
            later = _SPLIT.search(rest, found.end())
            end = later.start() if later else len(rest)
            parts.append(rest[:end])
            rest = rest[later.end() :] if later else ""
            continue
        mark = "?" if rest[found.start() :].lstrip().startswith("?") else ""
        parts.append(begun + mark)
        rest = rest[found.end() :]
    return [part.strip() for part in parts if part.strip(" .,;!?")]

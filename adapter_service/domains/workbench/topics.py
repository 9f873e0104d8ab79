"""What a conversation has just been about: the documents of the newest answer, and how its list goes on.

Tools report a topic among their referents; the resolvers read "it" and "the second" from it, the planner "show more".
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from adapter_service.sdk import Memory, Referent

DOCUMENT: Final = "document"
TOPIC: Final = "topic"
# One identity for all topics, so that memory keeps the newest only (requirement H2).
_LAST: Final = "last"
MOST_KEYS: Final = 20
# A topic is a reference, not a copy of what was shown: longer arguments are not carried over.
_MOST_ARGUMENT_CHARACTERS: Final = 600


@dataclass(frozen=True, slots=True)
class Topic:
    """`keys` of the documents in the order shown; `tool` and `arguments` of the page that follows, "" without one."""

    keys: tuple[str, ...] = ()
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)


def topic_referents(
    keys: Sequence[str], tool: str = "", arguments: Mapping[str, Any] | None = None
) -> tuple[Referent, ...]:
    """The topic itself and the documents that it names, newest first."""
    shown = list(dict.fromkeys(keys))[:MOST_KEYS]
    page = json.dumps(arguments or {}, ensure_ascii=False, sort_keys=True)
    following = [tool, arguments or {}] if tool and len(page) <= _MOST_ARGUMENT_CHARACTERS else ["", {}]
    body = json.dumps([shown, *following], ensure_ascii=False)
    documents = (Referent(DOCUMENT, key, key) for key in shown[:5])
    return (Referent(TOPIC, _LAST, body), *documents)


def last_topic(memory: Memory) -> Topic:
    """The newest answer's topic; an empty one where memory has none."""
    for referent in memory.referents:
        if referent.kind == TOPIC:
            keys, tool, arguments = json.loads(referent.display_name)
            return Topic(tuple(keys), tool, arguments)
    return Topic()

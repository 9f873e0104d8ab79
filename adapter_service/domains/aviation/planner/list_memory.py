"""The list that was shown last, so that a later message can go on with it ("show more") or order it anew.

The search reports it among its referents as a query string, bounded; the planner reads it back here (H2).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from adapter_service.sdk import Memory, Referent

AIRPORT_LIST: Final = "airport_list"
# One identity for all lists, so that memory keeps the newest only.
_LAST: Final = "last"
# A longer query is not kept: to go on with it, it has to be said again.
_MOST_CHARACTERS: Final = 600


@dataclass(frozen=True, slots=True)
class ShownList:
    """A page of airports: what was asked (the search's `query`), and where in the list the page stood."""

    query: Mapping[str, Any]
    limit: int
    offset: int
    total: int

    @property
    def next_offset(self) -> int:
        """Where the next page begins."""
        return min(self.offset + self.limit, self.total)


def list_referent(query: Mapping[str, Any], limit: int, offset: int, total: int) -> tuple[Referent, ...]:
    """What a search reports of its page; nothing where it only counted."""
    page = {"query": dict(query), "limit": limit, "offset": offset, "total": total}
    text = json.dumps(page, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    if query.get("count_only") or len(text) > _MOST_CHARACTERS:
        return ()
    return (Referent(AIRPORT_LIST, _LAST, text),)


def shown_list(memory: Memory) -> ShownList | None:
    """The list that was shown last, or None where memory has none."""
    newest = next((referent for referent in memory.referents if referent.kind == AIRPORT_LIST), None)
    return None if newest is None else ShownList(**json.loads(newest.display_name))

"""Erases the content of a conversation, a bounded part at a time. What stays: the conversation's row without its title
and labels, audit rows, request ids, and the runs, which hold ids and counts only.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, Table, bindparam, delete, literal_column, select

from handrail_storage import Statement
from loop_service.domain.times import from_micros, to_micros
from loop_service.storage import tables

_C = tables.conversations
_S = tables.settlements
_MOST_INTERACTIONS = 25
_MOST_ROWS = 500

_INTERACTIONS = Statement(
    select(tables.interactions.c.interaction_id)
    .where(tables.interactions.c.conversation_id == bindparam("id"))
    .limit(_MOST_INTERACTIONS)
)


def _of_interaction(table: Table) -> Statement:
    return Statement(delete(table).where(table.c.interaction_id == bindparam("id")))


_OF_INTERACTION = (
    Statement(
        delete(tables.resolutions).where(
            tables.resolutions.c.approval_id.in_(
                select(tables.approvals.c.approval_id).where(tables.approvals.c.interaction_id == bindparam("id"))
            )
        )
    ),
    *(
        _of_interaction(table)
        for table in (
            tables.observations,
            tables.decisions,
            tables.tool_calls,
            tables.inbox,
            tables.signals,
            tables.timers,
            tables.approvals,
            tables.settlements,
            tables.interactions,
        )
    ),
)


def _of_conversation(table: Table, key: str, *order: str) -> Statement:
    """Some rows of the conversation, found by an index that begins with its id."""
    some = (
        select(table.c[key])
        .where(table.c.conversation_id == bindparam("id"))
        .order_by(*(table.c[name] for name in order))
        .limit(_MOST_ROWS)
    )
    return Statement(delete(table).where(table.c.conversation_id == bindparam("id"), table.c[key].in_(some)))


_OF_CONVERSATION = (
    _of_conversation(tables.messages, "position", "position"),
    _of_conversation(tables.clarifications, "clarification_id"),
    _of_conversation(tables.events, "sequence", "sequence"),
)
# A literal: SQLite takes a partial index only where the statement itself shows that it may.
_OPEN = _S.c.verdict == literal_column("''")
_UNSETTLED = Statement(select(_S.c.tool_call_id).where(_S.c.conversation_id == bindparam("id"), _OPEN).limit(10))
_DUE = Statement(
    select(_C.c.conversation_id)
    .where(_C.c.erase_due.is_not(None), _C.c.erase_due <= bindparam("now"))
    .order_by(_C.c.erase_due)
    .limit(bindparam("most"))
)
_NEXT = Statement(select(_C.c.erase_due).where(_C.c.erase_due.is_not(None)).order_by(_C.c.erase_due).limit(1))


class ErasureRows:
    """One transaction's view."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def unsettled_calls(self, conversation_id: str) -> tuple[str, ...]:
        return tuple(_UNSETTLED.scalars(self._connection, {"id": conversation_id}))

    def erase_some(self, conversation_id: str) -> bool:
        interactions = _INTERACTIONS.scalars(self._connection, {"id": conversation_id})
        for interaction_id in interactions:
            for statement in _OF_INTERACTION:
                statement.execute(self._connection, {"id": interaction_id})
        if interactions:
            return True
        return any(each.execute(self._connection, {"id": conversation_id}) for each in _OF_CONVERSATION)

    def due(self, now: datetime, limit: int) -> list[str]:
        return _DUE.scalars(self._connection, {"now": to_micros(now), "most": limit})

    def next_due(self) -> datetime | None:
        due = _NEXT.scalar(self._connection)
        return None if due is None else from_micros(due)

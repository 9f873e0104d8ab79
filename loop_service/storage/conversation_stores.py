"""Stores of conversations, messages and accepted requests."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, bindparam, insert, select, tuple_, update

from handrail_storage import KeyedTable, Statement
from loop_service.domain.conversation import AcceptedRequest, Conversation, Message, RequestScope
from loop_service.domain.deletion import Deletion
from loop_service.domain.times import to_micros
from loop_service.storage import rows, tables

_C = tables.conversations
_M = tables.messages
_R = tables.requests

_CONVERSATIONS = KeyedTable(_C)
SHOWN = tuple(each.value for each in Deletion if not each.hides)
"""Values of `deletion` under which a conversation is found."""
_WITH_OLD_EVENTS = Statement(
    select(_C.c.conversation_id)
    .where(_C.c.oldest_event_time.is_not(None), _C.c.oldest_event_time < bindparam("time"))
    .order_by(_C.c.oldest_event_time)
    .limit(bindparam("most"))
)
_INSERT_MESSAGE = Statement(insert(_M))
_INSERT_REQUEST = Statement(insert(_R))
_FIND_MESSAGE = Statement(select(_M).where(_M.c.message_id == bindparam("id")))
_ASSIGN_MESSAGE = Statement(
    update(_M)
    .where(_M.c.message_id == bindparam("id"))
    .values(interaction_id=bindparam("interaction"), run_id=bindparam("run"))
)
_RECENT_MESSAGES = Statement(
    select(_M).where(_M.c.conversation_id == bindparam("id")).order_by(_M.c.position.desc()).limit(bindparam("most"))
)
_FIND_REQUEST = Statement(
    select(_R).where(
        _R.c.tenant == bindparam("tenant"),
        _R.c.principal == bindparam("principal"),
        _R.c.method == bindparam("method"),
        _R.c.request_id == bindparam("request_id"),
    )
)


class ConversationRows:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._rows = _CONVERSATIONS.rows(connection)

    def insert(self, conversation: Conversation) -> None:
        self._rows.put(rows.conversation_row(conversation))

    def find(self, conversation_id: str) -> Conversation | None:
        row = self._rows.find(conversation_id)
        return None if row is None else rows.conversation_of(row)

    def save(self, conversation: Conversation) -> None:
        self._rows.put(rows.conversation_row(conversation))

    def with_events_before(self, time: datetime, limit: int) -> list[str]:
        return _WITH_OLD_EVENTS.scalars(self._connection, {"time": to_micros(time), "most": limit})

    def page(self, tenant: str, principal: str, before: tuple[datetime, str] | None, limit: int) -> list[Conversation]:
        query = select(_C).where(_C.c.tenant == tenant, _C.c.principal == principal, _C.c.deletion.in_(SHOWN))
        if before is not None:
            query = query.where(tuple_(_C.c.create_time, _C.c.conversation_id) < (to_micros(before[0]), before[1]))
        query = query.order_by(_C.c.create_time.desc(), _C.c.conversation_id.desc()).limit(limit)
        return [rows.conversation_of(r) for r in self._connection.execute(query).mappings()]


class MessageRows:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def insert(self, message: Message) -> None:
        _INSERT_MESSAGE.execute(self._connection, rows.message_row(message))

    def find(self, message_id: str) -> Message | None:
        row = _FIND_MESSAGE.first(self._connection, {"id": message_id})
        return None if row is None else rows.message_of(row)

    def assign(self, message_id: str, interaction_id: str, run_id: str) -> None:
        _ASSIGN_MESSAGE.execute(self._connection, {"id": message_id, "interaction": interaction_id, "run": run_id})

    def page(self, conversation_id: str, after: int, limit: int) -> list[Message]:
        query = (
            select(_M)
            .where(_M.c.conversation_id == conversation_id, _M.c.position > after)
            .order_by(_M.c.position)
            .limit(limit)
        )
        return [rows.message_of(r) for r in self._connection.execute(query).mappings()]

    def recent(self, conversation_id: str, limit: int) -> list[Message]:
        found = _RECENT_MESSAGES.all(self._connection, {"id": conversation_id, "most": limit})
        newest_first = [rows.message_of(r) for r in found]
        return newest_first[::-1]


class RequestRows:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def find(self, scope: RequestScope) -> AcceptedRequest | None:
        key = {
            "tenant": scope.tenant,
            "principal": scope.principal,
            "method": scope.method,
            "request_id": scope.request_id,
        }
        row = _FIND_REQUEST.first(self._connection, key)
        if row is None:
            return None
        return AcceptedRequest(
            scope,
            row["body_sha256"],
            row["conversation_id"],
            row["message_id"],
            row["interaction_id"],
            row["run_id"],
            event_sequence=row["event_sequence"],
        )

    def insert(self, request: AcceptedRequest, now: datetime) -> None:
        scope = request.scope
        _INSERT_REQUEST.execute(
            self._connection,
            {
                "tenant": scope.tenant,
                "principal": scope.principal,
                "method": scope.method,
                "request_id": scope.request_id,
                "body_sha256": request.body_sha256,
                "conversation_id": request.conversation_id,
                "message_id": request.message_id,
                "interaction_id": request.interaction_id,
                "run_id": request.run_id,
                "event_sequence": request.event_sequence,
                "create_time": to_micros(now),
            },
        )

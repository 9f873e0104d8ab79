"""Stores of conversations, messages and accepted requests."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, bindparam, insert, select, tuple_, update

from loop_service.domain.conversation import AcceptedRequest, Conversation, Message, RequestScope
from loop_service.domain.times import to_micros
from loop_service.storage import rows, tables

_C = tables.conversations
_M = tables.messages
_R = tables.requests

_INSERT_CONVERSATION = insert(_C)
_INSERT_MESSAGE = insert(_M)
_INSERT_REQUEST = insert(_R)
_FIND_CONVERSATION = select(_C).where(_C.c.conversation_id == bindparam("id"))
_SAVE_CONVERSATION = update(_C).where(_C.c.conversation_id == bindparam("id"))
_FIND_MESSAGE = select(_M).where(_M.c.message_id == bindparam("id"))
_RECENT_MESSAGES = (
    select(_M).where(_M.c.conversation_id == bindparam("id")).order_by(_M.c.position.desc()).limit(bindparam("most"))
)
_FIND_REQUEST = select(_R).where(
    _R.c.tenant == bindparam("tenant"),
    _R.c.principal == bindparam("principal"),
    _R.c.method == bindparam("method"),
    _R.c.request_id == bindparam("request_id"),
)


class ConversationRows:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def insert(self, conversation: Conversation) -> None:
        self._connection.execute(_INSERT_CONVERSATION, rows.conversation_row(conversation))

    def find(self, conversation_id: str) -> Conversation | None:
        row = self._connection.execute(_FIND_CONVERSATION, {"id": conversation_id}).mappings().first()
        return None if row is None else rows.conversation_of(row)

    def save(self, conversation: Conversation) -> None:
        self._connection.execute(
            _SAVE_CONVERSATION,
            {"id": conversation.conversation_id, **rows.conversation_changes(conversation)},
        )

    def page(self, tenant: str, principal: str, before: tuple[datetime, str] | None, limit: int) -> list[Conversation]:
        query = select(_C).where(_C.c.tenant == tenant, _C.c.principal == principal)
        if before is not None:
            query = query.where(tuple_(_C.c.create_time, _C.c.conversation_id) < (to_micros(before[0]), before[1]))
        query = query.order_by(_C.c.create_time.desc(), _C.c.conversation_id.desc()).limit(limit)
        return [rows.conversation_of(r) for r in self._connection.execute(query).mappings()]


class MessageRows:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def insert(self, message: Message) -> None:
        self._connection.execute(_INSERT_MESSAGE, rows.message_row(message))

    def find(self, message_id: str) -> Message | None:
        row = self._connection.execute(_FIND_MESSAGE, {"id": message_id}).mappings().first()
        return None if row is None else rows.message_of(row)

    def assign(self, message_id: str, interaction_id: str, run_id: str) -> None:
        self._connection.execute(
            update(_M).where(_M.c.message_id == message_id).values(interaction_id=interaction_id, run_id=run_id)
        )

    def page(self, conversation_id: str, after: int, limit: int) -> list[Message]:
        query = (
            select(_M)
            .where(_M.c.conversation_id == conversation_id, _M.c.position > after)
            .order_by(_M.c.position)
            .limit(limit)
        )
        return [rows.message_of(r) for r in self._connection.execute(query).mappings()]

    def recent(self, conversation_id: str, limit: int) -> list[Message]:
        found = self._connection.execute(_RECENT_MESSAGES, {"id": conversation_id, "most": limit}).mappings()
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
        row = self._connection.execute(_FIND_REQUEST, key).mappings().first()
        if row is None:
            return None
        return AcceptedRequest(
            scope,
            row["body_sha256"],
            row["conversation_id"],
            row["message_id"],
            row["interaction_id"],
            row["run_id"],
        )

    def insert(self, request: AcceptedRequest, now: datetime) -> None:
        scope = request.scope
        self._connection.execute(
            _INSERT_REQUEST,
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
                "create_time": to_micros(now),
            },
        )

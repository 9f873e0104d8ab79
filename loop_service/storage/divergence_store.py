"""Conversations whose history was lost with a restored database. Used by the unit of work; operators and starts only.

No query here runs on the path of a message: each looks at every conversation (of a tenant).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, and_, or_, select, tuple_, update

from loop_service.domain.conversation import Conversation, Divergence
from loop_service.domain.settlement import Settlement
from loop_service.domain.times import to_micros
from loop_service.storage import rows, tables
from loop_service.storage.conversation_stores import SHOWN
from loop_service.storage.open_item_rows import settlement_of

_C = tables.conversations
_H = tables.history
_S = tables.settlements


class DivergenceRows:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def is_swept(self, history_id: str) -> bool:
        return bool(self._connection.execute(select(_H.c.swept_history_id)).scalar_one() == history_id)

    def mark_swept(self, history_id: str) -> None:
        self._connection.execute(update(_H).values(swept_history_id=history_id))

    def open_in_other_history(self, history_id: str, after: str, limit: int) -> list[Conversation]:
        query = (
            select(_C)
            .where(_C.c.loop_history_id != history_id, _C.c.active_interaction_id != "", _C.c.conversation_id > after)
            .order_by(_C.c.conversation_id)
            .limit(limit)
        )
        return [rows.conversation_of(dict(row)) for row in self._connection.execute(query).mappings()]

    def page(
        self,
        tenant: str,
        loop_history_id: str,
        adapter_history_ids: Mapping[str, str],
        after: tuple[datetime, str] | None,
        limit: int,
    ) -> list[Conversation]:
        spoken: ColumnElement[bool] = or_(_C.c.domain_session_id != "", _C.c.active_interaction_id != "")
        lost: list[ColumnElement[bool]] = [
            _C.c.divergence.in_((Divergence.FOUND.value, Divergence.REOPENING.value)),
            and_(spoken, _C.c.loop_history_id != loop_history_id),
        ]
        for domain, history_id in adapter_history_ids.items():
            lost.append(and_(_C.c.domain == domain, _C.c.history_id != "", _C.c.history_id != history_id))
        # What was deleted is nobody's to look after any more; its deletion does not need the session.
        wanted = (_C.c.divergence != Divergence.ENDED.value, _C.c.deletion.in_(SHOWN))
        query = select(_C).where(_C.c.tenant == tenant, *wanted, or_(*lost))
        if after is not None:
            query = query.where(tuple_(_C.c.create_time, _C.c.conversation_id) > (to_micros(after[0]), after[1]))
        query = query.order_by(_C.c.create_time, _C.c.conversation_id).limit(limit)
        return [rows.conversation_of(dict(row)) for row in self._connection.execute(query).mappings()]

    def unsettled_calls(self, tenant: str, conversation_id: str) -> list[Settlement]:
        query = (
            select(_S)
            .where(_S.c.tenant == tenant, _S.c.conversation_id == conversation_id, _S.c.verdict == "")
            .order_by(_S.c.create_time, _S.c.settlement_id)
        )
        return [settlement_of(dict(row)) for row in self._connection.execute(query).mappings()]

"""The mailbox: signals that came before their interaction waited for them. Used by the unit of work."""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, delete, func, insert, select

from handrail_storage import Statement
from loop_service.domain.signal import KeptSignal
from loop_service.domain.times import from_micros, to_micros
from loop_service.storage import tables

_S = tables.signals

_INSERT = Statement(insert(_S))
_LAST_NUMBER = Statement(select(func.max(_S.c.number)).where(_S.c.interaction_id == bindparam("id")))
_OLDEST = Statement(
    select(_S)
    .where(_S.c.interaction_id == bindparam("id"), _S.c.name == bindparam("name"))
    .order_by(_S.c.number)
    .limit(1)
)
_REMOVE = Statement(delete(_S).where(_S.c.interaction_id == bindparam("id"), _S.c.number == bindparam("number")))
_CLEAR = Statement(delete(_S).where(_S.c.interaction_id == bindparam("id")))


class SignalRows:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def keep(self, signal: KeptSignal) -> None:
        last = _LAST_NUMBER.scalar(self._connection, {"id": signal.interaction_id}) or 0
        _INSERT.execute(
            self._connection,
            {
                "interaction_id": signal.interaction_id,
                "number": last + 1,
                "name": signal.name,
                "payload": signal.payload,
                "create_time": to_micros(signal.create_time),
            },
        )

    def take(self, interaction_id: str, name: str) -> KeptSignal | None:
        row = _OLDEST.first(self._connection, {"id": interaction_id, "name": name})
        if row is None:
            return None
        _REMOVE.execute(self._connection, {"id": interaction_id, "number": row["number"]})
        return KeptSignal(interaction_id, row["name"], row["payload"], from_micros(row["create_time"]))

    def clear(self, interaction_id: str) -> None:
        _CLEAR.execute(self._connection, {"id": interaction_id})

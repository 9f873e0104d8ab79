"""The store of calls whose outcome is unknown and of the verdicts that settled them."""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, select

from handrail_storage import KeyedTable, Statement
from loop_service.domain.settlement import Settlement
from loop_service.storage import open_item_rows as rows
from loop_service.storage import tables

_T = tables.settlements

_SETTLEMENTS = KeyedTable(_T)
_BY_CALL = Statement(
    select(_T).where(_T.c.interaction_id == bindparam("interaction"), _T.c.tool_call_id == bindparam("call"))
)


class SettlementRows:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._rows = _SETTLEMENTS.rows(connection)

    def find(self, interaction_id: str, tool_call_id: str) -> Settlement | None:
        row = _BY_CALL.first(self._connection, {"interaction": interaction_id, "call": tool_call_id})
        return None if row is None else rows.settlement_of(row)

    def put(self, settlement: Settlement) -> None:
        self._rows.put(rows.settlement_row(settlement))

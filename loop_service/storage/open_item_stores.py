"""Stores of what waits for a person: clarifications, and approvals with their resolutions."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, bindparam, insert, select

from handrail_storage import KeyedTable, Statement
from loop_service.application.store_ports import Resolution
from loop_service.domain.approval import Approval
from loop_service.domain.clarification import Clarification
from loop_service.domain.times import to_micros
from loop_service.storage import open_item_rows as rows
from loop_service.storage import tables

_C = tables.clarifications
_A = tables.approvals
_S = tables.resolutions

_CLARIFICATIONS = KeyedTable(_C)
_APPROVALS = KeyedTable(_A)
_NEWEST_APPROVAL = Statement(
    select(_A).where(_A.c.interaction_id == bindparam("id")).order_by(_A.c.decision_number.desc()).limit(1)
)
_REPLACED_BY = Statement(select(_A.c.approval_id, _A.c.digest).where(_A.c.superseded_by == bindparam("id")))
_FIND_RESOLUTION = Statement(
    select(_S.c.run_id, _S.c.resolved_by).where(
        _S.c.approval_id == bindparam("id"), _S.c.verdict == bindparam("verdict"), _S.c.digest == bindparam("digest")
    )
)
_INSERT_RESOLUTION = Statement(insert(_S))
_MOST_CHAIN = 1000


class ClarificationRows:
    def __init__(self, connection: Connection) -> None:
        self._rows = _CLARIFICATIONS.rows(connection)

    def find(self, clarification_id: str) -> Clarification | None:
        row = self._rows.find(clarification_id)
        return None if row is None else rows.clarification_of(row)

    def put(self, clarification: Clarification) -> None:
        self._rows.put(rows.clarification_row(clarification))


class ApprovalRows:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._rows = _APPROVALS.rows(connection)

    def find(self, approval_id: str) -> Approval | None:
        row = self._rows.find(approval_id)
        return None if row is None else rows.approval_of(row)

    def put(self, approval: Approval) -> None:
        self._rows.put(rows.approval_row(approval))

    def newest_of(self, interaction_id: str) -> Approval | None:
        row = _NEWEST_APPROVAL.first(self._connection, {"id": interaction_id})
        return None if row is None else rows.approval_of(row)

    def earlier_digests(self, approval_id: str) -> tuple[str, ...]:
        digests: list[str] = []
        wanted = [approval_id]
        while wanted and len(digests) < _MOST_CHAIN:
            found = _REPLACED_BY.all(self._connection, {"id": wanted.pop()})
            digests.extend(row["digest"] for row in found)
            wanted.extend(row["approval_id"] for row in found)
        return tuple(digests)

    def find_resolution(self, approval_id: str, verdict: str, digest: str) -> Resolution | None:
        key = {"id": approval_id, "verdict": verdict, "digest": digest}
        row = _FIND_RESOLUTION.first(self._connection, key)
        return None if row is None else Resolution(approval_id, verdict, digest, row["run_id"], row["resolved_by"])

    def insert_resolution(self, resolution: Resolution, now: datetime) -> None:
        _INSERT_RESOLUTION.execute(
            self._connection,
            {
                "approval_id": resolution.approval_id,
                "verdict": resolution.verdict,
                "digest": resolution.digest,
                "run_id": resolution.run_id,
                "resolved_by": resolution.resolved_by,
                "create_time": to_micros(now),
            },
        )

"""What waits for a person, over questions, approvals and calls to settle: one page in order of time.

Each kind is read from the partial index of what is open in the caller's tenant (or in one conversation), so that
neither closed items nor other tenants' are looked at. Who may answer what comes from domain.permission.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, and_, false, literal_column, not_, or_, select, true, tuple_

from handrail_rpc.context import EVERY_ROLE, Caller
from loop_service.application.store_ports import PendingFilter, PendingRow
from loop_service.domain.permission import MAY_APPROVE, MAY_SETTLE, OPERATOR, Fact, Right
from loop_service.domain.times import to_micros
from loop_service.storage import open_item_rows as rows
from loop_service.storage import tables

_C = tables.clarifications
_A = tables.approvals
_T = tables.settlements

# Literals, so that the statement itself shows that the condition of the partial index holds.
_OPEN: ColumnElement[str] = literal_column("'open'")
_UNSETTLED: ColumnElement[str] = literal_column("''")


class PendingRows:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def page(
        self, wanted: PendingFilter, caller: Caller, after: tuple[datetime, str] | None, limit: int
    ) -> list[PendingRow]:
        found: list[PendingRow] = []
        for kind, read in _KINDS.items():
            if kind in wanted.kinds:
                found += read(self._connection, wanted, caller, after, limit)
        found.sort(key=lambda item: (item.create_time, item.item_id))
        return found[:limit]


def _clarifications(
    connection: Connection, wanted: PendingFilter, caller: Caller, after: tuple[datetime, str] | None, limit: int
) -> Iterable[PendingRow]:
    """Only the conversation's principal answers its questions; no tool has any."""
    if wanted.tool:
        return
    own = [_C.c.status == _OPEN, _C.c.tenant == caller.tenant, _C.c.principal == caller.principal]
    for row in _read(connection, _C, "clarification_id", own, wanted, after, limit):
        question = rows.clarification_of(row)
        yield PendingRow(
            question.conversation_id,
            question.interaction_id,
            question.create_time,
            question.clarification_id,
            question.domain,
            question.principal,
            clarification=question,
        )


def _approvals(
    connection: Connection, wanted: PendingFilter, caller: Caller, after: tuple[datetime, str] | None, limit: int
) -> Iterable[PendingRow]:
    allowed = [_A.c.status == _OPEN, *_within(_A, MAY_APPROVE, wanted, caller)]
    for row in _read(connection, _A, "approval_id", allowed, wanted, after, limit):
        approval = rows.approval_of(row)
        yield PendingRow(
            approval.conversation_id,
            approval.interaction_id,
            approval.create_time,
            approval.approval_id,
            approval.domain,
            approval.requester,
            approval=approval,
        )


def _executions(
    connection: Connection, wanted: PendingFilter, caller: Caller, after: tuple[datetime, str] | None, limit: int
) -> Iterable[PendingRow]:
    allowed = [_T.c.verdict == _UNSETTLED, *_within(_T, MAY_SETTLE, wanted, caller)]
    for row in _read(connection, _T, "settlement_id", allowed, wanted, after, limit):
        settlement = rows.settlement_of(row)
        yield PendingRow(
            settlement.conversation_id,
            settlement.interaction_id,
            settlement.create_time,
            settlement.settlement_id,
            settlement.domain,
            settlement.gate.requester,
            settlement=settlement,
        )


_Reader = Callable[
    [Connection, PendingFilter, Caller, tuple[datetime, str] | None, int],
    Iterable[PendingRow],
]
_KINDS: dict[str, _Reader] = {
    "clarification": _clarifications,
    "approval": _approvals,
    "execution": _executions,
}


def _within(table: Table, right: Right, wanted: PendingFilter, caller: Caller) -> list[ColumnElement[bool]]:
    conditions = [table.c.tenant == caller.tenant, permitted(table, right, caller)]
    if wanted.tool:
        conditions.append(table.c.tool == wanted.tool)
    if wanted.requested_by_me:
        conditions.append(table.c.requester == caller.principal)
    return conditions


def permitted(table: Table, right: Right, caller: Caller) -> ColumnElement[bool]:
    """The table of a right as a condition on rows with the columns of a domain.permission.Gate."""
    holds: ColumnElement[bool] = true()
    if EVERY_ROLE not in caller.roles:
        holds = table.c.required_role.in_(["", *sorted(caller.roles)])
    facts: dict[Fact, ColumnElement[bool]] = {
        Fact.IS_REQUESTER: table.c.requester == caller.principal,
        Fact.NAMES_ROLE: table.c.required_role != "",
        Fact.HOLDS_ROLE: holds,
        Fact.REQUESTER_MAY_APPROVE: table.c.requester_may_approve.is_(True),
        Fact.IS_OPERATOR: true() if caller.has_role(OPERATOR) else false(),
    }
    return or_(
        *(and_(*(facts[fact] if expected else not_(facts[fact]) for fact, expected in case.items())) for case in right)
    )


def _read(
    connection: Connection,
    table: Table,
    key: str,
    allowed: list[ColumnElement[bool]],
    wanted: PendingFilter,
    after: tuple[datetime, str] | None,
    limit: int,
) -> Iterable[Any]:
    query = select(table).where(*allowed)
    for name in ("conversation_id", "interaction_id", "domain"):
        value = getattr(wanted, name)
        if value:
            query = query.where(table.c[name] == value)
    if wanted.created_before is not None:
        query = query.where(table.c.create_time < to_micros(wanted.created_before))
    if after is not None:
        query = query.where(tuple_(table.c.create_time, table.c[key]) > (to_micros(after[0]), after[1]))
    query = query.order_by(table.c.create_time, table.c[key]).limit(limit)
    return connection.execute(query).mappings()

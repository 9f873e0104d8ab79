"""Stores of what waits for a person: clarifications, approvals with their resolutions, and the list of both."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, Table, and_, bindparam, insert, or_, select, tuple_

from handrail_rpc.context import EVERY_ROLE
from loop_service.application.ports import PendingRow, Resolution
from loop_service.domain.approval import Approval, ApprovalStatus
from loop_service.domain.clarification import Clarification, ClarificationStatus
from loop_service.domain.times import to_micros
from loop_service.storage import open_item_rows as rows
from loop_service.storage import tables
from loop_service.storage.statements import upsert

_C = tables.clarifications
_A = tables.approvals
_S = tables.resolutions
_V = tables.conversations

_FIND_CLARIFICATION = select(_C).where(_C.c.clarification_id == bindparam("id"))
_PUT_CLARIFICATION = upsert(_C)
_FIND_APPROVAL = select(_A).where(_A.c.approval_id == bindparam("id"))
_PUT_APPROVAL = upsert(_A)
_MOST_CHAIN = 1000


class ClarificationRows:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def find(self, clarification_id: str) -> Clarification | None:
        row = self._connection.execute(_FIND_CLARIFICATION, {"id": clarification_id}).mappings().first()
        return None if row is None else rows.clarification_of(row)

    def put(self, clarification: Clarification) -> None:
        self._connection.execute(_PUT_CLARIFICATION, rows.clarification_row(clarification))


class ApprovalRows:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def find(self, approval_id: str) -> Approval | None:
        row = self._connection.execute(_FIND_APPROVAL, {"id": approval_id}).mappings().first()
        return None if row is None else rows.approval_of(row)

    def put(self, approval: Approval) -> None:
        self._connection.execute(_PUT_APPROVAL, rows.approval_row(approval))

    def newest_of(self, interaction_id: str) -> Approval | None:
        row = (
            self._connection.execute(
                select(_A).where(_A.c.interaction_id == interaction_id).order_by(_A.c.decision_number.desc()).limit(1)
            )
            .mappings()
            .first()
        )
        return None if row is None else rows.approval_of(row)

    def earlier_digests(self, approval_id: str) -> tuple[str, ...]:
        digests: list[str] = []
        wanted = [approval_id]
        while wanted and len(digests) < _MOST_CHAIN:
            found = self._connection.execute(
                select(_A.c.approval_id, _A.c.digest).where(_A.c.superseded_by.in_(wanted))
            ).all()
            digests.extend(digest for _, digest in found)
            wanted = [earlier for earlier, _ in found]
        return tuple(digests)

    def find_resolution(self, approval_id: str, verdict: str, digest: str) -> Resolution | None:
        row = self._connection.execute(
            select(_S.c.run_id, _S.c.resolved_by).where(
                _S.c.approval_id == approval_id, _S.c.verdict == verdict, _S.c.digest == digest
            )
        ).first()
        return None if row is None else Resolution(approval_id, verdict, digest, row[0], row[1])

    def insert_resolution(self, resolution: Resolution, now: datetime) -> None:
        self._connection.execute(
            insert(_S),
            {
                "approval_id": resolution.approval_id,
                "verdict": resolution.verdict,
                "digest": resolution.digest,
                "run_id": resolution.run_id,
                "resolved_by": resolution.resolved_by,
                "create_time": to_micros(now),
            },
        )


class PendingRows:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def page(
        self,
        *,
        kinds: frozenset[str],
        tenant: str,
        principal: str,
        roles: frozenset[str],
        conversation_id: str,
        after: tuple[datetime, str] | None,
        limit: int,
    ) -> list[PendingRow]:
        found: list[PendingRow] = []
        position = None if after is None else (to_micros(after[0]), after[1])
        if "clarification" in kinds:
            own = (
                select(_C)
                .join(_V, _V.c.conversation_id == _C.c.conversation_id)
                .where(
                    _C.c.status == ClarificationStatus.OPEN.value,
                    _V.c.tenant == tenant,
                    _V.c.principal == principal,
                )
            )
            query = self._bounded(own, _C, "clarification_id", conversation_id, position, limit)
            for row in self._connection.execute(query).mappings():
                question = rows.clarification_of(row)
                found.append(
                    PendingRow(
                        question.conversation_id,
                        question.interaction_id,
                        question.create_time,
                        question.clarification_id,
                        question,
                        None,
                    )
                )
        if "approval" in kinds:
            permitted = select(_A).where(
                _A.c.status == ApprovalStatus.OPEN.value,
                _A.c.tenant == tenant,
                _may_resolve(principal, roles),
            )
            query = self._bounded(permitted, _A, "approval_id", conversation_id, position, limit)
            for row in self._connection.execute(query).mappings():
                approval = rows.approval_of(row)
                found.append(
                    PendingRow(
                        approval.conversation_id,
                        approval.interaction_id,
                        approval.create_time,
                        approval.approval_id,
                        None,
                        approval,
                    )
                )
        found.sort(key=lambda item: (item.create_time, item.item_id))
        return found[:limit]

    def _bounded(
        self,
        query: Select[Any],
        table: Table,
        key: str,
        conversation_id: str,
        position: tuple[int, str] | None,
        limit: int,
    ) -> Select[Any]:
        if conversation_id:
            query = query.where(table.c.conversation_id == conversation_id)
        if position is not None:
            query = query.where(tuple_(table.c.create_time, table.c[key]) > position)
        return query.order_by(table.c.create_time, table.c[key]).limit(limit)


def _may_resolve(principal: str, roles: frozenset[str]) -> Any:
    """The same rule as application.resolve_approval: the role, and separation of duties."""
    holds = _A.c.required_role == ""
    if EVERY_ROLE in roles:
        holds = _A.c.required_role.is_not(None)
    elif roles:
        holds = or_(holds, _A.c.required_role.in_(sorted(roles)))
    own = and_(_A.c.requester == principal, _A.c.requester_may_approve)
    others = and_(
        _A.c.requester != principal,
        or_(_A.c.required_role != "", _A.c.requester_may_approve.is_(False)),
    )
    return and_(holds, or_(own, others))

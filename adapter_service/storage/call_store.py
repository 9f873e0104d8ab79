"""Issued calls, approvals, version rows and the execution ledger in SQL. Implements application.ports.Calls.

`settle` and `take_over` obey domain.ledger.TRANSITIONS by compare-and-set: a terminal row never changes.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, bindparam, insert, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from adapter_service.domain.approval import Approval, ApprovalState, Snapshot
from adapter_service.domain.ledger import Execution, ExecutionState, ToolCall, Trouble
from adapter_service.sdk import Effect, Text
from adapter_service.storage.tables import approvals, executions, tool_calls, versions
from adapter_service.storage.times import from_microseconds, to_microseconds

_CHANGING = (Effect.CHANGE.value, Effect.EXTERNAL.value)

# Built once, with parameters: building an expression costs more than executing it.
_CALL = select(tool_calls).where(tool_calls.c.tool_call_id == bindparam("wanted"))
_EXECUTION = select(executions).where(executions.c.tool_call_id == bindparam("wanted"))
_VERSION = select(versions.c.version).where(
    versions.c.domain == bindparam("domain"),
    versions.c.kind == bindparam("kind"),
    versions.c.name == bindparam("name"),
)


class SqlCalls:
    """One transaction's view of calls."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def find_call(self, tool_call_id: str) -> ToolCall | None:
        """The issued call, or None."""
        row = self._connection.execute(_CALL, {"wanted": tool_call_id}).one_or_none()
        if row is None:
            return None
        return ToolCall(
            tool_call_id=row.tool_call_id,
            interaction_id=row.interaction_id,
            decision_number=row.decision_number,
            task_id=row.task_id,
            tool=row.tool,
            tool_version=row.tool_version,
            effect=Effect(row.effect),
            idempotent=row.idempotent,
            idempotency_key=row.idempotency_key,
            input_bytes=row.input_bytes,
            input_sha256=row.input_sha256,
            target=row.target,
            timeout=timedelta(microseconds=row.timeout_microseconds),
            summary=row.summary,
            approval_id=row.approval_id,
            approval_digest=row.approval_digest,
        )

    def add_call(self, call: ToolCall) -> None:
        """Store a call with the decision that issues it."""
        self._connection.execute(
            insert(tool_calls),
            {
                "tool_call_id": call.tool_call_id,
                "interaction_id": call.interaction_id,
                "decision_number": call.decision_number,
                "task_id": call.task_id,
                "tool": call.tool,
                "tool_version": call.tool_version,
                "effect": call.effect.value,
                "idempotent": call.idempotent,
                "idempotency_key": call.idempotency_key,
                "input_bytes": call.input_bytes,
                "input_sha256": call.input_sha256,
                "target": call.target,
                "timeout_microseconds": call.timeout // timedelta(microseconds=1),
                "summary": call.summary,
                "approval_id": call.approval_id,
                "approval_digest": call.approval_digest,
            },
        )

    def find_execution(self, tool_call_id: str) -> Execution | None:
        """The ledger row of a call, or None."""
        row = self._connection.execute(_EXECUTION, {"wanted": tool_call_id}).one_or_none()
        return None if row is None else _execution(row)

    def executions_of(self, interaction_id: str) -> tuple[Execution, ...]:
        """Every ledger row of an interaction, in the order of the decisions that issued the calls."""
        rows = self._connection.execute(
            select(executions)
            .join(tool_calls, tool_calls.c.tool_call_id == executions.c.tool_call_id)
            .where(executions.c.interaction_id == interaction_id)
            .order_by(tool_calls.c.decision_number, executions.c.claim_time, executions.c.tool_call_id)
        )
        return tuple(_execution(row) for row in rows)

    def key_is_used(self, idempotency_key: str, *, besides: str) -> bool:
        """Whether another call has a ledger row with this key."""
        return self._exists(
            select(executions.c.tool_call_id).where(
                executions.c.idempotency_key == idempotency_key, executions.c.tool_call_id != besides
            )
        )

    def target_is_busy(self, domain: str, target: str, *, besides: str) -> bool:
        """Whether another change of the target is claimed or its outcome unknown (soundness rule target_lock)."""
        return self._exists(
            select(executions.c.tool_call_id).where(
                executions.c.state.in_((ExecutionState.CLAIMED.value, ExecutionState.UNKNOWN.value)),
                executions.c.domain == domain,
                executions.c.target == target,
                executions.c.effect.in_(_CHANGING),
                executions.c.tool_call_id != besides,
            )
        )

    def _exists(self, query: Any) -> bool:
        return self._connection.execute(query.limit(1)).first() is not None

    def add_execution(self, execution: Execution, domain: str, now: datetime) -> None:
        """Store the first ledger row of a call: a claim, or an outcome without one."""
        self._connection.execute(
            insert(executions),
            {
                "tool_call_id": execution.tool_call_id,
                "execution_id": execution.execution_id,
                "interaction_id": execution.interaction_id,
                "domain": domain,
                "idempotency_key": execution.idempotency_key,
                "tool": execution.tool,
                "effect": execution.effect.value,
                "target": execution.target,
                "state": execution.state.value,
                "attempt": execution.attempt,
                "owner": execution.owner,
                "lease_until": to_microseconds(execution.lease_until),
                "outcome": execution.outcome_bytes,
                "result_sha256": execution.result_sha256,
                "trouble": _trouble(execution.trouble),
                "claim_time": to_microseconds(now),
                "finish_time": None if execution.state is ExecutionState.CLAIMED else to_microseconds(now),
            },
        )

    def take_over(self, tool_call_id: str, attempt: int, owner: str, lease_until: datetime) -> None:
        """A new attempt of an orphan."""
        self._connection.execute(
            update(executions)
            .where(executions.c.tool_call_id == tool_call_id, executions.c.state == ExecutionState.CLAIMED.value)
            .values(attempt=attempt, owner=owner, lease_until=to_microseconds(lease_until))
        )

    def settle(self, settled: Execution, now: datetime) -> None:
        """Record the one outcome of a claimed call."""
        self._connection.execute(
            update(executions)
            .where(
                executions.c.tool_call_id == settled.tool_call_id,
                executions.c.state == ExecutionState.CLAIMED.value,
            )
            .values(
                state=settled.state.value,
                outcome=settled.outcome_bytes,
                result_sha256=settled.result_sha256,
                trouble=_trouble(settled.trouble),
                finish_time=to_microseconds(now),
            )
        )

    def release_orphans(self, now: datetime) -> int:
        """End every lease, at the start of the only process: no attempt of an earlier one is alive (live_attempt)."""
        return self._connection.execute(
            update(executions)
            .where(executions.c.state == ExecutionState.CLAIMED.value, executions.c.lease_until > to_microseconds(now))
            .values(lease_until=to_microseconds(now))
        ).rowcount

    def find_approval(self, digest: str) -> Approval | None:
        """The approval with this snapshot digest, or None."""
        row = self._connection.execute(select(approvals).where(approvals.c.digest == digest)).one_or_none()
        if row is None:
            return None
        return Approval(
            digest=row.digest,
            interaction_id=row.interaction_id,
            decision_number=row.decision_number,
            task_id=row.task_id,
            snapshot=_read_snapshot(row.snapshot),
            input_bytes=row.input_bytes,
            state=ApprovalState(row.state),
            approval_id=row.approval_id,
            resolved_by=row.resolved_by,
        )

    def add_approval(self, approval: Approval) -> None:
        """Store a requested approval."""
        self._connection.execute(
            insert(approvals),
            {
                "digest": approval.digest,
                "interaction_id": approval.interaction_id,
                "decision_number": approval.decision_number,
                "task_id": approval.task_id,
                "snapshot": _snapshot(approval.snapshot),
                "idempotency_key": approval.snapshot.idempotency_key,
                "input_bytes": approval.input_bytes,
                "state": approval.state.value,
                "approval_id": approval.approval_id,
                "resolved_by": approval.resolved_by,
            },
        )

    def resolve_approval(self, digest: str, state: ApprovalState, approval_id: str, resolved_by: str) -> None:
        """End an open or approved approval; closed ones never change (soundness rule addressed_verdict)."""
        self._connection.execute(
            update(approvals)
            .where(
                approvals.c.digest == digest,
                approvals.c.state.in_((ApprovalState.OPEN.value, ApprovalState.APPROVED.value)),
            )
            .values(state=state.value, approval_id=approval_id, resolved_by=resolved_by)
        )

    def raise_version(self, domain: str, kind: str, name: str, version: int) -> None:
        """Raise a monotone version row; never lowers it."""
        statement = upsert(versions).values(domain=domain, kind=kind, name=name, version=version)
        self._connection.execute(
            statement.on_conflict_do_update(
                index_elements=["domain", "kind", "name"],
                set_={"version": version},
                where=versions.c.version < version,
            )
        )

    def stored_version(self, domain: str, kind: str, name: str) -> str:
        """A version row in decimal; "" if there is none."""
        found = self._connection.execute(_VERSION, {"domain": domain, "kind": kind, "name": name}).scalar_one_or_none()
        return "" if found is None else str(found)


def _execution(row: Row[Any]) -> Execution:
    return Execution(
        tool_call_id=row.tool_call_id,
        execution_id=row.execution_id,
        interaction_id=row.interaction_id,
        idempotency_key=row.idempotency_key,
        tool=row.tool,
        effect=Effect(row.effect),
        target=row.target,
        state=ExecutionState(row.state),
        attempt=row.attempt,
        owner=row.owner,
        lease_until=from_microseconds(row.lease_until),
        outcome_bytes=row.outcome,
        result_sha256=row.result_sha256,
        trouble=_read_trouble(row.trouble),
    )


def _snapshot(snapshot: Snapshot) -> str:
    body = {name: getattr(snapshot, name) for name in Snapshot.__slots__}
    body["expire_time"] = to_microseconds(snapshot.expire_time)
    return json.dumps(body)


def _read_snapshot(text: str) -> Snapshot:
    body = json.loads(text)
    body["expire_time"] = from_microseconds(body["expire_time"])
    return Snapshot(**body)


def _trouble(trouble: Trouble | None) -> str:
    return "" if trouble is None else json.dumps(asdict(trouble), ensure_ascii=False)


def _read_trouble(text: str) -> Trouble | None:
    if not text:
        return None
    body = json.loads(text)
    help_text = body.pop("helpful_action")
    return Trouble(
        **{**body, "explanation": Text(**body["explanation"])}, helpful_action=Text(**help_text) if help_text else None
    )

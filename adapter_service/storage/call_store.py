"""Issued calls, approvals, version rows and the execution ledger in SQL. Implements application.ports.Calls.

`settle` and `take_over` obey domain.ledger.TRANSITIONS by compare-and-set: a terminal row never changes.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import Connection, bindparam, case, func, insert, or_, select, update
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from adapter_service.domain.approval import Approval, ApprovalState
from adapter_service.domain.ledger import Execution, ExecutionState, IssuedCall, ToolCall
from adapter_service.sdk import Effect
from adapter_service.storage.call_rows import (
    read_call,
    read_execution,
    read_snapshot,
    snapshot_text,
    trouble_text,
)
from adapter_service.storage.tables import approvals, contents, executions, tool_calls, versions
from adapter_service.storage.times import to_microseconds
from handrail_storage import Statement

# A result comes along with its call up to this size; larger ones are read when they are needed.
MOST_BYTES_ALONG = 64 * 1024

_CALL = Statement(select(tool_calls).where(tool_calls.c.tool_call_id == bindparam("wanted")))
_ADD_CALL = Statement(insert(tool_calls))
# A ledger row repeats its call's other columns.
_ISSUED = Statement(
    select(
        tool_calls,
        *(column for column in executions.c if column.name not in tool_calls.c),
        case((func.length(contents.c.data) <= MOST_BYTES_ALONG, contents.c.data)).label("result"),
    )
    .select_from(
        tool_calls.outerjoin(executions, executions.c.tool_call_id == tool_calls.c.tool_call_id).outerjoin(
            contents, contents.c.sha256 == executions.c.result_sha256
        )
    )
    .where(tool_calls.c.tool_call_id == bindparam("wanted"))
)
_EXECUTION = Statement(select(executions).where(executions.c.tool_call_id == bindparam("wanted")))
_EXECUTIONS_OF = Statement(
    select(executions)
    .join(tool_calls, tool_calls.c.tool_call_id == executions.c.tool_call_id)
    .where(executions.c.interaction_id == bindparam("wanted"))
    .order_by(tool_calls.c.decision_number, executions.c.claim_time, executions.c.tool_call_id)
)
_KEY_USED = Statement(
    select(executions.c.tool_call_id)
    .where(executions.c.idempotency_key == bindparam("key"), executions.c.tool_call_id != bindparam("besides"))
    .limit(1)
)
# Equalities instead of IN, whose text would depend on its parameters.
_TARGET_BUSY = Statement(
    select(executions.c.tool_call_id)
    .where(
        or_(
            executions.c.state == ExecutionState.CLAIMED.value,
            executions.c.state == ExecutionState.UNKNOWN.value,
        ),
        executions.c.domain == bindparam("domain"),
        executions.c.target == bindparam("target"),
        or_(executions.c.effect == Effect.CHANGE.value, executions.c.effect == Effect.EXTERNAL.value),
        executions.c.tool_call_id != bindparam("besides"),
    )
    .limit(1)
)
_ADD_EXECUTION = Statement(insert(executions))
_TAKE_OVER = Statement(
    update(executions)
    .where(executions.c.tool_call_id == bindparam("wanted"), executions.c.state == ExecutionState.CLAIMED.value)
    .values(attempt=bindparam("new_attempt"), owner=bindparam("new_owner"), lease_until=bindparam("new_lease"))
)
_SETTLE = Statement(
    update(executions)
    .where(executions.c.tool_call_id == bindparam("wanted"), executions.c.state == ExecutionState.CLAIMED.value)
    .values(
        state=bindparam("new_state"),
        outcome=bindparam("new_outcome"),
        result_sha256=bindparam("result"),
        workspace_sha256=bindparam("workspace"),
        trouble=bindparam("new_trouble"),
        finish_time=bindparam("finished"),
    )
)
_SETTLE_BY_PERSON = Statement(
    update(executions)
    .where(
        executions.c.tool_call_id == bindparam("wanted"),
        or_(executions.c.state == ExecutionState.CLAIMED.value, executions.c.state == ExecutionState.UNKNOWN.value),
    )
    .values(
        state=bindparam("new_state"),
        outcome=bindparam("new_outcome"),
        trouble=bindparam("new_trouble"),
        finish_time=bindparam("finished"),
        settled_by=bindparam("by"),
        settle_time=bindparam("finished"),
        settle_comment=bindparam("comment"),
    )
)
_RELEASE_ORPHANS = Statement(
    update(executions)
    .where(executions.c.state == ExecutionState.CLAIMED.value, executions.c.lease_until > bindparam("now"))
    .values(lease_until=bindparam("now"))
)
_APPROVAL = Statement(select(approvals).where(approvals.c.digest == bindparam("wanted")))
_ADD_APPROVAL = Statement(insert(approvals))
_RESOLVE_APPROVAL = Statement(
    update(approvals)
    .where(
        approvals.c.digest == bindparam("wanted"),
        or_(approvals.c.state == ApprovalState.OPEN.value, approvals.c.state == ApprovalState.APPROVED.value),
    )
    .values(state=bindparam("new_state"), approval_id=bindparam("id"), resolved_by=bindparam("by"))
)
_VERSION = Statement(
    select(versions.c.version).where(
        versions.c.domain == bindparam("domain"),
        versions.c.kind == bindparam("kind"),
        versions.c.name == bindparam("name"),
    )
)
_VERSIONS = Statement(select(versions).where(versions.c.domain == bindparam("domain")))
_new_version = sqlite_insert(versions)
_RAISE_VERSION = Statement(
    _new_version.on_conflict_do_update(
        index_elements=["domain", "kind", "name"],
        set_={"version": _new_version.excluded.version},
        where=versions.c.version < _new_version.excluded.version,
    )
)


class SqlCalls:
    """One transaction's view of calls."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def find_call(self, tool_call_id: str) -> ToolCall | None:
        """The issued call, or None."""
        row = _CALL.first(self._connection, {"wanted": tool_call_id})
        return None if row is None else read_call(row)

    def add_call(self, call: ToolCall) -> None:
        """Store a call with the decision that issues it."""
        _ADD_CALL.execute(
            self._connection,
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

    def find_issued(self, tool_call_id: str) -> IssuedCall | None:
        """The call with its ledger row and its result up to MOST_BYTES_ALONG; None for a call that was not issued."""
        row = _ISSUED.first(self._connection, {"wanted": tool_call_id})
        if row is None:
            return None
        return IssuedCall(read_call(row), None if row["execution_id"] is None else read_execution(row), row["result"])

    def find_execution(self, tool_call_id: str) -> Execution | None:
        """The ledger row of a call, or None."""
        row = _EXECUTION.first(self._connection, {"wanted": tool_call_id})
        return None if row is None else read_execution(row)

    def executions_of(self, interaction_id: str) -> tuple[Execution, ...]:
        """Every ledger row of an interaction, in the order of the decisions that issued the calls."""
        rows = _EXECUTIONS_OF.all(self._connection, {"wanted": interaction_id})
        return tuple(read_execution(row) for row in rows)

    def key_is_used(self, idempotency_key: str, *, besides: str) -> bool:
        """Whether another call has a ledger row with this key."""
        parameters = {"key": idempotency_key, "besides": besides}
        return _KEY_USED.scalar(self._connection, parameters) is not None

    def target_is_busy(self, domain: str, target: str, *, besides: str) -> bool:
        """Whether another change of the target is claimed or its outcome unknown (soundness rule target_lock)."""
        parameters = {"domain": domain, "target": target, "besides": besides}
        return _TARGET_BUSY.scalar(self._connection, parameters) is not None

    def add_execution(self, execution: Execution, domain: str, now: datetime) -> None:
        """Store the first ledger row of a call: a claim, or an outcome without one."""
        _ADD_EXECUTION.execute(
            self._connection,
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
                "trouble": trouble_text(execution.trouble),
                "claim_time": to_microseconds(now),
                "finish_time": None if execution.state is ExecutionState.CLAIMED else to_microseconds(now),
                "settled_by": execution.settled_by,
                "settle_time": None if execution.settle_time is None else to_microseconds(execution.settle_time),
                "settle_comment": execution.settle_comment,
                "workspace_sha256": execution.workspace_sha256,
            },
        )

    def take_over(self, tool_call_id: str, attempt: int, owner: str, lease_until: datetime) -> None:
        """A new attempt of an orphan."""
        _TAKE_OVER.execute(
            self._connection,
            {
                "wanted": tool_call_id,
                "new_attempt": attempt,
                "new_owner": owner,
                "new_lease": to_microseconds(lease_until),
            },
        )

    def settle(self, settled: Execution, now: datetime) -> None:
        """Record the one outcome of a claimed call."""
        _SETTLE.execute(
            self._connection,
            {
                "wanted": settled.tool_call_id,
                "new_state": settled.state.value,
                "new_outcome": settled.outcome_bytes,
                "result": settled.result_sha256,
                "workspace": settled.workspace_sha256,
                "new_trouble": trouble_text(settled.trouble),
                "finished": to_microseconds(now),
            },
        )

    def settle_by_person(self, settled: Execution, now: datetime) -> None:
        """Record a person's verdict on a claimed call or an unknown outcome (domain.ledger.SETTLEMENTS)."""
        _SETTLE_BY_PERSON.execute(
            self._connection,
            {
                "wanted": settled.tool_call_id,
                "new_state": settled.state.value,
                "new_outcome": settled.outcome_bytes,
                "new_trouble": trouble_text(settled.trouble),
                "finished": to_microseconds(now),
                "by": settled.settled_by,
                "comment": settled.settle_comment,
            },
        )

    def release_orphans(self, now: datetime) -> int:
        """End every lease, at the start of the only process: no attempt of an earlier one is alive (live_attempt)."""
        return _RELEASE_ORPHANS.execute(self._connection, {"now": to_microseconds(now)})

    def find_approval(self, digest: str) -> Approval | None:
        """The approval with this snapshot digest, or None."""
        row = _APPROVAL.first(self._connection, {"wanted": digest})
        if row is None:
            return None
        return Approval(
            digest=row["digest"],
            interaction_id=row["interaction_id"],
            decision_number=row["decision_number"],
            task_id=row["task_id"],
            snapshot=read_snapshot(row["snapshot"]),
            input_bytes=row["input_bytes"],
            state=ApprovalState(row["state"]),
            approval_id=row["approval_id"],
            resolved_by=row["resolved_by"],
        )

    def add_approval(self, approval: Approval) -> None:
        """Store a requested approval."""
        _ADD_APPROVAL.execute(
            self._connection,
            {
                "digest": approval.digest,
                "interaction_id": approval.interaction_id,
                "decision_number": approval.decision_number,
                "task_id": approval.task_id,
                "snapshot": snapshot_text(approval.snapshot),
                "idempotency_key": approval.snapshot.idempotency_key,
                "input_bytes": approval.input_bytes,
                "state": approval.state.value,
                "approval_id": approval.approval_id,
                "resolved_by": approval.resolved_by,
            },
        )

    def resolve_approval(self, digest: str, state: ApprovalState, approval_id: str, resolved_by: str) -> None:
        """End an open or approved approval; closed ones never change (soundness rule addressed_verdict)."""
        _RESOLVE_APPROVAL.execute(
            self._connection, {"wanted": digest, "new_state": state.value, "id": approval_id, "by": resolved_by}
        )

    def raise_version(self, domain: str, kind: str, name: str, version: int) -> None:
        """Raise a monotone version row; never lowers it."""
        _RAISE_VERSION.execute(self._connection, {"domain": domain, "kind": kind, "name": name, "version": version})

    def stored_version(self, domain: str, kind: str, name: str) -> str:
        """A version row in decimal; "" if there is none."""
        found = _VERSION.scalar(self._connection, {"domain": domain, "kind": kind, "name": name})
        return "" if found is None else str(found)

    def stored_versions(self, domain: str) -> dict[tuple[str, str], str]:
        """All version rows of a domain in decimal, by kind and name."""
        rows = _VERSIONS.all(self._connection, {"domain": domain})
        return {(row["kind"], row["name"]): str(row["version"]) for row in rows}

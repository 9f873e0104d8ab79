"""Rows of issued calls, approvals and the ledger as domain data, and what of them is JSON. Called by call_store."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import timedelta

from adapter_service.domain.approval import Snapshot
from adapter_service.domain.ledger import Execution, ExecutionState, ToolCall, Trouble
from adapter_service.sdk import Effect, Text
from adapter_service.storage.times import from_microseconds, to_microseconds
from handrail_storage import Row


def read_call(row: Row) -> ToolCall:
    """An issued call."""
    return ToolCall(
        tool_call_id=row["tool_call_id"],
        interaction_id=row["interaction_id"],
        decision_number=row["decision_number"],
        task_id=row["task_id"],
        tool=row["tool"],
        tool_version=row["tool_version"],
        effect=Effect(row["effect"]),
        idempotent=bool(row["idempotent"]),
        idempotency_key=row["idempotency_key"],
        input_bytes=row["input_bytes"],
        input_sha256=row["input_sha256"],
        target=row["target"],
        timeout=timedelta(microseconds=row["timeout_microseconds"]),
        summary=row["summary"],
        approval_id=row["approval_id"],
        approval_digest=row["approval_digest"],
    )


def read_execution(row: Row) -> Execution:
    """A ledger row."""
    return Execution(
        tool_call_id=row["tool_call_id"],
        execution_id=row["execution_id"],
        interaction_id=row["interaction_id"],
        idempotency_key=row["idempotency_key"],
        tool=row["tool"],
        effect=Effect(row["effect"]),
        target=row["target"],
        state=ExecutionState(row["state"]),
        attempt=row["attempt"],
        owner=row["owner"],
        lease_until=from_microseconds(row["lease_until"]),
        outcome_bytes=row["outcome"],
        result_sha256=row["result_sha256"],
        trouble=read_trouble(row["trouble"]),
        settled_by=row["settled_by"],
        settle_time=None if row["settle_time"] is None else from_microseconds(row["settle_time"]),
        settle_comment=row["settle_comment"],
        workspace_sha256=row["workspace_sha256"],
    )


def snapshot_text(snapshot: Snapshot) -> str:
    """A snapshot as JSON; its time in microseconds, exact."""
    body = {name: getattr(snapshot, name) for name in Snapshot.__slots__}
    body["expire_time"] = to_microseconds(snapshot.expire_time)
    return json.dumps(body)


def read_snapshot(text: str) -> Snapshot:
    """The snapshot of `snapshot_text`."""
    body = json.loads(text)
    body["expire_time"] = from_microseconds(body["expire_time"])
    return Snapshot(**body)


def trouble_text(trouble: Trouble | None) -> str:
    """Trouble as JSON; empty where there was none."""
    return "" if trouble is None else json.dumps(asdict(trouble), ensure_ascii=False)


def read_trouble(text: str) -> Trouble | None:
    """The trouble of `trouble_text`."""
    if not text:
        return None
    body = json.loads(text)
    help_text = body.pop("helpful_action")
    return Trouble(
        **{**body, "explanation": Text(**body["explanation"])}, helpful_action=Text(**help_text) if help_text else None
    )

"""Rows of the tables to domain values and back. Pure; called by the stores."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

from handrail_storage import Row
from loop_service.domain.conversation import Conversation, Divergence, Message, Role
from loop_service.domain.decision import CallRecord, Effect, Outcome
from loop_service.domain.deletion import Deletion
from loop_service.domain.interaction import Interaction, InteractionState, Requester, Stop, StopKind
from loop_service.domain.run import Run, RunState, Usage
from loop_service.domain.times import from_micros, to_micros


def micros(time: datetime | None) -> int | None:
    return None if time is None else to_micros(time)


def time_of(value: int | None) -> datetime | None:
    return None if value is None else from_micros(value)


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def dump(value: object) -> str:
    return _ENCODER.encode(value)


def conversation_row(c: Conversation) -> dict[str, Any]:
    return {
        "conversation_id": c.conversation_id,
        "tenant": c.tenant,
        "principal": c.principal,
        "domain": c.domain,
        "title": c.title,
        "labels": dump(c.labels),
        "create_time": to_micros(c.create_time),
        **conversation_changes(c),
    }


def conversation_changes(c: Conversation) -> dict[str, Any]:
    return {
        "active_interaction_id": c.active_interaction_id,
        "last_sequence": c.last_sequence,
        "audit_number": c.audit_number,
        "audit_hash": c.audit_hash,
        "message_count": c.message_count,
        "domain_session_id": c.domain_session_id,
        "history_id": c.history_id,
        "unclosed_interaction_id": c.unclosed_interaction_id,
        "loop_history_id": c.loop_history_id,
        "session_revision": c.session_revision,
        "divergence": c.divergence.value,
        "first_sequence": c.first_sequence,
        "oldest_event_time": micros(c.oldest_event_time),
        "deletion": c.deletion.value,
        "delete_time": micros(c.delete_time),
        "deleted_by": c.deleted_by,
        "erase_due": micros(c.erase_due),
    }


def conversation_of(r: Row) -> Conversation:
    return Conversation(
        r["conversation_id"],
        r["tenant"],
        r["principal"],
        r["domain"],
        r["title"],
        json.loads(r["labels"]),
        from_micros(r["create_time"]),
        r["active_interaction_id"],
        r["last_sequence"],
        r["audit_number"],
        r["audit_hash"],
        r["message_count"],
        r["domain_session_id"],
        r["history_id"],
        r["unclosed_interaction_id"],
        r["loop_history_id"],
        r["session_revision"],
        Divergence(r["divergence"]),
        first_sequence=r["first_sequence"],
        oldest_event_time=time_of(r["oldest_event_time"]),
        deletion=Deletion(r["deletion"]),
        delete_time=time_of(r["delete_time"]),
        deleted_by=r["deleted_by"],
        erase_due=time_of(r["erase_due"]),
    )


def pack_blobs(blobs: tuple[bytes, ...]) -> bytes:
    """Several byte strings in one, each after its length in four bytes."""
    return b"".join(len(b).to_bytes(4, "big") + b for b in blobs)


def unpack_blobs(data: bytes) -> tuple[bytes, ...]:
    blobs: list[bytes] = []
    start = 0
    while start < len(data):
        end = start + 4 + int.from_bytes(data[start : start + 4], "big")
        blobs.append(data[start + 4 : end])
        start = end
    return tuple(blobs)


def message_row(m: Message) -> dict[str, Any]:
    return {
        "message_id": m.message_id,
        "conversation_id": m.conversation_id,
        "position": m.position,
        "role": m.role.value,
        "text": m.text,
        "interaction_id": m.interaction_id,
        "request_id": m.request_id,
        "run_id": m.run_id,
        "workspace_snapshot_id": m.workspace_snapshot_id,
        "facts": pack_blobs(m.facts),
        "locale": m.locale,
        "roles": ",".join(m.roles),
        "create_time": to_micros(m.create_time),
    }


def message_of(r: Row) -> Message:
    return Message(
        r["message_id"],
        r["conversation_id"],
        r["position"],
        Role(r["role"]),
        r["text"],
        r["interaction_id"],
        from_micros(r["create_time"]),
        r["request_id"],
        r["run_id"],
        r["workspace_snapshot_id"],
        unpack_blobs(r["facts"]),
        r["locale"],
        tuple(part for part in r["roles"].split(",") if part),
    )


def interaction_row(i: Interaction) -> dict[str, Any]:
    stop = i.stop
    return {
        "interaction_id": i.interaction_id,
        "conversation_id": i.conversation_id,
        "domain": i.domain,
        "principal": i.requester.principal,
        "tenant": i.requester.tenant,
        "roles": ",".join(i.requester.roles),
        "locale": i.requester.locale,
        "root_message_id": i.root_message_id,
        "state": i.state.value,
        "plan_version": i.plan_version,
        "decision_number": i.decision_number,
        "observation_number": i.observation_number,
        "context": i.context,
        "failure": i.failure,
        "supersedes": i.supersedes,
        "superseded_by": i.superseded_by,
        "domain_session_id": i.domain_session_id,
        "history_id": i.history_id,
        "owner": i.owner,
        "epoch": i.epoch,
        "lease_until": micros(i.lease_until),
        "active_run_id": i.active_run_id,
        "last_run_id": i.last_run_id,
        "stop_kind": stop.kind.value if stop else "",
        "stop_code": stop.code if stop else "",
        "stop_reason": stop.reason if stop else "",
        "stop_by": stop.requested_by if stop else "",
        "tool_actions": i.tool_actions,
        "clarification_rounds": i.clarification_rounds,
        "active_micros": i.active_time // timedelta(microseconds=1),
        "generations": i.generations,
        "standing_decision": i.standing_decision,
        "clarification_id": i.clarification_id,
        "approval_id": i.approval_id,
        "approved_id": i.approved_id,
        "wait_until": micros(i.wait_until),
        "wait_signal": i.wait_signal,
        "settle_attempts": i.settle_attempts,
        "kept_signals": i.kept_signals,
        "unclear_number": i.unclear_number,
        "create_time": to_micros(i.create_time),
        "update_time": to_micros(i.update_time),
        "end_time": micros(i.end_time),
    }


def interaction_of(r: Row) -> Interaction:
    stop = None
    if r["stop_kind"]:
        stop = Stop(StopKind(r["stop_kind"]), r["stop_code"], r["stop_reason"], r["stop_by"])
    roles = tuple(part for part in r["roles"].split(",") if part)
    return Interaction(
        interaction_id=r["interaction_id"],
        conversation_id=r["conversation_id"],
        domain=r["domain"],
        requester=Requester(r["principal"], r["tenant"], roles, r["locale"]),
        root_message_id=r["root_message_id"],
        create_time=from_micros(r["create_time"]),
        update_time=from_micros(r["update_time"]),
        state=InteractionState(r["state"]),
        end_time=time_of(r["end_time"]),
        plan_version=r["plan_version"],
        decision_number=r["decision_number"],
        observation_number=r["observation_number"],
        context=r["context"],
        failure=r["failure"],
        supersedes=r["supersedes"],
        superseded_by=r["superseded_by"],
        domain_session_id=r["domain_session_id"],
        history_id=r["history_id"],
        owner=r["owner"],
        epoch=r["epoch"],
        lease_until=time_of(r["lease_until"]),
        active_run_id=r["active_run_id"],
        last_run_id=r["last_run_id"],
        stop=stop,
        tool_actions=r["tool_actions"],
        clarification_rounds=r["clarification_rounds"],
        active_time=timedelta(microseconds=r["active_micros"]),
        generations=r["generations"],
        standing_decision=r["standing_decision"],
        clarification_id=r["clarification_id"],
        approval_id=r["approval_id"],
        approved_id=r["approved_id"],
        wait_until=time_of(r["wait_until"]),
        wait_signal=r["wait_signal"],
        settle_attempts=r["settle_attempts"],
        kept_signals=r["kept_signals"],
        unclear_number=r["unclear_number"],
    )


def run_row(r: Run) -> dict[str, Any]:
    return {
        "run_id": r.run_id,
        "conversation_id": r.conversation_id,
        "interaction_id": r.interaction_id,
        "request_id": r.request_id,
        "state": r.state.value,
        "message_id": r.message_id,
        "approval_id": r.approval_id,
        "resumed_run_id": r.resumed_run_id,
        "first_sequence": r.first_sequence,
        "ending": r.ending,
        "codes": ",".join(r.codes),
        "generations": r.usage.generations,
        "prompt_tokens": r.usage.prompt_tokens,
        "output_tokens": r.usage.output_tokens,
        "tool_actions": r.usage.tool_actions,
        "stage_seconds": dump(r.usage.stage_seconds),
        "traceparent": r.traceparent,
        "link_traceparent": r.link_traceparent,
        "attempts": r.attempts,
        "not_before": micros(r.not_before),
        "create_time": to_micros(r.create_time),
        "start_time": micros(r.start_time),
        "end_time": micros(r.end_time),
    }


def run_of(r: Row) -> Run:
    return Run(
        run_id=r["run_id"],
        conversation_id=r["conversation_id"],
        interaction_id=r["interaction_id"],
        request_id=r["request_id"],
        create_time=from_micros(r["create_time"]),
        state=RunState(r["state"]),
        message_id=r["message_id"],
        approval_id=r["approval_id"],
        resumed_run_id=r["resumed_run_id"],
        first_sequence=r["first_sequence"],
        ending=r["ending"],
        codes=[part for part in r["codes"].split(",") if part],
        usage=Usage(
            r["generations"],
            r["prompt_tokens"],
            r["output_tokens"],
            r["tool_actions"],
            json.loads(r["stage_seconds"]),
        ),
        traceparent=r["traceparent"],
        link_traceparent=r["link_traceparent"],
        start_time=time_of(r["start_time"]),
        end_time=time_of(r["end_time"]),
        not_before=time_of(r["not_before"]),
        attempts=r["attempts"],
    )


def call_row(c: CallRecord) -> dict[str, Any]:
    return {
        "tool_call_id": c.tool_call_id,
        "interaction_id": c.interaction_id,
        "decision_number": c.decision_number,
        "position": c.position,
        "tool": c.tool,
        "effect": c.effect.value,
        "idempotent": c.idempotent,
        "approval_id": c.approval_id,
        "summary": c.summary,
        "dispatch_number": c.dispatch_number,
        "outcome": c.outcome.value if c.outcome else "",
        "raw_outcome": c.raw_outcome,
        "step": c.step,
    }


def call_of(r: Row) -> CallRecord:
    return CallRecord(
        r["tool_call_id"],
        r["interaction_id"],
        r["decision_number"],
        r["position"],
        r["tool"],
        Effect(r["effect"]),
        bool(r["idempotent"]),
        r["approval_id"],
        r["summary"],
        r["dispatch_number"],
        Outcome(r["outcome"]) if r["outcome"] else None,
        r["raw_outcome"],
        r["step"],
    )

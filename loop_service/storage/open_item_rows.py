"""Rows of clarifications, approvals and settlements to domain values and back. Pure; called by their stores."""

from __future__ import annotations

import json
from typing import Any

from handrail_storage import Row
from loop_service.domain.approval import Approval, ApprovalStatus
from loop_service.domain.clarification import Clarification, ClarificationStatus
from loop_service.domain.decision import PromptOption
from loop_service.domain.permission import Gate
from loop_service.domain.settlement import Settlement, Verdict
from loop_service.domain.times import from_micros, to_micros
from loop_service.storage.rows import dump, micros, time_of


def clarification_row(c: Clarification) -> dict[str, Any]:
    return {
        "clarification_id": c.clarification_id,
        "interaction_id": c.interaction_id,
        "conversation_id": c.conversation_id,
        "task_id": c.task_id,
        "slot": c.slot,
        "type": c.type,
        "prompt": c.prompt,
        "options": dump([[o.candidate_id, o.display_name] for o in c.options]),
        "required": c.required,
        "plan_version": c.plan_version,
        "decision_number": c.decision_number,
        "question_message_id": c.question_message_id,
        "answer_message_id": c.answer_message_id,
        "status": c.status.value,
        "create_time": to_micros(c.create_time),
        "close_time": micros(c.close_time),
        "tenant": c.tenant,
        "principal": c.principal,
        "domain": c.domain,
    }


def clarification_of(r: Row) -> Clarification:
    return Clarification(
        r["clarification_id"],
        r["interaction_id"],
        r["conversation_id"],
        r["task_id"],
        r["slot"],
        r["type"],
        r["prompt"],
        tuple(PromptOption(c, n) for c, n in json.loads(r["options"])),
        bool(r["required"]),
        r["plan_version"],
        r["decision_number"],
        r["question_message_id"],
        from_micros(r["create_time"]),
        r["answer_message_id"],
        ClarificationStatus(r["status"]),
        time_of(r["close_time"]),
        r["tenant"],
        r["principal"],
        r["domain"],
    )


def approval_row(a: Approval) -> dict[str, Any]:
    return {
        "approval_id": a.approval_id,
        "interaction_id": a.interaction_id,
        "conversation_id": a.conversation_id,
        "tenant": a.tenant,
        "requester": a.requester,
        "snapshot": a.snapshot,
        "digest": a.digest,
        "title": a.title,
        "input_preview": a.input_preview,
        "change_ref": a.change_ref,
        "required_role": a.required_role,
        "requester_may_approve": a.requester_may_approve,
        "tool": a.tool,
        "decision_number": a.decision_number,
        "status": a.status.value,
        "resolved_by": a.resolved_by,
        "resolve_time": micros(a.resolve_time),
        "run_id": a.run_id,
        "superseded_by": a.superseded_by,
        "create_time": to_micros(a.create_time),
        "expire_time": micros(a.expire_time),
        "domain": a.domain,
        "tool_call_id": a.tool_call_id,
    }


def approval_of(r: Row) -> Approval:
    return Approval(
        approval_id=r["approval_id"],
        interaction_id=r["interaction_id"],
        conversation_id=r["conversation_id"],
        tenant=r["tenant"],
        requester=r["requester"],
        snapshot=r["snapshot"],
        digest=r["digest"],
        title=r["title"],
        input_preview=r["input_preview"],
        change_ref=r["change_ref"],
        required_role=r["required_role"],
        requester_may_approve=bool(r["requester_may_approve"]),
        tool=r["tool"],
        decision_number=r["decision_number"],
        create_time=from_micros(r["create_time"]),
        expire_time=time_of(r["expire_time"]),
        status=ApprovalStatus(r["status"]),
        resolved_by=r["resolved_by"],
        resolve_time=time_of(r["resolve_time"]),
        run_id=r["run_id"],
        superseded_by=r["superseded_by"],
        domain=r["domain"],
        tool_call_id=r["tool_call_id"],
    )


def settlement_row(s: Settlement) -> dict[str, Any]:
    return {
        "settlement_id": s.settlement_id,
        "interaction_id": s.interaction_id,
        "tool_call_id": s.tool_call_id,
        "conversation_id": s.conversation_id,
        "tenant": s.gate.tenant,
        "requester": s.gate.requester,
        "required_role": s.gate.required_role,
        "requester_may_approve": s.gate.requester_may_approve,
        "domain": s.domain,
        "tool": s.tool,
        "summary": s.summary,
        "approval_id": s.approval_id,
        "verdict": s.verdict.value if s.verdict else "",
        "settled_by": s.settled_by,
        "settle_time": micros(s.settle_time),
        "comment": s.comment,
        "successor_interaction_id": s.successor_interaction_id,
        "run_id": s.run_id,
        "create_time": to_micros(s.create_time),
    }


def settlement_of(r: Row) -> Settlement:
    return Settlement(
        settlement_id=r["settlement_id"],
        interaction_id=r["interaction_id"],
        tool_call_id=r["tool_call_id"],
        conversation_id=r["conversation_id"],
        domain=r["domain"],
        gate=Gate(r["tenant"], r["requester"], r["required_role"], bool(r["requester_may_approve"])),
        tool=r["tool"],
        summary=r["summary"],
        approval_id=r["approval_id"],
        create_time=from_micros(r["create_time"]),
        verdict=Verdict(r["verdict"]) if r["verdict"] else None,
        settled_by=r["settled_by"],
        settle_time=time_of(r["settle_time"]),
        comment=r["comment"],
        successor_interaction_id=r["successor_interaction_id"],
        run_id=r["run_id"],
    )

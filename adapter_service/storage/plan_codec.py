"""Plans as JSON text and back, for the interactions table. Every fill is tagged, so that old rows stay readable."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from adapter_service.domain.artifact import ArtifactReference
from adapter_service.domain.plan import (
    Origin,
    PendingWait,
    Plan,
    Question,
    RevisionOffer,
    SlotState,
    Task,
    TaskSlot,
    TaskState,
)
from adapter_service.sdk import ArtifactFill, Fill, ResultFill, Text, TextFill, ValueFill


def encode_plan(plan: Plan) -> str:
    """The plan's JSON text; its version is a column and left out."""
    body: dict[str, Any] = {"tasks": [_task(task) for task in plan.tasks]}
    if plan.question is not None:
        question = plan.question
        body["question"] = {
            "task_id": question.task_id,
            "slot": question.slot,
            "candidates_of": question.candidates_of,
            "about_changes": question.about_changes,
            "rounds": question.rounds,
        }
    if plan.offer is not None:
        offer = plan.offer
        body["offer"] = {
            "action_id": offer.action_id,
            "task_id": offer.task_id,
            "artifact_id": offer.artifact_id,
            "version": offer.version,
        }
    if plan.reply is not None:
        body["reply"] = _text(plan.reply)
    for name in ("approval_digest", "approval_task", "calls", "ended", "revisions", "principal", "awaited", "told"):
        value = getattr(plan, name)
        if value:
            body[name] = value
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def decode_plan(text: str, version: int) -> Plan:
    """The plan of a stored row."""
    body = json.loads(text)
    question, offer, reply = body.get("question"), body.get("offer"), body.get("reply")
    return Plan(
        version=version,
        tasks=tuple(_read_task(task) for task in body["tasks"]),
        question=Question(**question) if question else None,
        approval_digest=body.get("approval_digest", ""),
        approval_task=body.get("approval_task", ""),
        offer=RevisionOffer(**offer) if offer else None,
        calls=tuple(body.get("calls", ())),
        reply=Text(**reply) if reply else None,
        ended=body.get("ended", False),
        revisions=body.get("revisions", 0),
        principal=body.get("principal", ""),
        awaited=body.get("awaited", ""),
        told=tuple(body.get("told", ())),
    )


def _task(task: Task) -> dict[str, Any]:
    body: dict[str, Any] = {
        "task_id": task.task_id,
        "tool": task.tool,
        "state": task.state.value,
        "origin": task.origin.value,
        "slots": [_slot(slot) for slot in task.slots.values()],
    }
    if task.after:
        body["after"] = task.after
    if task.tool_call_id:
        body["tool_call_id"] = task.tool_call_id
    if task.blocked:
        body["blocked"] = task.blocked
    if task.artifact is not None:
        made = task.artifact
        body["artifact"] = [made.artifact_id, made.version, made.sha256, made.media_type, made.title]
    if task.wait is not None:
        body["wait"] = {"due": task.wait.due.isoformat(), "signal": task.wait.signal}
    if task.wake_up is not None:
        body["wake_up"] = dict(task.wake_up)
    return body


def _read_task(body: dict[str, Any]) -> Task:
    made, wait = body.get("artifact"), body.get("wait")
    return Task(
        task_id=body["task_id"],
        tool=body["tool"],
        slots={slot["name"]: _read_slot(slot) for slot in body["slots"]},
        after=tuple(body.get("after", ())),
        state=TaskState(body["state"]),
        origin=Origin(body["origin"]),
        tool_call_id=body.get("tool_call_id", ""),
        artifact=ArtifactReference(*made) if made else None,
        blocked=body.get("blocked", 0),
        wait=PendingWait(datetime.fromisoformat(wait["due"]), wait["signal"]) if wait else None,
        wake_up=body.get("wake_up"),
    )


def _slot(slot: TaskSlot) -> dict[str, Any]:
    body: dict[str, Any] = {"name": slot.name, "state": slot.state.value}
    if slot.fill is not None:
        body["fill"] = _fill(slot.fill)
    if slot.state is SlotState.RESOLVED:
        body["value"] = slot.value
    for name in ("display", "source", "ask", "attempts", "vanished"):
        value = getattr(slot, name)
        if value:
            body[name] = value
    if slot.note is not None:
        body["note"] = _text(slot.note)
    return body


def _read_slot(body: dict[str, Any]) -> TaskSlot:
    note = body.get("note")
    return TaskSlot(
        name=body["name"],
        fill=_read_fill(body["fill"]) if "fill" in body else None,
        state=SlotState(body["state"]),
        value=body.get("value"),
        display=body.get("display", ""),
        source=body.get("source", ""),
        ask=body.get("ask", False),
        attempts=body.get("attempts", 0),
        note=Text(**note) if note else None,
        vanished=body.get("vanished", False),
    )


def _fill(fill: Fill) -> dict[str, Any]:
    match fill:
        case TextFill():
            return {"text": fill.text}
        case ValueFill():
            return {"value": fill.value, "display": fill.display}
        case ResultFill():
            return {"result_of": fill.task, "path": fill.path}
        case ArtifactFill():
            return {"artifact_of": fill.task, "artifact_id": fill.artifact_id}


def _read_fill(body: dict[str, Any]) -> Fill:
    if "text" in body:
        return TextFill(body["text"])
    if "value" in body:
        return ValueFill(body["value"], body["display"])
    if "result_of" in body:
        return ResultFill(body["result_of"], body["path"])
    return ArtifactFill(body["artifact_of"], body["artifact_id"])


def _text(text: Text) -> dict[str, str]:
    return {"en": text.en, "ru": text.ru}

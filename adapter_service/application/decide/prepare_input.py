"""The final input of a call: RFC 8785 bytes, hashed and stored once (soundness.md 'Digests', requirement A4).

Called by `next_step` for READ and DRAFT calls and by `request_change` for calls that need an approval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from adapter_service.application.artifact_content import parse_content, parse_stored
from adapter_service.application.decide.turn import Turn
from adapter_service.domain import failure_texts as texts
from adapter_service.domain.artifact import ArtifactVersion
from adapter_service.domain.decision import Fail
from adapter_service.domain.failure import Stage
from adapter_service.domain.ledger import ToolCall
from adapter_service.domain.plan import SlotState, Task, TaskSlot
from adapter_service.sdk import Tool
from handrail_rpc.digest import NotCanonical, canonical_json, sha256_hex

MOST_INPUT_BYTES = 256 * 1024
MOST_SHOWN_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class PreparedInput:
    """`readable` are the arguments by name with artifact contents in place of references; `artifact` the first one."""

    data: bytes
    sha256: str
    target: str
    readable: dict[str, Any]
    artifact: ArtifactVersion | None


def prepare_input(turn: Turn, task: Task) -> PreparedInput | Fail:
    """Build and check the input of a task whose slots are all resolved."""
    tool = turn.tool_of(task)
    arguments: dict[str, Any] = {}
    readable: dict[str, Any] = {}
    first: ArtifactVersion | None = None
    for name, slot in task.slots.items():
        if slot.state is not SlotState.RESOLVED:
            continue
        if name in tool.artifacts:
            current = turn.find_artifact(slot.value)
            if current is None:
                return _invalid(turn, tool)
            first = first or current
            arguments[name] = {
                "artifact_id": current.artifact_id,
                "version": current.version,
                "sha256": current.sha256,
            }
            readable[name] = (
                parse_content(current.media_type, turn.read_content(current.sha256))
                if tool.effect.needs_approval
                else arguments[name]
            )
        else:
            arguments[name] = readable[name] = slot.value
    try:
        tool.input_model.model_validate(arguments)
        target = _target(tool, readable, first)
        final: dict[str, Any] = {"tool": tool.name, "tool_version": str(tool.version), "target": target}
        final["arguments"] = arguments
        if tool.base is not None:
            final["base_sha256"] = tool.base(readable, turn.workspace)
        data = canonical_json(final)
    except (ValidationError, NotCanonical):
        return _invalid(turn, tool)
    if len(data) > MOST_INPUT_BYTES:
        return _invalid(turn, tool, source_code="input_too_large")
    return PreparedInput(data, sha256_hex(data), target, readable, first)


def _target(tool: Tool, readable: dict[str, Any], artifact: ArtifactVersion | None) -> str:
    if not tool.effect.needs_approval:
        return ""
    declared = tool.target(readable)
    if declared or artifact is None:
        return declared
    return f"{artifact.kind}/{artifact.artifact_id}"


def _invalid(turn: Turn, tool: Tool, source_code: str = "") -> Fail:
    return turn.fail(
        Stage.PLANNING,
        "tool_input_invalid",
        texts.filled(texts.TOOL_INPUT_INVALID, title=tool.title),
        source_code=source_code,
    )


def new_call(turn: Turn, task: Task, prepared: PreparedInput) -> ToolCall:
    """A call without approval, with an id and a key of its own."""
    tool = turn.tool_of(task)
    return ToolCall(
        tool_call_id=turn.ids("call"),
        interaction_id=turn.command.interaction_id,
        decision_number=turn.command.decision_number,
        task_id=task.task_id,
        tool=tool.name,
        tool_version=tool.version,
        effect=tool.effect,
        idempotent=tool.idempotent,
        idempotency_key=turn.ids("key"),
        input_bytes=prepared.data,
        input_sha256=prepared.sha256,
        target=prepared.target,
        timeout=tool.timeout,
        summary=summary_of(turn, task),
    )


def summary_of(turn: Turn, task: Task) -> str:
    """One sentence about a task: its title and what the user gave; bare values without a name say nothing to people."""
    title = turn.tool_of(task).title.localized(turn.locale)
    shown = ", ".join(part for slot in task.slots.values() if (part := _told(turn, slot)))
    return f"{title}: {shown[:MOST_SHOWN_CHARACTERS]}" if shown else title


def _told(turn: Turn, slot: TaskSlot) -> str:
    """Words, a choice, a fact, an artifact's present title, or a value for which the planner gave a readable form."""
    if slot.source == "artifact":
        current = turn.find_artifact(str(slot.value))
        return current.title if current is not None else slot.display
    if slot.source in ("user", "choice") or slot.source.startswith("fact:"):
        return slot.display
    readable = slot.display != str(slot.value) and any(map(str.isalpha, slot.display))
    return slot.display if slot.source == "value" and readable else ""


def readable_input(turn: Turn, tool: Tool, data: bytes) -> dict[str, Any]:
    """Arguments of stored input bytes, with the contents of exactly the artifact versions that they name."""
    readable = input_arguments(data)
    for name in tool.artifacts:
        if name in readable:
            version = turn.find_artifact(readable[name]["artifact_id"])
            assert version is not None  # artifacts of the plan's tasks are loaded
            readable[name] = parse_content(version.media_type, turn.read_content(readable[name]["sha256"]))
    return readable


def input_target(data: bytes) -> str:
    """The target of stored input bytes."""
    target: str = parse_stored(data)["target"]
    return target


def input_base(data: bytes) -> str | None:
    """The base's sha256 in stored input bytes; None where the tool declares no base."""
    base: str | None = parse_stored(data).get("base_sha256")
    return base


def input_arguments(data: bytes) -> dict[str, Any]:
    """The arguments of stored input bytes."""
    arguments: dict[str, Any] = parse_stored(data)["arguments"]
    return arguments

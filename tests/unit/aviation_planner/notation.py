"""A short notation for proposals, so that the tables of utterances stay readable. Used by the tests of this folder.

One string per task: `name: tool slot=fill …`, with 'words of the user', JSON values, <task.path> for a result, [task]
or [artifact id] for an artifact, and {me} for a centre at the user's position. The task's name is left out where it is
the usual one.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

from adapter_service.domains.aviation.planner import AviationPlanner
from adapter_service.sdk import (
    ArtifactFill,
    Fill,
    Memory,
    OpenQuestion,
    PlanningRequest,
    Proposal,
    ResultFill,
    TaskDraft,
    TaskSummary,
    TextFill,
    ValueFill,
)

NOW = datetime(2030, 1, 1, 12, 0, tzinfo=UTC)
NO_MEMORY = Memory()


def propose(
    text: str,
    memory: Memory = NO_MEMORY,
    *,
    begins: bool = True,
    question: OpenQuestion | None = None,
    tasks: tuple[TaskSummary, ...] = (),
    approval_open: bool = False,
) -> Proposal:
    """What the planner proposes for a text."""
    locale = "ru" if any("а" <= char <= "я" for char in text.lower()) else "en"
    return AviationPlanner().plan(PlanningRequest(text, locale, NOW, begins, memory, question, approval_open, tasks))


def show_fill(fill: Fill) -> str:
    """One fill in the notation."""
    match fill:
        case TextFill(text):
            return f"'{text}'"
        case ValueFill(value):
            return json.dumps(value, ensure_ascii=False).strip('"')
        case ResultFill(task, path):
            return f"<{task}.{path}>"
        case ArtifactFill(task, artifact_id):
            return f"[{task or artifact_id}]"


def show_task(task: TaskDraft) -> str:
    """One task in the notation; slots in alphabetical order, the user's position shortened."""
    fills = {slot: show_fill(fill) for slot, fill in task.fills.items()}
    if (
        fills.get("center_lat_deg") == "<position.latitude_deg>"
        and fills.get("center_lon_deg") == "<position.longitude_deg>"
    ):
        del fills["center_lat_deg"], fills["center_lon_deg"]
        fills["center"] = "{me}"
    verb, _, noun = task.tool.partition("_")
    usual = task.name in (noun, verb)
    head = task.tool if usual else f"{task.name}: {task.tool}"
    return " ".join([head, *(f"{slot}={fills[slot]}" for slot in sorted(fills))])


_NOT_UNDERSTOOD = re.compile(r"I did not understand (?:this part: )?“(.*?)”")


def show(proposal: Proposal) -> list[str]:
    """All tasks in the notation, or the reply: the words that were not understood, else its first sentence."""
    if proposal.tasks:
        return [show_task(task) for task in proposal.tasks]
    if proposal.reply is None:
        return []
    unknown = _NOT_UNDERSTOOD.match(proposal.reply.en)
    return [f"not understood: {unknown[1]}" if unknown else f"reply: {proposal.reply.en.split('.')[0]}"]


def show_patches(proposal: Proposal) -> list[str]:
    """The patches: task.slot='words'."""
    return [f"{patch.task_id}.{patch.slot}={show_fill(patch.fill)}" for patch in proposal.patches]

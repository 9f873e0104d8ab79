"""Another question while a flight plan is being asked for: it is answered, and the plan keeps what it was told.

Called by dialogue.py with what a text turned out to ask for.
"""

from __future__ import annotations

import re
from typing import Final

from adapter_service.domains.aviation.flight_plan_fields import PARSERS
from adapter_service.domains.aviation.planner.references import current_plan, plan_fill
from adapter_service.sdk import Fill, OpenQuestion, PlanningRequest, Proposal, ReplyVerdict, TaskDraft, TextFill

_PLAN_TOOLS: Final = frozenset({"draft_flight_plan", "revise_flight_plan", "validate_flight_plan", "file_flight_plan"})
# Of the ten tool calls that a request has by default (B4), some are left for the plan itself.
_MOST_TASKS: Final = 7
# From here on the answers are put into a version of the plan: a request of its own, which ends this one, loses none.
_KEPT_FROM_TASKS: Final = 6
_CODE: Final = re.compile(r"\(([A-Z0-9]{4})\)")


def beside_plan(proposal: Proposal, question: OpenQuestion, request: PlanningRequest) -> Proposal:
    """The proposal as a part of the plan's own request, which goes on with all that it was told.

    Where the open question is about no plan, the proposal begins another plan, or too much was asked beside this one
    already, it stays a request of its own.
    """
    tools = {task.tool for task in proposal.tasks}
    tasks = len(request.tasks) + len(proposal.tasks)
    if question.tool not in _PLAN_TOOLS or tools & _PLAN_TOOLS or tasks > _MOST_TASKS:
        return proposal
    kept = _kept_answers(question, request) if tasks >= _KEPT_FROM_TASKS else ()
    return Proposal(ReplyVerdict.CORRECTION, tasks=(*kept, *proposal.tasks))


def _kept_answers(question: OpenQuestion, request: PlanningRequest) -> tuple[TaskDraft, ...]:
    """A revision with what was answered so far."""
    plan = current_plan(request.memory)
    task = next((task for task in request.tasks if task.task_id == question.task_id), None)
    if plan is None or task is None or task.tool != "revise_flight_plan":
        return ()
    answers: dict[str, Fill] = {slot: TextFill(_plain(text)) for slot, text in task.fills.items() if slot in PARSERS}
    return (TaskDraft("answers", task.tool, {"flight_plan": plan_fill(plan), **answers}),) if answers else ()


def _plain(shown: str) -> str:
    """An airport is shown as "Name (CODE), city, country": its code settles it."""
    code = _CODE.search(shown)
    return code[1] if code else shown

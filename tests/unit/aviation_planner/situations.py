"""The situations in which the later rounds of utterances are said, and how their labels are compared.

A case is (situation, text, label). Used by the rounds' tables and by test_rounds.py.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from adapter_service.domains.aviation import answers, search_answers
from adapter_service.domains.aviation.catalogue import get_airport
from adapter_service.domains.aviation.route import build_route
from adapter_service.domains.aviation.search import search_airports
from adapter_service.sdk import ArtifactSummary, Memory, OpenQuestion, Proposal, TaskSummary

from .notation import propose, show, show_patches

# One reading, several equally good ones, or REFUSED.
Label: TypeAlias = list[str] | tuple[list[str], ...] | str
Case: TypeAlias = tuple[str, str, Label]

# An answer that does nothing and says so.
REFUSED: Final = "refused"

_PLAN: Final = ArtifactSummary("flight_plan", "art_1", 1, "Flight plan DABC1 EDDB–EDDM", valid=None, settled=False)
_LONDON: Final = search_airports(city="London", limit=2)
# What the tools themselves report after such a turn, newest first.
_MEMORIES: Final = {
    "after_weather": Memory(referents=answers.refer_weather(get_airport("EGLL"))),
    "after_airport": Memory(referents=answers.refer_airport(get_airport("EGLL"))),
    "after_route": Memory(referents=answers.refer_route(build_route("EGLL", "LFPG"))),
    "after_list": Memory(referents=search_answers.refer_search(_LONDON)),
    "after_page": Memory(referents=search_answers.refer_search(search_airports(country="NO", limit=10))),
    "after_last_page": Memory(
        referents=search_answers.refer_search(search_airports(country="NO", limit=10, offset=50))
    ),
    "after_highest": Memory(
        referents=search_answers.refer_search(search_airports(country="NP", sort="elevation_desc", limit=1))
    ),
    "after_count": Memory(referents=search_answers.refer_search(search_airports(country="NO", count_only=True))),
    "after_nearest": Memory(
        referents=search_answers.refer_search(search_airports(center_icao="EDDB", country=["PL", "CZ"], limit=5))
    ),
    "plan": Memory(artifacts=(_PLAN,)),
}
_ROUTE_TASK: Final = TaskSummary("t1", "build_route", "open", {"departure_icao": "Berlin", "destination_icao": ""})
_REVISE_TASK: Final = TaskSummary("t1", "revise_flight_plan", "open", {"flight_plan": "Flight plan"})
_DRAFT_TASK: Final = TaskSummary("t1", "draft_flight_plan", "open", {"departure_icao": "Berlin"})
_QUESTIONS: Final = {
    "ask_destination": (_ROUTE_TASK, "destination_icao", Memory()),
    "ask_plan_destination": (_REVISE_TASK, "destination_icao", Memory(artifacts=(_PLAN,))),
    "ask_draft_destination": (_DRAFT_TASK, "destination_icao", Memory()),
    "ask_level": (_REVISE_TASK, "level", Memory(artifacts=(_PLAN,))),
}


def outcome(situation: str, text: str) -> Label:
    """What the planner proposes in that situation, in the notation of the labels."""
    if situation in _QUESTIONS:
        task, slot, memory = _QUESTIONS[situation]
        question = OpenQuestion(task.task_id, task.tool, slot, ())
        return verdict(propose(text, memory, begins=False, question=question, tasks=(task,)))
    if situation == "approval":
        tasks = (TaskSummary("t1", "file_flight_plan", "open", {}),)
        return verdict(propose(text, _MEMORIES["plan"], begins=False, approval_open=True, tasks=tasks))
    proposal = propose(text, _MEMORIES.get(situation, Memory()))
    return show(proposal) if proposal.tasks or proposal.reply is None else REFUSED


def verdict(proposal: Proposal) -> list[str]:
    """The verdict of a reply, then what it brings."""
    answer = [proposal.answer_text] if proposal.answer_text else []
    tasks = show(proposal) if proposal.tasks else []
    return [proposal.verdict.value, *answer, *show_patches(proposal), *tasks]


def fits(label: Label, got: Label) -> bool:
    """Is the outcome one of the label's readings?"""
    return got in label if isinstance(label, tuple) else got == label

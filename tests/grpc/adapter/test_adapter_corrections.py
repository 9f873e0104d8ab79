"""Questions and corrections: patches and new tasks together, redrafts, closed lists, readable texts (C5 to C8)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapter_service.sdk import (
    Candidate,
    Candidates,
    Domain,
    Planner,
    PlanningRequest,
    Proposal,
    ReplyVerdict,
    ResultFill,
    SlotPatch,
    TaskDraft,
    Text,
    TextFill,
    ValueFill,
)
from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail.adapter.v1 import session_pb2
from handrail.common.v1 import approval_pb2, decision_pb2, fact_pb2
from tests.fakes.adapter_harness import Driver, Probe, position, running_probe

CORRECTION = decision_pb2.REPLY_VERDICT_CORRECTION


class Correcting:
    """The probe's planner, but the next text that is no first message is answered by `propose`."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self.propose: Callable[[PlanningRequest], Proposal] | None = None

    def plan(self, request: PlanningRequest) -> Proposal:
        """See the class."""
        if self.propose is None or request.begins_interaction:
            return self._planner.plan(request)
        propose, self.propose = self.propose, None
        return propose(request)


def task_of(request: PlanningRequest, tool: str) -> str:
    return next(task.task_id for task in request.tasks if task.tool == tool)


@asynccontextmanager
async def correcting_probe(folder: Path) -> AsyncIterator[tuple[Probe, Correcting]]:
    planners: list[Correcting] = []

    def adapt(domain: Domain) -> Domain:
        planners.append(Correcting(domain.planner))
        return replace(domain, planner=planners[0])

    async with running_probe(folder, adapt=adapt) as probe:
        yield probe, planners[0]


async def states(probe: Probe, driver: Driver) -> list[tuple[str, str]]:
    request = pb2.GetSessionRequest(domain_session_id=driver.session_id, caller=driver.principal())
    tasks = (await probe.stub.GetSession(request)).session.plan.tasks
    return [(task.tool, session_pb2.TaskState.Name(task.state).removeprefix("TASK_STATE_")) for task in tasks]


@pytest.mark.parametrize("asked", ["look London then fetch 1", "look then fetch 1"])
async def test_a_reply_that_changes_another_slot_and_wants_more_is_done_and_the_question_asked_again(
    tmp_path: Path, asked: str
) -> None:
    def propose(request: PlanningRequest) -> Proposal:
        assert request.open_question is not None
        assert request.open_question.slot == "place"
        patch = SlotPatch(task_of(request, "fetch"), "number", TextFill("7"))
        return Proposal(ReplyVerdict.CORRECTION, patches=(patch,), tasks=(TaskDraft("new", "measure", _place("BER")),))

    async with correcting_probe(tmp_path) as (probe, planner):
        driver = await probe.open()
        await driver.say(asked)
        question = driver.last.ask.prompt
        planner.propose = propose
        await driver.reply("seven instead, and measure Berlin")
        assert driver.last.reply_verdict == CORRECTION
        assert [call.tool for call in driver.last.call_tool.calls] == ["measure", "fetch"]
        await driver.run()
        again = driver.last.ask.prompt
        # What was asked beside is told at once, with the question.
        told = f"BER measures 3 m.\n\n{question.question}"
        assert (again.question, again.type, again.required) == (told, question.type, question.required)
        assert again.task == question.task
        if question.options:
            assert [o.identity for o in again.options] == [o.identity for o in question.options]
            assert {o.candidate_id for o in again.options}.isdisjoint(o.candidate_id for o in question.options)
            await driver.reply(selected_candidate_id=again.options[0].candidate_id)
        else:
            await driver.reply("lgb")
        answer = (await driver.run()).complete.answer
        assert answer.text == "BER measures 3 m.\n\nLGB is London.\n\nNumber 7."


def _place(identity: str) -> dict[str, Any]:
    return {"place": ValueFill(identity)}


async def test_a_corrected_slot_may_take_the_result_of_a_new_task(tmp_path: Path) -> None:
    def propose(request: PlanningRequest) -> Proposal:
        patch = SlotPatch(task_of(request, "measure"), "place", ResultFill("new", "identity"))
        task = TaskDraft("new", "look", {"place": TextFill("Paris")})
        return Proposal(ReplyVerdict.CORRECTION, patches=(patch,), tasks=(task,))

    def unknown(request: PlanningRequest) -> Proposal:
        patch = SlotPatch(task_of(request, "measure"), "place", ResultFill("nothing", "identity"))
        return Proposal(ReplyVerdict.CORRECTION, patches=(patch,))

    async with correcting_probe(tmp_path) as (probe, planner):
        driver = await probe.open()
        await driver.say("measure London")
        planner.propose = unknown
        decision = await driver.reply("what you find")
        assert (decision.reply_verdict, decision.WhichOneof("outcome")) == (decision_pb2.REPLY_VERDICT_UNCLEAR, None)
        planner.propose = propose
        await driver.reply("rather the place that Paris is")
        assert driver.last.reply_verdict == CORRECTION
        assert (await driver.run()).complete.answer.text == "PAR is Paris.\n\nPAR measures 3 m."


async def test_a_redraft_leaves_out_what_was_inserted_for_the_abandoned_artifact(tmp_path: Path) -> None:
    def propose(request: PlanningRequest) -> Proposal:
        title = SlotPatch(task_of(request, "write_note"), "title", ValueFill("letter"))
        level = SlotPatch(task_of(request, "write_note"), "level", ValueFill(4))
        return Proposal(ReplyVerdict.CORRECTION, patches=(title, level))

    async with correcting_probe(tmp_path) as (probe, planner):
        driver = await probe.open()
        await driver.say("write memo then post")
        await driver.run()
        assert driver.last.ask.prompt.question == "The level is missing. Which level?"
        assert ("change_note", "OPEN") in await states(probe, driver)
        planner.propose = propose
        await driver.reply("no, a letter at 4")
        assert await states(probe, driver) == [("write_note", "CALLED"), ("post_note", "OPEN")]
        await driver.run()
        assert driver.last.request_approval.input_preview == "post letter at 4"


async def test_of_two_candidates_with_one_name_none_is_taken_for_granted(tmp_path: Path) -> None:
    def adapt(domain: Domain) -> Domain:
        options = tuple(Candidate(code, "London", f"London {code}", code) for code in ("LGB", "LCA"))
        return replace(domain, resolvers={**domain.resolvers, "place": lambda _text, _context: Candidates(options)})

    async with running_probe(tmp_path, adapt=adapt) as probe:
        driver = await probe.open()
        await driver.say("look London")
        await driver.reply("London")
        assert [option.identity for option in driver.last.ask.prompt.options] == ["LGB", "LCA"]
        await driver.reply("lca")
        assert driver.last.HasField("call_tool")


@pytest.mark.parametrize(
    ("locale", "label", "question"),
    [
        ("en", None, "“London” can mean several things. Which one do you mean?"),
        ("ru", None, "«London» может означать разное. Что вы имеете в виду?"),
        ("en", Text("place", "место"), "Place: “London” can mean several things. Which one do you mean?"),
        ("ru", Text("place", "место"), "Место: «London» может означать разное. Что вы имеете в виду?"),
    ],
)
async def test_a_choice_names_what_the_user_wrote(
    tmp_path: Path, locale: str, label: Text | None, question: str
) -> None:
    def adapt(domain: Domain) -> Domain:
        look = domain.tool("look")
        labeled = replace(look, slots={"place": replace(look.slots["place"], label=label)})
        return replace(domain, tools=tuple(labeled if tool is look else tool for tool in domain.tools))

    async with running_probe(tmp_path, adapt=adapt) as probe:
        driver = await probe.open(locale=locale)
        await driver.say("look London")
        assert driver.last.ask.prompt.question == question


async def test_a_summary_shows_what_the_user_gave_and_no_bare_values(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say("look berlin then find Ber then where then fetch 7", facts=[position(52.5)])
    summaries = {call.tool: call.summary for call in driver.last.call_tool.calls}
    assert summaries == {"look": "Look: Berlin", "find": "Find", "where": "Where", "fetch": "Fetch: 7"}
    await driver.run()
    noted = await probe.open()
    await noted.say("write memo at 3 then post")
    assert noted.last.call_tool.calls[0].summary == "Write note"
    await noted.run()
    assert noted.last.summary == "An approval is needed: Post note"
    probe.sql("UPDATE artifact_versions SET title = 'revised memo'")
    await noted.resolve(approval_pb2.VERDICT_APPROVE)
    assert noted.last.call_tool.calls[0].summary == "Post note: revised memo"


async def test_a_fact_that_fills_nothing_is_no_answer_but_the_text_beside_it_is(tmp_path: Path) -> None:
    def adapt(domain: Domain) -> Domain:
        where = domain.tool("where")
        slot = replace(where.slots["position"], fact_value=lambda fact: fact.value.get("place"))
        return replace(
            domain, tools=tuple(replace(t, slots={"position": slot}) if t is where else t for t in domain.tools)
        )

    async with running_probe(tmp_path, adapt=adapt) as probe:
        driver = await probe.open()
        await driver.say("where")
        await driver.reply("41.5", facts=[position(10)])
        assert (await driver.run()).complete.answer.text == "Latitude 41.5."


async def test_a_number_that_no_input_can_carry_is_asked_for_again(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say("fetch 99999999999999999999")
    assert "not an accepted value" in driver.last.ask.prompt.question
    await driver.reply("7", facts=[fact_pb2.Fact(name="other", source=fact_pb2.SOURCE_USER)])
    assert (await driver.run()).complete.answer.text == "Number 7."

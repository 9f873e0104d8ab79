"""The model's port for ambiguous replies (C7, A4): what its verdict leads to, and what an unusable one does.

The model is a stand-in behind the port; test_workflow_model asks through the provider.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from handrail.adapter.v1 import domain_adapter_service_pb2 as adapter_pb
from handrail.common.v1 import approval_pb2, decision_pb2
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from loop_service.application.ports import JudgedReply, UnclearReply
from loop_service.domain.decision import ReplyVerdict
from tests.fakes.adapter import ask, complete, reply, request_approval
from tests.grpc.loop.driver import LoopDriver, check_runs, last, names, running_loop

OPTIONS = [("c1", "Springfield MO"), ("c2", "Springfield IL")]
UNCLEAR = decision_pb2.REPLY_VERDICT_UNCLEAR


class StandIn:
    """Keeps what it was shown; `answer` makes the verdict."""

    def __init__(self, answer: Callable[[UnclearReply], Awaitable[JudgedReply]]) -> None:
        self.shown: list[UnclearReply] = []
        self._answer = answer

    async def judge(self, reply: UnclearReply, seconds: float) -> JudgedReply:
        self.shown.append(reply)
        return await self._answer(reply)


def always(verdict: ReplyVerdict) -> StandIn:
    async def answer(reply: UnclearReply) -> JudgedReply:
        return JudgedReply(verdict, prompt_tokens=11, output_tokens=2)

    return StandIn(answer)


def asking(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
    """Asks; a text is unclear unless it was judged to be an answer."""
    observed = request.observation
    match observed.WhichOneof("kind"):
        case "clarification_reply" if observed.clarification_reply.reply_verdict == decision_pb2.REPLY_VERDICT_ANSWER:
            return complete(f"answered {observed.clarification_reply.text}")
        case "clarification_reply":
            return reply(UNCLEAR)
        case "user_message" if observed.user_message.approval_id:
            return reply(UNCLEAR)
        case "user_message" if observed.user_message.text == "file":
            return request_approval()
        case "user_message" if observed.user_message.text == "hm":
            return complete("a request of its own")
    return ask(options=OPTIONS)


@asynccontextmanager
async def judging(folder: Path, model: StandIn, **settings: object) -> AsyncIterator[LoopDriver]:
    async with running_loop(folder, asking, **settings) as driver:
        await driver.stop()
        driver.reply_model = model
        await driver.start()
        yield driver


@pytest.mark.parametrize(
    ("verdict", "ending"),
    [
        (ReplyVerdict.ANSWER, "completed"),
        (ReplyVerdict.CORRECTION, "completed"),
        (ReplyVerdict.UNCLEAR, "completed"),
        (ReplyVerdict.NEW_REQUEST, "completed"),
        (ReplyVerdict.CANCEL, "canceled"),
    ],
)
async def test_a_verdict_is_the_observation_of_the_next_number(
    tmp_path: Path, verdict: ReplyVerdict, ending: str
) -> None:
    model = always(verdict)
    async with judging(tmp_path, model) as driver:
        conversation_id = await driver.create()
        first = await driver.send(conversation_id, "Springfield")
        events = await driver.send(conversation_id, "hm")
        assert names(events)[-1] == ending
        (shown,) = model.shown
        assert (shown.text, shown.asked, shown.options) == ("hm", "Which one?", ("Springfield MO", "Springfield IL"))
        numbers = [
            r.decision_number for r in driver.adapter.decide_requests if r.interaction_id == first[0].interaction_id
        ]
        assert numbers == sorted(set(numbers)), "never a second observation under one number"
        if verdict is ReplyVerdict.NEW_REQUEST:
            assert last(events, "completed").answer.text == "a request of its own"
            assert "superseded" in names(await driver.events(conversation_id))
        elif ending == "completed":
            assert last(events, "completed").answer.text == "answered hm"
        run = (await driver.stub.GetRun(pb.GetRunRequest(run_id=events[0].run_id))).run
        assert (run.usage.generations, run.usage.prompt_tokens >= 11) == (1, True)
        check_runs(await driver.events(conversation_id))


async def _raise(reply: UnclearReply) -> JudgedReply:
    raise RuntimeError("the provider is down")


async def _hang(reply: UnclearReply) -> JudgedReply:
    await asyncio.Event().wait()
    raise AssertionError("never")


@pytest.mark.parametrize("model", [StandIn(_raise), StandIn(_hang)])
async def test_a_model_that_fails_or_hangs_leaves_the_reply_an_answer(tmp_path: Path, model: StandIn) -> None:
    async with judging(tmp_path, model, workflow_model_seconds=0.2) as driver:
        conversation_id = await driver.create()
        await driver.send(conversation_id, "Springfield")
        events = await driver.send(conversation_id, "hm")
        assert last(events, "completed").answer.text == "answered hm"
        assert len(model.shown) == 1


async def test_text_while_an_approval_is_open_is_judged_and_still_never_an_approval(tmp_path: Path) -> None:
    model = always(ReplyVerdict.ANSWER)
    async with judging(tmp_path, model) as driver:
        conversation_id = await driver.create()
        approval = last(await driver.send(conversation_id, "file"), "approval_required")
        events = await driver.send(conversation_id, "yes, do it")
        assert last(events, "approval_required") == approval
        assert model.shown[0].asked == ""
        assert "tool_started" not in names(await driver.events(conversation_id))
        done = await driver.resolve(approval, approval_pb2.VERDICT_APPROVE)
        assert done[0].run_started.approval_id == approval.approval_id


async def test_verdict_cas_a_crash_while_the_model_reads_asks_it_again(tmp_path: Path) -> None:
    """The rows say that a verdict is missing; the one that was under way is about a claim that is over."""
    reading, release = asyncio.Event(), asyncio.Event()

    async def slow(reply: UnclearReply) -> JudgedReply:
        reading.set()
        await release.wait()
        return JudgedReply(ReplyVerdict.CANCEL)

    async with judging(tmp_path, StandIn(slow)) as driver:
        conversation_id = await driver.create()
        await driver.send(conversation_id, "Springfield")
        stream = driver.open_send(conversation_id, "hm")
        async with asyncio.timeout(10):
            await reading.wait()
        driver.reply_model = model = always(ReplyVerdict.ANSWER)
        await driver.restart()
        release.set()

        async def completed() -> bool:
            return names(await driver.events(conversation_id))[-1] == "completed"

        await driver.until(completed)
        assert len(model.shown) == 1
        check_runs(await driver.events(conversation_id))
        stream.cancel()


async def test_a_cancel_while_the_model_reads_wins(tmp_path: Path) -> None:
    reading, release = asyncio.Event(), asyncio.Event()

    async def slow(reply: UnclearReply) -> JudgedReply:
        reading.set()
        await release.wait()
        return JudgedReply(ReplyVerdict.ANSWER)

    async with judging(tmp_path, StandIn(slow)) as driver:
        conversation_id = await driver.create()
        interaction_id = (await driver.send(conversation_id, "Springfield"))[-1].interaction_id
        sending = asyncio.ensure_future(driver.send(conversation_id, "hm"))
        async with asyncio.timeout(10):
            await reading.wait()
        await driver.stub.CancelInteraction(
            pb.CancelInteractionRequest(request_id="stop", interaction_id=interaction_id)
        )
        release.set()
        assert names(await sending)[-1] == "canceled"
        check_runs(await driver.events(conversation_id))


async def test_a_used_up_budget_of_generations_asks_no_model(tmp_path: Path) -> None:
    model = always(ReplyVerdict.CANCEL)
    async with judging(tmp_path, model, generations=2) as driver:
        driver.adapter.generations = 1
        conversation_id = await driver.create()
        await driver.send(conversation_id, "Springfield")
        events = await driver.send(conversation_id, "hm")
        assert names(events)[-1] in ("completed", "failed")
        assert model.shown == []

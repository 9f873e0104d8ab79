"""Whatever a domain returns, tells or raises: a call and a request have an end that is recorded (B3, E4, G1)."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from adapter_service.application.execute import run_tool
from adapter_service.sdk import PlanningRequest, Proposal, Referent, ReplyVerdict, Text, ToolError
from handrail.common.v1 import tool_pb2
from tests.fakes.adapter_harness import running_probe
from tests.fakes.processes import poll
from tests.grpc.adapter.test_adapter_broken_domain import SECONDS, Panic, approved_ring, with_tool


def numbers(error: BaseException) -> Iterator[int]:
    """A result that breaks where it is looked at."""
    yield 1
    raise error


def cyclic() -> dict[str, Any]:
    found: dict[str, Any] = {}
    found["itself"] = found
    return found


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(
    "result",
    [
        lambda: {"number": math.nan},
        cyclic,
        object,
        lambda: {"text": "\ud800"},
        lambda: {"number": 10**400},
        lambda: numbers(RuntimeError("inside")),
        lambda: numbers(Panic()),
    ],
    ids=["nan", "cyclic", "object", "surrogate", "huge number", "breaks", "panics"],
)
async def test_a_result_without_a_json_form_ends_the_call(
    tmp_path: Path, result: Callable[[], Any], asynchronous: bool
) -> None:
    async def later() -> Any:
        return result()

    adapt = with_tool("fail", function=later if asynchronous else result_function(result))
    async with running_probe(tmp_path, adapt=adapt) as probe:
        driver = await probe.open()
        await driver.say("fail")
        outcome = await asyncio.wait_for(driver.execute(driver.last.call_tool.calls[0]), SECONDS)
        assert (outcome.outcome, outcome.failure.code) == (tool_pb2.OUTCOME_FAILED, "tool_failed")


def result_function(result: Callable[[], Any]) -> Callable[[], Any]:
    def at_once() -> Any:
        return result()

    return at_once


async def test_the_json_form_of_a_result_is_made_outside_the_services_event_loop(tmp_path: Path) -> None:
    asked, seen = threading.Event(), []

    def slowly() -> Iterator[int]:
        seen.append(threading.current_thread())
        asked.wait(SECONDS)
        yield 7

    def fetch(number: int) -> Any:
        return slowly()

    async with running_probe(tmp_path, adapt=with_tool("fetch", function=fetch, say=lambda *_: "Done.")) as probe:
        driver = await probe.open()
        await driver.say("fetch 7")
        running = asyncio.create_task(driver.run())
        await poll(lambda: bool(seen), "the look at the result")
        assert (await (await probe.open("conv_2")).say("look Berlin")).HasField("call_tool")  # served meanwhile
        asked.set()
        assert (await running).complete.answer.text == "Done."
        assert threading.main_thread() not in seen


@pytest.mark.parametrize(
    ("code", "words"),
    [("x" * 2**23, "Down."), ("source_down", "x" * 2**23), ("source_down", "\ud800")],
    ids=["code", "endless", "surrogate"],
)
async def test_no_outcome_is_lost_for_the_words_of_a_tool_error(tmp_path: Path, code: str, words: str) -> None:
    def fail() -> dict[str, Any]:
        raise ToolError(code, Text(words, words))

    async with running_probe(tmp_path, adapt=with_tool("fail", function=fail)) as probe:
        driver = await probe.open()
        await driver.say("fail")
        outcome = await driver.execute(driver.last.call_tool.calls[0])
        assert outcome.outcome == tool_pb2.OUTCOME_FAILED
        assert len(outcome.failure.explanation) <= run_tool.MOST_EXPLANATION_CHARACTERS
        assert (await driver.finish(outcome)).HasField("fail")


@pytest.mark.parametrize(
    "callback",
    [{"say": lambda *_: "\ud800"}, {"referents": lambda _: (Referent("place", "\ud800", "X"),)}],
    ids=["say", "referents"],
)
async def test_an_effect_is_recorded_although_what_is_told_of_it_cannot_be_sent(
    tmp_path: Path, callback: dict[str, Any]
) -> None:
    async with running_probe(tmp_path, adapt=with_tool("ring", **callback)) as probe:
        driver, call = await approved_ring(probe)
        outcome = await driver.execute(call)
        assert (outcome.outcome, outcome.failure.source_code) == (tool_pb2.OUTCOME_UNKNOWN, "result_unreadable")
        assert (await driver.finish(outcome)).HasField("fail")


@pytest.mark.parametrize(
    "planned", [SystemExit(3), Panic(), Proposal(ReplyVerdict.NEW_REQUEST, reply=Text("\ud800", ""))]
)
async def test_a_planner_that_exits_or_tells_what_cannot_be_sent_ends_the_request(tmp_path: Path, planned: Any) -> None:
    class Broken:
        def plan(self, request: PlanningRequest) -> Proposal:
            if isinstance(planned, BaseException):
                raise planned
            return cast(Proposal, planned)

    async with running_probe(tmp_path, adapt=lambda domain: replace(domain, planner=Broken())) as probe:
        driver = await probe.open()
        failure = (await driver.say("anything")).fail.failure
        assert (failure.code, failure.source_code) == ("plan_invalid", "domain_error")

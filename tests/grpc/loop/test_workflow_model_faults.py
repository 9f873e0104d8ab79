"""Each way in which the provider of the workflow model can fail: its own code, the default taken, never an error."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from handrail.common.v1 import failure_pb2
from handrail.loop.v1 import event_pb2
from loop_service.application.ports import ActionOffer, ModelChoice
from tests.fakes.provider import Behaviour, Breaks, Hangs, Refuses, Says, one_after_another, providing
from tests.grpc.loop.driver import check_runs, last, names, running_loop
from tests.grpc.loop.modelled import choose, decided, modelled, offering, picks

# What the provider does, the code of it, and how often it is asked: retries are the SDK's, two at most.
FAULTS: dict[str, tuple[Behaviour, str, int]] = {
    "rate limit": (Refuses(429, "0.01"), "model_rate_limited", 3),
    "overload": (Refuses(529, "0.01"), "model_overloaded", 3),
    "server error": (Refuses(500, "0.01"), "model_unavailable", 3),
    "wrong key": (Refuses(401), "model_request_rejected", 1),
    "unknown model": (Refuses(404), "model_request_rejected", 1),
    "disconnect in mid-response": (Breaks(cut=True), "model_disconnected", 3),
    "malformed JSON": (Breaks(), "model_output_invalid", 1),
    "JSON that is no message": (Breaks(b'{"id": 1}'), "model_output_invalid", 1),
    "truncated": (Says('{"action_id": "rev', stop_reason="max_tokens"), "model_output_truncated", 1),
    "whole, but cut": (Says({"action_id": "revise"}, stop_reason="max_tokens"), "model_output_truncated", 1),
    "no room": (Says("", stop_reason="model_context_window_exceeded"), "model_output_truncated", 1),
    "refusal": (Says({"action_id": "revise"}, stop_reason="refusal"), "model_refused", 1),
    "pause": (Says({"action_id": "revise"}, stop_reason="pause_turn"), "model_output_invalid", 1),
    "prose": (Says("I would revise it."), "model_output_invalid", 1),
    "empty": (Says(""), "model_output_invalid", 1),
    "unknown id": (picks("delete_everything"), "model_output_invalid", 1),
    "id that is no text": (Says({"action_id": 1, "intent": ""}), "model_output_invalid", 1),
    "further fields": (Says({"action_id": "revise", "intent": "", "approved": True}), "model_output_invalid", 1),
}


async def test_whatever_is_not_an_offered_id_falls_back_to_the_default_and_is_recorded(tmp_path: Path) -> None:
    """One Loop, a conversation for each fault: the event, the run, the bill, and how often the provider was asked."""
    found, expected = {}, {}
    async with modelled(tmp_path, picks("revise")) as its:
        for name, (behaviour, code, times) in FAULTS.items():
            its.provider.behave = one_after_another(behaviour)
            its.provider.asked.clear()
            its.driver.adapter.decide_requests.clear()
            conversation_id = await its.driver.create()
            events = await its.driver.send(conversation_id, "go")
            run, (made,), (choice,) = await its.run(events), decided(events), its.choices()
            assert last(events, "completed").answer.text == "took look"
            check_runs(await its.driver.events(conversation_id))
            found[name] = (
                (made.action_id, made.chosen_by, made.model_code, choice.observation.action_choice.intent),
                (list(run.codes), run.usage.generations, run.usage.prompt_tokens),
                len(its.provider.asked),
            )
            # What the provider billed is recorded although its answer is not taken; the Adapter's answers say 7 each.
            billed = 64 if isinstance(behaviour, Says) else 14
            expected[name] = (("look", event_pb2.CHOSEN_BY_DEFAULT, code, ""), ([code], 1, billed), times)
    assert found == expected


async def test_a_model_that_does_not_answer_in_time_is_left(tmp_path: Path) -> None:
    async with modelled(tmp_path, Hangs(), workflow_model_seconds=0.3) as its:
        events = await its.driver.send(await its.driver.create(), "go")
        (made,) = decided(events)
        assert (made.action_id, made.model_code) == ("look", "model_timed_out")
        assert len(its.provider.asked) == 1


async def test_a_retry_that_would_come_too_late_is_not_waited_for(tmp_path: Path) -> None:
    """Else the stream would hang until the model's time is up, long after the driver's own deadline."""
    async with modelled(tmp_path, Refuses(429, "3600"), workflow_model_seconds=100) as its:
        events = await its.driver.send(await its.driver.create(), "go")
        assert decided(events)[0].model_code == "model_rate_limited"
        assert len(its.provider.asked) == 1


async def test_a_redirect_is_not_followed_with_the_key(tmp_path: Path) -> None:
    async with providing(picks("revise")) as elsewhere:
        redirect = Refuses(307, location=f"{elsewhere.base_url}/v1/messages")
        async with modelled(tmp_path, redirect) as its:
            events = await its.driver.send(await its.driver.create(), "go")
            assert decided(events)[0].model_code == "model_request_rejected"
        assert elsewhere.asked == []


class StandIn:
    """An action model that no provider is behind: whatever it does is up to `answer`."""

    def __init__(self, answer: Callable[[], Awaitable[ModelChoice]]) -> None:
        self.answer = answer

    async def choose(self, offer: ActionOffer, seconds: float) -> ModelChoice:
        return await self.answer()


async def _not_offered() -> ModelChoice:
    return ModelChoice("delete_all", "because I say so")


async def _raise() -> ModelChoice:
    raise RuntimeError("TEXT-OF-A-CLIENT")


async def _never() -> ModelChoice:
    await asyncio.Event().wait()
    raise AssertionError("never")


@pytest.mark.parametrize(
    ("answer", "code"),
    [(_not_offered, "model_output_invalid"), (_raise, "model_unavailable"), (_never, "model_timed_out")],
)
async def test_the_loop_itself_trusts_no_client_of_a_model(
    tmp_path: Path, answer: Callable[[], Awaitable[ModelChoice]], code: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Another provider's client may check nothing, keep no time limit and raise what it likes."""
    async with running_loop(tmp_path, offering(), workflow_model_seconds=0.1) as driver:
        await driver.stop()
        driver.action_model = StandIn(answer)
        await driver.start()
        events = await driver.send(await driver.create(), "go")
        (made,) = decided(events)
        assert (made.action_id, made.chosen_by, made.model_code) == ("look", event_pb2.CHOSEN_BY_DEFAULT, code)
    assert "TEXT-OF-A-CLIENT" not in "".join(capfd.readouterr())


async def test_a_provider_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    async with modelled(tmp_path, picks("revise")) as its:
        await its.provider.stop()
        events = await its.driver.send(await its.driver.create(), "go")
        assert decided(events)[0].model_code == "model_unavailable"


@pytest.mark.parametrize(
    "first", [Refuses(429, "0.01"), Refuses(529, "0.01"), Refuses(500, "0.01"), Breaks(cut=True)], ids=repr
)
async def test_what_passes_is_retried_and_the_answer_taken(tmp_path: Path, first: Behaviour) -> None:
    async with modelled(tmp_path, one_after_another(first, picks("revise"))) as its:
        events = await its.driver.send(await its.driver.create(), "go")
        (made,) = decided(events)
        assert (made.action_id, made.chosen_by, made.model_code) == ("revise", event_pb2.CHOSEN_BY_MODEL, "")
        assert len(its.provider.asked) == 2
        assert list((await its.run(events)).codes) == []


async def test_more_actions_than_a_prompt_may_hold_are_not_shown_to_the_model(tmp_path: Path) -> None:
    many = [(f"action_{n}", "One") for n in range(65)]
    async with modelled(tmp_path, picks("action_1"), offering(many, "action_0")) as its:
        events = await its.driver.send(await its.driver.create(), "go")
        (made,) = decided(events)
        assert (made.action_id, made.model_code) == ("action_0", "context_budget_exceeded")
        assert its.provider.asked == []


@pytest.mark.parametrize(
    ("code", "behaviour"),
    [
        ("model_rate_limited", FAULTS["rate limit"][0]),
        ("model_overloaded", FAULTS["overload"][0]),
        ("model_unavailable", FAULTS["server error"][0]),
        ("model_request_rejected", FAULTS["wrong key"][0]),
        ("model_disconnected", FAULTS["disconnect in mid-response"][0]),
        ("model_timed_out", Hangs()),
        ("model_output_invalid", FAULTS["unknown id"][0]),
        ("model_output_truncated", FAULTS["truncated"][0]),
        ("model_refused", FAULTS["refusal"][0]),
        ("context_budget_exceeded", picks("action_1")),
    ],
)
async def test_without_a_default_the_models_fault_ends_the_run_with_its_code(
    tmp_path: Path, code: str, behaviour: Behaviour
) -> None:
    """Nothing was executed, and the failure says what happened (G1), never in the words of the provider (G5)."""
    offered = [(f"action_{n}", "One") for n in range(65 if code == "context_budget_exceeded" else 2)]
    limit = 0.3 if code == "model_timed_out" else 10
    async with modelled(tmp_path, behaviour, lambda _: choose(offered, ""), workflow_model_seconds=limit) as its:
        events = await its.driver.send(await its.driver.create(), "go")
        failure = last(events, "failed").failure
        assert (failure.code, failure.progress) == (code, failure_pb2.PROGRESS_NOT_EXECUTED)
        assert failure.explanation
        assert "{" not in failure.explanation
        assert "SECRET-OF-THE-PROVIDER" not in str(events)
        assert "tool_started" not in names(events)
        assert code in (await its.run(events)).codes

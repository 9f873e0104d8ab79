"""The workflow model picks among offered actions (A4, A5): the real SDK against the fake provider, the real Loop."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from handrail.adapter.v1 import domain_adapter_service_pb2 as adapter_pb
from handrail.common.v1 import decision_pb2, failure_pb2
from handrail.loop.v1 import event_pb2
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail_rpc import telemetry
from loop_service.clients.workflow_model import CHOOSE_PROMPT, JUDGE_PROMPT
from tests.fakes.adapter import ask, call, complete, reply
from tests.fakes.otlp_receiver import OtlpReceiver
from tests.fakes.provider import Asked, Behaviour, Hangs, Says, one_after_another
from tests.grpc.loop.driver import check_runs, last, names, running_loop
from tests.grpc.loop.modelled import KEY, choose, decided, modelled, offering, picks


async def test_the_model_picks_an_offered_action_and_its_cost_is_recorded(tmp_path: Path) -> None:
    async with modelled(tmp_path, picks("revise", "wants  a\nrevision " + "x" * 500)) as its:
        conversation_id = await its.driver.create()
        events = await its.driver.send(conversation_id, "make it shorter")
        assert last(events, "completed").answer.text == "took revise"
        (made,) = decided(events)
        assert (made.action_id, made.chosen_by, made.model_code) == ("revise", event_pb2.CHOSEN_BY_MODEL, "")
        (choice,) = its.choices()
        intent = choice.observation.action_choice.intent
        assert intent.startswith("wants a revision xxx")
        assert len(intent) == 200
        run = await its.run(events)
        # Two answers of the scripted Adapter say 7 and 3 tokens each, the provider 50 and 7.
        assert (run.usage.generations, run.usage.prompt_tokens, run.usage.output_tokens) == (1, 64, 13)
        assert failure_pb2.STAGE_GENERATION in {each.stage for each in run.usage.stage_durations}
        assert list(run.codes) == []
        check_runs(await its.driver.events(conversation_id))


async def test_where_policy_leaves_one_action_no_model_is_asked(tmp_path: Path) -> None:
    async with modelled(tmp_path, picks("look"), offering([("look", "Look it up")], default="")) as its:
        events = await its.driver.send(await its.driver.create(), "go")
        (made,) = decided(events)
        assert (made.action_id, made.chosen_by) == ("look", event_pb2.CHOSEN_BY_RULE)
        assert its.provider.asked == []
        assert (await its.run(events)).usage.generations == 0


async def test_without_a_model_the_default_is_taken_and_nothing_is_recorded_of_one(tmp_path: Path) -> None:
    async with running_loop(tmp_path, offering()) as driver:
        events = await driver.send(await driver.create(), "go")
        (made,) = decided(events)
        assert (made.action_id, made.chosen_by, made.model_code) == ("look", event_pb2.CHOSEN_BY_DEFAULT, "")
        run = (await driver.stub.GetRun(pb.GetRunRequest(run_id=events[0].run_id))).run
        assert run.usage.generations == 0
        assert failure_pb2.STAGE_GENERATION not in {each.stage for each in run.usage.stage_durations}


async def test_a_plain_turn_asks_no_workflow_model(tmp_path: Path) -> None:
    async with modelled(tmp_path, picks("look"), lambda _request: complete("hello")) as its:
        assert names(await its.driver.send(await its.driver.create(), "hi"))[-1] == "completed"
        assert its.provider.asked == []


async def test_the_prompt_holds_the_actions_and_the_users_words_and_nothing_else(tmp_path: Path) -> None:
    """No tool input, no result, no answer of before, no key; and one answer's form with the offered ids alone."""

    def decide(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        observed = request.observation
        if observed.WhichOneof("kind") == "user_message" and observed.user_message.text == "first":
            return complete("ANSWER WITH A DOCUMENT IN IT")
        if observed.WhichOneof("kind") == "user_message":
            return call(f"CALL-{request.interaction_id}")
        return choose() if observed.WhichOneof("kind") == "tool_finished" else complete("took it")

    async with modelled(tmp_path, picks("look"), decide) as its:
        conversation_id = await its.driver.create()
        await its.driver.send(conversation_id, "first")
        await its.driver.send(conversation_id, 'second "quoted"')
        (asked,) = its.provider.asked
    assert asked.path == "/v1/messages"
    assert asked.data == {
        "actions": [
            {"action_id": "look", "title": "Look it up", "description": "About look", "effect": "read"},
            {"action_id": "revise", "title": "Revise the draft", "description": "About revise", "effect": "read"},
        ],
        "user_texts": ["first", 'second "quoted"'],
    }
    assert asked.body["system"] == CHOOSE_PROMPT
    assert asked.body["output_config"]["format"]["schema"]["properties"]["action_id"]["enum"] == ["look", "revise"]
    assert sorted(asked.body) == ["max_tokens", "messages", "model", "output_config", "system"]
    for hidden in (KEY, "CALL-", "looked", "art_", "ANSWER", "several ways on", "conv_"):
        assert hidden.encode() not in asked.raw
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert "traceparent" not in asked.headers


async def test_the_prompt_stays_bounded_however_long_the_conversation_is(tmp_path: Path) -> None:
    many = [(f"action_{n}", "t" * 5000) for n in range(64)]
    async with modelled(tmp_path, picks("action_0"), offering(many, "action_0")) as its:
        conversation_id = await its.driver.create()
        for _ in range(12):
            await its.driver.send(conversation_id, "w" * 3000)
        sizes = [len(asked.raw) for asked in its.provider.asked]
        assert len(sizes) == 12
        assert max(sizes[1:]) == min(sizes[1:])
        assert max(sizes) < 30_000
        await its.driver.send(conversation_id, "w" * 8000)
        assert len(its.provider.asked[-1].data["user_texts"][-1]) == 4000


async def test_the_budget_of_generations_bounds_what_the_model_is_asked(tmp_path: Path) -> None:
    def decide(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        return complete() if request.decision_number == 4 else choose()

    async with modelled(tmp_path, picks("revise"), decide, generations=2) as its:
        events = await its.driver.send(await its.driver.create(), "go")
        assert names(events)[-1] == "completed"
        assert [(m.chosen_by, m.model_code) for m in decided(events)] == [
            (event_pb2.CHOSEN_BY_MODEL, ""),
            (event_pb2.CHOSEN_BY_MODEL, ""),
            (event_pb2.CHOSEN_BY_DEFAULT, "generation_limit_reached"),
        ]
        assert len(its.provider.asked) == 2
        assert [r.budgets.generations_left for r in its.driver.adapter.decide_requests] == [2, 1, 0, 0]


async def test_a_crash_while_the_model_reads_asks_again_and_counts_both(tmp_path: Path) -> None:
    hangs = Hangs()
    async with modelled(tmp_path, one_after_another(hangs, picks("revise")), workflow_model_seconds=60) as its:
        conversation_id = await its.driver.create()
        stream = its.driver.open_send(conversation_id, "go")
        async with asyncio.timeout(10):
            await its.provider.arrived.wait()
        await its.driver.restart()

        async def completed() -> bool:
            return names(await its.driver.events(conversation_id))[-1] == "completed"

        await its.driver.until(completed)
        events = await its.driver.events(conversation_id)
        (made,) = decided(events)
        assert (made.action_id, made.chosen_by) == ("revise", event_pb2.CHOSEN_BY_MODEL)
        assert len(its.provider.asked) == 2
        assert (await its.run(events)).usage.generations == 2
        check_runs(events)
        stream.cancel()


async def test_a_restart_without_the_model_takes_the_default_of_a_choice_that_it_had_left_open(tmp_path: Path) -> None:
    async with modelled(tmp_path, Hangs(), workflow_model_seconds=60) as its:
        conversation_id = await its.driver.create()
        stream = its.driver.open_send(conversation_id, "go")
        async with asyncio.timeout(10):
            await its.provider.arrived.wait()
        its.driver.settings["workflow_model"] = None
        await its.driver.restart()

        async def completed() -> bool:
            return names(await its.driver.events(conversation_id))[-1] == "completed"

        await its.driver.until(completed)
        (made,) = decided(await its.driver.events(conversation_id))
        assert (made.action_id, made.chosen_by, made.model_code) == ("look", event_pb2.CHOSEN_BY_DEFAULT, "")
        stream.cancel()


async def test_while_the_model_reads_everybody_else_is_served(tmp_path: Path) -> None:
    """No transaction is open: the writer takes other conversations, and the message that joins this very run."""
    hangs = Hangs()

    def behave(asked: Asked) -> Behaviour:
        return hangs if "slow" in asked.data["user_texts"] else picks("revise")

    async with modelled(tmp_path, behave, workflow_model_seconds=60) as its:
        conversation_id = await its.driver.create()
        slow = its.driver.open_send(conversation_id, "slow")
        async with asyncio.timeout(10):
            await its.provider.arrived.wait()
        assert names(await its.driver.send(await its.driver.create(), "quick"))[-1] == "completed"
        joined = its.driver.open_send(conversation_id, "and one more thing")

        async def accepted() -> bool:
            return "message_accepted" in names(await its.driver.events(conversation_id))

        await its.driver.until(accepted)
        assert decided(await its.driver.events(conversation_id)) == []
        slow.cancel()
        joined.cancel()


async def test_a_cancel_while_the_model_reads_wins(tmp_path: Path) -> None:
    async with modelled(tmp_path, Hangs(), workflow_model_seconds=60) as its:
        conversation_id = await its.driver.create()
        sending = asyncio.ensure_future(its.driver.send(conversation_id, "go"))
        async with asyncio.timeout(10):
            await its.provider.arrived.wait()
        interaction_id = (await its.driver.events(conversation_id))[0].interaction_id
        await its.driver.stub.CancelInteraction(
            pb.CancelInteractionRequest(request_id="stop", interaction_id=interaction_id)
        )
        assert names(await sending)[-1] == "canceled"
        assert its.choices() == []
        check_runs(await its.driver.events(conversation_id))


def asking(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
    """Asks; a reply is unclear until it was judged."""
    observed = request.observation
    if observed.WhichOneof("kind") != "clarification_reply":
        return ask(options=[("c1", "Springfield MO"), ("c2", "Springfield IL")])
    if observed.clarification_reply.reply_verdict == decision_pb2.REPLY_VERDICT_ANSWER:
        return complete(f"answered {observed.clarification_reply.text}")
    return reply(decision_pb2.REPLY_VERDICT_UNCLEAR)


@pytest.mark.parametrize(
    ("verdict", "ending", "code"),
    [
        (Says({"verdict": "cancel"}), "canceled", ""),
        (Says({"verdict": "answer"}), "completed", ""),
        (Says({"verdict": "unclear"}), "completed", ""),
        (Says({"verdict": "approve"}), "completed", "model_output_invalid"),
        (Says("cancel"), "completed", "model_output_invalid"),
        (Says({"verdict": "cancel"}, stop_reason="refusal"), "completed", "model_refused"),
    ],
)
async def test_an_unclear_reply_is_judged_by_the_provider(
    tmp_path: Path, verdict: Behaviour, ending: str, code: str
) -> None:
    """What is no verdict counts as unclear, so as an answer (C7), and its code stands in the run."""
    async with modelled(tmp_path, verdict, asking) as its:
        conversation_id = await its.driver.create()
        await its.driver.send(conversation_id, "Springfield")
        events = await its.driver.send(conversation_id, "hm")
        assert names(events)[-1] == ending
        (asked,) = its.provider.asked
        assert asked.body["system"] == JUDGE_PROMPT
        assert asked.data == {"question": "Which one?", "options": ["Springfield MO", "Springfield IL"], "reply": "hm"}
        run = await its.run(events)
        assert run.usage.generations == 1
        assert [each for each in run.codes if each.startswith("model_")] == ([code] if code else [])


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[OtlpReceiver]:
    """Spans of a process whose environment asks the SDK for contents and for its own log."""
    monkeypatch.setenv("ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE", "content")
    monkeypatch.setattr(logging.getLogger("anthropic"), "level", logging.DEBUG)
    with OtlpReceiver() as running:
        assert telemetry.configure("handrail-loop", running.endpoint)
        try:
            yield running
        finally:
            telemetry.shutdown()


async def test_neither_traces_nor_logs_hold_the_key_or_a_text(
    receiver: OtlpReceiver, tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """G5, for an answer that is taken and one that is not; the span of the model is one of the run's trace (J2)."""

    def behave(asked: Asked) -> Behaviour:
        return (
            picks("WORDS-OF-THE-MODEL") if len(asked.data["user_texts"]) > 1 else picks("revise", "WORDS-OF-THE-MODEL")
        )

    async with modelled(tmp_path, behave) as its:
        conversation_id = await its.driver.create()
        await its.driver.send(conversation_id, "WORDS-OF-THE-USER")
        await its.driver.send(conversation_id, "WORDS-OF-THE-USER again")
        assert len(its.provider.asked) == 2
    spans = receiver.spans("loop.model")
    assert [span.attributes.get("error.type", "") for span in spans] == ["", "model_output_invalid"]
    assert [span.attributes["gen_ai.usage.input_tokens"] for span in spans] == [50, 50]
    assert {span.parent_span_id for span in spans} == {span.span_id for span in receiver.spans("loop.run")}
    told = json.dumps([str(span) for span in receiver.spans()]) + "".join(capfd.readouterr()) + caplog.text
    for hidden in (KEY, "WORDS-OF-THE-USER", "WORDS-OF-THE-MODEL", "Look it up"):
        assert hidden not in told

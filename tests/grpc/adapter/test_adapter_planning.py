"""From a text to an answer: slots, questions, corrections, memory, failures, checks (A7, C5 to C11, F, H)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError

from adapter_service.config import AdapterSettings
from adapter_service.sdk import Domain, RefusedInput, ValueFill
from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail.adapter.v1 import observation_pb2 as obs
from handrail.adapter.v1 import session_pb2
from handrail.common.v1 import decision_pb2, fact_pb2, failure_pb2, prompt_pb2
from handrail_rpc.errors import InvalidArgument
from tests.fakes.adapter_harness import Driver, Probe, position, refusal, running_probe


async def test_a_chain_uses_earlier_results_and_one_text_answers_all_tasks(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say("look Berlin then measure it")
    assert [call.tool for call in driver.last.call_tool.calls] == ["look"]
    answer = (await driver.run()).complete.answer
    assert answer.text == "BER is Berlin.\n\nBER measures 3 m."
    assert [citation.identity for citation in answer.entity_citations] == ["BER"]
    assert len(answer.tool_call_ids) == 2


async def test_reads_that_are_ready_go_together_and_run_in_parallel(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say(" then ".join(["look Berlin"] * 6))
    calls = driver.last.call_tool.calls
    assert len(calls) == 4
    probe.world.barrier = threading.Barrier(4)  # broken, and an error, unless all four are inside at once
    outcomes = await asyncio.gather(*(driver.execute(call) for call in calls))
    probe.world.barrier = None
    assert [outcome.receipt.summary for outcome in outcomes] == ["BER is Berlin."] * 4
    await driver.finish(*reversed(outcomes))
    assert len(driver.last.call_tool.calls) == 2
    assert (await driver.run()).HasField("complete")


async def test_how_many_reads_run_in_parallel_is_a_setting_and_the_others_queue(tmp_path: Path) -> None:
    async with running_probe(tmp_path, parallel_reads=2) as probe:
        driver = await probe.open()
        await driver.say(" then ".join(["look Berlin"] * 5))
        together = []
        while driver.last.HasField("call_tool"):
            calls = driver.last.call_tool.calls
            together.append(len(calls))
            await driver.finish(*await asyncio.gather(*(driver.execute(call) for call in calls)))
        assert together == [2, 2, 1]
        assert driver.last.HasField("complete")
        assert probe.world.most_running <= 2
    with pytest.raises(ValidationError, match="HANDRAIL_ADAPTER_PARALLEL_READS|parallel_reads"):
        AdapterSettings(data_dir=tmp_path, parallel_reads=17)


async def test_a_draft_goes_alone_and_reads_behind_it_wait(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say("look Berlin then write memo at 1 then check")
    assert [call.tool for call in driver.last.call_tool.calls] == ["look"]
    await driver.finish(*[await driver.execute(call) for call in driver.last.call_tool.calls])
    assert [call.tool for call in driver.last.call_tool.calls] == ["write_note"]
    assert (await driver.run()).complete.answer.text == "BER is Berlin.\n\nWrote the note memo.\n\nThe note is fine."


async def test_several_meanings_give_a_closed_list_and_nothing_else_is_accepted(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say("look London")
    prompt = driver.last.ask.prompt
    assert prompt.type == prompt_pb2.PROMPT_TYPE_SELECT
    assert prompt.required
    assert [option.identity for option in prompt.options] == ["LGB", "LCA"]
    assert all(option.candidate_id.startswith("cnd_") for option in prompt.options)
    for foreign in ("cnd_other", "LGB", "BER"):
        error = await refusal(driver.reply(selected_candidate_id=foreign))
        assert isinstance(error, InvalidArgument)
        assert "selected_candidate_id" in error.message
    other = await probe.open("conv_2")
    await other.say("look London")
    stolen = other.last.ask.prompt.options[0].candidate_id
    assert isinstance(await refusal(driver.reply(selected_candidate_id=stolen)), InvalidArgument)
    assert isinstance(await refusal(driver.reply(skip=True)), InvalidArgument)
    wrong = obs.ClarificationReply(clarification_id="c", task_id="tsk_x", slot="place", text="Berlin")
    assert isinstance(await refusal(driver.decide(obs.Observation(clarification_reply=wrong))), InvalidArgument)
    await driver.reply(selected_candidate_id=prompt.options[1].candidate_id)
    assert (await driver.run()).complete.answer.text == "LCA is London."


@pytest.mark.parametrize(("text", "code"), [("London LCA", "LCA"), ("lgb", "LGB"), ("it is Berlin", "BER")])
async def test_a_text_may_name_a_candidate_or_another_meaning(probe: Probe, text: str, code: str) -> None:
    driver = await probe.open()
    await driver.say("look London")
    decision = await driver.reply(text)
    assert decision.reply_verdict == decision_pb2.REPLY_VERDICT_ANSWER
    assert (await driver.run()).complete.answer.entity_citations[0].identity == code


async def test_a_reply_without_meaning_takes_no_option_away(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say("look London")
    first = driver.last.ask.prompt
    await driver.reply("Elsewhere")
    again = driver.last.ask.prompt
    assert again.type == prompt_pb2.PROMPT_TYPE_SELECT
    assert again.question == "There is no such place. Which place?"
    assert [option.identity for option in again.options] == [option.identity for option in first.options]
    assert not {option.candidate_id for option in again.options} & {option.candidate_id for option in first.options}
    await driver.reply(selected_candidate_id=again.options[1].candidate_id)
    assert (await driver.run()).complete.answer.text == "LCA is London."


async def test_a_missing_slot_is_asked_for_in_the_callers_language(probe: Probe) -> None:
    driver = await probe.open(locale="ru")
    await driver.say("write")
    prompt = driver.last.ask.prompt
    assert (prompt.type, prompt.question) == (prompt_pb2.PROMPT_TYPE_INPUT, "Какой заголовок?")
    await driver.reply("Заметка")
    assert (await driver.run()).complete.answer.artifacts[0].title == "Заметка"


async def test_words_without_meaning_are_asked_again_twice_and_then_fail_with_their_code(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say("look Nowhere")
    for _ in range(2):
        assert driver.last.ask.prompt.question == "There is no such place. Which place?"
        await driver.reply("Elsewhere")
    failure = driver.last.fail.failure
    assert (failure.code, failure.stage) == ("entity_not_found", failure_pb2.STAGE_PLANNING)
    assert failure.progress == failure_pb2.PROGRESS_NOT_EXECUTED


async def test_a_fact_fills_a_slot_and_is_asked_for_where_it_is_missing(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say("where", facts=[position(52.5)])
    assert (await driver.run()).complete.answer.text == "Latitude 52.5."
    stranger = await probe.open("conv_2")
    await stranger.say("where")
    assert stranger.last.ask.prompt.question == "Where are you?"
    await stranger.reply("here it is", facts=[position(10, fact_pb2.SOURCE_DEMO)])
    answer = (await stranger.run()).complete.answer
    assert answer.text == "Latitude 10."
    assert answer.limitations == ["position is a demonstration value."]
    typed = await probe.open("conv_3")
    await typed.say("where")
    await typed.reply("41.5")
    assert (await typed.run()).complete.answer.text == "Latitude 41.5."


async def test_there_is_the_newest_referent_of_the_session(probe: Probe) -> None:
    first = await probe.open()
    await first.say("look Berlin then look Paris")
    await first.run()
    second = await probe.open()
    await second.say("measure there")
    assert (await second.run()).complete.answer.text == "PAR measures 3 m."


async def test_a_correction_reopens_the_task_and_its_dependents_only(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say("look Berlin then measure it then look Paris then write")
    await driver.run()
    assert driver.last.ask.prompt.task.slot == "title"
    before = {task.task_id: task for task in (await _plan(probe, driver)).tasks}
    decision = await driver.reply("actually paris")
    assert decision.reply_verdict == decision_pb2.REPLY_VERDICT_CORRECTION
    after = (await _plan(probe, driver)).tasks
    states = [(task.tool, session_pb2.TaskState.Name(task.state)) for task in after]
    assert states == [
        ("look", "TASK_STATE_CALLED"),
        ("measure", "TASK_STATE_OPEN"),
        ("look", "TASK_STATE_DONE"),
        ("write_note", "TASK_STATE_OPEN"),
    ]
    assert after[2] == before[after[2].task_id]
    await driver.run()
    assert driver.last.ask.prompt.task.slot == "title"
    await driver.reply("memo")
    assert (await driver.run()).complete.answer.text.startswith("PAR is Paris.\n\nPAR measures 3 m.")


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("new look Paris", decision_pb2.REPLY_VERDICT_NEW_REQUEST),
        ("cancel", decision_pb2.REPLY_VERDICT_CANCEL),
        ("hm", decision_pb2.REPLY_VERDICT_UNCLEAR),
    ],
)
async def test_other_verdicts_change_no_plan_and_carry_no_action(
    probe: Probe, text: str, verdict: decision_pb2.ReplyVerdict.ValueType
) -> None:
    driver = await probe.open()
    await driver.say("look London")
    plan = await _plan(probe, driver)
    decision = await driver.reply(text)
    assert (decision.reply_verdict, decision.WhichOneof("outcome")) == (verdict, None)
    assert decision.plan_version == 1
    assert (await _plan(probe, driver)).tasks == plan.tasks
    judged = obs.ClarificationReply(text="Berlin", reply_verdict=decision_pb2.REPLY_VERDICT_ANSWER)
    await driver.decide(obs.Observation(clarification_reply=judged))
    assert (await driver.run()).complete.answer.text == "BER is Berlin."


async def test_one_failure_after_two_steps_lists_them_and_keeps_the_original_code(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say("look Berlin then measure it then fail then write memo")
    while driver.last.HasField("call_tool"):
        await driver.finish(*[await driver.execute(call) for call in driver.last.call_tool.calls])
    failure = driver.last.fail.failure
    assert (failure.stage, failure.code, failure.source_code) == (
        failure_pb2.STAGE_TOOL,
        "tool_failed",
        "source_down",
    )
    assert failure.explanation == "The source is down."
    assert failure.progress == failure_pb2.PROGRESS_PARTIAL
    assert "BER is Berlin." in [step.summary for step in failure.confirmed_steps]
    assert failure.request_id


async def test_a_result_without_the_wanted_part_ends_with_the_confirmed_step(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say("find Xyz then measure it")
    failure = (await driver.run()).fail.failure
    assert (failure.code, failure.progress) == ("entity_not_found", failure_pb2.PROGRESS_PARTIAL)
    assert failure.explanation == "Found []. Measure: the step before found nothing to go on with."
    assert [step.tool for step in failure.confirmed_steps] == ["find"]


async def test_a_correctable_error_asks_for_that_slot_again(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say("fetch -5")
    await driver.run()
    assert driver.last.ask.prompt.task.slot == "number"
    assert driver.last.ask.prompt.question == "The number must not be negative. Which number?"
    await driver.reply("seven")
    assert "not an accepted value" in driver.last.ask.prompt.question
    await driver.reply("7")
    assert (await driver.run()).complete.answer.text == "Number 7."


async def test_a_refused_input_goes_back_to_the_domain_once_before_a_person_is_asked(tmp_path: Path) -> None:
    refused: list[RefusedInput] = []

    def proposing(value: int) -> Callable[[Domain], Domain]:
        def correct(given: RefusedInput) -> ValueFill | None:
            refused.append(given)
            return ValueFill(value) if given.slot == "number" else None

        return lambda domain: replace(domain, correct=correct)

    async with running_probe(tmp_path / "right", adapt=proposing(7)) as probe:
        driver = await probe.open()
        await driver.say("look Berlin then fetch -7")
        answer = (await driver.run()).complete.answer
        assert answer.text == "BER is Berlin.\n\nNumber 7."
        assert [(each.tool, each.arguments, each.code) for each in refused] == [
            ("fetch", {"number": -7}, "tool_input_invalid")
        ]
    async with running_probe(tmp_path / "wrong", adapt=proposing(-8)) as probe:
        driver = await probe.open()
        await driver.say("fetch -7")
        prompt = (await driver.run()).ask.prompt
        assert prompt.question == "The number must not be negative. Which number?"
        assert len(refused) == 2
        await driver.reply("9")
        assert (await driver.run()).complete.answer.text == "Number 9."


async def test_an_exceptions_text_never_leaves_the_process(probe: Probe) -> None:
    probe.world.broken = True
    driver = await probe.open()
    await driver.say("fail")
    outcome = await driver.execute(driver.last.call_tool.calls[0])
    assert outcome.failure.code == "tool_failed"
    assert "secret" not in str(outcome)
    assert "secret" not in str(await driver.finish(outcome))


@pytest.mark.parametrize(
    ("suffix", "code"),
    [
        (" Also see XYZ.", "unverified_identity"),
        (" Posted the note.", "claimed_change_not_executed"),
        (" Wrote the note.", "claimed_change_not_executed"),
    ],
)
async def test_an_answer_that_says_more_than_happened_is_not_shown(probe: Probe, suffix: str, code: str) -> None:
    probe.world.answer_suffix = suffix
    driver = await probe.open()
    await driver.say("look Berlin")
    failure = (await driver.run()).fail.failure
    assert (failure.code, failure.stage) == (code, failure_pb2.STAGE_VERIFICATION)


async def test_an_answer_cites_the_documentation_that_its_results_quote(probe: Probe) -> None:
    driver = await probe.open()
    await driver.say("consult brakes then consult wheels")
    answer = (await driver.run()).complete.answer
    cited = [(c.path, c.anchor, c.title, c.sha256) for c in answer.documentation_citations]
    assert cited == [("manual.md", topic, "Topic", "0" * 64) for topic in ("brakes", "wheels")]
    assert not answer.limitations


async def test_an_answer_that_cites_only_what_it_was_not_given_is_not_shown(probe: Probe) -> None:
    probe.world.answer_suffix = " As manual.md#made_up says."
    driver = await probe.open()
    await driver.say("look Berlin")
    failure = (await driver.run()).fail.failure
    assert (failure.code, failure.stage) == ("unverified_citation", failure_pb2.STAGE_VERIFICATION)


async def test_an_answer_with_one_unconfirmed_citation_among_others_names_it_as_a_limitation(probe: Probe) -> None:
    probe.world.answer_suffix = " As manual.md#made_up says."
    driver = await probe.open()
    await driver.say("consult brakes")
    answer = (await driver.run()).complete.answer
    assert [citation.anchor for citation in answer.documentation_citations] == ["brakes"]
    assert ["manual.md#made_up" in limitation for limitation in answer.limitations] == [True]


async def test_replies_without_tools_are_checked_too(probe: Probe) -> None:
    driver = await probe.open()
    assert (await driver.say("say hello")).complete.answer.text == "hello"
    driver = await probe.open()
    assert (await driver.say("say Posted the note")).fail.failure.code == "claimed_change_not_executed"


@pytest.mark.parametrize("text", ["nonsense", "loop"])
async def test_an_invalid_plan_executes_nothing(probe: Probe, text: str) -> None:
    driver = await probe.open()
    failure = (await driver.say(text)).fail.failure
    assert (failure.code, failure.progress) == ("plan_invalid", failure_pb2.PROGRESS_NOT_EXECUTED)


async def test_a_planner_that_breaks_ends_the_request_and_not_the_service(probe: Probe) -> None:
    driver = await probe.open()
    failure = (await driver.say("explode")).fail.failure
    assert (failure.code, failure.source_code) == ("plan_invalid", "domain_error")
    assert "breaks" not in str(failure)


async def test_roles_decide_which_tools_may_run(probe: Probe) -> None:
    driver = await probe.open(roles=("author",))
    block = (await driver.say("guarded")).blocked.block
    assert (block.code, block.rule, block.lifted_by) == ("tool_not_permitted", "role_permits", "")
    boss = await probe.open(roles=("boss",))
    await boss.say("guarded")
    assert (await boss.execute(boss.last.call_tool.calls[0], caller=driver.principal())).block.code == (
        "tool_not_permitted"
    )


async def test_the_context_stays_flat_over_a_conversation(probe: Probe) -> None:
    sizes = []
    for turn in range(40):
        driver = await probe.open()
        await driver.say(f"look Berlin then write memo{turn:03} at 1", facts=[position(1)])
        sizes.append((await driver.run()).context.context_size_bytes)
    assert sizes[20:] == [sizes[20]] * 20
    assert len(set(sizes[11:])) == 1


async def test_the_session_explains_plan_facts_and_allowed_actions(probe: Probe) -> None:
    driver = await probe.open(roles=("author",))
    await driver.say("write memo then post", facts=[position(1)])
    await driver.run()
    request = pb2.GetSessionRequest(domain_session_id=driver.session_id, caller=driver.principal(), locale="en")
    session = (await probe.stub.GetSession(request)).session
    assert [fact.name for fact in session.facts] == ["position"]
    actions = {action.tool: action for action in session.actions}
    assert actions["look"].allowed
    assert [block.code for block in actions["guarded"].blocks] == ["tool_not_permitted"]
    assert [block.code for block in actions["post_note"].blocks] == ["validation_failed", "approval_missing"]
    assert actions["post_note"].task_id
    assert session.plan.decision_number == driver.number
    request.domain_session_id = "ses_x"
    assert (await refusal(probe.stub.GetSession(request))).reason == "SESSION_NOT_FOUND"


async def test_the_domain_is_described_from_its_declarations(probe: Probe) -> None:
    described = await probe.stub.DescribeDomain(pb2.DescribeDomainRequest(domain="probe", locale="ru"))
    tools = {tool.name: tool for tool in described.tools}
    assert (described.title, described.policy_version) == ("Проба", "1")
    assert tools["post_note"].idempotent
    assert tools["post_note"].approval.required_role == "editor"
    assert tools["post_note"].approval.expires_after.seconds == 3600
    assert not tools["look"].HasField("approval")
    assert described.limits.max_facts == 32
    unknown = probe.stub.DescribeDomain(pb2.DescribeDomainRequest(domain="x"))
    assert (await refusal(unknown)).reason == "DOMAIN_NOT_FOUND"


async def _plan(probe: Probe, driver: Driver) -> session_pb2.PlanView:
    request = pb2.GetSessionRequest(domain_session_id=driver.session_id, caller=driver.principal())
    return (await probe.stub.GetSession(request)).session.plan

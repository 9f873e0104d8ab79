"""Flight plans over several turns on a real Adapter: each field changed by a follow-up, filed plans, side questions."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from adapter_service.domains.aviation.flight_plan import REVISABLE_FIELDS
from handrail.adapter.v1 import observation_pb2 as obs
from handrail.common.v1 import approval_pb2, decision_pb2
from tests.fakes.aviation_adapter import COMPLETE_PLAN, AviationAdapter, running_aviation
from tests.unit.aviation_planner.plan_changes import CHANGES

APPROVE = approval_pb2.VERDICT_APPROVE
SEVERAL: tuple[tuple[str, dict[str, Any]], ...] = (
    ("make the level FL370 and two more passengers", {"level": "F370", "persons_on_board": 122}),
    (
        "depart an hour later at FL360 with 5 more passengers",
        {"departure_time": "2030-01-02T15:00:00Z", "level": "F360", "persons_on_board": 125},
    ),
    (
        "change the level to FL370, speed to 420 knots and alternate to EDDP",
        {"level": "F370", "cruising_speed": "N0420", "alternate_icaos": ["EDDP"]},
    ),
    ("эшелон 370, борт RA-73001", {"level": "F370", "aircraft_id": "RA73001"}),
    ("endurance 2 hours and 3 persons", {"endurance_minutes": 120, "persons_on_board": 3}),
    ("eet 1 hour 5 passengers", {"total_eet_minutes": 60, "persons_on_board": 5}),
    ("запас топлива 3 часа и 4 пассажира", {"endurance_minutes": 180, "persons_on_board": 4}),
)


@pytest.fixture
async def aviation(tmp_path: Path) -> AsyncIterator[AviationAdapter]:
    async with running_aviation(tmp_path) as running:
        yield running


def filed(aviation: AviationAdapter) -> list[dict[str, Any]]:
    return [json.loads(path.read_text())["flight_plan"] for path in sorted(aviation.outbox.glob("*.json"))]


async def test_every_field_is_changed_by_a_follow_up_in_both_languages(aviation: AviationAdapter) -> None:
    drafted = await aviation.content((await aviation.ask(COMPLETE_PLAN)).last)
    for number, (field, text, expected) in enumerate(CHANGES):
        aviation.conversation_id = f"conv_{number + 2}"
        await aviation.ask(COMPLETE_PLAN)
        changed = await aviation.ask(text)
        assert changed.last.WhichOneof("outcome") == "complete", (text, changed.last)
        version, content = await aviation.content(changed.last)
        assert (version, content[field]) == (2, expected), text
        differing = {key for key in REVISABLE_FIELDS if content[key] != drafted[1][key]}
        # What nobody stated follows from the rest.
        derived = {"total_eet_minutes", "wake_category", "flight_type"}
        assert differing - derived <= {field}, text
    assert {field for field, _, _ in CHANGES} == set(REVISABLE_FIELDS)
    for language in (str.isascii, lambda text: not text.isascii()):
        assert {field for field, text, _ in CHANGES if language(text)} == set(REVISABLE_FIELDS)


async def test_several_fields_in_one_message_make_one_version(aviation: AviationAdapter) -> None:
    for number, (text, expected) in enumerate(SEVERAL):
        aviation.conversation_id = f"conv_{number}"
        await aviation.ask(COMPLETE_PLAN)
        version, content = await aviation.content((await aviation.ask(text)).last)
        assert version == 2
        assert {field: content[field] for field in expected} == expected


async def test_an_amount_that_changes_nothing_known_asks_for_the_value(aviation: AviationAdapter) -> None:
    await aviation.ask("draft a flight plan from EDDB to EDDM")
    asked = await aviation.ask("two more passengers")
    prompt = asked.last.ask.prompt
    assert prompt.task.slot == "persons_on_board"
    assert prompt.question.startswith("Nobody is on board in this plan yet, so the number itself is needed. How many")
    await asked.reply("120")
    _, content = await aviation.content(await asked.run())
    assert content["persons_on_board"] == 120


async def test_two_more_for_nobody_says_that_nobody_is_on_board(aviation: AviationAdapter) -> None:
    await aviation.ask("составь план полёта из EDDB в EDDM")
    prompt = (await aviation.ask("эшелон 370 и ещё двое пассажиров")).last.ask.prompt
    assert prompt.question == (
        "В плане пока никого нет на борту, поэтому нужно само число. Сколько людей на борту? Число от 1 до 999."
    )


async def test_a_forbidden_command_does_nothing(aviation: AviationAdapter) -> None:
    for text in (
        "don't file a flight plan from EDDB to EDDM tomorrow at 14:00",
        "не подавай план полёта из EDDB в EDDM",
        "file it. Please don't",
    ):
        last = (await aviation.ask(text)).last
        assert last.WhichOneof("outcome") == "complete"
        assert not last.complete.answer.artifacts
    await aviation.ask(COMPLETE_PLAN)
    refused = (await aviation.ask("do not change the level to FL370")).last
    assert "do not change the level to FL370" in refused.complete.answer.text
    assert not refused.complete.answer.artifacts
    assert filed(aviation) == []


async def test_ends_and_centres_cannot_be_skipped_and_choices_stay(aviation: AviationAdapter) -> None:
    for text in ("farthest airport from Berlin", "draft a flight plan from London to EDDM"):
        aviation.conversation_id = text
        asked = await aviation.ask(text)
        prompt = asked.last.ask.prompt
        assert prompt.required
        assert len(prompt.options) > 1
        await asked.reply("99")
        again = asked.last.ask.prompt
        assert f"Choose a number from 1 to {len(prompt.options)}." in again.question
        assert [option.display_name for option in again.options] == [option.display_name for option in prompt.options]


async def test_a_time_without_direction_is_asked_for(aviation: AviationAdapter) -> None:
    await aviation.ask(COMPLETE_PLAN)
    asked = await aviation.ask("перенеси вылет на два часа")
    assert asked.last.ask.prompt.task.slot == "departure_time"


async def test_a_change_after_filing_needs_a_new_approval(aviation: AviationAdapter) -> None:
    await aviation.ask(COMPLETE_PLAN)
    first = await aviation.ask("file it")
    digest = first.digest()
    await first.resolve(APPROVE)
    assert (await first.run()).WhichOneof("outcome") == "complete"
    assert [plan["level"] for plan in filed(aviation)] == ["F340"]
    version, content = await aviation.content((await aviation.ask("make the level FL360")).last)
    assert (version, content["level"]) == (2, "F360")
    assert len(filed(aviation)) == 1
    second = await aviation.ask("file it")
    snapshot = second.last.request_approval.snapshot
    assert second.digest() != digest
    assert snapshot.artifact_version == 2
    await second.resolve(APPROVE)
    await second.run()
    assert sorted(plan["level"] for plan in filed(aviation)) == ["F340", "F360"]


async def test_a_change_while_an_approval_is_open_makes_a_new_version_and_a_new_approval(
    aviation: AviationAdapter,
) -> None:
    await aviation.ask(COMPLETE_PLAN)
    filing = await aviation.ask("file it")
    shown = filing.digest()
    message = obs.UserMessage(message_id="msg_2", text="two more passengers", approval_id="apr_1")
    await filing.decide(obs.Observation(user_message=message))
    assert filing.last.reply_verdict == decision_pb2.REPLY_VERDICT_CORRECTION
    await filing.run()
    assert filing.last.WhichOneof("outcome") == "request_approval"
    assert filing.last.request_approval.snapshot.artifact_version == 2
    assert filing.digest() != shown
    assert "P/122" in filing.last.request_approval.input_preview
    await filing.resolve(APPROVE)
    await filing.run()
    assert [plan["persons_on_board"] for plan in filed(aviation)] == [122]


async def test_a_side_question_keeps_the_answers_and_the_plan_goes_on(aviation: AviationAdapter) -> None:
    driver = await aviation.ask("file a flight plan from EDDB to EDDM")
    answers = {
        "aircraft_id": "DABC1",
        "aircraft_type": "A320",
        "departure_time": "2030-01-02 14:00",
        "cruising_speed": "450 knots",
        "level": "FL340",
        "endurance_minutes": "5 hours",
        "persons_on_board": "120",
    }
    asked = []
    while driver.last.WhichOneof("outcome") == "ask":
        slot = driver.last.ask.prompt.task.slot
        if slot in ("cruising_speed", "persons_on_board") and slot not in asked:
            await driver.reply("what is the weather in Munich?")
            assert driver.last.reply_verdict == decision_pb2.REPLY_VERDICT_CORRECTION
            await driver.run()
            prompt = driver.last.ask.prompt
            assert prompt.task.slot == slot
            assert prompt.question.startswith("Munich International Airport (EDDM) at 03:00 UTC (synthetic)")
            assert "made up for demonstration" in prompt.question
            asked.append(slot)
            continue
        asked.append(slot)
        await driver.reply(answers[slot])
        await driver.run()
        assert "(synthetic)" not in driver.last.ask.prompt.question
    assert asked == ["aircraft_id", "aircraft_type", "departure_time", "cruising_speed", "cruising_speed", "level",
                     "endurance_minutes", "persons_on_board", "persons_on_board"]  # fmt: skip
    assert driver.last.WhichOneof("outcome") == "request_approval"
    await driver.resolve(APPROVE)
    answer = (await driver.run()).complete.answer.text
    assert answer.count("(synthetic)") == 1  # one text answers all that was asked (F1)
    assert filed(aviation)[0]["cruising_speed"] == "N0450"


async def test_many_side_questions_end_the_request_and_lose_no_answer(aviation: AviationAdapter) -> None:
    driver = await aviation.ask("file a flight plan from EDDB to EDDM")
    for answer in ("DABC1", "A320"):
        await driver.reply(answer)
        await driver.run()
    await driver.reply("build a route from EDDF to LOWW")
    await driver.run()
    assert "Route built" in driver.last.ask.prompt.question
    await driver.reply("what is the weather in Munich?")
    assert driver.last.reply_verdict == decision_pb2.REPLY_VERDICT_CORRECTION
    await driver.run()
    assert driver.last.ask.prompt.task.slot == "departure_time"
    await driver.reply("what is the weather in Berlin?")
    # Beside a plan there is no room for more calls: the Loop opens a request of its own, and this one is over.
    assert driver.last.reply_verdict == decision_pb2.REPLY_VERDICT_NEW_REQUEST
    await aviation.ask("what is the weather in Berlin?")
    going_on = await aviation.ask("file it")
    assert going_on.last.ask.prompt.task.slot == "departure_time"

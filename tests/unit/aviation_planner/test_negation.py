"""A forbidden command does nothing; a negation beside a command, or only of politeness, forbids nothing."""

from __future__ import annotations

import pytest

from adapter_service.sdk import ArtifactSummary, Memory, ReplyVerdict, TaskSummary

from .notation import propose, show

PLAN = Memory(artifacts=(ArtifactSummary("flight_plan", "art_1", 1, "Flight plan", valid=True, settled=False),))
FILING = (TaskSummary("t1", "file_flight_plan", "open", {}),)
FORBIDDEN = (
    "don't file a flight plan from EDDB to EDDM tomorrow at 14:00",
    "do not file a flight plan from EDDB to EDDM",
    "Please don’t file a flight plan from EDDB to EDDM",
    "you should not file it",
    "I don't want you to file it",
    "never file it",
    "no need to file it",
    "no need to change the level to FL370",
    "we shouldn't submit the plan",
    "file a flight plan from EDDB to EDDM. Please don't",
    "don't draft a flight plan from EDDB to EDDM",
    "do not create a flight plan from EDDB to EDDM",
    "do not change the level to FL370",
    "don't revise the level to FL370",
    "change the level to FL370 but do not file it",
    "don't fly to Hamburg instead",
    "не подавай план полёта из Берлина в Мюнхен",
    "пожалуйста, не отправляйте план",
    "не надо подавать план полёта из Берлина в Мюнхен",
    "не нужно подавать план",
    "план полёта из Берлина в Мюнхен подавать не надо",
    "план полёта из Берлина в Мюнхен не нужен",
    "не составляй план полёта из Берлина в Мюнхен",
    "не создавай план полёта из Берлина в Мюнхен",
    "не меняй эшелон на 370",
)


@pytest.mark.parametrize("text", FORBIDDEN)
def test_a_forbidden_command_is_refused_by_its_words(text: str) -> None:
    for proposal in (
        propose(text),
        propose(text, PLAN),
        propose(text, PLAN, begins=False, approval_open=True, tasks=FILING),
    ):
        assert (proposal.tasks, proposal.patches) == ((), ())
        assert proposal.verdict in (ReplyVerdict.NEW_REQUEST, ReplyVerdict.UNCLEAR)
        assert proposal.reply is not None
        assert proposal.reply.en.startswith("Nothing was done, because you said “")
        assert proposal.reply.ru.startswith("Ничего не сделано: вы написали «")


def test_the_refusal_quotes_what_was_written() -> None:
    proposal = propose("не создавай план полёта из Берлина в Мюнхен")
    assert proposal.reply is not None
    assert "«не создавай план полёта из Берлина в Мюнхен»" in proposal.reply.ru


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("not FL350 but FL370", "revise_flight_plan flight_plan=[art_1] level='FL370'"),
        ("не FL350, а FL370", "revise_flight_plan flight_plan=[art_1] level='FL370'"),
        ("change the level to FL370, not FL350", "revise_flight_plan flight_plan=[art_1] level='FL370'"),
        (
            "airports near Paris not in Germany",
            "search_airports center_icao='Paris' except_country=DE include_center=true sort=distance",
        ),
        ("no, file it", "file_flight_plan flight_plan=[art_1]"),
        ("can't you file it", "file_flight_plan flight_plan=[art_1]"),
        ("don't forget to file it", "file_flight_plan flight_plan=[art_1]"),
        ("не забудь подать план", "file_flight_plan flight_plan=[art_1]"),
        ("не могли бы вы подать план", "file_flight_plan flight_plan=[art_1]"),
        ("не подадите ли план полёта", "file_flight_plan flight_plan=[art_1]"),
    ],
)
def test_other_negations_forbid_nothing(text: str, first: str) -> None:
    assert show(propose(text, PLAN))[0] == first

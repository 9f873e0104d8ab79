"""What is settled by structure (C7): commands, ordinals and display names, in both languages."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from loop_service.application.classify_reply import classify_by_structure, is_stop_command
from loop_service.domain.clarification import Clarification
from loop_service.domain.decision import PromptOption
from loop_service.domain.observation import ReplyResponse

NAMES = ("Springfield, Missouri", "Springfield, Illinois", "Кольцово", "2nd Street Heliport")


def question(*, type: str = "select", required: bool = True) -> Clarification:
    options = tuple(PromptOption(f"c{i}", name) for i, name in enumerate(NAMES)) if type == "select" else ()
    now = datetime(2030, 1, 1, tzinfo=UTC)
    return Clarification("clr_1", "int_1", "conv_1", "t1", "place", type, b"", options, required, 1, 1, "msg_1", now)


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("2", 1),
        ("#2", 1),
        ("№2", 1),
        ("the second", 1),
        ("The second one, please!", 1),
        ("option 3", 2),
        ("3rd", 2),
        ("first", 0),
        ("last", 3),
        ("the last one", 3),
        ("второй", 1),
        ("вторую", 1),
        ("давай второй вариант", 1),
        ("третья", 2),
        ("третий", 2),
        ("четвёртый", 3),
        ("последнюю", 3),
        ("Последний вариант.", 3),
        ("2-й", 1),
        ("кольцово", 2),
        ("springfield, illinois", 1),
        ("2nd street heliport", 3),
    ],
)
def test_ordinals_and_display_names_choose(text: str, index: int) -> None:
    assert classify_by_structure(text, question()) == ReplyResponse(selected_candidate_id=f"c{index}")


@pytest.mark.parametrize(
    "text", ["5", "0", "the fifth", "Springfield", "two airports", "second thoughts", "at 2 o'clock", "втор"]
)
def test_everything_else_is_the_domains_to_tell(text: str) -> None:
    assert not classify_by_structure(text, question()).is_set


def test_yes_and_no_answer_a_confirm_question_only() -> None:
    confirm = question(type="confirm")
    assert classify_by_structure("Да", confirm) == ReplyResponse(confirmed=True)
    assert classify_by_structure("no.", confirm) == ReplyResponse(confirmed=False)
    assert not classify_by_structure("yes", question()).is_set


def test_skip_only_where_the_question_may_be_skipped() -> None:
    assert classify_by_structure("Skip", question(required=False)).skip
    assert classify_by_structure("пропусти", question(required=False)).skip
    assert not classify_by_structure("skip", question()).is_set


@pytest.mark.parametrize("text", ["cancel", "Cancel!", "STOP", "never mind", "Отмена", "отмени.", "стоп"])
def test_stop_commands(text: str) -> None:
    assert is_stop_command(text)


@pytest.mark.parametrize("text", ["cancel the second one", "stop at Paris", "отмени рейс и построй маршрут", ""])
def test_a_sentence_is_no_stop_command(text: str) -> None:
    assert not is_stop_command(text)

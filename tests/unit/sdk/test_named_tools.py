"""The default planner: a message names a tool and its arguments (requirement I3, 'usable at once without a model')."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from adapter_service.sdk import (
    ArtifactFill,
    ArtifactSummary,
    Domain,
    Effect,
    Finding,
    Memory,
    OpenQuestion,
    ReplyVerdict,
    Resolved,
    ResultFill,
    Slot,
    SlotPatch,
    TaskDraft,
    TaskSummary,
    Text,
    TextFill,
    Wait,
    validator,
    wrap,
)
from tests.unit.sdk.requests import propose


def lend_book(book: str, days: Annotated[int, Field(ge=1)], how: Literal["hand", "post"] = "hand") -> dict[str, Any]:
    """Lend a book."""
    return {"title": book, "days": days, "how": how}


def find_books(text: str = "", tags: list[str] | None = None) -> list[str]:
    """Find books."""
    return []


def change_loan(loan: dict[str, Any], days: int | None = None) -> dict[str, Any]:
    """Change a loan."""
    return loan


def check_loan(loan: dict[str, Any]) -> list[Finding]:
    """Check a loan."""
    return []


def file_loan(loan: dict[str, Any]) -> dict[str, Any]:
    """File a loan."""
    return loan


def repeat(times: int) -> int:
    """A parameter that takes no text."""
    return times


def greet(reader: str) -> str:
    """A parameter with a resolver."""
    return reader


def close() -> None:
    """No parameters."""


DOMAIN = Domain(
    "library",
    tools=(
        wrap(lend_book, Effect.DRAFT, makes="loan", title=Text("Lend book", "Выдать книгу")),
        wrap(find_books, Effect.READ, title=Text("Find books", "Найти книги")),
        wrap(change_loan, Effect.DRAFT, makes="loan", revises="loan"),
        validator(check_loan, "loan"),
        wrap(file_loan, Effect.CHANGE, artifacts={"loan": "loan"}),
        wrap(repeat, Effect.READ, waits=lambda _result: Wait(until=timedelta(1))),
        wrap(greet, Effect.READ, slots={"reader": Slot(resolver="reader")}),
        wrap(close, Effect.READ),
    ),
    resolvers={"reader": lambda text, _context: Resolved(text, text)},
)
LOANS = Memory(
    artifacts=(
        ArtifactSummary("loan", "art_2", 1, "Persuasion", True, False),
        ArtifactSummary("loan", "art_1", 3, "Emma", True, False),
    )
)


def read(text: str, **more: Any) -> list[tuple[str, dict[str, object]]]:
    """The tools of a new request, with what fills their parameters; texts as they are."""
    proposal = propose(DOMAIN, text, **more)
    assert proposal.verdict is ReplyVerdict.NEW_REQUEST
    return [
        (task.tool, {name: fill.text if isinstance(fill, TextFill) else fill for name, fill in task.fills.items()})
        for task in proposal.tasks
    ]


@pytest.mark.parametrize(
    "text",
    [
        "lend_book Emma 7",
        "Lend book Emma 7",
        "lend-book Emma 7",
        "LEND_BOOK Emma 7",
        "Выдать книгу Emma 7",
        "lend_book book=Emma days=7",
        "lend_book days=7 Emma",
        "lend_book Emma days: 7",
        "lend_book: Emma 7",
        'lend_book "Emma" 7',
        "lend_book 'Emma' 7",
        "lend_book «Emma» 7",
        "lend_book Book=Emma days= 7",
        "lend_book book: Emma days: 7",
        "  lend_book   Emma   7  ",
    ],
)
def test_the_first_words_name_a_tool_and_the_others_its_arguments(text: str) -> None:
    assert read(text) == [("lend_book", {"book": "Emma", "days": "7"})]


@pytest.mark.parametrize(
    ("text", "fills"),
    [
        ("lend_book Sense and Sensibility 7", {"book": "Sense and Sensibility", "days": "7"}),
        ("lend_book Sense and Sensibility", {"book": "Sense and Sensibility"}),
        ("lend_book now and then 7", {"book": "now and then", "days": "7"}),
        ("lend_book book: Sense and Sensibility days: 7", {"book": "Sense and Sensibility", "days": "7"}),
        ('lend_book "a; b then close" 7', {"book": "a; b then close", "days": "7"}),
        ('lend_book book="x = y: z" days=7', {"book": "x = y: z", "days": "7"}),
        ("lend_book don't 7", {"book": "don't", "days": "7"}),
        ("lend_book 10:30 http://x.test/?a=b 7", {"book": "10:30 http://x.test/?a=b", "days": "7"}),
        ("lend_book Emma 7 how=post", {"book": "Emma", "days": "7", "how": "post"}),
        ("lend_book Emma many", {"book": "Emma many"}),
        ("lend_book", {}),
        ('lend_book "unclosed 7', {"book": '"unclosed', "days": "7"}),
    ],
)
def test_words_fill_the_required_parameters_in_order_and_a_text_takes_the_rest(
    text: str, fills: dict[str, str]
) -> None:
    assert read(text) == [("lend_book", fills)]


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("find_books", ("find_books", {})),
        ("find_books old maps", ("find_books", {"text": "old maps"})),
        ('find_books tags=["a b", "c"] maps', ("find_books", {"tags": '["a b", "c"]', "text": "maps"})),
        ("repeat many", ("repeat", {"times": "many"})),
        ("greet Ann of Bath", ("greet", {"reader": "Ann of Bath"})),
        ("close", ("close", {})),
    ],
)
def test_optional_and_typed_parameters(text: str, call: tuple[str, dict[str, str]]) -> None:
    assert read(text) == [call]


@pytest.mark.parametrize("between", [";", " ; ", "\n", " then ", " Then ", " затем ", "; then "])
def test_several_calls_stand_in_one_message(between: str) -> None:
    assert read(f"find_books maps{between}close") == [("find_books", {"text": "maps"}), ("close", {})]


def test_an_artifact_is_the_newest_of_its_kind_or_the_one_made_in_the_message() -> None:
    assert read("file_loan", memory=LOANS) == [("file_loan", {"loan": ArtifactFill(artifact_id="art_2")})]
    assert read("file_loan loan=emma", memory=LOANS) == [("file_loan", {"loan": ArtifactFill(artifact_id="art_1")})]
    assert read("file_loan loan=art_9", memory=LOANS) == [("file_loan", {"loan": ArtifactFill(artifact_id="art_9")})]
    assert read("file_loan") == [("file_loan", {})]
    made = read("lend_book Emma 7; change_loan days=3; file_loan", memory=LOANS)
    assert made[1] == ("change_loan", {"loan": ArtifactFill(task="call_1"), "days": "3"})
    assert made[2] == ("file_loan", {"loan": ArtifactFill(task="call_2")})


def test_a_value_may_be_a_part_of_an_earlier_result() -> None:
    assert read("find_books maps; lend_book $1.0.title 7")[1] == (
        "lend_book",
        {"book": ResultFill("call_1", "0.title"), "days": "7"},
    )
    assert read("find_books maps; greet reader=$find_books.0")[1] == ("greet", {"reader": ResultFill("call_1", "0")})
    assert "names no earlier action" in reply("lend_book $2.title 7")


def test_what_follows_a_wait_comes_after_it() -> None:
    first, second = propose(DOMAIN, "repeat 2; close").tasks
    assert (second.after, first.after) == ((first.name,), ())
    assert propose(DOMAIN, "find_books; close").tasks[1].after == ()


def reply(text: str, **more: Any) -> str:
    """The English reply to a request that names no tool, or wrong arguments; it has a Russian one, too."""
    proposal = propose(DOMAIN, text, **more)
    assert not proposal.tasks
    assert proposal.reply is not None
    assert any("а" <= letter <= "я" for letter in proposal.reply.ru)
    return proposal.reply.en


@pytest.mark.parametrize("text", ["help", "Hello there", "помощь", "lend", "close; fly away", "=", ";"])
def test_help_and_unknown_texts_list_the_tools_with_their_parameters(text: str) -> None:
    told = reply(text)
    assert "- lend_book book days [how]: Lend a book" in told
    assert "- file_loan: File a loan" in told
    assert told.startswith("No action") == (text not in ("help", "помощь"))


def test_only_tools_that_the_caller_may_use_are_listed() -> None:
    told = reply("help", permitted_tools=frozenset({"close"}))
    assert "- close" in told
    assert "lend_book" not in told


def test_unknown_parameters_are_refused_with_the_accepted_names() -> None:
    for text in ("lend_book bok=Emma", "lend_book Emma dayz: 7"):
        assert "It takes: book, days, how." in reply(text)
    assert "does not take “now”. It takes: nothing." in reply("close now")
    assert "“Find books” has no “colour”" in reply("close; find_books colour=red")


QUESTION = OpenQuestion("tsk_1", "lend_book", "days", ())
TASKS = (TaskSummary("tsk_1", "lend_book", "open", {"book": "Emma"}),)


def verdict(text: str, **more: Any) -> tuple[ReplyVerdict, str]:
    """What a later text turned out to be."""
    proposal = propose(DOMAIN, text, begins_interaction=False, **{"tasks": TASKS, **more})
    return proposal.verdict, proposal.answer_text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("7", (ReplyVerdict.ANSWER, "7")),
        ("a week; or two", (ReplyVerdict.ANSWER, "a week; or two")),
        ("days=7", (ReplyVerdict.ANSWER, "7")),
        ("days: seven or so", (ReplyVerdict.ANSWER, "seven or so")),
        ("find_books maps", (ReplyVerdict.NEW_REQUEST, "")),
        ("close", (ReplyVerdict.NEW_REQUEST, "")),
        ("lend_book", (ReplyVerdict.ANSWER, "lend_book")),  # without arguments it may be meant as the answer
        ("cancel", (ReplyVerdict.CANCEL, "")),
        ("colour=red", (ReplyVerdict.ANSWER, "colour=red")),
        ("days=7; close", (ReplyVerdict.ANSWER, "days=7; close")),
        ("days= 7 now", (ReplyVerdict.ANSWER, "days= 7 now")),
    ],
)
def test_an_answer_is_the_text_itself_unless_it_calls_a_tool(text: str, found: tuple[ReplyVerdict, str]) -> None:
    assert verdict(text, open_question=QUESTION) == found


def test_an_option_of_the_question_is_an_answer_even_where_it_is_called_like_a_tool() -> None:
    asked = OpenQuestion("tsk_1", "lend_book", "how", ("Close", "post"))
    assert verdict("close", open_question=asked) == (ReplyVerdict.ANSWER, "close")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ok", ReplyVerdict.UNCLEAR),
        ("yes please", ReplyVerdict.UNCLEAR),
        ("find_books maps", ReplyVerdict.NEW_REQUEST),
        ("close", ReplyVerdict.NEW_REQUEST),
        ("days=3", ReplyVerdict.CORRECTION),
        ("colour=red", ReplyVerdict.UNCLEAR),
        ("stop", ReplyVerdict.CANCEL),
    ],
)
def test_while_an_approval_is_open_only_a_named_tool_or_pair_means_something(text: str, found: ReplyVerdict) -> None:
    assert verdict(text, approval_open=True)[0] is found


def test_a_pair_corrects_the_slot_of_the_current_plan() -> None:
    proposal = propose(
        DOMAIN, "book=Persuasion how=post", begins_interaction=False, open_question=QUESTION, tasks=TASKS
    )
    assert proposal.verdict is ReplyVerdict.CORRECTION
    assert proposal.patches == (
        SlotPatch("tsk_1", "book", TextFill("Persuasion")),
        SlotPatch("tsk_1", "how", TextFill("post")),
    )


def test_a_pair_revises_the_artifact_that_was_already_made() -> None:
    done = (TaskSummary("tsk_1", "lend_book", "done", {}), TaskSummary("tsk_2", "file_loan", "open", {}))
    proposal = propose(DOMAIN, "days=3", begins_interaction=False, approval_open=True, tasks=done, memory=LOANS)
    fills = {"loan": ArtifactFill(artifact_id="art_2"), "days": TextFill("3")}
    assert (proposal.verdict, proposal.tasks) == (
        ReplyVerdict.CORRECTION,
        (TaskDraft("change_change_loan", "change_loan", fills),),
    )
    # No tool changes this one afterwards: the draft itself is made again.
    again = propose(DOMAIN, "how=post", begins_interaction=False, approval_open=True, tasks=done, memory=LOANS)
    assert again.patches == (SlotPatch("tsk_1", "how", TextFill("post")),)


def test_what_a_change_has_done_is_not_corrected() -> None:
    def print_slip(copies: int) -> int:
        return copies

    domain = Domain("press", tools=(wrap(print_slip, Effect.CHANGE),))
    done = (TaskSummary("tsk_1", "print_slip", "done", {}),)
    assert propose(domain, "copies=3", begins_interaction=False, tasks=done).verdict is ReplyVerdict.UNCLEAR


@settings(max_examples=300)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(
                [
                    "lend_book",
                    "find books",
                    "close",
                    "days=",
                    "book:",
                    "loan=",
                    "x=1",
                    "then",
                    ";",
                    "$1.title",
                    '"',
                    "[1",
                    "{",
                ]
            ),
            st.text(max_size=12),
        ),
        max_size=12,
    ),
    st.booleans(),
)
def test_no_text_breaks_the_planner_and_what_it_proposes_fits_the_domain(parts: list[str], begins: bool) -> None:
    proposal = propose(
        DOMAIN,
        " ".join(parts),
        begins_interaction=begins,
        open_question=None if begins else QUESTION,
        tasks=() if begins else TASKS,
        memory=LOANS,
    )
    assert begins <= (proposal.verdict in (ReplyVerdict.NEW_REQUEST, ReplyVerdict.CANCEL))
    names = [task.name for task in proposal.tasks]
    assert len(set(names)) == len(names)
    for index, task in enumerate(proposal.tasks):
        assert set(task.fills) <= set(DOMAIN.tool(task.tool).parameters)
        for fill in task.fills.values():
            if isinstance(fill, ResultFill | ArtifactFill) and fill.task:
                assert fill.task in names[:index]


@pytest.mark.parametrize("text", ["then " * 1_600, "book: " + "x " * 3_900, "[" * 8_000, '"' * 8_000, "a=" * 4_000])
def test_the_longest_messages_are_read_in_a_number_of_steps_that_their_length_bounds(text: str) -> None:
    steps = 0

    def count(*_event: object) -> object:
        nonlocal steps
        steps += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        propose(DOMAIN, text, begins_interaction=False, open_question=QUESTION, tasks=TASKS)
    finally:
        sys.settrace(before)
    assert steps < 400 * len(text)

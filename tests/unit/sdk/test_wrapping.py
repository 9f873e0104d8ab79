"""`wrap` makes a tool of an unchanged function: everything that is not said follows from the function (A6, H1)."""

from __future__ import annotations

import functools
import inspect
import json
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

from adapter_service.sdk import (
    ArtifactOutput,
    Domain,
    Effect,
    Finding,
    Severity,
    Slot,
    Text,
    Tool,
    ToolContext,
    compact,
    validator,
    wrap,
)
from adapter_service.sdk.compact_view import MOST_VIEW_CHARACTERS


class Paper(Enum):
    """An enum whose values are no texts."""

    SMALL_SHEET = 5
    LARGE_SHEET = 4


@dataclass
class Reader:
    """A structure as parameter."""

    name: str
    age: int


class Box(BaseModel):
    """A model as parameter."""

    width: float


class Loan(BaseModel):
    """A model with limits."""

    days: Annotated[int, Field(ge=1, le=30)]
    paper: Paper = Paper.SMALL_SHEET
    note: str = ""


def lend_book(book: str, days: Annotated[int, Field(ge=1, le=30)] = 14) -> dict[str, Any]:
    """Lend a book
    to a reader.

    Further paragraphs are for programmers.
    """
    return {"book": book, "days": days}


def everything(
    paper: Paper,
    when: date,
    reader: Reader,
    box: Box,
    tags: list[str],
    loud: bool,
    how: Literal["post", "hand"] | None = None,
) -> None:
    """Every kind of type that a parameter may have."""


def test_a_plain_function_is_a_tool_and_stays_as_it_is() -> None:
    before = inspect.getsource(lend_book), dict(vars(lend_book))
    tool = wrap(lend_book, Effect.READ)
    assert tool.function is lend_book
    assert (inspect.getsource(lend_book), dict(vars(lend_book))) == before
    assert (tool.name, tool.title.en, tool.description.ru) == (
        "lend_book",
        "Lend book",
        "Lend a book to a reader.",
    )
    assert (tool.version, tool.idempotent, tool.roles, tool.is_required("days")) == (1, False, (), False)
    Domain("library", tools=(tool,))  # and a domain needs nothing else


async def lend_later(book: str) -> str:
    """An asynchronous function."""
    return book


class Shelf:
    """A method and a callable object are functions, too."""

    def lend(self, book: str, context: ToolContext) -> str:
        """Lend from this shelf."""
        return book

    def __call__(self, place: int) -> int:
        return place


def test_methods_partials_objects_and_asynchronous_functions_are_wrapped_alike() -> None:
    shelf = Shelf()
    method = wrap(shelf.lend, Effect.READ)
    assert (method.name, list(method.parameters), method.context_parameter) == ("lend", ["book"], "context")
    assert list(wrap(lend_later, Effect.READ).parameters) == ["book"]
    assert list(wrap(shelf, Effect.READ, name="shelf").parameters) == ["place"]
    partial = wrap(functools.partial(lend_book, days=3), Effect.READ)
    assert (partial.name, partial.is_required("book"), partial.is_required("days")) == ("lend_book", True, False)
    for tool in (method, partial):
        assert not tool.signature_mistakes


def test_an_error_of_the_input_does_not_show_what_was_given() -> None:
    with pytest.raises(ValidationError) as refused:
        wrap(lend_book, Effect.READ).input_model.model_validate({"book": "x", "days": "what a user wrote"})
    assert "days" in str(refused.value)
    assert "what a user wrote" not in str(refused.value)


def test_the_signature_is_the_input_schema_with_its_limits() -> None:
    schema = wrap(lend_book, Effect.READ).input_schema
    assert schema["properties"]["days"] == {
        "default": 14,
        "maximum": 30,
        "minimum": 1,
        "title": "Days",
        "type": "integer",
    }
    assert (schema["required"], schema["additionalProperties"]) == (["book"], False)
    json.dumps(wrap(everything, Effect.READ).input_schema)


def test_an_artifact_parameter_takes_a_reference_in_the_schema() -> None:
    def file_loan(loan: dict[str, Any]) -> dict[str, Any]:
        return loan

    schema = wrap(file_loan, Effect.CHANGE, artifacts={"loan": "loan"}).input_schema
    assert schema["properties"]["loan"]["required"] == ["artifact_id", "version", "sha256"]
    assert dict(wrap(file_loan, Effect.CHANGE, artifacts="loan").artifacts) == {"loan": "loan"}


@pytest.mark.parametrize(
    ("parameter", "text", "value"),
    [
        ("paper", "small sheet", 5),
        ("paper", "5", 5),
        ("when", "2030-01-31", "2030-01-31"),
        ("reader", '{"name": "Ann", "age": 7}', {"name": "Ann", "age": 7}),
        ("box", '{"width": 2.5}', {"width": 2.5}),
        ("tags", "a, b", ["a", "b"]),
        ("tags", '["a, b"]', ["a, b"]),
        ("loud", "да", True),
        ("loud", "No", False),
        ("how", "HAND", "hand"),
    ],
)
def test_a_text_stands_for_a_value_of_the_parameters_type(parameter: str, text: str, value: object) -> None:
    assert wrap(everything, Effect.READ).parse(parameter, text) == value


@pytest.mark.parametrize(
    ("parameter", "text"), [("paper", "huge"), ("when", "soon"), ("reader", "Ann"), ("how", "fax"), ("loud", "2")]
)
def test_a_text_without_such_a_value_is_refused(parameter: str, text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        wrap(everything, Effect.READ).parse(parameter, text)


def test_a_closed_type_gives_its_choices_and_a_resolver_takes_them_over() -> None:
    tool = wrap(everything, Effect.READ)
    assert [(c.display.en, c.value) for c in tool.choices("paper")] == [("small sheet", 5), ("large sheet", 4)]
    assert [c.display.ru for c in tool.choices("loud")] == ["да", "нет"]
    assert [c.value for c in tool.choices("how")] == ["post", "hand"]
    assert tool.choices("when") == ()
    assert wrap(everything, Effect.READ, slots={"how": Slot(resolver="way")}).choices("how") == ()


@pytest.mark.parametrize(
    ("parameter", "en", "ru"),
    [
        (
            "days",
            "What is “days”? A whole number, at least 1, at most 30.",
            "Укажите «days»: целое число, не меньше 1, не больше 30.",
        ),
        ("book", "What is “book”?", "Укажите «book»."),
    ],
)
def test_a_question_follows_from_name_type_and_limits(parameter: str, en: str, ru: str) -> None:
    assert wrap(lend_book, Effect.READ).question(parameter) == Text(en, ru)


def test_questions_name_choices_and_forms_in_both_languages() -> None:
    tool = wrap(everything, Effect.READ)
    for parameter in tool.parameters:
        question = tool.question(parameter)
        assert question.en.startswith(f"What is “{parameter}”?")
        assert len(question.ru) > len(f"Укажите «{parameter}».")
    assert "one of small sheet, large sheet" in tool.question("paper").en.lower()
    assert "2030-01-31" in tool.question("when").ru


def test_a_declared_question_and_label_are_asked_instead() -> None:
    tool = wrap(lend_book, Effect.READ, slots={"book": "Which book?", "days": Slot(label=Text("days of loan", "дней"))})
    assert tool.question("book") == Text("Which book?", "Which book?")
    assert tool.question("days").ru.startswith("Укажите «дней»: целое число")


def test_the_default_answer_is_readable_and_localized() -> None:
    tool = wrap(lend_book, Effect.READ, title=Text("Lend book", "Выдать книгу"))
    told = tool.say({"book": "Emma", "renewed": False, "tags": []}, "ru")
    assert told == "Выдать книгу:\n- Book: Emma\n- Renewed: нет\n- Tags: –"
    assert tool.say(None, "en") == "Lend book: done."
    assert tool.say([], "ru") == "Выдать книгу: ничего не найдено."
    assert tool.say("Lent.", "en") == "Lent."
    assert tool.say(3, "en") == "Lend book: 3"
    assert "… and 94 more" in tool.say([{"n": n} for n in range(100)], "en")


def test_an_answer_may_be_a_sentence_with_members_of_the_result() -> None:
    tool = wrap(lend_book, Effect.READ, say=Text("Lent {book}, {nothing}.", "Выдано: {book}."))
    assert tool.say({"book": "Emma"}, "en") == "Lent Emma, {nothing}."
    assert tool.say({"book": "Emma"}, "ru") == "Выдано: Emma."
    assert wrap(lend_later, Effect.READ, say="It is {result}.").say("Emma", "en") == "It is Emma."
    tool = wrap(lend_book, Effect.READ, say=Text("{a}; {b}; {c}.", "{a}; {b}; {c}."))
    assert tool.say({"a": True, "b": ["x", 2.0], "c": ""}, "ru") == "да; x; 2; –."


def test_the_form_of_a_structure_names_its_members_and_their_limits_in_both_languages() -> None:
    def lend(loan: Loan, box: Box | None = None) -> None:
        """Two structures."""

    tool = Tool("lend", lend, Effect.READ)
    assert tool.form("loan") == Text(
        "a JSON object with days (a whole number, at least 1, at most 30) and optionally paper (one of 5, 4), note",
        "объект JSON с полями days (целое число, не меньше 1, не больше 30) и необязательными "
        "paper (одно из значений 5, 4), note",
    )
    assert tool.question("box").en == "What is “box”? A JSON object with width (a number, for example 2.5)."


@pytest.mark.parametrize(
    "result",
    [
        list(range(100_000)),
        [{"text": "x" * 5_000, "list": [[["deep"] * 500] * 500]}] * 500,
        {f"key{n}": "y" * 3_000 for n in range(2_000)},
        {"a": {"b": {"c": {"d": {"e": ["f"] * 1_000}}}}},
        "z" * 1_000_000,
    ],
)
def test_the_default_view_of_a_large_result_is_bounded(result: object) -> None:
    view = wrap(lend_book, Effect.READ).view(result)
    assert len(json.dumps(view)) <= MOST_VIEW_CHARACTERS + 10


def test_the_default_view_keeps_ends_and_says_how_many_lie_between() -> None:
    assert compact({"ids": list(range(10))}) == {"ids": [0, 1, 2, 3, 4, {"left_out": 4}, 9]}
    small = {"id": "L1", "items": [1, 2, 3], "none": None}
    assert compact(small) == small


def test_a_validator_is_one_line_and_its_answer_lists_the_findings() -> None:
    def check_loan(loan: dict[str, Any]) -> list[Finding]:
        return []

    tool = validator(check_loan, "loan")
    assert (tool.effect, tool.validates, dict(tool.artifacts)) == (Effect.READ, "loan", {"loan": "loan"})
    error = Finding.error("/days", Text("Too long.", "Слишком долго."))
    assert (error.severity, error.slot) == (Severity.ERROR, "days")
    warning = Finding.warning("/book", "Old.", slot="")
    assert (warning.severity, warning.slot, warning.message.ru) == (Severity.WARNING, "", "Old.")
    assert tool.say([error, warning], "ru") == "Слишком долго.\nOld."
    assert tool.say([], "en") == "Check loan: no findings."
    assert tool.say([error] * 25, "en").endswith("… and 5 more")


def test_an_output_named_by_its_kind_alone_stores_the_whole_result() -> None:
    tool = wrap(lend_book, Effect.DRAFT, makes="loan")
    assert tool.makes is not None
    assert tool.makes.content({"book": "Emma"}) == {"book": "Emma"}
    assert (tool.makes.title({"title": "Emma"}), tool.makes.title({}), tool.makes.media_type) == (
        "Emma",
        "loan",
        "application/json",
    )
    assert ArtifactOutput("loan", title=lambda _result: "x").title({"title": "Emma"}) == "x"


def test_what_is_approved_is_shown_whole_by_default() -> None:
    tool = wrap(lend_book, Effect.CHANGE, title=Text("Lend book", "Выдать книгу"))
    assert tool.preview is not None
    told = tool.preview({"book": {"title": "Emma", "pages": list(range(50))}, "days": 3}, "ru")
    assert told.startswith("Выдать книгу\n- Book: title Emma, pages 0; 1; 2")
    assert told.endswith("- Days: 3")
    assert "49" in told


def test_kinds_follow_from_the_tools_with_their_validating_and_revising_tools() -> None:
    def draft_loan(book: str) -> dict[str, Any]:
        return {"book": book}

    def change_loan(loan: dict[str, Any], book: str = "") -> dict[str, Any]:
        return loan

    def check_loan(loan: dict[str, Any]) -> list[Finding]:
        return []

    domain = Domain(
        "library",
        tools=(
            wrap(draft_loan, Effect.DRAFT, makes="loan"),
            wrap(change_loan, Effect.DRAFT, makes="loan", revises="loan"),
            validator(check_loan, "loan"),
        ),
    )
    kind = domain.kind("loan")
    assert (kind.title.en, kind.validate_tool, kind.revise_tool) == ("loan", "check_loan", "change_loan")


def test_a_tool_may_still_say_everything_itself() -> None:
    title = Text("t", "т")
    tool = Tool("lend", lend_book, Effect.READ, title, title, lambda result, _locale: result["book"])
    assert tool.say({"book": "Emma"}, "en") == "Emma"

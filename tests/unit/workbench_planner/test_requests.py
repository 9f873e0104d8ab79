"""Messages in English and Russian become the tools and words that they mean, without a model (requirement A7)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapter_service.domains.workbench.topics import topic_referents
from adapter_service.domains.workbench.workspace_view import OpenWorkspace
from adapter_service.sdk import (
    ArtifactSummary,
    Fill,
    Memory,
    OpenQuestion,
    Proposal,
    ReplyVerdict,
    TaskSummary,
    TextFill,
    ValueFill,
)
from tests.unit.workbench_planner import held_out, tables
from tests.unit.workbench_planner.reading import propose, shown

DRAFT = Memory(
    artifacts=(ArtifactSummary("change", "art_1", 1, "service/checkout", None, False),),
    referents=topic_referents(["service/checkout"], "list_documents", {"offset": 10, "limit": 10}),
)
PUBLISHED = Memory(artifacts=(ArtifactSummary("change", "art_1", 1, "service/checkout", True, True),))
APPROVAL: dict[str, Any] = {
    "begins_interaction": False,
    "approval_open": True,
    "memory": DRAFT,
    "tasks": (TaskSummary("tsk_1", "publish_change", "open", {"change": "service/checkout"}),),
}


@pytest.mark.parametrize(("text", "meant"), [*tables.ENGLISH, *tables.RUSSIAN])
def test_a_message_is_understood(workspace: OpenWorkspace, text: str, meant: str) -> None:
    assert shown(propose(text, workspace)) == meant


@pytest.mark.parametrize(("text", "meant"), [*held_out.ENGLISH_HELD_OUT, *held_out.RUSSIAN_HELD_OUT])
def test_a_message_that_the_grammar_was_not_written_for_is_understood(
    workspace: OpenWorkspace, text: str, meant: str
) -> None:
    assert shown(propose(text, workspace)) == meant


def test_each_language_has_at_least_forty_messages() -> None:
    assert min(len(tables.ENGLISH), len(tables.RUSSIAN)) >= 40


@pytest.mark.parametrize(("text", "meant"), held_out.WITH_A_DRAFT)
def test_a_message_goes_on_with_the_draft(workspace: OpenWorkspace, text: str, meant: str) -> None:
    assert shown(propose(text, workspace, DRAFT)) == meant


@pytest.mark.parametrize("text", held_out.WITHOUT_TASKS)
def test_what_no_tool_can_do_is_answered_without_one(workspace: OpenWorkspace, text: str) -> None:
    proposal = propose(text, workspace)
    assert not proposal.tasks
    assert proposal.reply is not None


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("show checkout and restart the server", "restart the server"),
        (
            "set replicas to 3 in checkout and add the gizmo that somebody wanted to have somewhere else",
            "somebody wanted",
        ),
        ("покажи checkout, потом подними это вот всё как было раньше", "как было раньше"),
    ],
)
def test_a_part_without_meaning_is_named_and_nothing_is_done(workspace: OpenWorkspace, text: str, part: str) -> None:
    proposal = propose(text, workspace)
    assert not proposal.tasks, shown(proposal)
    assert proposal.reply is not None
    assert part in proposal.reply.en


def test_nothing_is_published_twice_by_words(workspace: OpenWorkspace) -> None:
    proposal = propose("publish it", workspace, PUBLISHED)
    assert not proposal.tasks
    assert proposal.reply is not None
    assert "published already" in proposal.reply.en


def question(slot: str, tool: str = "revise_change", options: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"begins_interaction": False, "open_question": OpenQuestion("tsk_1", tool, slot, options), "memory": DRAFT}


def patches(proposal: Proposal) -> dict[str, object]:
    """Slots and what they are corrected to."""
    assert proposal.verdict is ReplyVerdict.CORRECTION
    assert {patch.task_id for patch in proposal.patches} == {"tsk_1"}
    return {patch.slot: said(patch.fill) for patch in proposal.patches}


def said(fill: Fill) -> object:
    """The words or the value of a fill."""
    match fill:
        case TextFill(text):
            return text
        case ValueFill(value):
            return value
    raise AssertionError(fill)


@pytest.mark.parametrize("text", ["show the diff", "покажи изменения", "publish it"])
def test_a_command_that_cannot_be_done_yet_is_not_taken_for_the_name_that_is_asked_for(
    workspace: OpenWorkspace, text: str
) -> None:
    proposal = propose(text, workspace, **{**question("document", "draft_change"), "memory": Memory()})
    assert proposal.verdict is ReplyVerdict.NEW_REQUEST
    assert proposal.reply is not None
    assert "no draft in this conversation" in proposal.reply.en


@pytest.mark.parametrize(("text", "locale"), [("yes", "en"), ("Да.", "ru"), ("нет", "ru")])
def test_yes_without_a_question_is_not_looked_up_in_the_documentation(
    workspace: OpenWorkspace, text: str, locale: str
) -> None:
    proposal = propose(text, workspace, locale=locale)
    assert not proposal.tasks
    assert proposal.reply is not None
    assert "no open question" in proposal.reply.en


def test_what_was_spoken_of_is_pointed_at_in_the_language_of_the_conversation(workspace: OpenWorkspace) -> None:
    spoken = Memory(referents=topic_referents(["service/billing", "service/search"]))
    assert "document=‹это›" in shown(propose("поставь replicas 3", workspace, spoken, locale="ru"))
    assert "document=‹it›" in shown(propose("set replicas to 3", workspace, spoken))


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("4", "4"),
        ("make it 4", "4"),
        ("it should be 4, please", "4"),
        ("no, 4", "4"),
        ("пусть будет 4", "4"),
        ("нет, 4", "4"),
    ],
)
def test_a_value_is_an_answer(workspace: OpenWorkspace, text: str, answer: str) -> None:
    proposal = propose(text, workspace, **question("value"))
    assert (proposal.verdict, proposal.answer_text) == (ReplyVerdict.ANSWER, answer)


def test_an_edit_instead_of_a_value_corrects_the_task_that_asks(workspace: OpenWorkspace) -> None:
    removed = {"operation": "remove", "value": None}
    assert patches(propose("remove it", workspace, **question("value"))) == removed
    assert patches(propose("remove it", workspace, **question("field"))) == {**removed, "field": None}
    assert patches(propose("удали поле debug", workspace, **question("value"))) == {**removed, "field": "debug"}
    other = {"operation": "set", "field": "spec.port", "value": "80"}
    assert patches(propose("set spec.port to 80", workspace, **question("value"))) == other


def test_a_document_is_an_answer_and_another_request_is_one(workspace: OpenWorkspace) -> None:
    asked = question("document", "read_document")
    assert propose("billing", workspace, **asked).verdict is ReplyVerdict.ANSWER
    assert propose("the billing one", workspace, **asked).verdict is ReplyVerdict.ANSWER
    assert shown(propose("compare checkout and billing", workspace, **asked)).startswith("compare_documents")
    assert propose("отмена", workspace, **asked).verdict is ReplyVerdict.CANCEL


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("no, 4", "revise_change change=art_1 operation='set' value=‹4›"),
        ("нет, 4", "revise_change change=art_1 operation='set' value=‹4›"),
        ("make it 5", "revise_change change=art_1 operation='set' value=‹5›"),
        ("set replicas to 4 instead", "revise_change change=art_1 operation='set' field=‹replicas› value=‹4›"),
        ("also remove tracing", "revise_change change=art_1 operation='remove' field=‹tracing› value=None"),
        ("отмени последнюю правку", "undo_change change=art_1"),
    ],
)
def test_a_correction_while_an_approval_is_open_revises_the_draft(
    workspace: OpenWorkspace, text: str, meant: str
) -> None:
    proposal = propose(text, workspace, **APPROVAL)
    assert (proposal.verdict, shown(proposal)) == (ReplyVerdict.CORRECTION, meant)


AGREEING = (
    *("yes", "ok", "approve", "publish it", "да", "одобряю", "опубликуй", "yes, I approve it", "ok, approve", "no"),
    *("go ahead", "да, одобряю", "согласен", "да, публикуй", "всё верно", "please approve it now", "it's fine"),
)


@pytest.mark.parametrize("text", [*AGREEING, "make it so", "make it bigger", "no, stop right there", "нет, не так"])
def test_words_never_approve(workspace: OpenWorkspace, text: str) -> None:
    proposal = propose(text, workspace, **APPROVAL)
    assert (proposal.verdict, proposal.tasks) == (ReplyVerdict.UNCLEAR, ())


@pytest.mark.parametrize("slot", ["value", "field", "query"])
@pytest.mark.parametrize("text", ["yes", "yes, I approve it", "да", "да, одобряю", "go ahead", "согласен"])
def test_agreeing_is_no_value_and_the_question_is_asked_again(workspace: OpenWorkspace, text: str, slot: str) -> None:
    assert patches(propose(text, workspace, **question(slot))) == {slot: ""}


def test_yes_is_a_value_where_the_field_is_true_or_false_and_an_only_option_is_confirmed(
    workspace: OpenWorkspace,
) -> None:
    guessed = propose("yes", workspace, **question("document", "read_document", ("service/billing",)))
    assert (guessed.verdict, guessed.answer_text) == (ReplyVerdict.ANSWER, "service/billing")
    switch = {"document": "service/checkout", "field": "spec.tracing"}
    asked = {**question("value", "draft_change"), "tasks": (TaskSummary("tsk_1", "draft_change", "open", switch),)}
    assert propose("yes", workspace, **asked).verdict is ReplyVerdict.ANSWER


def test_another_request_while_an_approval_is_open_is_one(workspace: OpenWorkspace) -> None:
    proposal = propose("what do the docs say about retries?", workspace, **APPROVAL)
    assert proposal.verdict is ReplyVerdict.NEW_REQUEST
    assert propose("discard the draft", workspace, **APPROVAL).verdict is ReplyVerdict.CANCEL


def test_a_value_for_a_removal_is_none(workspace: OpenWorkspace) -> None:
    (task,) = propose("remove tracing from checkout", workspace).tasks
    assert task.fills["value"] == ValueFill(None)


def test_without_a_workspace_requests_are_still_understood() -> None:
    assert shown(propose("what do the docs say about retries?", None)) == "search_documentation query=‹retries›"
    assert shown(propose("set replicas to 3 in checkout", None)) == (
        "draft_change document=‹checkout› field=‹replicas› value=‹3›"
    )


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=120))
def test_no_text_breaks_the_planner(workspace: OpenWorkspace, text: str) -> None:
    proposal = propose(text, workspace)
    assert proposal.tasks or proposal.reply is not None
    assert proposal.verdict is ReplyVerdict.NEW_REQUEST


WORDS = (
    *("set", "change", "replicas", "to", "3", "in", "of", "checkout", "billing", "and", "it", "the", "show", "publish"),
    *("remove", "add", "поставь", "в", "и", "его"),
)
MARKS = ("«", "»", "[", "]", ",", "=", "'", '"', "`")


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([*WORDS, *MARKS]), max_size=14).map(" ".join))
def test_no_order_of_its_own_words_breaks_the_planner(workspace: OpenWorkspace, text: str) -> None:
    everything: tuple[dict[str, Any], ...] = ({}, question("value"), APPROVAL)
    for more in everything:
        propose(text, workspace, **more)

"""Words behind an edit never become a part of its value: they are understood, or named and nothing is done (A7, I2)."""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from adapter_service.domains.workbench.field_resolvers import resolve_value
from adapter_service.domains.workbench.workspace_view import OpenWorkspace
from adapter_service.sdk import Memory, ReplyVerdict, ResolveContext, Resolved, TaskDraft, TextFill, Unresolved
from tests.unit.workbench_planner.reading import NOW, propose, shown
from tests.unit.workbench_planner.test_requests import APPROVAL

UNDERSTOOD: Final = (
    " but do not publish it",
    ", but don't publish yet",
    " and don’t publish it",
    ", and don't publish",
    " without publishing",
    " without publishing it, please",
    " - do not publish it",
    ". Do not publish it.",
    " for now",
    " please",
    ", thanks",
    " but do not publish it for now",
    ", но не публикуй",
    " но пока не публикуй",
    ", только не публикуй",
    " и не публикуй её",
    " без публикации",
    " пока что",
    ", пожалуйста",
    ", спасибо",
    ". Do not publish it. please",
)
NOT_UNDERSTOOD: Final = (
    " as soon as possible",
    " because we need it",
    " unless it is 7 already",
    " but not in the night",
    ", but do not tell anybody",
    " quickly and quietly",
    ", keep quiet",
    " only",
    " (it is urgent)",
    " — it is urgent",
    " like last time",
    " if you can",
    " next to the others",
    ", но никому не говори",
    ", только осторожно",
    " потому что так надо",
    " если можно",
    " как в прошлый раз",
    " — это срочно",
    " и побыстрее",
)
VALUES: Final = (
    ("replicas", "7"),
    ("image", "shop/x:1.2"),
    ("owner", "platform"),
    ("tracing", "true"),
    ("title", "Kiosk"),
    ("title", '"Till, but not of the shop"'),
)
FORMS: Final = (
    "set {field} to {value} in {document}",
    "change {field} of {document} to {value}",
    "in {document} set {field} to {value}",
    "set {field} in {document} to {value}",
    "set {document}'s {field} to {value}",
    "поставь {field} {value} в {document}",
    "измени {field} на {value} в {document}",
    "в {document} поставь {field} {value}",
    "поставь в {document} {field} {value}",
)


def resolved_value(said: str, field: str, workspace: OpenWorkspace) -> Any:
    """What the resolver makes of a value for a field of checkout; None where it asks."""
    at = "/metadata/title" if field == "title" else f"/spec/{field}"
    values = {"document": "service/checkout", "field": at, "operation": "set"}
    found = resolve_value(said, ResolveContext("en", NOW, Memory(), values=values, workspace=workspace))
    return found.value if isinstance(found, Resolved) else None


def drafted_values(tasks: tuple[TaskDraft, ...], field: str, workspace: OpenWorkspace) -> list[Any]:
    """The values of the drafts of a message that need no further question."""
    found: list[Any] = []
    for task in tasks:
        value = task.fills.get("value")  # only drafts have one; a sentence more may be a question
        if isinstance(value, TextFill) and task.fills.get("field") == TextFill(field):
            found.append(resolved_value(value.text, field, workspace))
    return [each for each in found if each is not None]


@settings(max_examples=600, deadline=None, derandomize=True)
@given(
    form=st.sampled_from(FORMS),
    pair=st.sampled_from(VALUES),
    behind=st.lists(st.sampled_from(UNDERSTOOD + NOT_UNDERSTOOD), min_size=1, max_size=2).map("".join),
)
def test_the_drafted_value_is_the_one_that_was_said_or_nothing_is_drafted(
    workspace: OpenWorkspace, form: str, pair: tuple[str, str], behind: str
) -> None:
    field, value = pair
    # A text of several words may end a message as it stands, where the field holds several words now.
    assume(not (value == "Kiosk" and form.endswith("{value}") and any(each in behind for each in NOT_UNDERSTOOD)))
    proposal = propose(form.format(field=field, value=value, document="checkout") + behind, workspace)
    meant = resolved_value(value, field, workspace)
    assert meant is not None
    assert set(drafted_values(proposal.tasks, field, workspace)) <= {meant}


@pytest.mark.parametrize("behind", UNDERSTOOD)
@pytest.mark.parametrize("form", ["set replicas to 7 in checkout", "поставь replicas 7 в checkout"])
def test_a_clause_that_asks_for_what_a_draft_is_anyway_is_understood(
    workspace: OpenWorkspace, form: str, behind: str
) -> None:
    assert shown(propose(form + behind, workspace)) == "draft_change document=‹checkout› field=‹replicas› value=‹7›"


@pytest.mark.parametrize("behind", NOT_UNDERSTOOD)
@pytest.mark.parametrize("form", ["set replicas to 7 in checkout", "поставь replicas 7 в checkout"])
def test_another_clause_is_named_and_nothing_is_done(workspace: OpenWorkspace, form: str, behind: str) -> None:
    proposal = propose(form + behind, workspace)
    assert not proposal.tasks, shown(proposal)
    assert proposal.reply is not None
    assert behind.split()[-1].strip("()") in proposal.reply.en


@pytest.mark.parametrize(
    "text",
    [
        "set replicas to 7 in checkout but do not publish it, then publish it",
        "set replicas to 7 in checkout and publish it, but do not publish it",
        "поставь replicas 7 в checkout, но не публикуй, потом опубликуй",
    ],
)
def test_to_publish_and_not_to_publish_is_refused(workspace: OpenWorkspace, text: str) -> None:
    proposal = propose(text, workspace)
    assert not proposal.tasks, shown(proposal)
    assert proposal.reply is not None
    assert "both to publish and not to publish" in proposal.reply.en


def test_beside_an_approval_a_restraint_is_not_heeded_silently(workspace: OpenWorkspace) -> None:
    proposal = propose("set replicas to 4 but do not publish it", workspace, **APPROVAL)
    assert (proposal.verdict, proposal.tasks) == (ReplyVerdict.UNCLEAR, ())


def test_a_question_about_publishing_keeps_its_words(workspace: OpenWorkspace) -> None:
    assert "without publishing" in shown(propose("how do I change ports without publishing?", workspace))


def test_several_words_are_a_value_only_in_quotes_or_where_several_are_now(workspace: OpenWorkspace) -> None:
    assert resolved_value("Till of the shop", "title", workspace) == "Till of the shop"
    assert resolved_value('"platform team"', "owner", workspace) == "platform team"
    for field, said in (("replicas", "7 do not publish it"), ("owner", "platform team"), ("timeout", "5 seconds")):
        values = {"document": "service/checkout", "field": f"/spec/{field}", "operation": "set"}
        found = resolve_value(said, ResolveContext("en", NOW, Memory(), values=values, workspace=workspace))
        assert isinstance(found, Unresolved)
        assert "quotation marks" in found.explanation.en

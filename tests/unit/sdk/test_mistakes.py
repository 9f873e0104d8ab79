"""Every mistake in a domain is found when it is made, named with its fix, and all of them at once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import timedelta
from enum import Enum
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import Field

from adapter_service.sdk import (
    ApprovalRule,
    ArtifactKind,
    ArtifactOutput,
    Claim,
    DeclarationError,
    Domain,
    Effect,
    Finding,
    Slot,
    Text,
    Tool,
    ToolContext,
    Wait,
    WorkspaceUse,
    validator,
    wrap,
)

if TYPE_CHECKING:
    from decimal import Decimal


def lend(book: str, days: int = 14) -> dict[str, Any]:
    """A function without mistakes."""
    return {"book": book, "days": days}


def check(loan: dict[str, Any]) -> list[Finding]:
    """A validation."""
    return []


def change(loan: dict[str, Any]) -> dict[str, Any]:
    """A revision, or a filing."""
    return loan


def unannotated(book, days: int = 1):  # type: ignore[no-untyped-def]
    """A parameter without a type."""


def starred(*books: str, **more: str) -> None:
    """No named parameters."""


def unreadable(price: Decimal) -> None:
    """A type that does not exist when the program runs."""


def unserializable(call: Callable[[], None]) -> None:
    """A type that JSON does not have."""


def field_default(days: int = Field(3, ge=1)) -> None:
    """A default that only pydantic understands."""


def wrong_default(days: int = None) -> None:  # type: ignore[assignment]
    """A default that is no value of the type."""


class Sheet(Enum):
    """An enum whose values come back from JSON as something else."""

    SMALL = (148, 210)
    LARGE = (210, 297)


class Unknown:
    """A class that pydantic cannot read."""


class Desk:
    """A callable object, which has no name."""

    def __call__(self, book: str) -> str:
        return book


def on_sheets(sheet: Sheet) -> None:
    """A value that cannot be stored and read back."""


def of_unknown(thing: Unknown) -> None:
    """A type without a schema."""


def perhaps_context(book: str, context: ToolContext | None = None) -> None:
    """A context that need not be there."""


def passes(loan: dict[str, Any]) -> bool:
    """A validation that tells no findings."""
    return True


async def said_later(result: Any, locale: str) -> str:
    """A callback that would have to be awaited."""
    return ""


async def streaming(book: str) -> AsyncIterator[str]:
    """An asynchronous generator."""
    yield book


DRAFT = wrap(lend, Effect.DRAFT, name="draft", makes="loan")
FILE = wrap(change, Effect.CHANGE, name="file", artifacts={"loan": "loan"})


def mistakes(*tools: Tool, **declared: Any) -> tuple[str, ...]:
    """What a domain with these tools is refused for."""
    with pytest.raises(DeclarationError) as refused:
        Domain(**{"name": "library", "tools": tools or (wrap(lend, Effect.READ),), **declared})
    return refused.value.mistakes


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        (
            wrap(unannotated, Effect.READ),
            "tool unannotated: parameter book needs a type annotation, for example book: str",
        ),
        (wrap(starred, Effect.READ), "tool starred: parameter books must be an ordinary named parameter"),
        (wrap(unreadable, Effect.READ), "an annotation of its function cannot be read"),
        (wrap(unserializable, Effect.READ), "parameter call has no input schema"),
        (wrap(field_default, Effect.READ), "write days: Annotated[type, Field(…)] = default"),
        (wrap(wrong_default, Effect.READ), "parameter days: its default None is no value of its own type"),
        (wrap(check, Effect.READ), "its function returns findings; declare it with validator(function, kind)"),
        (
            wrap(on_sheets, Effect.READ),
            "parameter sheet: small is [148, 210] in JSON, which is no value of its type; give the enum's",
        ),
        (wrap(of_unknown, Effect.READ), "parameter thing has no input schema (Unable to generate pydantic-core schema"),
        (wrap(perhaps_context, Effect.READ), "annotate it with ToolContext alone"),
        (wrap(Desk(), Effect.READ), "its function has no name; say name=, lower_snake"),
        (wrap(lend, Effect.READ, say=5), "say= must be a function"),  # type: ignore[arg-type]
        (wrap(lend, Effect.READ, say=lambda result: ""), "say= must take (result, locale), and takes (result)"),  # type: ignore[arg-type, misc]
        (wrap(lend, Effect.READ, say=said_later), "say= must be an ordinary function, without async"),  # type: ignore[arg-type]
        (wrap(lend, Effect.CHANGE, base=lambda given: ""), "base= must take (input, workspace)"),  # type: ignore[arg-type, misc]
        (
            wrap(lend, Effect.READ, slots={"book": Slot(fact="position", fact_value=lambda: "")}),  # type: ignore[arg-type, misc]
            "slot book: fact_value= must take (fact)",
        ),
        (wrap(lend, Effect.READ, slots=("book",)), "slots= must be a dict"),  # type: ignore[arg-type]
        (wrap(lend, Effect.READ, uses_workspace=True), "uses_workspace= needs Domain(workspace=WorkspaceUse(…))"),
        (wrap(lend, Effect.CHANGE, idempotent="no"), "idempotent= must be True or False"),  # type: ignore[arg-type]
        (
            wrap(lend, Effect.CHANGE, approval=ApprovalRule(requester_may_approve="no")),  # type: ignore[arg-type]
            "approval: requester_may_approve= must be True or False",
        ),
        (wrap(lend, Effect.READ, makes="loan"), "a READ tool only looks; one with makes= has Effect.DRAFT"),
        (wrap(lend, Effect.DRAFT, makes=ArtifactOutput("loan", "pdf")), "makes: media_type= must be like"),
        (
            wrap(lend, Effect.DRAFT, makes=ArtifactOutput("loan", "application/pdf")),
            "makes: an artifact of application/pdf is text or bytes, and the result is neither; say content=",
        ),
        (
            wrap(lend, Effect.DRAFT, makes=ArtifactOutput("loan", title="Loan")),  # type: ignore[arg-type]
            "makes: title= must be a function",
        ),
        (validator(passes, "loan"), "annotate its function with -> list[Finding]"),
        (wrap(streaming, Effect.READ), "its function yields values; it must return its result"),
        (wrap(dict, Effect.READ, name="builtin"), "tool builtin: "),
        (Tool("none", None, Effect.READ), "tool none: function= must be a function"),  # type: ignore[arg-type]
        (wrap(lend, "read"), "effect= must be Effect.READ"),  # type: ignore[arg-type]
        (wrap(lambda: None, Effect.READ), "tool <lambda>: name= must be lower_snake"),
        (wrap(lend, Effect.READ, name="LendBook"), "tool LendBook: name= must be lower_snake"),
        (wrap(lend, Effect.READ, name="l" * 64), "name= must be lower_snake with at most 63 characters"),
        (wrap(lend, Effect.READ, title=Text("Lend", " ")), "tool lend: title= has no Russian text"),
        (wrap(lend, Effect.READ, version=0), "version= must be 1 or more"),
        (wrap(lend, Effect.READ, timeout=timedelta(0)), "timeout= must be a timedelta"),
        (wrap(lend, Effect.READ, timeout=5), "timeout= must be a timedelta"),  # type: ignore[arg-type]
        (wrap(lend, Effect.READ, roles="boss"), "roles= must be a tuple of role names"),  # type: ignore[arg-type]
        (wrap(lend, Effect.READ, view="all"), "view= must be a function"),  # type: ignore[arg-type]
        (
            wrap(lend, Effect.READ, slots={"bok": "Which?"}),
            "slots names bok, which is no parameter of its function; did you mean book?",
        ),
        (
            wrap(lend, Effect.READ, slots={"book": Slot(resolver="books")}),
            "slot book names the resolver books, which domain library does not declare",
        ),
        (wrap(lend, Effect.READ, slots={"book": Slot(Text("", "Какая?"))}), "slot book: question= has no English text"),
        (wrap(lend, Effect.READ, slots={"book": Slot(fact_value=str)}), "slot book: fact_value= needs fact="),
        (
            wrap(lend, Effect.READ, artifacts={"loan": "loan"}),
            "artifacts names loan, which is no parameter of its function",
        ),
        (
            wrap(lend, Effect.READ, artifacts={"book": "volume"}),
            "artifact kind volume is not declared in artifact_kinds, nor made by any tool",
        ),
        (wrap(lend, Effect.DRAFT), "a DRAFT tool needs makes="),
        (
            Tool("lend", lend, Effect.DRAFT, makes=ArtifactOutput("loan"), revises="loan"),
            "revises=loan must be one of its artifact parameters",
        ),
        (wrap(check, Effect.DRAFT, revises="loan"), "revises=loan needs makes="),
        (
            wrap(check, Effect.DRAFT, makes="other", revises="loan", artifacts={"loan": "loan"}),
            "it revises an artifact of kind loan but makes one of kind other",
        ),
        (
            wrap(check, Effect.CHANGE, artifacts={"loan": "loan"}, validates="loan"),
            "a tool with validates= must have Effect.READ",
        ),
        (
            validator(check, "loan", waits=lambda _r: Wait(until=timedelta(1))),
            "a validation is a list of Finding; it cannot wait",
        ),
        (validator(check, "loan", reads=("almanac",)), "reads names almanac, which is not in Domain.sources"),
        (wrap(lend, Effect.READ, reads=("almanac",)), "reads= is for tools with validates="),
        (wrap(lend, Effect.READ, base=lambda _g, _w: ""), "base= is for CHANGE and EXTERNAL tools"),
        (wrap(lend, Effect.READ, approval=ApprovalRule()), "approval= is for CHANGE and EXTERNAL tools"),
        (wrap(lend, Effect.READ, target=lambda _g: "x"), "target= is for CHANGE and EXTERNAL tools"),
        (wrap(lend, Effect.CHANGE, approval=ApprovalRule(role="")), "approval: role= must be the name of a role"),
        (
            wrap(lend, Effect.CHANGE, approval=ApprovalRule(expires_after=timedelta(0))),
            "approval: expires_after= must be",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_mistake_in_a_tool_is_named_with_its_fix(tool: Tool, said: str) -> None:
    assert any(said in mistake for mistake in mistakes(tool, DRAFT)), mistakes(tool, DRAFT)


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({"name": "Library"}, "domain 'Library': name= must be lower_snake"),
        ({"title": Text("Library", "")}, "domain library: title= has no Russian text"),
        ({"version": ""}, "version= must be a text"),
        ({"policy_version": 0}, "policy_version must be 1 or more"),
        ({"tools": ()}, "tools= must hold at least one Tool"),
        ({"tools": (lend,)}, "which is no Tool; make one with wrap("),
        ({"tools": (DRAFT, DRAFT)}, "two tools have the same name draft"),
        ({"resolvers": {"book": "text"}}, "resolvers['book'] must be a function"),
        ({"sources": {"almanac": "2030"}}, "sources['almanac'] must be a function"),
        ({"resolvers": {"book": lambda text: text}}, "resolvers['book'] must take (text, context)"),
        ({"resolvers": [lend]}, "resolvers= must be a dict of functions by name"),
        ({"correct": 5}, "correct= must be a function"),
        ({"claims": ("lend",)}, "claims= holds 'lend', which is no Claim"),
        ({"workspace": "/folder"}, "workspace= must be a WorkspaceUse"),
        ({"workspace": WorkspaceUse("X", prepare=lambda: None)}, "workspace.prepare= must take (workspace)"),  # type: ignore[arg-type, misc]
        ({"tools": DRAFT}, "tools= must be a tuple; write tools=(…,)"),
        ({"artifact_kinds": ("loan",)}, "artifact_kinds= holds 'loan'; write ArtifactKind('loan')"),
        ({"artifact_kinds": (ArtifactKind("loan", diff_form=lambda: None),)}, "diff_form= must take (content)"),  # type: ignore[arg-type, misc]
        ({"planner": object()}, "planner= must have a method plan(request)"),
        ({"identities": None}, "identities= must be a function"),
        ({"claims": (Claim("len", None),)}, "a claim names the tool len, which does not exist; did you mean lend?"),  # type: ignore[arg-type]
        ({"workspace": WorkspaceUse("X", prepare=id, resolvers=("d",))}, "workspace.resolvers names d"),
        (
            {"artifact_kinds": (ArtifactKind("loan"), ArtifactKind("loan"))},
            "two artifact kinds have the same name loan",
        ),
        ({"artifact_kinds": (ArtifactKind("Loan"),)}, "artifact kind Loan: name= must be lower_snake"),
        (
            {"artifact_kinds": (ArtifactKind("loan", validate_tool="chek"),)},
            "validate_tool=chek is no tool of the domain",
        ),
        (
            {"artifact_kinds": (ArtifactKind("loan", validate_tool="lend"),)},
            "its validate_tool lend must name the parameter",
        ),
        ({"artifact_kinds": (ArtifactKind("loan", revise_tool="lend"),)}, "its revise_tool must have Effect.DRAFT"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_mistake_in_a_domain_is_named_with_its_fix(declared: dict[str, Any], said: str) -> None:
    assert any(said in mistake for mistake in mistakes(**declared)), mistakes(**declared)


def test_kinds_that_can_never_exist_are_found() -> None:
    def a_of_b(b: dict[str, Any]) -> dict[str, Any]:
        return b

    def b_of_a(a: dict[str, Any]) -> dict[str, Any]:
        return a

    circle = mistakes(
        wrap(a_of_b, Effect.DRAFT, makes="a", artifacts={"b": "b"}),
        wrap(b_of_a, Effect.DRAFT, makes="b", artifacts={"a": "a"}),
    )
    assert [mistake.partition(":")[0] for mistake in circle] == ["artifact kind a", "artifact kind b"]
    assert "cannot exist before it" in circle[0]
    unmade = mistakes(FILE, artifact_kinds=(ArtifactKind("loan"),))
    assert "no tool makes it" in unmade[0]


def test_where_several_tools_validate_or_revise_a_kind_the_author_has_to_choose() -> None:
    two = (validator(check, "loan", name="first"), validator(check, "loan", name="second"))
    found = mistakes(DRAFT, *two)
    assert "several tools validate it; say which one counts: validate_tool= one of first, second" in found[0]
    Domain("library", tools=(DRAFT, *two), artifact_kinds=(ArtifactKind("loan", validate_tool="first"),))
    revising = [wrap(change, Effect.DRAFT, name=name, makes="loan", revises="loan") for name in ("third", "fourth")]
    assert "several tools revise it" in mistakes(DRAFT, two[0], *revising)[0]


def test_an_approval_is_bound_to_one_artifact() -> None:
    def both(loan: dict[str, Any], other: dict[str, Any]) -> None:
        """Two artifacts."""

    tool = wrap(both, Effect.CHANGE, artifacts={"loan": "loan", "other": "loan"})
    assert "tool both: a change tool may have one artifact parameter" in mistakes(tool, DRAFT)[0]


def test_what_names_no_artifacts_is_refused_where_it_is_said() -> None:
    with pytest.raises(DeclarationError, match="tool lend: artifacts= must name a parameter, or be a dict"):
        wrap(lend, Effect.READ, artifacts=("book",))  # type: ignore[arg-type]
    with pytest.raises(DeclarationError, match="a wait's length is a timedelta, and 5 is none"):
        Wait(until=5)  # type: ignore[arg-type]


def test_all_mistakes_of_a_domain_are_told_at_once() -> None:
    found = mistakes(
        wrap(unannotated, Effect.READ),
        wrap(starred, Effect.READ),
        wrap(lend, Effect.READ, version=0, slots={"bok": "Which?"}),
        policy_version=0,
    )
    assert len(found) == 6
    assert {"policy_version", "needs a type", "books must", "more must", "version= must", "did you mean book"} == {
        part
        for part in ("policy_version", "needs a type", "books must", "more must", "version= must", "did you mean book")
        if any(part in mistake for mistake in found)
    }


def test_a_corrected_domain_is_accepted() -> None:
    broken = wrap(lend, Effect.READ, version=0)
    mistakes(broken)
    assert Domain("library", tools=(replace(broken, version=1),)).tool("lend").version == 1

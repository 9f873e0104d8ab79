"""The failure catalogue is complete: every code that is told is in it, none is dead, each is provoked for real (G1)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from handrail.common.v1 import failure_pb2
from handrail_rpc import failure_catalogue
from handrail_rpc.failure_catalogue import CATALOGUE
from handrail_rpc.failure_entry import Entry, Stage
from handrail_rpc.localized_text import NOTHING, Text

ROOT = Path(__file__).parents[2]
CONTRACT = (
    "queue_full", "context_budget_exceeded", "model_unavailable", "model_rate_limited", "model_output_invalid",
    "model_output_truncated", "model_refused", "plan_invalid", "entity_not_found", "clarification_limit_reached",
    "tool_action_limit_reached", "deadline_exceeded", "generation_limit_reached", "tool_failed", "tool_timeout",
    "tool_input_invalid", "tool_outcome_unknown", "tool_not_permitted", "approval_missing", "approval_stale",
    "approval_expired", "approval_rejected", "validation_failed", "unverified_identity", "unverified_citation",
    "claimed_change_not_executed", "answer_empty", "adapter_unavailable", "session_diverged", "storage_unavailable",
    "audio_input_failed", "socket_closed",
)  # fmt: skip

# Where a code goes in: the name of what is called, the position of the code among its arguments, and its keyword.
# `fail` is both the Loop's fail(work, code, …) and the Adapter's turn.fail(stage, code, …).
TELLERS = {
    "fail": (1, "code"),
    "make_failure": (0, "code"),
    "failure": (0, "code"),
    "Failure": (1, "code"),
    "PolicyBlock": (0, "code"),
    "LimitReached": (0, "code"),
    "AdapterFailed": (1, "code"),
    "end_failed": (3, "code"),
    "request_stop": (99, "code"),
    "Trouble": (0, "code"),
    "ToolError": (0, "code"),
    "Unresolved": (1, "code"),
    "ask_again": (5, "code"),
    "Mismatch": (0, "code"),
    "Rule": (1, "code"),
}
SERVICES = ("loop_service", "adapter_service")


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def sources() -> Iterator[Path]:
    for service in SERVICES:
        yield from (path for path in (ROOT / service).rglob("*.py") if "migrations" not in path.parts)


def strings(node: ast.AST) -> Iterator[str]:
    """Every string constant below a node: a conditional expression names several codes."""
    for each in ast.walk(node):
        if (
            isinstance(each, ast.Constant)
            and isinstance(each.value, str)
            and re.fullmatch(r"[a-z_]+|[A-Z_]+", each.value)
        ):
            yield each.value


def called(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def code_argument(call: ast.Call) -> ast.expr | None:
    position, keyword = TELLERS[called(call)]
    named = next((each.value for each in call.keywords if each.arg == keyword), None)
    return named if named is not None else call.args[position] if position < len(call.args) else None


def told() -> dict[str, str]:
    """Every code that a service names, with one place where it does."""
    found: dict[str, str] = {}
    for path in sources():
        for node in ast.walk(tree(path)):
            codes: list[str] = []
            if isinstance(node, ast.Call) and called(node) in TELLERS:
                argument = code_argument(node)
                codes = [] if argument is None or isinstance(argument, ast.Call) else list(strings(argument))
            elif isinstance(node, ast.Call) and called(node) in ("of_stage", "catalogue_codes"):
                codes = list(failure_catalogue.of_stage(Stage[getattr(node.args[0], "attr", "")]))
            elif isinstance(node, ast.keyword) and node.arg == "reason" and isinstance(node.value, ast.Constant):
                # Of a request that is refused before anything is stored (G6): the same code, in upper case.
                codes = [code for code in [str(node.value.value).lower()] if code in CATALOGUE]
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == "failed_check":
                codes = [code for each in ast.walk(node) if isinstance(each, ast.Return) for code in strings(each)]
            elif isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == "CATALOGUE":
                codes = list(strings(node.slice))
            elif isinstance(node, ast.ClassDef):
                codes = [code for each in node.body for code in class_code(each)]
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                codes = list(default_code(node))
            for code in codes:
                found[code] = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
    return found


def class_code(statement: ast.stmt) -> Iterator[str]:
    """The value of a class's own `code = "…"`, with or without annotation: a domain's error, or a default."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    value = getattr(statement, "value", None)
    if any(isinstance(each, ast.Name) and each.id == "code" for each in targets) and value is not None:
        yield from strings(value)


def default_code(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """The default of a parameter called `code`."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    with_defaults = positional[len(positional) - len(arguments.defaults) :]
    for argument, default in zip(with_defaults, arguments.defaults, strict=True):
        if argument.arg == "code":
            yield from strings(default)


def test_every_code_that_a_service_tells_is_in_the_catalogue() -> None:
    unknown = {code: place for code, place in told().items() if code not in CATALOGUE}
    # The rows of `filing_key_conflict` and the like are source codes of a domain's own errors, told as source_code.
    unknown = {code: place for code, place in unknown.items() if code not in ("filing_key_conflict",)}
    assert unknown == {}
    assert {"plan_invalid", "deadline_exceeded", "target_busy", "answer_empty", "adapter_failed"} <= told().keys()


def test_the_contracts_codes_are_in_the_catalogue() -> None:
    assert [code for code in CONTRACT if code not in CATALOGUE] == []


def test_no_code_is_listed_twice() -> None:
    listed = [
        key.value
        for node in ast.walk(tree(Path(failure_catalogue.__file__)))
        if isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == "CATALOGUE"
        for key in getattr(node.value, "keys", [])
    ]
    assert sorted(listed) == sorted(CATALOGUE)


def test_no_code_is_dead_without_saying_what_will_make_it_reachable() -> None:
    # A code may also be told by way of a variable.
    used = told().keys() | {text for path in sources() for text in strings(tree(path))}
    assert [code for code, entry in CATALOGUE.items() if code not in used and not entry.reachable_with] == []
    assert [code for code, entry in CATALOGUE.items() if bool(entry.provoked_by) == bool(entry.reachable_with)] == []


def test_stages_are_those_of_the_contract() -> None:
    wire = {name.removeprefix("STAGE_").lower() for name in failure_pb2.Stage.keys()}  # noqa: SIM118 - an enum wrapper
    assert {stage.value for stage in Stage} == wire - {"unspecified"}
    assert all(entry.stages for entry in CATALOGUE.values())


def test_a_code_is_told_at_the_stages_of_its_entry() -> None:
    told_at = [
        (code, stage.attr, path.name)
        for path in sources()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and called(node) == "fail" and len(node.args) > 1
        for stage in [node.args[0]]
        if isinstance(stage, ast.Attribute) and isinstance(node.args[1], ast.Constant)
        for code in strings(node.args[1])
    ]
    assert len(told_at) > 8
    assert [each for each in told_at if Stage[each[1]] not in CATALOGUE[each[0]].stages] == []


def texts(entry: Entry) -> list[Text]:
    found = [text for wording in entry.wordings for text in (wording.explanation, wording.helpful_action)]
    return [text for text in [*found, entry.lifted_by] if text != NOTHING]


@pytest.mark.parametrize("code", sorted(CATALOGUE))
def test_every_entry_reads_well_in_both_languages(code: str) -> None:
    entry = CATALOGUE[code]
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", code)
    assert all(wording.explanation != NOTHING for wording in entry.wordings)
    for text in texts(entry):
        assert sorted(re.findall(r"\{\w+\}", text.en)) == sorted(re.findall(r"\{\w+\}", text.ru)), text
        assert re.search("[а-яё]", text.ru), text
        assert not re.search("[а-яё]", text.en), text
        assert text.ru.isprintable()
        assert text.en.isprintable()
    for wording in entry.wordings:
        for sentence in (wording.explanation, wording.helpful_action):
            assert sentence == NOTHING or sentence.en[-1] in ".}"
            assert sentence == NOTHING or sentence.ru[-1] in ".}"


@pytest.mark.parametrize("code", sorted(code for code, entry in CATALOGUE.items() if entry.provoked_by))
def test_the_test_that_provokes_a_code_exists_and_asserts_it(code: str) -> None:
    place, _, name = CATALOGUE[code].provoked_by.partition("::")
    path = ROOT / "tests" / f"{place}.py"
    assert path.exists(), f"there is no {path}"
    functions = {
        node.name: node for node in tree(path).body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert name in functions, f"{path} has no test {name}"
    test = functions[name]
    helpers = {called(node) for node in ast.walk(test) if isinstance(node, ast.Call)} & functions.keys()
    asserted = {
        text
        for function in (test, *(functions[each] for each in helpers))
        for node in ast.walk(function)
        if isinstance(node, ast.Assert)
        for text in strings(node.test)
    }
    varied = {text for decorator in test.decorator_list for text in strings(decorator)}
    assert {code, code.upper()} & (asserted | varied), f"{name} does not assert {code}"

"""The table of the rules is complete, and points at what is there. Whether a removal is noticed: `make soundness`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.soundness.rule import Removal
from tests.soundness.rules import LIKELY_MISTAKES, NAMED, RULES, SENTENCES

ROOT = Path(__file__).parents[2]
SPECIFICATION = ROOT.parent / "shared" / "spec" / "soundness.md"
REMOVALS = [(rule.name, removal) for rule in RULES for removal in rule.removals]


def functions(path: Path) -> Iterator[str]:
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name


def test_every_rule_has_its_row() -> None:
    names = [rule.name for rule in RULES]
    assert len(names) == len(set(names))
    assert set(names) == {*NAMED, *SENTENCES}
    assert all(rule.removals and rule.says for rule in RULES)


@pytest.mark.skipif(not SPECIFICATION.exists(), reason="the specification lies beside the repository, if anywhere")
def test_the_names_are_those_of_the_specification() -> None:
    found = set(re.findall(r"\(([a-z]{2,}(?:_[a-z]+)*)\)", SPECIFICATION.read_text("utf-8")))
    assert found == set(NAMED)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.name))
def test_the_place_of_a_rule_is_there(rule: object) -> None:
    place = getattr(rule, "place", "")
    path, _, name = str(place).partition("::")
    assert name in (ROOT / path).read_text("utf-8"), place


@pytest.mark.parametrize(("name", "removal"), REMOVALS, ids=[f"{name}-{i}" for i, (name, _) in enumerate(REMOVALS)])
def test_a_removal_still_finds_what_it_removes(name: str, removal: Removal) -> None:
    found = (ROOT / removal.path).read_text("utf-8").count(removal.old)
    assert found == 1, f"{name}: the text to remove occurs {found} times in {removal.path}:\n{removal.old}"
    assert removal.new != removal.old


def test_every_test_is_there_and_named_rules_have_one_of_their_name() -> None:
    named = [test for rule in RULES for test in rule.tests]
    for test in {*named, *LIKELY_MISTAKES.values()}:
        path, _, function = test.partition("::")
        assert function.partition("[")[0] in set(functions(ROOT / path)), test
    for rule in RULES:
        if rule.name in NAMED:
            assert any(test.partition("::")[2].startswith(f"test_{rule.name}") for test in rule.tests), rule.name

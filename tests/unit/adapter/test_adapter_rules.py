"""Rules as data: the comparison E2, policy, the ledger's transitions, checks of answers, declarations."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from adapter_service.domain import failure_texts, policy
from adapter_service.domain.answer import failed_check
from adapter_service.domain.approval import Approval, ApprovalState, Mismatch, Snapshot, World, compare
from adapter_service.domain.artifact import Validation
from adapter_service.domain.ledger import ExecutionState, may_become
from adapter_service.domain_registry import load_domains
from adapter_service.sdk import ArtifactKind, DeclarationError, Domain, DomainEnvironment, Effect, Text, Tool
from handrail_rpc.errors import StartRefused
from tests.fakes.probe_domain import World as ProbeWorld
from tests.fakes.probe_domain import make_domain

NOW = datetime(2030, 1, 1, tzinfo=UTC)
SNAPSHOT = Snapshot("t", "1", "in", "7", "role", "key", NOW + timedelta(hours=1), "art", 3, "sha", "val")
APPROVED = Approval(SNAPSHOT.digest, "int", 1, "tsk", SNAPSHOT, b"{}", ApprovalState.APPROVED)
WORLD = World(NOW, "t", "1", "1", "7", "7", "in", False, "art", 3, "sha", True, "val", True)


def test_the_contracts_test_vector() -> None:
    expires = datetime(2030, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
    snapshot = Snapshot(
        "file_flight_plan", "1", "c" * 64, "7", "dispatcher", "key_01", expires, "art_01", 3, "a" * 64, "b" * 64
    )
    assert snapshot.digest == "2c44630b395c6cfc418f1cfb81c444dea5c606e2c48c50321325803e460e0205"


def test_the_same_world_is_executable() -> None:
    assert compare(APPROVED, WORLD) is None


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"tool": "u"}, "approval_stale"),
        ({"tool_version": "2"}, "approval_stale"),
        ({"stored_tool_version": "2"}, "approval_stale"),
        ({"policy_version": "8"}, "approval_stale"),
        ({"stored_policy_version": ""}, "approval_stale"),
        ({"input_sha256": "other"}, "approval_stale"),
        ({"key_used": True}, "approval_stale"),
        ({"artifact_id": "other"}, "approval_stale"),
        ({"artifact_version": 4}, "approval_stale"),
        ({"artifact_sha256": "other"}, "approval_stale"),
        ({"validation_sha256": "other"}, "approval_stale"),
        ({"validation_passed": False}, "validation_failed"),
        ({"validation_passed": None}, "validation_failed"),
        ({"validation_outdated": True}, "approval_stale"),
        ({"now": NOW + timedelta(hours=1)}, "approval_expired"),
    ],
)
def test_every_difference_is_a_mismatch(change: dict[str, Any], code: str) -> None:
    found = compare(APPROVED, replace(WORLD, **change))
    assert found is not None
    assert found.code == code


@pytest.mark.parametrize("state", [state for state in ApprovalState if state is not ApprovalState.APPROVED])
def test_only_an_approved_approval_counts(state: ApprovalState) -> None:
    assert compare(replace(APPROVED, state=state), WORLD) is not None
    assert compare(None, WORLD) == Mismatch("approval_missing", "approval")


def test_an_altered_snapshot_or_another_scheme_is_stale() -> None:
    other_scheme = replace(SNAPSHOT, digest_scheme="md5")
    assert compare(replace(APPROVED, snapshot=replace(SNAPSHOT, required_role="x")), WORLD) is not None
    assert compare(replace(APPROVED, snapshot=other_scheme, digest=other_scheme.digest), WORLD) is not None


DOMAIN = make_domain(ProbeWorld())
VALIDATION = Validation("art", 1, "sha", True, (), "call")


def subject(tool: str = "post_note", **changes: Any) -> policy.Subject:
    whole = policy.Subject(DOMAIN.tool(tool), frozenset({"*"}), False, DOMAIN.kind("note"), VALIDATION, None)
    return replace(whole, **changes)


@pytest.mark.parametrize(
    ("changes", "codes"),
    [
        ({}, []),
        ({"closed": True}, ["interaction_closed"]),
        ({"roles": frozenset({"reader"})}, ["tool_not_permitted"]),
        ({"roles": frozenset({"author"})}, []),
        ({"validation": None}, ["validation_missing"]),
        ({"validation": replace(VALIDATION, passed=False)}, ["validation_failed"]),
        ({"kind": None, "validation": None}, []),
        ({"mismatch": Mismatch("approval_missing", "")}, ["approval_missing"]),
        ({"mismatch": Mismatch("approval_stale", "")}, ["approval_stale"]),
        ({"mismatch": Mismatch("approval_expired", "")}, ["approval_expired"]),
        (
            {"validation": replace(VALIDATION, passed=False), "mismatch": Mismatch("approval_missing", "")},
            ["validation_failed", "approval_missing"],
        ),
    ],
)
def test_rules_name_what_blocks(changes: dict[str, Any], codes: list[str]) -> None:
    assert [rule.code for rule in policy.violated(subject(**changes))] == codes


def test_reading_and_drafting_need_neither_validation_nor_approval() -> None:
    for tool in ("look", "write_note", "change_note"):
        assert not policy.violated(subject(tool, validation=None, mismatch=Mismatch("approval_missing", "")))


def test_every_rule_explains_itself_in_both_languages_and_its_code_finds_it() -> None:
    for rule in policy.RULES:
        assert policy.rule_for(rule.code) is rule
        block = policy.block_of(rule, "tool", "ru")
        assert re.search("[а-я]", block.explanation)
        assert bool(block.lifted_by) == bool(rule.lifted_by.en)


def test_failure_texts_exist_in_both_languages_with_the_same_placeholders() -> None:
    found = [value for value in vars(failure_texts).values() if isinstance(value, Text)]
    assert len(found) > 15
    for text in found:
        assert re.search("[а-я]", text.ru)
        assert re.findall(r"\{\w+\}", text.en) == re.findall(r"\{\w+\}", text.ru)


def test_terminal_states_of_the_ledger_never_change() -> None:
    terminal = [state for state in ExecutionState if state is not ExecutionState.CLAIMED]
    for before, after in itertools.product(terminal, ExecutionState):
        assert not may_become(before, after)
    assert all(may_become(ExecutionState.CLAIMED, state) for state in ExecutionState)
    assert not may_become(None, ExecutionState.SUCCEEDED)


@pytest.mark.parametrize(
    ("text", "executed", "code"),
    [
        ("", {}, "answer_empty"),
        (" \n", {}, "answer_empty"),
        ("BER is fine.", {}, None),
        ("XYZ is fine.", {}, "unverified_identity"),
        ("Posted the note.", {}, "claimed_change_not_executed"),
        ("Posted the note.", {"post_note": False}, None),
        ("Wrote the note.", {"write_note": False}, "claimed_change_not_executed"),
        ("Wrote the note.", {"write_note": True}, None),
    ],
)
def test_answers_say_only_what_happened(text: str, executed: dict[str, bool], code: str | None) -> None:
    assert failed_check(DOMAIN, text, known_identities=frozenset({"BER"}), executed=executed) == code


def test_a_domain_that_the_engine_cannot_serve_is_refused_with_the_fix(tmp_path: Path) -> None:
    def two(note: dict[str, str], other: dict[str, str]) -> dict[str, str]:
        return {**note, **other}

    title = Text("t", "т")
    tool = Tool("two", two, Effect.CHANGE, title, title, lambda _r, _l: "x", artifacts={"note": "n", "other": "n"})

    def create(_environment: DomainEnvironment) -> Domain:
        return Domain("d", title, "1", 1, (tool,), DOMAIN.planner, artifact_kinds=(ArtifactKind("n", title),))

    with pytest.raises(StartRefused, match="one artifact parameter"):
        load_domains([create], None, tmp_path, lambda: NOW)
    with pytest.raises(StartRefused, match="same name"):
        load_domains([DOMAIN, DOMAIN], None, tmp_path, lambda: NOW)


def test_what_is_compared_at_the_write_and_read_by_a_validation_is_declared_where_it_counts() -> None:
    look, check = DOMAIN.tool("look"), DOMAIN.tool("check_note")
    with pytest.raises(DeclarationError, match="base= is for CHANGE and EXTERNAL"):
        replace(DOMAIN, tools=(replace(look, base=lambda _given, _workspace: ""),), claims=())
    with pytest.raises(DeclarationError, match="reads= is for tools with validates="):
        replace(DOMAIN, tools=(replace(look, reads=("rulebook",)),), claims=())
    with pytest.raises(DeclarationError, match="reads names almanac"):
        replace(DOMAIN, tools=(replace(check, reads=("almanac",)),), claims=())

"""The domain plans as the workloads expect, and its effects can be counted."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.metadata import distributions
from pathlib import Path

from adapter_service.sdk import Domain, Memory, PlanningRequest, ToolContext
from bench.domain import EFFECTS_FILE, create_domain, make_domain, read_effects
from bench.stack import install_domain

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def _tools(domain: Domain, text: str) -> list[str]:
    return [task.tool for task in domain.planner.plan(PlanningRequest(text, "en", NOW, True, Memory())).tasks]


def test_a_turn_has_one_tool_and_a_round_goes_on_to_the_side_effect(tmp_path: Path) -> None:
    domain = make_domain(tmp_path / "effects")
    assert _tools(domain, "turn 7") == ["look"]
    assert _tools(domain, "round 7") == ["look", "append"]
    assert domain.tool("append").effect.needs_approval
    assert not domain.tool("look").effect.needs_approval


def test_effects_are_counted_with_and_without_repetitions(tmp_path: Path) -> None:
    append = make_domain(tmp_path / "effects").tool("append").function
    assert read_effects(tmp_path / "effects") == (0, 0)
    for key in ("key_1", "key_2", "key_1"):
        append(value=1, context=ToolContext(NOW, key, "en", lambda _percent, _text: None))
    assert read_effects(tmp_path / "effects") == (3, 2)


def test_two_calls_never_share_a_target(tmp_path: Path) -> None:
    target = make_domain(tmp_path / "effects").tool("append").target
    assert target({"value": 1}) != target({"value": 2})


def test_the_installed_distribution_names_the_factory(tmp_path: Path) -> None:
    install_domain(tmp_path / "installed")
    found = [point for each in distributions(path=[str(tmp_path / "installed")]) for point in each.entry_points]
    assert [(point.group, point.name) for point in found] == [("handrail.domains", "bench")]
    assert found[0].load() is create_domain
    assert EFFECTS_FILE == "effects.txt"

"""The loader names file, case and field of each mistake; and the rules that the data set itself has to keep."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapter_service.domains.aviation.domain import create_domain as create_aviation
from adapter_service.domains.workbench.domain import create_domain as create_workbench
from adapter_service.sdk.domain import DomainEnvironment
from gateway.cli.evaluation.cases import OPTIONAL, Case, CasesInvalid, Ending, load_cases

HEADER = "domain: aviation\nlocale: en\nheld_out: false\ncases:\n"
CASES = load_cases()
ROOT = Path(__file__).parents[4]


def _mistakes(folder: Path, text: str) -> list[str]:
    (folder / "some.yaml").write_text(text, "utf-8")
    with pytest.raises(CasesInvalid) as raised:
        load_cases(folder)
    return raised.value.mistakes


@pytest.mark.parametrize(
    ("case", "told"),
    [
        ("{id: A, intent: x, turns: [{say: hi}]}", "case A: id: String should match pattern"),
        ("{intent: x, turns: [{say: hi}]}", "case number 1: id: Field required"),
        ("{id: a, intent: x, turns: []}", "case a: turns: must not be empty"),
        ("{id: a, intent: x, turns: [{say: hi, tool: [x]}]}", "case a: turns[0].tool: Extra inputs are not permitted"),
        ("{id: a, intent: x, turns: [{say: hi}, {do: jump}]}", "case a: turns[1].do: Input should be 'approve'"),
        ("{id: a, intent: x, turns: [{say: hi, do: skip}]}", "case a: turns[0]: give one of say, do and choose"),
        ("{id: a, intent: x, turns: [{tools: [x]}]}", "case a: turns[0]: give one of say, do and choose"),
        ("{id: a, intent: x, turns: [{say: hi, tools: x}]}", "case a: turns[0].tools: must be a list, or any"),
        ("{id: a, intent: x, turns: [{say: hi, tools: [X y]}]}", "case a: turns[0].tools[0]: String should match"),
        (
            "{id: a, intent: x, turns: [{say: hi, ending: [done]}]}",
            "turns[0].ending: 'done' is no ending; accepted are",
        ),
        ("{id: a, intent: x, turns: [{say: hi, slots: {n: 5}}]}", "slots: n must be a text or a list of texts"),
        (
            "{id: a, intent: x, turns: [{say: hi, clarification: n, ending: completed}]}",
            "ending: a turn that has to ask",
        ),
        ("{id: a, intent: x, turns: [{say: hi, ending: clarification}]}", "clarification: name the slot, or optional"),
        ("{id: a, intent: x, position: [91, 0], turns: [{say: hi}]}", "position: latitude and longitude in degrees"),
        ("just text", "case number 1: Input should be a valid dictionary"),
    ],
)
def test_a_mistake_is_told_with_file_case_and_field(tmp_path: Path, case: str, told: str) -> None:
    (line,) = _mistakes(tmp_path, HEADER + f"- {case}\n")
    assert line.startswith("some.yaml: case ")
    assert told in line


def test_mistakes_of_the_file_itself(tmp_path: Path) -> None:
    assert "some.yaml: is no YAML: " in _mistakes(tmp_path, "cases: [")[0]
    told = "\n".join(_mistakes(tmp_path, "domain: aviation\nlocale: de\nheld_out: 1\ncases: []\n"))
    for field in ("locale: ", "held_out: ", "cases: "):
        assert f"some.yaml: {field}" in told


def test_every_mistake_is_told_at_once_and_an_id_twice_too(tmp_path: Path) -> None:
    good = "- {id: a, intent: x, turns: [{say: hi}]}\n"
    (tmp_path / "first.yaml").write_text(HEADER + good, "utf-8")
    told = _mistakes(tmp_path, HEADER + good + "- {id: b, intent: x, turns: [{}]}\n- {id: c, turns: [{say: x}]}\n")
    assert len(told) == 3
    assert "some.yaml: case a: id: first.yaml has a case of that id already" in told


def test_a_folder_without_cases_is_told(tmp_path: Path) -> None:
    with pytest.raises(CasesInvalid, match="no \\*.yaml files"):
        load_cases(tmp_path)


def test_what_a_turn_expects_by_default(tmp_path: Path) -> None:
    (tmp_path / "some.yaml").write_text(
        HEADER
        + "- {id: a, intent: x, turns: [{say: q}, {say: q, clarification: b|c}, {say: q, clarification: optional}]}\n",
        "utf-8",
    )
    (case,) = load_cases(tmp_path)
    plain, asks, may_ask = case.turns
    assert (plain.endings, plain.tools, plain.expected_slots) == ((Ending.COMPLETED,), (), frozenset())
    assert (asks.endings, asks.expected_slots) == ((Ending.CLARIFICATION,), {"b", "c"})
    assert (may_ask.endings, may_ask.expected_slots) == ((Ending.COMPLETED, Ending.CLARIFICATION), frozenset())


def test_there_are_enough_cases_and_a_third_is_held_out() -> None:
    assert len(CASES) >= 150
    assert len({case.id for case in CASES}) == len(CASES)
    assert sum(case.held_out for case in CASES) * 3 >= len(CASES)


@pytest.mark.parametrize("held_out", [True, False])
def test_languages_and_domains_are_about_half_each(held_out: bool) -> None:
    part = [case for case in CASES if case.held_out is held_out]
    for field in ("domain", "locale"):
        counts = Counter(getattr(case, field) for case in part)
        assert len(counts) == 2
        assert min(counts.values()) >= 0.4 * len(part)
    assert {(case.domain, case.locale) for case in part} == {
        (domain, locale) for domain in ("aviation", "workbench") for locale in ("en", "ru")
    }


def test_both_parts_have_questions_injections_and_requests_out_of_scope() -> None:
    for held_out in (True, False):
        part = [case for case in CASES if case.held_out is held_out]
        assert {"injection", "out_of_scope", "cancel"} <= {case.intent for case in part}
        assert any(turn.expected_slots for case in part for turn in case.turns)
        assert any(len(case.turns) > 1 for case in part)


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, set[str]]]:
    """Domain → tool → its slots, as the domains really declare them, with forecasts."""
    folder = tmp_path_factory.mktemp("domains")
    environment = DomainEnvironment(
        folder, lambda: datetime(2030, 1, 2, tzinfo=UTC), {"HANDRAIL_AVIATION_WEATHER_DIR": str(folder)}
    )
    return {
        domain.name: {tool.name: set(tool.slots) for tool in domain.tools}
        for domain in (create_aviation(environment), create_workbench(environment))
    }


def _named(case: Case) -> set[str]:
    return {name for turn in case.turns for names in turn.tools or () for name in names.split("|")}


def test_every_tool_of_both_domains_is_expected_somewhere(tools: dict[str, dict[str, set[str]]]) -> None:
    for domain, known in tools.items():
        assert {name for case in CASES if case.domain == domain for name in _named(case)} == set(known)


def test_tools_and_questions_that_cases_name_exist(tools: dict[str, dict[str, set[str]]]) -> None:
    for case in CASES:
        known = tools[case.domain]
        slots = {slot for each in known.values() for slot in each}
        for turn in case.turns:
            assert set(turn.forbidden_tools) <= set(known), case.id
            assert turn.clarification in (None, OPTIONAL) or turn.expected_slots <= slots, case.id


def test_no_change_is_expected_without_an_approval_before_it() -> None:
    for case in CASES:
        for number, turn in enumerate(case.turns):
            if {"file_flight_plan", "publish_change"} & set(turn.tools or ()):
                assert turn.do == "approve", case.id
                assert Ending.APPROVAL in case.turns[number - 1].endings, case.id


def test_the_readme_counts_the_cases_that_there_are() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert f"plays {len(CASES)} labelled requests" in readme
    counts = Counter((case.held_out, case.domain) for case in CASES)
    for held_out, name in ((False, "tuned"), (True, "held-out")):
        (found,) = re.findall(rf"\| {name}: aviation, workbench \| \d+ of (\d+), \d+ of (\d+) ", readme)
        assert tuple(map(int, found)) == (counts[held_out, "aviation"], counts[held_out, "workbench"])


def test_the_example_of_the_document_is_a_case(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/evaluation.md").read_text("utf-8"), re.DOTALL)
    (tmp_path / "example.yaml").write_text(example, "utf-8")
    (case,) = load_cases(tmp_path)
    assert [turn.endings for turn in case.turns] == [(Ending.COMPLETED,), (Ending.APPROVAL,), (Ending.COMPLETED,)]

"""`handrail eval`: wrong arguments end it, named, before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from gateway.cli.evaluation import command
from gateway.cli.evaluation.cases import Case, load_cases
from gateway.cli.main import app


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--held-out", "--tuned"], "give --held-out or --tuned, not both"),
        (["--locale", "de"], "must be en or ru"),
        (["--domain", "shipping"], "there are those of aviation, workbench"),
        (["--case", "av-en-t01", "--case", "none"], "none: no such case"),
        (["--case", "av-en-t01", "--locale", "ru"], "no case is left by these options together"),
        (["--json", "/no/such/folder/report.json"], "there is no folder /no/such/folder"),
        (["--compare", "/no/such/report.json"], "cannot be read"),
        (["localhost"], "HOST:PORT"),
    ],
)
def test_wrong_arguments_are_named_before_anything_runs(arguments: list[str], told: str) -> None:
    ended = CliRunner().invoke(app, ["eval", *arguments])
    assert ended.exit_code == 2
    assert told in " ".join(ended.stderr.replace("│", " ").split())


def test_mistakes_in_the_cases_are_told_line_by_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "some.yaml").write_text(
        "domain: aviation\nlocale: en\nheld_out: false\ncases: [{id: a}, {}]\n", "utf-8"
    )

    def load_broken() -> tuple[Case, ...]:
        return load_cases(tmp_path)

    monkeypatch.setattr(command, "load_cases", load_broken)
    ended = CliRunner().invoke(app, ["eval"])
    assert ended.exit_code == 2
    assert "not evaluated some.yaml: case a: turns: Field required" in ended.stderr
    assert "not evaluated some.yaml: case number 2: id: Field required" in ended.stderr


def test_the_options_choose_the_cases() -> None:
    cases = load_cases()
    held_out = command.choose(cases, "workbench", "ru", True, [])
    assert {(case.domain, case.locale, case.held_out) for case in held_out} == {("workbench", "ru", True)}
    both = [command.choose(cases, "", "", part, []) for part in (True, False)]
    assert sorted(case.id for part in both for case in part) == sorted(case.id for case in cases)
    assert [case.id for case in command.choose(cases, "", "", None, ["av-en-t02", "av-en-t01"])] == [
        "av-en-t01",
        "av-en-t02",
    ]

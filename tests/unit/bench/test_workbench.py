"""The workbench's benchmark, small: it measures what it says, on the workspace that it says."""

from __future__ import annotations

import json

import pytest

from bench.workbench import main


def test_the_workbench_benchmark_opens_changes_and_searches_its_workspace(capsys: pytest.CaptureFixture[str]) -> None:
    main(["80", "0.4", "--json"])
    figures = json.loads(capsys.readouterr().out)
    assert figures["documents"] == 70
    assert figures["sections"] > 10
    assert 0.3 < figures["megabytes"] < 0.6
    assert figures["open_ratio"] == pytest.approx(figures["open_s"] / figures["bare_read_and_hash_s"], rel=0.05)
    for name in (
        "open_s",
        "reopen_s",
        "update_one_file_ms",
        "find_text_ms",
        "find_where_ms",
        "match_name_ms",
        "search_documentation_ms",
    ):
        assert figures[name] > 0, name


def test_its_figures_are_also_printed_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    main(["16", "0.05"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines][:2] == ["documents", "sections"]
    assert lines[0].split()[1] == "14.000"

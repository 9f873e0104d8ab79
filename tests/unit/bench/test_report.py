"""The tables show every measured number, and JSON holds the derived ones."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from bench.figures import timing
from bench.report import as_json, show
from bench.results import Counts, Growth, Repetition, Results, Speed, Waiting


def _repetition(round_seconds: float) -> Repetition:
    return Repetition(
        echo=timing("echo", 64, [0.01] * 400, 0.1, {"load": 0.1, "echo": 0.1}),
        group_commit=timing("group commit", 64, [0.01] * 800, 0.1),
        round=timing("round", 64, [0.5] * 100, round_seconds, {"load": 0.1, "loop": 0.5, "adapter": 0.2}),
        turn=timing("turn", 64, [0.2] * 100, 0.2, {"load": 0.1, "loop": 0.2}),
    )


def _counts(name: str, stored: float) -> Counts:
    return Counts(
        name, 1, 10, 1.0, 12.0, {"gateway": 1.0, "loop": 1.0, "adapter": 3.0}, {"loop": 4.0}, {"loop": stored}
    )


@pytest.fixture
def results() -> Results:
    found = Results({"cores": 2})
    found.speeds.append(Speed(64, (_repetition(1.0), _repetition(0.5), _repetition(4.0)), 31.5))
    found.counts.append(_counts("R2", 5000))
    quarters = tuple(_counts(f"R3 quarter {n}", stored) for n, stored in enumerate((9000, 5000, 5000, 5500)))
    found.growth = Growth(200, 0.010, 0.011, 1.1, 1_000_000, quarters)
    made = timing("pend", 64, [0.1] * 2000, 20.0)
    empty, full = {"loop": 40_000_000}, {"loop": 42_048_000}
    found.waiting = Waiting(2000, made, empty, {"loop": 60_000_000}, empty, full, 1.1, 1.2, 1.5, made)
    found.effects = 2100
    return found


def test_ratios_are_medians_over_the_repetitions(results: Results) -> None:
    speed = results.speeds[0]
    assert speed.echo.rate == pytest.approx(4000)
    assert speed.round.rate == pytest.approx(100)
    assert speed.round_echoes == pytest.approx(40)
    assert speed.round_cpu_echoes == pytest.approx(16)  # 8 ms over 0.5 ms
    assert speed.turn_echoes == pytest.approx(8)


def test_growth_leaves_out_the_quarter_that_fills_the_first_pages(results: Results) -> None:
    assert results.growth is not None
    assert results.growth.quarter_ratio("stored") == pytest.approx(1.1)
    assert results.growth.quarter_ratio("calls") == 1
    assert Growth(8, 1.0, 1.0, 1.0, 0).quarter_ratio("stored") == 1


def test_memory_of_a_waiting_interaction(results: Results) -> None:
    assert results.waiting is not None
    assert results.waiting.bytes_each("loop") == pytest.approx(1024)
    assert results.waiting.warm_bytes_each("loop") == pytest.approx(10_000)


def test_json_holds_measured_and_derived_numbers(results: Results) -> None:
    data = json.loads(as_json(results))
    assert data["speeds"][0]["round_echoes"] == pytest.approx(40)
    assert data["growth"]["quarter_ratios"]["stored"] == pytest.approx(1.1)
    assert data["waiting"]["bytes_each"]["loop"] == pytest.approx(1024)
    assert data["waiting"]["first_resume_seconds"] == 1.5
    assert data["effects"] == 2100


def test_the_tables_show_them(results: Results) -> None:
    console = Console(file=io.StringIO(), width=140)
    show(results, console)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    for part in ("4,000", "40.0", "16.0", "<= 16", "31.5 a commit", "1.10 times", "2000 interactions", "1,024 B"):
        assert part in text, part


def test_an_empty_benchmark_can_be_shown() -> None:
    console = Console(file=io.StringIO())
    show(Results({"cores": 2}), console)
    assert json.loads(as_json(Results({"cores": 2})))["growth"] is None

"""Percentiles, growth, and the cost of a round in echoes."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.figures import Timing, echoes, echoes_of_cpu, growth, middle, percentile, timing

SAMPLES = st.lists(st.floats(0.001, 100), min_size=1, max_size=50)


def _timing(rate: float, cpu: float = 0.0) -> Timing:
    return timing("t", 1, [0.1] * 100, 100 / rate, {"a": cpu * 100})


def test_percentile_is_the_nearest_rank() -> None:
    samples = [float(n) for n in range(1, 101)]
    assert [percentile(samples, share) for share in (0, 0.5, 0.99, 1)] == [1, 50, 99, 100]


@given(SAMPLES, st.floats(0, 1))
def test_percentile_is_a_sample_and_grows_with_its_share(samples: list[float], share: float) -> None:
    assert percentile(samples, share) in samples
    assert min(samples) <= percentile(samples, share) <= percentile(samples, 1) == max(samples)


@pytest.mark.parametrize(("samples", "share"), [([], 0.5), ([1.0], 1.1), ([1.0], -0.1)])
def test_percentile_refuses(samples: list[float], share: float) -> None:
    with pytest.raises(ValueError, match="percentile"):
        percentile(samples, share)


def test_growth_compares_the_last_window_with_the_first() -> None:
    assert growth([1.0] * 20 + [50.0] * 160 + [3.0] * 20) == 3
    assert growth([2.0, 6.0]) == 3
    assert growth([1.0, 100.0, 4.0]) == 4
    with pytest.raises(ValueError, match="two"):
        growth([1.0])


def test_timing_counts_per_round() -> None:
    found = timing("R1", 4, [0.1, 0.2, 0.3, 0.4], 2.0, {"loop": 0.4, "load": 0.2}, busy_seconds=2.6)
    assert (found.rounds, found.rate, found.p50, found.p99) == (4, 2.0, 0.2, 0.4)
    assert found.cpu == {"loop": pytest.approx(0.1), "load": pytest.approx(0.05)}
    assert found.cpu_total == pytest.approx(0.15)
    assert found.others == pytest.approx(1.0)  # 2.6 s busy, 0.6 s of them ours, within 2 s


def test_timing_without_rounds() -> None:
    found = timing("R1", 4, [], 0.0, {"loop": 0.4})
    assert (found.rate, found.p50, found.cpu, found.others) == (0.0, 0.0, {}, 0.0)


def test_middle_is_the_repetition_with_the_median_rate() -> None:
    fast, slow, medium = _timing(300), _timing(100), _timing(200)
    assert middle([fast, slow, medium]) is medium
    assert middle([fast, slow]) is slow
    with pytest.raises(ValueError, match="repetition"):
        middle([])


def test_the_cost_of_a_round_in_echoes() -> None:
    round_, echo = _timing(100, cpu=0.01), _timing(4000, cpu=0.0005)
    assert echoes(round_, echo) == pytest.approx(40)
    assert echoes_of_cpu(round_, echo) == pytest.approx(20)
    assert echoes(timing("none", 1, [], 1.0), echo) == math.inf
    assert echoes_of_cpu(round_, _timing(4000)) == 0

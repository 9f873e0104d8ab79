"""Figures from samples: percentiles, rates, growth, the cost of a round in echoes. Pure; called by the scenarios."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


def percentile(samples: Sequence[float], share: float) -> float:
    """The nearest-rank percentile, `share` from 0 to 1; raises ValueError without samples or for another share."""
    if not samples or not 0 <= share <= 1:
        raise ValueError("a percentile needs samples and a share from 0 to 1")
    ordered = sorted(samples)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def growth(samples: Sequence[float], window: int = 20) -> float:
    """Mean of the last `window` samples over the mean of the first (engineering.md 'Speed', R3).

    Fewer than two windows of samples are split in the middle. Raises ValueError for fewer than two samples.
    """
    if len(samples) < 2:
        raise ValueError("growth needs two samples")
    size = min(window, len(samples) // 2)
    first, last = samples[:size], samples[-size:]
    return (sum(last) / size) / (sum(first) / size)


@dataclass(frozen=True, slots=True)
class Timing:
    """One timed workload at one number of clients. Seconds; `cpu` is CPU seconds a round by process.

    `others` is how many cores other programs kept busy meanwhile: they slow down what is measured.
    """

    name: str
    clients: int
    rounds: int
    seconds: float
    p50: float
    p99: float
    cpu: Mapping[str, float] = field(default_factory=dict)
    others: float = 0.0

    @property
    def rate(self) -> float:
        """Rounds per second; 0 where nothing succeeded."""
        return self.rounds / self.seconds if self.seconds > 0 else 0.0

    @property
    def cpu_total(self) -> float:
        """CPU seconds a round over all processes, the load's own included."""
        return sum(self.cpu.values())


def timing(
    name: str,
    clients: int,
    latencies: Sequence[float],
    seconds: float,
    cpu_seconds: Mapping[str, float] | None = None,
    busy_seconds: float = 0.0,
) -> Timing:
    """A Timing of the samples; `cpu_seconds` of the whole workload by process, `busy_seconds` those of the machine."""
    rounds = len(latencies)
    own = sum((cpu_seconds or {}).values())
    return Timing(
        name=name,
        clients=clients,
        rounds=rounds,
        seconds=seconds,
        p50=percentile(latencies, 0.5) if latencies else 0.0,
        p99=percentile(latencies, 0.99) if latencies else 0.0,
        cpu={key: value / rounds for key, value in (cpu_seconds or {}).items()} if rounds else {},
        others=max(0.0, busy_seconds - own) / seconds if seconds > 0 and cpu_seconds else 0.0,
    )


def middle(timings: Sequence[Timing]) -> Timing:
    """The repetition with the median rate (the lower one of two). Raises ValueError for none."""
    if not timings:
        raise ValueError("no repetition")
    return sorted(timings, key=lambda each: each.rate)[(len(timings) - 1) // 2]


def echoes(round_: Timing, echo: Timing) -> float:
    """What a round costs in echoes of the same run at the same number of clients: echo rate over round rate."""
    return echo.rate / round_.rate if round_.rate else math.inf


def echoes_of_cpu(round_: Timing, echo: Timing) -> float:
    """The same by CPU time of all processes: steadier on a shared machine. 0 where CPU was not measured."""
    return round_.cpu_total / echo.cpu_total if echo.cpu_total else 0.0

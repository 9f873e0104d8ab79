"""What a benchmark found, as plain values: the scenarios fill them, the report prints them, JSON keeps them."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field

from bench.figures import Timing, echoes, echoes_of_cpu, middle

ROUND_AIM_ECHOES = 16.0
TURN_AIM_ECHOES = 8.0
WAITING_AIM_BYTES = 1024


@dataclass(frozen=True, slots=True)
class Repetition:
    """The four measurements of one repetition, taken one right after the other, so that their ratios mean something."""

    echo: Timing
    group_commit: Timing
    round: Timing
    turn: Timing


@dataclass(frozen=True, slots=True)
class Speed:
    """R1 and R2 at one number of clients; rates of the middle repetition, ratios as medians over the repetitions."""

    clients: int
    repetitions: tuple[Repetition, ...]
    units_per_commit: float

    @property
    def echo(self) -> Timing:
        return middle([each.echo for each in self.repetitions])

    @property
    def group_commit(self) -> Timing:
        return middle([each.group_commit for each in self.repetitions])

    @property
    def round(self) -> Timing:
        return middle([each.round for each in self.repetitions])

    @property
    def turn(self) -> Timing:
        return middle([each.turn for each in self.repetitions])

    @property
    def round_echoes(self) -> float:
        return statistics.median(echoes(each.round, each.echo) for each in self.repetitions)

    @property
    def turn_echoes(self) -> float:
        return statistics.median(echoes(each.turn, each.echo) for each in self.repetitions)

    @property
    def round_cpu_echoes(self) -> float:
        """The cost of a round in echoes by CPU time, which other programs of the machine disturb least."""
        return statistics.median(echoes_of_cpu(each.round, each.echo) for each in self.repetitions)

    @property
    def turn_cpu_echoes(self) -> float:
        return statistics.median(echoes_of_cpu(each.turn, each.echo) for each in self.repetitions)


@dataclass(frozen=True, slots=True)
class Counts:
    """What one round costs, counted: not timed, for counting slows the services. All per round, by process.

    `served` are RPCs by the process that served them, `messages` are what a client receives, `commits` come from
    SQLite's logs, `stored` are bytes of whole pages.
    """

    workload: str
    clients: int
    rounds: int
    client_calls: float
    messages: float
    served: Mapping[str, float]
    commits: Mapping[str, float]
    stored: Mapping[str, float]

    @property
    def calls(self) -> float:
        return sum(self.served.values())


@dataclass(frozen=True, slots=True)
class Growth:
    """R3: one conversation, turn after turn. `quarters` are the counts of each quarter of the turns; `ratio_at_200` is
    the growth over the first 200 of them, where there are more."""

    turns: int
    first_mean: float
    last_mean: float
    ratio: float
    stored: int
    quarters: tuple[Counts, ...] = ()
    ratio_at_200: float | None = None

    def quarter_ratio(self, kind: str) -> float:
        """The last quarter over the second: calls, commits or stored; 1 where nothing was counted.

        Not over the first: there the databases get the pages that every table needs once.
        """
        if len(self.quarters) < 4:
            return 1.0
        second, last = (_whole(self.quarters[index], kind) for index in (1, 3))
        return last / second if second else 1.0


def _whole(counts: Counts, kind: str) -> float:
    by_process: Mapping[str, float] = {"calls": counts.served, "commits": counts.commits, "stored": counts.stored}[kind]
    return sum(by_process.values())


@dataclass(frozen=True, slots=True)
class Waiting:
    """R4 and R5. Private bytes by process: warm before and after the waiting ones were made, and right after a start
    with an empty database and with all of them waiting. Seconds count from the start of the three processes."""

    count: int
    made: Timing
    warm_before: Mapping[str, int]
    warm_after: Mapping[str, int]
    started_empty: Mapping[str, int]
    started_waiting: Mapping[str, int]
    empty_serving_seconds: float
    serving_seconds: float
    first_resume_seconds: float
    resumed: Timing

    def bytes_each(self, process: str) -> float:
        """Private bytes for one waiting interaction, in a process started with all of them."""
        return _difference(self.started_waiting, self.started_empty, process) / self.count

    def warm_bytes_each(self, process: str) -> float:
        """Private bytes that making one of them left behind, caches and the allocator's reserve included."""
        return _difference(self.warm_after, self.warm_before, process) / self.count


def _difference(after: Mapping[str, int], before: Mapping[str, int], process: str) -> int:
    return after.get(process, 0) - before.get(process, 0)


@dataclass(slots=True)
class Results:
    """One benchmark. `effects`: approved rounds, each of which was checked to have had its effect exactly once."""

    machine: Mapping[str, str | int]
    speeds: list[Speed] = field(default_factory=list)
    counts: list[Counts] = field(default_factory=list)
    growth: Growth | None = None
    waiting: Waiting | None = None
    effects: int = 0

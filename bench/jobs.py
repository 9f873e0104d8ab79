"""What a load process is told and what it reports: plain values, one JSON line each. Used by load and scenarios."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Workload = Literal["echo", "round", "turn", "pend", "resume"]


@dataclass(frozen=True, slots=True)
class Approval:
    """An open approval as its event showed it."""

    approval_id: str
    digest: str


@dataclass(frozen=True, slots=True)
class Job:
    """`rounds` of a workload against `target` by `clients` at once; none is begun after `most_seconds`.

    `conversations`: for "turn", one for each client (none: each client opens its own before the clock starts).
    `approvals`: for "resume".
    """

    target: str
    workload: Workload
    clients: int
    rounds: int
    most_seconds: float
    conversations: tuple[str, ...] = ()
    approvals: tuple[Approval, ...] = ()

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Job:
        """Raises TypeError or ValueError for another form."""
        values: dict[str, Any] = json.loads(text)
        values["conversations"] = tuple(values["conversations"])
        values["approvals"] = tuple(Approval(**each) for each in values["approvals"])
        return cls(**values)


@dataclass(slots=True)
class Outcome:
    """Seconds of CLOCK_MONOTONIC (one clock for all processes of a machine); `calls` are RPCs, `messages` answers."""

    started: float = 0.0
    ended: float = 0.0
    cpu: float = 0.0  # of the load processes, while the clock ran
    latencies: list[float] = field(default_factory=list)
    calls: int = 0
    messages: int = 0
    failures: int = 0
    first_failure: str = ""
    approvals: list[Approval] = field(default_factory=list)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Outcome:
        """Raises TypeError or ValueError for another form."""
        values: dict[str, Any] = json.loads(text)
        values["approvals"] = [Approval(**each) for each in values["approvals"]]
        return cls(**values)


def together(outcomes: Sequence[Outcome]) -> Outcome:
    """The outcome of several processes that ran side by side: from the first start to the last end."""
    return Outcome(
        started=min(each.started for each in outcomes),
        ended=max(each.ended for each in outcomes),
        cpu=sum(each.cpu for each in outcomes),
        latencies=[latency for each in outcomes for latency in each.latencies],
        calls=sum(each.calls for each in outcomes),
        messages=sum(each.messages for each in outcomes),
        failures=sum(each.failures for each in outcomes),
        first_failure=next((each.first_failure for each in outcomes if each.first_failure), ""),
        approvals=[approval for each in outcomes for approval in each.approvals],
    )


def split(job: Job, processes: int) -> list[Job]:
    """The job shared out over at most `processes` processes, each with at least one client and one round."""
    count = max(1, min(processes, job.clients, job.rounds))
    return [
        Job(
            job.target,
            job.workload,
            clients=_share(job.clients, count, index),
            rounds=_share(job.rounds, count, index),
            most_seconds=job.most_seconds,
            conversations=job.conversations[index::count],
            approvals=job.approvals[index::count],
        )
        for index in range(count)
    ]


def _share(whole: int, count: int, index: int) -> int:
    return whole // count + (index < whole % count)

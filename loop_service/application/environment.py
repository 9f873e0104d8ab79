"""What every use case is handed: clock, ids, codec, limits and timings. Built once by bootstrap."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from loop_service.application.ports import Clock, Codec, Ids
from loop_service.domain.budget import Budget


@dataclass(frozen=True, slots=True)
class Timings:
    """Durations of the cycle; tests shorten them."""

    lease: timedelta = timedelta(seconds=30)
    first_backoff_seconds: float = 0.05
    most_backoff_seconds: float = 2.0
    stop_patience_seconds: float = 10.0
    read_patience_seconds: float = 1.0
    model_seconds: float = 10.0
    settle_first_seconds: float = 2.0
    settle_most_seconds: float = 300.0
    expiry_recheck: timedelta = timedelta(seconds=5)
    progress_seconds: float = 0.25
    describe_seconds: float = 1.0
    watch_poll_seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class Environment:
    clock: Clock
    ids: Ids
    codec: Codec
    budget: Budget
    domains: tuple[str, ...]
    timings: Timings = field(default_factory=Timings)
    judges_replies: bool = False
    """A workflow model is there to judge replies that no rule could classify (C7)."""
    picks_actions: bool = False
    """A workflow model is there to pick among several offered actions (A4)."""
    queued_runs: int = 1000
    """Runs that may stand in the queue of this process before new ones are refused."""
    history_id: str = ""
    """Of this database's history; renewed when it is restored from a backup (soundness.md 'Restored databases')."""

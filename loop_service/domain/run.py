"""A run: a stretch of work on an interaction, from an input to exactly one ending event."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class RunState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    ENDED = "ended"


@dataclass(slots=True)
class Usage:
    """What a run used; durations are seconds by stage name of domain.failures.Stage."""

    generations: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    tool_actions: int = 0
    stage_seconds: dict[str, float] = field(default_factory=dict)

    def spend(self, stage: str, seconds: float) -> None:
        self.stage_seconds[stage] = self.stage_seconds.get(stage, 0.0) + seconds


@dataclass(slots=True)
class Run:
    """One row of `runs`. `traceparent` is the trace it works in, `link_traceparent` that of the run it resumes."""

    run_id: str
    conversation_id: str
    interaction_id: str
    request_id: str
    create_time: datetime
    state: RunState = RunState.QUEUED
    message_id: str = ""
    approval_id: str = ""
    resumed_run_id: str = ""
    first_sequence: int = 0
    ending: str = ""
    codes: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    traceparent: str = ""
    link_traceparent: str = ""
    start_time: datetime | None = None
    end_time: datetime | None = None
    not_before: datetime | None = None
    attempts: int = 0

    def note_code(self, code: str) -> None:
        if code and code not in self.codes:
            self.codes.append(code)

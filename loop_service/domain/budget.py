"""Limits of an interaction (B4), enforced by the Loop and named in the failure of whoever meets one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from loop_service.domain.interaction import Interaction


@dataclass(frozen=True, slots=True)
class Budget:
    """Upper bounds of one interaction; the active time excludes waiting for a person."""

    tool_actions: int = 10
    active_time: timedelta = timedelta(seconds=120)
    clarification_rounds: int = 20
    decisions: int = 100
    generations: int = 20

    def time_left(self, interaction: Interaction) -> timedelta:
        return max(self.active_time - interaction.active_time, timedelta(0))


@dataclass(frozen=True, slots=True)
class LimitReached:
    """Which limit: `code` of the failure catalogue and the value to name."""

    code: str
    limit: str


def check_tool_actions(budget: Budget, interaction: Interaction, more: int) -> LimitReached | None:
    if interaction.tool_actions + more > budget.tool_actions:
        return LimitReached("tool_action_limit_reached", str(budget.tool_actions))
    return None


def check_clarifications(budget: Budget, interaction: Interaction) -> LimitReached | None:
    if interaction.clarification_rounds >= budget.clarification_rounds:
        return LimitReached("clarification_limit_reached", str(budget.clarification_rounds))
    return None


def check_progress(budget: Budget, interaction: Interaction) -> LimitReached | None:
    """Before a further decision: numbers, generations and active time."""
    if interaction.decision_number >= budget.decisions:
        return LimitReached("decision_limit_reached", str(budget.decisions))
    if interaction.generations > budget.generations:
        return LimitReached("generation_limit_reached", str(budget.generations))
    if interaction.active_time >= budget.active_time:
        return LimitReached("deadline_exceeded", f"{budget.active_time.total_seconds():g}")
    return None

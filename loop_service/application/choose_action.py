"""Who picks among the actions that policy allows (contract.md 'One decision'): the rule, else the default.

A workflow model would stand between the two; without one, a choice of several without a default is a fault of the
Adapter. Called by take_decision.
"""

from __future__ import annotations

from dataclasses import dataclass

from loop_service.domain.decision import Choose


@dataclass(frozen=True, slots=True)
class Chosen:
    """`chosen_by` is rule or default."""

    action_id: str
    chosen_by: str


def choose_action(choose: Choose) -> Chosen | None:
    """The action to take; None where none can be picked without a model."""
    offered = {action.action_id for action in choose.actions}
    if len(offered) == 1:
        return Chosen(next(iter(offered)), "rule")
    if choose.default_action_id in offered:
        return Chosen(choose.default_action_id, "default")
    return None

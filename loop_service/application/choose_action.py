"""Who picks among the actions that policy allows (contract.md 'One decision', A4, A5): rule, model or default.

The rule takes the only one that remains; then the workflow model, where one is configured; anything but an offered id
falls back to the default. Called by act_on, and by pick_action with what the model said.
"""

from __future__ import annotations

from dataclasses import dataclass

from loop_service.application.ports import ModelChoice
from loop_service.domain.decision import Choose


@dataclass(frozen=True, slots=True)
class Chosen:
    """`chosen_by` is rule, model or default; `model_code` says why a model's answer was not taken."""

    action_id: str
    chosen_by: str
    intent: str = ""
    model_code: str = ""


def choose_by_rule(choose: Choose) -> Chosen | None:
    """The one action that remains; None where there are several, or none."""
    offered = _offered(choose)
    return Chosen(next(iter(offered)), "rule") if len(offered) == 1 else None


def code_of(choose: Choose, picked: ModelChoice | None, model_code: str) -> str:
    """Why the model's answer cannot be taken; "" where it can, or where no model was asked."""
    if picked is None:
        return model_code
    return "" if picked.action_id in _offered(choose) else "model_output_invalid"


def choose_action(choose: Choose, picked: ModelChoice | None = None, model_code: str = "") -> Chosen | None:
    """The action to take; None where none can be picked.

    `picked` is the model's answer, None where there is none; `model_code` then says why.
    """
    by_rule = choose_by_rule(choose)
    if by_rule is not None:
        return by_rule
    offered, code = _offered(choose), code_of(choose, picked, model_code)
    if picked is not None and not code:
        return Chosen(picked.action_id, "model", picked.intent)
    if choose.default_action_id in offered:
        return Chosen(choose.default_action_id, "default", model_code=code)
    return None


def _offered(choose: Choose) -> frozenset[str]:
    return frozenset(action.action_id for action in choose.actions)

"""Asks the workflow model which of several offered actions to take (A4, A5). One step of advance.

The decision is stored already; it is announced together with the choice, whose observation is stored in the same
transaction, so that a decision has one choice for ever. What the model says can only be an offered action.
"""

from __future__ import annotations

from loop_service.application.act_on import act_on, announce
from loop_service.application.ask_model import Answered, AskModel
from loop_service.application.choose_action import choose_action, code_of
from loop_service.application.ports import ActionModel, ModelChoice
from loop_service.application.steps import PickAction, Step, offered_choice
from loop_service.application.work import Work


class PickAnAction:
    """`model` is None where none is configured any more: then the default is taken."""

    def __init__(self, asking: AskModel, model: ActionModel | None) -> None:
        self._asking = asking
        self._model = model

    async def run(self, step: PickAction) -> Step | None:
        model = self._model
        ask = None if model is None else lambda seconds: model.choose(step.offer, seconds)
        return await self._asking.run(step, ask, lambda work, answered: _take(work, step, answered))


def _take(work: Work, step: PickAction, answered: Answered[ModelChoice]) -> None:
    found = offered_choice(work)
    if found is None or found[0].number != step.decision_number:
        # The choice was made already: what the model said is about a decision that is over.
        return
    decision, choose = found
    code = code_of(choose, answered.answer, answered.code)
    work.run.note_code(code)
    chosen = choose_action(choose, answered.answer, answered.code)
    work.decision_number, work.decision_id = decision.number, decision.decision_id
    announce(work, decision, chosen)
    act_on(work, decision, chosen, model_code=code)

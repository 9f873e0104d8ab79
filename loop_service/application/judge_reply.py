"""Asks the workflow model what an ambiguous reply is, where one is configured (C7, A4). One step of advance.

The model reads one text and picks one of five words. An invalid, unsure, late or missing verdict counts as unclear, so
that the reply is treated as an answer and resolved again. It is applied only to the state that it was made for
(verdict_cas), and reaches the Adapter as the observation of the next number, never as another one of the same.
"""

from __future__ import annotations

from loop_service.application.ask_model import Answered, AskModel
from loop_service.application.ports import JudgedReply, ReplyModel
from loop_service.application.reply_verdicts import apply_no_answer
from loop_service.application.steps import JudgeReply, Step
from loop_service.application.work import Work
from loop_service.domain.decision import ReplyVerdict


class JudgeAReply:
    """`model` is None where none is configured: what is unclear then stays so."""

    def __init__(self, asking: AskModel, model: ReplyModel | None) -> None:
        self._asking = asking
        self._model = model

    async def run(self, step: JudgeReply) -> Step | None:
        model = self._model
        ask = None if model is None else lambda seconds: model.judge(step.reply, seconds)
        return await self._asking.run(step, ask, lambda work, answered: _take(work, step, answered))


def _take(work: Work, step: JudgeReply, answered: Answered[JudgedReply]) -> None:
    interaction = work.interaction
    if step.state_of(interaction) != step.judged_state:
        # The state moved while the model read: its verdict is about something that is not there any more.
        return
    interaction.unclear_number = 0
    observation = work.tx.steps.find_observation(interaction.interaction_id, interaction.observation_number)
    message = work.tx.messages.find(step.message_id)
    if observation is not None and message is not None:
        verdict = answered.answer.verdict if answered.answer is not None else ReplyVerdict.UNCLEAR
        apply_no_answer(work, observation, message, verdict)

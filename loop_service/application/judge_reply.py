"""Asks the workflow model what an ambiguous reply is, where one is configured (C7, A4). One step of advance.

The model reads one text and picks one of five words. An invalid, unsure, late or missing verdict counts as unclear, so
that the reply is treated as an answer and resolved again. It is applied only to the state that it was made for
(verdict_cas), and reaches the Adapter as the observation of the next number, never as another one of the same.
"""

from __future__ import annotations

import asyncio

from handrail_rpc.logging import get_logger
from loop_service.application.endings import continue_with, load, spend
from loop_service.application.environment import Environment
from loop_service.application.ports import JudgedReply, ReplyModel
from loop_service.application.reply_verdicts import apply_no_answer
from loop_service.application.steps import JudgeReply, Step
from loop_service.application.store_ports import Transaction, UnitOfWork
from loop_service.domain.decision import ReplyVerdict
from loop_service.domain.failures import Stage

_UNSURE = JudgedReply(ReplyVerdict.UNCLEAR)

logger = get_logger(__name__)


class JudgeAReply:
    """`model` is None where none is configured: what is unclear then stays so."""

    def __init__(self, storage: UnitOfWork, model: ReplyModel | None, env: Environment) -> None:
        self._storage = storage
        self._model = model
        self._env = env

    async def run(self, step: JudgeReply) -> Step | None:
        started = self._env.clock.monotonic()
        judged = await self._judge(step)
        seconds = self._env.clock.monotonic() - started
        return await self._storage.write(lambda tx: self._store(tx, step, judged, seconds), name="judge_reply.store")

    async def _judge(self, step: JudgeReply) -> JudgedReply:
        context = step.context
        if self._model is None or context.generations_left <= 0:
            return _UNSURE
        limit = min(self._env.timings.judge_seconds, context.seconds_left)
        try:
            async with asyncio.timeout(limit):
                return await self._model.judge(step.reply)
        except Exception as error:  # noqa: BLE001 - whatever the model's client raises: no verdict is an unsure one
            # The kind alone: what a model's client says may repeat the text that it was sent.
            logger.warning("the workflow model gave no verdict", error=type(error).__name__)
            return _UNSURE

    def _store(self, tx: Transaction, step: JudgeReply, judged: JudgedReply, seconds: float) -> Step | None:
        work = load(tx, self._env, step.context)
        interaction, usage = work.interaction, work.run.usage
        spend(work, Stage.GENERATION, seconds)
        interaction.generations += judged.generations
        usage.generations += judged.generations
        usage.prompt_tokens += judged.prompt_tokens
        usage.output_tokens += judged.output_tokens
        if step.state_of(interaction) != step.judged_state:
            # The state moved while the model read: its verdict is about something that is not there any more.
            return continue_with(work, step.context.owner)
        interaction.unclear_number = 0
        observation = tx.steps.find_observation(interaction.interaction_id, interaction.observation_number)
        message = tx.messages.find(step.message_id)
        if observation is not None and message is not None:
            apply_no_answer(work, observation, message, judged.verdict)
        return continue_with(work, step.context.owner)

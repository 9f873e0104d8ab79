"""One question to the workflow model and the commit of what it led to (A4, B4, J2). Called by judge_reply, pick_action.

No transaction is open while the model reads. That it is asked was counted and committed before, with the step itself,
so that a process which dies while it reads asks again and never more often than the budget of generations allows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from handrail_rpc import telemetry
from handrail_rpc.logging import get_logger
from loop_service.application.endings import continue_with, load, spend
from loop_service.application.environment import Environment
from loop_service.application.ports import JudgedReply, ModelChoice, ModelFailed
from loop_service.application.steps import JudgeReply, PickAction, Step
from loop_service.application.store_ports import Transaction, UnitOfWork
from loop_service.application.work import Work
from loop_service.domain.failures import Stage

# The client keeps the limit itself, with a finer code; this is for one that does not.
_PATIENCE_SECONDS = 1.0

AnswerT = TypeVar("AnswerT", JudgedReply, ModelChoice)

logger = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Answered(Generic[AnswerT]):
    """What came of asking: the answer, or None and the code of the failure catalogue that says why."""

    answer: AnswerT | None
    code: str = ""
    prompt_tokens: int = 0
    output_tokens: int = 0


class AskModel:
    def __init__(self, storage: UnitOfWork, env: Environment) -> None:
        self._storage = storage
        self._env = env

    async def run(
        self,
        step: JudgeReply | PickAction,
        ask: Callable[[float], Awaitable[AnswerT]] | None,
        take: Callable[[Work, Answered[AnswerT]], None],
    ) -> Step | None:
        """Ask, then store with `take` what follows; `ask` gets its time limit in seconds, None: no model is there."""
        started = self._env.clock.monotonic()
        answered = await self._ask(step, ask)
        seconds = self._env.clock.monotonic() - started

        def store(tx: Transaction) -> Step | None:
            work = load(tx, self._env, step.context)
            spend(work, Stage.GENERATION, seconds)
            work.run.usage.prompt_tokens += answered.prompt_tokens
            work.run.usage.output_tokens += answered.output_tokens
            if answered.code:
                work.run.note_code(answered.code)
            take(work, answered)
            return continue_with(work, step.context.owner)

        return await self._storage.write(store, name="ask_model.store")

    async def _ask(
        self, step: JudgeReply | PickAction, ask: Callable[[float], Awaitable[AnswerT]] | None
    ) -> Answered[AnswerT]:
        if ask is None:
            return Answered(None)
        if not step.asks_model:
            return Answered(None, "generation_limit_reached")
        with telemetry.span("loop.model", {"handrail.question": type(step).__name__}, kind="client") as span:
            answered = await self._answer(step, ask)
            span.set("gen_ai.usage.input_tokens", answered.prompt_tokens)
            span.set("gen_ai.usage.output_tokens", answered.output_tokens)
            if answered.code:
                span.fail(answered.code)
            return answered

    async def _answer(
        self, step: JudgeReply | PickAction, ask: Callable[[float], Awaitable[AnswerT]]
    ) -> Answered[AnswerT]:
        limit = min(self._env.timings.model_seconds, step.context.seconds_left)
        try:
            async with asyncio.timeout(limit + _PATIENCE_SECONDS):
                answer = await ask(limit)
        except ModelFailed as failed:
            logger.warning("the answer of the workflow model is not taken", code=failed.code)
            return Answered(None, failed.code, failed.prompt_tokens, failed.output_tokens)
        except TimeoutError:
            return Answered(None, "model_timed_out")
        except Exception as error:  # noqa: BLE001 - whatever a model's client raises: there is no answer
            # The kind alone: what a model's client says may repeat the text that it was sent.
            logger.warning("the workflow model gave no answer", error=type(error).__name__)
            return Answered(None, "model_unavailable")
        return Answered(answer, "", answer.prompt_tokens, answer.output_tokens)

"""ExecuteTool for the calls of a decision, side by side where there are several, and the commit of their outcomes.

One step of advance. A dispatch number is committed before each sending; the outcome is committed with its events, and
the last one brings the next observation in the same transaction. Progress is coalesced.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from functools import partial

from handrail_rpc.errors import HandrailError
from loop_service.application.act_on import fail
from loop_service.application.adapter_calls import AdapterCalls
from loop_service.application.endings import continue_with, load, spend
from loop_service.application.environment import Environment
from loop_service.application.outcomes import record_outcome
from loop_service.application.ports import Adapter, Executed, RunContext
from loop_service.application.steps import Execute, Step
from loop_service.application.store_ports import Transaction, UnitOfWork
from loop_service.application.work import Work
from loop_service.domain.decision import CallRecord, Outcome, ToolOutcome
from loop_service.domain.errors import LeaseLost
from loop_service.domain.events import ToolProgress
from loop_service.domain.failures import Stage
from loop_service.domain.observation import ToolsFinished
from loop_service.domain.transitions import RESUME


class ExecuteCalls:
    def __init__(self, storage: UnitOfWork, adapter: Adapter, calls: AdapterCalls, env: Environment) -> None:
        self._storage = storage
        self._adapter = adapter
        self._calls = calls
        self._env = env

    async def run(self, step: Execute) -> Step | None:
        if len(step.calls) == 1:
            return await self._execute_one(step, step.calls[0])
        tasks = [asyncio.ensure_future(self._execute_one(step, call)) for call in step.calls]
        try:
            results = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
        return next((result for result in results if result is not None), None)

    async def _execute_one(self, step: Execute, call: CallRecord) -> Step | None:
        started = self._env.clock.monotonic()
        executed = await self.until_outcome(step.context, call, step.context.seconds_left)
        outcome = self._env.codec.decode_outcome(executed.outcome)
        seconds = self._env.clock.monotonic() - started
        return await self._storage.write(
            lambda tx: self._store(tx, step, call, outcome, executed.session_revision, seconds),
            name="execute_calls.outcome",
        )

    async def until_outcome(self, context: RunContext, call: CallRecord, seconds_left: float) -> Executed:
        """Send the call until its outcome comes; it is attached to where it still runs. Raises as AdapterCalls does."""
        progress = _Progress(self._storage, self._env, context, call)

        async def dispatch_again() -> None:
            nonlocal call
            call = await self._storage.write(
                lambda tx: self._dispatch_again(tx, context, call), name="execute_calls.dispatch_again"
            )

        try:
            return await self._calls.persist(
                context,
                lambda epoch: self._adapter.execute(context, epoch, call, progress.note),
                seconds_left,
                faults_are_final=False,
                before_retry=dispatch_again,
            )
        finally:
            await progress.close()

    def _dispatch_again(self, tx: Transaction, context: RunContext, call: CallRecord) -> CallRecord:
        load(tx, self._env, context)
        raised = replace(call, dispatch_number=call.dispatch_number + 1)
        tx.steps.put_call(raised)
        return raised

    def _store(
        self,
        tx: Transaction,
        step: Execute,
        call: CallRecord,
        outcome: ToolOutcome,
        session_revision: int,
        seconds: float,
    ) -> Step | None:
        work = load(tx, self._env, step.context)
        work.note_revision(session_revision)
        calls = tx.steps.calls_of(work.interaction.interaction_id)
        stored = next((c for c in calls if c.tool_call_id == call.tool_call_id), None)
        if stored is None:
            raise LeaseLost(step.context.interaction_id)
        record_outcome(work, stored, outcome)
        if any(c.outcome is None for c in calls):
            work.save()
            return None
        spend(work, Stage.TOOL, seconds)
        finish_calls(work, [c for c in calls if c.decision_number == stored.decision_number])
        return continue_with(work, step.context.owner)


def finish_calls(work: Work, calls: list[CallRecord]) -> None:
    """All calls of a decision have outcomes: they are one observation; an unknown one ends the run."""
    unknown = next((c for c in calls if c.outcome is Outcome.UNKNOWN), None)
    if unknown is not None:
        fail(work, "tool_outcome_unknown", unknown=True, tool=unknown.tool)
        return
    work.move(RESUME)
    work.observe(
        ToolsFinished(tuple((c.tool_call_id, c.outcome or Outcome.UNKNOWN) for c in calls)),
        kind="tool_finished",
    )


class _Progress:
    """Keeps the newest progress of a call and stores it now and then; a quick call stores none."""

    def __init__(self, storage: UnitOfWork, env: Environment, context: RunContext, call: CallRecord) -> None:
        self._storage = storage
        self._env = env
        self._context = context
        self._call = call
        self._newest: tuple[int, str] | None = None
        self._task: asyncio.Task[None] | None = None

    def note(self, percent: int, message: str) -> None:
        self._newest = (max(0, min(percent, 100)), message)
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._store_later())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError, HandrailError):
                await self._task

    async def _store_later(self) -> None:
        while self._newest is not None:
            await self._env.clock.sleep(self._env.timings.progress_seconds)
            (percent, message), self._newest = self._newest, None
            await self._storage.write(
                partial(self._store, percent=percent, message=message), name="execute_calls.progress"
            )

    def _store(self, tx: Transaction, percent: int, message: str) -> None:
        work = load(tx, self._env, self._context)
        work.emit(ToolProgress(self._call.tool_call_id, self._call.tool, percent, message))
        work.save()

"""Carrying out a recorded stop: fence at the Adapter, outcomes of everything that had begun, then the ending.

One step of advance. `canceled` is told only after the Adapter answered which calls had begun (confirm_stop), and all
of those are recorded (close_names_all).
"""

from __future__ import annotations

from functools import partial

from loop_service.application.act_on import fail
from loop_service.application.adapter_calls import AdapterCalls, TimeIsUp
from loop_service.application.endings import continue_with, load, spend
from loop_service.application.environment import Environment
from loop_service.application.execute_calls import ExecuteCalls
from loop_service.application.lifecycle import finish, wait_to_settle
from loop_service.application.outcomes import record_lost, record_outcome
from loop_service.application.ports import Adapter, BegunCall, Transaction, UnitOfWork
from loop_service.application.steps import Step, StopInteraction
from loop_service.application.work import Work
from loop_service.domain.decision import CallRecord, Effect, Outcome
from loop_service.domain.events import Canceled
from loop_service.domain.failures import Stage
from loop_service.domain.interaction import Stop, StopKind
from loop_service.domain.transitions import CANCEL


class StopAnInteraction:
    def __init__(
        self,
        storage: UnitOfWork,
        adapter: Adapter,
        calls: AdapterCalls,
        execute: ExecuteCalls,
        env: Environment,
    ) -> None:
        self._storage = storage
        self._adapter = adapter
        self._calls = calls
        self._execute = execute
        self._env = env

    async def run(self, step: StopInteraction) -> Step | None:
        """Fence and settle. Where the Adapter is away the run ends waiting, and a timer asks again."""
        context, clock = step.context, self._env.clock
        started = clock.monotonic()
        if not context.domain_session_id:
            return await self._storage.write(lambda tx: self._store(tx, step, (), {}, 0.0))
        patience = self._env.timings.stop_patience_seconds
        try:
            begun = await self._calls.persist(
                context,
                lambda epoch: self._adapter.cancel(context, epoch),
                patience,
                faults_are_final=False,
            )
            attached = await self._attach(step, begun, started + patience)
        except TimeIsUp:
            seconds = clock.monotonic() - started
            return await self._storage.write(lambda tx: self._not_settled(tx, step, seconds))
        seconds = clock.monotonic() - started
        return await self._storage.write(lambda tx: self._store(tx, step, begun, attached, seconds))

    async def _attach(self, step: StopInteraction, begun: tuple[BegunCall, ...], deadline: float) -> dict[str, bytes]:
        """Outcomes of the calls that had begun and had none yet, by call id."""
        outcomes: dict[str, bytes] = {}
        known = {call.tool_call_id: call for call in step.calls}
        for call in begun:
            if call.outcome:
                continue
            record = known.get(call.tool_call_id) or self._adopted(step, call)
            record = await self._storage.write(partial(self._dispatch, step=step, call=record))
            left = max(deadline - self._env.clock.monotonic(), 0.0)
            outcomes[call.tool_call_id] = await self._execute.until_outcome(step.context, record, left)
        return outcomes

    def _dispatch(self, tx: Transaction, step: StopInteraction, call: CallRecord) -> CallRecord:
        load(tx, self._env, step.context)
        call.dispatch_number += 1
        tx.steps.put_call(call)
        return call

    def _adopted(self, step: StopInteraction, call: BegunCall) -> CallRecord:
        """A call in the Adapter's ledger that has no row here (it was dispatched by a lost history)."""
        return CallRecord(
            call.tool_call_id,
            step.context.interaction_id,
            decision_number=0,
            position=0,
            tool=call.tool,
            effect=Effect.EXTERNAL,
            idempotent=False,
            approval_id="",
            summary="",
        )

    def _store(
        self,
        tx: Transaction,
        step: StopInteraction,
        begun: tuple[BegunCall, ...],
        attached: dict[str, bytes],
        seconds: float,
    ) -> Step | None:
        work = load(tx, self._env, step.context)
        work.run.usage.spend(Stage.ADAPTER.value, seconds)
        records = {c.tool_call_id: c for c in tx.steps.calls_of(work.interaction.interaction_id)}
        for call in begun:
            record = records.setdefault(call.tool_call_id, self._adopted(step, call))
            raw = call.outcome or attached.get(call.tool_call_id, b"")
            if raw:
                record_outcome(work, record, self._env.codec.decode_outcome(raw))
        for record in records.values():
            # The fence holds: what the ledger does not name never began and never will.
            record_lost(work, record, Outcome.BLOCKED)
        self._end(work, step.stop, list(records.values()))
        return continue_with(work, step.context.owner)

    def _end(self, work: Work, stop: Stop, calls: list[CallRecord]) -> None:
        unknown = next((c for c in calls if c.outcome is Outcome.UNKNOWN), None)
        if unknown is not None:
            fail(work, "tool_outcome_unknown", told=True, unknown=True, tool=unknown.tool)
        elif stop.kind is StopKind.LIMIT:
            fail(work, stop.code, told=True, limit=stop.reason)
        else:
            finish(
                work,
                CANCEL,
                Canceled(stop.reason, stop.code, work.confirmed_steps()),
                code=stop.code,
            )

    def _not_settled(self, tx: Transaction, step: StopInteraction, seconds: float) -> Step | None:
        """The Adapter did not answer. A limit without a change under way may end; everything else waits."""
        work = load(tx, self._env, step.context)
        spend(work, Stage.ADAPTER, seconds)
        calls = tx.steps.calls_of(work.interaction.interaction_id)
        if step.stop.kind is StopKind.LIMIT and not any(c.holds_back_an_ending for c in calls):
            for call in calls:
                record_lost(work, call, Outcome.UNKNOWN)
            fail(work, step.stop.code, limit=step.stop.reason)
        else:
            wait_to_settle(work)
        return continue_with(work, step.context.owner)

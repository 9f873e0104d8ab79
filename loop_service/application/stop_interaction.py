"""Carrying out a recorded stop: fence at the Adapter, outcomes of everything that had begun, then the ending.

One step of advance. `canceled` is told only after the Adapter answered which calls had begun (confirm_stop), and all
of those are recorded (close_names_all).
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial

from loop_service.application.act_on import fail
from loop_service.application.adapter_calls import AdapterCalls, Diverged, TimeIsUp
from loop_service.application.endings import continue_with, load, spend
from loop_service.application.environment import Environment
from loop_service.application.execute_calls import ExecuteCalls
from loop_service.application.lifecycle import finish, wait_to_settle
from loop_service.application.outcomes import record_lost, record_outcome
from loop_service.application.ports import Adapter, BegunCall, Closed, Executed, RunContext
from loop_service.application.steps import Step, StopInteraction
from loop_service.application.store_ports import Transaction, UnitOfWork
from loop_service.application.work import Work
from loop_service.domain.decision import CHANGING, CallRecord, Effect, Outcome
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
        lost = step.stop.kind is StopKind.DIVERGED
        if not context.domain_session_id and not lost:
            return await self._storage.write(
                lambda tx: self._store(tx, step, Closed(()), {}, 0.0), name="stop_interaction.without_session"
            )
        patience = self._env.timings.stop_patience_seconds
        try:
            if lost:
                context = await self._of_session(context, patience)
                step = replace(step, context=context)
            closed = await self._calls.persist(
                context,
                lambda epoch: self._adapter.cancel(context, epoch),
                patience,
                faults_are_final=False,
            )
            attached = await self._attach(step, closed.calls, started + patience)
        except TimeIsUp:
            seconds = clock.monotonic() - started
            return await self._storage.write(
                lambda tx: self._not_settled(tx, step, seconds), name="stop_interaction.not_settled"
            )
        seconds = clock.monotonic() - started
        return await self._storage.write(
            lambda tx: self._store(tx, step, closed, attached, seconds), name="stop_interaction.settled"
        )

    async def _of_session(self, context: RunContext, patience: float) -> RunContext:
        """The context with the session as the Adapter has it now: this database may be older than it, and is to be
        answered all the same. Raises Diverged where the Adapter's is another history."""
        session = await self._calls.persist(
            context,
            lambda _: self._adapter.open_session(
                context.domain, context.conversation_id, f"session-{context.conversation_id}"
            ),
            patience,
            faults_are_final=False,
        )
        if context.history_id and context.history_id != session.history_id:
            raise Diverged("HISTORY_DIVERGED")
        return replace(
            context,
            domain_session_id=session.domain_session_id,
            history_id=session.history_id,
            known_session_revision=session.session_revision,
        )

    async def _attach(
        self, step: StopInteraction, begun: tuple[BegunCall, ...], deadline: float
    ) -> dict[str, Executed]:
        """Outcomes of the calls that had begun and had none yet, by call id. A call that changes nothing is given a
        moment only: it holds back no ending, and is left out where it hangs.
        """
        known = {call.tool_call_id: call for call in step.calls}
        records = [known.get(call.tool_call_id) or self._adopted(step, call) for call in begun if not call.outcome]
        brief = min(deadline, self._env.clock.monotonic() + self._env.timings.read_patience_seconds)
        tasks = [
            asyncio.ensure_future(self._attach_one(step, record, deadline if record.effect in CHANGING else brief))
            for record in records
        ]
        try:
            found = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
        return {r.tool_call_id: outcome for r, outcome in zip(records, found, strict=True) if outcome is not None}

    async def _attach_one(self, step: StopInteraction, call: CallRecord, deadline: float) -> Executed | None:
        call = await self._storage.write(
            partial(self._dispatch, step=step, call=call), name="stop_interaction.dispatch"
        )
        left = max(deadline - self._env.clock.monotonic(), 0.0)
        try:
            return await self._execute.until_outcome(step.context, call, left)
        except TimeIsUp:
            if call.effect in CHANGING:
                raise
            return None

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
        closed: Closed,
        attached: dict[str, Executed],
        seconds: float,
    ) -> Step | None:
        work = load(tx, self._env, step.context)
        behind = step.context.known_session_revision < work.conversation.session_revision
        if step.stop.kind is not StopKind.DIVERGED:
            # What the Adapter did beyond this database stays to be seen, for as long as nobody has looked after it.
            for revision in (closed.session_revision, *(each.session_revision for each in attached.values())):
                work.note_revision(revision)
        work.run.usage.spend(Stage.ADAPTER.value, seconds)
        records = {c.tool_call_id: c for c in tx.steps.calls_of(work.interaction.interaction_id)}
        for call in closed.calls:
            record = records.setdefault(call.tool_call_id, self._adopted(step, call))
            raw = call.outcome or (attached[call.tool_call_id].outcome if call.tool_call_id in attached else b"")
            if raw:
                record_outcome(work, record, self._env.codec.decode_outcome(raw))
        named = {call.tool_call_id for call in closed.calls}
        for record in records.values():
            # The fence holds: what the ledger does not name never began and never will. What it names without an
            # outcome changes nothing, however it ends. A session that is behind what was seen of it has lost part of
            # its ledger: what was sent may have begun in that part (diverged_ends).
            may_have_begun = record.tool_call_id in named or (behind and record.dispatch_number > 0)
            record_lost(work, record, Outcome.UNKNOWN if may_have_begun else Outcome.BLOCKED)
        self._end(work, step.stop, list(records.values()))
        return continue_with(work, step.context.owner)

    def _end(self, work: Work, stop: Stop, calls: list[CallRecord]) -> None:
        unknown = next((c for c in calls if c.outcome is Outcome.UNKNOWN and c.effect in CHANGING), None)
        if stop.kind is StopKind.DIVERGED:
            work.conversation.note_divergence()
            fail(work, stop.code, told=True, unknown=unknown is not None, source_code=stop.reason)
        elif unknown is not None:
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

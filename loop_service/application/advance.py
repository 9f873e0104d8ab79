"""One step of the cycle: the only loop logic (A1, B1). Called by the worker again and again until a run waits or ends.

Every step asks outside any transaction and commits what it learnt, with the next step, in one.
"""

from __future__ import annotations

from datetime import timedelta

from loop_service.application.adapter_calls import AdapterCalls, AdapterFailed, Diverged, TimeIsUp
from loop_service.application.ask_model import AskModel
from loop_service.application.endings import (
    continue_with,
    end_diverged,
    end_failed,
    end_out_of_time,
    load,
)
from loop_service.application.environment import Environment
from loop_service.application.execute_calls import ExecuteCalls
from loop_service.application.judge_reply import JudgeAReply
from loop_service.application.lost_histories import check_session
from loop_service.application.pick_action import PickAnAction
from loop_service.application.ports import ActionModel, Adapter, ReplyModel
from loop_service.application.steps import (
    Decide,
    Diverge,
    Execute,
    JudgeReply,
    OpenSession,
    PickAction,
    Step,
    StopInteraction,
)
from loop_service.application.stop_interaction import StopAnInteraction
from loop_service.application.store_ports import Transaction, UnitOfWork
from loop_service.application.take_decision import TakeDecision


class Advance:
    def __init__(
        self,
        storage: UnitOfWork,
        adapter: Adapter,
        env: Environment,
        reply_model: ReplyModel | None = None,
        action_model: ActionModel | None = None,
    ) -> None:
        self._storage = storage
        self._adapter = adapter
        self._env = env
        self._calls = AdapterCalls(storage, env)
        self._decide = TakeDecision(storage, adapter, self._calls, env)
        self._execute = ExecuteCalls(storage, adapter, self._calls, env)
        self._stop = StopAnInteraction(storage, adapter, self._calls, self._execute, env)
        asking = AskModel(storage, env)
        self._judge = JudgeAReply(asking, reply_model)
        self._pick = PickAnAction(asking, action_model)

    async def advance(self, step: Step) -> Step | None:
        """Take one step; returns the next one, None where the run ended or waits.

        Raises LeaseLost where the run is no longer ours: stop at once. Unavailable where the storage is away.
        """
        started = self._env.clock.monotonic()
        context = step.context
        try:
            return await self._take(step)
        except TimeIsUp as late:
            seconds, away, source = self._env.clock.monotonic() - started, late.away, late.source_code
            return await self._storage.write(
                lambda tx: end_out_of_time(tx, self._env, context, seconds, away, source), name="advance.out_of_time"
            )
        except Diverged as diverged:
            source = diverged.source_code
            return await self._storage.write(
                lambda tx: end_diverged(tx, self._env, context, source), name="advance.diverged"
            )
        except AdapterFailed as failed:
            source, code = failed.source_code, failed.code
            return await self._storage.write(
                lambda tx: end_failed(tx, self._env, context, code, source), name="advance.failed"
            )

    async def give_up(self, step: Step) -> Step | None:
        """End a run that this process cannot carry on (an internal error, again and again)."""
        return await self._storage.write(
            lambda tx: end_failed(tx, self._env, step.context, "internal_error", ""), name="advance.give_up"
        )

    async def _take(self, step: Step) -> Step | None:
        match step:
            case OpenSession():
                return await self._open_session(step)
            case Decide():
                return await self._decide.run(step)
            case Execute():
                return await self._execute.run(step)
            case StopInteraction():
                return await self._stop.run(step)
            case JudgeReply():
                return await self._judge.run(step)
            case PickAction():
                return await self._pick.run(step)
            case Diverge():
                raise Diverged(step.source_code)

    async def _open_session(self, step: OpenSession) -> Step | None:
        """The session and its history id are stored before the first Decide (history_first)."""
        context = step.context
        started = self._env.clock.monotonic()
        try:
            session = await self._calls.persist(
                context,
                lambda _: self._adapter.open_session(
                    context.domain, context.conversation_id, f"session-{context.conversation_id}"
                ),
                context.seconds_left,
            )
        except Diverged as refused:
            if refused.source_code != "DOMAIN_NOT_FOUND":
                raise
            # No records contradict each other: the configured Adapter does not have this domain.
            raise AdapterFailed(refused.source_code, "domain_not_served") from refused
        seconds = self._env.clock.monotonic() - started

        def store(tx: Transaction) -> Step | None:
            work = load(tx, self._env, context)
            check_session(work.conversation, session, self._env.history_id)
            work.interaction.active_time += timedelta(seconds=seconds)
            for row in (work.conversation, work.interaction):
                row.domain_session_id = session.domain_session_id
                row.history_id = session.history_id
            work.note_revision(session.session_revision)
            work.conversation.loop_history_id = self._env.history_id
            return continue_with(work, context.owner)

        return await self._storage.write(store, name="advance.open_session")

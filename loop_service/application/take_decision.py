"""Decide(n) and the commit of its answer: decision, events, audit, state and follow-up in one transaction (B2, B3).

One step of advance. A free-text reply that turned out to be no answer changes no plan: the Loop alone supersedes,
cancels or goes on (C7).
"""

from __future__ import annotations

from datetime import timedelta

from loop_service.application.act_on import (
    act_on,
    announce,
    announce_again,
    clear_wait,
    close_stale_approval,
    fail,
)
from loop_service.application.adapter_calls import AdapterCalls, AdapterFailed, Diverged, TimeIsUp
from loop_service.application.choose_action import choose_by_rule
from loop_service.application.endings import continue_with, load, spend
from loop_service.application.environment import Environment
from loop_service.application.ports import Adapter, Decided
from loop_service.application.reply_verdicts import apply_verdict
from loop_service.application.steps import Decide, Step
from loop_service.application.store_ports import Transaction, UnitOfWork
from loop_service.domain.approval import ApprovalStatus
from loop_service.domain.decision import Choose, Decision, ReplyVerdict
from loop_service.domain.failures import Stage


class TakeDecision:
    def __init__(self, storage: UnitOfWork, adapter: Adapter, calls: AdapterCalls, env: Environment) -> None:
        self._storage = storage
        self._adapter = adapter
        self._calls = calls
        self._env = env

    async def run(self, step: Decide) -> Step | None:
        """Ask, store, act; returns what is to be done next, None where the run ended."""
        context = step.context
        started = self._env.clock.monotonic()
        checks_expiry = step.asked.observation.kind == "approval_expired"
        patience = self._env.timings.stop_patience_seconds
        try:
            decided = await self._calls.persist(
                context,
                lambda epoch: self._adapter.decide(context, epoch, step.asked),
                patience if checks_expiry else context.seconds_left,
            )
        except TimeIsUp as late:
            if not checks_expiry:
                raise
            seconds, source = self._env.clock.monotonic() - started, late.source_code
            return await self._storage.write(
                lambda tx: self._put_off(tx, step, seconds, source), name="take_decision.put_off"
            )
        try:
            decision = self._env.codec.decode_decision(decided.decision)
        except ValueError as error:
            # For example a snapshot whose expiry is finer than the digest's microseconds.
            raise AdapterFailed("DECISION_MALFORMED") from error
        if decision.number != step.asked.observation.number:
            raise Diverged("DECISION_NUMBER")
        seconds = self._env.clock.monotonic() - started
        return await self._storage.write(
            lambda tx: self._store(tx, step, decision, decided, seconds), name="take_decision.store"
        )

    def _store(
        self, tx: Transaction, step: Decide, decision: Decision, decided: Decided, seconds: float
    ) -> Step | None:
        work = load(tx, self._env, step.context)
        interaction, run = work.interaction, work.run
        if decision.number != interaction.decision_number + 1:
            raise Diverged("DECISION_NUMBER")
        if decision.plan_version < interaction.plan_version:
            raise Diverged("PLAN_VERSION")
        if step.asked.observation.kind == "approval_expired":
            # A person is still being waited for: that uses up no active time (B4).
            run.usage.spend(Stage.PLANNING.value, seconds)
        else:
            spend(work, Stage.PLANNING, seconds)
        work.note_revision(decided.session_revision)
        interaction.generations += decided.generations
        run.usage.generations += decided.generations
        run.usage.prompt_tokens += decided.prompt_tokens
        run.usage.output_tokens += decided.output_tokens
        interaction.decision_number = decision.number
        interaction.plan_version = decision.plan_version
        interaction.context = decision.context or interaction.context
        work.decision_number, work.decision_id = decision.number, decision.decision_id
        tx.steps.put_decision(interaction.interaction_id, decision, run.run_id, work.now)
        classifies = decision.reply_verdict in (
            ReplyVerdict.NEW_REQUEST,
            ReplyVerdict.CANCEL,
            ReplyVerdict.UNCLEAR,
        )
        # The next step asks the model, and announces the decision together with its choice.
        waits_for_model = not classifies and self._is_for_the_model(decision)
        if not waits_for_model:
            announce(work, decision)
        if classifies:
            apply_verdict(work, step.asked.observation, decision)
        else:
            expired = step.asked.observation.kind == "approval_expired"
            close_stale_approval(work, decision, ApprovalStatus.EXPIRED if expired else ApprovalStatus.STALE)
            clear_wait(work)
            if not waits_for_model:
                act_on(work, decision)
        return continue_with(work, step.context.owner)

    def _is_for_the_model(self, decision: Decision) -> bool:
        """Several actions remain, and a model is there to pick one (A5: never asked where a rule settles it)."""
        outcome = decision.outcome
        return (
            self._env.picks_actions
            and isinstance(outcome, Choose)
            and bool(outcome.actions)
            and choose_by_rule(outcome) is None
        )

    def _put_off(self, tx: Transaction, step: Decide, seconds: float, source_code: str) -> Step | None:
        """Nobody can say whether the approval has expired: it stays, and a timer asks again, later each time.

        A message that waits behind the question is kept waiting for no longer than any other (adapter_unavailable).
        """
        work = load(tx, self._env, step.context)
        interaction, timings = work.interaction, self._env.timings
        approval = tx.approvals.find(interaction.approval_id) if interaction.approval_id else None
        if tx.steps.inbox(interaction.interaction_id):
            spend(work, Stage.ADAPTER, seconds)
            if not self._env.budget.time_left(interaction):
                fail(work, "adapter_unavailable", source_code=source_code)
        elif approval is None or approval.expire_time is None:
            fail(work, "plan_invalid")
        else:
            work.run.usage.spend(Stage.ADAPTER.value, seconds)
            overdue = max(work.now - approval.expire_time, timings.expiry_recheck)
            most = timedelta(seconds=timings.settle_most_seconds)
            announce_again(work, approval, work.now + min(overdue, most))
        return continue_with(work, step.context.owner)

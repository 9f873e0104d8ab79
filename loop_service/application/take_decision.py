"""Decide(n) and the commit of its answer: decision, events, audit, state and follow-up in one transaction (B2, B3).

One step of advance. A free-text reply that turned out to be no answer changes no plan: the Loop alone supersedes,
cancels or goes on (C7).
"""

from __future__ import annotations

from loop_service.application.act_on import (
    act_on,
    announce,
    announce_again,
    clear_wait,
    close_stale_approval,
    drain,
    fail,
    wait_again,
)
from loop_service.application.adapter_calls import AdapterCalls, AdapterFailed, Diverged
from loop_service.application.endings import continue_with, load, spend
from loop_service.application.environment import Environment
from loop_service.application.lifecycle import supersede
from loop_service.application.ports import Adapter, Decided, Transaction, UnitOfWork
from loop_service.application.steps import Decide, Step
from loop_service.application.work import Work
from loop_service.domain.approval import ApprovalStatus
from loop_service.domain.decision import Decision, ReplyVerdict
from loop_service.domain.failures import TEXTS, Stage
from loop_service.domain.interaction import Stop, StopKind
from loop_service.domain.observation import StoredObservation


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
        decided = await self._calls.persist(
            context,
            lambda epoch: self._adapter.decide(context, epoch, step.asked),
            context.seconds_left,
        )
        try:
            decision = self._env.codec.decode_decision(decided.decision)
        except ValueError as error:
            # For example a snapshot whose expiry is finer than the digest's microseconds.
            raise AdapterFailed("DECISION_MALFORMED") from error
        if decision.number != step.asked.observation.number:
            raise Diverged("DECISION_NUMBER")
        seconds = self._env.clock.monotonic() - started
        return await self._storage.write(lambda tx: self._store(tx, step, decision, decided, seconds))

    def _store(
        self, tx: Transaction, step: Decide, decision: Decision, decided: Decided, seconds: float
    ) -> Step | None:
        work = load(tx, self._env, step.context)
        interaction, run = work.interaction, work.run
        if decision.number != interaction.decision_number + 1:
            raise Diverged("DECISION_NUMBER")
        if decision.plan_version < interaction.plan_version:
            raise Diverged("PLAN_VERSION")
        spend(work, Stage.PLANNING, seconds)
        interaction.generations += decided.generations
        run.usage.generations += decided.generations
        run.usage.prompt_tokens += decided.prompt_tokens
        run.usage.output_tokens += decided.output_tokens
        interaction.decision_number = decision.number
        interaction.plan_version = decision.plan_version
        interaction.context = decision.context or interaction.context
        work.decision_number, work.decision_id = decision.number, decision.decision_id
        tx.steps.put_decision(interaction.interaction_id, decision, run.run_id, work.now)
        announce(work, decision)
        for block in decision.blocks:
            work.block(block)
        if decision.reply_verdict in (
            ReplyVerdict.NEW_REQUEST,
            ReplyVerdict.CANCEL,
            ReplyVerdict.UNCLEAR,
        ):
            self._apply_verdict(work, step.asked.observation, decision)
        else:
            expired = step.asked.observation.kind == "approval_expired"
            close_stale_approval(work, decision, ApprovalStatus.EXPIRED if expired else ApprovalStatus.STALE)
            clear_wait(work)
            act_on(work, decision)
        return continue_with(work, step.context.owner)

    def _apply_verdict(self, work: Work, observation: StoredObservation, decision: Decision) -> None:
        """A reply that is no answer; the decision must carry no action then.

        The message that began the interaction is no reply: a successor of it would be superseded in turn, for ever.
        """
        message = work.tx.messages.find(observation.message_id) if observation.message_id else None
        if decision.outcome is not None or message is None or message.message_id == work.interaction.root_message_id:
            fail(work, "plan_invalid")
            return
        match decision.reply_verdict:
            case ReplyVerdict.NEW_REQUEST:
                supersede(work, message)
            case ReplyVerdict.CANCEL:
                work.interaction.stop = Stop(
                    StopKind.CANCEL,
                    "",
                    TEXTS["reason_canceled"].of(message.locale),
                    work.interaction.requester.principal,
                )
            case _:
                self._apply_unclear(work, observation)

    def _apply_unclear(self, work: Work, observation: StoredObservation) -> None:
        """Treated as an answer and resolved again (C7); where nothing was asked, what stood before stands again."""
        interaction = work.interaction
        if observation.kind == "clarification_reply":
            work.observe_bytes(
                self._env.codec.with_answer_verdict(observation.data),
                kind="clarification_answer",
                message_id=observation.message_id,
            )
            return
        if drain(work, interaction.standing_decision):
            return
        if interaction.approval_id:
            approval = work.tx.approvals.find(interaction.approval_id)
            if approval is not None:
                announce_again(work, approval)
                return
        if interaction.standing_decision:
            data = work.tx.steps.find_decision(interaction.interaction_id, interaction.standing_decision)
            if data is not None:
                act_on(work, self._env.codec.decode_decision(data))
                return
        if interaction.wait_until is not None:
            wait_again(work)
            return
        fail(work, "plan_invalid")

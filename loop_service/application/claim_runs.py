"""Finding and claiming runs for the worker of this process, and keeping what is claimed (lease, epoch, fence)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from loop_service.application.environment import Environment
from loop_service.application.ports import RunContext
from loop_service.application.steps import Step, claim
from loop_service.application.store_ports import Transaction, UnitOfWork
from loop_service.application.work import Work
from loop_service.domain.errors import LeaseLost
from loop_service.domain.run import RunState

MOST_ATTEMPTS = 5
"""After so many claims that an internal error ended, the run is given up instead of tried again."""


class ClaimRuns:
    def __init__(self, storage: UnitOfWork, env: Environment) -> None:
        self._storage = storage
        self._env = env

    async def void_leases(self) -> int:
        """At start, where this process alone has the database: leases of earlier owners count no more."""
        return await self._storage.write(lambda tx: tx.interactions.void_leases(), name="claim_runs.void_leases")

    async def claim(self, owner: str, limit: int) -> list[Step]:
        """Claim up to `limit` runs for `owner`, oldest first."""
        now = self._env.clock.now()

        def take(tx: Transaction) -> list[Step]:
            claimed: list[Step] = []
            for run in tx.runs.claimable(now, limit):
                conversation = tx.conversations.find(run.conversation_id)
                interaction = tx.interactions.find(run.interaction_id)
                if conversation is None or interaction is None or interaction.active_run_id != run.run_id:
                    continue
                work = Work(tx, self._env, conversation, interaction, run, now)
                step = claim(work, owner, now + self._env.timings.lease)
                work.save()
                claimed.append(step)
            return claimed

        return await self._storage.write(take, name="claim_runs.claim")

    async def renew(self, owner: str, interaction_ids: Sequence[str]) -> list[str]:
        """Extend the leases; returns the interactions that are still ours."""
        until = self._env.clock.now() + self._env.timings.lease
        return await self._storage.write(
            lambda tx: tx.interactions.renew(owner, interaction_ids, until), name="claim_runs.renew"
        )

    async def put_back(self, context: RunContext, delay: timedelta) -> None:
        """Queue a run again after an internal error of this process, not before `delay`."""
        now = self._env.clock.now()

        def release(tx: Transaction) -> None:
            conversation = tx.conversations.find(context.conversation_id)
            interaction = tx.interactions.find(context.interaction_id)
            run = tx.runs.find(context.run_id)
            if conversation is None or interaction is None or run is None:
                raise LeaseLost(context.interaction_id)
            interaction.check_lease(context.owner, interaction.epoch)
            if run.state is not RunState.RUNNING or run.attempts != context.attempt:
                raise LeaseLost(context.interaction_id)
            interaction.drop_lease()
            run.state = RunState.QUEUED
            run.not_before = now + delay
            Work(tx, self._env, conversation, interaction, run, now).save()

        await self._storage.write(release, name="claim_runs.put_back")

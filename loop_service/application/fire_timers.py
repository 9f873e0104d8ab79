"""What happens when a time comes: a wait ends, an approval may have expired, an unsettled ending is tried again.

Called by worker.timers. The Loop's timer only tidies up: whether an approval has expired is the Adapter's to say, on
its own clock (adapter_clock), so the run asks it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

from loop_service.application.environment import Environment
from loop_service.application.lifecycle import is_checking_expiry, resume, start_run
from loop_service.application.store_ports import Timer, Transaction, UnitOfWork
from loop_service.application.work import Work
from loop_service.domain.interaction import InteractionState
from loop_service.domain.observation import ApprovalResolution, WakeUp

BATCH = 100
_BUSY_DELAY = timedelta(seconds=1)


class FireTimers:
    def __init__(self, storage: UnitOfWork, env: Environment) -> None:
        self._storage = storage
        self._env = env

    async def fire(self) -> datetime | None:
        """Handle what is due; returns when the next timer is due, None if there is none.

        A timer that cannot be handled holds up no other: the first such error is raised after the rest is done, for
        the worker to log, and its timer stays due.
        """
        now = self._env.clock.now()
        due = await self._storage.read(lambda tx: tx.timers.due(now, BATCH))
        failed: Exception | None = None
        for timer in due:
            try:
                await self._storage.write(partial(self._fire, timer=timer, now=now), name="fire_timers.fire")
            except Exception as error:  # noqa: BLE001 - raised below, once the other timers are handled
                failed = failed or error
        if failed is not None:
            raise failed
        return await self._storage.read(lambda tx: tx.timers.next_due())

    def _fire(self, tx: Transaction, timer: Timer, now: datetime) -> None:
        interaction = tx.interactions.find(timer.interaction_id)
        tx.timers.remove(timer.interaction_id, timer.kind)
        if interaction is None or interaction.is_terminal:
            return
        if interaction.is_busy:
            tx.timers.put(Timer(timer.interaction_id, timer.kind, now + _BUSY_DELAY, timer.subject))
            return
        conversation = tx.conversations.find(interaction.conversation_id)
        if conversation is None:
            return
        work = Work(tx, self._env, conversation, interaction, None, now)
        request_id = self._env.ids.new("req")
        match timer.kind:
            case "settle":
                start_run(work, request_id=request_id)
            case _ if interaction.stop is not None:
                # Only the stop is left to be carried out, and the settle timer does that.
                return
            case "wait" | "wait_limit" if interaction.state is InteractionState.WAITING:
                start_run(work, request_id=request_id)
                resume(work)
                work.observe(WakeUp(limit_passed=timer.kind == "wait_limit"), kind="wake_up")
            case "approval_expiry" if interaction.approval_id == timer.subject:
                approval = tx.approvals.find(timer.subject)
                if approval is None:
                    return
                asked = is_checking_expiry(work)
                start_run(work, request_id=request_id, approval_id=approval.approval_id)
                resume(work)
                if not asked:
                    work.observe(
                        ApprovalResolution(approval.approval_id, approval.digest, None, expired=True),
                        kind="approval_expired",
                    )
            case _:
                return
        work.save()

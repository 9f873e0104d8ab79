"""Drives claimed runs: one task a run, a lease renewed at a third of its time, a poll for what is queued.

Started and ended by bootstrap. The database decides who holds what; a task whose lease is lost just ends.
"""

from __future__ import annotations

import asyncio
import secrets
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

from handrail_rpc import telemetry
from handrail_rpc.context import Caller, call_context, is_request_id, new_request_id
from handrail_rpc.errors import Aborted, Unavailable
from handrail_rpc.logging import get_logger, log_context
from loop_service.application.advance import Advance
from loop_service.application.claim_runs import MOST_ATTEMPTS, ClaimRuns
from loop_service.application.ports import RunContext
from loop_service.application.steps import Step

_MOST_PAUSE_SECONDS = 30.0

logger = get_logger(__name__)


class Runner:
    """Up to `places` runs at once. `owner` is unique to this start of the process."""

    def __init__(
        self,
        advance: Advance,
        claims: ClaimRuns,
        *,
        places: int,
        lease: timedelta,
        poll_seconds: float,
    ) -> None:
        self.owner = f"own_{secrets.token_hex(12)}"
        self._advance = advance
        self._claims = claims
        self._places = places
        self._lease = lease
        self._poll_seconds = poll_seconds
        self._taken = 0
        # Whether a run may stand in the queue for want of a place: only then has a freed place anything to claim.
        self._left_queued = False
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._woken = asyncio.Event()
        self._background: list[asyncio.Task[None]] = []
        self._stopping = False

    def begin(self) -> None:
        """Start claiming and renewing."""
        self._background = [
            asyncio.ensure_future(self._claim_forever()),
            asyncio.ensure_future(self._renew_forever()),
        ]

    async def stop(self) -> None:
        """End every task; what was under way is taken up again by whoever claims it next."""
        self._stopping = True
        tasks = [*self._background, *self._tasks.values(), *self._ending]
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task

    def try_reserve(self) -> bool:
        if self._stopping or self._taken >= self._places:
            self._left_queued = True
            return False
        self._taken += 1
        return True

    def release(self) -> None:
        self._taken -= 1
        if self._left_queued:
            self._woken.set()

    def wake(self) -> None:
        self._woken.set()

    def start(self, step: Step) -> None:
        interaction_id = step.context.interaction_id
        former = self._tasks.pop(interaction_id, None)
        if former is not None:
            self._ending.add(former)
            former.add_done_callback(self._ending.discard)
            former.cancel()
        task = asyncio.ensure_future(self._drive(step))
        self._tasks[interaction_id] = task
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        for interaction_id, held in tuple(self._tasks.items()):
            if held is task:
                del self._tasks[interaction_id]
        self.release()
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("run task failed", exc_info=error)

    def _moved_on(self, before: str, after: str) -> None:
        """The task goes on with another interaction: renewal and interruption must find it there.

        Where a task is there already, a stop was faster: that task holds the lease, and this one finds its own lost.
        """
        task = asyncio.current_task()
        if before != after and task is not None and self._tasks.get(before) is task:
            del self._tasks[before]
            if after in self._tasks:
                self._ending.add(task)
                task.add_done_callback(self._ending.discard)
            else:
                self._tasks[after] = task

    async def _drive(self, step: Step) -> None:
        """Advance the run, and the runs of successors that this claim moves on to, until nothing is left to do."""
        following: Step | None = step
        while following is not None:
            following = await self._drive_run(following)

    async def _drive_run(self, step: Step) -> Step | None:
        context = step.context
        requester = context.requester
        caller = Caller(
            requester.principal,
            requester.tenant,
            frozenset(requester.roles),
            "ru" if requester.locale == "ru" else "en",
        )
        attributes = {
            "handrail.run_id": context.run_id,
            "handrail.conversation_id": context.conversation_id,
            "handrail.interaction_id": context.interaction_id,
        }
        # A client's request_id may be any text; not every text can travel as metadata.
        request_id = context.request_id if is_request_id(context.request_id) else new_request_id()
        with (
            call_context(request_id=request_id, caller=caller, traceparent=context.traceparent),
            log_context(
                conversation_id=context.conversation_id,
                run_id=context.run_id,
                request_id=context.request_id,
            ),
            telemetry.continued_span(
                "loop.run", parent=context.traceparent, link=context.link_traceparent, attributes=attributes
            ) as span,
        ):
            span_traceparent = telemetry.current_traceparent()
            following: Step | None = step
            logger.info("run taken up", interaction_id=context.interaction_id, attempt=context.attempt)
            try:
                while following is not None and following.context.run_id == context.run_id:
                    stamped = replace(following.context, span_traceparent=span_traceparent)
                    following = await self._advance.advance(replace(following, context=stamped))
                    if following is not None:
                        self._moved_on(stamped.interaction_id, following.context.interaction_id)
                logger.info("run ended")
            except Aborted as lost:
                logger.info("lease lost", reason=lost.reason)
                span.fail(lost.reason)
                return None
            except Unavailable as away:
                # The storage is away: the lease lapses or is voided, and the run is claimed again.
                logger.warning("storage away", reason=away.reason)
                span.fail(away.reason)
                await self._put_back((following or step).context)
                return None
            except Exception as error:
                logger.error("step failed", exc_info=error, attempt=context.attempt)
                span.fail("internal_error")
                await self._recover(following or step)
                return None
        return following

    async def _recover(self, step: Step) -> None:
        """An internal error: try again after a pause; give the run up after MOST_ATTEMPTS."""
        context = step.context
        if context.attempt < MOST_ATTEMPTS:
            await self._put_back(context)
            return
        try:
            following = await self._advance.give_up(step)
            if following is not None:
                await self._put_back(following.context)
        except Exception as error:
            logger.error("run could not be given up", exc_info=error)

    async def _put_back(self, context: RunContext) -> None:
        """Queue the run again; where the storage is away, once it is back, so that nobody waits for the lease's end."""
        pause = timedelta(seconds=min(0.2 * 2 ** min(context.attempt, 16), _MOST_PAUSE_SECONDS))
        clock = asyncio.get_running_loop().time
        lapsed = clock() + self._lease.total_seconds()
        while True:
            try:
                await self._claims.put_back(context, pause)
                return
            except Unavailable as away:
                if clock() >= lapsed:
                    logger.warning("run could not be put back", reason=away.reason)
                    return
                await asyncio.sleep(self._poll_seconds)
            except Exception as error:
                logger.warning("run could not be put back", exc_info=error)
                return

    async def _claim_forever(self) -> None:
        while True:
            try:
                await self._claim_free_places()
            except Exception as error:
                logger.error("claiming failed", exc_info=error)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._poll_seconds):
                    await self._woken.wait()

    async def _claim_free_places(self) -> None:
        self._woken.clear()
        while (free := self._places - self._taken) > 0:
            wanted = min(free, 32)
            self._taken += wanted
            # Whoever finds no place from here on stores its run after what this claim sees.
            self._left_queued = False
            claimed: list[Step] = []
            try:
                claimed = await self._claims.claim(self.owner, wanted)
            finally:
                self._taken -= wanted - len(claimed)
            for step in claimed:
                self.start(step)
            if len(claimed) < wanted and not self._left_queued:
                return
        self._left_queued = True

    async def _renew_forever(self) -> None:
        while True:
            await asyncio.sleep(self._lease.total_seconds() / 3)
            held = list(self._tasks)
            if not held:
                continue
            try:
                await self._claims.renew(self.owner, held)
            except Exception as error:
                logger.error("renewing leases failed", exc_info=error)

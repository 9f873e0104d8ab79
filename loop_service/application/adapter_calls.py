"""Asking the Adapter until it answers or the time is up: retries, fences and what an error means for the run.

Called by the steps of advance. A refusal that contradicts our own rows is never retried and never guessed about.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from handrail_rpc.errors import (
    Aborted,
    FailedPrecondition,
    HandrailError,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    RemoteFault,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
)
from loop_service.application.environment import Environment
from loop_service.application.ports import RunContext
from loop_service.application.store_ports import Transaction, UnitOfWork
from loop_service.domain.errors import LeaseLost
from loop_service.domain.run import RunState

T = TypeVar("T")

FENCE_METADATA = ("lease_epoch", "current_epoch", "fence", "epoch")
"""Names under which a LEASE_LOST refusal may carry the fence that the Adapter has seen."""
_MOST_FAULTS = 3


class Diverged(Exception):
    """The two services' records contradict each other (session_diverged). `source_code` is the refusal's reason."""

    def __init__(self, source_code: str) -> None:
        super().__init__(source_code)
        self.source_code = source_code


class AdapterFailed(Exception):
    """The Adapter refuses or fails for a reason that asking again does not mend; `code` is the failure's."""

    def __init__(self, source_code: str, code: str = "adapter_failed") -> None:
        super().__init__(source_code)
        self.source_code = source_code
        self.code = code


class TimeIsUp(Exception):
    """The active time ran out; `away` where the Adapter did not answer at the end."""

    def __init__(self, away: bool, source_code: str = "") -> None:
        super().__init__("away" if away else "slow")
        self.away = away
        self.source_code = source_code


class AdapterCalls:
    """Retries with backoff under the run's own lease."""

    def __init__(self, storage: UnitOfWork, env: Environment) -> None:
        self._storage = storage
        self._env = env

    async def persist(
        self,
        context: RunContext,
        attempt: Callable[[int], Awaitable[T]],
        seconds_left: float,
        *,
        faults_are_final: bool = True,
        before_retry: Callable[[], Awaitable[None]] | None = None,
    ) -> T:
        """Call `attempt(epoch)` until it answers. `faults_are_final`: give up after a few internal errors of the peer.

        `before_retry` is our own part of a further attempt: its errors are not the peer's, and are raised as they are
        (Unavailable where our storage is away, so that the run is put back instead of ended as the peer's failure).
        Raises TimeIsUp after `seconds_left`, Diverged, AdapterFailed, and LeaseLost where the lease is not ours.
        """
        clock, timings = self._env.clock, self._env.timings
        deadline = clock.monotonic() + seconds_left
        epoch, pause, faults, away, source = context.epoch, timings.first_backoff_seconds, 0, False, ""
        attempts = 0
        while True:
            if attempts and before_retry is not None:
                await before_retry()
            attempts += 1
            left = deadline - clock.monotonic()
            if left <= 0:
                raise TimeIsUp(away, source)
            try:
                async with asyncio.timeout(left):
                    return await attempt(epoch)
            except TimeoutError:
                raise TimeIsUp(away, source) from None
            except (Unavailable, ResourceExhausted) as error:
                away, source = True, error.reason
            except RemoteFault as error:
                faults += 1
                source = error.reason
                if faults_are_final and faults >= _MOST_FAULTS:
                    raise AdapterFailed(source) from error
            except Aborted as error:
                if error.reason != "LEASE_LOST":
                    raise Diverged(error.reason) from error
                epoch = await self._adopt_fence(context, epoch, error)
                continue
            except (FailedPrecondition, NotFound) as error:
                raise Diverged(error.reason) from error
            except (InvalidArgument, PermissionDenied, Unauthenticated) as error:
                raise AdapterFailed(error.reason) from error
            await clock.sleep(min(pause, max(deadline - clock.monotonic(), 0.0)))
            pause = min(pause * 2, timings.most_backoff_seconds)

    async def _adopt_fence(self, context: RunContext, epoch: int, refusal: HandrailError) -> int:
        """Take over a higher fence only by compare-and-set on the own lease (adopt_fence)."""
        higher = next((refusal.metadata[k] for k in FENCE_METADATA if k in refusal.metadata), "")
        if not higher.isdecimal() or int(higher) <= epoch:
            raise LeaseLost(context.interaction_id) from refusal
        fence = int(higher)

        def adopt(tx: Transaction) -> bool:
            if tx.interactions.adopt_fence(context.interaction_id, context.owner, epoch, fence):
                return True
            # A call sent side by side under this same claim may have adopted the fence a moment before.
            interaction, run = tx.interactions.find(context.interaction_id), tx.runs.find(context.run_id)
            held = interaction is not None and interaction.owner == context.owner and interaction.epoch == fence
            return held and run is not None and run.state is RunState.RUNNING and run.attempts == context.attempt

        if not await self._storage.write(adopt, name="adapter_calls.adopt_fence"):
            raise LeaseLost(context.interaction_id) from refusal
        return fence

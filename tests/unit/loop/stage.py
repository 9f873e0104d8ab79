"""The Loop's use cases over its real stores, with the worker, the clock and the Adapter in the test's hands.

`Stage` is what the property test drives: a step is taken only when the test says so, and a crash drops every step.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from handrail.common.v1 import decision_pb2, tool_pb2
from handrail_rpc.context import Caller
from handrail_rpc.errors import FailedPrecondition, Unavailable
from handrail_storage import Database, migrate
from loop_service.application.accept import Acceptor, CallInfo
from loop_service.application.advance import Advance
from loop_service.application.cancel_interaction import CancelInteraction
from loop_service.application.claim_runs import ClaimRuns
from loop_service.application.create_conversation import CreateConversation
from loop_service.application.environment import Environment
from loop_service.application.fire_timers import FireTimers
from loop_service.application.ports import (
    BegunCall,
    Closed,
    Decided,
    DecideInput,
    Executed,
    RunContext,
    Session,
)
from loop_service.application.resolve_approval import ResolveApproval
from loop_service.application.send_message import SendMessage
from loop_service.application.signal_interaction import SignalInteraction
from loop_service.application.steps import Step
from loop_service.bootstrap import MIGRATIONS
from loop_service.convert.codec import ProtoCodec
from loop_service.domain.budget import Budget
from loop_service.domain.decision import CallRecord
from loop_service.storage.unit_of_work import SqlUnitOfWork
from loop_service.worker.feed import EventFeed

T = TypeVar("T")
CALL = CallInfo(Caller(), "req-test", "")


class Crash(Exception):
    """The process dies at this point."""


class HandClock:
    """Time passes only by sleeping and by the test's hand."""

    def __init__(self) -> None:
        self._now = datetime(2030, 1, 1, tzinfo=UTC)
        self._seconds = 0.0

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._seconds

    async def sleep(self, seconds: float) -> None:
        self.pass_time(seconds)
        await asyncio.sleep(0)

    def pass_time(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)
        self._seconds += seconds


class CountedIds:
    def __init__(self) -> None:
        self._count = 0

    def new(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}_{self._count:06d}"


class HandAdapter:
    """Keeps the protocol's promises over dictionaries; what it decides next is set by the test."""

    def __init__(self) -> None:
        self.away = False
        self.crash_after = ""
        self.decide_next: Callable[[DecideInput], decision_pb2.Decision]
        self.execute_next: Callable[[CallRecord], tool_pb2.ToolOutcome]
        self.decisions: dict[tuple[str, int], tuple[bytes, bytes]] = {}
        self.outcomes: dict[str, bytes] = {}
        self.calls: dict[str, list[str]] = {}
        self.closed: set[str] = set()
        self.executions: dict[str, int] = {}

    def _answer(self) -> None:
        if self.away:
            raise Unavailable("away")

    def _crash(self, point: str) -> None:
        if self.crash_after == point:
            self.crash_after = ""
            raise Crash(point)

    async def describe(self, domain: str, locale: str, timeout_seconds: float) -> bytes:
        return b""

    async def open_session(self, domain: str, conversation_id: str, request_id: str) -> Session:
        self._answer()
        return Session(f"ses_{conversation_id}", "hist_1")

    async def decide(self, context: RunContext, epoch: int, asked: DecideInput) -> Decided:
        self._answer()
        if context.interaction_id in self.closed:
            raise FailedPrecondition("closed", reason="INTERACTION_CLOSED")
        number = asked.observation.number
        key = (context.interaction_id, number)
        if key not in self.decisions:
            if number > 1:
                assert (context.interaction_id, number - 1) in self.decisions, "a gap in decision numbers"
            decision = self.decide_next(asked)
            decision.decision_number = number
            decision.decision_id = f"dec_{context.interaction_id}_{number}"
            decision.plan_version = asked.observation.base_plan_version + 1
            self.decisions[key] = (asked.observation.data, decision.SerializeToString())
        observed, decided = self.decisions[key]
        assert observed == asked.observation.data, "another observation under a stored number"
        if asked.supersedes_interaction_id:
            self.closed.add(asked.supersedes_interaction_id)
        self._crash("decide")
        return Decided(decided, 0, 0, 0)

    async def execute(
        self, context: RunContext, epoch: int, call: CallRecord, on_progress: Callable[[int, str], None]
    ) -> Executed:
        self._answer()
        assert call.dispatch_number >= 1
        if call.tool_call_id not in self.outcomes:
            if context.interaction_id in self.closed:
                raise FailedPrecondition("closed", reason="INTERACTION_CLOSED")
            outcome = self.execute_next(call)
            outcome.tool_call_id = call.tool_call_id
            self.executions[call.tool_call_id] = self.executions.get(call.tool_call_id, 0) + 1
            self.outcomes[call.tool_call_id] = outcome.SerializeToString()
            self.calls.setdefault(context.interaction_id, []).append(call.tool_call_id)
        self._crash("execute")
        return Executed(self.outcomes[call.tool_call_id])

    async def cancel(self, context: RunContext, epoch: int) -> Closed:
        self._answer()
        self.closed.add(context.interaction_id)
        self._crash("cancel")
        begun = self.calls.get(context.interaction_id, [])
        return Closed(tuple(BegunCall(call, "look", False, self.outcomes[call]) for call in begun))


class HandWorkers:
    """Steps that were claimed at birth wait here until the test takes them."""

    owner = "own_test"

    def __init__(self) -> None:
        self.free = True
        self.steps: dict[str, Step] = {}
        self.zombies: list[Step] = []

    def try_reserve(self) -> bool:
        return self.free

    def release(self) -> None:
        return None

    def start(self, step: Step) -> None:
        former = self.steps.pop(step.context.interaction_id, None)
        if former is not None:
            self.zombies.append(former)
        self.steps[step.context.interaction_id] = step

    def wake(self) -> None:
        return None


class Stage:
    """Everything of one database; made in a folder of its own."""

    def __init__(self, folder: Path, template: Path) -> None:
        self.loop = asyncio.new_event_loop()
        path = folder / "loop.db"
        shutil.copy(template, path)
        self.database = Database(f"sqlite:///{path}")
        self.clock = HandClock()
        self.adapter = HandAdapter()
        self.workers = HandWorkers()
        feed = EventFeed(1000)
        # Nobody waits for events here: a use case that would is answered at once.
        feed.draining = True
        self.storage = SqlUnitOfWork(self.database, feed.publish, lambda: None)
        env = Environment(self.clock, CountedIds(), ProtoCodec(), Budget(decisions=40), ("test",))
        acceptor = Acceptor(self.storage, env, self.workers)
        self.claims = ClaimRuns(self.storage, env)
        self.timers = FireTimers(self.storage, env)
        self.advance = Advance(self.storage, self.adapter, env)
        self.create = CreateConversation(self.storage, env)
        self.send = SendMessage(acceptor, env)
        self.resolve = ResolveApproval(acceptor, env)
        self.cancel = CancelInteraction(acceptor, self.storage, feed, env)
        self.signal = SignalInteraction(acceptor, self.storage, env)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    def take_step(self, interaction_id: str) -> None:
        """Advance one claimed run by one step; a lost lease or a crash leaves it to the next claim."""
        step = self.workers.steps.pop(interaction_id)
        following = self.run(self.advance.advance(step))
        if following is not None:
            self.workers.start(following)

    def take_zombie_step(self) -> None:
        """A worker that lost its lease without knowing goes on with the step it held."""
        if self.workers.zombies:
            following = self.run(self.advance.advance(self.workers.zombies.pop(0)))
            assert following is None, "a lost lease was advanced"

    def claim(self) -> int:
        claimed = self.run(self.claims.claim(self.workers.owner, 100))
        for step in claimed:
            self.workers.start(step)
        return len(claimed)

    def restart(self) -> None:
        """The process is gone with everything it held; the next one voids the leases."""
        self.workers.zombies.extend(self.workers.steps.values())
        self.workers.steps.clear()
        self.run(self.claims.void_leases())

    def close(self) -> None:
        self.run(self.database.close())
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()


def make_template(folder: Path) -> Path:
    """A migrated, empty database to copy."""
    path = folder / "template.db"
    migrate(f"sqlite:///{path}", MIGRATIONS)
    return path

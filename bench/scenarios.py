"""R1 to R5 of engineering.md 'Speed', run one after the other. Called by __main__.

R1: a new conversation, a message, an approval, its verdict, the answer. R2: a turn with one tool in a conversation
that is open. R3: turns in one conversation. R4 and R5: many interactions wait, the three processes are killed and
started again, the first is resumed, then all others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.counting import counting
from bench.domain import NAME
from bench.driver import Echo, LoadFailed, group_commits, running_echo, timed
from bench.figures import Timing, growth
from bench.jobs import Approval, Job, Outcome, Workload
from bench.results import Counts, Growth, Repetition, Results, Speed, Waiting
from bench.stack import BenchStack, running_stack
from gateway.cli.client import connect
from handrail.common.v1.approval_pb2 import VERDICT_APPROVE

_ECHOES_A_ROUND = 15
_WINDOW = 20
_QUARTERS = 4
_COUNTED: tuple[tuple[Workload, str], ...] = (("round", "R1"), ("turn", "R2"))

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured. `rounds` 0: ten for each client, at least 150. No measurement goes on longer than
    `most_seconds` (what was begun is finished)."""

    clients: tuple[int, ...]
    rounds: int
    repetitions: int
    turns: int
    waiting: int
    counted_rounds: int
    load_processes: int
    most_seconds: float

    def rounds_of(self, clients: int) -> int:
        """Rounds of one measurement at that many clients."""
        return self.rounds or max(150, 10 * clients)


class Scenarios:
    """Runs a plan in `folder` and fills `results`; `tell` gets a line about what is done now."""

    def __init__(self, plan: Plan, folder: Path, results: Results, tell: Tell) -> None:
        self._plan = plan
        self._folder = folder
        self._results = results
        self._tell = tell
        self._approved = 0

    async def run(self) -> None:
        """All of it. Raises LoadFailed, ProcessFailed."""
        async with running_stack(self._folder / "speed") as running, running_echo() as echo:
            self._tell("warming up")
            clients = max(self._plan.clients)
            for workload, _ in _COUNTED:
                await self._measure(running, workload, clients, 2 * clients)
            for clients in self._plan.clients:
                self._results.speeds.append(await self._speed(running, echo, clients))
            latencies, stored = await self._turns(running)
            self._check_effects(running)
        quarters = await self._count()
        self._results.growth = _growth(latencies, stored, quarters)
        await self._wait_and_resume()

    async def _measure(
        self,
        running: BenchStack,
        workload: Workload,
        clients: int,
        rounds: int,
        approvals: tuple[Approval, ...] = (),
    ) -> tuple[Timing, Outcome]:
        job = Job(running.target, workload, clients, rounds, self._plan.most_seconds, approvals=approvals)
        found, outcome = await timed(workload, job, self._plan.load_processes, running.cpu)
        self._approved += found.rounds if workload in ("round", "resume") else 0
        return found, outcome

    async def _speed(self, running: BenchStack, echo: Echo, clients: int) -> Speed:
        plan, rounds = self._plan, self._plan.rounds_of(clients)
        repetitions: list[Repetition] = []
        units_per_commit: list[float] = []
        for number in range(plan.repetitions):
            self._tell(f"{clients} clients, repetition {number + 1} of {plan.repetitions}")
            # The same number of load processes for the echo: its own cost is part of both sides of the ratio.
            job = Job(echo.target, "echo", clients, _ECHOES_A_ROUND * rounds, plan.most_seconds)
            echoed, _ = await timed("echo", job, plan.load_processes, echo.cpu)
            committed, units = await group_commits(self._folder, clients, _ECHOES_A_ROUND * rounds, plan.most_seconds)
            units_per_commit.append(units)
            round_, _ = await self._measure(running, "round", clients, rounds)
            turn, _ = await self._measure(running, "turn", clients, 2 * rounds)
            repetitions.append(Repetition(echoed, committed, round_, turn))
        return Speed(clients, tuple(repetitions), sum(units_per_commit) / len(units_per_commit))

    async def _turns(self, running: BenchStack) -> tuple[list[float], int]:
        """R3, timed: the latencies in order, and the bytes that the turns left."""
        self._tell(f"{self._plan.turns} turns in one conversation")
        before = sum(running.stored().values())
        _, outcome = await self._measure(running, "turn", 1, self._plan.turns)
        return outcome.latencies, sum(running.stored().values()) - before

    async def _count(self) -> tuple[Counts, ...]:
        """R1 and R2 counted at each number of clients, R3 by quarters."""
        plan = self._plan
        async with counting(self._folder / "counting") as counter:
            target = counter.running.target
            for clients in plan.clients:
                self._tell(f"counting at {clients} clients")
                rounds = max(plan.counted_rounds, 2 * clients)
                for workload, name in _COUNTED:
                    job = Job(target, workload, clients, rounds, plan.most_seconds)
                    found = await counter.count(job, plan.load_processes, name)
                    self._approved += found.rounds if workload == "round" else 0
                    self._results.counts.append(found)
            self._tell(f"counting {plan.turns} turns in one conversation")
            async with connect(target) as client:
                conversation = (await client.create_conversation(NAME)).conversation_id
                async for _ in client.send_message(conversation, "turn 0"):
                    pass
            job = Job(target, "turn", 1, plan.turns // _QUARTERS, plan.most_seconds, (conversation,))
            quarters = [await counter.count(job, 1, f"R3 quarter {number + 1}") for number in range(_QUARTERS)]
            self._check_effects(counter.running)
        return tuple(quarters)

    async def _wait_and_resume(self) -> None:
        plan, clients = self._plan, max(self._plan.clients)
        async with running_stack(self._folder / "waiting") as running:
            # Started a second time before the first look, for the second start is what the restart is compared with.
            started = await running.restart()
            empty_serving = time.monotonic() - started
            started_empty = running.memory()
            self._tell("warming up")
            await self._measure(running, "round", clients, 2 * clients)
            warm_before = running.memory()
            self._tell(f"{plan.waiting} interactions begin to wait")
            made, outcome = await self._measure(running, "pend", clients, plan.waiting)
            warm_after = running.memory()
            first, *others = outcome.approvals
            self._tell("kill, restart, resume the first")
            started = await running.restart()
            serving = time.monotonic() - started
            started_waiting = running.memory()
            async with connect(running.target) as client:
                async for event in client.resolve_approval(first.approval_id, VERDICT_APPROVE, first.digest):
                    ending = event.WhichOneof("payload")
            if ending != "completed":
                raise LoadFailed(f"the first resumed run ended with {ending}")
            first_resume = time.monotonic() - started
            self._tell(f"resume {len(others)}")
            resumed, _ = await self._measure(running, "resume", clients, len(others), tuple(others))
            self._approved += 1
            self._check_effects(running)
        self._results.waiting = Waiting(
            count=made.rounds,
            made=made,
            warm_before=warm_before,
            warm_after=warm_after,
            started_empty=started_empty,
            started_waiting=started_waiting,
            empty_serving_seconds=empty_serving,
            serving_seconds=serving,
            first_resume_seconds=first_resume,
            resumed=resumed,
        )

    def _check_effects(self, running: BenchStack) -> None:
        """One effect for each approved round, and none twice: a fast wrong answer is worth nothing."""
        lines, keys = running.effects()
        if not lines == keys == self._approved:
            raise LoadFailed(f"{self._approved} rounds were answered, {lines} effects were made for {keys} keys")
        self._results.effects += keys
        self._approved = 0


def _growth(latencies: Sequence[float], stored: int, quarters: tuple[Counts, ...]) -> Growth:
    window = min(_WINDOW, len(latencies) // 2)
    return Growth(
        turns=len(latencies),
        first_mean=sum(latencies[:window]) / window,
        last_mean=sum(latencies[-window:]) / window,
        ratio=growth(latencies, _WINDOW),
        stored=stored,
        quarters=quarters,
        ratio_at_200=growth(latencies[:200], _WINDOW) if len(latencies) > 200 else None,
    )

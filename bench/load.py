"""A process that makes load: `python -m bench.load` reads a job from stdin, says "ready", waits for "go", reports.

Started by `bench.driver`; several run side by side so that the load is not what is measured.
"""

from __future__ import annotations

import asyncio
import sys
import time

import grpc
import grpc.aio

from bench.echo import CHANNEL_OPTIONS
from bench.jobs import Job, Outcome
from bench.workloads import Round, UnexpectedEnding, Workloads
from handrail_rpc.channel import open_channel


class Tickets:
    """Hands out the numbers of the rounds until they or the time are used up."""

    def __init__(self, rounds: int, until: float) -> None:
        self._left = iter(range(rounds))
        self._until = until

    def take(self) -> int | None:
        """The next number, None where the load ends."""
        return next(self._left, None) if time.monotonic() < self._until else None


async def run_client(client: int, tickets: Tickets, one: Round, outcome: Outcome) -> None:
    """One client: a round at a time, the next one as soon as the last one is answered."""
    while (number := tickets.take()) is not None:
        began = time.monotonic()
        try:
            await one(client, number)
        except (grpc.aio.AioRpcError, UnexpectedEnding) as error:
            outcome.failures += 1
            text = f"{error.code().name} {error.details()}" if isinstance(error, grpc.aio.AioRpcError) else str(error)
            outcome.first_failure = outcome.first_failure or text
        else:
            outcome.latencies.append(time.monotonic() - began)


async def run_job(job: Job) -> Outcome:
    """Connect, say ready, wait for the word, run."""
    # The echo is bare: without even the metadata that Handrail's channels add.
    bare = job.workload == "echo"
    channel = grpc.aio.insecure_channel(job.target, options=CHANNEL_OPTIONS) if bare else open_channel(job.target)
    async with channel:
        outcome = Outcome()
        one = await Workloads(channel, job, outcome).prepare()
        outcome.calls = outcome.messages = 0
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.readline)
        outcome.started, cpu = time.monotonic(), time.process_time()
        tickets = Tickets(job.rounds, outcome.started + job.most_seconds)
        async with asyncio.TaskGroup() as group:
            for client in range(job.clients):
                group.create_task(run_client(client, tickets, one, outcome))
        outcome.ended, outcome.cpu = time.monotonic(), time.process_time() - cpu
        return outcome


if __name__ == "__main__":
    sys.stdout.write(asyncio.run(run_job(Job.from_json(sys.stdin.readline()))).to_json() + "\n")

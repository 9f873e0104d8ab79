"""soundness.md 'Tests that catch the likely mistakes', where a real process has to die or to stand still.

The others of that list stand with the rule that they are about: see rules.LIKELY_MISTAKES.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import grpc.aio

from adapter_service.sdk import Domain, PlanningRequest, Proposal
from gateway.cli.processes import LOOP, ServiceProcess, isolated_environment
from handrail.common.v1 import approval_pb2
from handrail.loop.v1 import event_pb2, workflow_loop_service_pb2_grpc
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail_rpc import crash_points
from loop_service.bootstrap import migrate_database
from loop_service.config import LoopSettings
from tests.fakes.adapter_harness import Probe, open_driver, running_probe
from tests.fakes.probe_domain import World
from tests.fakes.processes import poll
from tests.grpc.loop.driver import check_runs, collect, last, names

SECONDS = 30


@dataclass
class Site:
    """A Loop as a process of its own over a real Adapter within the test."""

    process: ServiceProcess
    probe: Probe
    armed: Path

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Any]:
        """A stub to the Loop; it is started where it does not run."""
        if not self.process.running:
            self.process.start()
        await self.process.wait_serving()
        async with grpc.aio.insecure_channel(self.process.target) as channel:
            yield workflow_loop_service_pb2_grpc.WorkflowLoopServiceStub(channel)

    def arm(self, point: str) -> None:
        """The Loop dies by kill -9 when it reaches the point next."""
        written = self.armed.with_suffix(".new")
        written.write_text(point, "utf-8")
        written.replace(self.armed)

    async def dead(self) -> None:
        await poll(lambda: not self.process.running, "the death of the Loop")
        assert self.process.exit_code == -signal.SIGKILL


@asynccontextmanager
async def running_site(
    folder: Path, adapt: Any = lambda domain: domain, more: Mapping[str, str] | None = None
) -> AsyncIterator[Site]:
    (folder / "adapter").mkdir(parents=True)
    (folder / "loop").mkdir()
    async with running_probe(folder / "adapter", World(), adapt=adapt) as probe:
        armed = folder / "armed"
        environment = isolated_environment(folder / "loop", {"HANDRAIL_ADAPTERS": f"probe={probe.running.target}"})
        environment |= {crash_points.VARIABLE: f"@{armed}", "HANDRAIL_LOG_LEVEL": "warning", **(more or {})}
        await asyncio.to_thread(migrate_database, LoopSettings(data_dir=folder / "loop", database_url=None))
        process = ServiceProcess(LOOP, environment, folder / "loop.log")
        try:
            yield Site(process, probe, armed)
        finally:
            if process.running:
                process.send_signal(signal.SIGCONT)
            process.kill()


async def stored(stub: Any, conversation_id: str) -> list[event_pb2.Event]:
    return (await collect(stub.WatchConversation(pb.WatchConversationRequest(conversation_id=conversation_id))))[:-1]


async def create(stub: Any, request_id: str = "create") -> str:
    request = pb.CreateConversationRequest(request_id=request_id, domain="probe")
    return str((await stub.CreateConversation(request)).conversation.conversation_id)


async def test_outer_commit(tmp_path: Path) -> None:
    """SIGKILL between savepoint and commit: nothing was acknowledged, nothing is stored, and the retry stores it."""
    async with running_site(tmp_path) as site:
        async with site.client() as stub:
            site.arm("loop.create_conversation.create.before_commit")
            answer = asyncio.ensure_future(create(stub))
            await site.dead()
            await asyncio.wait([answer], timeout=SECONDS)
            assert isinstance(answer.exception(), grpc.aio.AioRpcError), "acknowledged before it was durable"
        async with site.client() as stub:
            assert not (await stub.ListConversations(pb.ListConversationsRequest())).conversations
            conversation_id = await create(stub)
            assert conversation_id == await create(stub)
            assert len((await stub.ListConversations(pb.ListConversationsRequest())).conversations) == 1


class HeldPlanner:
    """Plans once it is let go."""

    def __init__(self, domain: Domain) -> None:
        self.planner = domain.planner
        self.arrived = threading.Event()
        self.go = threading.Event()

    def plan(self, request: PlanningRequest) -> Proposal:
        self.arrived.set()
        assert self.go.wait(SECONDS)
        return self.planner.plan(request)


async def test_observation_first_killed_after_the_adapters_commit(tmp_path: Path) -> None:
    """Kill after the Adapter's commit, new text, restart: the decision that was stored there is the one that counts."""
    held: list[HeldPlanner] = []

    def adapt(domain: Domain) -> Domain:
        held.append(HeldPlanner(domain))
        return replace(domain, planner=held[0])

    async with running_site(tmp_path, adapt) as site:
        async with site.client() as stub:
            conversation_id = await create(stub)
            first = stub.SendMessage(
                pb.SendMessageRequest(request_id="one", conversation_id=conversation_id, text="look Berlin")
            )
            await asyncio.to_thread(held[0].arrived.wait, SECONDS)
            second = stub.SendMessage(
                pb.SendMessageRequest(request_id="two", conversation_id=conversation_id, text="look Paris")
            )

            async def queued() -> bool:
                return "message_accepted" in names(await stored(stub, conversation_id))

            await poll(queued, "the second message")
            site.arm("loop.call.decide.after")
            held[0].go.set()
            await site.dead()
            first.cancel()
            second.cancel()
        assert site.probe.sql("SELECT decision_number FROM decisions") == [(1,)]
        async with site.client() as stub:

            async def answered() -> list[event_pb2.Event]:
                events = await stored(stub, conversation_id)
                assert "failed" not in names(events), last(events, "failed")
                return events if names(events).count("completed") == 2 else []

            found = await poll(answered, "both answers")
            assert isinstance(found, list)
            check_runs(found)
            told = [e.completed.answer.text for e in found if e.HasField("completed")]
            assert told == ["BER is Berlin.", "PAR is Paris."]


async def test_tombstone_for_a_worker_that_stood_still(tmp_path: Path) -> None:
    """SIGSTOP the worker before the call, cancel, SIGCONT: it sends the call, adopts the fence, and is refused."""
    inside, go = threading.Event(), threading.Event()

    def adapt(domain: Domain) -> Domain:
        def target(_given: Any) -> str:
            if inside.is_set():  # the decision that follows the approval
                assert go.wait(SECONDS)
            return "bell"

        return replace(domain, tools=tuple(replace(t, target=target) if t.name == "ring" else t for t in domain.tools))

    async with running_site(tmp_path, adapt) as site, site.client() as stub:
        conversation_id = await create(stub)
        sent = stub.SendMessage(pb.SendMessageRequest(request_id="one", conversation_id=conversation_id, text="ring 2"))
        approval = last(await collect(sent), "approval_required")
        inside.set()
        bob = (("x-handrail-principal", "bob"),)
        resolving = stub.ResolveApproval(
            pb.ResolveApprovalRequest(
                request_id="two",
                approval_id=approval.approval_id,
                verdict=approval_pb2.VERDICT_APPROVE,
                snapshot_digest=approval.snapshot_digest,
            ),
            metadata=bob,
        )
        reading = asyncio.ensure_future(collect(resolving))

        async def deciding() -> bool:
            return names(await stored(stub, conversation_id))[-1] != "approval_required"

        await poll(deciding, "the approval")
        site.process.send_signal(signal.SIGSTOP)
        go.set()
        probe = site.probe
        await poll(lambda: probe.sql("SELECT 1 FROM tool_calls"), "the decision to call")
        ((interaction_id, epoch),) = probe.sql("SELECT interaction_id, epoch FROM interactions")
        other = await open_driver(probe.stub, conversation_id)
        other.interaction_id, other.epoch = interaction_id, epoch + 7
        ((revision,),) = probe.sql("SELECT revision FROM sessions")
        assert not (await other.cancel(known_session_revision=revision)).calls
        site.process.send_signal(signal.SIGCONT)
        failure = last(await reading, "failed").failure
        assert (failure.code, failure.source_code) == ("session_diverged", "INTERACTION_CLOSED")
        assert not probe.world.effects
        assert probe.sql("SELECT count(*) FROM executions") == [(0,)]

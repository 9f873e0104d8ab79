"""Drives a real Adapter over gRPC as the Loop would: a `Driver` keeps an interaction's number, plan version, epoch."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc.aio
import pytest

from adapter_service.bootstrap import RunningAdapter, migrate_database, start
from adapter_service.config import AdapterSettings
from adapter_service.sdk import Domain
from handrail.adapter.v1 import artifact_service_pb2_grpc
from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail.adapter.v1 import domain_adapter_service_pb2_grpc as pb2_grpc
from handrail.adapter.v1 import observation_pb2 as obs
from handrail.common.v1 import approval_pb2, caller_pb2, decision_pb2, fact_pb2, tool_pb2
from handrail_rpc.channel import open_channel
from handrail_rpc.digest import snapshot_digest, snapshot_fields_from_proto
from handrail_rpc.errors import HandrailError
from handrail_rpc.settings import ListenAddress
from handrail_rpc.status import from_rpc_error
from tests.fakes.probe_domain import World, make_domain

_numbers = itertools.count(1)


class FakeClock:
    """A clock that only tests move; with a `step`, each look at it lets that much time pass."""

    def __init__(self) -> None:
        self.now = datetime(2030, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
        self.step = timedelta(0)
        self.on_look: Callable[[], None] | None = None

    def __call__(self) -> datetime:
        self.now += self.step
        if self.on_look is not None:
            self.on_look()
        return self.now

    def advance(self, by: timedelta) -> None:
        """Let time pass."""
        self.now += by


@dataclass
class Driver:
    """One interaction. `decide` sends the next number and remembers the decision."""

    stub: pb2_grpc.DomainAdapterServiceStub
    session_id: str
    history_id: str
    interaction_id: str
    number: int = 0
    plan_version: int = 0
    epoch: int = 1
    roles: tuple[str, ...] = ("*",)
    locale: str = "en"
    domain: str = "probe"
    last: decision_pb2.Decision = field(default_factory=decision_pb2.Decision)
    last_request: pb2.DecideRequest = field(default_factory=pb2.DecideRequest)

    def principal(self) -> caller_pb2.Principal:
        """Who makes the request."""
        return caller_pb2.Principal(principal="ann", tenant="t", roles=self.roles)

    def request(self, observation: obs.Observation, **more: Any) -> pb2.DecideRequest:
        """The next DecideRequest."""
        fields: dict[str, Any] = {
            "request_id": f"req_{next(_numbers)}",
            "domain": self.domain,
            "domain_session_id": self.session_id,
            "interaction_id": self.interaction_id,
            "run_id": "run_1",
            "lease_epoch": self.epoch,
            "decision_number": self.number + 1,
            "base_plan_version": self.plan_version,
            "caller": self.principal(),
            "locale": self.locale,
            "history_id": self.history_id,
            "observation": observation,
        }
        return pb2.DecideRequest(**{**fields, **more})

    async def send(self, request: pb2.DecideRequest) -> decision_pb2.Decision:
        """Any DecideRequest; the decision alone."""
        parts = [part async for part in self.stub.Decide(request)]
        assert [part.WhichOneof("part") for part in parts][-1:] == ["decision"]
        return parts[-1].decision

    async def decide(self, observation: obs.Observation, **more: Any) -> decision_pb2.Decision:
        """Send the next number and go on from its decision."""
        request = self.request(observation, **more)
        decision = await self.send(request)
        self.number, self.plan_version = decision.decision_number, decision.plan_version
        self.last, self.last_request = decision, request
        return decision

    async def say(self, text: str, **more: Any) -> decision_pb2.Decision:
        """A user message."""
        message = obs.UserMessage(message_id="msg_1", text=text, begins_interaction=self.number == 0)
        return await self.decide(obs.Observation(user_message=message), **more)

    async def decide_text(self, text: str) -> decision_pb2.Decision:
        """A user message while the approval of the last decision is open."""
        return await self.decide(obs.Observation(user_message=obs.UserMessage(text=text, approval_id="apr_1")))

    async def reply(self, text: str = "", **more: Any) -> decision_pb2.Decision:
        """A clarification reply to the last question."""
        facts = more.pop("facts", ())
        target = self.last.ask.prompt.task
        reply = obs.ClarificationReply(
            clarification_id="clr_1", text=text, task_id=target.task_id, slot=target.slot, **more
        )
        return await self.decide(obs.Observation(clarification_reply=reply), facts=facts)

    def execute_request(self, call: tool_pb2.ToolCall, **more: Any) -> pb2.ExecuteToolRequest:
        """The request that executes a call."""
        fields: dict[str, Any] = {
            "request_id": f"req_{next(_numbers)}",
            "domain": self.domain,
            "domain_session_id": self.session_id,
            "interaction_id": self.interaction_id,
            "run_id": "run_1",
            "lease_epoch": self.epoch,
            "tool_call_id": call.tool_call_id,
            "dispatch_number": 1,
            "caller": self.principal(),
            "locale": self.locale,
            "history_id": self.history_id,
        }
        return pb2.ExecuteToolRequest(**{**fields, **more})

    async def execute(self, call: tool_pb2.ToolCall, **more: Any) -> tool_pb2.ToolOutcome:
        """Execute one call to its outcome."""
        parts = [part async for part in self.stub.ExecuteTool(self.execute_request(call, **more))]
        assert parts[-1].WhichOneof("part") == "outcome"
        return parts[-1].outcome

    async def finish(self, *outcomes: tool_pb2.ToolOutcome) -> decision_pb2.Decision:
        """Observe outcomes."""
        calls = [obs.FinishedCall(tool_call_id=o.tool_call_id, outcome=o.outcome) for o in outcomes]
        return await self.decide(obs.Observation(tool_finished=obs.ToolFinished(calls=calls)))

    async def run(self) -> decision_pb2.Decision:
        """Execute calls and take the only action until something else is decided."""
        while self.last.WhichOneof("outcome") in ("call_tool", "choose"):
            if self.last.WhichOneof("outcome") == "choose":
                choice = obs.ActionChoice(action_id=self.last.choose.actions[0].action_id)
                await self.decide(obs.Observation(action_choice=choice))
                continue
            await self.finish(*[await self.execute(call) for call in self.last.call_tool.calls])
        return self.last

    async def resolve(
        self, verdict: approval_pb2.Verdict.ValueType, *, comment: str = "", resolved_by: str = "bob", **more: Any
    ) -> decision_pb2.Decision:
        """A person's verdict on the approval of the last decision."""
        resolved = obs.ApprovalResolved(
            approval_id="apr_1",
            snapshot_digest=more.pop("digest", self.digest()),
            verdict=verdict,
            comment=comment,
            resolved_by=resolved_by,
            **more,
        )
        return await self.decide(obs.Observation(approval_resolved=resolved))

    def digest(self) -> str:
        """Digest of the last requested approval, as a client computes it."""
        return snapshot_digest(snapshot_fields_from_proto(self.last.request_approval.snapshot))

    async def cancel(self, **more: Any) -> pb2.CancelInteractionResponse:
        """Fence the interaction."""
        fields: dict[str, Any] = {
            "request_id": f"req_{next(_numbers)}",
            "domain": self.domain,
            "domain_session_id": self.session_id,
            "interaction_id": self.interaction_id,
            "lease_epoch": self.epoch,
            "history_id": self.history_id,
        }
        return await self.stub.CancelInteraction(pb2.CancelInteractionRequest(**{**fields, **more}))


@dataclass
class Probe:
    """A running Adapter with the probe domain, and a channel to it."""

    running: RunningAdapter
    world: World
    clock: FakeClock
    channel: grpc.aio.Channel
    settings: AdapterSettings

    @property
    def stub(self) -> pb2_grpc.DomainAdapterServiceStub:
        """The service's stub."""
        return pb2_grpc.DomainAdapterServiceStub(self.channel)

    @property
    def artifacts(self) -> artifact_service_pb2_grpc.ArtifactServiceStub:
        """The artifact service's stub."""
        return artifact_service_pb2_grpc.ArtifactServiceStub(self.channel)

    def sql(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Change or read the world behind the Adapter's back."""
        with closing(sqlite3.connect(self.settings.data_dir / "adapter.db", timeout=10)) as connection, connection:
            return connection.execute(statement, values).fetchall()

    async def open(self, conversation_id: str = "conv_1", **more: Any) -> Driver:
        """A new interaction in a conversation."""
        return await open_driver(self.stub, conversation_id, **more)


async def open_driver(
    stub: pb2_grpc.DomainAdapterServiceStub, conversation_id: str = "conv_1", domain: str = "probe", **more: Any
) -> Driver:
    """A new interaction in a conversation of any Adapter."""
    request = pb2.OpenSessionRequest(request_id="req_open", domain=domain, conversation_id=conversation_id)
    opened = await stub.OpenSession(request)
    return Driver(stub, opened.domain_session_id, opened.history_id, f"int_{next(_numbers)}", domain=domain, **more)


@asynccontextmanager
async def running_probe(
    folder: Path,
    world: World | None = None,
    clock: FakeClock | None = None,
    adapt: Callable[[Domain], Domain] = lambda domain: domain,
    **more: Any,
) -> AsyncIterator[Probe]:
    """A migrated and started Adapter below `folder`; `adapt` changes the probe domain before it is served, `more` are
    further settings.
    """
    world = world or World()
    clock = clock or FakeClock()
    settings = AdapterSettings(listen=ListenAddress("127.0.0.1", 0), data_dir=folder, **more)
    migrate_database(settings)
    running = await start(settings, domains=[adapt(make_domain(world))], clock=clock)
    channel = open_channel(running.target)
    try:
        yield Probe(running, world, clock, channel, settings)
    finally:
        for event in world.held.values():
            event.set()
        await channel.close()
        await running.stop()


def position(latitude: float, source: fact_pb2.Source.ValueType = fact_pb2.SOURCE_DEVICE) -> fact_pb2.Fact:
    """A position fact."""
    fact = fact_pb2.Fact(name="position", source=source, scope="session")
    fact.value.update({"lat": latitude, "lon": 1.0})
    return fact


async def refusal(call: Awaitable[object]) -> HandrailError:
    """The refusal that a call ends with, as the Loop reads it."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return from_rpc_error(caught.value)

"""A Loop whose workflow model is the fake provider behind the real SDK, and a scripted Adapter that offers choices."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from handrail.adapter.v1 import domain_adapter_service_pb2 as adapter_pb
from handrail.common.v1 import decision_pb2, tool_pb2
from handrail.loop.v1 import event_pb2
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from tests.fakes.adapter import Script as AdapterScript
from tests.fakes.adapter import complete
from tests.fakes.provider import Behaviour, FakeProvider, Says, Script, providing
from tests.grpc.loop.driver import LoopDriver, running_loop

KEY = "sk-key-of-the-tests"
ACTIONS = [("look", "Look it up"), ("revise", "Revise the draft")]


def choose(actions: Iterable[tuple[str, str]] = ACTIONS, default: str = "look") -> decision_pb2.Decision:
    """A choice among (action_id, title); "" for no default."""
    offered = [
        decision_pb2.Action(
            action_id=action_id, title=title, description=f"About {action_id}", effect=tool_pb2.EFFECT_READ
        )
        for action_id, title in actions
    ]
    return decision_pb2.Decision(
        choose=decision_pb2.Choose(actions=offered, default_action_id=default), summary="several ways on"
    )


def offering(actions: Iterable[tuple[str, str]] = ACTIONS, default: str = "look") -> AdapterScript:
    """Offers the actions at every message, and answers with the one that was chosen."""
    listed = list(actions)

    def decide(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        if request.observation.WhichOneof("kind") == "action_choice":
            choice = request.observation.action_choice
            return complete(f"took {choice.action_id}")
        return choose(listed, default)

    return decide


def picks(action_id: str, intent: str = "") -> Says:
    return Says({"action_id": action_id, "intent": intent})


@dataclass
class Modelled:
    driver: LoopDriver
    provider: FakeProvider

    async def run(self, events: list[event_pb2.Event]) -> pb.Run:
        """The run of these events, as GetRun shows it."""
        response = await self.driver.stub.GetRun(pb.GetRunRequest(run_id=events[0].run_id))
        found: pb.Run = response.run
        return found

    def choices(self) -> list[adapter_pb.DecideRequest]:
        """What the Adapter was told to have been chosen."""
        return [
            each
            for each in self.driver.adapter.decide_requests
            if each.observation.WhichOneof("kind") == "action_choice"
        ]


@asynccontextmanager
async def modelled(
    folder: Path, behave: Script | Behaviour, decide: AdapterScript | None = None, **settings: object
) -> AsyncIterator[Modelled]:
    async with providing(behave) as provider:
        model: dict[str, object] = {
            "workflow_model": "fake-model",
            "workflow_model_key": KEY,
            "workflow_model_base_url": provider.base_url,
            **settings,
        }
        async with running_loop(folder, decide or offering(), **model) as driver:
            yield Modelled(driver, provider)


def decided(events: list[event_pb2.Event]) -> list[event_pb2.DecisionMade]:
    """The decisions that were choices."""
    kind = event_pb2.DECISION_KIND_CHOOSE
    return [
        e.decision_made for e in events if e.WhichOneof("payload") == "decision_made" and e.decision_made.kind == kind
    ]

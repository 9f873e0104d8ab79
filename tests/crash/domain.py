"""The probe domain around a world that outlives the process: effects are lines of a file, written durably.

Served by tests.crash.adapter_process. A change that happened twice stands in the file twice.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from adapter_service.sdk import (
    ApprovalRule,
    Domain,
    Effect,
    PlanningRequest,
    Proposal,
    Text,
    Tool,
    ToolContext,
)
from tests.fakes.probe_domain import HELD_SECONDS, ProbePlanner, World, make_domain

EXPIRY = timedelta(milliseconds=1500)


@dataclass
class LastingWorld(World):
    """`folder` holds effects.txt, `hold-<tool>` for each tool that is to wait, and `slow-tools` for all some while."""

    def __post_init__(self) -> None:
        """What earlier processes did is known: an idempotent tool honours its key through a crash."""
        self.with_probe = self._file("with-probe").exists()
        self.effects.update(read_effects(self._file("effects.txt")))

    def pass_gate(self, name: str) -> None:
        """Wait while the file exists; the tool's own thread is what waits."""
        if self._file("slow-tools").exists():
            time.sleep(random.uniform(0, 0.05))
        deadline = time.monotonic() + HELD_SECONDS
        while self._file(f"hold-{name}").exists() and time.monotonic() < deadline:
            time.sleep(0.005)

    def act(self, key: str) -> None:
        """One effect: durable before the tool goes on."""
        descriptor = os.open(self._file("effects.txt"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(descriptor, f"{key}\n".encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        self.effects[key] += 1

    def _file(self, name: str) -> Path:
        assert self.folder is not None
        return self.folder / name


def read_effects(path: Path) -> list[str]:
    """The idempotency key of each effect, in order."""
    return path.read_text("ascii").splitlines() if path.exists() else []


def lasting_domain(world: LastingWorld) -> Domain:
    """The probe domain, and `chime`: an idempotent change whose approval expires in a moment."""

    def chime(context: ToolContext) -> dict[str, Any]:
        world.pass_gate("chime")
        if not world.effects[context.idempotency_key]:
            world.act(context.idempotency_key)
        return {"chimed": True}

    title = Text("Chime", "Перезвон")
    tool = Tool(
        "chime",
        chime,
        Effect.CHANGE,
        title,
        title,
        lambda _result, _locale: "Chimed.",
        idempotent=True,
        approval=ApprovalRule("ringer", EXPIRY),
    )
    domain = make_domain(world)
    # A bell of its own for each count: a call whose outcome is unknown keeps its target locked.
    tools = (replace(each, target=_bell) if each.target({"count": 0}) else each for each in domain.tools)
    return replace(domain, tools=(*tools, tool), planner=_Planner())


class _Planner(ProbePlanner):
    """A request that supersedes another begins its own interaction with the same words."""

    def plan(self, request: PlanningRequest) -> Proposal:
        if request.begins_interaction:
            request = replace(request, text=request.text.strip().removeprefix("new "))
        return super().plan(request)


def _bell(given: Mapping[str, Any]) -> str:
    return f"bell-{given['count']}"

"""The domain `bench`, written with the sdk alone: a fixed function in the place of a model, two small tools.

The Adapter of a benchmark loads `create_domain` through the entry-point group handrail.domains, as it would any
installed domain (`bench.stack` installs it). "turn N" is a turn with one pure tool (R2); "round N" goes on to a tool
with a side effect, which needs an approval (R1).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from adapter_service.sdk import (
    ApprovalRule,
    Domain,
    DomainEnvironment,
    Effect,
    PlanningRequest,
    Proposal,
    ReplyVerdict,
    ResultFill,
    TaskDraft,
    Text,
    Tool,
    ToolContext,
    ValueFill,
)

NAME = "bench"
EFFECTS_FILE = "effects.txt"


class FixedPlanner:
    """The words decide; keeps no state."""

    def plan(self, request: PlanningRequest) -> Proposal:
        """See the module."""
        verb, _, rest = request.text.partition(" ")
        number = int(rest) if rest.isascii() and rest.isdigit() else 0
        tasks = [TaskDraft("look", "look", {"number": ValueFill(number)})]
        if verb == "round":
            tasks.append(TaskDraft("append", "append", {"value": ResultFill("look", "value")}))
        return Proposal(ReplyVerdict.NEW_REQUEST, tasks=tuple(tasks))


def look(number: int) -> dict[str, int]:
    """The pure tool."""
    return {"number": number, "value": number * 2 + 1}


def create_domain(environment: DomainEnvironment) -> Domain:
    """The factory that the entry point names; the effects are lines of a file in the domain's own folder."""
    return make_domain(environment.data_dir / EFFECTS_FILE)


def make_domain(effects: Path) -> Domain:
    """The domain, with `effects` as the file that its side effects are appended to."""

    def append(value: int, context: ToolContext) -> dict[str, int]:
        """One line for one idempotency key: a repetition adds an equal line, and readers count distinct ones."""
        descriptor = os.open(effects, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(descriptor, f"{context.idempotency_key} {value}\n".encode())
        finally:
            os.close(descriptor)
        return {"value": value}

    return Domain(
        name=NAME,
        title=Text("Benchmark", "Замер скорости"),
        version="1",
        policy_version=1,
        tools=(
            Tool(
                name="look",
                function=look,
                effect=Effect.READ,
                title=Text("Look", "Посмотреть"),
                description=Text("A pure function of its number.", "Чистая функция от числа."),
                say=lambda result, _locale: f"{result['value']}.",
            ),
            Tool(
                name="append",
                function=append,
                effect=Effect.EXTERNAL,
                title=Text("Append a line", "Дописать строку"),
                description=Text("Appends one line to a file.", "Дописывает одну строку в файл."),
                idempotent=True,
                approval=ApprovalRule(role="approver", expires_after=timedelta(hours=1)),
                target=_target,
                preview=lambda arguments, _locale: f"append {arguments['value']}",
                say=lambda result, _locale: f"{result['value']}!",
            ),
        ),
        planner=FixedPlanner(),
    )


def _target(arguments: Mapping[str, Any]) -> str:
    """One for each value: a target that another call is at work on would ask for a new approval."""
    return f"line/{arguments['value']}"


def read_effects(path: Path) -> tuple[int, int]:
    """(lines, distinct idempotency keys) of an effects file; equal where nothing was executed twice."""
    if not path.exists():
        return 0, 0
    keys = [line.split(" ", 1)[0] for line in path.read_text("ascii").splitlines()]
    return len(keys), len(set(keys))

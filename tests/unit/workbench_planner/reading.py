"""Reads messages with the planner over the small workspace, and writes its proposals on one line."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from adapter_service.domains.workbench.index import WorkbenchIndex
from adapter_service.domains.workbench.planner import WorkbenchPlanner
from adapter_service.domains.workbench.workspace_view import OpenWorkspace
from adapter_service.sdk import ArtifactFill, Fill, Memory, PlanningRequest, Proposal, ResultFill, TextFill, ValueFill
from tests.fakes.plain_workspace import scan
from tests.unit.workbench_planner.folder import make_folder

NOW = datetime(2030, 1, 2, tzinfo=UTC)


@pytest.fixture(scope="package")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> OpenWorkspace:
    """The small workspace with its index."""
    folder: Path = tmp_path_factory.mktemp("workspace")
    make_folder(folder)
    files = scan(folder)
    return OpenWorkspace(files, WorkbenchIndex(tmp_path_factory.mktemp("index")).update(files))


def propose(text: str, workspace: Any, memory: Memory | None = None, locale: str = "en", **more: Any) -> Proposal:
    """What the planner makes of a text that begins an interaction, unless `more` says otherwise."""
    fields: dict[str, Any] = {"begins_interaction": True, **more}
    request = PlanningRequest(text, locale, NOW, memory=memory or Memory(), workspace=workspace, **fields)
    return WorkbenchPlanner().plan(request)


def shown(proposal: Proposal) -> str:
    """The tasks on one line; "reply" where there are none."""
    if not proposal.tasks:
        return "reply" if proposal.reply is not None else proposal.verdict.value
    return " | ".join(
        " ".join([task.tool, *(f"{name}={_fill(fill)}" for name, fill in task.fills.items())])
        for task in proposal.tasks
    )


def _fill(fill: Fill) -> str:
    match fill:
        case TextFill(text):
            return f"‹{text}›"
        case ValueFill(value):
            return repr(value)
        case ResultFill(task, path):
            return f"{task}.{path}"
        case ArtifactFill(task, artifact_id):
            return task or artifact_id

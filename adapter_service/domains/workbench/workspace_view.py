"""What tools, resolvers and the planner get of a workspace: its indexed view, and the way to write one file.

Made by domain.py before each of them (WorkspaceUse.prepare); where nothing changed the view is the one made before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adapter_service.domains.workbench.view import View
from adapter_service.sdk import Text, ToolError, Workspace


@dataclass(frozen=True, slots=True)
class OpenWorkspace:
    """One state of a workspace with its index."""

    files: Workspace
    view: View


def view_of(workspace: Any) -> View:
    """The view in a context. Raises ToolError(entity_not_found) where the conversation has no workspace."""
    return opened(workspace).view


def opened(workspace: Any) -> OpenWorkspace:
    """The workspace in a context. Raises ToolError(entity_not_found) where the conversation has none."""
    if isinstance(workspace, OpenWorkspace):
        return workspace
    raise ToolError(
        "entity_not_found",
        Text("This conversation has no workspace.", "У этого разговора нет рабочей области."),
        helpful_action=NO_WORKSPACE_HELP,
        source_code="no_workspace",
    )


NO_WORKSPACE_HELP = Text(
    "Upload one, or start the service with HANDRAIL_WORKBENCH_FOLDER set to a folder.",
    "Загрузите её или запустите службу, указав папку в HANDRAIL_WORKBENCH_FOLDER.",
)

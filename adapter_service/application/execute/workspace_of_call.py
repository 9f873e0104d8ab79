"""The workspace that a tool call sees, and what of it is recorded with the outcome. Called by `execute_tool`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from adapter_service.application.execute.claim import Claimed, ExecuteCommand
from adapter_service.application.execute.run_tool import ToolEnded
from adapter_service.application.ports import Threads, Transaction
from adapter_service.application.read_set import WORKSPACE
from adapter_service.application.workspace.open_workspace import OpenWorkspaces
from adapter_service.application.workspace.own_writes import sha256_with
from adapter_service.domain import failure_texts as texts
from adapter_service.domain.errors import NoThreadFree
from adapter_service.domain.ledger import ExecutionState, Trouble
from adapter_service.sdk import Domain, Tool, WorkspaceFile
from handrail_rpc.errors import HandrailError
from handrail_rpc.logging import get_logger

logger = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class CallWorkspace:
    """The domain's view, the state's hash and files as the call saw them; `after_sha256` with its own writes on top."""

    view: Any = None
    sha256: str = ""
    files: Mapping[str, WorkspaceFile] = field(default_factory=dict)
    after_sha256: str = ""

    def after(self, written: Sequence[WorkspaceFile]) -> CallWorkspace:
        """The same with what the call itself wrote. Computes a hash over all files: for a thread."""
        return replace(self, after_sha256=sha256_with(self.files, written))

    def record(self, tx: Transaction, interaction_id: str) -> None:
        """Let the interaction go on from the call's own change: only what others changed is checked then (C10)."""
        interaction = tx.interactions.find(interaction_id)
        if self.after_sha256 and interaction is not None and interaction.workspace_sha256 == self.sha256:
            tx.interactions.see_workspace(interaction_id, self.after_sha256)


NO_WORKSPACE = CallWorkspace()


async def open_for_call(
    workspaces: OpenWorkspaces, threads: Threads, domain: Domain, tool: Tool, claimed: Claimed, command: ExecuteCommand
) -> CallWorkspace:
    """The workspace as it is now, for a tool that can see it. Raises ToolEnded where it cannot be opened: nothing has
    begun then.
    """
    if not (tool.context_parameter or tool.probe or tool.uses_workspace or WORKSPACE in tool.reads):
        return NO_WORKSPACE

    def open_and_prepare() -> CallWorkspace:
        opened, view = workspaces.open_with_view(domain, command.domain_session_id)
        return CallWorkspace(view, opened.sha256, opened.workspace.files)

    try:
        return await threads.run(open_and_prepare)
    except (HandrailError, NoThreadFree) as error:
        reason = error.reason.lower()
    except Exception as error:
        # The boundary to a domain's callback.
        logger.error("workspace could not be prepared", tool=tool.name, exc_info=error)
        reason = "workspace_unreadable"
    explanation = texts.filled(texts.TOOL_FAILED, title=tool.title)
    raise ToolEnded(ExecutionState.FAILED, Trouble("tool_failed", explanation, texts.TRY_AGAIN, reason, retryable=True))

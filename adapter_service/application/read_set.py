"""What a validation read besides the version it judged, and whether all of it is still as it was (soundness read_set).

Recorded by `execute_tool` before the validating tool runs; compared by `load_situation` when a decision is made and by
`claim` in the claiming transaction.
"""

from __future__ import annotations

from adapter_service.application.decide.prepare_input import input_arguments
from adapter_service.application.ports import Transaction
from adapter_service.domain.artifact import Read, ReadKind, Validation
from adapter_service.domain.ledger import ToolCall
from adapter_service.sdk import Domain, Tool
from handrail_rpc.logging import get_logger

logger = get_logger(__name__)


WORKSPACE = "workspace"
"""The source that a domain with a workspace has of itself."""


def reads_of(domain: Domain, tool: Tool, call: ToolCall, workspace_sha256: str = "") -> tuple[Read, ...]:
    """The validator itself, the other artifacts that it gets, and the domain's sources that it declares.

    Taken before the call: what changes while it runs is then older here than what is compared later.
    """
    arguments = input_arguments(call.input_bytes)
    artifacts = [
        Read(ReadKind.ARTIFACT, named["artifact_id"], f"{named['version']}")
        for name in tool.artifacts
        if name != tool.validates and (named := arguments.get(name)) is not None
    ]
    sources = [
        Read(ReadKind.SOURCE, name, workspace_sha256 if _is_workspace(domain, name) else _source(domain, name))
        for name in tool.reads
    ]
    return (Read(ReadKind.TOOL, tool.name, str(tool.version)), *artifacts, *sources)


def holds(tx: Transaction, domain: Domain, validation: Validation, workspace_sha256: str | None = None) -> bool:
    """Whether every version that the validation read is the current one; what nobody could tell never is.

    The workspace is `workspace_sha256` where the caller has it open, otherwise what the session is at.
    """

    def version_now(read: Read) -> str:
        if read.kind is ReadKind.SOURCE and _is_workspace(domain, read.name):
            return _session_workspace(tx, validation) if workspace_sha256 is None else workspace_sha256
        return _version_now(tx, domain, read)

    return all(read.version != "" and version_now(read) == read.version for read in validation.reads)


def _is_workspace(domain: Domain, name: str) -> bool:
    return name == WORKSPACE and domain.workspace is not None


def _session_workspace(tx: Transaction, validation: Validation) -> str:
    """The hash that the newest decision or upload of the artifact's session saw."""
    judged = tx.artifacts.find(validation.artifact_id)
    state = tx.workspaces.state(judged.domain_session_id) if judged is not None else None
    return state.sha256 if state is not None else ""


def _version_now(tx: Transaction, domain: Domain, read: Read) -> str:
    match read.kind:
        case ReadKind.ARTIFACT:
            current = tx.artifacts.find(read.name)
            return str(current.version) if current is not None else ""
        case ReadKind.SOURCE:
            return _source(domain, read.name)
        case ReadKind.TOOL:
            return str(domain.tool(read.name).version) if domain.has_tool(read.name) else ""


def _source(domain: Domain, name: str) -> str:
    """The version in force, "" where the domain has no such source or it breaks: the boundary to a domain's code."""
    try:
        return str(domain.sources[name]())
    except Exception as error:
        logger.error("source of a domain failed", domain=domain.name, source=name, exc_info=error)
        return ""

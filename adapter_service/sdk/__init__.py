"""What a domain author imports. A domain is data around plain functions: tools, resolvers, artifact kinds, a planner.

The engine (adapter_service.application) reads these declarations; a domain imports nothing else of Handrail.
"""

from adapter_service.sdk.answer import DocumentationCitation, EntityCitation, Referent
from adapter_service.sdk.artifact import ArtifactKind, ArtifactOutput, DiffForm, Finding, Severity, bytes_of
from adapter_service.sdk.compact_view import compact
from adapter_service.sdk.domain import Claim, Domain, DomainEnvironment
from adapter_service.sdk.errors import BaseChanged, DeclarationError, ToolError
from adapter_service.sdk.memory import ArtifactSummary, FactView, Memory
from adapter_service.sdk.named_tools import NamedToolPlanner
from adapter_service.sdk.plan import (
    ArtifactFill,
    Fill,
    OpenQuestion,
    Planner,
    PlanningRequest,
    Proposal,
    RefusedInput,
    ReplyVerdict,
    ResultFill,
    SlotPatch,
    TaskDraft,
    TaskSummary,
    TextFill,
    ValueFill,
)
from adapter_service.sdk.resolve import (
    Candidate,
    Candidates,
    Resolution,
    ResolveContext,
    Resolved,
    Resolver,
    Unresolved,
)
from adapter_service.sdk.text import Text
from adapter_service.sdk.tool import NOT_EXECUTED, ApprovalRule, Effect, NotExecuted, Slot, Tool, ToolContext
from adapter_service.sdk.wait import Wait
from adapter_service.sdk.workspace import Workspace, WorkspaceFile, WorkspaceUse
from adapter_service.sdk.wrapping import validator, wrap

__all__ = [
    "NOT_EXECUTED",
    "ApprovalRule",
    "ArtifactFill",
    "ArtifactKind",
    "ArtifactOutput",
    "ArtifactSummary",
    "BaseChanged",
    "Candidate",
    "Candidates",
    "Claim",
    "DeclarationError",
    "DiffForm",
    "DocumentationCitation",
    "Domain",
    "DomainEnvironment",
    "Effect",
    "EntityCitation",
    "FactView",
    "Fill",
    "Finding",
    "Memory",
    "NamedToolPlanner",
    "NotExecuted",
    "OpenQuestion",
    "Planner",
    "PlanningRequest",
    "Proposal",
    "Referent",
    "RefusedInput",
    "ReplyVerdict",
    "Resolution",
    "ResolveContext",
    "Resolved",
    "Resolver",
    "ResultFill",
    "Severity",
    "Slot",
    "SlotPatch",
    "TaskDraft",
    "TaskSummary",
    "Text",
    "TextFill",
    "Tool",
    "ToolContext",
    "ToolError",
    "Unresolved",
    "ValueFill",
    "Wait",
    "Workspace",
    "WorkspaceFile",
    "WorkspaceUse",
    "bytes_of",
    "compact",
    "validator",
    "wrap",
]

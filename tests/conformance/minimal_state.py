"""What the minimal adapter remembers, its tools, and what every call checks first. Used by minimal_*.py."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import grpc
from google.protobuf.duration_pb2 import Duration

from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail.common.v1 import approval_pb2, decision_pb2, tool_pb2

MOST_ID = 128


class Refusal(Exception):
    """How a call is refused; becomes a google.rpc.Status."""

    def __init__(self, code: str, reason: str, text: str, *, fields: tuple[str, ...] = (), **metadata: str) -> None:
        super().__init__(text)
        self.code = grpc.StatusCode[code]
        self.reason = reason
        self.text = text
        self.fields = fields
        self.metadata = metadata


def invalid(*fields: str) -> Refusal:
    """INVALID_ARGUMENT naming the fields."""
    return Refusal("INVALID_ARGUMENT", "INVALID_ARGUMENT", f"{', '.join(fields)}: not accepted", fields=fields)


def check_fields(request: Any, *, ids: tuple[str, ...], least: dict[str, int] | None = None) -> None:
    """Raise invalid for every id that is empty or too long, every number below its least, and no caller."""
    wrong = [name for name in ids if not 0 < len(getattr(request, name)) <= MOST_ID]
    wrong += [name for name, lowest in (least or {}).items() if getattr(request, name) < lowest]
    names = {each.name for each in request.DESCRIPTOR.fields}
    if "locale" in names and request.locale not in ("en", "ru"):
        wrong.append("locale")
    if "caller" in names and not request.caller.principal:
        wrong.append("caller")
    if wrong:
        raise invalid(*wrong)


@dataclass
class Approval:
    """An approval that was asked for. `digest` is what a person has to echo."""

    snapshot: approval_pb2.ApprovalSnapshot
    digest: str
    state: str = "open"


@dataclass
class Interaction:
    """One interaction: its decisions in order, each with the bytes that it answers, and what it works on."""

    interaction_id: str
    epoch: int = 0
    closed: bool = False
    plan_version: int = 0
    decisions: list[tuple[tuple[int, bytes], decision_pb2.Decision]] = field(default_factory=list)
    tool: str = ""
    arguments: dict[str, str] = field(default_factory=dict)
    asked: str = ""
    approval: Approval | None = None
    open_call: str = ""
    calls: dict[str, tool_pb2.ToolCall] = field(default_factory=dict)
    inputs: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass
class Session:
    """A conversation's session."""

    session_id: str
    conversation_id: str
    revision: int = 1
    erased: bool = False
    interactions: dict[str, Interaction] = field(default_factory=dict)


def _tool(name: str, effect: tool_pb2.Effect.ValueType) -> pb2.Tool:
    tool = pb2.Tool(name=name, version="1", title=name, description=name, effect=effect)
    if effect == tool_pb2.EFFECT_CHANGE:
        tool.approval.required_role = "approver"
        hour = Duration()
        hour.FromTimedelta(timedelta(hours=1))
        tool.approval.expires_after.CopyFrom(hour)
    return tool


class Store:
    """Everything; gone with the process, which renews the history id."""

    domain = "conformance"
    policy_version = "1"

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self.history_id = self.new_id("his")
        reads = ("probe_read", "probe_count", "probe_ask")
        tools = [_tool(name, tool_pb2.EFFECT_READ) for name in reads]
        tools.append(_tool("probe_change", tool_pb2.EFFECT_CHANGE))
        self.tools = {tool.name: tool for tool in tools}
        self.by_conversation: dict[str, Session] = {}
        self.outcomes: dict[str, tool_pb2.ToolOutcome] = {}
        self.counts: dict[str, int] = {}
        self.unsettled: set[str] = set()

    def new_id(self, prefix: str) -> str:
        """An id that is used once."""
        return f"{prefix}_{next(self._numbers)}"

    def check_domain(self, domain: str) -> None:
        """Raise Refusal for a domain that is not served."""
        if domain != self.domain:
            raise Refusal("NOT_FOUND", "DOMAIN_NOT_FOUND", "there is no such domain")

    def open(self, conversation_id: str) -> Session:
        """The session of a conversation, made where there is none."""
        if conversation_id not in self.by_conversation:
            self.by_conversation[conversation_id] = Session(self.new_id("ses"), conversation_id)
        return self.by_conversation[conversation_id]

    def session(self, session_id: str) -> Session:
        """A session by its id."""
        for session in self.by_conversation.values():
            if session.session_id == session_id and not session.erased:
                return session
        raise Refusal("NOT_FOUND", "SESSION_NOT_FOUND", "there is no such session")

    def access(self, request: Any) -> tuple[Session, Interaction]:
        """What Decide, ExecuteTool and CancelInteraction check first: domain, history, session, fence, revision."""
        self.check_domain(request.domain)
        if request.history_id != self.history_id:
            raise Refusal("FAILED_PRECONDITION", "HISTORY_DIVERGED", "another history")
        session = self.session(request.domain_session_id)
        if request.known_session_revision > session.revision:
            raise Refusal("FAILED_PRECONDITION", "HISTORY_DIVERGED", "more was known of this session")
        if request.interaction_id not in session.interactions:
            session.interactions[request.interaction_id] = Interaction(request.interaction_id)
        interaction = session.interactions[request.interaction_id]
        if request.lease_epoch < interaction.epoch:
            raise Refusal("ABORTED", "LEASE_LOST", "a higher lease epoch was seen", fence=str(interaction.epoch))
        interaction.epoch = request.lease_epoch
        return session, interaction

    def base(self, key: str) -> str:
        """What a change of the key replaces."""
        count = self.counts.get(key, 0)
        return hashlib.sha256(str(count).encode()).hexdigest() if count else ""

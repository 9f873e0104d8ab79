"""Rows of the audit trail (E6): append-only, numbered and hash-chained per conversation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from handrail_rpc import audit_chain
from handrail_rpc.digest import JsonValue


class AuditKind(StrEnum):
    UNSPECIFIED = "unspecified"
    """Of a row whose stored kind is none: it was changed."""
    MESSAGE_ACCEPTED = "message_accepted"
    QUESTION_ASKED = "question_asked"
    QUESTION_ANSWERED = "question_answered"
    APPROVAL_REQUESTED = "approval_requested"
    APPROVAL_RESOLVED = "approval_resolved"
    TOOL_CALLED = "tool_called"
    TOOL_FINISHED = "tool_finished"
    POLICY_BLOCKED = "policy_blocked"
    INTERACTION_ENDED = "interaction_ended"
    EXECUTION_SETTLED = "execution_settled"
    SIGNAL_RECEIVED = "signal_received"
    CONVERSATION_DELETED = "conversation_deleted"
    CHANNEL_FAILED = "channel_failed"
    CONVERSATION_RECOVERED = "conversation_recovered"


SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """What happened, before it has its number. `details` hold ids and codes only, never a person's text."""

    interaction_id: str
    run_id: str
    kind: AuditKind
    actor: str
    decision_number: int = 0
    decision_id: str = ""
    digest: str = ""
    code: str = ""
    details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AuditRow:
    """A stored entry; `hash` covers the entry, its number and time, the scheme and the hash of the row before."""

    conversation_id: str
    number: int
    entry: AuditEntry
    event_time: datetime
    hash: str
    digest_scheme: str = ""


def members_of(conversation_id: str, entry: AuditEntry, event_time: datetime) -> dict[str, JsonValue]:
    """What of an entry is hashed besides its place in the chain: every member a string, details a flat map."""
    return {
        "actor": entry.actor,
        "code": entry.code,
        "conversation_id": conversation_id,
        "decision_id": entry.decision_id,
        "decision_number": str(entry.decision_number),
        "details": dict(entry.details),
        "digest": entry.digest,
        "event_time": event_time.isoformat(timespec="microseconds"),
        "interaction_id": entry.interaction_id,
        "kind": entry.kind.value,
        "run_id": entry.run_id,
    }


def chained_object(
    conversation_id: str,
    number: int,
    entry: AuditEntry,
    event_time: datetime,
    previous_hash: str,
    digest_scheme: str = "",
) -> dict[str, JsonValue]:
    """The object whose canonical JSON (RFC 8785) is hashed. Rows from before there were schemes have none in it."""
    return audit_chain.chained_object(
        members_of(conversation_id, entry, event_time), number, previous_hash, digest_scheme
    )

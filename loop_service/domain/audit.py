"""Rows of the audit trail (E6): append-only, numbered and hash-chained per conversation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class AuditKind(StrEnum):
    MESSAGE_ACCEPTED = "message_accepted"
    QUESTION_ASKED = "question_asked"
    QUESTION_ANSWERED = "question_answered"
    APPROVAL_REQUESTED = "approval_requested"
    APPROVAL_RESOLVED = "approval_resolved"
    TOOL_CALLED = "tool_called"
    TOOL_FINISHED = "tool_finished"
    POLICY_BLOCKED = "policy_blocked"
    INTERACTION_ENDED = "interaction_ended"


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
    """A stored entry; `hash` covers the entry, its number and time, and the hash of the row before."""

    conversation_id: str
    number: int
    entry: AuditEntry
    event_time: datetime
    hash: str


def chained_object(
    conversation_id: str, number: int, entry: AuditEntry, event_time: datetime, previous_hash: str
) -> dict[str, str | dict[str, str]]:
    """The object whose canonical JSON (RFC 8785) is hashed: every member a string, details a flat map."""
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
        "number": str(number),
        "previous_hash": previous_hash,
        "run_id": entry.run_id,
    }

"""A conversation, its messages and the requests that were accepted in it, with the limits of what may be sent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

MOST_TEXT_CHARACTERS = 8000
MOST_FACTS = 32
MOST_TITLE_CHARACTERS = 200
MOST_LABELS = 16
MOST_LABEL_CHARACTERS = 128
MOST_REASON_CHARACTERS = 500
MOST_COMMENT_CHARACTERS = 2000
MOST_REQUEST_ID_CHARACTERS = 128
MOST_ID_CHARACTERS = 128
MOST_FACT_BYTES = 16_384
MOST_QUEUED_MESSAGES = 50
MOST_PAGE = 200
DEFAULT_PAGE = 50


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(slots=True)
class Conversation:
    """One row of `conversations`: also the lock under which events, audit rows and messages are numbered."""

    conversation_id: str
    tenant: str
    principal: str
    domain: str
    title: str
    labels: dict[str, str]
    create_time: datetime
    active_interaction_id: str = ""
    last_sequence: int = 0
    audit_number: int = 0
    audit_hash: str = ""
    message_count: int = 0
    domain_session_id: str = ""
    history_id: str = ""
    unclosed_interaction_id: str = ""
    """The newest interaction that ended without the Adapter being told; the next first decision closes it."""

    def is_visible_to(self, principal: str, tenant: str) -> bool:
        return self.principal == principal and self.tenant == tenant


@dataclass(slots=True)
class Message:
    """One row of `messages`: never changed, except that the run which consumes it is noted once."""

    message_id: str
    conversation_id: str
    position: int
    role: Role
    text: str
    interaction_id: str
    create_time: datetime
    request_id: str = ""
    run_id: str = ""
    workspace_snapshot_id: str = ""
    facts: tuple[bytes, ...] = ()
    locale: str = "en"
    roles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RequestScope:
    """Scope of a request_id: principal (with tenant) and method (contract.md 'Proto tree')."""

    tenant: str
    principal: str
    method: str
    request_id: str


@dataclass(frozen=True, slots=True)
class AcceptedRequest:
    """What an accepted request made; the same request again is answered from it (request_in_tx)."""

    scope: RequestScope
    body_sha256: str
    conversation_id: str = ""
    message_id: str = ""
    interaction_id: str = ""
    run_id: str = ""
    first_sequence: int = 0
    """Of the run, where this process has just stored it; not kept."""

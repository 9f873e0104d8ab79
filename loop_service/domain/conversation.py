"""A conversation, its messages and the requests that were accepted in it, with the limits of what may be sent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from loop_service.domain.deletion import Deletion

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
MOST_CHANNEL_CHARACTERS = 64
MOST_SOURCE_CODE_CHARACTERS = 128
MOST_PAGE = 200
DEFAULT_PAGE = 50


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"


class Divergence(StrEnum):
    """Whether the records of the two services were found to differ, and what an operator made of it."""

    NONE = ""
    FOUND = "diverged"
    ENDED = "ended"
    """For good: what is sent here ends as session_diverged too, until it is reopened."""
    REOPENING = "reopening"
    """What is open is being ended; then the next message opens a new session."""


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
    loop_history_id: str = ""
    """History of this Loop's database under which it was last known to be whole; another one: it was restored since."""
    session_revision: int = 0
    """Highest revision of the session that the Adapter has told (soundness.md: the peer's high-water mark)."""
    divergence: Divergence = Divergence.NONE
    first_sequence: int = 1
    """Of the oldest event that retention kept; last_sequence + 1 where none is left."""
    oldest_event_time: datetime | None = None
    """When retention has to look at the conversation, counted from here: time of the oldest kept event, or later."""

    deletion: Deletion = Deletion.NONE
    delete_time: datetime | None = None
    """When the deletion was requested; `deleted_by` requested it."""
    deleted_by: str = ""
    erase_due: datetime | None = None
    """When a deletion that is not finished is taken up again."""

    def note_divergence(self) -> None:
        """The records of the two services differ; what an operator made of an earlier one stands."""
        if self.divergence is Divergence.NONE:
            self.divergence = Divergence.FOUND

    def reopen(self, loop_history_id: str) -> None:
        """Forget the session: the next message opens one, with what the Adapter has now."""
        self.domain_session_id = ""
        self.history_id = ""
        self.session_revision = 0
        self.loop_history_id = loop_history_id
        self.divergence = Divergence.NONE

    def is_owned_by(self, principal: str, tenant: str) -> bool:
        return self.principal == principal and self.tenant == tenant

    def is_visible_to(self, principal: str, tenant: str) -> bool:
        """A deleted conversation is visible to nobody."""
        return self.is_owned_by(principal, tenant) and not self.deletion.hides


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
    event_sequence: int = 0
    """Of the one event that the request made, where it made no run."""

"""Sessions, interactions and client facts as the Adapter keeps them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

MOST_REFERENTS = 20
MOST_ARTIFACTS = 10
MOST_FACTS = 32
MOST_CANDIDATES = 20
MOST_MESSAGE_CHARACTERS = 8000  # as the Loop limits it: what it acknowledged must not be refused here
MOST_ARTIFACT_BYTES = 8 * 1024 * 1024
MOST_PARALLEL_READS = 4  # of one step, by default
PARALLEL_READS_LIMIT = 16


@dataclass(frozen=True, slots=True)
class Session:
    """The session of a conversation. `revision` counts its committed changes: decisions, claims, outcomes, closings.

    `acknowledged_revision` is the highest one that the Loop ever said it had seen: a Loop that knows less was put back
    to an older copy, as this database was where its own revision is below what the Loop has seen. Of an `erased`
    session nothing is left but its ledger and its tombstones.
    """

    domain_session_id: str
    domain: str
    conversation_id: str
    create_time: datetime
    revision: int
    acknowledged_revision: int = 0
    erased: bool = False


@dataclass(frozen=True, slots=True)
class AtRevision:
    """Stored bytes with the session's revision as of the transaction that stored or read them."""

    data: bytes
    session_revision: int


@dataclass(frozen=True, slots=True)
class Interaction:
    """The Adapter's row of an interaction: fence, tombstone and how far its decisions have come.

    `workspace_sha256` is the workspace that the newest decision was made in, "" where the domain uses none.
    """

    interaction_id: str
    domain_session_id: str
    epoch: int
    closed: bool
    decision_number: int
    plan_version: int
    workspace_sha256: str = ""


@dataclass(frozen=True, slots=True)
class Principal:
    """On whose behalf the Loop calls; from the caller's credential."""

    principal: str
    roles: frozenset[str]


@dataclass(frozen=True, slots=True)
class StoredDecision:
    """A decision as stored: returned byte for byte to an equal request (requirement B2)."""

    decision_number: int
    base_plan_version: int
    observation_bytes: bytes
    decision_bytes: bytes

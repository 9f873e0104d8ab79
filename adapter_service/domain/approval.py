"""What a person approves, and the comparison E2: executable = approved and nothing of it has changed.

Called by policy when a decision is made and, in the claiming transaction, right before a call (soundness rule
serializable_claim). Pure: the caller brings the world as that transaction sees it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from handrail_rpc.digest import DIGEST_SCHEME, format_time, snapshot_digest


class ApprovalState(StrEnum):
    """Open is waiting; the others are terminal. Approved alone lets a call through, once, by its key."""

    OPEN = "open"
    APPROVED = "approved"
    CHANGES_REQUESTED = "changes_requested"
    REJECTED = "rejected"
    EXPIRED = "expired"
    STALE = "stale"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """ApprovalSnapshot (requirement E1). `artifact_version` 0 and empty strings stand for absent members."""

    tool: str
    tool_version: str
    input_sha256: str
    policy_version: str
    required_role: str
    idempotency_key: str
    expire_time: datetime
    artifact_id: str = ""
    artifact_version: int = 0
    artifact_sha256: str = ""
    validation_sha256: str = ""
    digest_scheme: str = DIGEST_SCHEME

    @property
    def digest(self) -> str:
        """Lower-case hex; contract.md 'ApprovalSnapshot and its digest'."""
        return snapshot_digest(
            {
                "digest_scheme": self.digest_scheme,
                "tool": self.tool,
                "tool_version": self.tool_version,
                "artifact_id": self.artifact_id,
                "artifact_version": str(self.artifact_version) if self.artifact_version else "",
                "artifact_sha256": self.artifact_sha256,
                "validation_sha256": self.validation_sha256,
                "input_sha256": self.input_sha256,
                "policy_version": self.policy_version,
                "required_role": self.required_role,
                "idempotency_key": self.idempotency_key,
                "expire_time": format_time(self.expire_time),
            }
        )


@dataclass(frozen=True, slots=True)
class Approval:
    """A requested approval as the Adapter keeps it. `approval_id` is the Loop's, known once it was resolved."""

    digest: str
    interaction_id: str
    decision_number: int
    task_id: str
    snapshot: Snapshot
    input_bytes: bytes
    state: ApprovalState
    approval_id: str = ""
    resolved_by: str = ""


@dataclass(frozen=True, slots=True)
class World:
    """What the comparison looks at, read in one transaction.

    `tool_version` and `policy_version` are this process's, the `stored_…` ones the database's monotone rows.
    `validation_passed` is None where the current version was not validated or its kind needs no validation;
    `validation_outdated` where something else that the validation read has another version now (read_set).
    """

    now: datetime
    tool: str
    tool_version: str
    stored_tool_version: str
    policy_version: str
    stored_policy_version: str
    input_sha256: str
    key_used: bool
    artifact_id: str = ""
    artifact_version: int = 0
    artifact_sha256: str = ""
    needs_validation: bool = False
    validation_sha256: str = ""
    validation_passed: bool | None = None
    validation_outdated: bool = False

    @property
    def is_outdated(self) -> bool:
        """Whether another process has brought a newer tool or policy version than this one has."""
        own = (self.tool_version, self.policy_version)
        return own != (self.stored_tool_version, self.stored_policy_version)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Why a call is not executable: the code of the failure catalogue, and what differs, for logs and diagnosis."""

    code: str
    differs: str


def compare(approval: Approval | None, world: World) -> Mismatch | None:
    """E2. None if executable; otherwise the first difference, the most telling one first."""
    if approval is None or approval.state is ApprovalState.OPEN:
        return Mismatch("approval_missing", "approval")
    if approval.state is ApprovalState.EXPIRED:
        return Mismatch("approval_expired", "approval")
    if approval.state is not ApprovalState.APPROVED:
        return Mismatch("approval_stale", "approval")
    shown = approval.snapshot
    if shown.digest_scheme != DIGEST_SCHEME or shown.digest != approval.digest:
        return Mismatch("approval_stale", "snapshot_digest")
    if world.key_used:
        return Mismatch("approval_stale", "idempotency_key")
    for name, approved, current in (
        ("tool", shown.tool, world.tool),
        ("tool_version", shown.tool_version, world.tool_version),
        ("tool_version", shown.tool_version, world.stored_tool_version),
        ("policy_version", shown.policy_version, world.policy_version),
        ("policy_version", shown.policy_version, world.stored_policy_version),
        ("artifact_id", shown.artifact_id, world.artifact_id),
        ("artifact_version", shown.artifact_version, world.artifact_version),
        ("artifact_sha256", shown.artifact_sha256, world.artifact_sha256),
        ("input_sha256", shown.input_sha256, world.input_sha256),
    ):
        if approved != current:
            return Mismatch("approval_stale", name)
    if world.validation_outdated:
        return Mismatch("approval_stale", "read_set")
    if world.needs_validation and world.validation_passed is not True:
        return Mismatch("validation_failed", "validation_sha256")
    if shown.validation_sha256 != world.validation_sha256:
        return Mismatch("approval_stale", "validation_sha256")
    if world.now >= shown.expire_time:
        return Mismatch("approval_expired", "expire_time")
    return None

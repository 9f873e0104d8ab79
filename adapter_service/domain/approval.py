"""What a person approves, and the comparison E2: executable = approved and nothing of it has changed.

Called by policy when a decision is made and, in the claiming transaction, right before a call (soundness rule
serializable_claim). Pure: the caller brings the world as that transaction sees it.
"""

from __future__ import annotations

from collections.abc import Callable
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


@dataclass(frozen=True, slots=True)
class Comparison:
    """One condition of E2: `holds` says whether it is met by an approval and the world; `code` is told where it is not.

    `name` is what differs then. A test takes each of them away in turn and sees the suite of every domain fail.
    """

    name: str
    code: str
    holds: Callable[[Approval, World], bool]


def _same(name: str, approved: Callable[[Snapshot], object], current: Callable[[World], object]) -> Comparison:
    """A member of the snapshot is still what the world has."""
    return Comparison(name, "approval_stale", lambda approval, world: approved(approval.snapshot) == current(world))


# In the order in which they are asked: the most telling difference first, the passing of time last.
COMPARISONS: tuple[Comparison, ...] = (
    Comparison("approval", "approval_missing", lambda approval, _: approval.state is not ApprovalState.OPEN),
    Comparison("approval_expired", "approval_expired", lambda approval, _: approval.state is not ApprovalState.EXPIRED),
    Comparison("approval_ended", "approval_stale", lambda approval, _: approval.state is ApprovalState.APPROVED),
    Comparison("digest_scheme", "approval_stale", lambda approval, _: approval.snapshot.digest_scheme == DIGEST_SCHEME),
    Comparison("snapshot_digest", "approval_stale", lambda approval, _: approval.snapshot.digest == approval.digest),
    Comparison("idempotency_key", "approval_stale", lambda _, world: not world.key_used),
    _same("tool", lambda shown: shown.tool, lambda world: world.tool),
    _same("tool_version", lambda shown: shown.tool_version, lambda world: world.tool_version),
    _same("stored_tool_version", lambda shown: shown.tool_version, lambda world: world.stored_tool_version),
    _same("policy_version", lambda shown: shown.policy_version, lambda world: world.policy_version),
    _same("stored_policy_version", lambda shown: shown.policy_version, lambda world: world.stored_policy_version),
    _same("artifact_id", lambda shown: shown.artifact_id, lambda world: world.artifact_id),
    _same("artifact_version", lambda shown: shown.artifact_version, lambda world: world.artifact_version),
    _same("artifact_sha256", lambda shown: shown.artifact_sha256, lambda world: world.artifact_sha256),
    _same("input_sha256", lambda shown: shown.input_sha256, lambda world: world.input_sha256),
    Comparison("read_set", "approval_stale", lambda _, world: not world.validation_outdated),
    Comparison(
        "validation_passed",
        "validation_failed",
        lambda _, world: world.validation_passed is True or not world.needs_validation,
    ),
    _same("validation_sha256", lambda shown: shown.validation_sha256, lambda world: world.validation_sha256),
    Comparison("expire_time", "approval_expired", lambda approval, world: world.now < approval.snapshot.expire_time),
)


def compare(approval: Approval | None, world: World) -> Mismatch | None:
    """E2. None if executable; otherwise the first of COMPARISONS that does not hold."""
    if approval is None:
        return Mismatch("approval_missing", "approval")
    failed = next((each for each in COMPARISONS if not each.holds(approval, world)), None)
    return None if failed is None else Mismatch(failed.code, failed.name)

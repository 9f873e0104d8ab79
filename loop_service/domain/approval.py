"""An approval bound to a snapshot, and the rules of resolving it (contract.md 'Resolving an approval', E1, E5)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from loop_service.domain.errors import WrongState
from loop_service.domain.events import ApprovalRequired


class Verdict(StrEnum):
    APPROVE = "approve"
    REJECT = "reject"
    REQUEST_CHANGES = "request_changes"


class ApprovalStatus(StrEnum):
    OPEN = "open"
    APPROVED = "approved"
    REJECTED = "rejected"
    CHANGES_REQUESTED = "changes_requested"
    EXPIRED = "expired"
    STALE = "stale"
    WITHDRAWN = "withdrawn"


STATUS_OF: dict[Verdict, ApprovalStatus] = {
    Verdict.APPROVE: ApprovalStatus.APPROVED,
    Verdict.REJECT: ApprovalStatus.REJECTED,
    Verdict.REQUEST_CHANGES: ApprovalStatus.CHANGES_REQUESTED,
}
VERDICT_STATUSES = frozenset(STATUS_OF.values())
REPLACED = frozenset({ApprovalStatus.STALE, ApprovalStatus.CHANGES_REQUESTED, ApprovalStatus.EXPIRED})
"""Statuses after which a further approval of the interaction takes this one's place."""


@dataclass(slots=True)
class Approval:
    """One row of `approvals`; `snapshot` are the bytes that the digest covers, stored once, never rebuilt."""

    approval_id: str
    interaction_id: str
    conversation_id: str
    tenant: str
    requester: str
    snapshot: bytes
    digest: str
    title: str
    input_preview: str
    change_ref: str
    required_role: str
    requester_may_approve: bool
    tool: str
    decision_number: int
    create_time: datetime
    expire_time: datetime | None
    status: ApprovalStatus = ApprovalStatus.OPEN
    resolved_by: str = ""
    resolve_time: datetime | None = None
    run_id: str = ""
    superseded_by: str = ""

    def close(self, status: ApprovalStatus, by: str, now: datetime) -> None:
        """Close an open approval. Raises WrongState where it is closed already (addressed_verdict)."""
        if self.status is not ApprovalStatus.OPEN:
            raise closed_error(self)
        self.status = status
        self.resolved_by = by
        self.resolve_time = now

    def required_event(self) -> ApprovalRequired:
        return ApprovalRequired(
            self.approval_id,
            self.snapshot,
            self.digest,
            self.title,
            self.input_preview,
            self.change_ref,
            self.required_role,
        )


class DigestMatch(StrEnum):
    """How the digest that a verdict names relates to an approval."""

    CURRENT = "current"
    SUPERSEDED = "superseded"
    NEVER_ISSUED = "never_issued"


def match_digest(approval: Approval, digest: str, earlier: tuple[str, ...]) -> DigestMatch:
    """`earlier` are the digests of the approvals that this one replaced, along `superseded_by`."""
    if digest == approval.digest:
        return DigestMatch.SUPERSEDED if approval.status is ApprovalStatus.STALE else DigestMatch.CURRENT
    return DigestMatch.SUPERSEDED if digest in earlier else DigestMatch.NEVER_ISSUED


def closed_error(approval: Approval) -> WrongState:
    """FAILED_PRECONDITION that says how it was closed, by whom and when."""
    when = approval.resolve_time.isoformat(timespec="seconds") if approval.resolve_time else "an unknown time"
    by = f" by {approval.resolved_by}" if approval.resolved_by else ""
    text = f"approval {approval.approval_id} was already closed as {approval.status.value}{by} at {when}"
    return WrongState("APPROVAL_RESOLVED", approval.approval_id, text, state=approval.status.value)

"""An approval bound to a snapshot, and the rules of resolving it (contract.md 'Resolving an approval', E1, E5)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from loop_service.domain.errors import WrongState
from loop_service.domain.events import ApprovalRequired
from loop_service.domain.permission import Gate


class Verdict(StrEnum):
    APPROVE = "approve"
    REJECT = "reject"
    REQUEST_CHANGES = "request_changes"


class ApprovalStatus(StrEnum):
    """How far an approval has come; `open` is what clients see as pending."""

    OPEN = "open"
    APPROVED = "approved"
    REJECTED = "rejected"
    CHANGES_REQUESTED = "changes_requested"
    EXPIRED = "expired"
    STALE = "stale"
    WITHDRAWN = "withdrawn"
    EXECUTED = "executed"


S = ApprovalStatus
TRANSITIONS: dict[ApprovalStatus, frozenset[ApprovalStatus]] = {
    S.OPEN: frozenset({S.APPROVED, S.REJECTED, S.CHANGES_REQUESTED, S.EXPIRED, S.STALE, S.WITHDRAWN}),
    # Executed by the call that succeeded under it, or that a person settled so. Stale or expired where the claim or a
    # later decision found it so. Withdrawn where no execution will come of it any more.
    S.APPROVED: frozenset({S.EXECUTED, S.STALE, S.EXPIRED, S.WITHDRAWN}),
    S.REJECTED: frozenset(),
    S.CHANGES_REQUESTED: frozenset(),
    S.EXPIRED: frozenset(),
    S.STALE: frozenset(),
    S.WITHDRAWN: frozenset(),
    S.EXECUTED: frozenset(),
}
"""The one table of an approval's life: every change goes through `close` and `conclude`, an illegal one is refused."""

STATUS_OF: dict[Verdict, ApprovalStatus] = {
    Verdict.APPROVE: ApprovalStatus.APPROVED,
    Verdict.REJECT: ApprovalStatus.REJECTED,
    Verdict.REQUEST_CHANGES: ApprovalStatus.CHANGES_REQUESTED,
}
_REPLACED = frozenset({S.STALE, S.CHANGES_REQUESTED, S.EXPIRED})


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
    domain: str = ""
    tool_call_id: str = ""

    @property
    def gate(self) -> Gate:
        return Gate(self.tenant, self.requester, self.required_role, self.requester_may_approve)

    @property
    def is_resolved(self) -> bool:
        """Whether a person's verdict closed it."""
        return bool(self.resolved_by)

    @property
    def is_replaced_by_the_next(self) -> bool:
        """Whether a further approval of the interaction takes its place: it went stale, was sent back or expired, or
        the call under it came to nothing.
        """
        return self.status in _REPLACED or (self.status is S.WITHDRAWN and self.is_resolved)

    def close(self, status: ApprovalStatus, by: str, now: datetime) -> None:
        """Close an open approval. Raises WrongState where it is closed already (addressed_verdict)."""
        if self.status is not S.OPEN:
            raise closed_error(self)
        self._move(status)
        self.resolved_by = by
        self.resolve_time = now

    def conclude(self, status: ApprovalStatus, tool_call_id: str = "") -> None:
        """Say what came of an approved approval, and by which call. Raises WrongState for any other one."""
        if self.status is not S.APPROVED:
            raise closed_error(self)
        self._move(status)
        self.tool_call_id = tool_call_id or self.tool_call_id

    def _move(self, status: ApprovalStatus) -> None:
        if status not in TRANSITIONS[self.status]:
            raise closed_error(self)
        self.status = status

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
    """`earlier` are the digests of the approvals that this one replaced, along `superseded_by`.

    One that a person resolved keeps its verdict, also where it went stale afterwards.
    """
    if digest == approval.digest:
        stale = approval.status is S.STALE and not approval.is_resolved
        return DigestMatch.SUPERSEDED if stale else DigestMatch.CURRENT
    return DigestMatch.SUPERSEDED if digest in earlier else DigestMatch.NEVER_ISSUED


def closed_error(approval: Approval) -> WrongState:
    """FAILED_PRECONDITION that says how it was closed, by whom and when."""
    if approval.status is S.OPEN:
        text = f"approval {approval.approval_id} is open"
        return WrongState("APPROVAL_STATE", approval.approval_id, text, state=approval.status.value)
    when = approval.resolve_time.isoformat(timespec="seconds") if approval.resolve_time else "an unknown time"
    by = f" by {approval.resolved_by}" if approval.resolved_by else ""
    # What a verdict led to comes after it: an approved approval that is concluded was closed as approved.
    concluded = approval.is_resolved and approval.status in TRANSITIONS[S.APPROVED]
    closed_as = S.APPROVED if concluded else approval.status
    text = f"approval {approval.approval_id} was already closed as {closed_as.value}{by} at {when}"
    if concluded:
        text += f"; it is {approval.status.value} now"
    return WrongState("APPROVAL_RESOLVED", approval.approval_id, text, state=approval.status.value)

"""The one table of an approval's life: exactly its steps are taken, and an illegal one changes nothing (E5)."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime

import pytest

from loop_service.convert.names import APPROVAL_STATE
from loop_service.domain.approval import STATUS_OF, TRANSITIONS, Approval, ApprovalStatus, DigestMatch, match_digest
from loop_service.domain.errors import WrongState

S = ApprovalStatus
NOW = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)


def approval(status: ApprovalStatus, by: str = "") -> Approval:
    digest = "d" * 64
    return Approval(
        "apr_1", "int_1", "conv_1", "acme", "ann", b"", digest, "", "", "", "", True, "ring", 1, NOW, None, status, by,
        NOW if by else None,
    )  # fmt: skip


@pytest.mark.parametrize(("before", "after"), list(itertools.product(S, S)))
def test_a_step_is_taken_exactly_where_the_table_names_it(before: ApprovalStatus, after: ApprovalStatus) -> None:
    found = approval(before, "bob" if before is not S.OPEN else "")
    as_it_was = repr(found)
    take = (lambda: found.close(after, "eve", NOW)) if before is S.OPEN else (lambda: found.conclude(after, "call_1"))
    if after in TRANSITIONS[before]:
        take()
        assert found.status is after
        if before is S.APPROVED:
            # What comes of a verdict does not change whose verdict it was.
            assert (found.resolved_by, found.resolve_time, found.tool_call_id) == ("bob", NOW, "call_1")
        return
    with pytest.raises(WrongState):
        take()
    assert repr(found) == as_it_was


def test_a_closed_approval_is_neither_closed_nor_concluded_again() -> None:
    for status in S:
        if status is not S.OPEN:
            with pytest.raises(WrongState):
                approval(status, "bob").close(S.WITHDRAWN, "", NOW)
        if status is not S.APPROVED:
            with pytest.raises(WrongState):
                approval(status).conclude(S.EXECUTED)


def test_every_status_is_reached_and_every_one_has_an_end() -> None:
    reached = {after for afters in TRANSITIONS.values() for after in afters} | {S.OPEN}
    assert reached == set(S) == set(TRANSITIONS)
    assert set(STATUS_OF.values()) <= TRANSITIONS[S.OPEN]
    assert {status for status in S if TRANSITIONS[status]} == {S.OPEN, S.APPROVED}


def test_every_status_is_a_state_that_clients_know() -> None:
    names = {"pending" if status is S.OPEN else status.value for status in S}
    assert all(APPROVAL_STATE.number(name) for name in names)
    assert len({APPROVAL_STATE.number(name) for name in names}) == len(S)


@pytest.mark.parametrize("status", [S.EXECUTED, S.STALE, S.EXPIRED, S.WITHDRAWN])
def test_what_came_of_an_approval_keeps_who_approved_it(status: ApprovalStatus) -> None:
    with pytest.raises(WrongState) as caught:
        approval(status, "bob").close(S.REJECTED, "eve", NOW)
    assert f"already closed as approved by bob at 2030-01-02T03:04:05+00:00; it is {status.value} now" in str(
        caught.value
    )


def test_one_that_a_person_resolved_keeps_its_verdict_when_it_went_stale() -> None:
    assert match_digest(approval(S.STALE, "bob"), "d" * 64, ()) is DigestMatch.CURRENT
    assert match_digest(approval(S.STALE), "d" * 64, ()) is DigestMatch.SUPERSEDED


@pytest.mark.parametrize(
    ("status", "by", "replaced"),
    [
        (S.STALE, "", True),
        (S.STALE, "bob", True),
        (S.EXPIRED, "", True),
        (S.CHANGES_REQUESTED, "bob", True),
        (S.WITHDRAWN, "bob", True),
        (S.WITHDRAWN, "", False),
        (S.EXECUTED, "bob", False),
        (S.REJECTED, "bob", False),
        (S.OPEN, "", False),
    ],
)
def test_which_approvals_the_next_one_replaces(status: ApprovalStatus, by: str, replaced: bool) -> None:
    assert approval(status, by).is_replaced_by_the_next is replaced

"""Small rules of the Loop: choices, budgets, failures, digests of approvals, page tokens, splitting of answers."""

from __future__ import annotations

import string
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.common.v1 import failure_pb2
from handrail_rpc.errors import InvalidArgument
from loop_service.application.act_on import split_text
from loop_service.application.choose_action import choose_action
from loop_service.convert import paging
from loop_service.convert.codec import ProtoCodec
from loop_service.domain.approval import Approval, ApprovalStatus, DigestMatch, match_digest
from loop_service.domain.budget import Budget, check_progress, check_tool_actions
from loop_service.domain.decision import Action, Choose
from loop_service.domain.errors import WrongState
from loop_service.domain.failures import TEXTS, Progress, make_failure
from loop_service.domain.interaction import Interaction, Requester
from loop_service.domain.times import from_micros, to_micros
from loop_service.storage.rows import pack_blobs, unpack_blobs

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def actions(*ids: str) -> tuple[Action, ...]:
    return tuple(Action(i, i, "read") for i in ids)


def test_one_action_is_picked_by_rule_several_by_default() -> None:
    only = choose_action(Choose(actions("a"), ""))
    assert only is not None
    assert (only.action_id, only.chosen_by) == ("a", "rule")
    default = choose_action(Choose(actions("a", "b"), "b"))
    assert default is not None
    assert (default.action_id, default.chosen_by) == ("b", "default")
    assert choose_action(Choose(actions("a", "b"), "")) is None
    assert choose_action(Choose(actions("a", "b"), "not offered")) is None
    assert choose_action(Choose((), "")) is None


def interaction() -> Interaction:
    return Interaction("int_1", "conv_1", "test", Requester("a", "t", (), "en"), "msg_1", NOW, NOW)


def test_limits_are_reached_with_their_own_codes() -> None:
    budget = Budget(tool_actions=2, active_time=timedelta(seconds=1), decisions=3, generations=1)
    subject = interaction()
    assert check_tool_actions(budget, subject, 2) is None
    over = check_tool_actions(budget, subject, 3)
    assert over is not None
    assert (over.code, over.limit) == ("tool_action_limit_reached", "2")
    assert check_progress(budget, subject) is None
    subject.active_time = timedelta(seconds=1)
    late = check_progress(budget, subject)
    assert late is not None
    assert late.code == "deadline_exceeded"
    subject.decision_number = 3
    many = check_progress(budget, subject)
    assert many is not None
    assert many.code == "decision_limit_reached"


def test_every_text_exists_in_both_languages() -> None:
    assert all(text.en and text.ru and text.en != text.ru for text in TEXTS.values())


def test_progress_tells_not_executed_partial_and_unknown_apart() -> None:
    assert make_failure("plan_invalid", "en", "r", ()).progress is Progress.NOT_EXECUTED
    assert make_failure("plan_invalid", "en", "r", (b"s",)).progress is Progress.PARTIAL
    assert make_failure("plan_invalid", "en", "r", (b"s",), unknown=True).progress is Progress.UNKNOWN


def test_a_failure_of_the_adapter_keeps_its_bytes_and_gains_what_it_left_out() -> None:
    given_failure = failure_pb2.Failure(code="tool_failed", explanation="broke", stage=failure_pb2.STAGE_TOOL)
    data = given_failure.SerializeToString()
    step = failure_pb2.ConfirmedStep(tool_call_id="call_1", tool="look").SerializeToString()
    whole = ProtoCodec().complete_failure(data, "req-1", (step,))
    assert whole.startswith(data)
    read = failure_pb2.Failure.FromString(whole)
    assert (read.code, read.explanation, read.request_id) == ("tool_failed", "broke", "req-1")
    assert read.progress == failure_pb2.PROGRESS_PARTIAL
    assert [s.tool_call_id for s in read.confirmed_steps] == ["call_1"]
    assert ProtoCodec().complete_failure(whole, "other", (step, step)) == whole


def approval(status: ApprovalStatus) -> Approval:
    return Approval(
        "apr_1", "int_1", "conv_1", "t", "ann", b"", "d1", "", "", "", "", True, "file", 1, NOW, None, status
    )


def test_a_digest_is_current_superseded_or_never_issued() -> None:
    assert match_digest(approval(ApprovalStatus.OPEN), "d1", ()) is DigestMatch.CURRENT
    assert match_digest(approval(ApprovalStatus.APPROVED), "d1", ()) is DigestMatch.CURRENT
    assert match_digest(approval(ApprovalStatus.STALE), "d1", ()) is DigestMatch.SUPERSEDED
    assert match_digest(approval(ApprovalStatus.OPEN), "d0", ("d0",)) is DigestMatch.SUPERSEDED
    assert match_digest(approval(ApprovalStatus.OPEN), "d0", ()) is DigestMatch.NEVER_ISSUED


def test_addressed_verdict_a_closed_approval_is_not_closed_again() -> None:
    subject = approval(ApprovalStatus.OPEN)
    subject.close(ApprovalStatus.APPROVED, "bob", NOW)
    with pytest.raises(WrongState, match="approved by bob at 2030-01-01"):
        subject.close(ApprovalStatus.REJECTED, "eve", NOW)
    assert (subject.status, subject.resolved_by) == (ApprovalStatus.APPROVED, "bob")


@given(st.text(), st.integers(min_value=1, max_value=50))
def test_the_parts_of_an_answer_are_the_answer(text: str, most: int) -> None:
    parts = list(split_text(text, most))
    assert "".join(parts) == text
    assert all(0 < len(part) <= most for part in parts)


@given(st.text(alphabet=string.printable, max_size=600))
def test_no_page_token_but_our_own_is_taken(token: str) -> None:
    if not token:
        return
    with pytest.raises(InvalidArgument) as refused:
        paging.decode_token("ListMessages/conv_1", token, (int,))
    assert refused.value.field_violations[0].field == "page_token"


@pytest.mark.parametrize("number", [-1, 2**53 + 1, 10**30])
def test_a_page_token_with_a_number_that_is_no_position_is_refused(number: int) -> None:
    """Otherwise it would overflow a time or a column, and end as an internal error."""
    with pytest.raises(InvalidArgument):
        paging.decode_token("List", paging.encode_token("List", [number]), (int,))


def test_a_page_token_with_text_that_is_no_id_is_refused() -> None:
    """A lone surrogate would reach the database's driver."""
    with pytest.raises(InvalidArgument):
        paging.decode_token("List", paging.encode_token("List", ["\ud800"]), (str,))


def test_a_page_token_belongs_to_its_list() -> None:
    token = paging.encode_token("ListMessages/conv_1", [7])
    assert paging.decode_token("ListMessages/conv_1", token, (int,)) == [7]
    with pytest.raises(InvalidArgument):
        paging.decode_token("ListMessages/conv_2", token, (int,))


@given(st.lists(st.binary(max_size=40)))
def test_packed_facts_come_back(blobs: list[bytes]) -> None:
    assert unpack_blobs(pack_blobs(tuple(blobs))) == tuple(blobs)


@given(st.datetimes(timezones=st.just(UTC)))
def test_times_are_kept_to_the_microsecond(time: datetime) -> None:
    assert from_micros(to_micros(time)) == time

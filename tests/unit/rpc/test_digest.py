"""Canonical JSON and the approval digest (contract.md's test vector, soundness.md 'Digests')."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
import rfc8785
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from handrail.common.v1 import approval_pb2
from handrail_rpc.digest import (
    DIGEST_SCHEME,
    SAFE_INTEGER,
    NotCanonical,
    canonical_json,
    format_time,
    normalise_text,
    parse_json_strict,
    sha256_hex,
    snapshot_digest,
    snapshot_fields_from_proto,
)

VECTOR = {
    "artifact_id": "art_01",
    "artifact_sha256": "a" * 64,
    "artifact_version": "3",
    "digest_scheme": "rfc8785-sha256-v1",
    "expire_time": "2030-01-02T03:04:05.000006Z",
    "idempotency_key": "key_01",
    "input_sha256": "c" * 64,
    "policy_version": "7",
    "required_role": "dispatcher",
    "tool": "file_flight_plan",
    "tool_version": "1",
    "validation_sha256": "b" * 64,
}
VECTOR_DIGEST = "2c44630b395c6cfc418f1cfb81c444dea5c606e2c48c50321325803e460e0205"


def _snapshot() -> approval_pb2.ApprovalSnapshot:
    snapshot = approval_pb2.ApprovalSnapshot(
        digest_scheme=DIGEST_SCHEME,
        tool="file_flight_plan",
        tool_version="1",
        artifact_id="art_01",
        artifact_version=3,
        artifact_sha256="a" * 64,
        validation_sha256="b" * 64,
        input_sha256="c" * 64,
        policy_version="7",
        required_role="dispatcher",
        idempotency_key="key_01",
    )
    snapshot.expire_time.FromDatetime(datetime(2030, 1, 2, 3, 4, 5, 6, UTC))
    return snapshot


_PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-SAFE_INTEGER, SAFE_INTEGER) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(_PLAIN)
def test_the_short_way_writes_the_bytes_of_rfc_8785(value: Any) -> None:
    assert canonical_json(value) == rfc8785.dumps(value)


@pytest.mark.parametrize("value", [{"é": 1, "z": 2, "\U0001f600": 3, "\ufb33": 4}, {"a": 1.5}, {"b": 1e-7}, ("x", [2])])
def test_what_the_short_way_cannot_write_goes_the_long_one(value: Any) -> None:
    assert canonical_json(value) == rfc8785.dumps(value)


@pytest.mark.parametrize("value", [SAFE_INTEGER + 1, [-SAFE_INTEGER - 1], {"a": "\ud800"}, {"\ud800": 1}, {1: 2}])
def test_the_short_way_refuses_what_the_long_one_refuses(value: Any) -> None:
    with pytest.raises(NotCanonical):
        canonical_json(value)


def test_the_contract_s_vector() -> None:
    assert snapshot_digest(VECTOR) == VECTOR_DIGEST


def test_the_vector_through_the_message_and_its_wire_form() -> None:
    back = approval_pb2.ApprovalSnapshot.FromString(_snapshot().SerializeToString())
    assert snapshot_fields_from_proto(back) == VECTOR
    assert snapshot_digest(snapshot_fields_from_proto(back)) == VECTOR_DIGEST


@pytest.mark.parametrize("field", sorted(VECTOR))
def test_every_field_counts(field: str) -> None:
    assert snapshot_digest({**VECTOR, field: VECTOR[field] + "x"}) != VECTOR_DIGEST


def test_absent_fields_are_empty_strings() -> None:
    fields = snapshot_fields_from_proto(approval_pb2.ApprovalSnapshot())
    assert set(fields) == set(VECTOR)
    assert set(fields.values()) == {""}


def test_a_snapshot_has_exactly_its_fields() -> None:
    missing = {k: v for k, v in VECTOR.items() if k != "tool"}
    for wrong in (missing, {**VECTOR, "more": ""}, {**VECTOR, "artifact_version": 3}):
        with pytest.raises(NotCanonical):
            snapshot_digest(wrong)  # type: ignore[arg-type]


def test_nanoseconds_are_refused_rather_than_rounded() -> None:
    snapshot = _snapshot()
    snapshot.expire_time.nanos += 1
    with pytest.raises(NotCanonical, match="microseconds"):
        snapshot_fields_from_proto(snapshot)


def test_times_are_utc_with_six_decimals() -> None:
    assert format_time(datetime(2030, 1, 2, 6, 4, 5, tzinfo=timezone(timedelta(hours=3)))) == (
        "2030-01-02T03:04:05.000000Z"
    )
    assert format_time(Timestamp(seconds=1, nanos=5000)) == "1970-01-01T00:00:01.000005Z"
    before_year_1 = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=3)))
    for wrong in (datetime(2030, 1, 2), Timestamp(seconds=10**14), before_year_1):
        with pytest.raises(NotCanonical):
            format_time(wrong)


def test_keys_sort_by_utf16_and_numbers_follow_ecmascript() -> None:
    value = {"\U0001f600": 1, "\ufb33": 2, "b": 1.0, "a": 1e-7, "z": [True, None, "\u20ac\n"]}
    assert canonical_json(value) == ('{"a":1e-7,"b":1,"z":[true,null,"€\\n"],"\U0001f600":1,"\ufb33":2}'.encode())


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        SAFE_INTEGER + 1,
        -(SAFE_INTEGER + 1),
        1e300,
        "\ud800",
        {"\udfff": 1},
        {1: 2},
        {"a": {1, 2}},
        {"a": b"bytes"},
    ],
    ids=repr,
)
def test_what_has_no_canonical_form_is_refused(value: Any) -> None:
    with pytest.raises(NotCanonical):
        canonical_json({"v": value})


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":2}',
        '{"x":{"a":1,"a":1}}',
        "NaN",
        "[Infinity]",
        "-Infinity",
        "9007199254740993",
        "1e400",
        '"\\ud800"',
        "{",
        "",
        "01",
        "[" * 100 + "]" * 100,
        "[" * 100_000,
        "1" * 5_000,
        "[-" + "9" * 5_000 + "]",
    ],
    ids=lambda text: text[:20],
)
def test_strict_parsing_refuses(text: str) -> None:
    with pytest.raises(NotCanonical):
        parse_json_strict(text)


def test_strict_parsing_refuses_bytes_that_are_not_utf8() -> None:
    with pytest.raises(NotCanonical, match="UTF-8"):
        parse_json_strict(b'"\xff"')


def test_the_error_names_the_place_and_not_the_value() -> None:
    with pytest.raises(NotCanonical, match=r"\$\.a\.b\[1\]") as refused:
        canonical_json({"a": {"b": [0, 12345678901234567890]}})
    assert "12345678901234567890" not in str(refused.value)


_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-SAFE_INTEGER, SAFE_INTEGER)
    | st.floats(-1e15, 1e15, allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(_json)
def test_canonical_bytes_parse_back_and_are_a_fixed_point(value: Any) -> None:
    data = canonical_json(value)
    assert parse_json_strict(data) == value
    assert canonical_json(parse_json_strict(data)) == data
    assert json.loads(data) == value


def test_texts_are_normalised_on_entry_never_in_the_hash() -> None:
    decomposed = "и\u0306"
    assert normalise_text(decomposed) == "й"
    assert canonical_json(decomposed) != canonical_json(normalise_text(decomposed))
    with pytest.raises(NotCanonical):
        normalise_text("я\ud800")


def test_sha256_is_lower_case_hex() -> None:
    assert sha256_hex(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

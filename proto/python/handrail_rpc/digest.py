"""Canonical JSON and digests (contract.md 'ApprovalSnapshot and its digest', soundness.md 'Digests').

Both services call this, and any client that shows an approval. Proto JSON is never hashed, only explicit objects.
What is hashed is stored as bytes once and never rebuilt. Strings are normalised on entry (`normalise_text`), never
inside the hash.
"""

from __future__ import annotations

import hashlib
import json
import math
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import rfc8785
from google.protobuf.timestamp_pb2 import Timestamp

if TYPE_CHECKING:
    # Generated code; at run time any message with these fields will do.
    from handrail.common.v1.approval_pb2 import ApprovalSnapshot as SnapshotMessage

JsonValue: TypeAlias = "None | bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue]"

DIGEST_SCHEME = "rfc8785-sha256-v1"
SAFE_INTEGER = 2**53 - 1
"""The largest integer that JSON's doubles hold exactly; larger numbers travel as strings."""
MOST_NESTING = 64

SNAPSHOT_FIELDS: tuple[str, ...] = (
    "digest_scheme",
    "tool",
    "tool_version",
    "artifact_id",
    "artifact_version",
    "artifact_sha256",
    "validation_sha256",
    "input_sha256",
    "policy_version",
    "required_role",
    "idempotency_key",
    "expire_time",
)


# Where all keys are ASCII and no number has a fraction, the interpreter's own encoder writes exactly the bytes of RFC
# 8785 (a test compares them), some thirty times faster.
_PLAIN = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


class NotCanonical(ValueError):
    """The value has no canonical JSON form; the text says which rule it breaks and where, never the value."""


def normalise_text(text: str) -> str:
    """NFC, for every string as it enters the system. Raises NotCanonical for a lone surrogate."""
    normal = text if text.isascii() else unicodedata.normalize("NFC", text)
    if not normal.isascii():
        _check_text(normal, "text")
    return normal


def canonical_json(value: JsonValue) -> bytes:
    """The RFC 8785 bytes of `value`.

    Raises NotCanonical for NaN, infinities, numbers beyond +-(2^53-1), lone surrogates, keys that are not
    strings, types JSON has not, or nesting deeper than MOST_NESTING. Never rewrites a value to make it fit.
    """
    if _is_plain(value, 0):
        try:
            return _PLAIN.encode(value).encode("utf-8")
        except UnicodeEncodeError:
            # A lone surrogate: the walk below finds it and says where.
            pass
    return rfc8785.dumps(_checked(value, "$", 0))


def parse_json_strict(data: bytes | str) -> Any:
    """Parse UTF-8 JSON whose value has a canonical form.

    Raises NotCanonical for malformed JSON, duplicate keys and everything `canonical_json` refuses.
    """
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        value = json.loads(text, object_pairs_hook=_unique_pairs, parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise NotCanonical("must be UTF-8") from error
    except json.JSONDecodeError as error:
        raise NotCanonical(f"must be JSON: {error.msg} at line {error.lineno} column {error.colno}") from error
    except RecursionError as error:
        raise NotCanonical(f"must be nested at most {MOST_NESTING} levels deep") from error
    except NotCanonical:
        raise
    except ValueError as error:
        # Python itself refuses to convert an integer of thousands of digits.
        raise NotCanonical("must have numbers within +-(2^53-1); send a larger number as a string") from error
    return _checked(value, "$", 0)


def sha256_hex(data: bytes) -> str:
    """Lower-case hex SHA-256."""
    return hashlib.sha256(data).hexdigest()


def snapshot_digest(fields: Mapping[str, str]) -> str:
    """The `snapshot_digest` of an approval: SHA-256 of the RFC 8785 JSON of exactly SNAPSHOT_FIELDS, all strings.

    Raises NotCanonical if a field is missing, extra or not a string (absent is "").
    """
    if fields.keys() != set(SNAPSHOT_FIELDS):
        wrong = sorted(fields.keys() ^ set(SNAPSHOT_FIELDS))
        raise NotCanonical(f"a snapshot has exactly the fields {', '.join(SNAPSHOT_FIELDS)}; differing: {wrong}")
    for name, value in fields.items():
        if not isinstance(value, str):
            raise NotCanonical(f"{name} must be a string (absent is the empty string)")
    return sha256_hex(canonical_json(dict(fields)))


def format_time(time: Timestamp | datetime) -> str:
    """RFC 3339 in UTC with exactly six decimals and Z, as digests need it.

    Raises NotCanonical for a time with nanoseconds below the microsecond, out of the years 1 to 9999, or without a
    zone: rounding would make two different snapshots look the same.
    """
    if isinstance(time, Timestamp):
        if time.nanos % 1000:
            raise NotCanonical("a time must have at most microseconds")
        try:
            time = time.ToDatetime(UTC)
        except (ValueError, OverflowError) as error:
            raise NotCanonical("a time must be within the years 1 to 9999") from error
    if time.tzinfo is None:
        raise NotCanonical("a time must have a zone")
    try:
        utc = time.astimezone(UTC)
    except OverflowError as error:
        raise NotCanonical("a time must be within the years 1 to 9999") from error
    return utc.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def snapshot_fields_from_proto(snapshot: SnapshotMessage) -> dict[str, str]:
    """The hashed object of a `handrail.common.v1.ApprovalSnapshot`: 0 and an unset time become "".

    Raises NotCanonical for a time that `format_time` refuses.
    """
    return {
        "digest_scheme": snapshot.digest_scheme,
        "tool": snapshot.tool,
        "tool_version": snapshot.tool_version,
        "artifact_id": snapshot.artifact_id,
        "artifact_version": str(snapshot.artifact_version) if snapshot.artifact_version else "",
        "artifact_sha256": snapshot.artifact_sha256,
        "validation_sha256": snapshot.validation_sha256,
        "input_sha256": snapshot.input_sha256,
        "policy_version": snapshot.policy_version,
        "required_role": snapshot.required_role,
        "idempotency_key": snapshot.idempotency_key,
        "expire_time": format_time(snapshot.expire_time) if snapshot.HasField("expire_time") else "",
    }


def _is_plain(value: Any, depth: int) -> bool:
    """Whether `value` obeys `_checked` (lone surrogates are not looked for) and `_PLAIN` may write it."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return True
    if kind is int:
        return bool(-SAFE_INTEGER <= value <= SAFE_INTEGER)
    if depth >= MOST_NESTING:
        return False
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str or not key.isascii():
                return False
            if type(item) is not str and not _is_plain(item, depth + 1):
                return False
        return True
    if kind is list or kind is tuple:
        return all(_is_plain(item, depth + 1) for item in value)
    return False


def _checked(value: Any, path: str, depth: int) -> Any:
    """`value` with plain containers, after every rule was checked; `path` is a JSONPath for the error text."""
    if depth > MOST_NESTING:
        raise NotCanonical(f"{path} must be nested at most {MOST_NESTING} levels deep")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        _check_text(value, path)
        return value
    if isinstance(value, int | float):
        if isinstance(value, float) and not math.isfinite(value):
            raise NotCanonical(f"{path} must be a finite number")
        if abs(value) > SAFE_INTEGER:
            raise NotCanonical(f"{path} must be within +-(2^53-1); send a larger number as a string")
        return value
    if isinstance(value, Mapping):
        checked: dict[str, Any] = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise NotCanonical(f"{path} must have strings as keys")
            _check_text(key, path)
            checked[key] = _checked(item, f"{path}.{key}", depth + 1)
        return checked
    if isinstance(value, list | tuple):
        return [_checked(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(value)]
    raise NotCanonical(f"{path} must be a JSON value, not a {type(value).__name__}")


def _check_text(text: str, path: str) -> None:
    if text.isascii():
        return
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise NotCanonical(f"{path} must not contain a lone surrogate") from error


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise NotCanonical("must not repeat a key within one object")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise NotCanonical(f"must not contain {name}")

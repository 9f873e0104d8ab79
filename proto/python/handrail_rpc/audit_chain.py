"""The hash chain of an audit trail (E6): what is hashed, and the verifier that names the rows that do not fit.

The Loop hashes and verifies with it, the command `handrail audit verify --file` verifies an exported trail with it.
A row's hash is the SHA-256 of the RFC 8785 JSON of its members, its number and the hash of the row before. The head
(number and hash of the newest row) is kept apart from the rows, in the conversation's own row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from handrail_rpc.digest import JsonValue, NotCanonical, canonical_json, sha256_hex
from handrail_rpc.localized_text import Text

AUDIT_SCHEME: Final = "audit-rfc8785-sha256-v1"
"""Stored in each row and a member of what is hashed. Rows written before there were schemes have none in either."""

MEMBERS: Final = (
    "actor",
    "code",
    "conversation_id",
    "decision_id",
    "decision_number",
    "details",
    "digest",
    "event_time",
    "interaction_id",
    "kind",
    "run_id",
)
"""Members of the hashed object besides number, previous_hash and digest_scheme; strings, `details` a flat map."""

_SPLIT: Final = b'"number":"","previous_hash":""'


def chained_object(
    members: Mapping[str, JsonValue], number: int, previous_hash: str, digest_scheme: str
) -> dict[str, JsonValue]:
    """The object whose canonical JSON is hashed; `digest_scheme` is left out where it is empty."""
    whole = {**members, "number": str(number), "previous_hash": previous_hash}
    return {**whole, "digest_scheme": digest_scheme} if digest_scheme else whole


def chained_hash(members: Mapping[str, JsonValue], number: int, previous_hash: str, digest_scheme: str) -> str:
    """Lower-case hex hash of a row. Raises NotCanonical for members without a canonical form."""
    return sha256_hex(canonical_json(chained_object(members, number, previous_hash, digest_scheme)))


@dataclass(frozen=True, slots=True)
class Head:
    """Number and hash of the newest row; 0 and "" of an empty trail."""

    number: int
    hash: str


class ChainRow:
    """A stored row as it was read, whatever was done to it. `members` None: its content cannot even be read."""

    __slots__ = ("_after", "_before", "hash", "number")

    def __init__(self, number: int, hash: str, digest_scheme: str, members: Mapping[str, JsonValue] | None) -> None:
        self.number = number
        self.hash = hash
        self._before: hashlib._Hash | None = None
        self._after = b""
        if members is None:
            return
        scheme = {"digest_scheme": digest_scheme} if digest_scheme else {}
        try:
            whole = canonical_json({**members, **scheme, "number": "", "previous_hash": ""})
        except NotCanonical:
            return
        # The last occurrence is the object's own: only run_id comes behind it, and a string's quotes are escaped.
        start, _, self._after = whole.rpartition(_SPLIT)
        self._before = hashlib.sha256(start)

    def hash_as(self, number: int, previous_hash: str) -> str:
        """The hash this content would have under a number and behind a row; "" where the content has no form."""
        if self._before is None:
            return ""
        digest = self._before.copy()
        try:
            digest.update(b'"number":"%d","previous_hash":' % number + canonical_json(previous_hash) + self._after)
        except NotCanonical:
            return ""
        return digest.hexdigest()

    def fits(self, number: int, previous_hash: str) -> bool:
        """Whether its hash is right for its content under a number and behind a row."""
        return bool(self.hash) and self.hash_as(number, previous_hash) == self.hash


class Fault(StrEnum):
    """What is wrong with a row: names of handrail.loop.v1.AuditFault without prefix, in lower case."""

    EDITED = "edited"
    REMOVED = "removed"
    INSERTED = "inserted"
    REORDERED = "reordered"


@dataclass(frozen=True, slots=True)
class Finding:
    """`number` is the one under which the row stands, or stood where it is missing. `text` is one sentence."""

    number: int
    fault: Fault
    text: Text


@dataclass(frozen=True, slots=True)
class Verdict:
    """`head` is that of the rows as they are; `findings` are ordered by number and bounded."""

    valid: bool
    checked_rows: int
    head: Head
    findings: tuple[Finding, ...]


EDITED: Final = Text(
    "Row {number} does not have the content that its hash was computed from.",
    "Содержимое строки {number} не соответствует её хешу.",
)
DOES_NOT_FOLLOW: Final = Text(
    "Row {number} does not follow from row {other}: one of the two was changed.",
    "Строка {number} не продолжает строку {other}: одна из них изменена.",
)
NOT_THE_HEAD: Final = Text(
    "Row {number} is not the one from which the head of the trail was computed: the row or the head was changed.",
    "Строка {number} не соответствует конечному хешу журнала: изменена она или сам этот хеш.",
)
HEAD_NUMBER: Final = Text(
    "The head of the trail has the hash of row {number}, but gives the number {other}.",
    "Конечный хеш журнала принадлежит строке {number}, но номер при нём указан {other}.",
)
REMOVED: Final = Text("Row {number} is missing.", "Строка {number} отсутствует.")
INSERTED: Final = Text(
    "Row {number} does not belong to the trail: it was put in afterwards.",
    "Строка {number} не относится к журналу: она добавлена позже.",
)
REORDERED: Final = Text(
    "Row {number} was written as row {other}.", "Строка {number} была записана под номером {other}."
)


def finding(number: int, fault: Fault, text: Text, other: int = 0) -> Finding:
    values = {"number": str(number), "other": str(other)}
    return Finding(number, fault, Text(text.of("en", **values), text.of("ru", **values)))

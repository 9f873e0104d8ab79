"""The store of events and audit rows: numbered under the conversation's row, the audit rows hash-chained (E6)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, insert, select

from handrail_rpc.audit_chain import AUDIT_SCHEME, MEMBERS, ChainRow, Head, chained_hash
from handrail_rpc.digest import JsonValue, NotCanonical, parse_json_strict
from handrail_storage import Row, Statement
from loop_service.convert.events import encode_event
from loop_service.domain.audit import AuditEntry, AuditKind, AuditRow, members_of
from loop_service.domain.conversation import Conversation
from loop_service.domain.events import NAMES, NewEvent, StoredEvent
from loop_service.domain.times import from_micros, to_micros
from loop_service.storage import rows, tables

_E = tables.events
_A = tables.audit_events
_C = tables.conversations

_INSERT_EVENT = Statement(insert(_E))
_INSERT_AUDIT = Statement(insert(_A))
_REMOVE_EVENTS = Statement(
    delete(_E).where(_E.c.conversation_id == bindparam("id"), _E.c.sequence < bindparam("before"))
)
_EVENTS = Statement(
    select(_E)
    .where(_E.c.conversation_id == bindparam("id"), _E.c.sequence > bindparam("after"))
    .order_by(_E.c.sequence)
    .limit(bindparam("most"))
)

_AUDIT = Statement(
    select(_A)
    .where(_A.c.conversation_id == bindparam("id"), _A.c.number > bindparam("after"))
    .order_by(_A.c.number)
    .limit(bindparam("most"))
)
_AUDIT_OF_INTERACTION = Statement(
    select(_A)
    .where(_A.c.interaction_id == bindparam("id"), _A.c.number > bindparam("after"))
    .order_by(_A.c.number)
    .limit(bindparam("most"))
)
_AUDIT_CHAIN = Statement(
    select(_A)
    .where(_A.c.conversation_id == bindparam("id"), _A.c.number < bindparam("below"))
    .order_by(_A.c.number.desc())
    .limit(bindparam("most"))
)
_AUDIT_CHAIN_END = Statement(
    select(_A).where(_A.c.conversation_id == bindparam("id")).order_by(_A.c.number.desc()).limit(bindparam("most"))
)
_AUDIT_HEAD = Statement(select(_C.c.audit_number, _C.c.audit_hash).where(_C.c.conversation_id == bindparam("id")))
_KINDS = frozenset(AuditKind)
_MOST_MICROS = 2**56


class JournalRows:
    """`appended` collects what this unit of work stored, to be published once it is committed."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.appended: list[StoredEvent] = []

    def append(
        self,
        conversation: Conversation,
        events: Sequence[NewEvent],
        audit: Sequence[AuditEntry],
        now: datetime,
    ) -> None:
        """Number and store; moves the counters on `conversation`, which the caller saves in the same transaction."""
        stored: list[StoredEvent] = []
        for event in events:
            conversation.last_sequence += 1
            stored.append(
                StoredEvent(
                    conversation.conversation_id,
                    conversation.last_sequence,
                    event.run_id,
                    NAMES[type(event.payload)],
                    encode_event(conversation.conversation_id, conversation.last_sequence, event, now),
                )
            )
        if stored:
            if conversation.oldest_event_time is None:
                conversation.oldest_event_time = now
            _INSERT_EVENT.execute_many(
                self._connection,
                [
                    {
                        "conversation_id": e.conversation_id,
                        "sequence": e.sequence,
                        "run_id": e.run_id,
                        "name": e.name,
                        "data": e.data,
                    }
                    for e in stored
                ],
            )
            self.appended.extend(stored)
        if audit:
            self._append_audit(conversation, audit, now)

    def _append_audit(self, conversation: Conversation, audit: Sequence[AuditEntry], now: datetime) -> None:
        added = []
        for entry in audit:
            conversation.audit_number += 1
            conversation.audit_hash = chained_hash(
                members_of(conversation.conversation_id, entry, now),
                conversation.audit_number,
                conversation.audit_hash,
                AUDIT_SCHEME,
            )
            added.append(
                {
                    "conversation_id": conversation.conversation_id,
                    "number": conversation.audit_number,
                    "interaction_id": entry.interaction_id,
                    "run_id": entry.run_id,
                    "kind": entry.kind.value,
                    "actor": entry.actor,
                    "decision_number": entry.decision_number,
                    "decision_id": entry.decision_id,
                    "digest": entry.digest,
                    "code": entry.code,
                    "details": rows.dump(dict(entry.details)),
                    "event_time": to_micros(now),
                    "hash": conversation.audit_hash,
                    "digest_scheme": AUDIT_SCHEME,
                }
            )
        _INSERT_AUDIT.execute_many(self._connection, added)

    def remove_events(self, conversation_id: str, before: int) -> None:
        _REMOVE_EVENTS.execute(self._connection, {"id": conversation_id, "before": before})

    def events(self, conversation_id: str, after: int, limit: int) -> list[StoredEvent]:
        found = _EVENTS.all(self._connection, {"id": conversation_id, "after": after, "most": limit})
        return [StoredEvent(r["conversation_id"], r["sequence"], r["run_id"], r["name"], r["data"]) for r in found]

    def audit_page(self, conversation_id: str, interaction_id: str, after: int, limit: int) -> list[AuditRow]:
        key = {"id": interaction_id or conversation_id, "after": after, "most": limit}
        found = (_AUDIT_OF_INTERACTION if interaction_id else _AUDIT).all(self._connection, key)
        return [_audit_row(row) for row in found]

    def audit_chain_page(self, conversation_id: str, below: int | None, limit: int) -> list[ChainRow]:
        key: dict[str, object] = {"id": conversation_id, "most": limit}
        if below is None:
            found = _AUDIT_CHAIN_END.all(self._connection, key)
        else:
            found = _AUDIT_CHAIN.all(self._connection, {**key, "below": below})
        return [_chain_row(row) for row in found]

    def audit_head(self, conversation_id: str) -> Head | None:
        row = _AUDIT_HEAD.first(self._connection, {"id": conversation_id})
        return None if row is None else Head(row["audit_number"], row["audit_hash"])


def _audit_row(row: Row) -> AuditRow:
    """As it is stored, also where somebody changed it so that it has no kind or details any more."""
    return AuditRow(
        row["conversation_id"],
        row["number"],
        AuditEntry(
            row["interaction_id"],
            row["run_id"],
            AuditKind(row["kind"]) if row["kind"] in _KINDS else AuditKind.UNSPECIFIED,
            row["actor"],
            row["decision_number"],
            row["decision_id"],
            row["digest"],
            row["code"],
            {key: str(value) for key, value in (_details(row) or {}).items()},
        ),
        from_micros(row["event_time"] if _has_time(row) else 0),
        row["hash"],
        row["digest_scheme"],
    )


def _chain_row(row: Row) -> ChainRow:
    """The members as they were hashed; texts and numbers that somebody replaced by something else match no hash."""
    details = _details(row)
    members: dict[str, JsonValue] | None = None
    if details is not None and _has_time(row):
        members = {name: str(row[name]) for name in MEMBERS}
        members["details"] = details
        members["event_time"] = from_micros(row["event_time"]).isoformat(timespec="microseconds")
    number = row["number"] if isinstance(row["number"], int) else 0
    return ChainRow(number, str(row["hash"]), str(row["digest_scheme"]), members)


def _has_time(row: Row) -> bool:
    return isinstance(row["event_time"], int) and abs(row["event_time"]) < _MOST_MICROS


def _details(row: Row) -> dict[str, JsonValue] | None:
    try:
        details = parse_json_strict(row["details"])
    except (NotCanonical, TypeError, AttributeError):
        return None
    return details if isinstance(details, dict) else None

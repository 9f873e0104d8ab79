"""The store of events and audit rows: numbered under the conversation's row, the audit rows hash-chained (E6)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, bindparam, insert, select

from handrail_rpc.digest import canonical_json, sha256_hex
from loop_service.convert.events import encode_event
from loop_service.domain.audit import AuditEntry, AuditKind, AuditRow, chained_object
from loop_service.domain.conversation import Conversation
from loop_service.domain.events import NAMES, NewEvent, StoredEvent
from loop_service.domain.times import from_micros, to_micros
from loop_service.storage import rows, tables

_E = tables.events
_A = tables.audit_events

_INSERT_EVENT = insert(_E)
_INSERT_AUDIT = insert(_A)
_EVENTS = (
    select(_E)
    .where(_E.c.conversation_id == bindparam("id"), _E.c.sequence > bindparam("after"))
    .order_by(_E.c.sequence)
    .limit(bindparam("most"))
)


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
            self._connection.execute(
                _INSERT_EVENT,
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
            chained = chained_object(
                conversation.conversation_id,
                conversation.audit_number,
                entry,
                now,
                conversation.audit_hash,
            )
            conversation.audit_hash = sha256_hex(canonical_json(chained))
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
                }
            )
        self._connection.execute(_INSERT_AUDIT, added)

    def events(self, conversation_id: str, after: int, limit: int) -> list[StoredEvent]:
        found = self._connection.execute(_EVENTS, {"id": conversation_id, "after": after, "most": limit})
        return [StoredEvent(r.conversation_id, r.sequence, r.run_id, r.name, r.data) for r in found]

    def audit_page(self, conversation_id: str, interaction_id: str, after: int, limit: int) -> list[AuditRow]:
        query = select(_A).where(_A.c.conversation_id == conversation_id, _A.c.number > after)
        if interaction_id:
            query = query.where(_A.c.interaction_id == interaction_id)
        found = self._connection.execute(query.order_by(_A.c.number).limit(limit))
        return [
            AuditRow(
                r.conversation_id,
                r.number,
                AuditEntry(
                    r.interaction_id,
                    r.run_id,
                    AuditKind(r.kind),
                    r.actor,
                    r.decision_number,
                    r.decision_id,
                    r.digest,
                    r.code,
                    json.loads(r.details),
                ),
                from_micros(r.event_time),
                r.hash,
            )
            for r in found
        ]

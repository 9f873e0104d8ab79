"""Sessions, referents and facts in SQL. Implements application.ports.Sessions on one connection."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, delete, insert, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from adapter_service.domain.session import MOST_FACTS, MOST_REFERENTS, Session
from adapter_service.sdk import FactView, Referent
from adapter_service.storage.tables import facts, history, sessions
from adapter_service.storage.times import from_microseconds, to_microseconds

# Built once, with parameters: building an expression costs more than executing it.
_HISTORY = select(history.c.history_id)
_BY_ID = select(sessions).where(sessions.c.domain_session_id == bindparam("wanted"))
_BY_CONVERSATION = select(sessions).where(sessions.c.conversation_id == bindparam("wanted"))
_REFERENTS = select(sessions.c.referents).where(sessions.c.domain_session_id == bindparam("wanted"))
_TOUCH = (
    update(sessions).where(sessions.c.domain_session_id == bindparam("wanted")).values(revision=sessions.c.revision + 1)
)
_FACTS = (
    select(facts)
    .where(facts.c.domain_session_id == bindparam("wanted"))
    .order_by(facts.c.receive_time.desc(), facts.c.name)
    .limit(MOST_FACTS)
)


class SqlSessions:
    """One transaction's view of sessions."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def history_id(self) -> str:
        """Identity of this database's history; made with the first migration."""
        return str(self._connection.execute(_HISTORY).scalar_one())

    def find(self, domain_session_id: str) -> Session | None:
        """The session, or None."""
        return self._one(_BY_ID, domain_session_id)

    def find_by_conversation(self, conversation_id: str) -> Session | None:
        """The session of a conversation, or None."""
        return self._one(_BY_CONVERSATION, conversation_id)

    def _one(self, query: Select[Any], wanted: str) -> Session | None:
        row = self._connection.execute(query, {"wanted": wanted}).one_or_none()
        if row is None:
            return None
        return Session(
            row.domain_session_id, row.domain, row.conversation_id, from_microseconds(row.create_time), row.revision
        )

    def add(self, session: Session) -> None:
        """Store a new session."""
        self._connection.execute(
            insert(sessions),
            {
                "domain_session_id": session.domain_session_id,
                "domain": session.domain,
                "conversation_id": session.conversation_id,
                "create_time": to_microseconds(session.create_time),
                "revision": session.revision,
                "referents": "[]",
            },
        )

    def touch(self, domain_session_id: str) -> None:
        """Count a change of what planning reads."""
        self._connection.execute(_TOUCH, {"wanted": domain_session_id})

    def referents(self, domain_session_id: str) -> tuple[Referent, ...]:
        """Newest first."""
        text = self._connection.execute(_REFERENTS, {"wanted": domain_session_id}).scalar_one()
        return tuple(Referent(*item) for item in json.loads(text))

    def remember(self, domain_session_id: str, referents: Sequence[Referent]) -> None:
        """Put new referents before the known ones; the oldest beyond the bound are forgotten (requirement H2)."""
        kept: dict[tuple[str, str], Referent] = {}
        for referent in (*referents, *self.referents(domain_session_id)):
            kept.setdefault((referent.kind, referent.identity), referent)
        body = [[r.kind, r.identity, r.display_name] for r in list(kept.values())[:MOST_REFERENTS]]
        self._connection.execute(
            update(sessions)
            .where(sessions.c.domain_session_id == domain_session_id)
            .values(referents=json.dumps(body, ensure_ascii=False))
        )

    def facts(self, domain_session_id: str) -> tuple[FactView, ...]:
        """Newest first."""
        rows = self._connection.execute(_FACTS, {"wanted": domain_session_id})
        return tuple(_fact(row) for row in rows)

    def store_facts(self, domain_session_id: str, new: Sequence[FactView], now: datetime) -> None:
        """Newer facts replace those of the same name; the oldest beyond the bound are forgotten."""
        for fact in new:
            values = {
                "value": json.dumps(dict(fact.value), ensure_ascii=False, sort_keys=True),
                "source": fact.source,
                "scope": fact.scope,
                "observed_time": None if fact.observed_time is None else to_microseconds(fact.observed_time),
                "receive_time": to_microseconds(now),
            }
            self._connection.execute(
                upsert(facts)
                .values(domain_session_id=domain_session_id, name=fact.name, **values)
                .on_conflict_do_update(index_elements=["domain_session_id", "name"], set_=values)
            )
        if new:
            kept = [fact.name for fact in self.facts(domain_session_id)]
            self._connection.execute(
                delete(facts).where(facts.c.domain_session_id == domain_session_id, facts.c.name.not_in(kept))
            )


def _fact(row: Row[tuple[object, ...]]) -> FactView:
    observed = None if row.observed_time is None else from_microseconds(row.observed_time)
    return FactView(row.name, json.loads(row.value), row.source, row.scope, observed)

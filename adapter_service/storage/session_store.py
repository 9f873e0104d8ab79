"""Sessions, referents and facts in SQL. Implements application.ports.Sessions on one connection."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, bindparam, case, delete, insert, select, update

from adapter_service.domain.session import MOST_FACTS, MOST_REFERENTS, Session
from adapter_service.sdk import FactView, Referent
from adapter_service.storage.tables import facts, history, sessions
from adapter_service.storage.times import from_microseconds, to_microseconds
from handrail_storage import Row, Statement
from handrail_storage.statements import upsert

_HISTORY = Statement(select(history.c.history_id))
_BY_ID = Statement(select(sessions).where(sessions.c.domain_session_id == bindparam("wanted")))
_BY_CONVERSATION = Statement(select(sessions).where(sessions.c.conversation_id == bindparam("wanted")))
_ADD = Statement(insert(sessions))
_REFERENTS = Statement(select(sessions.c.referents).where(sessions.c.domain_session_id == bindparam("wanted")))
_REMEMBER = Statement(
    update(sessions).where(sessions.c.domain_session_id == bindparam("wanted")).values(referents=bindparam("body"))
)
_TOUCH = Statement(
    update(sessions)
    .where(sessions.c.domain_session_id == bindparam("wanted"))
    .values(
        revision=sessions.c.revision + 1,
        acknowledged_revision=case(
            (sessions.c.acknowledged_revision < bindparam("acknowledged"), bindparam("acknowledged")),
            else_=sessions.c.acknowledged_revision,
        ),
    )
    .returning(sessions.c.revision)
)
_REVISION = Statement(select(sessions.c.revision).where(sessions.c.domain_session_id == bindparam("wanted")))
_STORE_FACT = Statement(upsert(facts))
_FACTS = Statement(
    select(facts)
    .where(facts.c.domain_session_id == bindparam("wanted"))
    .order_by(facts.c.receive_time.desc(), facts.c.name)
    .limit(MOST_FACTS)
)
_FORGET_FACTS = Statement(
    delete(facts).where(
        facts.c.domain_session_id == bindparam("wanted"),
        facts.c.name.not_in(
            select(facts.c.name)
            .where(facts.c.domain_session_id == bindparam("wanted"))
            .order_by(facts.c.receive_time.desc(), facts.c.name)
            .limit(MOST_FACTS)
        ),
    )
)


def read_session(row: Row) -> Session:
    """The session of a row of the table."""
    return Session(
        row["domain_session_id"],
        row["domain"],
        row["conversation_id"],
        from_microseconds(row["create_time"]),
        row["revision"],
        row["acknowledged_revision"],
        row["erase_time"] is not None,
    )


class SqlSessions:
    """One transaction's view of sessions. What its first read brought along is not read again."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._referents: dict[str, str] = {}
        self._revisions: dict[str, int] = {}

    def noted(self, row: Row) -> Session | None:
        """The session of a joined row, whose other columns are kept; None where the join found none."""
        if row["domain_session_id"] is None:
            return None
        self._referents[row["domain_session_id"]] = row["referents"]
        return read_session(row)

    def history_id(self) -> str:
        """Identity of this database's history; made with the first migration."""
        return str(_HISTORY.scalar(self._connection))

    def find(self, domain_session_id: str) -> Session | None:
        """The session, or None."""
        return self._one(_BY_ID, domain_session_id)

    def find_by_conversation(self, conversation_id: str) -> Session | None:
        """The session of a conversation, or None."""
        return self._one(_BY_CONVERSATION, conversation_id)

    def _one(self, query: Statement, wanted: str) -> Session | None:
        row = query.first(self._connection, {"wanted": wanted})
        return None if row is None else read_session(row)

    def add(self, session: Session) -> None:
        """Store a new session."""
        _ADD.execute(
            self._connection,
            {
                "domain_session_id": session.domain_session_id,
                "domain": session.domain,
                "conversation_id": session.conversation_id,
                "create_time": to_microseconds(session.create_time),
                "revision": session.revision,
                "referents": "[]",
                "acknowledged_revision": session.acknowledged_revision,
            },
        )

    def touch(self, domain_session_id: str, acknowledged: int = 0) -> None:
        """Count a change of the session, and keep the highest revision that the Loop said it had seen."""
        parameters = {"wanted": domain_session_id, "acknowledged": acknowledged}
        self._revisions[domain_session_id] = _TOUCH.scalar(self._connection, parameters)

    def revision(self, domain_session_id: str) -> int:
        """How often the session was changed, this transaction's changes included."""
        touched = self._revisions.get(domain_session_id)
        return int(_REVISION.scalar(self._connection, {"wanted": domain_session_id})) if touched is None else touched

    def referents(self, domain_session_id: str) -> tuple[Referent, ...]:
        """Newest first."""
        text = self._referents.get(domain_session_id)
        if text is None:
            text = _REFERENTS.scalar(self._connection, {"wanted": domain_session_id})
        return tuple(Referent(*item) for item in json.loads(text))

    def remember(self, domain_session_id: str, referents: Sequence[Referent]) -> None:
        """Put new referents before the known ones; the oldest beyond the bound are forgotten (requirement H2)."""
        kept: dict[tuple[str, str], Referent] = {}
        for referent in (*referents, *self.referents(domain_session_id)):
            kept.setdefault((referent.kind, referent.identity), referent)
        body = [[r.kind, r.identity, r.display_name] for r in list(kept.values())[:MOST_REFERENTS]]
        text = json.dumps(body, ensure_ascii=False)
        _REMEMBER.execute(self._connection, {"wanted": domain_session_id, "body": text})
        self._referents[domain_session_id] = text

    def facts(self, domain_session_id: str) -> tuple[FactView, ...]:
        """Newest first."""
        return tuple(_fact(row) for row in _FACTS.all(self._connection, {"wanted": domain_session_id}))

    def store_facts(self, domain_session_id: str, new: Sequence[FactView], now: datetime) -> None:
        """Newer facts replace those of the same name; the oldest beyond the bound are forgotten."""
        _STORE_FACT.execute_many(
            self._connection,
            (
                {
                    "domain_session_id": domain_session_id,
                    "name": fact.name,
                    "value": json.dumps(dict(fact.value), ensure_ascii=False, sort_keys=True),
                    "source": fact.source,
                    "scope": fact.scope,
                    "observed_time": None if fact.observed_time is None else to_microseconds(fact.observed_time),
                    "receive_time": to_microseconds(now),
                }
                for fact in new
            ),
        )
        if new:
            _FORGET_FACTS.execute(self._connection, {"wanted": domain_session_id})


def _fact(row: Row) -> FactView:
    observed = None if row["observed_time"] is None else from_microseconds(row["observed_time"])
    return FactView(row["name"], json.loads(row["value"]), row["source"], row["scope"], observed)
